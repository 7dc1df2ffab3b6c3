"""The rules of the simulated world itself: what its API lets happen, what its watches tell, what its invariants see."""

from dataclasses import replace
from random import Random

import pytest

from phalanx.model.effects import Bind, Evict, Prepare, Report, Resume, Suspend, Ungate
from phalanx.model.events import Answer, BindAnswered, GangSeen, NodeGone, NodeSeen, PodGone, PodSeen, QueuesSeen
from phalanx.model.nodes import PodShape
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Flavor, Queue, Queues, Quota
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU, snapshot
from phalanx.model.topology import HOSTNAME
from phalanx.sim import invariants, mischief, scenarios, soak
from phalanx.sim.agenda import Agenda
from phalanx.sim.faults import CALM, Faults
from phalanx.sim.mischief import MAINTENANCE
from phalanx.sim.picture import Tallies, tally
from phalanx.sim.submission import Submission
from phalanx.sim.truth import Bound, Kind
from phalanx.sim.windows import Windows, standing_still
from phalanx.sim.world import World

DRAWING = "b1: r1=4,4 r2=4,4"
RACK = 2
HOW = Bound(0.0, 1, None)


def gang(count: int = 2, gpus: int = 2, **more: object) -> Request:
    shape = PodShape(Resources.of({GPU: gpus * NANO, PODS: NANO}))
    root = Group("root", (PodSet("workers", count, count, shape),), required=RACK)
    return replace(Request("Job", "default", "train", root, "sketch"), **more)  # type: ignore[arg-type]


def world(*requests: Request, faults: Faults = CALM, drawing: str = DRAWING, queues: Queues | None = None) -> World:
    cluster = snapshot(drawing)
    cluster = cluster if queues is None else replace(cluster, queues=queues)
    made = World(cluster, [Submission(0.0, request, 50.0) for request in requests], faults)
    made.advance(10.0)
    return made


def put(made: World, number: int, node: str, rank: int | None = None, step: int = 1) -> Pod:
    """Binds the pod of a number as an engine would that was told the labels as they are."""
    pod = made.truth.members("default/train")[number]
    how = Bound(made.agenda.now, step, rank, *made.told_of(node))
    assert made.truth.bind(pod.key, node, how) is Answer.BOUND
    return made.truth.pods[pod.key]


def judged(made: World) -> str:
    return "; ".join(invariants.Judge(Tallies(made.truth)).broken())


# ----------------------------------------------------------------------------------------------------- the clock


def test_what_happens_at_one_instant_happens_by_priority_then_in_the_order_noted_down() -> None:
    agenda, heard = Agenda(), list[str]()
    agenda.at(1.0, lambda: heard.append("last"), priority=1)
    agenda.at(1.0, lambda: heard.append("first"))
    agenda.at(1.0, lambda: heard.append("second"))
    agenda.advance(1.0)
    assert heard == ["first", "second", "last"]


# ------------------------------------------------------------------------------------------------------- the API


def test_a_pod_is_bound_once_and_told_so_the_second_time() -> None:
    made = world(gang())
    pod = put(made, 0, "b1-r1-1")
    assert made.truth.bind(pod.key, "b1-r1-1", HOW) is Answer.HERE
    assert made.truth.bind(pod.key, "b1-r1-2", HOW) is Answer.CONFLICT
    assert made.truth.bind(PodKey("default", "nobody", "0"), "b1-r1-1", HOW) is Answer.CONFLICT


def test_a_node_that_is_not_there_refuses_and_one_that_is_full_does_not() -> None:
    made = world(gang(count=3))
    made.truth.drop_node("b1-r2-1")
    assert made.truth.bind(made.truth.members("default/train")[0].key, "b1-r2-1", HOW) is Answer.REFUSED
    for number in range(3):
        put(made, number, "b1-r1-1")
    assert "node b1-r1-1 has" in judged(made)


