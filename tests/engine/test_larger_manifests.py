"""A manifest that comes to ask for more than runs: what runs is kept, and grows when there is room."""

from dataclasses import replace

from phalanx.engine.lifecycle import Cause, State
from phalanx.model.effects import Bind, Evict, Report
from phalanx.model.events import GangSeen, PodSeen
from phalanx.model.request import Request
from tests.engine.casting import RACK, member
from tests.engine.stage import Stage, gang


def asked_for(stage: Stage, count: int, required: int | None = RACK) -> Request:
    """The gang with another number of pods, all of which exist."""
    before = len(stage.pods)
    larger = gang(count=count, required=required)
    stage.step(GangSeen(larger, 0.0))
    for rank in range(before, count):
        stage.pod(larger, rank)
        stage.carry_out()
    return larger


def test_a_gang_that_is_asked_to_be_larger_than_there_is_room_for_runs_on() -> None:
    stage = Stage("b1: r1=3 r2=2")
    stage.run(gang(count=3, required=RACK))
    asked_for(stage, 5)
    stage.after(1e6)
    assert stage.state() is State.RUNNING
    assert not [one for one in stage.effects if isinstance(one, Evict)]
    assert [bool(node) for node in stage.where()] == [True, True, True, False, False]


def test_a_gang_that_is_asked_to_be_larger_grows_without_being_called_broken() -> None:
    stage = Stage("b1: r1=5")
    stage.run(gang(count=3, required=RACK))
    asked_for(stage, 5)
    assert stage.state() is State.RUNNING and all(stage.where())
    assert not [one for one in stage.effects if isinstance(one, Report) and one.cause == Cause.LOST.name]


def test_a_gang_that_has_grown_must_keep_all_that_it_asks_for() -> None:
    stage = Stage("b1: r1=5")
    stage.run(gang(count=3, required=RACK))
    asked_for(stage, 5)
    stage.lose(next(pod for pod in stage.pods.values() if pod.rank == 4))
    assert stage.state() is State.DEGRADED


def test_a_gang_that_waits_to_grow_and_loses_a_pod_is_broken() -> None:
    stage = Stage("b1: r1=3 r2=2")
    stage.run(gang(count=3, required=RACK))
    asked_for(stage, 5)
    stage.lose(next(pod for pod in stage.pods.values() if pod.rank == 0))
    assert stage.state() is State.DEGRADED


def found(least: int | None) -> Stage:
    """A scheduler that starts and finds three pods of a gang of five, which were told with how many it was whole."""
    stage = Stage("b1: r1=3 r2=2")
    request = gang(count=5, required=RACK)
    pods = [member(request, "w", rank) for rank in range(5)]
    on = [replace(pod, running=replace(pod.running, node="b1-r1-1"), phase="Running", ready=True) for pod in pods[:3]]
    stage.step(GangSeen(request, 0.0), *(PodSeen(replace(pod, least=least)) for pod in on))
    stage.step(*(PodSeen(pod) for pod in pods[3:]))
    stage.after(1e6)
    return stage


def test_a_scheduler_that_starts_knows_from_its_pods_that_a_gang_was_whole_and_is_to_grow() -> None:
    stage = found(least=3)
    assert stage.state() is State.RUNNING and not [one for one in stage.effects if isinstance(one, Evict)]


def test_a_scheduler_that_starts_knows_from_its_pods_that_a_gang_has_lost_some() -> None:
    for least in (5, None):
        assert [one for one in found(least).effects if isinstance(one, Evict)]


def test_pods_are_told_with_how_many_their_gang_is_whole() -> None:
    stage = Stage("b1: r1=4")
    stage.run(gang(count=3, required=RACK))
    asked_for(stage, 4)
    assert [one.least for one in stage.effects if isinstance(one, Bind)] == [3, 3, 3, 3]
