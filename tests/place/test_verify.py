"""``verify`` catches what breaks the rules about groups, levels, capacity and ranks, and lets pass what is allowed."""

import pytest

from phalanx.model.nodes import (
    NodeFilter,
    PodShape,
)
from phalanx.model.placement import Placement
from phalanx.model.request import Group, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, Resources
from phalanx.place.verify import quick, verify
from tests.place.verify_cases import (
    BLOCK,
    HOST,
    RACK,
    Where,
    cluster,
    group,
    judged,
    pods,
    root,
    running,
    shape,
)

# ------------------------------------------------------------------------------------------- what is written down


def test_a_placement_speaks_only_of_what_exists() -> None:
    request = root(pods())
    assert judged(request, {"p": {"n1": 2}}) == ""
    assert "not part of the request" in judged(request, {"p": {"n1": 2}, "q": {"n1": 1}})
    assert "not known" in judged(request, {"p": {"n9": 2}})
    assert "not known" in judged(request, {"p": {"n1": 1, "n9": 1}})
    assert "lists 0 pods" in judged(request, {"p": {"n1": 2, "n2": 0}})
    assert "lists -1 pods" in judged(request, {"p": {"n1": 3, "n2": -1}})
    assert "no group of the request" in judged(request, {"p": {"n1": 2}}, domains={"v": ()})
    twice = Placement({"p": (("n1", 1), ("n1", 1))})
    assert "twice" in "".join(verify(cluster(), request, twice))


def test_a_request_without_topology_has_only_the_node_level() -> None:
    plain = Request("Gang", "default", "test", Group("w", (pods(),), required=1))
    assert judged(plain, {"p": {"x1": 2}}) == ""
    assert "several domains" in judged(plain, {"p": {"x1": 1, "n1": 1}})


# --------------------------------------------------------------------------------------------------- rule 1, counts


@pytest.mark.parametrize(("placed", "good"), [(1, False), (2, True), (3, True), (4, False)])
def test_a_set_gets_between_its_minimum_and_its_count(placed: int, good: bool) -> None:
    assert (judged(root(pods(count=3, least=2)), {"p": {"n1": placed}}) == "") == good


def test_all_members_are_in_unless_fewer_are_enough() -> None:
    members = (pods("p"), pods("q"), pods("r"))
    assert "1 of its members in, it needs 3" in judged(root(*members), {"p": {"n1": 2}})
    assert "1 of its members in, it needs 2" in judged(root(*members, min_members=2), {"p": {"n1": 2}})
    assert judged(root(*members, min_members=2), {"p": {"n1": 2}, "r": {"n2": 2}}) == ""
    assert judged(root(*members, min_members=1), {"p": {"n1": 2}, "q": {"n1": 2}, "r": {"n2": 2}}) == ""


def test_a_group_that_is_in_has_enough_of_its_own_members() -> None:
    inner = group("g", pods("p"), pods("q"))
    assert "group 'g' has 1" in judged(root(inner, pods("r"), min_members=1), {"p": {"n1": 2}, "r": {"n2": 2}})
    assert judged(root(inner, pods("r"), min_members=1), {"r": {"n2": 2}}) == ""
    assert "needs 2" in judged(root(inner, pods("r")), {"r": {"n2": 2}})


def test_nothing_at_all_is_no_placement_unless_nothing_was_asked() -> None:
    assert judged(root(pods()), {}) != ""
    assert judged(root(pods(least=0)), {}) == ""
    assert judged(root(group("g", pods(least=0))), {}) == ""
    assert judged(root(group("g", pods(least=0), spread=Spread(HOST, max_per_domain=1))), {}) == ""
    spread = Spread(HOST, min_domains=1)
    assert judged(root(group("g", pods(least=0), spread=spread)), {}) != ""
    assert judged(root(pods(least=0), spread=spread), {}) != ""


# ----------------------------------------------------------------------------------- rules 2 and 3, levels, outside


