"""The loop: what is heard while a step is thought about belongs to the next one."""

import asyncio
import random
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from phalanx.dialects.following import Told
from phalanx.dialects.neighbours import Key
from phalanx.kube.loop import Loop
from phalanx.kube.mind import Change, Mind, Thought
from phalanx.model.events import BindAnswered


class Thinking:
    """A mind that remembers what it was told in each step, and asks for another at a time of its choice."""

    def __init__(self, next_at: float | None = None) -> None:
        self.steps: list[dict[str, Any]] = []
        self.next_at = next_at

    def think(
        self, changes: Mapping[Key, Change], answers: Iterable[BindAnswered], now: float, jitter: float
    ) -> Thought:
        self.steps.append({key[3]: None if change is None else change() for key, change in changes.items()})
        return Thought((), Told(), (), {}, self.next_at, 0.0)


def key(name: str) -> Key:
    return "", "Pod", "default", name


def run(mind: Thinking, done: Any) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        loop = Loop(cast("Mind", mind), lambda thought: done(loop, stop), lambda: 0.0, random.Random(1))
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
