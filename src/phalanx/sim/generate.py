"""Workloads out of a seed: who comes when, how large, how near, for how long."""

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from phalanx.model.request import Request
from phalanx.sim.room import Room
from phalanx.sim.submission import Submission
from phalanx.sim.traces.asking import GPU, Asking, job

SIZES = {1: 50, 2: 10, 4: 12, 8: 14, 16: 7, 32: 5, 64: 2}  # GPUs -> weight: many small, few large, as traces show
NEAR = {"required": 2, "preferred": 2, "none": 1}

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Mix:
    """What comes. Arrivals are a Poisson stream, durations log-normal: half are shorter than ``typical`` seconds."""

    every: float = 60.0  # seconds between two arrivals, on average
    typical: float = 1800.0
    spread: float = 1.2  # of the logarithm of durations
    sizes: Mapping[int, int] = field(default_factory=lambda: dict(SIZES))
    near: Mapping[str, int] = field(default_factory=lambda: dict(NEAR))  # wish of gangs of several pods -> weight


def submissions(count: int, seed: int, asking: Asking, mix: Mix | None = None) -> list[Submission]:
    """``count`` gangs, each of which the empty cluster could start. The same seed gives the same ones, and more of them
    begin with the same. What is larger than the cluster is not made; what is larger than a narrowest domain prefers it.
    """
    mix = mix or Mix()
    largest, whole = _rooms(asking)
    weights = {size: weight for size, weight in mix.sizes.items() if size <= whole}
    if not weights:
        raise ValueError(f"the cluster has {whole} {GPU}, too few for every gang that could be made")
    chances = [random.Random(f"{seed}:{concern}") for concern in ("arrival", "size", "near", "duration")]
    arrivals, sizes, wishes, durations = chances
    moments = itertools.accumulate(arrivals.expovariate(1 / mix.every) for _ in range(count))
    return [
        Submission(
            round(at, 3),
            _request(number, _one(sizes, weights), _one(wishes, mix.near), asking, largest),
            round(mix.typical * durations.lognormvariate(0, mix.spread), 3),
        )
        for number, at in enumerate(moments, 1)
    ]


def _one(chance: random.Random, weights: Mapping[Choice, int]) -> Choice:
    return chance.choices(list(weights), list(weights.values()))[0]


def _request(number: int, gpus: int, wish: str, asking: Asking, largest: int) -> Request:
    rule = replace(asking, required_up_to=largest if wish == "required" else 0)
    made = job("generated", f"job-{number}", gpus, rule)
    return made if wish != "none" else replace(made, root=replace(made.root, required=None, preferred=None))


def _rooms(asking: Asking) -> tuple[int, int]:
    """GPUs of the largest domain of the narrowest level above the node, and of the whole cluster."""
    room = Room(asking.site.snapshot, asking.site.topology, GPU)
    starts = room.tree.start[asking.leaf or 0][:-1]
    return int(np.add.reduceat(room.capacity, starts).max()), int(room.total)
