"""Runs a world: until nothing goes wrong any more, and on until it is at rest; judged after every step."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from phalanx.sim.objects import plan as plans
from phalanx.sim.objects import rest
from phalanx.sim.objects.judge import Judge
from phalanx.sim.objects.mishaps import MISHAPS
from phalanx.sim.objects.world import Plan, World

_LINES = 400
_QUIET = 100.0  # seconds without anything to do: that is rest
_MOST = 1500.0  # seconds after all trouble; who is not at rest by then never will be


class Broken(Exception):
    """Something is not as it must be. The same seed breaks it again, at the same step."""

    def __init__(self, seed: int, message: str, journal: list[str]) -> None:
        super().__init__(message)
        self.seed, self.message, self.journal = seed, message, journal

    def __str__(self) -> str:
        again = f"again: python -m phalanx.sim.soak --objects --only --seed {self.seed}"
        return "\n".join([f"world of objects {self.seed}: {self.message}", again, *self.journal])


@dataclass(slots=True)
class Result:
    """What a run did. ``rested``: whether it came to rest. ``effects``: how many of each kind there were."""

    seed: int
    steps: int = 0
    rested: bool = False
    seconds: float = 0.0
    effects: dict[str, int] = field(default_factory=dict)


def run(plan: Plan) -> Result:
    """Raises Broken."""
    world = World(plan)
    judge = Judge(world)
    chance = world.chances.of("mishaps")
    for at, name in plan.occasions:
        world.agenda.at(world.begin + at, partial(MISHAPS[name], world, chance))
    world.agenda.at(world.begin + plan.until, world.users.stop_making)
    rested = _course(world, judge)
    if rested:
        _none(world, judge.at_rest())
        _none(world, rest.broken(world))
    return Result(plan.seed, world.steps, rested, world.now - world.begin, dict(world.journal.effects))


def one(seed: int) -> Result:
    return run(plans.drawn(seed))


def _course(world: World, judge: Judge) -> bool:
    """Whether it comes to rest: nothing is written and nothing to decide for a while. Who only looks does nothing."""
    calm = world.begin + world.plan.until
    active, version = world.now, 0
    while True:
        at = world.next_time()
        if at is None or (at > calm and at > active + _QUIET and not world.hands.busy):
            return True
        if at > calm + _MOST:
            return False
        world.advance(max(at, world.now))
        if world.wants_step:
            effects = world.step()
            _none(world, judge.of_effects(effects))
            world.carry_out(effects)
            active = world.now
        if world.store.version != version:
            active, version = world.now, world.store.version
        _none(world, judge.of_objects())


def _none(world: World, found: Iterable[str]) -> None:
    for message in found:
        raise Broken(world.plan.seed, f"{message} (at {world.now:.2f})", world.journal.lines(_LINES))
