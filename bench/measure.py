"""Times of decisions: CPU time of this thread, and the best of several repetitions, so that other work on the machine
disturbs less: it can only ever make a figure larger."""

import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from bench import world
from phalanx.model.snapshot import Snapshot
from phalanx.place import fit, solve
from phalanx.place.draft import Draft, Taken

ROUNDS = 40
REPETITIONS = 25  # of a fraction of a second: one of them falls into a quiet moment of the machine
BUILDS = 15
LIVE = 8  # gangs that stay; the oldest leaves, so that caches always have something to follow


@dataclass(frozen=True)
class Timing:
    """Microseconds of placed decisions with commit, and how many were refused."""

    median: float
    p99: float
    placed: int
    refused: int


class Yardstick:
    """One full capacity build of one shape, measured again whenever something is compared with it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.draft = Draft.of(snapshot, "bench")
        self.draft.accommodate([world.ONE.requests], "bench")
        self.capacity = fit.capacity(self.draft, self.draft.shape(world.ONE, True))

    def build(self) -> float:
        """Microseconds, the median of some builds."""
        times = []
        for _ in range(BUILDS):
            start = time.thread_time()
            fit.build(self.draft, self.capacity)
            times.append(time.thread_time() - start)
        return float(np.median(times)) * 1e6


def decisions(draft: Draft, snapshot: Snapshot, kind: str) -> Timing:
    """The best of the repetitions of a steady state."""
    return min((_steady(draft, snapshot, kind) for _ in range(REPETITIONS)), key=lambda timing: timing.median)


def against(yardstick: Yardstick, draft: Draft, snapshot: Snapshot, kind: str) -> tuple[Timing, float]:
    """The best repetition and what it cost in builds measured right before it."""
    found = []
    for _ in range(REPETITIONS):
        build = yardstick.build()
        timing = _steady(draft, snapshot, kind)
        found.append((timing.median / build, timing))
    ratio, timing = min(found, key=lambda entry: entry[0])
    return timing, ratio


def _steady(draft: Draft, snapshot: Snapshot, kind: str) -> Timing:
    """Decide, commit, and let the oldest of eight gangs leave, outside the measured time."""
    live: deque[tuple[Taken, ...]] = deque()
    times: list[float] = []
    refused = 0
    for number in range(ROUNDS):
        request = world.request(kind, snapshot.topologies[0], f"{kind}-{number}")
        start = time.thread_time()
        answer = solve.place(draft, request)
        solve.commit(draft, answer)
        took = time.thread_time() - start
        if answer.status == "placed":
            times.append(took)
        else:
            refused += 1
        live.append(draft.keep())
        if len(live) > LIVE:
            draft.give(live.popleft())
    while live:
        draft.give(live.popleft())
    warm = np.array(times[10:] or times or [np.nan]) * 1e6
    return Timing(float(np.median(warm)), float(np.percentile(warm, 99)), len(times), refused)
