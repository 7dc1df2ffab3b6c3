"""What a step of the engine costs as the cluster grows, and how many of those who wait it looks at."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench import world
from phalanx.engine.engine import Engine
from phalanx.model.effects import Bind
from phalanx.model.events import Event, GangSeen, NodeSeen, PodGone, PodSeen, TopologiesSeen
from phalanx.model.nodes import RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.snapshot import Snapshot
from phalanx.sim.drive import drive
from phalanx.sim.journal import Journal
from phalanx.sim.room import Room
from phalanx.sim.submission import Submission

LEVELS = 4
SMALLEST = 2  # nodes of the smallest gang that waits
LIVE = 8.0  # gangs that run at a time: one comes every second and stays so many


# -- one decision ------------------------------------------------------------------------------------------------


def decisions(nodes: int, gangs: int, mix: Sequence[str], repetitions: int) -> dict[str, float]:
    """CPU microseconds of a step that decides, by kind of request: the median, and the best of some repetitions."""
    snapshot = world.cluster(nodes, LEVELS, seed=0)
    found = [_medians(snapshot, gangs, mix) for _ in range(repetitions)]
    return {kind: min(one[kind] for one in found) for kind in mix}


def _medians(snapshot: Snapshot, gangs: int, mix: Sequence[str]) -> dict[str, float]:
    topology = snapshot.topologies[0]
    kinds = [mix[number % len(mix)] for number in range(gangs)]
    requests = [world.request(kind, topology, f"g{number}") for number, kind in enumerate(kinds)]
    given = [Submission(float(number), request, LIVE) for number, request in enumerate(requests)]
    journal = Journal(Room(snapshot, topology, world.GPU))
    drive(Engine(), snapshot, given, journal, clock=time.thread_time)
    assert len(journal.took) == gangs, "every gang must be placed at once, so that each has one decision"
    warm = list(zip(kinds, journal.took, strict=True))[gangs // 4 :]
    return {kind: statistics.median(took for one, took in warm if one == kind) * 1e6 for kind in mix}


# -- those who wait ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One event: how many of those who wait it could help, how many were looked at, decided about and started."""

    able: int
    looked: int
    decided: int
    started: int
    us: float


def looks(nodes: int, waiting: int, events: int) -> tuple[list[Step], list[Step]]:
    """A full cluster and many who wait. Whole nodes come free, one by one and each in a rack of its own, which helps
    nobody; then a second one in each of these racks, which is room for one of the smallest gangs."""
    snapshot = world.cluster(nodes, LEVELS, seed=0)
    engine = Engine()
    fillers = {node.name: _filler(node.name) for node in snapshot.nodes}
    told: list[Event] = [TopologiesSeen(snapshot.topologies), *(NodeSeen(node) for node in snapshot.nodes)]
    told += [PodSeen(pod) for pod in fillers.values()]
    sizes = [SMALLEST + number % 15 for number in range(waiting)]
    for number, size in enumerate(sizes):
        told += _arrival(number, size, snapshot)
    engine.step(told, 0.0)
    racks = [[fillers[name].key for name in names] for names in _racks(snapshot)[:events]]
    useless = [_freed(engine, names[0], 0) for names in racks]
    able = sizes.count(SMALLEST)
    return useless, [_freed(engine, names[1], able - number) for number, names in enumerate(racks)]


def _racks(snapshot: Snapshot) -> list[list[str]]:
    """The nodes of each rack."""
    labels = [level.label for level in snapshot.topologies[0].levels[:-1]]
    found: dict[tuple[str, ...], list[str]] = {}
    for node in snapshot.nodes:
        found.setdefault(tuple(node.labels[label] for label in labels), []).append(node.name)
    return list(found.values())


def _filler(node: str) -> Pod:
    name = f"filler-{node}"
    running = RunningPod(name, "default", node, world.WHOLE.requests)
    return Pod(PodKey("default", name, name), running, phase="Running", ready=True)


def _arrival(number: int, size: int, snapshot: Snapshot) -> list[Event]:
    """A gang of whole nodes in one rack."""
    topology = snapshot.topologies[0]
    root = Group("job", (PodSet("main", size, size, world.WHOLE),), required=topology.host - 1)
    request = Request("Gang", "bench", f"w{number}", root, topology.name)
    return [GangSeen(request, -float(number) / 1e6), *(PodSeen(_member(request, rank)) for rank in range(size))]


def _member(request: Request, rank: int) -> Pod:
    name = f"{request.name}-{rank}"
    running = RunningPod(name, request.namespace, "", world.WHOLE.requests, gang=request.id)
    return Pod(PodKey(request.namespace, name, name), running, request.id, "main", rank)


def _freed(engine: Engine, key: PodKey, able: int) -> Step:
    """The step after one pod is gone. All at one time: no clock of the engine wakes anybody."""
    before, begin = engine.turns.looked, time.thread_time()
    effects = engine.step([PodGone(key)], 1.0)
    us = (time.thread_time() - begin) * 1e6
    started = len({effect.gang for effect in effects if isinstance(effect, Bind)})
    return Step(able, engine.turns.looked - before, len(engine.decisions), started, us)
