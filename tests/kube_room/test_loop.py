"""The loop: what is heard while a step is thought about belongs to the next one."""

import asyncio
import random
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from phalanx.dialects.following import Told
from phalanx.dialects.neighbours import Key
from phalanx.engine.views import View
from phalanx.kube.loop import Loop
from phalanx.kube.mind import Change, Mind, Thought
from phalanx.model.events import BindAnswered


class Thinking:
    """A mind that remembers what it was told in each step, and asks for another at a time of its choice."""

    def __init__(self, next_at: float | None = None) -> None:
        self.steps: list[dict[str, Any]] = []
        self.next_at = next_at
        self.advice: list[View | None] = []

    @property
    def rest(self) -> float | None:
        return 0.0 if self.advice else None

    def advise(self) -> View | None:
        return self.advice.pop(0)

    def think(
        self, changes: Mapping[Key, Change], answers: Iterable[BindAnswered], now: float, jitter: float
    ) -> Thought:
        self.steps.append({key[3]: None if change is None else change() for key, change in changes.items()})
        return Thought((), Told(), (), {}, self.next_at, 0.0)


def key(name: str) -> Key:
    return "", "Pod", "default", name


def run(mind: Thinking, done: Any, advised: Any = None) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        loop = Loop(cast("Mind", mind), lambda thought: done(loop, stop), advised, lambda: 0.0, random.Random(1))
        loop.changed(key("first"), lambda: {"n": 1})
        await asyncio.wait_for(loop.run(stop), 30)

    asyncio.run(main())


def test_changes_heard_during_a_step_are_the_next_steps_and_the_last_one_counts() -> None:
    mind = Thinking()

    def done(loop: Loop, stop: asyncio.Event) -> None:
        if len(mind.steps) == 1:
            loop.changed(key("a"), lambda: {"n": 1})
            loop.changed(key("a"), lambda: {"n": 2})
            loop.changed(key("b"), None)
        else:
            stop.set()

    run(mind, done)
    assert mind.steps == [{"first": {"n": 1}}, {"a": {"n": 2}, "b": None}]


def test_a_clock_of_the_engine_wakes_it_without_any_change() -> None:
    mind = Thinking(next_at=0.0)

    def done(loop: Loop, stop: asyncio.Event) -> None:
        if len(mind.steps) == 3:
            stop.set()

    run(mind, done)
    assert mind.steps == [{"first": {"n": 1}}, {}, {}]


def test_what_comes_one_by_one_in_a_burst_is_thought_about_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phalanx.kube.loop.BREATH", 0.5)
    mind = Thinking()

    def tell(loop: Loop, number: int) -> None:
        loop.changed(key(f"pod-{number}"), None)
        if number < 7:
            asyncio.get_running_loop().call_soon(tell, loop, number + 1)

    def done(loop: Loop, stop: asyncio.Event) -> None:
        if len(mind.steps) == 1:
            tell(loop, 0)
        else:
            stop.set()

    run(mind, done)
    assert mind.steps[1:] == [{f"pod-{number}": None for number in range(8)}]


def test_while_nothing_is_heard_it_advises_and_what_is_heard_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phalanx.kube.loop.BREATH", 0.0)
    mind, told = Thinking(), list[str]()

    def done(loop: Loop, stop: asyncio.Event) -> None:
        told.append(f"step {loop.steps}")
        if loop.steps == 1:
            mind.advice = [cast("View", "one"), None, cast("View", "two")]
            hearing.append(loop)
        else:
            stop.set()

    def advised(view: Any) -> None:
        told.append(view)
        hearing[0].changed(key("more"), None)

    hearing: list[Loop] = []
    run(mind, done, advised)
    assert told == ["step 1", "one", "step 2"]


def test_advice_that_is_not_due_does_not_keep_it_from_the_clock_of_the_engine() -> None:
    class Later(Thinking):
        @property
        def rest(self) -> float | None:
            return 3600.0

    mind = Later(next_at=0.0)
    run(mind, lambda loop, stop: stop.set() if loop.steps == 3 else None)
    assert len(mind.steps) == 3


def test_between_two_steps_it_does_what_is_asked_for_when_it_was_asked_for() -> None:
    """And nothing is thought about meanwhile: what is asked there may look at what the mind knows."""
    mind, asked = Thinking(next_at=None), list[str]()

    def quiet() -> float | None:
        asked.append(f"after {len(mind.steps)}")
        return 0.01 if len(asked) < 3 else None

    async def main() -> None:
        stop = asyncio.Event()
        loop = Loop(cast("Mind", mind), lambda _: None, lambda _: None, lambda: 0.0, random.Random(1), quiet=quiet)
        asyncio.get_running_loop().call_later(0.5, stop.set)
        await asyncio.wait_for(loop.run(stop), 30)

    asyncio.run(main())
    assert asked == ["after 1"] * 3 and len(mind.steps) == 1
