"""One decision: wishes are met in their declared order, more than the minimum is placed where it fits, and the cheap
tiers are enough where sizes divide each other."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from phalanx.model.nodes import NodeFilter, PodShape, Requirement, Taint, Term
from phalanx.model.policy import Policy
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU, LABEL_PREFIX, snapshot
from phalanx.model.snapshot import Snapshot
from phalanx.place import solve
from phalanx.place.draft import Draft
from phalanx.place.solve import Answer
from phalanx.place.verify import verify
from phalanx.testing import oracle
from tests.properties import worlds

BLOCK, RACK, HOST = 1, 2, 3


def pods(name: str, count: int, gpus: int = 1, least: int | None = None, slices: tuple[Slice, ...] = ()) -> PodSet:
    return PodSet(name, count, count if least is None else least, PodShape(Resources.of({GPU: gpus * NANO})), slices)


def ask(drawing: str, root: Group, policy: Policy = Policy()) -> Answer:
    world = snapshot(drawing)
    request = Request("Gang", "default", "x", root, topology="sketch")
    answer = solve.place(Draft.of(world, "sketch"), request, policy)
    if answer.placement is not None:
        broken = verify(world, request, answer.placement)
        assert not broken, broken
    return answer


def placed(answer: Answer, name: str) -> int:
    return sum(number for _, number in answer.placement.pod_sets.get(name, ())) if answer.placement else 0


# ---- the ladder of one wish ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drawing", "reached"),
    [("b1: r1=4,8", "host"), ("b1: r1=4,4", "rack"), ("b1: r1=4 r2=4", "block"), ("b1: r1=4 | b2: r1=4", "cluster")],
)
def test_a_preferred_level_is_left_step_by_step(drawing: str, reached: str) -> None:  # K-033, KA-002, KA-054
    answer = ask(drawing, Group("root", (pods("p", 8),), preferred=HOST))
    assert answer.placement is not None and answer.placement.level_reached["root"] == reached


def test_a_preference_never_goes_beyond_what_is_required() -> None:
    assert ask("b1: r1=4 | b2: r1=4", Group("root", (pods("p", 8),), BLOCK, HOST)).status == "impossible"


def test_of_two_wishes_the_outer_one_is_met_first() -> None:
    """One rack for everything, or a node for the inner group: both together there is no room for."""
    inner = Group("inner", (pods("p", 4),), preferred=HOST)
    root = Group("root", (inner, pods("q", 2)), preferred=RACK)
    answer = ask("b1: r1=3,3 r2=4", root)
    assert answer.placement is not None
    assert answer.placement.level_reached["root"] == "rack"
    assert answer.placement.level_reached["inner"] == "rack"


# ---- several wishes against enumeration ---------------------------------------------------------------------------


def wishing(seed: int) -> tuple[Snapshot, Request]:
    chance = Random(f"wishes:{seed}")
    place = worlds.world(chance, most=8)
    worlds.fill(chance, place)

    def some(name: str, most: int) -> PodSet:
        count = chance.randint(1, most)
        amounts = {worlds.GPU: chance.choice((1, 2, 3)) * NANO, PODS: NANO}
        return PodSet(name, count, count, PodShape(Resources.of(amounts)))

    kids = tuple(
        Group(
            f"g{i}", (some(f"p{i}", 4),), chance.choice((None, None, BLOCK)), chance.choice((None, BLOCK, RACK, HOST))
        )
        for i in range(chance.randint(1, 3))
    )
    root = Group("root", (*kids, some("q", 3)), None, chance.choice((None, BLOCK, RACK)))
    return place.snapshot(), Request("Gang", "default", "x", root, topology=worlds.TOPOLOGY.name)


def demanding(group: Group, levels: dict[str, int | None]) -> Group:
    """The same tree with levels required and nothing preferred."""
    members = tuple(demanding(m, levels) if isinstance(m, Group) else m for m in group.members)
    return replace(group, members=members, required=levels[group.name], preferred=None)


@pytest.mark.parametrize("chunk", range(4))
def test_the_levels_reached_are_the_best_in_lexicographic_order(chunk: int) -> None:  # KA-055
    """Every combination of levels is asked of the oracle, outer groups first; nothing better may exist."""
    compromises = 0
    for seed in range(chunk * 30, chunk * 30 + 30):
        world, request = wishing(seed)
        answer = solve.place(Draft.of(world, request.topology), request)
        wishes = [g for g in request.root.groups() if g.preferred is not None and g.preferred > (g.required or 0)]
        if answer.placement is None or not wishes:
            continue
        names = ("cluster", *worlds.TOPOLOGY.level_names())
        got = tuple(min(names.index(answer.placement.level_reached[g.name]), g.preferred or 0) for g in wishes)
        best = next(levels for levels in _combinations(wishes) if _possible(world, request, wishes, levels))
        assert got >= best, f"seed {seed}: reached {got}, possible is {best}"
        compromises += best != tuple(g.preferred for g in wishes)
    assert compromises > 3, "where every wish is met there is nothing to see"


def _combinations(wishes: list[Group]) -> list[tuple[int, ...]]:
    ladders = [range(g.preferred or 0, (g.required or 0) - 1, -1) for g in wishes]
    return sorted(product(*ladders), reverse=True)


def _possible(world: Snapshot, request: Request, wishes: list[Group], levels: tuple[int, ...]) -> bool:
    asked: dict[str, int | None] = {g.name: g.required for g in request.root.groups()}
    asked.update({g.name: level or None for g, level in zip(wishes, levels, strict=True)})
    return oracle.feasible(world, replace(request, root=demanding(request.root, asked))) is not None


# ---- more than the minimum ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", range(2, 12))
def test_as_many_pods_as_fit_are_placed_beyond_the_minimum(room: int) -> None:
    answer = ask(f"b1: r1={room}", Group("root", (pods("p", 9, least=2),)))
    assert placed(answer, "p") == min(room, 9)


def test_below_the_minimum_nothing_is_placed() -> None:  # M-004
    assert ask("b1: r1=1", Group("root", (pods("p", 9, least=2),))).status == "impossible"


@pytest.mark.parametrize("room", range(4, 20))
def test_more_than_the_minimum_comes_in_whole_slices(room: int) -> None:
    answer = ask(f"b1: r1={room}", Group("root", (pods("p", 16, least=3, slices=(Slice(RACK, 4),)),)))
    assert placed(answer, "p") == min(room // 4 * 4, 16)


def test_pod_sets_are_extended_in_declared_order() -> None:
    answer = ask("b1: r1=10", Group("root", (pods("p", 6, least=1), pods("q", 6, least=1))))
    assert (placed(answer, "p"), placed(answer, "q")) == (6, 4)


def test_every_pod_counts_more_than_a_preferred_level() -> None:
    answer = ask("b1: r1=4 r2=4", Group("root", (pods("p", 8, least=2),), preferred=RACK))
    assert placed(answer, "p") == 8


def test_a_member_that_may_stay_out_does_not_forbid_the_others() -> None:
    """Three pods in slices of four can never be placed; with one member of two needed, that is no reason to refuse."""
    root = Group("root", (pods("p", 2), pods("q", 3, slices=(Slice(RACK, 4),))), min_members=1)
    answer = ask("b1: r1=8", root)
    assert answer.status == "placed" and placed(answer, "p") == 2


def test_as_many_members_start_as_fit_beyond_those_that_must() -> None:
    """Three of six racks' worth are needed, four fit: four start, and no fifth is half placed."""
    members = tuple(Group(f"g{i}", (pods(f"p{i}", 4),), required=RACK) for i in range(6))
    answer = ask("b1: r1=4 r2=4 r3=3 | b2: r1=4 r2=4", Group("root", members, min_members=3))
    assert sorted(placed(answer, f"p{i}") for i in range(6)) == [0, 0, 4, 4, 4, 4]


