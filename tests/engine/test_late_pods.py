"""Pods that come late or beyond the minimum: as many as there is room and quota for start, others when more comes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from phalanx.engine.lifecycle import State
from phalanx.model.decision import Waiting
from phalanx.model.effects import Bind, Evict, Ungate
from phalanx.model.events import GangSeen, NodeSeen, PodGone, PodSeen, QueuesSeen
from phalanx.model.nodes import PodShape, RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queue, Queues, Quota
from phalanx.model.reasons import Why
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, Resources
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU
from tests.engine.casting import BLOCK, RACK, domains, free, member, members, nodes_of, see, state_of
from tests.engine.stage import ONE, Stage, gang


def grown(stage: Stage, request: Request, *pods: Pod) -> list[Bind]:
    """What was bound of pods that came together, and of what followed."""
    before = len(stage.effects)
    see(stage, *pods)
    stage.carry_out()
    return [effect for effect in stage.effects[before:] if isinstance(effect, Bind)]


def started(stage: Stage, request: Request, **counts: int) -> None:
    """The gang runs with so many pods of each set."""
    stage.step(GangSeen(request, stage.now))
    see(stage, *members(request, **counts))
    stage.carry_out()
    assert state_of(stage, request) is State.RUNNING


def late(request: Request, pod_set: str, *numbers: int) -> list[Pod]:
    return [member(request, pod_set, number) for number in numbers]


def stranger(name: str, node: str, gpus: int = 1) -> Pod:
    """A pod of nobody's gang that takes room."""
    running = RunningPod(name, "default", node, Resources.of({GPU: gpus * NANO}))
    return Pod(PodKey("default", name, f"{name}.0"), running, phase="Running")


def occupied(stage: Stage, *nodes: str) -> list[Pod]:
    taken = [stranger(f"other-{i}", node) for i, node in enumerate(nodes)]
    stage.step(*(PodSeen(pod) for pod in taken))
    return taken


def left(stage: Stage, pod: Pod) -> None:
    stage.step(PodGone(pod.key))
    stage.carry_out()


def running(stage: Stage, request: Request, pod_set: str | None = None) -> list[str]:
    return [node for node in nodes_of(stage, request, pod_set) if node]


def several(*members: Group | PodSet, **more: object) -> Request:
    return Request("Gang", "default", "g", Group("root", members, **more), "drawn")  # type: ignore[arg-type]


def pods(name: str, count: int, least: int, **more: object) -> PodSet:
    return PodSet(name, count, least, PodShape(ONE), **more)  # type: ignore[arg-type]


# -- room --------------------------------------------------------------------------------------------------------


def test_of_three_late_pods_the_one_that_fits_starts() -> None:  # M-025
    stage = Stage("b1: r1=3")
    request = gang(count=5, least=2)
    started(stage, request, w=2)
    bound = grown(stage, request, *late(request, "w", 2, 3, 4))
    assert [bind.key.name for bind in bound] == ["g--w-2"]
    assert stage.state() is State.RUNNING


def test_the_others_start_when_room_comes_and_nobody_twice() -> None:  # M-025
    stage = Stage("b1: r1=1,1,1,1,1")
    request = gang(count=5, least=2)
    first, second = occupied(stage, "b1-r1-4", "b1-r1-5")
    started(stage, request, w=2)
    grown(stage, request, *late(request, "w", 2, 3, 4))
    assert len(running(stage, request)) == 3
    left(stage, first)
    assert len(running(stage, request)) == 4
    left(stage, second)
    assert len(running(stage, request)) == 5
    asked = Counter(effect.key for effect in stage.effects if isinstance(effect, Bind))
    assert set(asked.values()) == {1}
    assert not [effect for effect in stage.effects if isinstance(effect, Evict)]


def test_nothing_happens_while_nothing_changes() -> None:
    stage = Stage("b1: r1=3")
    request = gang(count=5, least=2)
    started(stage, request, w=2)
    grown(stage, request, *late(request, "w", 2, 3, 4))
    assert [stage.after(1), stage.after(1), stage.step(PodSeen(next(iter(stage.pods.values()))))] == [(), (), ()]


