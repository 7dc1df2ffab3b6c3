"""Queues that are not there, on hold, drained, or without a topology: nobody starts in them, and all know why."""

from dataclasses import replace

import pytest

from phalanx.engine.lifecycle import State
from phalanx.model.effects import Evict, Report, Suspend
from phalanx.model.events import GangSeen, QueuesSeen
from phalanx.model.nodes import LabelSelector
from phalanx.model.queues import Flavor, LocalName, Queue, Queues, Quota
from phalanx.model.reasons import Closed, ClosedQueue, Reason, Why
from phalanx.model.request import Request
from phalanx.model.resources import NANO, PODS
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU
from tests.engine.casting import RACK, free, see
from tests.engine.stage import Stage, gang
from tests.engine.test_engine import binds, in_queue, limited, queued, reason
from tests.testing import named


def told(stage: Stage, name: str = "g") -> Reason:
    found = [one.reason for one in stage.effects if isinstance(one, Report) and one.gang == f"default/{name}"]
    assert found[-1] is not None
    return found[-1]


# -- for others --------------------------------------------------------------------------------------------------


def test_a_gang_in_a_queue_of_others_waits_and_starts_when_its_namespace_is_let_in() -> None:
    stage = Stage("b1: r1=4")
    queue = Queue("q", namespace_selector=LabelSelector((("team", "a"),)))
    stage.step(QueuesSeen(Queues({"q": queue}, namespaces={"default": {"team": "b"}})))
    stage.submit(in_queue("g", "q"))
    assert (stage.state(), binds(stage)) == (State.QUEUED, [])
    assert (told(stage).type, told(stage).queue) == (Why.OVER_QUOTA, ClosedQueue("q", Closed.NAMESPACE, ("default",)))
    stage.step(QueuesSeen(Queues({"q": queue}, namespaces={"default": {"team": "a"}})))
    assert len(binds(stage)) == 2


def test_who_runs_in_a_queue_stays_when_it_is_closed_to_its_namespace() -> None:
    stage = Stage("b1: r1=4")
    queued(stage, Queue("q"))
    stage.run(in_queue("g", "q"))
    stage.step(QueuesSeen(Queues({"q": Queue("q", namespace_selector=LabelSelector((("team", "a"),)))})))
    assert stage.state() is State.RUNNING
    assert not [one for one in stage.effects if isinstance(one, Evict)]


# -- not there ---------------------------------------------------------------------------------------------------


def test_a_gang_whose_queue_is_not_there_waits_and_names_it() -> None:  # K-017, M-013
    stage = Stage("b1: r1=4")
    queued(stage, Queue("a"), Queue("b"))
    stage.submit(in_queue("g", "x"))
    assert (stage.state(), binds(stage)) == (State.QUEUED, [])
    assert told(stage).type is Why.OVER_QUOTA
    assert told(stage).queue == ClosedQueue("x", Closed.MISSING, ("a", "b", "default"))


def test_a_gang_starts_when_its_queue_appears() -> None:  # K-017, M-013
    stage = Stage("b1: r1=4")
    stage.submit(in_queue("g", "x"))
    stage.after(1000)
    assert stage.state() is State.QUEUED
    queued(stage, limited("x", 1))
    assert (reason(stage), told(stage).queue) == (Why.OVER_QUOTA, None)  # there, and too small
    queued(stage, limited("x", 2))
    assert len(binds(stage)) == 2


def test_that_a_queue_is_not_there_is_told_before_its_pods_exist() -> None:  # K-017
    stage = Stage("b1: r1=4")
    stage.step(GangSeen(in_queue("g", "x"), 0))
    assert told(stage).queue is not None
    stage.pod(in_queue("g", "x"), 0)
    stage.pod(in_queue("g", "x"), 1)
    assert len([one for one in stage.effects if isinstance(one, Report)]) == 1  # once, not once per pod


