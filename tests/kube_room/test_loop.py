"""The loop: what is heard while a step is under way belongs to the next one."""

import asyncio
import itertools
import random
from collections.abc import Iterable
from typing import Any, cast

import pytest

from phalanx.decider import Change, Decider, Outcome
from phalanx.dialects.following import Told
from phalanx.engine.views import View
from phalanx.kube.anew import TRIES, Anew
from phalanx.kube.hearing import Heard
from phalanx.kube.loop import Loop
from phalanx.model.events import BindAnswered
from phalanx.model.objects import ObjectKey


class Deciding:
    """A decider that remembers what it was told in each step, and asks for another at a time of its choice."""

    def __init__(self, next_at: float | None = None) -> None:
        self.steps: list[dict[str, Any]] = []
        self.next_at = next_at
        self.advice: list[View | None] = []
        self.heard: list[dict[str, float]] = []

    @property
    def rest(self) -> float | None:
        return 0.0 if self.advice else None

    def advise(self) -> View | None:
        return self.advice.pop(0)

    def step(
        self,
        changes: Iterable[tuple[ObjectKey, Change]],
        answers: Iterable[BindAnswered],
        now: float,
        jitter: float,
        **heard: float,
    ) -> Outcome:
        self.heard.append(heard)
        self.steps.append({key.name: None if change is None else change() for key, change in changes})
        return Outcome((), Told(), (), {}, self.next_at, 0.0)


def key(name: str) -> ObjectKey:
    return ObjectKey("", "Pod", "default", name)


def run(decider: Deciding, done: Any, advised: Any = None) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        loop = Loop(cast("Decider", decider), lambda outcome: done(loop, stop), advised, lambda: 0.0, random.Random(1))
        loop.changed(key("first"), lambda: {"n": 1})
        await asyncio.wait_for(loop.run(stop), 30)

    asyncio.run(main())


def test_changes_heard_during_a_step_are_the_next_steps_and_the_last_one_counts() -> None:
    decider = Deciding()

    def done(loop: Loop, stop: asyncio.Event) -> None:
        if len(decider.steps) == 1:
            loop.changed(key("a"), lambda: {"n": 1})
            loop.changed(key("a"), lambda: {"n": 2})
            loop.changed(key("b"), None)
        else:
            stop.set()

    run(decider, done)
    assert decider.steps == [{"first": {"n": 1}}, {"a": {"n": 2}, "b": None}]


def test_a_clock_of_the_engine_wakes_it_without_any_change() -> None:
    decider = Deciding(next_at=0.0)

    def done(loop: Loop, stop: asyncio.Event) -> None:
        if len(decider.steps) == 3:
            stop.set()

    run(decider, done)
    assert decider.steps == [{"first": {"n": 1}}, {}, {}]


def test_what_comes_one_by_one_in_a_burst_is_thought_about_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phalanx.kube.loop.BREATH", 0.5)
    decider = Deciding()

    def tell(loop: Loop, number: int) -> None:
        loop.changed(key(f"pod-{number}"), None)
        if number < 7:
            asyncio.get_running_loop().call_soon(tell, loop, number + 1)

    def done(loop: Loop, stop: asyncio.Event) -> None:
        if len(decider.steps) == 1:
            tell(loop, 0)
        else:
            stop.set()

    run(decider, done)
    assert decider.steps[1:] == [{f"pod-{number}": None for number in range(8)}]


def test_while_nothing_is_heard_it_advises_and_what_is_heard_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phalanx.kube.loop.BREATH", 0.0)
    decider, told = Deciding(), list[str]()

    def done(loop: Loop, stop: asyncio.Event) -> None:
        told.append(f"step {loop.steps}")
        if loop.steps == 1:
            decider.advice = [cast("View", "one"), None, cast("View", "two")]
            hearing.append(loop)
        else:
            stop.set()

    def advised(view: Any) -> None:
        told.append(view)
        hearing[0].changed(key("more"), None)

    hearing: list[Loop] = []
    run(decider, done, advised)
    assert told == ["step 1", "one", "step 2"]


