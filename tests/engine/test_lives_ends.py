"""How pods end, and what becomes of their gang: work done, work that goes on, failures that count once."""

from dataclasses import replace

import pytest

from phalanx.engine.engine import Engine
from phalanx.engine.gangs import HOLDING, STARTED
from phalanx.engine.lifecycle import TABLE, Cause, State
from phalanx.model.effects import Bind, Evict, Suspend
from phalanx.model.events import Answer, BindAnswered, GangSeen, NodeSeen, PodSeen, TopologiesSeen
from phalanx.model.nodes import HostPort
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Request
from phalanx.model.rules import Rules
from phalanx.place.draft import ROWS_MAX
from tests.engine.casting import RACK
from tests.engine.stage import Stage, gang
from tests.testing import named

RESTART = Rules(on_failure="RestartGang")


def binds(stage: Stage) -> list[Bind]:
    return [effect for effect in stage.last if isinstance(effect, Bind)]


def evicted(stage: Stage) -> list[str]:
    return [effect.key.name for effect in stage.last if isinstance(effect, Evict)]


# -- work that goes on -------------------------------------------------------------------------------------------


def test_the_pods_of_a_job_that_works_in_turns_start_one_after_the_other() -> None:  # W-156
    stage = Stage("b1: r1=2")
    request = gang(count=1)
    (pod,) = stage.run(request)
    for turn in (1, 2):
        stage.succeed(pod)
        assert stage.state() is State.FINISHED
        pod = stage.pod(request, 0, life=turn)
        stage.carry_out()
        assert (stage.state(), stage.where()) == (State.RUNNING, list(stage.nodes))
    stage.succeed(pod)
    assert stage.state() is State.FINISHED


def test_pods_that_come_after_the_minimum_has_succeeded_start() -> None:
    stage = Stage("b1: r1=4")
    request = gang(count=4, least=2)
    for pod in stage.run(request, pods=2):
        stage.succeed(pod)
    assert stage.state() is State.FINISHED
    for rank in (2, 3):
        stage.pod(request, rank)
        stage.carry_out()
    assert (stage.state(), stage.where()) == (State.RUNNING, list(stage.nodes) * 2)


# -- failures ----------------------------------------------------------------------------------------------------


def test_a_failed_pod_whose_object_stays_restarts_its_gang_once() -> None:  # W-153
    stage = Stage("b1: r1=2")
    request = gang(rules=RESTART)
    first, _ = stage.run(request)
    stage.fail(first)
    stage.carry_out()
    for rank in (0, 1):
        stage.pod(request, rank, life=1)
    stage.after(2)
    stage.carry_out()
    for _ in range(5):
        stage.after(60)
        stage.carry_out()
    assert stage.state() is State.RUNNING
    assert sum(isinstance(effect, Evict) for effect in stage.effects) == 1


def test_each_further_failure_restarts_the_gang_again() -> None:  # W-153
    stage = Stage("b1: r1=2")
    request = gang(rules=RESTART)
    failing, _ = stage.run(request)
    for life in (1, 2, 3):
        stage.fail(failing)
        assert stage.state() is State.EVICTING
        stage.carry_out()
        failing, _ = [stage.pod(request, rank, life=life) for rank in (0, 1)]
        stage.after(60)
        stage.carry_out()
        assert stage.state() is State.RUNNING


def test_what_failed_while_the_gang_was_leaving_does_not_restart_it_again() -> None:  # W-153
    stage = Stage("b1: r1=2")
    request = gang(rules=RESTART)
    first, second = stage.run(request)
    stage.fail(first)
    stage.fail(second)  # the eviction ended it with an error, and its object stays
    for rank in (0, 1):
        stage.pod(request, rank, life=1)
    stage.after(60)
    stage.carry_out()
    stage.after(60)
    assert (stage.state(), evicted(stage)) == (State.RUNNING, [])


def test_a_suspended_owner_is_resumed_though_its_failed_pod_is_still_listed() -> None:  # W-153, K-068
    stage = Stage("b1: r1=2")
    request = gang(rules=replace(RESTART, enforcement="Gate"))
    stage.step(GangSeen(request, 0, named.owner("g")))
    first, second = (stage.pod(request, rank, gated=True) for rank in (0, 1))
    stage.carry_out()
    stage.fail(first)
    assert [effect for effect in stage.last if isinstance(effect, Suspend)]
    stage.lose(second)
    stage.after(60)
    assert stage.state() is State.RESERVED
    stage.see(replace(stage.pods[first.key], ready=True))  # told of again, for whatever reason
    assert stage.state() is State.RESERVED
    for rank in (0, 1):
        stage.pod(request, rank, life=1, gated=True)
        stage.carry_out()
    assert stage.state() is State.RUNNING


