"""Rules that meet on one gang: slices with spreads, choices with evenness, company with members that stay out.

Each is asked twice: with the last tier, which holds all rules at once, and without it, as on clusters too large for it.
"""

import pytest

from phalanx.model.nodes import LabelSelector, NodeFilter, PodShape, PodTerm
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, LABEL_PREFIX, snapshot
from phalanx.model.topology import HOSTNAME
from phalanx.place import search, solve
from phalanx.place.draft import Draft
from phalanx.place.solve import Answer
from phalanx.place.verify import verify

RACK, HOST = 1, 2
FOUR_RACKS = "r1=8,8 r2=8,8 r3=8,8 r4=8,8"


@pytest.fixture
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(search, "FEW", request.param)
    return int(request.param)


with_and_without_the_last_tier = pytest.mark.parametrize("few", [search.FEW, 0], indirect=True)


def pods(name: str, count: int, least: int | None = None, slices: tuple[Slice, ...] = (), **shape: object) -> PodSet:
    one = PodShape(Resources.of({GPU: NANO}), labels=(("app", name),), **shape)  # type: ignore[arg-type]
    return PodSet(name, count, count if least is None else least, one, slices)


def ask(drawing: str, root: Group) -> Answer:
    world = snapshot(drawing)
    request = Request("Gang", "default", "x", root, topology="sketch")
    answer = solve.place(Draft.of(world, "sketch"), request)
    if answer.placement is not None:
        assert verify(world, request, answer.placement) == ()
    return answer


def counts(answer: Answer, name: str) -> list[int]:
    assert answer.placement is not None
    return sorted(number for _, number in answer.placement.pod_sets.get(name, ()))


def near(app: str, key: str = HOSTNAME) -> PodTerm:
    return PodTerm(key, LabelSelector((("app", app),)), None)


# ---- slices and spreads -------------------------------------------------------------------------------------------


@with_and_without_the_last_tier
@pytest.mark.parametrize("outer", [False, True])
def test_a_limit_that_is_no_multiple_of_the_slice_is_rounded_down_to_whole_slices(few: int, outer: bool) -> None:
    """At most 12 in a rack of slices of 8 are 8."""
    sliced = pods("w", 16, slices=(Slice(HOST, 8),))
    spread = Spread(RACK, max_per_domain=12)
    root = Group("g", (Group("inner", (sliced,)),), spread=spread) if outer else Group("g", (sliced,), spread=spread)
    answer = ask(FOUR_RACKS, root)
    assert answer.status == "placed" and counts(answer, "w") == [8, 8]
    assert ask("r1=8,8", root).status == "impossible"


@with_and_without_the_last_tier
def test_a_limit_inside_a_slice_leaves_the_slice_whole(few: int) -> None:
    """Slices of 4 in a rack, at most 3 on a node: 3 + 1, and of 5 that fit one rack only 4 count."""
    root = Group("g", (pods("w", 4, slices=(Slice(RACK, 4),)),), spread=Spread(HOST, max_per_domain=3))
    assert counts(ask("r1=4,2 r2=3", root), "w") in ([1, 3], [2, 2])
    assert ask("r1=4 r2=4", root).status == "impossible"


@pytest.mark.parametrize(
    "spread", [Spread(HOST, min_domains=2), Spread(HOST, max_skew=2), Spread(HOST, max_skew=1)], ids=str
)
def test_a_spread_inside_slices_is_decided(spread: Spread) -> None:
    """One rack, two nodes, four pods in slices of two: 3 + 1 and 2 + 2 would both do."""
    root = Group("g", (pods("w", 4, slices=(Slice(RACK, 2),)),), spread=spread)
    answer = ask("r1=4,4", root)
    assert answer.status == "placed" and len(counts(answer, "w")) == 2
    assert ask("r1=4", root).status == ("impossible" if spread.min_domains else "placed")


def test_a_spread_across_slices_of_a_node_is_decided() -> None:
    root = Group("g", (pods("w", 4, slices=(Slice(HOST, 2),)),), spread=Spread(RACK, max_skew=1))
    assert ask("r1=4 r2=4", root).status == "placed"
    assert ask("r1=4 r2=1", root).status == "impossible"


@with_and_without_the_last_tier
def test_evenly_and_elastic_in_slices_never_cuts_a_slice(few: int) -> None:
    """Six do not go evenly, five would cut a slice, four are placed."""
    elastic = pods("w", 6, 4, slices=(Slice(RACK, 2),))
    answer = ask("r1=4,4 r2=2", Group("g", (elastic,), spread=Spread(RACK, max_skew=1)))
    assert answer.status == "placed" and sum(counts(answer, "w")) == 4


@with_and_without_the_last_tier
def test_many_domains_are_not_reached_by_several_pods_in_one(few: int) -> None:
    """One set comes in threes, the other in ones: two single pods in a rack are one domain, not two."""
    threes, ones = pods("a", 3, slices=(Slice(RACK, 3),)), pods("b", 2)
    root = Group("g", (threes, ones), spread=Spread(RACK, min_domains=3))
    answer = ask("r1=8 r2=8 r3=8", root)
    if few:
        assert answer.status == "placed"
    assert ask("r1=8 r2=8", root).status == "impossible" or not few


@with_and_without_the_last_tier
def test_a_spread_inside_a_spread_reaches_the_domains_of_both(few: int) -> None:
    threes = [Group(f"g{i}", (pods(f"a{i}", 3, slices=(Slice(RACK, 3),)),)) for i in range(2)]
    inner = Group("h", (pods("b", 2), pods("c", 1)), spread=Spread(RACK, min_domains=2))
    answer = ask("r1=8 r2=8", Group("g", (*threes, inner), spread=Spread(RACK, min_domains=3)))
    assert answer.status in (("impossible",) if few else ("impossible", "undecided"))