def test_the_names_that_a_namespace_has_for_queues_are_among_those_there_are() -> None:  # K-017
    stage = Stage("b1: r1=4")
    names = {(space, name): LocalName(space, name, "a") for space, name in (("default", "mine"), ("else", "theirs"))}
    stage.step(QueuesSeen(Queues({"a": Queue("a")}, {}, names)))
    stage.submit(in_queue("g", "x"))
    assert told(stage).queue == ClosedQueue("x", Closed.MISSING, ("a", "default", "mine"))


def test_the_default_queue_is_there_though_nobody_made_it() -> None:
    stage = Stage("b1: r1=4")
    queued(stage, Queue("a"))
    stage.run(gang())
    assert stage.state() is State.RUNNING


def test_a_gang_that_runs_stays_when_its_queue_goes_and_its_pods_are_replaced() -> None:  # K-017
    stage = Stage("b1: r1=4")
    queued(stage, Queue("a"))
    first, _ = stage.run(in_queue("g", "a"))
    stage.step(QueuesSeen(Queues()))
    assert stage.state() is State.RUNNING
    stage.lose(first)
    stage.pod(in_queue("g", "a"), 0, life=1)
    stage.carry_out()
    assert stage.state() is State.RUNNING
    stage.submit(in_queue("late", "a", count=1))
    assert stage.state("late") is State.QUEUED


def test_a_gang_that_is_moved_to_a_queue_that_is_there_starts() -> None:  # K-017
    stage = Stage("b1: r1=4")
    queued(stage, Queue("a"))
    stage.submit(in_queue("g", "x"))
    stage.step(GangSeen(in_queue("g", "a"), 0))
    assert len(binds(stage)) == 2


# -- without a topology ------------------------------------------------------------------------------------------


def kueue(topology: str | None) -> tuple[Queue, Flavor]:
    quotas = tuple(Quota("h100", name, 100 * NANO) for name in (GPU, PODS))
    return Queue("q", quotas=quotas, only_listed=True), Flavor("h100", topology=topology)


def test_a_level_in_a_queue_of_kueue_without_a_topology_is_waited_for() -> None:  # K-035
    stage = Stage("b1: r1=4")
    queue, flavor = kueue(None)
    queued(stage, queue, h100=flavor)
    stage.submit(in_queue("near", "q", required=RACK))
    assert (reason(stage, "near"), told(stage, "near").queue) == (
        Why.OVER_QUOTA,
        ClosedQueue("q", Closed.NO_TOPOLOGY),
    )
    stage.run(in_queue("far", "q"))
    assert stage.state("far") is State.RUNNING  # asks for none
    queue, flavor = kueue("drawn")
    queued(stage, queue, h100=flavor)
    stage.carry_out()
    assert stage.state("near") is State.RUNNING


def test_a_flavor_of_ours_need_not_name_a_topology() -> None:
    stage = Stage("b1: r1=4")
    queue, flavor = kueue(None)
    queued(stage, replace(queue, only_listed=False), h100=flavor)
    stage.run(in_queue("near", "q", required=RACK))
    assert stage.state("near") is State.RUNNING


def test_who_can_never_start_in_its_queue_holds_nobody_back_however_long_it_waits() -> None:  # K-035
    stage = Stage("b1: r1=4")
    queue, flavor = kueue(None)
    queued(stage, replace(queue, when_blocked="Strict"), h100=flavor)
    stage.submit(in_queue("near", "q", required=RACK))
    stage.after(10_000)
    stage.run(in_queue("far", "q"))
    assert stage.state("far") is State.RUNNING


