"""The short way through a trace: nothing fails and everything takes effect at once, so that months pass in a minute.

The engine is the real one and is told and asked as in any world: events in, effects out. Only the world is short: a
bind is answered in the moment it is asked for, a bound pod runs, and a gang ends ``duration`` after it has its pods.
"""

import heapq
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from phalanx.engine.engine import Engine
from phalanx.model import effects, events
from phalanx.model.nodes import RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import PodSet, Request
from phalanx.model.resources import NANO
from phalanx.model.snapshot import Snapshot
from phalanx.sim.journal import Journal
from phalanx.sim.submission import Submission

Tell = Callable[[int], None]  # how many gangs are done
Clock = Callable[[], float]
IDLE_MAX = 50  # calls of the engine at times of its own, with nothing else left to come, before the run is over


@dataclass(slots=True)
class _Gang:
    submission: Submission
    pods: dict[PodKey, Pod]
    shapes: dict[str, PodSet]
    running: bool = False
    epoch: int = 0  # how often it began anew; an end that was foreseen before then does not come
    made: Iterator[int] = field(default_factory=itertools.count)


def drive(
    engine: Engine,
    snapshot: Snapshot,
    given: Sequence[Submission],
    journal: Journal,
    seed: int = 0,
    tell: Tell | None = None,
    clock: Clock = time.perf_counter,
) -> None:
    """Runs a trace to its end, or until nothing moves any more. ``given`` is in order of time.

    ``clock`` times the steps for the journal; nothing that is decided hangs on it.
    """
    world = _World(engine, journal, random.Random(f"{seed}:jitter"), clock)
    world.settle([*_beginning(snapshot)], 0.0)
    waiting, idle, again = iter([*given, None]), 0, 0
    coming = next(waiting)
    while (now := world.next(None if coming is None else coming.at)) is not None and idle < IDLE_MAX:
        before, told = world.now, list(world.ended(now))
        while coming is not None and coming.at <= now:
            told += world.arrived(coming)
            coming = next(waiting)
        moved = world.settle(told, now)
        idle = 0 if moved or told or coming is not None or world.ends else idle + 1
        again = 0 if moved or told or now > before else again + 1
        assert again < IDLE_MAX, f"the engine asks for the same moment again and again: {now}"
        if tell is not None:
            tell(world.done)
    journal.closed(world.now)


def _beginning(snapshot: Snapshot) -> Iterable[events.Event]:
    yield events.TopologiesSeen(snapshot.topologies)
    yield events.QueuesSeen(snapshot.queues)
    for node in snapshot.nodes:
        yield events.NodeSeen(node)
    for pod in snapshot.pods:
        key = PodKey(pod.namespace, pod.name, f"{pod.namespace}/{pod.name}")
        yield events.PodSeen(Pod(key, replace(pod, gang=None), phase="Running", ready=True))