def test_every_member_starts_on_a_wider_level_before_one_is_left_out() -> None:
    """A rack is only preferred, so both groups start in the block rather than one of them in its rack."""
    members = tuple(Group(f"g{i}", (pods(f"p{i}", 3),)) for i in range(2))
    answer = ask("b1: r1=4 r2=2", Group("root", members, preferred=RACK, min_members=1))
    assert [placed(answer, f"p{i}") for i in range(2)] == [3, 3]


def test_a_group_that_is_in_keeps_its_spread_even_with_no_pods() -> None:
    """At least three racks of two, and no pod at all needed: none is too few."""
    root = Group("root", (pods("p", 1, least=0), pods("q", 1, least=0)), spread=Spread(RACK, min_domains=3))
    assert ask("b1: r1=8 r2=8", root).status == "impossible"


# ---- balance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("across", [BLOCK, RACK])
def test_balanced_ranks_keep_slices_whole(across: int) -> None:
    balanced = Ranks("Balance", across=across)
    root = Group("root", (pods("p", 36, slices=(Slice(RACK, 4),)),), ranks=balanced)
    assert ask("b1: r1=8,8 r2=8,8 | b2: r1=8,8 r2=8,8", root).status == "placed"


@pytest.mark.parametrize("count", range(4, 37, 4))
@pytest.mark.parametrize("across", [BLOCK, RACK, HOST])
def test_balanced_ranks_are_valid_with_two_layers_of_slices(across: int, count: int) -> None:
    sliced = pods("p", count, slices=(Slice(BLOCK, 4), Slice(RACK, 2)))
    root = Group("root", (sliced,), ranks=Ranks("Balance", across=across))
    assert ask("b1: r1=5,4 r2=7,3 | b2: r1=9,2 r2=1,6", root).status in ("placed", "impossible")