def test_advice_that_is_not_due_does_not_keep_it_from_the_clock_of_the_engine() -> None:
    class Later(Deciding):
        @property
        def rest(self) -> float | None:
            return 3600.0

    decider = Later(next_at=0.0)
    run(decider, lambda loop, stop: stop.set() if loop.steps == 3 else None)
    assert len(decider.steps) == 3


def test_between_two_steps_it_does_what_is_asked_for_when_it_was_asked_for() -> None:
    """And no step is under way meanwhile: what is asked there may look at what the decider knows."""
    decider, asked = Deciding(next_at=None), list[str]()

    def quiet() -> float | None:
        asked.append(f"after {len(decider.steps)}")
        return 0.01 if len(asked) < 3 else None

    async def main() -> None:
        stop = asyncio.Event()
        loop = Loop(
            cast("Decider", decider), lambda _: None, lambda _: None, lambda: 0.0, random.Random(1), quiet=quiet
        )
        asyncio.get_running_loop().call_later(0.5, stop.set)
        await asyncio.wait_for(loop.run(stop), 30)

    asyncio.run(main())
    assert asked == ["after 1"] * 3 and len(decider.steps) == 1


def test_while_pods_or_nodes_are_not_heard_there_is_no_step_and_what_else_is_heard_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("phalanx.kube.loop.DEAF", 0.0)
    decider, beats = Deciding(), list[int]()
    silence = [Heard(0.0, is_deaf=True)] * 5

    async def main() -> None:
        stop = asyncio.Event()

        def hearing(now: float) -> Heard:
            loop.changed(key(f"other-{len(silence)}"), None)
            return silence.pop() if silence else Heard(now - 3.0, unheard=70.0)

        loop = Loop(
            cast("Decider", decider), lambda _: stop.set(), lambda _: None, lambda: 100.0, random.Random(1),
            beat=lambda: beats.append(len(decider.steps)), hearing=hearing,
        )  # fmt: skip
        await asyncio.wait_for(loop.run(stop), 30)

    asyncio.run(main())
    assert decider.steps == [{f"other-{number}": None for number in (5, 4, 3, 2, 1, 0)}]
    assert decider.heard == [{"heard": 97.0, "unheard": 70.0}]
    assert beats[:5] == [0] * 5  # a restart would not bring the server back


def test_who_is_told_to_end_while_nothing_is_heard_ends() -> None:
    decider = Deciding()

    async def main() -> None:
        stop = asyncio.Event()

        def hearing(now: float) -> Heard:
            asyncio.get_running_loop().call_soon(stop.set)
            return Heard(now, is_deaf=True)

        loop = Loop(
            cast("Decider", decider), lambda _: None, lambda _: None, lambda: 0.0, random.Random(1), hearing=hearing
        )
        await asyncio.wait_for(loop.run(stop), 30)

    asyncio.run(main())
    assert decider.steps == []


# -- a step that fails -------------------------------------------------------------------------------------------------


class Failing(Deciding):
    """Fails in the steps and in the beginnings that are numbered here."""

    def __init__(self, steps: set[int], beginnings: set[int]) -> None:
        super().__init__()
        self.failing_steps, self.failing_beginnings = steps, beginnings
        self.begun: list[dict[str, Any]] = []

    def step(self, *given: Any, **heard: Any) -> Outcome:
        outcome = super().step(*given, **heard)
        if len(self.steps) in self.failing_steps:
            raise KeyError(f"step {len(self.steps)}")
        return outcome

    def begin_anew(
        self, objects: Iterable[tuple[ObjectKey, Change]], error: Exception, now: float, jitter: float, **heard: Any
    ) -> Outcome:
        self.begun.append({key.name: None if change is None else change() for key, change in objects})
        if len(self.begun) in self.failing_beginnings:
            raise KeyError(f"beginning {len(self.begun)}")
        return Outcome((), Told(), (), {}, self.next_at, 0.0, is_anew=True)


Said = list[tuple[str, float]]