def test_late_pods_stay_in_the_rack_of_their_gang_though_there_is_room_elsewhere() -> None:
    stage = Stage("b1: r1=1,1,1 r2=1 r3=1")
    request = gang(count=5, least=2, required=RACK)
    started(stage, request, w=2)
    grown(stage, request, *late(request, "w", 2, 3, 4))
    assert len(running(stage, request)) == 3
    assert domains(stage, running(stage, request), "block", "rack") == {("b1", "r1")}


def test_late_pods_of_a_group_that_prefers_a_rack_start_wherever_there_is_room() -> None:
    stage = Stage("b1: r1=2 r2=1 r3=1")
    request = gang(count=5, least=2)
    request = replace(request, root=replace(request.root, preferred=RACK))
    started(stage, request, w=2)
    see(stage, *late(request, "w", 2, 3, 4))
    assert len([effect for effect in stage.last if isinstance(effect, Bind)]) == 2


def test_each_of_two_sets_gets_what_fits_it() -> None:
    stage = Stage("b1: r1=1,1,2")
    large = PodSet("large", 3, 1, PodShape(Resources.of({GPU: 2 * NANO})))
    request = several(large, pods("small", 4, 1))
    started(stage, request, large=1, small=1)
    grown(stage, request, *late(request, "large", 1, 2), *late(request, "small", 1, 2, 3))
    assert (len(running(stage, request, "large")), len(running(stage, request, "small"))) == (1, 2)
    stage.lose(next(pod for pod in stage.pods.values() if pod.pod_set == "small" and not pod.node))
    stage.step(NodeSeen(replace(stage.nodes["b1-r1-1"], name="more")))
    stage.carry_out()
    assert (len(running(stage, request, "large")), len(running(stage, request, "small"))) == (1, 3)


def test_where_no_late_pod_fits_the_decision_says_why() -> None:
    stage = Stage("b1: r1=2")
    request = gang(count=4, least=2)
    started(stage, request, w=2)
    see(stage, *late(request, "w", 2, 3))
    (decision,) = stage.engine.decisions
    assert isinstance(decision, Waiting) and decision.reason.type is Why.NO_ROOM


# -- where late pods wait for each other -------------------------------------------------------------------------

TOGETHER = Rules(on_failure="None", recovery=300)


def test_a_late_pod_starts_when_its_set_is_all_there_where_the_rule_says_so() -> None:  # W-153
    stage = Stage("b1: r1=8")
    request = gang(count=3, least=2, rules=TOGETHER)
    started(stage, request, w=2)
    assert len(grown(stage, request, *late(request, "w", 2))) == 1


def test_late_pods_wait_until_their_set_is_all_there_where_the_rule_says_so() -> None:  # W-153
    stage = Stage("b1: r1=8")
    request = gang(count=4, least=2, rules=TOGETHER)
    started(stage, request, w=2)
    assert grown(stage, request, *late(request, "w", 2)) == []
    assert free(stage)["b1-r1-1"] == 6  # nothing is kept for it either
    assert len(grown(stage, request, *late(request, "w", 3))) == 2


def test_a_set_that_is_not_all_there_does_not_hold_back_another_one() -> None:  # W-153
    stage = Stage("b1: r1=8")
    request = replace(several(pods("a", 3, 1), pods("b", 2, 1)), rules=TOGETHER)
    started(stage, request, a=1, b=1)
    bound = grown(stage, request, *late(request, "a", 1), *late(request, "b", 1))
    assert [bind.key.name for bind in bound] == ["g--b-1"]


def test_a_replacement_that_comes_after_its_place_was_given_up_starts_when_its_set_is_all_there() -> None:  # W-153
    stage = Stage("b1: r1=8")
    request = gang(count=4, least=2, rules=TOGETHER)
    started(stage, request, w=4)
    for pod in list(stage.pods.values())[:2]:
        stage.lose(pod)
    stage.after(301)
    assert grown(stage, request, member(request, "w", 0, life=1)) == []
    assert len(grown(stage, request, member(request, "w", 1, life=1))) == 2


