"""Families about pods among pods: topologySpreadConstraints, ports, affinity, running neighbours, and a mixture."""

from dataclasses import replace
from random import Random

from phalanx.model.nodes import HostPort, LabelSelector, PodShape, PodTerm, Requirement, SpreadRule, Taint
from phalanx.model.request import Group, PodSet, Slice
from phalanx.model.resources import NANO, PODS
from phalanx.model.topology import HOSTNAME
from tests.properties.families_groups import Family, group, loose, maybe_choosy, pods, shapes, some_tree, spread_rule
from tests.properties.worlds import BLOCK, BLOCK_LABEL, CPU, HOST, POWER, RACK, RACK_LABEL, World

_KEYS = (HOSTNAME, RACK_LABEL, POWER)
_SMALL = {PODS: NANO, CPU: NANO // 10}  # what a running pod takes that is there for its labels


def _app(*names: str) -> LabelSelector:
    if len(names) == 1:
        return LabelSelector(labels=(("app", names[0]),))
    return LabelSelector(requirements=(Requirement("app", "In", names),))


def _residents(chance: Random, place: World, share: float, apps: tuple[str, ...] = ("a0", "a1", "db")) -> None:
    """Running pods with labels, in the request's namespace or another."""
    for spot in place.spots:
        if chance.random() < share:
            namespace = chance.choice(("default", "default", "other"))
            place.run(spot.name, _SMALL, namespace=namespace, labels={"app": chance.choice(apps)})


def _arrange(chance: Random, kinds: list[PodShape], most: int, nested: bool) -> Group:
    """Sets side by side; or under groups with levels, in a block or not."""
    if not nested:
        level = chance.choice((None, None, BLOCK))
        return group("w", *(loose(chance, f"p{i}", s, most) for i, s in enumerate(kinds)), required=level)
    members: list[Group | PodSet] = []
    for i, shape in enumerate(kinds):
        inner = loose(chance, f"p{i}", shape, most)
        members.append(group(f"g{i}", inner, required=chance.choice((RACK, RACK, BLOCK, HOST))))
    if chance.random() < 0.3:
        members[-1] = loose(chance, "loose", kinds[-1], most)
    return group("w", *members, required=chance.choice((None, BLOCK)))


def topology_spread(nested: bool) -> Family:
    def family(chance: Random, place: World) -> Group:
        _residents(chance, place, 0.4)
        for spot in place.spots:
            if chance.random() < 0.2:
                spot.taints = (Taint("team", "x", "NoSchedule"),)
            if chance.random() < 0.1:
                del spot.labels[POWER]
        kinds = [_even(chance, s) for s in maybe_choosy(chance, place, shapes(chance, chance.randint(1, 3)))]
        return _arrange(chance, kinds, 4 if nested else 6, nested)

    return family


def _even(chance: Random, shape: PodShape) -> PodShape:
    rules = tuple(
        SpreadRule(
            key,
            chance.randint(1, 3),
            chance.choice((_app("a0"), _app("a0", "a1"), _app("a0", "a1", "a2"), LabelSelector())),
            min_domains=chance.choice((1, 1, 1, 2, 3)),
            honor_affinity=chance.random() < 0.7,
            honor_taints=chance.random() < 0.4,
        )
        for key in chance.sample((HOSTNAME, RACK_LABEL, BLOCK_LABEL, POWER), chance.choice((0, 1, 1, 2)))
    )
    return replace(shape, spread=rules)


def ports(chance: Random, place: World) -> Group:
    choices = (
        (HostPort(80),),
        (HostPort(80, "TCP", "10.0.0.1"),),
        (HostPort(80, "TCP", "10.0.0.2"), HostPort(90)),
        (HostPort(80, "UDP"),),
        (HostPort(90, "TCP", "10.0.0.1"),),
        (),
    )
    for spot in place.spots:
        if chance.random() < 0.3:
            place.run(spot.name, _SMALL, ports=chance.choice(choices))
    kinds = [replace(s, ports=chance.choice(choices)) for s in shapes(chance, chance.randint(2, 4))]
    return some_tree(chance, kinds, 3)


def anti_affinity(nested: bool) -> Family:
    def family(chance: Random, place: World) -> Group:
        _residents(chance, place, 0.15)
        kinds = shapes(chance, chance.randint(2, 3))
        kinds = [replace(s, anti_affinity=_terms(chance, i, chance.choice((0, 1, 1, 2)))) for i, s in enumerate(kinds)]
        return _arrange(chance, kinds, 4 if nested else 6, nested)

    return family


def _terms(chance: Random, own: int, how_many: int) -> tuple[PodTerm, ...]:
    """Terms that mean oneself, another set, several, or only running pods."""
    selectors = (_app(f"a{own}"), _app(f"a{1 - min(own, 1)}"), _app("a0", "a1"), _app("db"), LabelSelector())
    weights = (5, 5, 2, 2, 1)
    return tuple(
        PodTerm(
            chance.choice((HOSTNAME, *_KEYS)),
            chance.choices(selectors, weights)[0],
            chance.choice((("default",), ("default",), None)),
        )
        for _ in range(how_many)
    )


def affinity(nested: bool) -> Family:
    def family(chance: Random, place: World) -> Group:
        if chance.random() < 0.5:
            _residents(chance, place, 0.3)
        for spot in place.spots:
            if chance.random() < 0.1:
                del spot.labels[POWER]
        kinds = shapes(chance, chance.randint(2, 3))
        shared = _terms(chance, 0, 1)  # in half of the cases several sets are one team
        for i, shape in enumerate(kinds):
            terms = shared if chance.random() < 0.4 else _terms(chance, i, chance.choice((0, 1, 1)))
            avoid = _terms(chance, i, 1) if chance.random() < 0.15 else ()
            kinds[i] = replace(shape, affinity=terms, anti_affinity=avoid)
        return _arrange(chance, kinds, 4, nested)

    return family


def neighbours(chance: Random, place: World) -> Group:
    """Running pods that keep ours away."""
    for spot in place.spots:
        if chance.random() < 0.35:
            term = PodTerm(
                chance.choice(_KEYS), _app(chance.choice(("a0", "a1", "a2"))), chance.choice((None, ("default",)))
            )
            place.run(spot.name, _SMALL, labels={"app": "db"}, anti_affinity=(term,))
    return some_tree(chance, shapes(chance, chance.randint(2, 3)), 4)


def mixture(chance: Random, place: World) -> Group:
    """A nested request with several of the features above at once."""
    _residents(chance, place, 0.2)
    kinds = maybe_choosy(chance, place, shapes(chance, 3))
    for i, shape in enumerate(kinds):
        feature = chance.randrange(6)
        if feature == 0:
            kinds[i] = _even(chance, shape)
        elif feature == 1:
            kinds[i] = replace(shape, anti_affinity=_terms(chance, i, 1))
        elif feature == 2:
            kinds[i] = replace(shape, affinity=_terms(chance, i, 1))
        elif feature == 3:
            kinds[i] = replace(shape, ports=(HostPort(80),))
    spread = spread_rule(chance, HOST, 4) if chance.random() < 0.4 else None
    inner = group("b", loose(chance, "pb", kinds[1], 4), required=chance.choice((None, HOST, RACK)), spread=spread)
    outer = group("a", loose(chance, "pa", kinds[0], 4), inner, required=chance.choice((RACK, BLOCK)))
    slices = (Slice(HOST, 2),) if chance.random() < 0.3 else ()
    last = pods("pc", 2 * chance.randint(1, 2), kinds[2], slices=slices)
    return group("w", outer, last, required=chance.choice((None, BLOCK)), min_members=chance.choice((None, None, 1)))
