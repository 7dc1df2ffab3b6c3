"""What people may see of a gang."""

from dataclasses import replace

from phalanx.engine import views
from phalanx.engine.lifecycle import State
from phalanx.model.events import GangSeen, NodeSeen
from phalanx.model.nodes import PodShape
from phalanx.model.reasons import Why
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.rules import Rules
from tests.engine.casting import members, see
from tests.engine.stage import ONE, Stage, gang

RACKS = "b1: r1=2,2 r2=2,2 | b2: r1=4,4"


def view_of(stage: Stage, name: str = "g") -> views.View:
    return views.of_all(stage.engine.book, [f"default/{name}"])[f"default/{name}"]


def tree_of(name: str = "t") -> Request:
    """A block that holds two racks' worth of pods: ``a`` 4, ``b`` 2 of which 1 must be there."""
    a = Group("a", (PodSet("a", 4, 4, PodShape(ONE)),), required=2)
    b = Group("b", (PodSet("b", 2, 1, PodShape(ONE)),), required=2)
    return Request("Gang", "default", name, Group(name, (a, b), required=1), "drawn")


def test_a_gang_that_waits_says_why_and_whose_pods_wait() -> None:
    stage = Stage("b1: r1=1")
    pods = stage.submit(gang(count=2))
    seen = view_of(stage)
    assert (seen.state, seen.complete, seen.scheduled, seen.holds) == (State.QUEUED, True, False, False)
    assert seen.reason is not None
    assert seen.reason.type is Why.TOO_LARGE
    assert seen.unplaced == tuple(pod.key for pod in pods)
    assert (seen.whole.wanted, seen.whole.seen, seen.whole.reserved, seen.whole.bound) == (2, 2, 0, 0)
    assert (seen.spots, seen.level) == ((), "")


def test_counts_of_a_gang_that_runs() -> None:
    stage = Stage(RACKS)
    stage.run(gang(count=4, required=2))
    seen = view_of(stage)
    whole = seen.whole
    assert (whole.wanted, whole.seen, whole.reserved, whole.bound, whole.ready) == (4, 4, 4, 4, 4)
    assert (seen.state, seen.scheduled, seen.ready, seen.holds) == (State.RUNNING, True, True, True)
    assert seen.unplaced == ()


def test_places_count_before_their_pods_are_bound() -> None:
    stage = Stage(RACKS)
    stage.submit(gang(count=4, required=2))
    seen = view_of(stage)
    assert (seen.state, seen.whole.reserved, seen.whole.bound) == (State.BINDING, 4, 0)
    assert seen.whole.domain == ("b1", "r1")


def test_the_domain_of_a_group_is_the_deepest_that_holds_it() -> None:  # KA-017
    stage = Stage(RACKS)
    request = tree_of()
    stage.step(GangSeen(request, 0.0))
    see(stage, *members(request))
    stage.carry_out()
    found = {one.name: one.domain for one in view_of(stage, "t").groups}
    assert found["t"] == found["a"][:1]
    assert len(found["a"]) == 2
    assert len(found["b"]) >= 2


def test_pods_per_domain_of_the_narrowest_level_above_the_node() -> None:  # KA-017
    stage = Stage("b1: r1=2 r2=2 | b2: r1=1")
    stage.run(gang(count=5))
    seen = view_of(stage)
    assert seen.level == "rack"
    assert [(one.domain, one.pods) for one in seen.spots] == [
        (("b1", "r1"), 2), (("b1", "r2"), 2), (("b2", "r1"), 1)]  # fmt: skip


def test_only_so_many_domains_are_listed_and_the_rest_is_counted() -> None:
    stage = Stage(" | ".join(f"b{i}: r1=1" for i in range(40)))
    stage.run(gang(count=40))
    seen = view_of(stage)
    assert len(seen.spots) == views.SPOTS_MAX
    assert seen.more == (("w", 40 - views.SPOTS_MAX),)


def test_a_node_outside_the_topology_is_in_no_domain() -> None:
    stage = Stage("b1: r1=1")
    (name,) = stage.nodes
    stage.step(NodeSeen(replace(stage.nodes[name], labels={})))
    stage.run(gang(count=1))
    seen = view_of(stage)
    assert (seen.whole.bound, seen.whole.domain) == (1, ())


def test_the_least_of_a_tree_is_that_of_the_members_that_must_start() -> None:
    request = tree_of()
    stage = Stage(RACKS)
    stage.step(GangSeen(request, 0.0))
    assert {one.name: one.least for one in view_of(stage, "t").groups} == {"t": 5, "a": 4, "b": 1}
    one_of_two = replace(request, root=replace(request.root, min_members=1))
    stage.step(GangSeen(one_of_two, 0.0))
    assert view_of(stage, "t").whole.least == 1


def test_gated_pods_are_not_among_those_that_wait_for_us() -> None:
    stage = Stage("b1: r1=1")
    request = gang(count=2, rules=Rules(enforcement="Gate"))
    stage.step(GangSeen(request, 0.0))
    for rank in range(2):
        stage.pod(request, rank, gated=True)
    assert view_of(stage).unplaced == ()


def test_a_root_that_only_ties_groups_together_is_not_named() -> None:
    stage = Stage(RACKS)
    request = tree_of()
    plain = replace(request, root=replace(request.root, required=None))
    stage.step(GangSeen(plain, 0.0))
    assert {one.name: (one.named, one.has_pods) for one in view_of(stage, "t").groups} == {
        "t": (False, False), "a": (True, True), "b": (True, True)}  # fmt: skip


def test_those_who_are_gone_have_no_view() -> None:
    assert views.of_all(Stage("b1: r1=1").engine.book, ["default/g"]) == {}
