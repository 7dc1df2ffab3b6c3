"""How long to wait before trying again: longer each time, and never at the same moment as everybody else."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The first wait, the longest, and how fast one becomes the other."""

    first_seconds: float = 0.1
    most_seconds: float = 30.0
    factor: float = 2.0


class Backoff:
    """Successive waits. Each lies between half of its step and the whole, by chance."""

    def __init__(self, pace: Pace, chance: random.Random) -> None:
        self._pace = pace
        self._chance = chance
        self._step = pace.first_seconds

    def next(self) -> float:
        wait = self._step * self._chance.uniform(0.5, 1.0)
        self._step = min(self._step * self._pace.factor, self._pace.most_seconds)
        return wait

    def reset(self) -> None:
        self._step = self._pace.first_seconds
