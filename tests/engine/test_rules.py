"""The races and rules of the designs, played on the real engine: each case is a sentence of one of them."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects.reading import read_workloads
from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind, Effect, Evict, Report, Ungate
from phalanx.model.events import Event, GangGone, GangSeen, NodeSeen, PodSeen, QueuesSeen, TopologiesSeen
from phalanx.model.nodes import HostPort, PodShape, RunningPod, Taint
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queue, Queues, Quota
from phalanx.model.reasons import Why
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU
from phalanx.place.draft import ROWS_MAX
from tests.dialects import test_kai as kai
from tests.dialects.jobset_manifests import jobset, rj
from tests.dialects.manifests import LEVELS, Doc, template
from tests.dialects.manifests import gang as gang_doc
from tests.dialects.test_lws import lws
from tests.engine.stage import ONE, Stage, gang
from tests.engine.test_engine import binds, reason

BLOCK, RACK = 1, 2  # of drawings with two levels


def member(request: Request, pod_set: str, number: int, life: int = 0, gated: bool = False) -> Pod:
    shape = next(one.shape for one in request.root.pod_sets() if one.name == pod_set)
    name = f"{request.name}-{request.unit or ''}-{pod_set}-{number}"
    running = RunningPod(name, request.namespace, "", shape.requests)
    return Pod(PodKey(request.namespace, name, f"{name}.{life}"), running, request.id, pod_set, number, gated=gated)


def members(request: Request, **counts: int) -> list[Pod]:
    """All pods of a request, or so many of each set."""
    sets = {one.name: one.count for one in request.root.pod_sets()} if not counts else counts
    return [member(request, name, number) for name, count in sets.items() for number in range(count)]


def see(stage: Stage, *pods: Pod) -> tuple[Effect, ...]:
    stage.pods |= {pod.key: pod for pod in pods}
    return stage.step(*(PodSeen(pod) for pod in pods))


def nodes_of(stage: Stage, request: Request, pod_set: str | None = None) -> list[str]:
    own = [pod for pod in stage.pods.values() if pod.gang == request.id and pod_set in (None, pod.pod_set)]
    return [pod.node for pod in sorted(own, key=lambda pod: (pod.pod_set or "", pod.rank or 0)) if not pod.ended]


def domains(stage: Stage, nodes: list[str], *labels: str) -> set[tuple[str, ...]]:
    return {tuple(stage.nodes[node].labels[f"topology/{label}"] for label in labels) for node in nodes}


def free(stage: Stage) -> dict[str, int]:
    """GPUs left on every node, as the engine's board has it."""
    board = stage.engine.book.board.free(stage.nodes)
    return {name: amounts[GPU] // NANO for name, amounts in board.items()}


def state_of(stage: Stage, request: Request) -> State:
    return stage.engine.states()[request.id]


def carry_out(stage: Stage, pending: list[Effect]) -> None:
    stage.last = tuple(pending)
    pending.clear()
    stage.carry_out()


def of_cpus(drawing: str) -> Stage:
    """A drawing whose units are CPUs, with the topology that the manifests of the dialects' tests name."""
    stage = Stage(drawing)
    for node in stage.nodes.values():
        amounts = Resources.of({"cpu": dict(node.allocatable)[GPU], "memory": 2**50 * NANO, PODS: 1000 * NANO})
        stage.step(NodeSeen(replace(node, allocatable=amounts)))
    stage.step(TopologiesSeen((*stage.topologies, LEVELS)))
    return stage


def requests_of(*docs: Doc) -> tuple[Request, ...]:
    found = read_workloads(list(docs), kai.AROUND)
    assert not found.invalid, found.invalid
    return found.requests


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


def test_a_pod_before_its_gang_is_no_candidate() -> None:  # W-158
    stage = Stage("b1: r1=2")
    request = gang(count=1)
    stage.pod(request, 0)
    assert (stage.engine.states(), stage.engine.decisions, stage.engine.turns.looked) == ({}, [], 0)
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


def test_how_many_of_how_many_pods_exist_is_said() -> None:  # W-019
    stage = Stage("b1: r1=10")
    stage.submit(gang(count=10), pods=8)
    stage.after(60)
    told = [e.reason for e in stage.effects if isinstance(e, Report) and e.reason is not None][-1]
    assert (told.type, told.needed, told.pods_seen) == (Why.PODS_MISSING, 10, 8)


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


NESTED = "z1( b1: r1=1*4 r2=1*6 | b2: r1=1*4 r2=1*2 ) z2( b1: r1=1*4 r2=1*6 | b2: r1=1*6 r2=1*2 )"


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


# -- two ways of enforcement -------------------------------------------------------------------------------------


def gated(stage: Stage, request: Request) -> list[Ungate]:
    """The gang placed ahead of its pods, which then come gated; how they were ungated."""
    stage.step(GangSeen(request, 0, owner="Job/default/g"))
    before = len(stage.effects)
    see(stage, *(replace(pod, gated=True) for pod in members(request)))
    found = [effect for effect in stage.effects[before:] if isinstance(effect, Ungate)]
    stage.carry_out()
    return found


def test_binding_and_ungating_place_the_same_and_no_gang_has_both() -> None:
    drawing = "b1: r1=2,1 r2=2,2 | b2: r1=3"
    request = gang(count=4, required=BLOCK, ranked=True)
    bound, lifted = Stage(drawing), Stage(drawing)
    bound.run(request)
    gated(lifted, replace(request, rules=Rules(enforcement="Gate")))
    assert bound.where() == lifted.where()
    for stage, own, other in ((bound, Bind, Ungate), (lifted, Ungate, Bind)):
        lost = next(pod for pod in stage.pods.values() if pod.rank == 2)
        stage.lose(lost)
        stage.pod(request, 2, life=1, gated=stage is lifted)
        stage.carry_out()
        assert stage.state() is State.RUNNING
        assert sum(isinstance(effect, own) for effect in stage.effects) == 5
        assert not any(isinstance(effect, other) for effect in stage.effects)
    assert bound.where() == lifted.where()


def test_as_many_pods_as_each_rack_was_given_are_ungated_for_it_and_none_twice() -> None:  # K-062, K-111
    stage = Stage("b1: r1=1*6 r2=1*4")
    shape = PodShape(ONE)
    parts = tuple(Group(name, (PodSet(name, count, count, shape),), RACK) for name, count in (("x", 6), ("y", 4)))
    request = Request("Gang", "default", "g", Group("root", parts), "drawn", rules=Rules(enforcement="Gate"))
    lifted = gated(stage, request)
    racks = Counter((effect.key.name.split("-")[2], dict(effect.selector)["topology/rack"]) for effect in lifted)
    assert racks == {("x", "r1"): 6, ("y", "r2"): 4}
    assert len({effect.key for effect in lifted}) == 10


def test_while_an_ungating_is_not_seen_no_further_pod_gets_its_place() -> None:  # K-065, K-066
    stage = Stage("b1: r1=1,1")
    request = gang(count=2, rules=Rules(enforcement="Gate", schedule=600))
    stage.step(GangSeen(request, 0, owner="Job/default/g"))
    see(stage, *(replace(pod, gated=True) for pod in members(request)))
    first = {(e.key, e.selector) for e in stage.last if isinstance(e, Ungate)}
    see(stage, member(request, "w", 2, gated=True))  # one more than there are places
    assert not [e for e in stage.last if isinstance(e, Ungate)]
    stage.after(4)
    assert not [e for e in stage.last if isinstance(e, Ungate)]
    stage.after(2)  # the request may have failed: it is made again, for the same pods and places
    assert {(e.key, e.selector) for e in stage.last if isinstance(e, Ungate)} == first


def test_room_is_held_for_pods_that_do_not_exist_yet() -> None:  # W-202
    stage = Stage("b1: r1=2")
    stage.step(GangSeen(gang(rules=Rules(enforcement="Gate")), 0, owner="Job/default/g"))
    stage.submit(gang("late"))
    assert (stage.state(), stage.state("late")) == (State.RESERVED, State.QUEUED)
    assert free(stage) == {"b1-r1-1": 0}


def test_who_is_resumed_is_placed_in_the_cluster_as_it_is_then() -> None:  # K-068
    stage = Stage("b1: r1=2 r2=2")
    request = gang(required=RACK)
    stage.run(request)
    before = stage.where()
    stage.step(GangSeen(replace(request, suspended=True), 0))
    stage.carry_out()
    stage.lose_node(before[0])
    for rank in range(2):
        stage.pod(request, rank, life=1)
    stage.after(10)
    stage.step(GangSeen(request, 0))
    stage.carry_out()
    assert stage.state() is State.RUNNING
    assert not set(stage.where()) & set(before)


# -- dialects ----------------------------------------------------------------------------------------------------


def test_the_groups_of_a_basic_workload_start_by_themselves() -> None:
    stage = of_cpus("b1: r1=3")
    groups = [{"name": name, "count": 2, "template": template()} for name in "ab"]
    one, two = requests_of(gang_doc(*groups, policy="Basic"))
    stage.step(GangSeen(one, 0), GangSeen(two, 0))
    see(stage, *members(one), *members(two))
    stage.carry_out()
    assert [state_of(stage, one), state_of(stage, two)] == [State.RUNNING, State.QUEUED]
    assert nodes_of(stage, two) == ["", ""]


def test_the_subgroups_of_a_kai_podgroup_start_together() -> None:  # X-14, M-022
    (request,) = requests_of(kai.podgroup(kai.sub("x", 2), kai.sub("y", 2)), *kai.pods("x", 2), *kai.pods("y", 2))
    small, large = of_cpus("b1: r1=3"), of_cpus("b1: r1=4")
    for stage in (small, large):
        stage.step(GangSeen(request, 0))
        see(stage, *members(request))
        stage.carry_out()
    assert [state_of(small, request), set(nodes_of(small, request))] == [State.QUEUED, {""}]
    assert state_of(large, request) is State.RUNNING


def test_a_job_that_depends_on_another_is_a_gang_once_its_pods_exist() -> None:  # X-18, J-013
    stage = of_cpus("b1: r1=8")
    after = [{"name": "a", "status": "Complete"}]
    first, second = requests_of(jobset(rj("a", 2, 4, "Gang"), rj("b", 1, 3, "Gang", dependsOn=after)))
    stage.step(GangSeen(first, 0), GangSeen(second, 0))
    see(stage, *members(first))
    stage.carry_out()
    assert [state_of(stage, first), state_of(stage, second)] == [State.RUNNING, State.QUEUED]
    for pod in members(first):
        stage.succeed(pod)
    assert state_of(stage, first) is State.FINISHED
    late = members(second)
    for pod in late[:-1]:
        see(stage, pod)
        assert binds(stage) == []
    see(stage, late[-1])
    assert len(binds(stage)) == 3


def test_replicas_come_and_go_as_gangs_of_their_own() -> None:  # W-220, W-172, W-176
    stage = of_cpus("b1: r1=10")
    two, five = requests_of(lws(replicas=2, size=2)), requests_of(lws(replicas=5, size=2))
    assert five[:2] == two
    stage.step(*(GangSeen(one, 0) for one in two))
    see(stage, *(pod for one in two for pod in members(one)))
    stage.carry_out()
    before, places = len(stage.effects), [nodes_of(stage, one) for one in two]
    stage.step(*(GangSeen(one, 0) for one in five))
    see(stage, *(pod for one in five[2:] for pod in members(one)))
    stage.carry_out()
    assert [state_of(stage, one) for one in five] == [State.RUNNING] * 5
    stage.step(GangGone(five[0].id), *(GangGone(one.id) for one in five[2:]))
    for pod in [pod for pod in stage.pods.values() if pod.gang != five[1].id]:
        stage.lose(pod)
    assert list(stage.engine.states().items()) == [(five[1].id, State.RUNNING)]
    assert not any(effect.gang in (two[0].id, two[1].id) for effect in stage.effects[before:] if not
                   isinstance(effect, Report))  # fmt: skip
    assert nodes_of(stage, two[1]) == places[1]


def test_a_wrong_manifest_is_told_and_starts_once_it_is_corrected() -> None:
    stage = Stage("b1: r1=2")
    good = gang()
    (pods,) = good.root.pod_sets()
    ports = tuple(HostPort("TCP", 1000 + i, "") for i in range(ROWS_MAX + 1))
    bad = replace(good, root=replace(good.root, members=(replace(pods, shape=replace(pods.shape, ports=ports)),)))
    stage.submit(bad)
    assert (stage.state(), stage.where()) == (State.INVALID, ["", ""])
    stage.step(GangSeen(good, 0))
    stage.carry_out()
    assert stage.state() is State.RUNNING


# -- clocks ------------------------------------------------------------------------------------------------------

CLOCKS = Rules(schedule=10, ready=20, recovery=30)


@pytest.mark.parametrize(
    ("state", "seconds", "cause"),
    [
        (State.BINDING, 10, "SCHEDULE_TIMEOUT"),
        (State.STARTING, 20, "READY_TIMEOUT"),
        (State.DEGRADED, 30, "RECOVERY_TIMEOUT"),
    ],
)
def test_each_of_three_clocks_runs_out_alone(state: State, seconds: float, cause: str) -> None:  # X-32, W-149
    stage = Stage("b1: r1=2")
    first, second = stage.submit(gang(rules=CLOCKS))
    stage.after(7)  # no clock counts what came before its own beginning
    if state is not State.BINDING:
        stage.step(*(PodSeen(replace(stage._on(pod.key, "b1-r1-1"), ready=False)) for pod in (first, second)))
        stage.after(7)
    if state is State.DEGRADED:
        stage.step(*(PodSeen(stage._on(pod.key, "b1-r1-1")) for pod in (first, second)))
        stage.after(1000)
        stage.lose(first)
    assert stage.state() is state
    began = 7 if state is not State.DEGRADED else 0
    stage.after(seconds - began - 0.5)
    assert stage.state() is state
    stage.after(1)
    assert [e.cause for e in stage.last if isinstance(e, Report) and e.state == State.EVICTING] == [cause]


def test_room_of_a_gang_that_ran_out_of_time_is_for_others() -> None:  # W-134, W-163
    stage = Stage("b1: r1=2")
    stage.submit(gang(rules=Rules(schedule=60)))
    stage.submit(gang("other"))
    assert stage.state("other") is State.QUEUED
    stage.after(61)
    stage.carry_out()
    assert (stage.state(), stage.state("other")) == (State.QUEUED, State.RUNNING)


# -- losses ------------------------------------------------------------------------------------------------------


def lost_by(way: str, stage: Stage, pod: Pod) -> None:
    if way == "its node failed":
        stage.lose_node(pod.node)
        stage.lose(pod)
    elif way == "its controller killed it":
        stage.see(replace(stage.pods[pod.key], leaving=True))
        stage.lose(pod)
    else:  # it ended by itself, or its kubelet ended it because the node ran short: the API shows the same phase
        stage.fail(pod)


@pytest.mark.parametrize("way", ["its node failed", "it failed", "its controller killed it", "its kubelet evicted it"])
def test_a_lost_pod_is_mended_when_its_controller_makes_another(way: str) -> None:  # W-151, K-070
    stage = Stage("b1: r1=1,1,1")
    request = gang(required=RACK, ranked=True)
    first, second = stage.run(request)
    lost_by(way, stage, second)
    assert stage.state() is State.DEGRADED
    assert "LOST" in [e.cause for e in stage.effects if isinstance(e, Report)]
    assert not [e for e in stage.last if isinstance(e, Evict)]  # the one that is left stays
    stage.pod(request, 1, life=1)
    stage.carry_out()
    assert (stage.state(), stage.where()[0]) == (State.RUNNING, first.node)
    assert (stage.where()[1] == second.node) is (way != "its node failed")


def test_a_pod_that_never_runs_takes_its_whole_gang_along() -> None:  # W-151
    stage = Stage("b1: r1=2")
    first, second = stage.submit(gang(rules=Rules(ready=600)))
    node = binds(stage)[0]
    pulling = replace(stage._on(second.key, node), phase="Pending", ready=False)
    see(stage, stage._on(first.key, node), pulling)
    assert stage.state() is State.STARTING
    stage.after(601)
    assert {e.key for e in stage.last if isinstance(e, Evict)} == {first.key, second.key}
    assert {e.cause for e in stage.last if isinstance(e, Evict)} == {"READY_TIMEOUT"}  # W-150: the reason is told


@pytest.mark.parametrize(
    ("closed", "how"), [(True, "cordoned"), (True, "tainted"), (False, "open")], ids=["cordoned", "tainted", "open"]
)
def test_a_replacement_is_not_sent_to_a_node_that_takes_nobody_now(closed: bool, how: str) -> None:  # W-151
    stage = Stage("b1: r1=1,1,1")
    request = gang(required=RACK, ranked=True)
    _, second = stage.run(request)
    node = stage.nodes[second.node]
    if how == "tainted":
        node = replace(node, taints=(Taint("node.kubernetes.io/memory-pressure", "", "NoSchedule"),))
    elif how == "cordoned":
        node = replace(node, unschedulable=True)
    stage.step(NodeSeen(node))
    stage.fail(second)
    stage.pod(request, 1, life=1)
    assert (second.node in binds(stage)) is not closed


@pytest.mark.parametrize(("policy", "first", "both"), [("ReplacePod", 1, 2), ("None", 0, 2), ("RestartGang", 0, 0)])
def test_three_policies_have_three_outcomes(policy: str, first: int, both: int) -> None:  # W-153, X-33
    stage = Stage("b1: r1=3")
    request = gang(count=3, ranked=True, rules=Rules(on_failure=policy))
    zero, one, _ = stage.run(request)
    before = len([e for e in stage.effects if isinstance(e, Bind)])
    stage.fail(zero)
    evicted = [e for e in stage.last if isinstance(e, Evict)]
    assert len(evicted) == (2 if policy == "RestartGang" else 0)
    if policy != "RestartGang":
        stage.fail(one)
        stage.pod(request, 0, life=1)
        assert len([e for e in stage.effects if isinstance(e, Bind)]) - before == first
        stage.pod(request, 1, life=1)
    assert len([e for e in stage.effects if isinstance(e, Bind)]) - before == both


def test_a_gang_that_does_not_recover_starts_elsewhere() -> None:  # K-071, K-096
    stage = Stage("b1: r1=1,1 r2=1,1")
    request = gang(required=RACK, rules=Rules(recovery=60))
    stage.run(request)
    dead = next(iter(stage.pods.values()))
    stage.lose_node(dead.node)
    stage.lose(dead)
    stage.after(59)
    assert stage.state() is State.DEGRADED
    stage.after(1)
    assert stage.state() is State.EVICTING
    stage.carry_out()
    for rank in range(2):
        stage.pod(request, rank, life=1)
    stage.after(10)
    stage.carry_out()
    assert stage.state() is State.RUNNING
    assert domains(stage, stage.where(), "rack") == domains(stage, [n for n in stage.nodes if n[:5] != dead.node[:5]],
                                                            "rack")  # fmt: skip


@pytest.mark.parametrize(
    ("phases", "state"),
    [
        (("Pending", "Pending"), State.STARTING),  # bound, its images are being pulled
        (("Running", "Pending"), State.STARTING),
        (("Running", "Running"), State.RUNNING),
        (("Running", "Succeeded"), State.RUNNING),
        (("Running", "Failed"), State.DEGRADED),
        (("Succeeded", "Succeeded"), State.FINISHED),
    ],
)
def test_phases_of_pods_make_the_state_of_their_gang(phases: tuple[str, str], state: State) -> None:  # W-156
    stage = Stage("b1: r1=2")
    found = stage.submit(gang())
    stage.step(*(PodSeen(replace(stage._on(pod.key, "b1-r1-1"), phase="Pending", ready=False)) for pod in found))
    for pod, phase in zip(found, phases, strict=True):
        stage.see(replace(stage._on(pod.key, "b1-r1-1"), phase=phase, ready=phase == "Running"))
    assert stage.state() is state
