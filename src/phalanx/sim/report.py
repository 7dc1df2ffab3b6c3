"""What a simulation came to, as one JSON document: schema phalanx.dev/simulation/v1.

The same trace, cluster, seed and version give the same bytes, but for ``timing``: how long this machine took. It
stands under one key and can be left out.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import phalanx
from phalanx.model.nodes import Node
from phalanx.sim.breakage import NONE
from phalanx.sim.journal import Journal, Life
from phalanx.sim.room import Room
from phalanx.sim.submission import Submission

SCHEMA = "phalanx.dev/simulation/v1"
HOUR = 3600.0
PODS = (
    (1, "1 pod"),
    (3, "2-3 pods"),
    (7, "4-7 pods"),
    (15, "8-15 pods"),
    (63, "16-63 pods"),
    (None, "64 pods or more"),
)
UNITS = ((0, "0"), (1, "1"), (8, "2-8"), (32, "9-32"), (128, "33-128"), (None, "129 or more"))

Document = dict[str, Any]
Classes = Sequence[tuple[int | None, str]]


@dataclass(frozen=True, slots=True)
class Setting:
    """What every run of a report had in common."""

    cluster: str
    trace: str
    seed: int
    given: Sequence[Submission]
    room: Room
    faults: str = NONE


def document(setting: Setting, runs: Sequence[tuple[str, Journal]], timing: bool = True) -> Document:
    """One report of several runs, each under the name of its policy."""
    found: Document = {
        "schema": SCHEMA,
        "version": phalanx.__version__,
        "seed": setting.seed,
        "faults": setting.faults,
        "trace": _trace(setting),
        "cluster": _cluster(setting),
        "runs": [{"policy": policy, **run(journal)} for policy, journal in runs],
    }
    return found | ({"timing": [{"policy": policy, **_timing(journal)} for policy, journal in runs]} if timing else {})


def as_json(report: Document) -> str:
    return json.dumps(report, indent=1, sort_keys=True, allow_nan=False) + "\n"


def usual_resource(nodes: Iterable[Node]) -> str:
    """What is counted: the accelerators if there are any, else cpu."""
    names = {name for node in nodes for name, _ in node.allocatable}
    special = sorted(name for name in names if "/" in name)
    return next((name for name in special if "gpu" in name), special[0] if special else "cpu")


def _trace(setting: Setting) -> Document:
    last = max((one.at for one in setting.given), default=0.0)
    return {"name": setting.trace, "gangs": len(setting.given), "lastArrival": _short(last)}


def _cluster(setting: Setting) -> Document:
    room = setting.room
    levels = [{"name": name, "domains": room.tree.count(level)} for level, name in enumerate(room.levels, 1)]
    return {
        "name": setting.cluster, "nodes": room.tree.size, "resource": room.resource, "units": _short(room.total),
        "levels": levels,
    }  # fmt: skip


# -- one run -----------------------------------------------------------------------------------------------------


def run(journal: Journal) -> Document:
    """What one policy came to."""
    lives = list(journal.lives.values())
    return {
        "gangs": _gangs(lives),
        "ended": _short(journal.now),
        "waiting": {
            "all": waiting(lives, journal.now),
            "byPods": _classed(lives, journal.now, PODS, lambda life: life.pods),
            "byUnits": _classed(lives, journal.now, UNITS, lambda life: life.units),
            "byTopology": _by_topology(lives, journal),
        },
        "waitingFor": dict(sorted(Counter(life.reason for life in lives if life.reason is not None).items())),
        "preferred": _preferred(lives, journal),
        "apart": _apart(lives, journal),
        "utilisation": _utilisation(lives, journal),
        "fragmentation": _fragmentation(journal),
        "lostHours": _short(sum(life.lost for life in lives) / HOUR),
        "restarts": sum(life.restarts for life in lives),
        "overTime": _over_time(journal),
        "work": {"decisions": len(journal.work), "p50": rank(journal.work, 50), "p99": rank(journal.work, 99)},
        "steps": journal.steps,
    }


def _gangs(lives: list[Life]) -> Document:
    done = sum(life.finished is not None for life in lives)
    started = sum(life.started is not None for life in lives)
    return {"submitted": len(lives), "started": started, "done": done, "neverStarted": len(lives) - started}


def waiting(lives: Sequence[Life], end: float) -> Document:
    """Seconds from submission to start. Who never started counts with what it has waited so far, not as nothing."""
    times = [(end if life.started is None else life.started) - life.submitted for life in lives]
    mean = sum(times) / len(times) if times else 0.0
    figures = {"p50": rank(times, 50), "p95": rank(times, 95), "longest": max(times, default=0.0), "mean": mean}
    return {"gangs": len(lives), **{name: _short(value) for name, value in figures.items()}}


def _classed(lives: list[Life], end: float, classes: Classes, size: Callable[[Life], float]) -> list[Document]:
    sorted_in: dict[str, list[Life]] = {name: [] for _, name in classes}
    for life in lives:
        sorted_in[next(name for most, name in classes if most is None or size(life) <= most)].append(life)
    return [{"class": name, **waiting(those, end)} for name, those in sorted_in.items() if those]


def _by_topology(lives: list[Life], journal: Journal) -> list[Document]:
    found: dict[str, list[Life]] = {}
    for life in lives:
        found.setdefault(_wish(life, journal.room), []).append(life)
    return [{"class": name, **waiting(found[name], journal.now)} for name in sorted(found)]


def _wish(life: Life, room: Room) -> str:
    """The tightest thing its groups ask for: ``required rack``, ``preferred rack`` or ``none``."""
    groups = list(life.request.root.groups())
    required = [group.required for group in groups if group.required]
    preferred = [group.preferred for group in groups if group.preferred]
    if required:
        return f"required {_level(room, max(required))}"
    return f"preferred {_level(room, max(preferred))}" if preferred else "none"


def _level(room: Room, level: int) -> str:
    return "cluster" if level == 0 else room.levels[level - 1] if level <= len(room.levels) else f"level {level}"


def _preferred(lives: list[Life], journal: Journal) -> Document:
    """Groups that prefer a level and were placed: how many got it, and the levels that the others got instead."""
    pairs = [pair for life in lives for pair in life.reached]
    missed = Counter(_level(journal.room, got) for wanted, got in pairs if got < wanted)
    return {"groups": len(pairs), "reached": sum(got >= wanted for wanted, got in pairs), "instead": dict(missed)}


def _apart(lives: list[Life], journal: Journal) -> Document:
    """Levels between two pods of a gang, on average over all pairs of each gang and then over the gangs of several
    pods that started: 0 on one node, as many as there are levels when nothing is shared (KA-001)."""
    found: dict[str, list[float]] = {}
    for life in lives:
        if life.apart is not None:
            found.setdefault(_wish(life, journal.room), []).append(life.apart)
    rows = [{"class": name, **_mean_apart(found[name])} for name in sorted(found)]
    return {**_mean_apart([one for values in found.values() for one in values]), "byTopology": rows}


def _mean_apart(values: Sequence[float]) -> Document:
    return {"gangs": len(values), "mean": _short(sum(values) / len(values) if values else 0.0)}


def _utilisation(lives: list[Life], journal: Journal) -> Document:
    whole = journal.room.total or 1.0
    mean = journal.busy / (whole * journal.now) if journal.now else 0.0
    last, until = journal.arriving
    arriving = until / (whole * last) if last else mean  # where all come at once
    done = sum(life.units * (life.finished - life.since) for life in lives if life.finished is not None)
    figures = {"mean": mean, "whileArriving": arriving, "peak": journal.peak / whole, "usefulHours": done / HOUR}
    return {name: _short(value) for name, value in figures.items()}


def _fragmentation(journal: Journal) -> list[Document]:
    """For each level the mean over time, and the worst, of the share of free units in partly used domains."""
    columns = zip(*(sample.fragmentation for sample in journal.samples), strict=True)
    return [
        {"level": name, "mean": _short(sum(values) / len(values)), "worst": _short(max(values))}
        for name, values in zip(journal.room.levels, columns, strict=True)
    ]


def _over_time(journal: Journal) -> Document:
    samples, whole = journal.samples, journal.room.total or 1.0
    return {
        "at": [_short(sample.at) for sample in samples],
        "utilisation": [_short(sample.used / whole) for sample in samples],
        "waiting": [sample.waiting for sample in samples],
        "fragmentation": {
            name: [_short(sample.fragmentation[number]) for sample in samples]
            for number, name in enumerate(journal.room.levels)
        },
    }


def _timing(journal: Journal) -> Document:
    """Wall time of this machine: seconds of all steps, and milliseconds of a decision with its share of the step."""
    done = sum(life.finished is not None for life in journal.lives.values())
    return {
        "seconds": _short(journal.stepping),
        "gangsPerSecond": _short(done / journal.stepping if journal.stepping else 0.0),
        "decisionMs": {"p50": _short(rank(journal.took, 50) * 1e3), "p99": _short(rank(journal.took, 99) * 1e3)},
    }


# -- figures -----------------------------------------------------------------------------------------------------


def rank(values: Iterable[float], percent: int) -> float:
    """The percentile by nearest rank: a value that was seen, and the same on every machine."""
    found = sorted(values)
    return found[max(0, -(-len(found) * percent // 100) - 1)] if found else 0


def _short(value: float) -> float:
    """Six digits after the point; whole numbers without one."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded
