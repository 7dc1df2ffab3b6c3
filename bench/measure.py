"""Times of decisions: CPU time of this thread, and the best of three repetitions, so that other work on the machine
disturbs less: it can only ever make a figure larger."""

import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from bench import world
from phalanx.model.snapshot import Snapshot
from phalanx.place import fit, solve
from phalanx.place.draft import Draft, Taken

ROUNDS = 80
REPETITIONS = 3
LIVE = 8  # gangs that stay; the oldest leaves, so that caches always have something to follow


@dataclass(frozen=True)
class Timing:
    """Microseconds of placed decisions with commit, and how many were refused."""

    median: float
    p99: float
    placed: int
    refused: int


def full_build(snapshot: Snapshot) -> float:
    """Microseconds of one full capacity build of one shape: the yardstick of a run."""
    draft = Draft.of(snapshot, "bench")
    draft.accommodate([world.ONE.requests], "bench")
    capacity = fit.capacity(draft, draft.shape(world.ONE, True))
    medians = []
    for _ in range(REPETITIONS):
        times = []
        for _ in range(40):
            start = time.thread_time()
            fit.build(draft, capacity)
            times.append(time.thread_time() - start)
        medians.append(float(np.median(times)) * 1e6)
    return min(medians)


def decisions(draft: Draft, snapshot: Snapshot, kind: str) -> Timing:
    """The best of three repetitions of a steady state."""
    return min((_steady(draft, snapshot, kind) for _ in range(REPETITIONS)), key=lambda timing: timing.median)


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