# -- on hold -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["Hold", "HoldAndDrain"])
def test_nobody_starts_in_a_queue_on_hold_until_it_is_let_go(stop: str) -> None:  # K-112
    stage = Stage("b1: r1=4")
    queued(stage, Queue("q", stop=stop))
    stage.submit(in_queue("g", "q"))
    assert (stage.state(), reason(stage)) == (State.QUEUED, Why.SUSPENDED)
    assert told(stage).queue == ClosedQueue("q", Closed.HELD)
    stage.run(gang("other"))
    assert stage.state("other") is State.RUNNING
    queued(stage, Queue("q"))
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_who_runs_in_a_queue_on_hold_goes_on_and_is_mended() -> None:  # K-112
    stage = Stage("b1: r1=4")
    queued(stage, Queue("q"))
    request = in_queue("g", "q")
    first, _ = stage.run(request)
    queued(stage, Queue("q", stop="Hold"))
    assert (stage.state(), [one for one in stage.last if isinstance(one, Evict)]) == (State.RUNNING, [])
    stage.lose(first)
    stage.pod(request, 0, life=1)
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_who_runs_in_a_drained_queue_leaves_whole_and_comes_back_when_it_is_let_go() -> None:  # K-112
    stage = Stage("b1: r1=8")
    queued(stage, Queue("q"), Queue("p"))
    request = in_queue("g", "q")
    found = stage.run(request)
    stage.run(in_queue("other", "p"))
    queued(stage, Queue("q", stop="HoldAndDrain"), Queue("p"))
    gone = [one for one in stage.last if isinstance(one, Evict)]
    assert ([one.key for one in gone], {one.cause for one in gone}) == ([pod.key for pod in found], {"DRAINED"})
    stage.carry_out()
    assert (stage.state(), stage.state("other"), free(stage)) == (State.QUEUED, State.RUNNING, {"b1-r1-1": 6})
    for rank in range(2):
        stage.pod(request, rank, life=1)
    stage.after(100)
    assert (stage.state(), told(stage).queue) == (State.QUEUED, ClosedQueue("q", Closed.HELD))
    queued(stage, Queue("q"), Queue("p"))
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_a_gated_gang_of_a_drained_queue_is_suspended() -> None:  # K-068, K-112
    stage = Stage("b1: r1=2")
    queued(stage, Queue("q"))
    request = in_queue("g", "q", rules=Rules(enforcement="Gate"))
    stage.step(GangSeen(request, 0, owner=named.owner("g")))
    assert stage.state() is State.RESERVED
    queued(stage, Queue("q", stop="HoldAndDrain"))
    assert [one for one in stage.last if isinstance(one, Suspend)] == [Suspend(request.id, named.owner("g"), "DRAINED")]


def test_who_stops_a_queue_stops_those_below_it() -> None:  # K-112
    stage = Stage("b1: r1=4")
    queued(stage, Queue("all"), Queue("team", parent="all"))
    stage.run(in_queue("g", "team"))
    queued(stage, Queue("all", stop="HoldAndDrain"), Queue("team", parent="all"))
    assert stage.state() is State.EVICTING
    stage.submit(in_queue("late", "team"))
    assert told(stage, "late").queue == ClosedQueue("all", Closed.HELD)


def test_an_engine_that_starts_anew_drains_what_it_finds() -> None:  # K-112
    stage = Stage("b1: r1=4")
    request = in_queue("g", "q")
    queued(stage, Queue("q"))
    stage.run(request)
    again = Stage("b1: r1=4")
    queued(again, Queue("q", stop="HoldAndDrain"))
    again.step(GangSeen(request, 0))
    see(again, *stage.pods.values())
    again.carry_out()
    assert (again.state(), again.where()) == (State.QUEUED, [])


# -- turns -------------------------------------------------------------------------------------------------------


def heads(stage: Stage) -> Request:
    queued(stage, Queue("q", when_blocked="Strict"))
    stage.run(in_queue("first", "q", count=3))
    head = in_queue("head", "q", count=3)
    stage.submit(head)
    stage.submit(in_queue("small", "q", count=1))
    assert reason(stage, "small") is Why.BEHIND_OTHERS
    return head


def test_who_is_behind_one_that_is_suspended_is_looked_at_in_the_same_step() -> None:
    stage = Stage("b1: r1=4")
    head = heads(stage)
    stage.step(GangSeen(replace(head, suspended=True), 0))
    assert stage.state("small") is State.BINDING


def test_who_is_behind_one_that_loses_its_pods_is_looked_at_in_the_same_step() -> None:
    stage = Stage("b1: r1=4")
    heads(stage)
    stage.lose(next(pod for pod in stage.pods.values() if pod.gang == "default/head"))
    assert stage.state("small") is State.BINDING