# ---- members that stay out ------------------------------------------------------------------------------------------


@with_and_without_the_last_tier
def test_domains_of_members_that_stay_out_count_for_evenness(few: int) -> None:
    """Only the set that stays out may use rack r1, and has no room there: so r2 holds one pod at most."""
    elsewhere = NodeFilter(selector=((LABEL_PREFIX + "rack", "r2"),))
    stays, goes = pods("a", 4), pods("b", 3, filter=elsewhere)
    answer = ask("r1=1 r2=8", Group("g", (stays, goes), spread=Spread(RACK, max_skew=1), min_members=1))
    assert answer.status != "placed"


@with_and_without_the_last_tier
def test_a_pod_that_needs_company_is_not_placed_where_its_company_stays_out(few: int) -> None:
    """Both ask for pods of ``a``. Without the set ``a`` nobody can be the first."""
    first, second = pods("a", 9, affinity=(near("a"),)), pods("b", 1, affinity=(near("a"),))
    assert ask("r1=8", Group("g", (first, second), min_members=1)).status == "impossible"


# ---- ranks ----------------------------------------------------------------------------------------------------------


@with_and_without_the_last_tier
def test_ranks_shared_with_a_group_of_another_request_tie_nothing(few: int) -> None:
    """Under policy Basic every group is a request by itself."""
    root = Group("decode", (pods("w", 3),), ranks=Ranks(with_same_rank_of="prefill", level=HOST))
    assert ask("r1=2,1", root).status == "placed"


@with_and_without_the_last_tier
def test_ranks_meet_only_with_those_that_are_in(few: int) -> None:
    """Inside a group that waits for nobody the partner may stay out; who is in is placed all the same."""
    large = Group("a", (pods("w", 9),), ranks=Ranks("None"))
    small = Group("b", (pods("v", 2),), ranks=Ranks(with_same_rank_of="a", level=HOST))
    answer = ask("r1=2,1", Group("g", (large, small), min_members=1))
    assert answer.status == "placed" and sum(counts(answer, "v")) == 2


@with_and_without_the_last_tier
@pytest.mark.parametrize("third", [False, True])
def test_pods_that_share_a_node_by_rank_are_each_counted_under_a_limit(few: int, third: bool) -> None:
    """Two and two on one node are four pods, at most three may be there; a third group is counted beside them."""
    first = Group("a", (pods("w", 2),), ranks=Ranks("None"))
    second = Group("b", (pods("v", 2),), ranks=Ranks(with_same_rank_of="a", level=HOST))
    beside = (Group("c", (pods("u", 1),)),) if third else ()
    root = Group("g", (first, second, *beside), spread=Spread(HOST, max_per_domain=3))
    assert ask("r1=8", root).status == "impossible"
    assert ask("r1=8,8", root).status == "placed"


@with_and_without_the_last_tier
def test_of_equal_groups_the_one_that_others_sit_with_is_not_exchanged_for_another(few: int) -> None:
    """Two of three: ``b`` sits on one node with ``a1``, and there is room for that only where ``a0`` stays out."""
    equals = [Group(f"a{i}", (pods(f"w{i}", 2),), required=HOST, ranks=Ranks("None")) for i in range(2)]
    beside = Group("b", (pods("v", 2),), ranks=Ranks(with_same_rank_of="a1", level=HOST))
    answer = ask("r1=4", Group("g", (*equals, beside), min_members=2))
    assert answer.status == "placed"


# ---- many nodes -----------------------------------------------------------------------------------------------------

RACKS = 128
MANY = " ".join(f"r{i}=8*16" for i in range(RACKS))
COUNTED = 1  # the tier that counts and places the hardest first


def _apart(name: str, count: int, other: str) -> PodSet:
    return pods(name, count, anti_affinity=(near(other, LABEL_PREFIX + "rack"),))


@pytest.mark.parametrize(
    "root",
    [
        Group("g", (pods("a", 16 * RACKS), pods("b", 16 * RACKS)), spread=Spread(RACK, max_per_domain=32)),
        Group("g", (pods("a", 16 * RACKS), pods("b", 16 * RACKS)), spread=Spread(HOST, max_per_domain=3)),
        Group("g", (_apart("a", 32 * RACKS, "b"), pods("b", 32 * RACKS))),
        Group(
            "g", (pods("a", 126, slices=(Slice(RACK, 3),)), pods("b", RACKS)), spread=Spread(RACK, min_domains=RACKS)
        ),
        Group("g", (pods("a", RACKS // 2), pods("b", RACKS // 2)), spread=Spread(RACK, min_domains=RACKS)),
        Group("g", (pods("a", RACKS), pods("b", RACKS)), spread=Spread(HOST, min_domains=2 * RACKS)),
    ],
    ids=["most in a rack", "most on a node", "apart", "slices and domains", "a domain each", "nodes"],
)
def test_rules_that_several_sets_share_are_kept_while_they_are_placed_on_many_nodes(root: Group) -> None:
    answer = ask(MANY, root)
    assert (answer.status, answer.tier) == ("placed", COUNTED)


def test_what_several_sets_share_may_be_around_what_must_be_together() -> None:
    """Each inner group needs a node; no rack may have pods of more than one of them, nor more than one such node."""
    inner = [Group(f"i{i}", (pods(f"a{i}", 6),), required=HOST) for i in range(3)]
    root = Group("g", tuple(inner), spread=Spread(RACK, max_per_domain=11))
    answer = ask("r1=8,8 r2=8,8 r3=8,8", root)
    assert answer.placement is not None
    assert len({node[:2] for nodes in answer.placement.pod_sets.values() for node, _ in nodes}) == 3
    assert ask("r1=8,8,8 r2=8,8", root).status == "impossible"