# ---- sizes that divide each other ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(4))
def test_sizes_that_divide_each_other_never_leave_the_first_tier(chunk: int) -> None:
    verdicts: dict[str, int] = {}
    for seed in range(chunk * 50, chunk * 50 + 50):
        chance = Random(seed)
        racks = " ".join(
            f"r{i}={','.join(str(chance.choice((1, 2, 4, 8))) for _ in range(chance.randint(1, 4)))}" for i in range(3)
        )
        sizes = chance.sample((1, 2, 4, 8), chance.randint(1, 4))
        root = Group("root", tuple(pods(f"p{size}", chance.randint(1, 5), size) for size in sizes))
        answer = ask(f"b1: {racks}", root)
        verdicts[answer.status] = verdicts.get(answer.status, 0) + 1
        assert answer.status != "undecided"
        if answer.status == "placed":
            assert answer.tier <= 1, f"seed {seed}: {racks} {root}"
    assert verdicts["placed"] > 5 and verdicts["impossible"] > 5


# ---- the budget ---------------------------------------------------------------------------------------------------


def test_a_search_without_a_budget_is_undecided_and_never_impossible() -> None:
    for budget in (0, 100, 20_000, 30_000, 50_000):
        answer = ask("b1: r1=5 r2=4", Group("root", (pods("p", 2, 3), pods("q", 2, 2))), Policy(budget=budget))
        assert answer.work <= budget
        assert answer.status in ("undecided", "impossible")
    assert (
        ask("b1: r1=5 r2=5", Group("root", (pods("p", 2, 3), pods("q", 2, 2))), Policy(budget=0)).status == "undecided"
    )


@pytest.mark.parametrize("candidates", ["pack", "spread", "balance"])
@pytest.mark.parametrize("nodes", ["compact", "reuse"])
def test_every_policy_gives_a_valid_placement(candidates: str, nodes: str) -> None:
    policy = Policy(candidates, nodes)
    root = Group("root", (Group("g", (pods("p", 4, 2, slices=(Slice(RACK, 2),)),), BLOCK), pods("q", 5)))
    assert ask("b1: r1=8,3 r2=5 | b2: r1=6,6 r2=2", root, policy).status == "placed"


def test_pack_takes_the_tightest_rack_and_spread_the_roomiest() -> None:
    root = Group("root", (pods("p", 3),), required=RACK)
    pack, spread = (ask("b1: r1=9 r2=4 r3=5", root, Policy(candidates=c)) for c in ("pack", "spread"))
    assert pack.placement is not None and pack.placement.pod_sets["p"] == (("b1-r2-1", 3),)
    assert spread.placement is not None and spread.placement.pod_sets["p"] == (("b1-r1-1", 3),)


# ---- nodes that are liked better -----------------------------------------------------------------------------------


def _liking(key: str, value: str) -> NodeFilter:
    return NodeFilter(preferred=((10, Term((Requirement(key, "In", (value,)),))),))


def test_a_liked_rack_is_chosen_before_a_tighter_one() -> None:
    world = snapshot("b1: r1=2 r2=4")
    liked = PodShape(Resources.of({GPU: NANO}), filter=_liking(LABEL_PREFIX + "rack", "r2"))
    request = Request("Gang", "default", "x", Group("g", (PodSet("p", 2, 2, liked),), required=RACK), topology="sketch")
    answer = solve.place(Draft.of(world, "sketch"), request)
    assert answer.placement is not None and answer.placement.domains["g"][:2] == ("b1", "r2")


def test_a_level_counts_more_than_a_liking() -> None:
    world = snapshot("b1: r1=4 r2=2")
    liked = PodShape(Resources.of({GPU: NANO}), filter=_liking(LABEL_PREFIX + "rack", "r2"))
    request = Request(
        "Gang", "default", "x", Group("g", (PodSet("p", 4, 4, liked),), preferred=RACK), topology="sketch"
    )
    answer = solve.place(Draft.of(world, "sketch"), request)
    assert answer.placement is not None and answer.placement.level_reached["g"] in ("rack", "host")


def test_a_softly_tainted_node_comes_last() -> None:
    world = snapshot("b1: r1=2,4")
    first, *rest = world.nodes
    soft = replace(first, taints=(Taint("old", "", "PreferNoSchedule"),))
    answer = solve.place(
        Draft.of(replace(world, nodes=(soft, *rest)), "sketch"),
        Request("Gang", "default", "x", Group("g", (pods("p", 2),)), topology="sketch"),
    )
    assert answer.placement is not None and dict(answer.placement.pod_sets["p"]) == {rest[0].name: 2}