def test_what_a_gang_that_is_found_half_lacks_does_not_wait_for_the_whole_set() -> None:  # W-153, X-40
    stage = Stage("b1: r1=8")
    request = gang(count=4, least=3, rules=TOGETHER)
    stage.step(GangSeen(request, 0))
    first, *others = members(request, w=3)
    see(stage, replace(first, running=replace(first.running, node="b1-r1-1")), *others)
    stage.carry_out()
    assert len(running(stage, request)) == 3


# -- what was lost, and the minimum ------------------------------------------------------------------------------


def found_on(stage: Stage, request: Request, **nodes: str) -> None:
    """Pods of these sets that somebody bound to these nodes before the engine was there."""
    stage.step(GangSeen(request, 0))
    there = [
        (member(request, name, i), node) for name, listed in nodes.items() for i, node in enumerate(listed.split())
    ]
    see(stage, *(replace(p, running=replace(p.running, node=n), phase="Running", ready=True) for p, n in there))


def test_a_lost_place_is_found_though_the_late_pods_beside_it_do_not_fit() -> None:
    stage = Stage("b1: r1=1,1,1")
    request = gang(count=4, least=2, ranked=True)
    taken = occupied(stage, "b1-r1-3")
    stage.step(GangSeen(request, 0))
    grown(stage, request, *late(request, "w", 2, 3))
    grown(stage, request, *late(request, "w", 0, 1))
    dead = next(pod for pod in stage.pods.values() if pod.rank == 3)
    stage.lose_node(dead.node)
    stage.lose(dead)
    see(stage, member(request, "w", 3, life=1))
    left(stage, taken[0])
    assert [pod.rank for pod in stage.pods.values() if pod.node] == [2, 3]


def test_only_the_group_that_lost_a_place_moves_and_none_for_late_pods() -> None:  # W-209
    stage = Stage("b1: r1=1,1 r2=1 r3=1,1")
    hurt, late_one = Group("x", (pods("x", 2, 2),), RACK), Group("y", (pods("y", 2, 1),), RACK)
    request = replace(several(hurt, late_one), rules=Rules(disruption="Group"))
    taken = occupied(stage, "b1-r3-1", "b1-r3-2")
    started(stage, request, x=2, y=1)
    grown(stage, request, *late(request, "y", 1))
    dead = next(pod for pod in stage.pods.values() if pod.node == "b1-r1-1")
    stage.lose_node("b1-r1-1")
    stage.lose(dead)
    stage.step(*(PodGone(pod.key) for pod in taken))
    assert {effect.key.name for effect in stage.last if isinstance(effect, Evict)} == {"g--x-0", "g--x-1"} - {
        dead.key.name
    }


def test_what_the_minimum_lacks_starts_together_or_not_at_all() -> None:
    stage = Stage("b1: r1=1,1,1")
    request = gang(count=5, least=4)
    taken = occupied(stage, "b1-r1-2")
    found_on(stage, request, w="b1-r1-1")
    grown(stage, request, *late(request, "w", 1, 2, 3, 4))
    left(stage, taken[0])
    assert running(stage, request) == ["b1-r1-1"]


@pytest.mark.parametrize(("room", "gpus"), [(1, 9), (4, 3)])
def test_nobody_else_starts_before_what_the_minimum_lacks(room: int, gpus: int) -> None:
    stage = Stage(f"b1: r1=1,1 r2={room}")
    allowed(stage, gpus)
    request = replace(several(pods("a", 3, 3), pods("b", 2, 1)), queue="q")
    found_on(stage, request, a="b1-r1-1", b="b1-r1-2")
    assert grown(stage, request, *late(request, "a", 1, 2), *late(request, "b", 1)) == []


def test_nobody_else_starts_before_a_slice_that_the_minimum_lacks() -> None:
    stage = Stage("b1: r1=2 r2=1 r3=1")
    request = several(pods("a", 4, 4, slices=(Slice(RACK, 2),)), pods("b", 2, 1))
    found_on(stage, request, a="b1-r1-1 b1-r1-1", b="b1-r2-1")
    assert grown(stage, request, *late(request, "a", 2, 3), *late(request, "b", 1)) == []


def test_of_groups_that_are_not_needed_the_one_that_fits_starts_whole() -> None:
    stage = Stage("b1: r1=1,1 r2=1,1 r3=1")
    replicas = [Group(name, (pods(name, 2, 2),), RACK) for name in ("a", "b", "c")]
    request = several(*replicas, min_members=1)
    started(stage, request, a=2)
    grown(stage, request, *late(request, "b", 0, 1), *late(request, "c", 0, 1))
    assert [len(running(stage, request, name)) for name in ("a", "b", "c")] == [2, 2, 0]