@pytest.mark.parametrize(
    ("level", "nodes", "good"),
    [
        (RACK, ("n1", "n2"), True),
        (RACK, ("n1", "n3"), False),
        (RACK, ("n1", "n4"), False),  # the same rack label, another block
        (BLOCK, ("n1", "n3"), True),
        (BLOCK, ("n1", "n4"), False),
        (HOST, ("n1", "n2"), False),
        (0, ("n1", "n4"), True),
    ],
)
def test_a_required_level_holds_all_pods_below_the_group(level: int, nodes: tuple[str, str], good: bool) -> None:
    request = root(group("g", pods("p", 1), group("h", pods("q", 1)), required=level))
    assert (judged(request, {"p": {nodes[0]: 1}, "q": {nodes[1]: 1}}) == "") == good


@pytest.mark.parametrize(
    "request_",
    [
        root(pods(), required=HOST),
        root(group("g", pods()), preferred=RACK),
        root(group("g", pods(), spread=Spread(RACK, max_per_domain=2))),
        root(group("g", pods(), ranks=Ranks("Stripe", across=RACK))),
        root(group("g", pods(), ranks=Ranks(level=HOST))),
        root(pods(slices=(Slice(HOST, 2),))),
    ],
)
def test_a_wish_about_the_topology_keeps_pods_off_nodes_outside_it(request_: Request) -> None:
    assert "outside it" in judged(request_, {"p": {"x1": 2}})
    assert judged(request_, {"p": {"n1": 2}}) == ""


def test_other_pods_may_use_nodes_outside_the_topology() -> None:
    assert judged(root(group("g", pods("q", 1), required=RACK), pods()), {"p": {"x1": 2}, "q": {"n1": 1}}) == ""
    assert judged(root(group("g", pods(), ranks=Ranks())), {"p": {"x1": 2}}) == ""


# -------------------------------------------------------------------------------- rules 4 and 5, slices, spread


def test_slices_are_never_cut() -> None:
    request = root(pods(count=4, slices=(Slice(RACK, 2),)))
    assert judged(request, {"p": {"n1": 1, "n2": 1, "n3": 2}}) == ""
    assert "cuts a slice" in judged(request, {"p": {"n1": 1, "n3": 3}})
    elastic = root(pods(count=4, least=3, slices=(Slice(RACK, 2),)))
    assert "cuts a slice" in judged(elastic, {"p": {"n1": 2, "n3": 1}})
    layered = root(pods(count=4, slices=(Slice(RACK, 4), Slice(HOST, 2))))
    assert judged(layered, {"p": {"n1": 2, "n2": 2}}) == ""
    assert "level 3" in judged(layered, {"p": {"n1": 1, "n2": 3}})


def test_max_per_domain_limits_the_pods_below_a_group() -> None:
    request = root(pods("p", 1), pods("q", 2), spread=Spread(RACK, max_per_domain=2))
    assert judged(request, {"p": {"n1": 1}, "q": {"n2": 1, "n4": 1}}) == ""
    assert "more than 2" in judged(request, {"p": {"n1": 1}, "q": {"n2": 2}})
    one = root(pods(count=3), spread=Spread(RACK, max_per_domain=1))
    assert "more than 1" in judged(one, {"p": {"n1": 2, "n3": 1}})


def test_min_domains_counts_the_domains_in_use() -> None:
    request = root(group("g", pods(), spread=Spread(RACK, min_domains=2)), pods("q", 1), min_members=1)
    assert judged(request, {"p": {"n1": 1, "n3": 1}}) == ""
    assert "uses 1 domains" in judged(request, {"p": {"n1": 1, "n2": 1}})
    assert judged(request, {"q": {"n1": 1}}) == ""  # the group is out


def test_max_skew_counts_domains_that_got_nothing() -> None:
    free = root(pods(count=2), spread=Spread(RACK, max_skew=1))
    assert judged(free, {"p": {"n1": 1, "n3": 1}}) == ""
    assert "skew" in judged(free, {"p": {"n1": 1, "n2": 1}})
    two = root(pods(count=2), spread=Spread(RACK, max_skew=2))
    assert judged(two, {"p": {"n1": 1, "n2": 1}}) == ""