def test_an_evicted_pod_leaves_after_its_grace_and_another_of_its_rank_comes() -> None:
    made = world(gang())
    pod = put(made, 1, "b1-r1-1")
    made.carry_out([Evict("default/train", pod.key, "why"), Evict("default/train", pod.key, "why")], 1)
    made.advance(11.0)
    assert made.truth.pods[pod.key].leaving
    made.advance(30.0)
    again = [one for one in made.truth.members("default/train") if one.rank == pod.rank]
    assert pod.key not in made.truth.pods
    assert [one.key.uid != pod.key.uid and not one.node for one in again] == [True]


def test_the_pods_of_a_held_owner_come_when_it_is_resumed_gated_if_it_was_prepared() -> None:
    made = world(gang(rules=Rules(enforcement="Gate")))
    owner = made.truth.gangs["default/train"].owner
    assert not made.truth.members("default/train")
    made.carry_out([Prepare("default/train", owner), Resume("default/train", owner)], 1)
    made.advance(20.0)
    pods = made.truth.members("default/train")
    assert [pod.gated for pod in pods] == [True, True]
    selector = tuple(sorted(made.truth.nodes["b1-r1-1"].labels.items()))
    made.carry_out([Ungate("default/train", pods[0].key, "b1-r1-1", selector)], 2)
    made.advance(25.0)
    assert made.truth.pods[pods[0].key].node == dict(selector)[HOSTNAME]
    made.carry_out([Suspend("default/train", owner)], 3)
    made.advance(60.0)
    assert not made.truth.members("default/train")


def test_a_gang_ends_its_duration_after_its_minimum_is_ready() -> None:
    made = world(gang())
    for number in range(2):
        pod = made.truth.members("default/train")[number]
        made.carry_out([Bind("default/train", pod.key, "b1-r1-1")], 1)
    made.advance(60.0)
    assert not made.over
    made.advance(90.0)
    assert made.over
    assert made.truth.gangs["default/train"].ended == "finished"


# --------------------------------------------------------------------------------------------------- the watches


def test_a_broken_watch_tells_after_its_relist_what_is_and_not_what_was() -> None:
    made = world()
    made.take_inbox()
    node = made.truth.nodes["b1-r1-1"]
    made.watches[Kind.NODE].break_off(5.0)
    made.truth.drop_node("b1-r1-1")
    made.truth.drop_node("b1-r1-2")
    made.truth.put_node(node)
    made.advance(14.0)
    assert made.take_inbox() == []
    made.advance(16.0)
    assert made.take_inbox() == [NodeGone("b1-r1-2")]


def test_lost_events_are_repaired_within_the_time_the_world_promises() -> None:
    faults = Faults(until=1000.0, lost=1.0)
    made = world(faults=faults)
    made.take_inbox()
    made.truth.drop_node("b1-r1-1")
    made.advance(10.0 + faults.told_within)
    assert NodeGone("b1-r1-1") in made.take_inbox()


def test_events_of_one_kind_never_come_out_of_order_however_late_they_are_and_some_come_twice() -> None:
    # W-046
    made = world(faults=Faults(until=1000.0, delayed=0.5, duplicated=0.5))
    made.take_inbox()
    node = made.truth.nodes["b1-r1-1"]
    for turn in range(20):
        made.truth.put_node(replace(node, labels={**node.labels, "turn": str(turn)}))
        made.advance(made.agenda.now + 0.3)
    made.advance(made.agenda.now + made.faults.told_within)
    turns = [int(event.node.labels["turn"]) for event in made.take_inbox() if isinstance(event, NodeSeen)]
    assert turns == sorted(turns) and turns[-1] == 19
    assert len(turns) > 20


def test_a_bind_without_an_answer_is_followed_by_the_pod_as_it_is_even_while_its_watch_is_broken() -> None:
    made = world(gang(count=8, gpus=1), faults=Faults(until=1000.0, unknown=1.0))
    made.take_inbox()
    made.watches[Kind.POD].break_off(100.0)
    pods = made.truth.members("default/train")
    made.carry_out([Bind("default/train", pod.key, "b1-r1-1") for pod in pods], 1)
    made.advance(12.0)
    told = made.take_inbox()
    unknown = {event.key for event in told if isinstance(event, BindAnswered) and event.answer is Answer.UNKNOWN}
    seen = {event.pod.key for event in told if isinstance(event, PodSeen) and event.pod.node}
    bound = {pod.key for pod in made.truth.members("default/train") if pod.node}
    assert unknown == {pod.key for pod in pods}
    assert seen == bound and 0 < len(bound) < 8  # some were done and some were not