def fail(
    monkeypatch: pytest.MonkeyPatch,
    decider: Failing,
    done: Any,
    said: Said,
    mirrored: dict[str, Any] | None = None,
    **more: Any,
) -> None:
    """``said``: each error, and the pause after it, which is not waited for."""

    async def stay(seconds: float, _: asyncio.Event) -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        stop = asyncio.Event()

        def everything() -> Iterable[tuple[ObjectKey, Change]]:
            return [(key(name), lambda one=one: one) for name, one in (mirrored or {}).items()]  # type: ignore[misc]

        def failed(error: Exception, seconds: float) -> None:
            said.append((str(error), seconds))

        chance = random.Random(1)
        anew = Anew(everything, failed, lambda: 0.0, chance)
        loop = Loop(
            cast("Decider", decider), lambda one: done(loop, stop, one), lambda _: None, lambda: 0.0, chance,
            anew=anew, **more,
        )  # fmt: skip
        loop.changed(key("first"), lambda: {"n": 1})
        await asyncio.wait_for(loop.run(stop), 30)

    monkeypatch.setattr("phalanx.kube.loop._pause", stay)
    asyncio.run(main())


def test_a_step_that_fails_is_made_anew_about_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    decider, outcomes, said = Failing({2}, set()), list[bool](), Said()

    def done(loop: Loop, stop: asyncio.Event, outcome: Outcome) -> None:
        outcomes.append(outcome.is_anew)
        if loop.steps == 1:
            loop.changed(key("second"), lambda: {"n": 2})
            loop.changed(key("ahead"), lambda: {"n": 3})
        elif loop.steps == 2:
            loop.changed(key("third"), lambda: {"n": 4})
        else:
            stop.set()

    fail(monkeypatch, decider, done, said, {"first": {"n": 1}, "second": {"n": 2}, "ahead": {"n": 1}})
    assert decider.begun == [{"first": {"n": 1}, "second": {"n": 2}, "ahead": {"n": 3}}]
    assert outcomes == [False, True, False] and decider.steps[-1] == {"third": {"n": 4}}
    assert [error for error, _ in said] == ["'step 2'"] and 0.5 <= said[0][1] <= 1.0


def test_it_ends_once_beginning_anew_has_failed_five_times_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    decider, said = Failing({1}, set(range(1, 20))), Said()

    def done(*_: Any) -> None:
        raise AssertionError("nothing is done about a step that failed")

    with pytest.raises(KeyError, match="beginning 5"):
        fail(monkeypatch, decider, done, said)
    assert len(decider.begun) == TRIES == 5
    pauses = [seconds for _, seconds in said]
    assert len(pauses) == 5 and all(before < after for before, after in itertools.pairwise(pauses))


def test_it_goes_on_where_the_fifth_beginning_does_well(monkeypatch: pytest.MonkeyPatch) -> None:
    decider, said = Failing({1}, {1, 2, 3, 4}), Said()
    fail(monkeypatch, decider, lambda loop, stop, outcome: stop.set(), said)
    assert len(decider.begun) == 5
    assert [error for error, _ in said] == ["'step 1'", *(f"'beginning {number}'" for number in range(1, 5))]


def test_the_end_that_is_asked_for_in_a_pause_comes() -> None:
    decider = Failing({1}, set())

    async def main() -> None:
        stop = asyncio.Event()
        anew = Anew(lambda: (), lambda error, seconds: stop.set(), lambda: 0.0, random.Random(1))
        loop = Loop(cast("Decider", decider), lambda _: None, lambda _: None, lambda: 0.0, random.Random(1), anew=anew)
        await asyncio.wait_for(loop.run(stop), 30)

    asyncio.run(main())
    assert decider.begun == []


def test_nothing_is_thought_anew_while_pods_or_nodes_are_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    decider, said, turns = Failing({1}, set()), Said(), list[int]()

    def hearing(now: float) -> Heard:
        turns.append(len(decider.begun))
        return Heard(now, is_deaf=1 < len(turns) < 5)

    fail(monkeypatch, decider, lambda loop, stop, outcome: stop.set(), said, hearing=hearing)
    assert turns == [0] * 5 and len(decider.begun) == 1


def test_its_pauses_are_short_again_after_a_calm_while() -> None:
    now, said = [0.0], list[float]()
    anew = Anew(lambda: (), lambda error, seconds: said.append(seconds), lambda: now[0], random.Random(1))
    for at in (0.0, 100.0, 200.0, 900.0):
        now[0] = at
        anew.fail(ValueError("x"))
        anew.went_well()
    assert said[0] <= 1.0 < said[1] <= 2.0 <= said[2] <= 4.0 and said[3] <= 1.0