def test_max_skew_looks_only_inside_the_enclosing_domain() -> None:
    skew = Spread(RACK, max_skew=0)
    assert "skew" in judged(root(pods(), spread=skew), {"p": {"n1": 1, "n3": 1}})  # nothing in b2
    assert judged(root(group("g", pods(), spread=skew), required=BLOCK), {"p": {"n1": 1, "n3": 1}}) == ""
    assert "skew" in judged(root(group("g", pods(), spread=skew), required=BLOCK), {"p": {"n1": 2}})
    assert judged(root(pods(), required=BLOCK, spread=skew), {"p": {"n1": 1, "n3": 1}}) == ""
    assert "skew" in judged(root(pods(), required=BLOCK, spread=skew), {"p": {"n1": 2}})
    assert judged(root(pods(), required=RACK, spread=skew), {"p": {"n1": 2}}) == ""
    assert judged(root(pods(), required=HOST, spread=skew), {"p": {"n1": 2}}) == ""


def test_max_skew_ignores_domains_that_admit_no_pod() -> None:
    choosy = pods("p", 2, of=shape(filter=NodeFilter(selector=(("block", "b1"),))))
    skew = Spread(RACK, max_skew=0)
    assert judged(root(choosy, spread=skew), {"p": {"n1": 1, "n3": 1}}) == ""
    both = root(choosy, pods("q", 0), spread=skew)
    assert "skew" in judged(both, {"p": {"n1": 1, "n3": 1}})  # the other set could go to b2


# ------------------------------------------------------------------------------------------ rule 10, capacity