def test_a_new_leader_is_told_everything_there_is_and_nothing_of_the_past() -> None:
    made = world(gang())
    pod = put(made, 0, "b1-r1-1")
    made.truth.drop_node("b1-r2-2")
    made.new_leader()
    told = made.take_inbox()
    assert PodSeen(pod) in told
    assert sum(isinstance(event, NodeSeen) for event in told) == 3
    assert sum(isinstance(event, GangSeen) for event in told) == 1
    assert not any(isinstance(event, NodeGone | PodGone) for event in told)


# ------------------------------------------------------------------------------------------------- the invariants


def test_a_required_level_is_judged_unless_a_node_was_moved_after_it_was_chosen() -> None:
    made = world(gang())
    put(made, 0, "b1-r1-1")
    put(made, 1, "b1-r2-1")
    assert "is in b1/r1, b1/r2 of level 2" in judged(made)
    moved = made.truth.nodes["b1-r2-1"]
    made.truth.put_node(replace(moved, labels={**moved.labels, "topology/rack": "r3"}))
    assert judged(made) == ""


def test_ranks_that_come_back_to_a_node_are_seen_and_so_is_a_rank_told_wrong() -> None:
    root = replace(gang(count=3, gpus=1).root, ranks=Ranks())
    made = world(gang(root=root))
    pods = made.truth.members("default/train")
    for number, pod in enumerate(pods):
        assert pod.rank is not None
        put(made, number, "b1-r1-2" if pod.rank == 1 else "b1-r1-1", rank=pod.rank)
    assert "come back to a domain" in judged(made)
    made.truth.bound[pods[0].key] = replace(made.truth.bound[pods[0].key], rank=7)
    made.truth.gangs["default/train"].version += 1
    assert "was told 7" in judged(made)


def test_what_a_queue_uses_counts_for_the_queues_above_it() -> None:
    queues = (Queue("team", parent="all"), Queue("all", quotas=(Quota(None, GPU, 3 * NANO),)))
    made = world(gang(queue="team"), queues=Queues({queue.name: queue for queue in queues}))
    put(made, 0, "b1-r1-1")
    assert judged(made) == ""
    put(made, 1, "b1-r1-1")
    assert "queue all uses 4000000000" in judged(made)


def test_after_a_quota_was_lowered_who_runs_may_stay_and_nobody_starts_on_top() -> None:
    queues = Queues({"team": Queue("team", quotas=(Quota(None, GPU, 4 * NANO),))})
    made = world(gang(queue="team"), queues=queues)
    made.carry_out([Report("default/train", "Binding", "PLACED")], 1)
    put(made, 0, "b1-r1-1")
    put(made, 1, "b1-r1-1")
    less = Queues({"team": Queue("team", quotas=(Quota(None, GPU, NANO),))})
    made.truth.put_queues(less)
    made.advance(20.0)
    assert QueuesSeen(less) in made.take_inbox()
    assert judged(made) == ""
    made.carry_out([Report("default/train", "Binding", "PLACED")], 2)
    assert "queue team uses 4000000000" in judged(made)


def test_slices_that_are_cut_are_seen_also_while_a_pod_is_away() -> None:
    sliced = replace(gang(count=4, gpus=1).root.members[0], slices=(Slice(RACK, 2),))  # type: ignore[type-var]
    made = world(gang(root=Group("root", (sliced,))))
    put(made, 0, "b1-r1-1")
    put(made, 1, "b1-r2-1")
    assert judged(made) == ""
    put(made, 2, "b1-r1-2")
    assert judged(made) == ""
    put(made, 3, "b1-r1-2")
    assert "are cut at level 2: 3 in b1/r1, 1 in b1/r2" in judged(made)