def test_a_gang_that_is_found_whole_has_got_over_the_failures_that_are_found_with_it() -> None:  # W-153, X-40
    stage = Stage("b1: r1=2")
    request = gang(rules=RESTART)
    first, _ = stage.run(request)
    stage.fail(first)
    stage.carry_out()
    for rank in (0, 1):
        stage.pod(request, rank, life=1)
    stage.after(60)
    stage.carry_out()
    assert restarted(stage, request).states() == {request.id: State.RUNNING}


def restarted(stage: Stage, request: Request) -> Engine:
    engine = Engine()
    nodes = [NodeSeen(node) for node in stage.nodes.values()]
    pods = [PodSeen(pod) for pod in stage.pods.values()]
    engine.step([TopologiesSeen(stage.topologies), *nodes, GangSeen(request, 0), *pods], stage.now)
    return engine


def test_a_pod_that_fails_before_its_gang_is_released_takes_the_places_along() -> None:  # W-153
    stage = Stage("b1: r1=2")
    request = gang(rules=replace(RESTART, enforcement="Gate"))
    stage.step(GangSeen(request, 0, named.owner("g")))
    assert stage.state() is State.RESERVED
    stage.fail(stage.pod(request, 0, gated=True))
    assert [effect for effect in stage.last if isinstance(effect, Suspend)]


# -- the table ---------------------------------------------------------------------------------------------------


def test_what_comes_from_outside_is_known_in_every_state_it_can_find_a_gang_in() -> None:
    for state in set(State) - {State.FINISHED}:
        assert {Cause.DELETED, Cause.COMPLETED} <= TABLE[state].keys()
    for state in HOLDING:
        assert {Cause.SUSPENDED, Cause.DRAINED, Cause.POD_FAILED} <= TABLE[state].keys()
    for state in STARTED:
        assert Cause.PODS_VANISHED in TABLE[state]


# -- manifests that are wrong ------------------------------------------------------------------------------------


def wrong(request: Request) -> Request:
    (pods,) = request.root.pod_sets()
    ports = tuple(HostPort(1000 + i, "TCP", "") for i in range(ROWS_MAX + 1))
    return replace(
        request, root=replace(request.root, members=(replace(pods, shape=replace(pods.shape, ports=ports)),))
    )


def elsewhere(stage: Stage, pod: Pod) -> Pod:
    """The pod, given a node by somebody else."""
    bound = replace(pod, running=replace(pod.running, node=next(iter(stage.nodes))), phase="Running")
    stage.see(bound)
    return bound


@pytest.mark.parametrize("ended", ["Succeeded", "Failed"])
def test_pods_of_a_wrong_manifest_may_end(ended: str) -> None:
    stage = Stage("b1: r1=2")
    (pod,) = stage.submit(wrong(gang(count=1)))
    assert stage.state() is State.INVALID
    stage.see(replace(elsewhere(stage, pod), phase=ended))
    assert stage.state() is (State.FINISHED if ended == "Succeeded" else State.INVALID)


def test_a_gang_whose_pods_do_not_go_though_they_were_told_to_starts_beside_them_after_a_while() -> None:
    """As on a node that is dead: its kubelet never says that they are gone."""
    stage = Stage("b1: r1=2 r2=2")
    request = gang(required=RACK, rules=Rules(recovery=10.0))
    first, second = stage.run(request)
    stage.lose(second)
    stage.after(10.0)
    assert stage.state() is State.EVICTING
    stage.see(replace(stage.pods[first.key], leaving=True))
    again = [replace(first, key=PodKey("default", f"again-{rank}", ""), rank=rank) for rank in (0, 1)]
    for pod in again:
        running = replace(pod.running, name=pod.key.name, node="")
        stage.see(replace(pod, running=running, phase="Pending", ready=False))
    assert stage.state() is State.EVICTING
    stage.after(request.rules.schedule)
    stage.after(stage.engine.settings.backoff_most * 2)
    stage.carry_out()
    assert stage.state() is State.RUNNING
    assert {stage.pods[pod.key].node for pod in again}.isdisjoint({first.node})
    assert stage.engine.book.audit() == []


def test_a_replacement_that_no_node_takes_is_tried_again_soon_while_it_is_missing() -> None:
    stage = Stage("b1: r1=4")
    request = gang(rules=Rules(recovery=300.0))
    first, _ = stage.run(request)
    stage.lose(first)
    stage.pod(request, 0, life=1)
    for _ in range(stage.engine.settings.bind_tries):
        (bind,) = binds(stage)
        stage.step(BindAnswered(bind.key, bind.node, Answer.REFUSED))
    assert stage.state() is State.DEGRADED
    assert not binds(stage)
    stage.after(stage.engine.settings.backoff)
    assert binds(stage)
