"""Runs an engine in a world: a step for each batch of news or clock of the engine, every invariant after every step."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from phalanx.model.effects import Effect
from phalanx.model.events import Event
from phalanx.model.mistakes import Mishap, Mistake
from phalanx.sim import windows
from phalanx.sim.invariants import Judge
from phalanx.sim.picture import Tallies
from phalanx.sim.windows import Windows
from phalanx.sim.world import World

_INSTANT = 1e-9  # sums of the same times in another order may differ by less than this


class Steppable(Protocol):
    """What a world needs of an engine."""

    @property
    def next_at(self) -> float | None: ...

    def step(self, events: Iterable[Event], now: float, jitter: float = 0.0) -> tuple[Effect, ...]: ...

    def states(self) -> Mapping[str, str]: ...

    def tripped(self) -> Mapping[str, Mishap]: ...


class InvariantBroken(Exception):
    """Something is not as it must be. The same seed breaks it again, at the same step."""

    def __init__(self, seed: int, step: int, message: str) -> None:
        super().__init__(f"seed {seed}, step {step}: {message}")
        self.seed, self.step, self.message = seed, step, message


@dataclass(slots=True)
class Result:
    """What a run did. ``effects``: how many of each kind the engine asked for. ``ended``: gangs by how they did."""

    seed: int
    steps: int = 0
    events: int = 0
    actions: int = 0
    leaders: int = 1
    seconds: float = 0.0
    effects: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    waiting: int = 0

    @property
    def binds(self) -> int:
        return self.effects.get("Bind", 0)


def run(world: World, make: Callable[[], Steppable], until: float = 3000.0, steps: int = 100_000) -> Result:
    """Runs until everything submitted has ended, nothing more can happen, or ``until`` (seconds of the world) or
    ``steps`` are reached. ``make`` gives a fresh engine, at the start and after each loss of the leader.

    Raises InvariantBroken. A mistake that the engine finds in itself (``Mistake``) counts as one.
    """
    course = _Course(world, make)
    while course.result.steps < steps and not world.over:
        time = course.next_time()
        if time is None:
            break
        course.advance(min(time, until))
        if time >= until:
            break
    course.finish()
    return course.result


class _Course:
    def __init__(self, world: World, make: Callable[[], Steppable]) -> None:
        self.world, self.make = world, make
        self.engine = make()
        self.result = Result(world.seed)
        tallies = Tallies(world.truth)
        self.judge, self.windows = Judge(tallies), Windows(tallies)
        self._jitter = world.chances.of("jitter")
        self._judged = -1

    def next_time(self) -> float | None:
        """When something happens next in the world, or on the engine's clock. What is told already is heard now."""
        now = self.world.agenda.now
        if self.world.inbox:
            return now
        clock = self.engine.next_at
        times = (self.world.agenda.next_time, None if clock is None else max(clock - self.world.ahead, now))
        return min((time for time in times if time is not None), default=None)

    def advance(self, time: float) -> None:
        self.world.advance(time)
        if self.world.leader_lost:
            self.world.leader_lost = False
            self.engine = self.make()
            self.result.leaders += 1
        if self.world.inbox or self._rings():
            self._step()
        self._judge()

    def _rings(self) -> bool:
        clock = self.engine.next_at
        return clock is not None and clock <= self.world.now + _INSTANT

    def _step(self) -> None:
        told = self.world.take_inbox()
        self.result.steps += 1
        self.result.events += len(told)
        try:
            effects = self.engine.step(told, self.world.now + _INSTANT, self._jitter.random())
        except Mistake as wrong:
            self._fail(f"the engine stopped itself: {wrong}", wrong)
        for name, mishap in sorted(self.engine.tripped().items()):
            self._fail(f"the engine tripped over gang {name}: {mishap.line}\n{mishap.trace}")
        self.world.carry_out(effects, self.result.steps)

    def _judge(self) -> None:
        """Rules about what is are judged whenever that changed, rules about how long it lasts every time."""
        if self.world.truth.version != self._judged:
            self._judged = self.world.truth.version
            for message in self.judge.broken():
                self._fail(message)
        if not self.world.inbox:  # else the engine has not heard yet of what was told
            for message in self.windows.broken(self.world, self.engine.states()):
                self._fail(message)

    def _fail(self, message: str, cause: BaseException | None = None) -> None:
        raise InvariantBroken(
            self.world.seed, self.result.steps, f"{message} (at {self.world.agenda.now:.2f} s)"
        ) from cause

    def finish(self) -> None:
        """When nothing can happen any more, nobody may be waiting who would fit."""
        if self.next_time() is None:
            for message in windows.standing_still(self.world.truth):
                self._fail(message)
        result, truth = self.result, self.world.truth
        for gang in truth.gangs.values():
            result.ended[gang.ended] = result.ended.get(gang.ended, 0) + 1
        result.waiting = result.ended.pop("", 0)
        result.effects = dict(self.world.hands.counts)
        result.actions, result.seconds = self.world.agenda.done, self.world.agenda.now