@pytest.mark.parametrize(
    ("rule", "nodes", "said"),
    [
        (Spread(RACK, max_per_domain=1), ("b1-r1-1", "b1-r2-1"), ""),
        (Spread(RACK, max_per_domain=1), ("b1-r1-1", "b1-r1-2"), "spread over at most 1"),
        (Spread(RACK, min_domains=2), ("b1-r1-1", "b1-r1-2"), "spread over 1 domains, and not over 2"),
        (Spread(RACK, max_skew=1), ("b1-r1-1", "b1-r1-2"), "spread unevenly"),
        (Spread(RACK, max_skew=2), ("b1-r1-1", "b1-r1-2"), ""),
    ],
)
def test_pods_that_are_to_be_apart_are_judged_in_each_of_the_three_ways(
    rule: Spread, nodes: tuple[str, ...], said: str
) -> None:
    made = world(gang(root=replace(gang().root, required=None, spread=rule)))
    made.carry_out([Report("default/train", "Binding", "PLACED")], 1)
    for number, node in enumerate(nodes):
        put(made, number, node)
    assert (said in judged(made)) and bool(judged(made)) is bool(said)


def test_a_flavor_that_is_deleted_comes_back() -> None:
    flavors = {"fast": Flavor("fast", (("sort", "fast"),))}
    made = world(gang(), queues=Queues({"team": Queue("team")}, flavors), faults=replace(CALM, until=1000.0))
    mischief.unflavor(made, Random(1))
    assert made.truth.queues.flavors == {}
    made.advance(10.0 + made.faults.unflavored_for)
    assert made.truth.queues.flavors == flavors
    assert [event.queues.flavors for event in made.take_inbox() if isinstance(event, QueuesSeen)][-2:] == [{}, flavors]


@pytest.mark.parametrize(("kept", "left"), [(0.0, 2), (1.0, 3)])
def test_a_pod_that_failed_goes_after_its_grace_or_stays_with_its_gang(kept: float, left: int) -> None:
    made = world(gang(), faults=replace(CALM, kept=kept))
    pod = put(made, 0, "b1-r1-1")
    made.controllers.fail(pod.key)
    made.advance(60.0)
    assert len(made.truth.members("default/train")) == left
    made.controllers.end("default/train", "finished")
    made.advance(120.0)
    assert made.truth.members("default/train") == []


def test_a_gang_may_get_another_priority() -> None:
    made = world(gang())
    made.promote("default/train", 9)
    made.advance(20.0)
    assert [event.request.priority for event in made.take_inbox() if isinstance(event, GangSeen)][-1] == 9


def test_a_taint_counts_if_the_engine_knew_it_when_it_chose() -> None:
    made = world(gang())
    put(made, 0, "b1-r1-1")
    made.truth.put_node(replace(made.truth.nodes["b1-r1-1"], taints=(MAINTENANCE,)))
    assert judged(made) == ""
    made.advance(20.0)
    put(made, 1, "b1-r1-1")
    assert "does not tolerate example.com/maintenance, and was put on b1-r1-1" in judged(made)


def test_a_pod_that_finds_its_room_taken_by_a_stranger_fails_unless_the_engine_knew() -> None:
    made = world(gang())
    pods = made.truth.members("default/train")
    made.carry_out([Bind("default/train", pods[0].key, "b1-r1-1")], 1)
    made.truth.make_pod(None, "passer-by", PodShape(Resources.of({GPU: 4 * NANO})), None, None, "b1-r1-1")
    made.advance(11.0)
    assert made.truth.pods[pods[0].key].phase == "Failed"
    assert judged(made) == ""
    made.advance(15.0)
    made.carry_out([Bind("default/train", pods[1].key, "b1-r1-1")], 2)
    made.advance(16.0)
    assert "node b1-r1-1 has 6000000000" in judged(made)


def test_pods_of_a_gang_may_succeed_one_by_one() -> None:
    made = World(snapshot(DRAWING), [Submission(0.0, gang(), 20.0, staggered=40.0)])
    made.advance(10.0)
    pods = made.truth.members("default/train")
    made.carry_out([Bind("default/train", pod.key, "b1-r1-1") for pod in pods], 1)
    done: list[int] = []
    while not made.over:
        made.advance(made.agenda.now + 1.0)
        done.append(sum(pod.phase == "Succeeded" for pod in made.truth.members("default/train")))
    assert 1 in done and made.truth.gangs["default/train"].ended == "finished"


