"""The rules of the designs about what happens later: enforcement, clocks and losses, played on the real engine."""

from collections import Counter
from dataclasses import replace

import pytest

from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind, Evict, Report, Ungate
from phalanx.model.events import GangGone, GangSeen, NodeSeen, PodSeen, QueuesSeen
from phalanx.model.nodes import HostPort, PodShape, Taint
from phalanx.model.pods import Pod
from phalanx.model.queues import Queue, Queues, Quota
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU
from phalanx.place.draft import ROWS_MAX
from tests.dialects import test_kai as kai
from tests.dialects.jobset_manifests import MODE, jobset, rj
from tests.dialects.manifests import gang as gang_doc
from tests.dialects.manifests import job, template
from tests.dialects.test_lws import lws
from tests.engine.casting import (
    BLOCK,
    RACK,
    domains,
    free,
    member,
    members,
    nodes_of,
    of_cpus,
    requests_of,
    see,
    state_of,
)
from tests.engine.stage import ONE, Stage, gang
from tests.engine.test_engine import binds
from tests.testing import named

# -- two ways of enforcement -------------------------------------------------------------------------------------


def gated(stage: Stage, request: Request) -> list[Ungate]:
    """The gang placed ahead of its pods, which then come gated; how they were ungated."""
    stage.step(GangSeen(request, 0, owner=named.owner("g")))
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
    stage.step(GangSeen(request, 0, owner=named.owner("g")))
    see(stage, *(replace(pod, gated=True) for pod in members(request)))
    first = {(e.key, e.selector) for e in stage.last if isinstance(e, Ungate)}
    assert len(first) == 2
    see(stage, member(request, "w", 2, gated=True))  # one more than there are places
    assert not [e for e in stage.last if isinstance(e, Ungate)]
    stage.after(4)
    assert not [e for e in stage.last if isinstance(e, Ungate)]
    stage.after(2)  # the request may have failed: it is made again, for the same pods and places
    assert {(e.key, e.selector) for e in stage.last if isinstance(e, Ungate)} == first


def test_room_is_held_for_pods_that_do_not_exist_yet() -> None:  # W-202
    stage = Stage("b1: r1=2")
    stage.step(GangSeen(gang(rules=Rules(enforcement="Gate")), 0, owner=named.owner("g")))
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


def test_an_indexed_job_is_bound_whole_or_not_at_all() -> None:  # W-218
    (request,) = requests_of(job({MODE: "Gang"}, parallelism=8, completions=8, completionMode="Indexed"))
    for cpus, bound in ((7, 0), (8, 8)):
        stage = of_cpus(f"b1: r1={cpus}")
        stage.step(GangSeen(request, 0))
        see(stage, *members(request))
        assert len(binds(stage)) == bound


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
    ports = tuple(HostPort(1000 + i, "TCP", "") for i in range(ROWS_MAX + 1))
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


@pytest.mark.parametrize("taint", ["unschedulable", "not-ready", "memory-pressure"])
def test_a_replacement_is_not_sent_to_a_node_that_takes_nobody_now(taint: str) -> None:  # W-151
    stage = Stage("b1: r1=1,1,1")
    request = gang(required=RACK, ranked=True)
    _, second = stage.run(request)
    closed = Taint(f"node.kubernetes.io/{taint}", "", "NoSchedule")
    stage.step(NodeSeen(replace(stage.nodes[second.node], taints=(closed,))))
    stage.fail(second)
    stage.pod(request, 1, life=1)
    assert second.node not in binds(stage)


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


def test_a_pod_nobody_hears_of_restarts_its_gang_where_the_rule_says_so() -> None:  # W-153
    stage = Stage("b1: r1=2")
    first, _ = stage.run(gang(rules=Rules(on_failure="RestartGang")))
    stage.see(replace(stage.pods[first.key], phase="Unknown", ready=False))
    assert stage.state() is State.EVICTING


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
        (("Running", "Unknown"), State.STARTING),  # its node does not answer
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


def two_racks(stage: Stage, disruption: str) -> Request:
    """Two groups that run, a rack each, in one block."""
    parts = tuple(Group(name, (PodSet(name, 2, 2, PodShape(ONE)),), RACK) for name in ("one", "two"))
    rules = Rules(disruption=disruption, recovery=60)
    request = Request("Gang", "default", "g", Group("all", parts, BLOCK), "drawn", rules=rules)
    stage.step(GangSeen(request, 0))
    see(stage, *members(request))
    stage.carry_out()
    assert stage.state() is State.RUNNING
    return request