# -- members that have not begun ---------------------------------------------------------------------------------


def two_of(name: str, **more: object) -> Group:
    """A group of two pods that start together."""
    return Group(name, (pods(name, 2, 2),), **more)  # type: ignore[arg-type]


BEGUN_LATE = {
    "of groups of which one is enough": several(two_of("x"), two_of("y"), min_members=1),
    "of sets of which one is enough": several(pods("x", 2, 2), pods("y", 2, 2), min_members=1),
    "of a group inside that waits for nobody": several(
        Group("w", (two_of("x"), two_of("y")), min_members=0), pods("lead", 1, 0)
    ),
}


@pytest.mark.parametrize("request_", BEGUN_LATE.values(), ids=BEGUN_LATE)
def test_a_group_that_has_not_begun_waits_until_it_can_begin_whole(request_: Request) -> None:  # W-133, M-022
    stage = Stage("b1: r1=8")
    started(stage, request_, x=2)
    assert grown(stage, request_, *late(request_, "y", 0)) == []
    assert free(stage)["b1-r1-1"] == 6  # nothing is kept for it either
    assert len(grown(stage, request_, *late(request_, "y", 1))) == 2
    assert state_of(stage, request_) is State.RUNNING


def test_a_group_that_comes_with_the_start_and_is_not_all_there_waits() -> None:
    stage = Stage("b1: r1=8")
    request = BEGUN_LATE["of groups of which one is enough"]
    started(stage, request, x=2, y=1)
    assert (len(running(stage, request, "x")), running(stage, request, "y")) == (2, [])


def test_a_group_of_groups_begins_with_as_many_of_them_as_it_needs() -> None:
    stage = Stage("b1: r1=8")
    inner = Group("w", (two_of("x"), two_of("y"), two_of("z")), min_members=2)
    request = several(pods("a", 1, 1), inner, min_members=1)
    started(stage, request, a=1)
    assert grown(stage, request, *late(request, "x", 0, 1), *late(request, "y", 0)) == []
    assert len(grown(stage, request, *late(request, "y", 1))) == 4
    assert grown(stage, request, *late(request, "z", 0)) == []
    assert len(grown(stage, request, *late(request, "z", 1))) == 2


def test_a_group_of_groups_begins_with_none_where_there_is_room_for_fewer_than_it_needs() -> None:
    stage = Stage("b1: r1=4")
    inner = Group("w", (two_of("x"), two_of("y"), two_of("z")), min_members=2)
    request = several(pods("a", 1, 1), inner, min_members=1)
    started(stage, request, a=1)
    assert grown(stage, request, *late(request, "x", 0, 1), *late(request, "y", 0, 1)) == []
    assert free(stage)["b1-r1-1"] == 3


def test_a_group_of_groups_begins_with_none_where_there_is_quota_for_fewer_than_it_needs() -> None:
    stage = Stage("b1: r1=8")
    allowed(stage, 4)
    inner = Group("w", (two_of("x"), two_of("y"), two_of("z")), min_members=2)
    request = replace(several(pods("a", 1, 1), inner, min_members=1), queue="q")
    started(stage, request, a=1)
    assert grown(stage, request, *late(request, "x", 0, 1), *late(request, "y", 0, 1)) == []
    allowed(stage, 5)
    assert len(running(stage, request)) == 5


def test_a_group_begins_whole_though_its_places_are_found_one_by_one() -> None:
    stage = Stage("b1: r1=1,1 r2=1 r3=1")
    request = several(two_of("x"), two_of("y"), min_members=1, spread=Spread(RACK, max_per_domain=1))
    started(stage, request, x=2)
    assert grown(stage, request, *late(request, "y", 0, 1)) == []  # one rack is left, and they are two
    assert sum(free(stage).values()) == 2
    stage.step(NodeSeen(replace(stage.nodes["b1-r1-1"], name="more", labels=in_rack(stage, "r4"))))
    stage.carry_out()
    assert len(running(stage, request, "y")) == 2