def test_a_gang_that_is_made_smaller_loses_its_highest_ranks_and_gets_them_back_when_it_grows() -> None:
    pods = replace(gang(count=4, gpus=1).root.members[0], min_count=1)  # type: ignore[type-var]
    made = world(gang(root=Group("root", (pods,))))
    made.resize("default/train", 2)
    made.advance(20.0)
    assert [pod.rank for pod in made.truth.members("default/train") if not pod.leaving] == [0, 1]
    made.resize("default/train", 3)
    made.advance(30.0)
    assert sorted(pod.rank or 0 for pod in made.truth.members("default/train")) == [0, 1, 2]


def test_a_daemon_comes_to_every_node_and_again_after_the_node_was_away() -> None:
    made = World(snapshot(DRAWING), daemon_sets=(scenarios.AGENT,))
    made.advance(10.0)
    assert {pod.node for pod in made.truth.pods.values() if pod.daemon} == made.truth.nodes.keys()


def test_queues_that_nobody_described_are_there_without_limits() -> None:
    made = world(gang(queue="nobody-knows"))
    queue = made.truth.queues.named("nobody-knows")
    assert queue is not None and not queue.quotas


@pytest.mark.parametrize(("seconds", "seen"), [(60.0, False), (95.0, True)])
def test_half_a_gang_may_stand_for_its_schedule_time_out_and_what_the_world_takes(seconds: float, seen: bool) -> None:
    # W-134
    made = world(gang(rules=Rules(schedule=60.0, recovery=1.0)))
    windows = Windows(Tallies(made.truth))
    states = {"default/train": "Binding"}
    put(made, 0, "b1-r1-1")
    assert not list(windows.broken(made, states))
    made.advance(10.0 + seconds)
    assert bool(list(windows.broken(made, states))) is seen


def test_a_gang_that_the_engine_has_no_state_for_is_lost() -> None:
    made = world(gang())
    assert "is lost" in " ".join(Windows(Tallies(made.truth)).broken(made, {}))
    assert "never submitted" in " ".join(
        Windows(Tallies(made.truth)).broken(made, {"default/train": "Queued", "default/ghost": "Queued"})
    )


def test_only_who_would_fit_and_may_start_is_said_to_stand_still() -> None:
    assert list(standing_still(world(gang(count=4)).truth)) == ["default/train waits, fits, and nothing moves"]
    assert not list(standing_still(world(gang(count=5)).truth))  # no rack has room for five
    assert not list(standing_still(world(gang(suspended=True)).truth))
    poor = Queues({"poor": Queue("poor", quotas=(Quota(None, GPU, NANO),))})
    assert not list(standing_still(world(gang(queue="poor"), queues=poor).truth))


def test_pods_that_have_succeeded_count_as_there_and_those_on_a_lost_node_do_not() -> None:
    made = world(gang())
    first, second = put(made, 0, "b1-r1-1"), put(made, 1, "b1-r1-2")
    made.truth.change_pod(first.key, phase="Succeeded")
    assert tally(made.truth, "default/train").whole
    made.truth.drop_node(second.node)
    assert tally(made.truth, "default/train").counts == {"workers": 1}


# ------------------------------------------------------------------------------------------------------ and more


def test_a_storm_meets_every_kind_of_fault() -> None:
    faults = scenarios.drawn(1).faults
    assert all(getattr(faults, name) for name in faults.__dataclass_fields__)


def test_durations_are_read_with_and_without_a_unit() -> None:
    assert [soak.seconds(text) for text in ("40s", "40", "2m", "0.5h")] == [40.0, 40.0, 120.0, 1800.0]


def test_a_soak_runs_at_least_one_world_of_each_kind_and_says_what_it_did() -> None:
    said: list[str] = []
    soak.soak(1000, 0.0, said.append)
    assert said[-1].startswith("soak: 2 worlds from seed 1000,")
