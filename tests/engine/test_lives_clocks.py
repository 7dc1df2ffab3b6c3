"""Clocks of gangs when time does not go on as it should: it is set back, or an engine starts in the middle."""

from dataclasses import replace

import pytest

from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind, Effect, Evict
from phalanx.model.events import Answer, BindAnswered, GangSeen, NodeSeen, PodSeen, TopologiesSeen
from phalanx.model.request import Request
from phalanx.model.rules import Rules
from tests.engine.casting import free
from tests.engine.stage import Stage, gang

RULES = Rules()
BACK = 7200.0


def staged(drawing: str) -> Stage:
    """A stage at a time from which one can go back."""
    stage = Stage(drawing)
    stage.now = 100_000.0
    return stage


def binds(stage: Stage) -> list[Bind]:
    return [effect for effect in stage.last if isinstance(effect, Bind)]


# -- a clock that is set back ------------------------------------------------------------------------------------


def half_bound(stage: Stage) -> list[Bind]:
    stage.submit(gang())
    asked = binds(stage)
    stage.step(*stage.bound(asked[0]))
    return asked


def test_a_bind_is_asked_for_again_after_the_clock_was_set_back() -> None:
    stage = staged("b1: r1=2")
    _, lost = half_bound(stage)
    stage.after(-BACK)
    stage.after(5)
    assert binds(stage) == [lost]


@pytest.mark.parametrize("back", [0.5, 30.0, BACK])
def test_half_a_gang_leaves_in_time_though_the_clock_was_set_back(back: float) -> None:  # W-134, X-32
    stage = staged("b1: r1=2")
    half_bound(stage)
    stage.after(RULES.schedule - 10)
    stage.after(-back)
    assert stage.state() is State.BINDING
    assert stage.engine.next_at is not None and stage.engine.next_at <= stage.now + 10
    stage.after(10)
    assert stage.state() is State.EVICTING


def test_the_recovery_clock_goes_on_after_the_clock_was_set_back() -> None:
    stage = staged("b1: r1=2")
    first, _ = stage.run(gang())
    stage.lose(first)
    stage.after(-BACK)
    stage.after(RULES.recovery - 1)
    assert stage.state() is State.DEGRADED
    stage.after(1)
    assert stage.state() is State.EVICTING


def test_a_gang_that_backs_off_is_tried_again_after_the_clock_was_set_back() -> None:  # W-163
    stage = staged("b1: r1=2")
    stage.submit(gang())
    for _ in range(3):
        for bind in binds(stage)[:1]:
            stage.step(BindAnswered(bind.key, bind.node, Answer.REFUSED))
    assert stage.state() is State.EVICTING
    stage.carry_out()
    assert stage.state() is State.QUEUED
    stage.pod(gang(), 1, life=1)
    stage.after(-BACK)
    assert stage.state() is State.QUEUED
    stage.after(2)
    assert stage.state() is State.BINDING


def of_three_one_is_lost(at: float) -> Stage:
    """A gang that runs with two of its three pods."""
    stage = Stage("b1: r1=3")
    stage.now = at
    *_, last = stage.submit(gang(count=3, least=2))
    stage.step(*(event for one in stage.effects if isinstance(one, Bind) for event in stage.bound(one)))
    assert stage.state() is State.RUNNING
    stage.lose(last)
    return stage


def test_empty_places_are_given_back_in_time_though_the_clock_was_set_back() -> None:
    stage = of_three_one_is_lost(100_000.0)
    (node,) = stage.nodes
    assert free(stage)[node] == 0
    stage.after(-BACK)
    stage.after(RULES.recovery)
    assert free(stage)[node] == 1
    assert stage.state() is State.RUNNING


def test_empty_places_are_given_back_when_their_clock_rings_whatever_the_time() -> None:
    """A sum of two times less one of them is not always the other, and the clock rings once."""
    for tenth in range(20):
        lost = 1000 + tenth / 10
        stage = of_three_one_is_lost(lost)
        (node,) = stage.nodes
        stage.now = lost + RULES.recovery
        stage.step()
        assert free(stage)[node] == 1, f"lost at {lost}"


# -- an engine that starts in the middle -------------------------------------------------------------------------


def found(stage: Stage, request: Request) -> Engine:
    engine = Engine()
    events = [NodeSeen(node) for node in stage.nodes.values()]
    pods = [PodSeen(pod) for pod in stage.pods.values()]
    engine.step([TopologiesSeen(stage.topologies), *events, GangSeen(request, 0), *pods], stage.now)
    return engine


def evictions(effects: tuple[Effect, ...]) -> int:
    return sum(isinstance(effect, Evict) for effect in effects)


def test_a_gang_that_is_found_with_what_is_left_of_it_has_the_time_of_a_recovery() -> None:
    stage = Stage("b1: r1=4")
    request = gang(count=3)
    first, *_ = stage.run(request)
    stage.lose(first)
    engine = found(stage, request)
    assert engine.states() == {request.id: State.DEGRADED}
    assert evictions(engine.step([], stage.now + RULES.recovery - 1)) == 0
    assert evictions(engine.step([], stage.now + RULES.recovery)) == 2


def test_a_gang_that_is_found_while_its_pods_are_released_has_the_time_of_that() -> None:  # W-134, X-32
    stage = Stage("b1: r1=4")
    request = gang(count=3)
    stage.submit(request)
    for bind in binds(stage)[:2]:
        stage.step(*stage.bound(bind))
    pod = next(pod for pod in stage.pods.values() if pod.node)
    stage.see(replace(pod, ready=False))
    engine = found(stage, request)
    assert engine.states() == {request.id: State.BINDING}
    assert evictions(engine.step([], stage.now + RULES.schedule)) == 3


# -- time in which nothing is heard ------------------------------------------------------------------------------


def step(stage: Stage, seconds: float, **told: float) -> State:
    stage.now += seconds
    stage.last = stage.engine.step((), stage.now, **told)
    (state,) = stage.engine.states().values()
    return state


def test_a_clock_is_judged_once_all_that_happened_until_it_ran_out_was_heard() -> None:
    stage = staged("b1: r1=2")
    half_bound(stage)
    (due,) = (one.deadline for one in stage.engine.book.gangs.values())
    assert due is not None
    for heard in (due - 5, due - 0.1):
        assert step(stage, RULES.schedule / 2, heard=heard) is State.BINDING
    assert stage.engine.next_at is not None and stage.engine.next_at <= stage.now
    assert step(stage, 0, heard=due) is State.EVICTING


@pytest.mark.parametrize("parts", [1, 7])
def test_time_in_which_nothing_was_heard_does_not_count_at_once_or_in_pieces(parts: int) -> None:
    stage = staged("b1: r1=2")
    first, _ = stage.run(gang())
    stage.lose(first)
    for _ in range(parts):
        assert step(stage, 7 * RULES.recovery / parts, unheard=7 * RULES.recovery / parts) is State.DEGRADED
    assert step(stage, RULES.recovery - 1) is State.DEGRADED
    assert stage.engine.next_at == pytest.approx(stage.now + 1)
    assert step(stage, 1) is State.EVICTING


def test_a_clock_that_begins_after_a_silence_is_not_longer_for_it() -> None:
    stage = staged("b1: r1=2")
    first, _ = stage.run(gang())
    step(stage, 1000, unheard=1000)
    stage.lose(first)
    assert step(stage, RULES.recovery - 1) is State.DEGRADED
    assert step(stage, 1) is State.EVICTING
