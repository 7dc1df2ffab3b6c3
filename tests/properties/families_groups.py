"""Random requests by family: what is asked of a small cluster, and what the cluster has so that it matters.

A family is a function of chance and a world. It may put labels, taints and running pods into the world, and returns
the root group. Counts are tuned so that neither verdict is rare.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from phalanx.model.nodes import (
    NodeFilter,
    PodShape,
    Requirement,
    Taint,
    Term,
    Toleration,
)
from phalanx.model.request import Group, PodSet, Ranks, Slice, Spread
from phalanx.model.resources import NANO, PODS, Resources
from tests.properties.worlds import (
    BLOCK,
    BLOCK_LABEL,
    CPU,
    DISK,
    GENERATION,
    GIB,
    GPU,
    HOST,
    MEGA,
    MEMORY,
    POWER,
    RACK,
    RACK_LABEL,
    World,
)

Family = Callable[[Random, World], Group]

# (cpu, memory in Gi, gpu), for nodes of 16, 16 and 8: proportional ones, lopsided ones, helpers without a GPU
_SIZES = ((2, 2, 1), (4, 4, 2), (8, 8, 4), (3, 1, 1), (2, 6, 1), (6, 3, 2), (2, 1, 0), (1, 3, 0), (5, 5, 3), (1, 1, 2))


def _needs(cpu: int, memory: int, gpu: int) -> Resources:
    return Resources.of({CPU: cpu * NANO, MEMORY: memory * GIB, GPU: gpu * NANO, PODS: NANO})


def shapes(chance: Random, how_many: int) -> list[PodShape]:
    """Different shapes, each labelled with its own app."""
    sizes = chance.sample(_SIZES, how_many)
    return [PodShape(_needs(*size), labels=(("app", f"a{i}"),)) for i, size in enumerate(sizes)]


def pods(name: str, count: int, shape: PodShape, least: int | None = None, slices: tuple[Slice, ...] = ()) -> PodSet:
    return PodSet(name, count, count if least is None else least, shape, slices)


def group(name: str, *members: Group | PodSet, required: int | None = None, **more: object) -> Group:
    return Group(name, members, required, **more)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------- groups, levels and slices


def flat_same(chance: Random, _: World) -> Group:
    shape = shapes(chance, 1)[0]
    return group("w", *racks(chance, [shape] * chance.randint(2, 4), 8))


def flat_mixed(chance: Random, _: World) -> Group:
    return group("w", *racks(chance, shapes(chance, chance.randint(2, 4)), 6))


def racks(chance: Random, kinds: list[PodShape], most: int) -> list[Group]:
    """One group per shape, each wanting a rack for itself."""
    return [
        group(f"g{i}", pods(f"p{i}", chance.randint(1, most), shape), required=RACK) for i, shape in enumerate(kinds)
    ]


def leader_worker(chance: Random, _: World) -> Group:
    leader, worker = shapes(chance, 2)
    workers = chance.randint(1, 9)
    return group(
        "w",
        *(
            group(f"r{i}", pods(f"l{i}", 1, leader), pods(f"w{i}", workers, worker), required=RACK)
            for i in range(chance.randint(1, 3))
        ),
    )


def nested_same(chance: Random, _: World) -> Group:
    shape = shapes(chance, 1)[0]
    return group("w", *racks(chance, [shape] * chance.randint(2, 4), 6), required=BLOCK)


def nested_mixed(chance: Random, _: World) -> Group:
    *kinds, last = shapes(chance, chance.randint(2, 4))
    return group("w", *racks(chance, kinds, 6), pods("api", chance.randint(1, 3), last), required=BLOCK)


def three_level(chance: Random, _: World) -> Group:
    first, second, third = shapes(chance, 3)
    inner = group("a2", pods("pa2", chance.randint(1, 2), second), required=HOST)
    return group(
        "w",
        group("a", pods("pa1", chance.randint(1, 4), first), inner, required=RACK),
        group("b", pods("pb", chance.randint(1, 5), third), required=RACK),
        group("c", pods("pc", chance.randint(1, 4), first)),
        required=BLOCK,
    )


def mixed_one_domain(chance: Random, _: World) -> Group:
    level = chance.choice((BLOCK, RACK))
    most = 7 if level == BLOCK else 4
    kinds = shapes(chance, chance.randint(2, 4))
    return group("w", *(pods(f"p{i}", chance.randint(1, most), s) for i, s in enumerate(kinds)), required=level)


def sliced(chance: Random, _: World) -> Group:
    first, second = shapes(chance, 2)
    size, level = chance.choice((2, 3, 4)), chance.choice((RACK, HOST))
    return group(
        "w",
        pods("s", size * chance.randint(1, 5), first, slices=(Slice(level, size),)),
        group("g", pods("p", chance.randint(1, 6), second), required=RACK),
        required=chance.choice((None, BLOCK)),
    )


def sliced_twice(chance: Random, _: World) -> Group:
    first, second = shapes(chance, 2)
    slices = (Slice(RACK, 4), Slice(HOST, 2))
    return group(
        "w", pods("s", 4 * chance.randint(1, 3), first, slices=slices), pods("p", chance.randint(1, 5), second)
    )


# ---------------------------------------------------------------------------- which nodes, how many, which members


def selectors(chance: Random, place: World) -> Group:
    kinds = [replace(s, filter=_wish(chance, place)) for s in shapes(chance, chance.randint(2, 3))]
    return some_tree(chance, kinds, 4)


def _wish(chance: Random, place: World) -> NodeFilter:
    choice = chance.randrange(6)
    if choice == 0:
        return NodeFilter(selector=((DISK, chance.choice(("ssd", "hdd"))),))
    if choice == 1:
        return NodeFilter(preferred=((1, Term((Requirement(DISK, "In", ("hdd",)),))),))
    needs = [_requirement(chance, place) for _ in range(chance.randint(1, 2))]
    if choice == 2:
        return NodeFilter(required=(tuple(Term((need,)) for need in needs),))
    if choice == 3:
        return NodeFilter(required=tuple((Term((need,)), Term(())) for need in needs))
    return NodeFilter(required=((Term(tuple(needs)),),))


def _requirement(chance: Random, place: World) -> Requirement:
    names = tuple(sorted(spot.name for spot in place.spots))
    return chance.choice(
        (
            Requirement(DISK, "In", ("ssd", "nvme")),
            Requirement(DISK, "NotIn", ("ssd",)),
            Requirement(POWER, "NotIn", (chance.choice(("p1", "p2")),)),
            Requirement("example.com/absent", "NotIn", ("x",)),
            Requirement("example.com/absent", "DoesNotExist"),
            Requirement(GENERATION, "Exists"),
            Requirement(GENERATION, "Gt", (str(chance.randint(1, 6)),)),
            Requirement(GENERATION, "Lt", (str(chance.randint(6, 12)),)),
            Requirement("metadata.name", "NotIn", tuple(chance.sample(names, 2)), on_name=True),
            Requirement("metadata.name", "In", tuple(chance.sample(names, len(names) // 2 + 1)), on_name=True),
        )
    )


def taints(chance: Random, place: World) -> Group:
    for spot in place.spots:
        while chance.random() < 0.4:
            effect = chance.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
            taint = Taint(chance.choice(("team", "fault")), chance.choice(("x", "y")), effect)
            spot.taints += (taint,)
    kinds = [
        replace(s, filter=NodeFilter(tolerations=_tolerations(chance))) for s in shapes(chance, chance.randint(2, 3))
    ]
    return some_tree(chance, kinds, 4)


def _tolerations(chance: Random) -> tuple[Toleration, ...]:
    every = (
        Toleration("team", "Equal", "x", ""),
        Toleration("team", "Exists", "", "NoSchedule"),
        Toleration("fault", "Exists", "", ""),
        Toleration("fault", "Equal", "y", "NoExecute"),
        Toleration("", "Exists", "", "NoExecute"),
        Toleration("", "Exists", "", ""),
    )
    return tuple(chance.sample(every, chance.randint(0, 2)))


def some_tree(chance: Random, kinds: list[PodShape], most: int) -> Group:
    """One of three forms: a rack for each, all in one block with a loose rest, or no level at all."""
    form = chance.randrange(3)
    if form == 0:
        return group("w", *racks(chance, kinds, most))
    if form == 1:
        return group(
            "w", *racks(chance, kinds[:-1], most), pods("api", chance.randint(1, most), kinds[-1]), required=BLOCK
        )
    return group("w", *(pods(f"p{i}", chance.randint(1, 2 * most), s) for i, s in enumerate(kinds)))


def elastic(chance: Random, _: World) -> Group:
    """min < count, with and without slices."""
    members: list[Group | PodSet] = []
    for i, shape in enumerate(shapes(chance, chance.randint(2, 3))):
        size = chance.choice((1, 1, 2, 3))
        slices = (Slice(chance.choice((RACK, HOST)), size),) if size > 1 else ()
        least = chance.randint(1, 6)
        inner = pods(f"p{i}", least + chance.randint(1, 6), shape, least, slices)
        members.append(group(f"g{i}", inner, required=RACK) if chance.random() < 0.6 else inner)
    return group("w", *members, required=chance.choice((None, BLOCK)))


def min_groups(chance: Random, _: World) -> Group:
    """Some members are enough, at the root or one level below it."""
    members: list[Group | PodSet] = []
    for i, shape in enumerate(shapes(chance, chance.randint(3, 4))):
        inner = pods(f"p{i}", chance.randint(2, 9), shape)
        members.append(group(f"g{i}", inner, required=RACK) if chance.random() < 0.8 else inner)
    enough = chance.randint(1, len(members) - 1)
    if chance.random() < 0.5:
        return group("w", *members, required=chance.choice((None, BLOCK)), min_members=enough + 1)
    half = group("h", *members[1:], required=chance.choice((None, BLOCK)), min_members=min(enough, len(members) - 2))
    return group("w", members[0], half, min_members=chance.choice((None, None, 1)))


# --------------------------------------------------------------------------------------- spread of groups


def spread_flat(chance: Random, place: World) -> Group:
    kinds = maybe_choosy(chance, place, shapes(chance, chance.randint(1, 3)))
    level = chance.choice((BLOCK, RACK, HOST))
    if chance.random() < 0.4:
        sets = [loose(chance, f"p{i}", s, 6) for i, s in enumerate(kinds)]
        return group("w", *sets, spread=spread_rule(chance, level, sum(s.count for s in sets)))
    members = []
    for i, shape in enumerate(kinds):
        inner = loose(chance, f"p{i}", shape, 8)
        members.append(group(f"g{i}", inner, spread=spread_rule(chance, chance.choice((RACK, HOST)), inner.count)))
    return group("w", *members)


def spread_nested(chance: Random, place: World) -> Group:
    kinds = maybe_choosy(chance, place, shapes(chance, chance.randint(2, 3)))
    members: list[Group | PodSet] = []
    for i, shape in enumerate(kinds):
        inner = loose(chance, f"p{i}", shape, 4)
        required = chance.choice((None, RACK, RACK, BLOCK))
        level = HOST if required == RACK else chance.choice((RACK, HOST))
        spread = spread_rule(chance, level, inner.count) if chance.random() < 0.6 else None
        members.append(group(f"g{i}", inner, required=required, spread=spread))
    total = sum(s.count for m in members for s in m.pod_sets())  # type: ignore[union-attr]
    spread = spread_rule(chance, chance.choice((RACK, HOST)), total) if chance.random() < 0.4 else None
    return group("w", *members, required=chance.choice((None, BLOCK)), spread=spread)


def spread_rule(chance: Random, level: int, count: int) -> Spread:
    form = chance.randrange(3)
    if form == 0:
        return Spread(level, max_per_domain=chance.randint(1, max(1, count // 2)))
    if form == 1:
        return Spread(level, min_domains=chance.randint(1, min(4, count)))
    return Spread(level, max_skew=chance.randint(1, 3))


def loose(chance: Random, name: str, shape: PodShape, most: int) -> PodSet:
    """A set that is elastic in a fifth of the cases."""
    count = chance.randint(1, most)
    return pods(name, count, shape, chance.randint(1, count) if chance.random() < 0.2 else count)


def maybe_choosy(chance: Random, place: World, kinds: list[PodShape]) -> list[PodShape]:
    return [replace(s, filter=_wish(chance, place)) if chance.random() < 0.3 else s for s in kinds]


# ------------------------------------------------------------------------------------------------- the rest


def ranks(chance: Random, _: World) -> Group:
    """Two or three groups whose equal ranks sit together, sometimes beside a stranger."""
    level = chance.choice((HOST, HOST, RACK, RACK, BLOCK))
    kinds = shapes(chance, 3)
    count = chance.randint(1, 5)
    members: list[Group | PodSet] = []
    for i in range(chance.choice((2, 2, 3))):
        size = count if chance.random() < 0.6 else chance.randint(1, 6)
        inner = [pods(f"p{i}", size, kinds[i])]
        if chance.random() < 0.35:
            inner.append(pods(f"q{i}", chance.randint(1, 3), chance.choice(kinds)))
        link = Ranks(with_same_rank_of=f"g{chance.randrange(i)}", level=level) if i else None
        required = chance.choice((None, None, None, RACK, BLOCK)) if level != BLOCK else None
        members.append(group(f"g{i}", *inner, required=required, ranks=link))
    if chance.random() < 0.3:
        members.append(group("x", pods("px", chance.randint(1, 4), chance.choice(kinds)), required=RACK))
    return group("w", *members, required=chance.choice((None, BLOCK)))


def outside(chance: Random, place: World) -> Group:
    """Nodes that lack a label, and sets that may use them beside sets that may not."""
    for spot in place.spots:
        if chance.random() < 0.35:
            del spot.labels[chance.choice((BLOCK_LABEL, RACK_LABEL))]
    members: list[Group | PodSet] = []
    for i, shape in enumerate(shapes(chance, chance.randint(2, 3))):
        form = chance.randrange(4)
        inner = pods(f"p{i}", chance.randint(1, 7), shape)
        if form == 0:
            members.append(inner)
        elif form == 1:
            members.append(group(f"g{i}", inner, required=RACK))
        elif form == 2:
            members.append(group(f"g{i}", inner, preferred=chance.choice((BLOCK, RACK))))
        else:
            members.append(pods(f"p{i}", 2 * chance.randint(1, 3), shape, slices=(Slice(HOST, 2),)))
    return group("w", *members)


def no_topology(chance: Random, place: World) -> Group:
    """A request of a cluster without levels: only the node can be asked for, and its number is 1."""
    place.forget_topology()
    members: list[Group | PodSet] = []
    for i, shape in enumerate(shapes(chance, chance.randint(2, 3))):
        form = chance.randrange(4)
        inner = pods(f"p{i}", chance.randint(1, 4), shape)
        if form == 0:
            members.append(pods(f"p{i}", chance.randint(1, 9), shape))
        elif form == 1:
            members.append(group(f"g{i}", inner, required=1))
        elif form == 2:
            members.append(group(f"g{i}", inner, spread=spread_rule(chance, 1, inner.count)))
        else:
            members.append(pods(f"p{i}", 2 * chance.randint(1, 4), shape, slices=(Slice(1, 2),)))
    return group("w", *members)


def wishful(chance: Random, outer: Group, host: int) -> Group:
    """The same groups, some with a preferred level or an order of ranks: no wish turns a possible placement into a
    refusal."""
    wished = replace(
        outer, members=tuple(wishful(chance, m, host) if isinstance(m, Group) else m for m in outer.members)
    )
    if chance.random() < 0.5:
        wished = replace(wished, preferred=chance.randint(max(outer.required or 1, 1), host))
    if outer.ranks is not None:
        order = chance.choice(("Consecutive", "Stripe", "Balance"))
        across = None if order == "Consecutive" else chance.randint(1, host)
        wished = replace(wished, ranks=replace(outer.ranks, order=order, across=across))
    return wished


# 2000M holds 16 pods of 125M, rounded to MiB it holds 15; thirds of a core and single nano-units likewise
ODD_NODE = {CPU: 4 * NANO, MEMORY: 2000 * MEGA, GPU: 3 * NANO, PODS: 12 * NANO}
_ODD_CPU = (333_000_000, 250_000_000, 100_000_001, 1_333_333_333, 0)
_ODD_MEMORY = (125 * MEGA, 128 * 2**20 * NANO, 250 * MEGA, 333_333_333 * NANO, 1000 * MEGA + NANO)
_NANO_BYTE = 500 * MEGA + 1  # legal, and seen where somebody wrote 500m for 500M: too fine for 64 bits in sums


def odd_quantities(chance: Random, place: World) -> Group:
    kinds = []
    for i in range(chance.randint(2, 3)):
        amounts = {CPU: chance.choice(_ODD_CPU), MEMORY: chance.choice(_ODD_MEMORY), GPU: 0, PODS: NANO}
        if chance.random() < 0.3:
            amounts[GPU] = NANO
        kinds.append(PodShape(Resources.of(amounts), labels=(("app", f"a{i}"),)))
    in_use = (*_ODD_MEMORY, _NANO_BYTE) if chance.random() < 0.1 else _ODD_MEMORY
    for spot in place.spots:
        if chance.random() < 0.5:
            place.run(spot.name, {MEMORY: chance.choice(in_use), CPU: chance.choice(_ODD_CPU), PODS: NANO})
    return some_tree(chance, kinds, 7)
