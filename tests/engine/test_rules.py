"""The races and rules of the designs, played on the real engine: each case is a sentence of one of them."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.engine.lifecycle import State
from phalanx.model.decision import Placed
from phalanx.model.effects import Bind, Effect, Report
from phalanx.model.events import Event, GangSeen, NodeSeen, PodSeen, QueuesSeen, TopologiesSeen
from phalanx.model.nodes import PodShape, RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queue, Queues, Quota
from phalanx.model.reasons import Why
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU
from tests.engine.casting import (
    BLOCK,
    RACK,
    carry_out,
    domains,
    free,
    member,
    members,
    nodes_of,
    see,
    state_of,
)
from tests.engine.stage import ONE, Stage, gang
from tests.engine.test_engine import binds, reason

# -- races -------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_one_that_spans_racks_and_one_in_a_rack_never_share_a_node_whatever_comes_first(data: st.DataObject) -> None:
    # K-051, K-056
    stage = Stage("b1: r1=1,1 r2=1,1 r3=1,1")
    wide, narrow = gang("wide", 3, required=BLOCK), gang("narrow", 2, required=RACK)
    events: list[Event] = [GangSeen(wide, 0), GangSeen(narrow, 0)]
    events += [PodSeen(pod) for request in (wide, narrow) for pod in members(request)]
    pending: list[Effect] = []
    for event in data.draw(st.permutations(events)):
        if isinstance(event, PodSeen):
            stage.pods[event.pod.key] = event.pod
        pending += stage.step(event)
        if data.draw(st.booleans()):
            carry_out(stage, pending)
        used = Counter(e.node for e in stage.effects if isinstance(e, Bind))
        assert free(stage) == {name: 1 - used[name] for name in stage.nodes}
    carry_out(stage, pending)
    assert [stage.state("wide"), stage.state("narrow")] == [State.RUNNING, State.RUNNING]
    assert not set(stage.where("wide")) & set(stage.where("narrow"))
    assert len(domains(stage, stage.where("narrow"), "block", "rack")) == 1


def test_a_hundred_pods_wait_for_the_hundredth_place() -> None:  # W-001
    stage = Stage("b1: r1=9*11")
    request = gang(count=100)
    stage.submit(request)
    assert stage.where() == [""] * 100
    node = next(iter(stage.nodes.values()))
    one = Resources.of({GPU: NANO, PODS: 10 * NANO})
    stage.step(NodeSeen(replace(node, name="new", labels={**node.labels, "kubernetes.io/hostname": "new"},
                                allocatable=one)))  # fmt: skip
    assert len(binds(stage)) == 100


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_however_pods_and_gangs_are_told_no_gang_is_released_in_part(data: st.DataObject) -> None:  # W-046, W-092
    stage = Stage("b1: r1=2,2 r2=2,2")
    gangs = [gang("one", 3), gang("two", 4, required=RACK)]
    told: list[Event] = [GangSeen(replace(one, priority=p), 0) for one in gangs for p in (0, 1)]
    seen: list[Event] = [PodSeen(pod) for one in gangs for pod in members(one) for _ in range(2)]
    streams = [data.draw(st.permutations(told)), data.draw(st.permutations(seen))]
    pending: list[Effect] = []
    while any(streams):
        stream = data.draw(st.sampled_from([one for one in streams if one]))
        event = stream.pop(0)
        if isinstance(event, PodSeen):
            stage.pods.setdefault(event.pod.key, event.pod)
        pending += stage.step(event)
        asked = Counter(effect.gang for effect in stage.last if isinstance(effect, Bind))
        assert all(count == {"default/one": 3, "default/two": 4}[name] for name, count in asked.items())
        if data.draw(st.booleans()):
            carry_out(stage, pending)
    carry_out(stage, pending)
    assert [stage.state("one"), stage.state("two")] == [State.RUNNING, State.RUNNING]


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(5)))
def test_the_order_in_which_pods_come_does_not_show(order: list[int]) -> None:  # W-045
    stage = Stage("b1: r1=2,1 r2=2,2")
    request = gang(count=5, ranked=True)
    stage.step(GangSeen(request, 0))
    for rank in order:
        stage.pod(request, rank)
    stage.carry_out()
    plain = Stage("b1: r1=2,1 r2=2,2")
    plain.run(request)
    assert stage.where() == plain.where()


def test_nothing_is_tried_before_the_minimum_exists() -> None:  # W-133
    stage = Stage("b1: r1=9")
    request = gang(count=4)
    stage.step(GangSeen(request, 0))
    for rank in range(3):
        stage.pod(request, rank)
        assert stage.engine.decisions == []
    stage.pod(request, 3)
    assert len(stage.engine.decisions) == 1


def test_gangs_are_looked_at_and_not_pods() -> None:  # W-021
    stage = Stage("b1: r1=9")
    one, two = gang("one", 4), gang("two", 5)
    stage.step(GangSeen(one, 0), GangSeen(two, 0), *(PodSeen(pod) for pod in (*members(one), *members(two))))
    assert [decision.request for decision in stage.engine.decisions if isinstance(decision, Placed)] == [one, two]


def test_a_pod_before_its_gang_is_no_candidate() -> None:  # W-158
    stage = Stage("b1: r1=2")
    request = gang(count=1)
    stage.pod(request, 0)
    assert (stage.engine.states(), stage.engine.decisions) == ({}, [])
    stage.step(GangSeen(request, 0))
    assert len(binds(stage)) == 1


def test_no_pod_goes_ahead_while_one_is_late() -> None:  # W-159
    stage = Stage("b1: r1=4")
    request = gang(count=4)
    stage.submit(request, pods=3)
    for _ in range(5):
        stage.after(1)
        assert binds(stage) == []
    stage.pod(request, 3)
    assert len(binds(stage)) == 4


def missing(stage: Stage) -> list[tuple[int, int, float]]:
    """What was told about missing pods: how many of how many exist, and when."""
    reports = [e for e in stage.effects if isinstance(e, Report)]
    return [(e.reason.pods_seen, e.reason.needed, e.at) for e in reports
            if e.reason is not None and e.reason.type is Why.PODS_MISSING]  # fmt: skip


def test_how_many_of_how_many_pods_exist_is_said_after_a_while() -> None:  # W-019
    stage = Stage("b1: r1=10")
    stage.submit(gang(count=10), pods=8)
    assert (reason(stage), missing(stage), stage.engine.next_at) == (Why.PODS_MISSING, [], 10)
    stage.after(9)
    assert missing(stage) == []
    stage.after(1)
    assert missing(stage) == [(8, 10, 10)]
    stage.after(1000)
    assert (missing(stage), stage.engine.next_at) == ([(8, 10, 10)], None)


def test_a_gang_that_is_complete_in_time_never_says_that_pods_are_missing() -> None:  # W-019
    stage = Stage("b1: r1=10")
    request = gang(count=10)
    stage.submit(request, pods=9)
    stage.after(9)
    stage.pod(request, 9)
    stage.carry_out()
    stage.after(100)
    assert (stage.state(), missing(stage)) == (State.RUNNING, [])


def test_pods_that_come_one_by_one_are_not_told_one_by_one() -> None:  # W-019, W-014
    stage = Stage("b1: r1=99")
    request = gang(count=99)
    stage.submit(request, pods=10)
    for rank in range(10, 40):
        stage.after(1)
        stage.pod(request, rank)
    assert [(seen, at) for seen, _, at in missing(stage)] == [(19, 10), (29, 20), (39, 30)]


def test_an_engine_that_starts_anew_does_not_wait_again_with_what_it_tells() -> None:  # W-019
    stage = Stage("b1: r1=10")
    stage.now = 500
    stage.step(GangSeen(gang(count=10), 100))
    assert missing(stage) == [(0, 10, 500)]


def test_a_gang_that_loses_a_pod_while_it_waits_for_room_has_the_same_grace() -> None:  # W-019
    stage = Stage("b1: r1=1")
    first, _ = stage.submit(gang(count=2))
    stage.after(100)
    stage.lose(first)
    assert (reason(stage), missing(stage), stage.engine.next_at) == (Why.PODS_MISSING, [], 110)
    stage.after(10)
    assert missing(stage) == [(1, 2, 110)]


def test_a_gang_that_cannot_start_is_no_concern_of_another() -> None:  # W-047
    stage = Stage("b1: r1=2")
    stage.submit(gang("huge", count=9))
    stage.run(gang("small"))
    assert (stage.state("huge"), stage.state("small")) == (State.QUEUED, State.RUNNING)


def test_a_pod_that_stands_alone_goes_at_once_beside_gangs_that_wait() -> None:  # W-049, W-094
    stage = Stage("b1: r1=3")
    stage.submit(gang(count=3), pods=2)
    stage.run(gang("bare", 1))
    assert (stage.state(), stage.state("bare")) == (State.QUEUED, State.RUNNING)


def test_the_gang_says_what_its_pods_wait_for_and_they_need_no_change() -> None:  # W-007
    stage = Stage("b1: r1=4")
    request = gang(count=4)
    stage.submit(request, pods=2)
    assert stage.state() is State.QUEUED
    stage.delete(request)
    assert (stage.engine.states(), stage.where()) == ({}, ["", ""])
    stage.step(GangSeen(gang(count=2), 1))
    assert len(binds(stage)) == 2


# -- levels ------------------------------------------------------------------------------------------------------


def nested() -> Request:
    """Servers anywhere in the zone; prefill and decode in a rack each of one block."""
    shape = PodShape(ONE)
    prefill = Group("prefill", (PodSet("p", 3, 3, shape),), required=3)
    decode = Group("decode", (PodSet("d", 5, 5, shape),), required=3)
    workers = Group("workers", (prefill, decode), required=2)
    root = Group("root", (Group("api", (PodSet("a", 1, 1, shape),)), workers), required=1)
    return Request("Gang", "default", "g", root, "drawn")


NESTED = "z1( b1: r1=1*7 r2=1*7 | b2: r1=1*4 r2=1*2 ) z2( b1: r1=1*7 r2=1*7 | b2: r1=1*6 r2=1*2 )"


def held_together(stage: Stage, request: Request) -> bool:
    sets = {"zone": "apd", "block": "pd"}
    below = all(len(domains(stage, nodes_of(stage, request, one), "zone", "block", "rack")) == 1 for one in "pd")
    inside = [domains(stage, [n for s in own for n in nodes_of(stage, request, s)], "zone", level)
              for level, own in sets.items()]  # fmt: skip
    return below and all(len(one) == 1 for one in inside)


@pytest.mark.parametrize("lost", ["a", "p", "d"])
def test_the_levels_of_all_groups_around_hold_after_the_start_and_after_a_repair(lost: str) -> None:  # M-017
    stage = Stage(NESTED)
    request = nested()
    stage.step(GangSeen(request, 0))
    see(stage, *members(request))
    stage.carry_out()
    assert state_of(stage, request) is State.RUNNING
    assert held_together(stage, request)
    dead = next(pod for pod in stage.pods.values() if pod.pod_set == lost)
    stage.lose_node(dead.node)
    stage.lose(dead)
    see(stage, member(request, lost, dead.rank or 0, life=1))
    stage.carry_out()
    assert (state_of(stage, request), "" in nodes_of(stage, request)) == (State.RUNNING, False)
    assert held_together(stage, request)


def test_a_gang_starts_when_the_last_of_its_groups_has_its_pods() -> None:  # M-022
    stage = Stage(NESTED)
    request = nested()
    stage.step(GangSeen(request, 0))
    see(stage, *members(request, a=1, p=3, d=4))
    assert binds(stage) == []
    see(stage, member(request, "d", 4))
    assert len(binds(stage)) == 9


def test_a_pod_beyond_the_minimum_with_no_room_in_the_rack_waits_alone() -> None:  # M-025
    stage = Stage("b1: r1=1,1 r2=1,1")
    request = gang(count=3, least=2, required=RACK)
    stage.run(request, pods=2)
    stage.pod(request, 2)
    stage.carry_out()
    assert (stage.where().count(""), stage.state()) == (1, State.RUNNING)
    assert len(domains(stage, [node for node in stage.where() if node], "rack")) == 1


def test_of_a_group_that_needs_one_of_two_one_starts_alone() -> None:
    stage = Stage("b1: r1=3")
    parts = tuple(Group(name, (PodSet(name, 2, 2, PodShape(ONE)),)) for name in "ab")
    request = Request("Gang", "default", "g", Group("root", parts, min_members=1), "drawn")
    stage.step(GangSeen(request, 0))
    see(stage, *members(request, b=1))
    assert binds(stage) == []
    see(stage, member(request, "b", 1))
    stage.carry_out()
    assert state_of(stage, request) is State.RUNNING


def near(name: str, count: int, required: int | None, preferred: int | None) -> Request:
    made = gang(name, count, required=required)
    return replace(made, root=replace(made.root, preferred=preferred))


def test_required_is_the_bound_and_preferred_the_aim() -> None:
    stage = Stage("b1: r1=2 r2=2 | b2: r1=2 r2=2")
    stage.run(near("one-rack", 2, BLOCK, RACK))
    assert len(domains(stage, stage.where("one-rack"), "block", "rack")) == 1
    stage.run(near("one-block", 3, BLOCK, RACK))
    assert len(domains(stage, stage.where("one-block"), "block")) == 1
    stage.submit(near("waits", 3, BLOCK, RACK))
    assert stage.state("waits") is State.QUEUED


def test_a_preference_ends_in_a_spread_and_fails_only_without_room() -> None:
    stage = Stage("b1: r1=1 r2=1 | b2: r1=1 r2=1")
    stage.run(near("spread", 3, None, RACK))
    assert stage.state("spread") is State.RUNNING
    stage.submit(near("more", 2, None, RACK))
    assert (stage.state("more"), stage.where("more")) == (State.QUEUED, ["", ""])


def test_a_gang_waits_for_a_rack_while_room_is_split_and_starts_when_one_is_free() -> None:  # K-009, KA-005
    stage = Stage("b1: r1=1,1 r2=1,1")
    first, second = (gang(name, 1, required=RACK) for name in ("first", "second"))
    stage.run(first)
    taken = stage.where("first")[0]
    other = next(name for name, node in stage.nodes.items() if node.labels["topology/rack"] not in taken)
    pod = stage.pod(second, 0)
    stage.see(stage._on(pod.key, other))
    stage.submit(gang(required=RACK))
    assert (stage.state(), reason(stage)) == (State.QUEUED, Why.FRAGMENTED)
    stage.succeed(next(pod for pod in stage.pods.values() if pod.gang == first.id))
    stage.carry_out()
    assert stage.state() is State.RUNNING
    assert len(domains(stage, stage.where(), "rack")) == 1


def test_a_gang_that_is_refused_a_thousand_times_still_waits() -> None:  # K-057, W-160
    stage = Stage("b1: r1=1 r2=1")
    stage.submit(gang(required=RACK))
    node = next(iter(stage.nodes.values()))
    for turn in range(1000):
        stage.step(NodeSeen(replace(node, labels={**node.labels, "turn": str(turn)})))
    assert (stage.state(), reason(stage)) == (State.QUEUED, Why.TOO_LARGE)


def test_a_node_that_is_relabelled_is_in_its_new_rack() -> None:  # K-028
    stage = Stage("b1: r1=1 r2=1")
    stage.submit(gang(required=RACK))
    assert stage.state() is State.QUEUED
    node = stage.nodes["b1-r2-1"]
    stage.step(NodeSeen(replace(node, labels={**node.labels, "topology/rack": "r1"})))
    assert sorted(binds(stage)) == ["b1-r1-1", "b1-r2-1"]


def test_a_topology_that_is_made_later_is_used() -> None:  # KA-047
    stage = Stage("b1: r1=1,1")
    stage.step(TopologiesSeen(()))
    request = gang(required=RACK)
    stage.submit(request)
    assert stage.state() is not State.BINDING
    stage.step(TopologiesSeen(stage.topologies))
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_a_pod_is_told_its_rank_and_domain_when_it_is_bound() -> None:  # KA-004, KA-056
    stage = Stage("b1: r1=1,1 | b2: r1=1")
    stage.run(gang(count=3, ranked=True))
    told = {effect.key.name: effect for effect in stage.effects if isinstance(effect, Bind)}
    assert [told[f"g-{rank}"].rank for rank in range(3)] == [0, 1, 2]
    assert all(effect.domain == "/".join(effect.node.split("-")[:2]) for effect in told.values())
    assert Counter(effect.domain for effect in told.values()) == {"b1/r1": 2, "b2/r1": 1}


# -- room and quota ----------------------------------------------------------------------------------------------


def test_places_are_given_in_the_step_that_lets_a_gang_in() -> None:  # K-052
    stage = Stage("b1: r1=1")
    stage.submit(gang(count=2))
    assert not list(stage.engine.book.gangs["default/g"].every_slot())
    node = stage.nodes["b1-r1-1"]
    stage.step(NodeSeen(replace(node, allocatable=node.allocatable + ONE)))  # K-053
    assert stage.state() is State.BINDING
    assert [slot.node for slot in stage.engine.book.gangs["default/g"].every_slot()] == binds(stage) == [node.name] * 2


def test_what_is_free_follows_every_turn_of_a_gang() -> None:  # K-054
    stage = Stage("b1: r1=4")
    request = gang(count=3)
    stage.submit(request)
    assert free(stage) == {"b1-r1-1": 1}  # let in
    stage.carry_out()
    stage.step(GangSeen(replace(request, suspended=True), 0))
    stage.carry_out()
    assert free(stage) == {"b1-r1-1": 4}  # suspended
    again = [stage.pod(request, rank, life=1) for rank in range(3)]
    stage.after(10)
    stage.step(GangSeen(request, 0))
    stage.carry_out()
    assert free(stage) == {"b1-r1-1": 1}  # resumed
    for pod in again:
        stage.succeed(pod)
    assert (free(stage), stage.state()) == ({"b1-r1-1": 4}, State.FINISHED)


def test_a_daemon_takes_its_room() -> None:  # K-055, X-46
    stage = Stage("b1: r1=4")
    daemon = RunningPod("daemon", "kube-system", "b1-r1-1", ONE.times(2))
    stage.step(PodSeen(Pod(PodKey("kube-system", "daemon", "d.0"), daemon, phase="Running", daemon=True)))
    assert free(stage) == {"b1-r1-1": 2}


def test_a_daemon_that_comes_late_takes_no_room_twice() -> None:  # K-073
    """The place of a lost pod is kept; a daemon is bound there by its own scheduler before the pod is made again."""
    stage = Stage("b1: r1=1,1")
    request = gang(ranked=True)
    _, second = stage.run(request)
    stage.lose(second)
    daemon = RunningPod("daemon", "kube-system", second.node, ONE)
    stage.step(PodSeen(Pod(PodKey("kube-system", "daemon", "d.0"), daemon, phase="Running", daemon=True)))
    stage.pod(request, 1, life=1)
    assert second.node not in binds(stage)


def test_a_bound_pod_takes_the_place_that_was_held_for_it_and_no_other() -> None:
    stage = Stage("b1: r1=2,2")
    stage.step(QueuesSeen(Queues({"q": Queue("q", quotas=(Quota(None, GPU, 4 * NANO),))}, {})))
    stage.submit(replace(gang(count=3), queue="q"))
    before = free(stage), [(queue, dict(amounts)) for queue, _, amounts in stage.engine.turns.held()]
    for effect in [e for e in stage.last if isinstance(e, Bind)]:
        stage.step(*stage.bound(effect))
        held = [(queue, dict(amounts)) for queue, _, amounts in stage.engine.turns.held()]
        assert (free(stage), held) == before
    assert (sum(free(stage).values()), before[1][0][1][GPU]) == (1, 3 * NANO)


def test_room_without_quota_and_quota_without_room_are_told_apart() -> None:  # K-060
    stage = Stage("b1: r1=2 r2=2")
    quotas = {"poor": 1, "rich": 99}
    stage.step(QueuesSeen(Queues({n: Queue(n, quotas=(Quota(None, GPU, q * NANO),)) for n, q in quotas.items()}, {})))
    stage.submit(replace(gang("no-quota", 2, required=RACK), queue="poor"))
    stage.submit(replace(gang("no-room", 3, required=RACK), queue="rich"))
    assert [stage.state("no-quota"), stage.state("no-room")] == [State.QUEUED, State.QUEUED]
    assert [reason(stage, "no-quota"), reason(stage, "no-room")] == [Why.OVER_QUOTA, Why.TOO_LARGE]
