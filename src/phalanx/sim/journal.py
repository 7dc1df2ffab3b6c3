"""What happened in a run, as it happened: the life of every gang, samples of the cluster, the price of decisions."""

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.request import Request
from phalanx.model.resources import NANO
from phalanx.sim.room import Room

SAMPLES_MAX = 480  # then every second one is dropped: a run of minutes and one of months are told equally fine
EVERY = 60.0


@dataclass(slots=True)
class Life:
    """One gang. ``reached``: for each group that prefers a level, that level and the narrowest one that holds it."""

    request: Request
    submitted: float
    pods: int
    units: float  # of the resource that is watched
    started: float | None = None  # the first time all of it ran
    finished: float | None = None
    since: float = 0.0  # the last time it began to run
    holds: dict[str, float] = field(default_factory=dict)  # node -> units, while it runs
    reached: tuple[tuple[int, int], ...] = ()
    restarts: int = 0
    lost: float = 0.0  # unit seconds that led to nothing
    reason: str | None = None  # the last reason it waited for
    apart: float | None = None  # how far two of its pods are apart on average; None: it has only one, or never started


@dataclass(frozen=True, slots=True)
class Sample:
    at: float
    used: float
    waiting: int
    fragmentation: tuple[float, ...]


class Journal:
    """Times are those of the world, in seconds, and never go back."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.lives: dict[str, Life] = {}
        self.samples: list[Sample] = []
        self.busy = 0.0  # unit seconds used so far
        self.arriving = (0.0, 0.0)  # the last arrival, and unit seconds used until then
        self.peak = 0.0
        self.waiting = 0
        self.now = 0.0
        self.work = array("q")  # per decision
        self.took = array("d")  # wall seconds per decision; the only thing here that a second run may not repeat
        self.steps = 0
        self.stepping = 0.0  # wall seconds
        self._every = EVERY
        self._next = 0.0

    def submitted(self, at: float, request: Request) -> None:
        self._until(at)
        sets = list(request.root.pod_sets())
        units = sum(one.count * one.shape.requests.get(self.room.resource) for one in sets) / NANO
        self.lives[request.id] = Life(request, at, sum(one.count for one in sets), units)
        self.waiting += 1
        self.arriving = (at, self.busy)

    def waits(self, gang: str, reason: str) -> None:
        self.lives[gang].reason = reason

    def bound(self, at: float, gang: str, node: str, units: float) -> None:
        """A pod has its place."""
        self._until(at)
        self.room.take(node, units)
        self.peak = max(self.peak, self.room.used)
        held = self.lives[gang].holds
        held[node] = held.get(node, 0.0) + units

    def left(self, at: float, gang: str, node: str, units: float) -> None:
        """A pod gave its place back before its gang was done."""
        self._until(at)
        self.room.take(node, -units)
        self.lives[gang].holds[node] -= units

    def started(self, at: float, gang: str, places: Mapping[str, Mapping[str, int]]) -> None:
        """All of a gang runs. ``places``: how many pods of each set are on which node."""
        self._until(at)
        life = self.lives[gang]
        life.since = at
        life.reached = self._reached(life.request, places)
        life.apart = self._apart(places)
        if life.started is None:
            life.started = at
        self.waiting -= 1

    def stopped(self, at: float, gang: str) -> None:
        """A gang has to begin again: what it did is lost."""
        self._until(at)
        life = self.lives[gang]
        life.lost += life.units * (at - life.since)
        life.restarts += 1
        self.waiting += 1

    def finished(self, at: float, gang: str) -> None:
        self._until(at)
        life = self.lives[gang]
        life.finished = at
        for node, units in life.holds.items():
            self.room.take(node, -units)
        life.holds.clear()

    def stepped(self, seconds: float, works: list[int]) -> None:
        """One step of the engine: how long it took, and the work of each decision in it."""
        self.steps += 1
        self.stepping += seconds
        self.work.extend(works)
        self.took.extend([seconds / len(works)] * len(works) if works else ())

    def closed(self, at: float) -> None:
        """The run is over."""
        self._until(at)
        self.samples.append(self._sample(at))

    def _apart(self, places: Mapping[str, Mapping[str, int]]) -> float | None:
        pods: Counter[str] = Counter()
        for nodes in places.values():
            pods.update(nodes)
        return self.room.apart(pods) if pods.total() > 1 else None

    def _reached(self, request: Request, places: Mapping[str, Mapping[str, int]]) -> tuple[tuple[int, int], ...]:
        if request.topology != self.room.tree.topology.name:
            return ()
        found = []
        for group in request.root.groups():
            nodes = set().union(*(places.get(one.name, {}) for one in group.pod_sets()))
            if group.preferred is not None and nodes:
                found.append((group.preferred, self.room.narrowest(nodes)))
        return tuple(found)

    def _until(self, at: float) -> None:
        """Time passes; everything is as it was up to now."""
        if at <= self.now and self.samples:
            return
        while self._next <= at:
            self.samples.append(self._sample(self._next))
            self._next += self._every
            if len(self.samples) >= SAMPLES_MAX:
                del self.samples[1::2]
                self._every *= 2
                self._next = self.samples[-1].at + self._every
        self.busy += self.room.used * (at - self.now)
        self.now = at

    def _sample(self, at: float) -> Sample:
        return Sample(at, self.room.used, self.waiting, self.room.fragmentation())