def in_rack(stage: Stage, rack: str) -> dict[str, str]:
    return {**stage.nodes["b1-r1-1"].labels, "topology/rack": rack}


def test_after_a_group_has_begun_its_pods_come_one_by_one() -> None:
    stage = Stage("b1: r1=8")
    request = several(two_of("x"), Group("y", (pods("y", 4, 2),)), min_members=1)
    started(stage, request, x=2, y=2)
    assert len(grown(stage, request, *late(request, "y", 2))) == 1
    stage.lose(next(pod for pod in stage.pods.values() if pod.pod_set == "y" and pod.rank == 0))
    assert len(grown(stage, request, member(request, "y", 0, life=1))) == 1


def test_a_group_that_gave_all_its_places_up_begins_whole_again() -> None:
    stage = Stage("b1: r1=8")
    request = several(two_of("x"), two_of("y"), min_members=1)
    request = replace(request, rules=Rules(recovery=300))
    started(stage, request, x=2, y=2)
    for pod in [pod for pod in stage.pods.values() if pod.pod_set == "y"]:
        stage.lose(pod)
    stage.after(301)
    assert grown(stage, request, member(request, "y", 0, life=1)) == []
    assert len(grown(stage, request, member(request, "y", 1, life=1))) == 2


def test_of_a_gang_that_is_found_half_a_group_that_lacks_pods_does_not_begin() -> None:
    stage = Stage("b1: r1=8")
    request = several(two_of("x"), two_of("y"))
    found_on(stage, request, x="b1-r1-1 b1-r1-1")
    assert grown(stage, request, *late(request, "y", 0)) == []
    assert len(grown(stage, request, *late(request, "y", 1))) == 2
    assert state_of(stage, request) is State.RUNNING


# -- ranks, slices, spread ---------------------------------------------------------------------------------------


def test_the_lowest_ranks_start_first() -> None:
    stage = Stage("b1: r1=1,1,1,1")
    request = gang(count=6, least=2, ranked=True)
    started(stage, request, w=2)
    bound = grown(stage, request, *late(request, "w", 5, 4, 3, 2))
    assert sorted(bind.rank or 0 for bind in bound) == [2, 3]
    assert all(stage.pods[bind.key].rank == bind.rank for bind in bound)


def test_a_late_rank_starts_beside_its_partner_or_waits() -> None:
    stage = Stage("b1: r1=2 r2=1 r3=3")
    leaders = Group("leaders", (pods("leaders", 3, 3),), spread=Spread(RACK, max_per_domain=1), ranks=Ranks())
    followers = Group("followers", (pods("followers", 3, 1),), ranks=Ranks(with_same_rank_of="leaders", level=RACK))
    request = several(leaders, followers)
    started(stage, request, leaders=3, followers=1)
    grown(stage, request, *late(request, "followers", 1, 2))
    racks = {
        (pod.pod_set, pod.rank): domains(stage, [pod.node], "rack")
        for pod in stage.pods.values()
        if pod.gang == request.id and pod.node
    }
    ranks = [rank for name, rank in racks if name == "followers"]
    assert len(ranks) == 2
    assert all(racks["followers", rank] == racks["leaders", rank] for rank in ranks)


def sliced(count: int, least: int, *layers: Slice, ranked: bool = False) -> Request:
    root = Group("w", (pods("w", count, least, slices=layers),), ranks=Ranks() if ranked else None)
    return Request("Gang", "default", "g", root, "drawn")


@pytest.mark.parametrize("ranked", [False, True])
def test_slices_begin_whole(ranked: bool) -> None:
    stage = Stage("b1: r1=2 r2=3 r3=1")
    request = sliced(8, 2, Slice(RACK, 2), ranked=ranked)
    started(stage, request, w=2)
    bound = grown(stage, request, *late(request, "w", 2, 3, 4, 5, 6, 7))
    racks = Counter(stage.nodes[bind.node].labels["topology/rack"] for bind in bound)
    assert len(bound) == 2 and set(racks.values()) == {2}


def test_a_slice_that_lacks_pods_does_not_begin_before_a_whole_one() -> None:
    stage = Stage("b1: r1=2 r2=1")
    request = sliced(6, 2, Slice(RACK, 2))
    started(stage, request, w=2)
    assert grown(stage, request, *late(request, "w", 2, 3, 4)) == []