class _World:
    """The pods there are, and the ends that will come."""

    def __init__(self, engine: Engine, journal: Journal, chance: random.Random, clock: Clock) -> None:
        self.engine, self.journal, self.chance, self.clock = engine, journal, chance, clock
        self.gangs: dict[str, _Gang] = {}
        self.ends: list[tuple[float, int, str, int]] = []  # when, sequence, gang, epoch
        self.sequence = itertools.count()
        self.now = 0.0
        self.done = 0

    def next(self, arrival: float | None) -> float | None:
        """When something happens: an arrival, an end, or a time the engine asked for; None when nothing will."""
        moments = [arrival, self.ends[0][0] if self.ends else None, self.engine.next_at]
        known = [moment for moment in moments if moment is not None]
        return max(self.now, min(known)) if known else None

    def settle(self, told: list[events.Event], now: float) -> bool:
        """Lets the engine decide until it wants nothing more in this moment; whether anything moved."""
        self.now, moved = now, False
        while True:
            begin = self.clock()
            wanted = self.engine.step(told, now, self.chance.random())
            works = [getattr(one, "work", 0) for one in self.engine.decisions]
            self.journal.stepped(self.clock() - begin, works)
            told = [event for effect in wanted for event in self.carried_out(effect)]
            self.begin_running(wanted)
            moved = moved or bool(told)
            if not told:
                return moved

    # -- what happens by itself ----------------------------------------------------------------------------------

    def arrived(self, one: Submission) -> list[events.Event]:
        request = one.request
        gang = _Gang(one, {}, {pod_set.name: pod_set for pod_set in request.root.pod_sets()})
        self.gangs[request.id] = gang
        self.journal.submitted(one.at, request)
        pods = [self.made(gang, name, rank) for name, rank in _places(request)]
        return [events.GangSeen(request, one.at), *(events.PodSeen(pod) for pod in pods)]

    def made(self, gang: _Gang, pod_set: str, rank: int) -> Pod:
        """The controller makes a pod; a replacement has the same name and another uid."""
        request = gang.submission.request
        name = f"{request.name}-{pod_set}-{rank}"
        key = PodKey(request.namespace, name, f"{request.id}/{pod_set}/{rank}/{next(gang.made)}")
        shape = gang.shapes[pod_set].shape
        labels, apart = dict(shape.labels), shape.anti_affinity
        runs = RunningPod(name, request.namespace, "", shape.requests, labels, shape.ports, apart, request.id)
        pod = Pod(key, runs, request.id, pod_set, rank)
        gang.pods[key] = pod
        return pod

    def ended(self, now: float) -> Iterator[events.Event]:
        while self.ends and self.ends[0][0] <= now:
            at, _, name, epoch = heapq.heappop(self.ends)
            gang = self.gangs.get(name)
            if gang is not None and gang.epoch == epoch:
                yield from self.over(at, name)

    def over(self, at: float, name: str) -> Iterator[events.Event]:
        gang = self.gangs.pop(name)
        self.journal.finished(at, name)
        self.done += 1
        for pod in gang.pods.values():
            yield events.PodSeen(replace(pod, phase="Succeeded", ready=False))
        for key in gang.pods:
            yield events.PodGone(key)
        yield events.GangGone(name)

    # -- what the engine wants -----------------------------------------------------------------------------------

    def carried_out(self, effect: effects.Effect) -> Iterable[events.Event]:
        if isinstance(effect, effects.Report):
            if effect.reason is not None and effect.gang in self.gangs:
                self.journal.waits(effect.gang, effect.reason.type)
            return ()
        gang = self.gangs.get(effect.gang)
        if gang is None:
            return ()
        if isinstance(effect, effects.Bind):
            return self.bound(gang, effect)
        if isinstance(effect, effects.Evict):
            return self.evicted(gang, effect)
        raise AssertionError(f"gangs of a trace are bound, never gated: {effect!r}")

    def bound(self, gang: _Gang, effect: effects.Bind) -> list[events.Event]:
        pod = gang.pods.get(effect.key)
        if pod is None or pod.node not in ("", effect.node):
            return [events.BindAnswered(effect.key, effect.node, events.Answer.CONFLICT)]
        if pod.node:
            return [events.BindAnswered(effect.key, effect.node, events.Answer.HERE)]
        there = replace(pod, running=replace(pod.running, node=effect.node), phase="Running", ready=True)
        gang.pods[effect.key] = there
        self.journal.bound(self.now, effect.gang, effect.node, self.units(pod))
        return [events.BindAnswered(effect.key, effect.node, events.Answer.BOUND), events.PodSeen(there)]

    def evicted(self, gang: _Gang, effect: effects.Evict) -> list[events.Event]:
        pod = gang.pods.pop(effect.key, None)
        if pod is None:
            return [events.PodGone(effect.key)]
        if pod.node:
            self.journal.left(self.now, effect.gang, pod.node, self.units(pod))
        if gang.running and not any(one.node for one in gang.pods.values()):
            gang.running, gang.epoch = False, gang.epoch + 1
            self.journal.stopped(self.now, effect.gang)
        assert pod.pod_set is not None and pod.rank is not None
        return [events.PodGone(effect.key), events.PodSeen(self.made(gang, pod.pod_set, pod.rank))]

    def begin_running(self, wanted: Iterable[effects.Effect]) -> None:
        """Gangs whose pods were bound in this step run from now on: the engine binds all that must start together."""
        for name in dict.fromkeys(effect.gang for effect in wanted if isinstance(effect, effects.Bind)):
            gang = self.gangs.get(name)
            if gang is None or gang.running or not any(pod.node for pod in gang.pods.values()):
                continue
            gang.running = True
            self.journal.started(self.now, name, _nodes(gang))
            end = self.now + gang.submission.duration
            heapq.heappush(self.ends, (end, next(self.sequence), name, gang.epoch))

    def units(self, pod: Pod) -> float:
        return pod.requests.get(self.journal.room.resource) / NANO


def _places(request: Request) -> Iterator[tuple[str, int]]:
    """Every pod by its set and its rank; ranks run through the sets of a ranked group."""
    for group in request.root.groups():
        first = 0
        for pod_set in (member for member in group.members if isinstance(member, PodSet)):
            for number in range(pod_set.count):
                yield pod_set.name, first + number
            first += pod_set.count if group.ranks is not None else 0


def _nodes(gang: _Gang) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for pod in gang.pods.values():
        if pod.node and pod.pod_set is not None:
            found.setdefault(pod.pod_set, set()).add(pod.node)
    return found