def test_capacity_is_exact_and_shared_with_what_runs() -> None:
    third = root(pods(count=3, of=shape(NANO + NANO // 3)))
    assert judged(third, {"p": {"n1": 3}}) == ""
    assert "too little cpu" in judged(root(pods(count=3, of=shape(NANO + NANO // 3 + 1))), {"p": {"n1": 3}})
    assert "too little cpu" in judged(third, {"p": {"n1": 3}}, cluster(running=(running("r", "n1", cpu=2),)))
    assert judged(third, {"p": {"n1": 3}}, cluster(running=(running("r", "n2", cpu=2),))) == ""
    assert judged(root(pods(), pods("q", 2)), {"p": {"n1": 2}, "q": {"n1": 2}}) == ""
    assert "too little cpu" in judged(root(pods(), pods("q", 3)), {"p": {"n1": 2}, "q": {"n1": 3}})


def test_a_resource_the_node_does_not_list_is_not_there() -> None:
    gpu = PodShape(Resources.of({"gpu": 1}))
    assert "too little gpu" in judged(root(pods(of=gpu)), {"p": {"n1": 2}})


# -------------------------------------------------------------------------------- rule 12, ranks and reports

PAIR = root(group("g", pods("p")), group("h", pods("q"), ranks=Ranks(with_same_rank_of="g", level=RACK)))
APART: Where = {"p": {"n1": 1, "n3": 1}, "q": {"n2": 1, "n3": 1}}


def test_equal_ranks_sit_together() -> None:
    assert judged(PAIR, APART, ranks={"g": ("n1", "n3"), "h": ("n2", "n3")}) == ""
    assert "rank 0 of g, h" in judged(PAIR, APART, ranks={"g": ("n1", "n3"), "h": ("n3", "n2")})
    assert "lists none" in judged(PAIR, APART, ranks={"g": ("n1", "n3")})


def test_ranks_that_only_one_group_has_are_free() -> None:
    request = root(group("g", pods("p", 1)), group("h", pods("q", 2), ranks=Ranks(with_same_rank_of="g", level=HOST)))
    assert judged(request, {"p": {"n1": 1}, "q": {"n1": 1, "n4": 1}}, ranks={"g": ("n1",), "h": ("n1", "n4")}) == ""
    assert "rank 0" in judged(
        request, {"p": {"n1": 1}, "q": {"n1": 1, "n4": 1}}, ranks={"g": ("n1",), "h": ("n4", "n1")}
    )


def test_links_reach_through_other_groups() -> None:
    third = group("i", pods("r", 2), ranks=Ranks(with_same_rank_of="g", level=RACK))
    request = root(group("g", pods("p", 1)), *PAIR.root.members[1:], third)
    where: Where = {"p": {"n1": 1}, "q": {"n1": 1, "n3": 1}, "r": {"n2": 1, "n4": 1}}
    ranks = {"g": ("n1",), "h": ("n1", "n3"), "i": ("n2", "n4")}
    assert "rank 1 of h, i" in judged(request, where, ranks=ranks)
    where["r"] = {"n2": 1, "n3": 1}
    assert judged(request, where, ranks=ranks | {"i": ("n2", "n3")}) == ""


def test_listed_ranks_agree_with_the_counts_of_each_set() -> None:
    request = root(group("g", pods("p", 2), pods("q", 1), ranks=Ranks()))
    where: Where = {"p": {"n1": 1, "n2": 1}, "q": {"n3": 1}}
    assert judged(request, where, ranks={"g": ("n2", "n1", "n3")}) == ""
    for wrong in (("n1", "n3", "n2"), ("n1", "n2"), ("n1", "n2", "n3", "n3"), ("n1", "n1", "n3")):
        assert "do not agree" in judged(request, where, ranks={"g": wrong})


@pytest.mark.parametrize(
    ("domain", "complaint"),
    [
        (("b1", "r1"), ""),
        (("b1",), "wider than its required level"),
        (("b1", "r2"), "does not hold all its pods"),
        (("b1", "r1", "n1"), "does not hold all its pods"),
        (("b2", "r1"), "does not hold all its pods"),
    ],
)
def test_a_reported_domain_holds_the_group(domain: tuple[str, ...], complaint: str) -> None:
    found = judged(root(pods(), required=RACK), {"p": {"n1": 1, "n2": 1}}, domains={"w": domain})
    assert complaint in found if complaint else found == ""


def test_an_outside_node_shares_no_domain_but_the_cluster() -> None:
    assert judged(root(pods()), {"p": {"x1": 2}}, domains={"w": ("b2", "", "x1")}) == ""
    assert judged(root(pods()), {"p": {"x1": 1, "x2": 1}}, domains={"w": ()}) == ""
    assert "does not hold" in judged(root(pods()), {"p": {"x1": 1, "n4": 1}}, domains={"w": ("b2",)})


def test_a_reported_level_is_that_of_the_domain() -> None:
    def reported(name: str) -> str:
        return judged(root(pods()), {"p": {"n1": 2}}, domains={"w": ("b1", "r1")}, level_reached={"w": name})

    assert reported("rack") == ""
    assert "of another" in reported("block")
    whole = Placement({"p": (("n1", 2),)}, domains={"w": ("b1", "r1", "n1")}, level_reached={"w": "host"})
    assert verify(cluster(), root(pods()), whole) == ()


# ------------------------------------------------------------------------------------------------------ the quick part


def test_quick_needs_only_the_nodes_in_use() -> None:
    request = root(pods(count=3), required=RACK)
    placement = Placement({"p": (("n1", 2), ("n2", 1))}, domains={"w": ("b1", "r1")})
    free = {"n1": {"cpu": 2 * NANO}, "n2": {"cpu": NANO}}
    paths = {"n1": ("b1", "r1", "n1"), "n2": ("b1", "r1", "n2")}
    assert quick(free, paths, request, placement) == ()
    assert quick(free | {"n1": {"cpu": 2 * NANO - 1}}, paths, request, placement) == ("node 'n1' has too little cpu",)
    assert len(quick(free, {**paths, "n2": ("b1", "r2", "n2")}, request, placement)) == 2  # level and domain
    assert any("outside it" in line for line in quick(free, {"n1": paths["n1"]}, request, placement))
    assert any("allowed are 3 to 3" in line for line in quick(free, paths, request, Placement({"p": (("n1", 2),)})))
