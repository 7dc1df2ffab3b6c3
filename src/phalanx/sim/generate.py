"""Workloads out of a seed: who comes when, how large, how near, for how long. Together they keep a cluster busy."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from phalanx.model.request import Request
from phalanx.sim.room import Room
from phalanx.sim.submission import Submission
from phalanx.sim.traces.asking import GPU, Asking, job

# GPUs -> of a thousand gangs: as among the 5,755 jobs of the second trace that the authors of Muri published
SIZES = {1: 406, 2: 30, 4: 163, 8: 317, 16: 74, 32: 11}
NEAR = {"required": 2, "preferred": 2, "none": 1}
LOAD = 0.85
# Of the 82,247 jobs of Philly 55 % came in sets of 16 or more of one size, each within half a minute of the one before.
# A geometric number with this mean has 51 % there.
TOGETHER = 10.0
SETS_AT_ONCE = 16  # in a small cluster sets are smaller: no fewer than so many fit into it on average
RENEWALS = 5  # how often all gangs that run together are replaced, where no number is asked for
LEAST = 200

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Mix:
    """What comes. Durations are log-normal: half are shorter than ``typical`` seconds."""

    load: float = LOAD  # share of the GPUs free at first that would be in use on average if nobody had to wait
    together: float = TOGETHER  # like gangs that are submitted at one moment, on average
    typical: float = 1800.0
    spread: float = 1.2  # of the logarithm of durations
    sizes: Mapping[int, int] = field(default_factory=lambda: dict(SIZES))
    near: Mapping[str, int] = field(default_factory=lambda: dict(NEAR))  # wish of gangs of several pods -> weight


@dataclass(frozen=True, slots=True)
class _Set:
    """Like gangs that are submitted at one moment, one for each duration."""

    gpus: int
    wish: str
    durations: tuple[float, ...]

    @property
    def work(self) -> float:
        """GPU seconds."""
        return self.gpus * sum(self.durations)


class _Course:
    """The sets in the order of their moments, without end. ``busy``: GPUs that are to be in use on average.

    What ran before the world began comes at 0; without it a large cluster would be empty for long. Then come rounds
    of as many gangs as run together. A round takes as long as ``busy`` GPUs need for its work, so that no seed asks
    for much more or less; the moments within it are left to chance.
    """

    def __init__(self, seed: int, busy: float, mix: Mix) -> None:
        self.mix, self.busy = mix, busy
        self.at_once = max(1, round(busy / _mean(mix.sizes)))
        self._together = max(1.0, min(mix.together, self.at_once / SETS_AT_ONCE))
        self._arrivals, self._sizes, self._wishes, self._durations, self._numbers = (
            random.Random(f"{seed}:{concern}") for concern in ("arrival", "size", "near", "duration", "together")
        )

    def sets(self) -> Iterator[tuple[float, _Set]]:
        held = 0
        while held < self.busy:
            running = self._set((self._left(),))
            held += running.gpus
            yield 0.0, running
        start = 0.0
        while True:
            coming = list(self._round())
            lasts = sum(one.work for one in coming) / self.busy
            moments = sorted(start + self._arrivals.random() * lasts for _ in coming)
            yield from zip(moments, coming, strict=True)
            start += lasts

    def _round(self) -> Iterator[_Set]:
        gangs = 0
        while gangs < self.at_once:
            one = self._set(tuple(self._duration() for _ in range(_geometric(self._numbers, self._together))))
            gangs += len(one.durations)
            yield one

    def _set(self, durations: tuple[float, ...]) -> _Set:
        return _Set(_one(self._sizes, self.mix.sizes), _one(self._wishes, self.mix.near), durations)

    def _duration(self) -> float:
        return self.mix.typical * self._durations.lognormvariate(0, self.mix.spread)

    def _left(self) -> float:
        """What is left of one that runs already. Whoever looks meets a long life more often than a short one, which
        moves a log-normal by the square of its spread, and meets it at any moment."""
        return self._duration() * math.exp(self.mix.spread**2) * self._durations.random()


def submissions(count: int | None, seed: int, asking: Asking, mix: Mix | None = None) -> list[Submission]:
    """``count`` gangs, each of which the empty cluster could start; None: enough to fill it and keep it so for long.

    The same seed gives the same ones, and more of them begin with the same. What is larger than the cluster is not
    made; what is larger than a narrowest domain prefers it.
    """
    mix = mix or Mix()
    largest, whole, free = _rooms(asking)
    sizes = {size: weight for size, weight in mix.sizes.items() if size <= whole}
    if not sizes:
        raise ValueError(f"the cluster has {whole} {GPU}, too few for every gang that could be made")
    if free <= 0:
        raise ValueError(f"all {whole} {GPU} are held by pods that stay, so that no gang could start")
    course = _Course(seed, mix.load * free, replace(mix, sizes=sizes))
    every = ((at, one, duration) for at, one in course.sets() for duration in one.durations)
    made = itertools.islice(every, count or max(LEAST, (1 + RENEWALS) * course.at_once))
    return [
        Submission(round(at, 3), _request(number, one, asking, largest), round(duration, 3))
        for number, (at, one, duration) in enumerate(made, 1)
    ]


def _mean(weights: Mapping[int, int]) -> float:
    return sum(size * weight for size, weight in weights.items()) / sum(weights.values())


def _one(chance: random.Random, weights: Mapping[Choice, int]) -> Choice:
    return chance.choices(list(weights), list(weights.values()))[0]


def _geometric(chance: random.Random, mean: float) -> int:
    """A whole number from 1 up."""
    return 1 + int(math.log(1 - chance.random()) / math.log(1 - 1 / mean)) if mean > 1 else 1


def _request(number: int, asked: _Set, asking: Asking, largest: int) -> Request:
    rule = replace(asking, required_up_to=largest if asked.wish == "required" else 0)
    made = job("generated", f"job-{number}", asked.gpus, rule)
    return made if asked.wish != "none" else replace(made, root=replace(made.root, required=None, preferred=None))


def _rooms(asking: Asking) -> tuple[int, int, float]:
    """GPUs of the largest domain of the narrowest level above the node, of the whole cluster, and of it those free."""
    room = Room(asking.site.snapshot, asking.site.topology, GPU)
    starts = room.tree.start[asking.leaf or 0][:-1]
    return int(np.add.reduceat(room.capacity, starts).max()), int(room.total), room.total - room.used