def test_a_slice_that_has_begun_takes_what_fits_beside_it() -> None:
    stage = Stage("b1: r1=1,1,1 r2=3")
    request = sliced(4, 4, Slice(RACK, 4))
    request = replace(request, root=replace(request.root, members=(pods("w", 4, 1, slices=(Slice(RACK, 4),)),)))
    found_on(stage, request, w="b1-r1-1")
    grown(stage, request, *late(request, "w", 1, 2, 3))
    assert len(running(stage, request)) == 3
    assert domains(stage, running(stage, request), "rack") == {("r1",)}


def test_slices_of_slices_begin_whole() -> None:
    stage = Stage("b1: r1=2 r2=2 | b2: r1=2 r2=1")
    request = sliced(8, 4, Slice(BLOCK, 4), Slice(RACK, 2))
    started(stage, request, w=4)
    bound = grown(stage, request, *late(request, "w", 4, 5, 6, 7))
    assert [bind.node for bind in bound] == ["b2-r1-1", "b2-r1-1"]


def test_late_pods_keep_their_distance() -> None:
    stage = Stage("b1: r1=1,1 r2=1,1 r3=1,1")
    request = gang(count=6, least=2)
    request = replace(request, root=replace(request.root, spread=Spread(RACK, max_per_domain=1)))
    started(stage, request, w=2)
    grown(stage, request, *late(request, "w", 2, 3, 4))
    assert len(running(stage, request)) == 3
    assert len(domains(stage, running(stage, request), "rack")) == 3


def test_a_late_pod_that_fits_does_not_wait_behind_one_that_does_not() -> None:
    stage = Stage("b1: r1=2 r2=1 r3=1")
    large = PodSet("large", 2, 1, PodShape(Resources.of({GPU: 2 * NANO})))
    request = several(large, pods("small", 3, 1), spread=Spread(RACK, max_per_domain=1))
    started(stage, request, large=1, small=1)
    grown(stage, request, *late(request, "large", 1), *late(request, "small", 1))
    assert (len(running(stage, request, "large")), len(running(stage, request, "small"))) == (1, 2)


# -- nodes that move ---------------------------------------------------------------------------------------------


def moved(stage: Stage, name: str, rack: str) -> None:
    node = stage.nodes[name]
    stage.nodes[name] = replace(node, labels={**node.labels, "topology/rack": rack})
    stage.step(NodeSeen(stage.nodes[name]))
    stage.carry_out()


def test_a_late_pod_goes_beside_those_whose_node_has_not_moved() -> None:
    stage = Stage("b1: r1=1,2,1 r2=1")
    request = gang(count=5, least=3, required=RACK)
    taken = occupied(stage, "b1-r1-3")
    started(stage, request, w=3)
    moved(stage, "b1-r1-2", "r2")
    assert grown(stage, request, *late(request, "w", 3, 4)) == []
    left(stage, taken[0])
    assert running(stage, request)[3:] == ["b1-r1-3"]


@pytest.mark.parametrize("slices", [(), (Slice(RACK, 4),)])
def test_a_gang_that_is_found_in_two_racks_does_not_grow(slices: tuple[Slice, ...]) -> None:
    stage = Stage("b1: r1=1,1,1 r2=1,1,1")
    request = gang(count=4, least=3, required=None if slices else RACK, ranked=True)
    request = replace(request, root=replace(request.root, members=(pods("w", 4, 3, slices=slices),)))
    found_on(stage, request, w="b1-r1-1 b1-r1-2 b1-r2-1")
    assert grown(stage, request, *late(request, "w", 3)) == []


# -- quota and gates ---------------------------------------------------------------------------------------------


def allowed(stage: Stage, gpus: int) -> None:
    stage.step(QueuesSeen(Queues({"q": Queue("q", quotas=(Quota(None, GPU, gpus * NANO),))}, {})))
    stage.carry_out()