@pytest.mark.parametrize("disruption", ["Pod", "Group"])
def test_the_smallest_group_that_cannot_be_mended_moves_whole_and_the_rest_stays(disruption: str) -> None:
    """The rack of one group has no node left for its lost pod. (K-103, W-209)"""
    stage = Stage("b1: r1=1,1 r2=1,1 r3=1,1")
    request = two_racks(stage, disruption)
    before = {name: nodes_of(stage, request, name) for name in ("one", "two")}
    dead = next(pod for pod in stage.pods.values() if pod.pod_set == "one")
    stage.lose_node(dead.node)
    stage.lose(dead)
    number = dead.rank or 0
    see(stage, member(request, "one", number, life=1))
    gone = [effect.key for effect in stage.last if isinstance(effect, Evict)]
    assert len(gone) == 1 and stage.pods[gone[0]].pod_set == "one"
    stage.carry_out()
    see(stage, member(request, "one", 1 - number, life=1))
    stage.carry_out()
    assert stage.state() is State.RUNNING
    after = {name: nodes_of(stage, request, name) for name in ("one", "two")}
    assert after["two"] == before["two"]
    assert len({node.rsplit("-", 1)[0] for node in after["one"]}) == 1
    assert {node.rsplit("-", 1)[0] for node in after["one"]} != {node.rsplit("-", 1)[0] for node in before["one"]}


def test_no_part_of_a_gang_that_goes_together_is_moved_and_all_of_it_leaves_in_the_end() -> None:  # W-209, K-071
    stage = Stage("b1: r1=1,1 r2=1,1 r3=1,1")
    request = two_racks(stage, "Gang")
    dead = next(pod for pod in stage.pods.values() if pod.pod_set == "one")
    stage.lose_node(dead.node)
    stage.lose(dead)
    see(stage, member(request, "one", dead.rank or 0, life=1))
    stage.after(59)
    assert (stage.state(), [e for e in stage.effects if isinstance(e, Evict)]) == (State.DEGRADED, [])
    stage.after(1)
    gone = {stage.pods[e.key].pod_set: e.cause for e in stage.last if isinstance(e, Evict)}
    assert gone == {"one": "RECOVERY_TIMEOUT", "two": "RECOVERY_TIMEOUT"}


@pytest.mark.parametrize("disruption", ["Pod", "Group", "Gang"])
def test_a_lost_pod_that_has_room_near_the_others_disturbs_nobody(disruption: str) -> None:  # W-209, K-103
    stage = Stage("b1: r1=1,1,1 r2=1,1,1")
    request = two_racks(stage, disruption)
    dead = next(pod for pod in stage.pods.values() if pod.pod_set == "one")
    stage.lose_node(dead.node)
    stage.lose(dead)
    see(stage, member(request, "one", dead.rank or 0, life=1))
    stage.carry_out()
    assert (stage.state(), [e for e in stage.effects if isinstance(e, Evict)]) == (State.RUNNING, [])


@pytest.mark.parametrize("disruption", ["Pod", "Group", "Gang"])
def test_a_gang_that_restarts_whole_does_so_whoever_may_be_disrupted_alone(disruption: str) -> None:  # W-153, W-209
    stage = Stage("b1: r1=3")
    first, *_ = stage.run(gang(count=3, rules=Rules(on_failure="RestartGang", disruption=disruption)))
    stage.fail(first)
    assert len([e for e in stage.last if isinstance(e, Evict)]) == 2


def test_a_lost_place_is_replaced_in_a_queue_that_is_full() -> None:
    stage = Stage("b1: r1=1,1,1")
    quotas = (Quota(None, GPU, 2 * NANO),)
    stage.step(QueuesSeen(Queues({"q": Queue("q", quotas=quotas)})))
    request = replace(gang(count=2, ranked=True), queue="q")
    stage.run(request)
    dead = next(iter(stage.pods.values()))
    stage.lose_node(dead.node)
    stage.lose(dead)
    stage.pod(request, dead.rank or 0, life=1)
    stage.carry_out()
    assert stage.state() is State.RUNNING
