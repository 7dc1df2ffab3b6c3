"""Thousands of mixed decisions in a row at a steady occupancy, caches audited against a rebuild at the end."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bench import world
from phalanx.model.nodes import PodShape
from phalanx.model.resources import NANO
from phalanx.place import fit, solve
from phalanx.place.draft import Draft, Taken


@dataclass
class Stream:
    """What a stream of decisions came to."""

    seconds: float = 0.0
    gangs: int = 0
    pods: int = 0
    times: list[float] = field(default_factory=list)
    tiers: Counter[int] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    audited: int = 0

    def percentile(self, share: float) -> float:
        return float(np.percentile(np.array(self.times) * 1e6, share))


def run(nodes: int, levels: int, decisions: int, occupancy: float, mix: Mapping[str, int], seed: int) -> Stream:
    """Decides ``decisions`` requests; oldest gangs leave as soon as more than ``occupancy`` of the GPUs are taken."""
    snapshot = world.cluster(nodes, levels, seed, full=0.2)
    draft = Draft.of(snapshot, "bench")
    total = nodes * 8
    kinds = np.random.default_rng(seed).choice(
        list(mix), size=decisions, p=np.array([*mix.values()]) / sum(mix.values())
    )
    live: deque[tuple[int, tuple[Taken, ...]]] = deque()
    taken = total - sum(draft.free_nano(world.GPU)) // NANO
    out = Stream()
    for number, kind in enumerate(kinds.tolist()):
        request = world.request(kind, snapshot.topologies[0], f"s{number}")
        start = time.thread_time()
        answer = solve.place(draft, request)
        solve.commit(draft, answer)
        out.times.append(time.thread_time() - start)
        out.statuses[answer.status] += 1
        out.tiers[answer.tier] += 1
        gpus = sum(_gpus(s.shape) * s.count for s in request.root.pod_sets()) if answer.placement else 0
        pods = (
            sum(count for spots in answer.placement.pod_sets.values() for _, count in spots) if answer.placement else 0
        )
        out.gangs, out.pods, taken = out.gangs + 1, out.pods + pods, taken + gpus
        live.append((gpus, draft.keep()))
        while taken > occupancy * total and live:
            gone, entries = live.popleft()
            draft.give(entries)
            taken -= gone
    out.seconds = sum(out.times)
    out.audited = audit(draft)
    return out


def _gpus(pod: PodShape) -> int:
    return pod.requests.get(world.GPU) // NANO


def audit(draft: Draft) -> int:
    """Compares every kept capacity with one counted anew; the number compared."""
    kept = [entry for entry in draft.capacities.values() if isinstance(entry, fit.Capacity)]
    for entry in kept:
        fit.refresh(draft, entry)
        fresh = fit.Capacity(entry.shape, tuple(entry.units.items()), entry.limits)
        fit.build(draft, fresh)
        if not np.array_equal(entry.flat, fresh.flat):
            raise AssertionError("a capacity that was followed differs from one counted anew")
    return len(kept)