def test_as_many_late_pods_start_as_there_is_quota_for() -> None:  # K-060
    stage = Stage("b1: r1=8")
    allowed(stage, 3)
    request = replace(gang(count=5, least=2), queue="q")
    started(stage, request, w=2)
    grown(stage, request, *late(request, "w", 2, 3, 4))
    assert len(running(stage, request)) == 3
    allowed(stage, 4)
    assert len(running(stage, request)) == 4
    assert [dict(amounts)[GPU] for _, _, amounts in stage.engine.turns.held()] == [4 * NANO]


def test_a_slice_that_there_is_no_quota_for_does_not_begin() -> None:
    stage = Stage("b1: r1=8")
    allowed(stage, 5)
    request = replace(sliced(8, 2, Slice(RACK, 2)), queue="q")
    started(stage, request, w=2)
    grown(stage, request, *late(request, "w", 2, 3, 4, 5))
    assert len(running(stage, request)) == 4


@pytest.mark.parametrize("other", ["a", "z"])
@pytest.mark.parametrize("end", [Stage.succeed, Stage.lose], ids=["succeeds", "goes"])
def test_room_is_offered_in_the_step_in_which_it_comes_free_whoever_freed_it(
    other: str, end: Callable[[Stage, Pod], None]
) -> None:
    stage = Stage("b1: r1=1,1,1")
    (leaves,) = stage.run(gang(other, count=1))
    request = gang("m", count=4, least=2)
    started(stage, request, w=2)
    grown(stage, request, *late(request, "w", 2, 3))
    assert len(running(stage, request)) == 2
    end(stage, leaves)
    stage.carry_out()
    assert len(running(stage, request)) == 3


def test_late_pods_that_do_not_fit_keep_their_gates() -> None:  # W-159
    stage = Stage("b1: r1=3")
    request = gang(count=5, least=2, rules=Rules(enforcement="Gate"))
    stage.step(GangSeen(request, 0))
    see(stage, *(replace(pod, gated=True) for pod in members(request, w=2)))
    stage.carry_out()
    before = len(stage.effects)
    see(stage, *(replace(pod, gated=True) for pod in late(request, "w", 2, 3, 4)))
    stage.carry_out()
    lifted = [effect.key.name for effect in stage.effects[before:] if isinstance(effect, Ungate)]
    assert lifted == ["g--w-2"]
    assert sum(pod.gated for pod in stage.pods.values()) == 2


def ahead(stage: Stage, request: Request, **counts: int) -> None:
    """The gang has places for all of it, and its owner makes so many of its pods."""
    stage.step(GangSeen(request, stage.now, "RayCluster/default/g"))
    see(stage, *(replace(pod, gated=True) for pod in members(request, **counts)))
    stage.carry_out()


def test_a_group_whose_places_were_found_ahead_keeps_its_gates_until_it_can_begin_whole() -> None:  # W-159
    stage = Stage("b1: r1=8")
    request = replace(several(two_of("x"), two_of("y"), min_members=1), rules=Rules(enforcement="Gate", recovery=300))
    ahead(stage, request, x=2, y=1)
    assert (len(running(stage, request, "x")), running(stage, request, "y")) == (2, [])
    assert free(stage)["b1-r1-1"] == 4  # its places are kept for it
    see(stage, replace(member(request, "y", 1), gated=True))
    stage.carry_out()
    assert len(running(stage, request, "y")) == 2


def test_a_group_whose_places_were_found_ahead_gives_them_up_when_it_does_not_come() -> None:
    stage = Stage("b1: r1=8")
    request = replace(several(two_of("x"), two_of("y"), min_members=1), rules=Rules(enforcement="Gate", recovery=300))
    ahead(stage, request, x=2, y=1)
    stage.after(301)
    assert free(stage)["b1-r1-1"] == 6
    see(stage, replace(member(request, "y", 1), gated=True))
    stage.carry_out()
    assert len(running(stage, request, "y")) == 2


def test_what_was_lost_of_a_group_that_had_begun_comes_back_one_by_one() -> None:  # W-152
    stage = Stage("b1: r1=8")
    request = several(two_of("x"), two_of("y"), min_members=1)
    started(stage, request, x=2, y=2)
    for pod in [pod for pod in stage.pods.values() if pod.pod_set == "y"]:
        stage.lose(pod)
    assert len(grown(stage, request, member(request, "y", 0, life=1))) == 1
