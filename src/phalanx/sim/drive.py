"""The short way through a trace: everything takes effect at once, so that months pass in a minute.

The engine is the real one and is told and asked as in any world: events in, effects out. Only the world is short: a
bind is answered in the moment it is asked for, a bound pod runs, and a gang ends ``duration`` after it has its minimum.
What breaks, if anything is to, is drawn by ``breakage``. A gang that falls below its minimum begins again.
"""

import heapq
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from phalanx.engine.engine import Engine
from phalanx.model import effects, events
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import PodSet, Request
from phalanx.model.resources import NANO
from phalanx.model.snapshot import Snapshot
from phalanx.sim import queueing
from phalanx.sim.breakage import LEVELS, NONE, Luck
from phalanx.sim.journal import Journal
from phalanx.sim.minimum import whole
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
    faults: str = NONE,
) -> None:
    """Runs a trace to its end, or until nothing moves any more. ``given`` is in order of time.

    ``clock`` times the steps for the journal; nothing that is decided hangs on it.
    """
    luck = Luck(LEVELS[faults], len(snapshot.nodes), seed)
    world = _World(engine, journal, random.Random(f"{seed}:jitter"), clock, snapshot, luck)
    world.settle([*_beginning(replace(snapshot, queues=queueing.for_all(snapshot.queues, given)))], 0.0)
    waiting, idle, again = iter([*given, None]), 0, 0
    coming = next(waiting)
    while (now := world.next(None if coming is None else coming.at)) is not None and idle < IDLE_MAX:
        before, told = world.now, [*world.ended(now), *world.broken(now)]
        while coming is not None and coming.at <= now:
            told += world.arrived(coming)
            coming = next(waiting)
        moved = world.settle(told, now)
        idle = 0 if moved or told or coming is not None or world.ends else idle + 1
        again = 0 if moved or told or now > before else again + 1
        if again >= IDLE_MAX:
            raise Mistake(f"the engine asks for the same moment again and again: {now}")
        if tell is not None:
            tell(world.done)
    journal.closed(world.now)


def _beginning(snapshot: Snapshot) -> Iterable[events.Event]:
    yield events.TopologiesSeen(snapshot.topologies)
    yield events.QueuesSeen(snapshot.queues)
    for node in snapshot.nodes:
        yield events.NodeSeen(node)
    for pod in snapshot.pods:
        yield events.PodSeen(_stranger(pod))


def _stranger(pod: RunningPod) -> Pod:
    """A pod that was there before."""
    key = PodKey(pod.namespace, pod.name, f"{pod.namespace}/{pod.name}")
    return Pod(key, replace(pod, gang=None), phase="Running", ready=True)


class _World:
    """The pods there are, and the ends that will come."""

    def __init__(
        self, engine: Engine, journal: Journal, chance: random.Random, clock: Clock, snapshot: Snapshot, luck: Luck
    ) -> None:
        self.engine, self.journal, self.chance, self.clock, self.luck = engine, journal, chance, clock, luck
        self.nodes = {node.name: node for node in snapshot.nodes}
        self.strangers = [_stranger(pod) for pod in snapshot.pods]
        self.gangs: dict[str, _Gang] = {}
        self.ends: list[tuple[float, int, str, int]] = []  # when, sequence, gang, epoch
        self.failures: list[tuple[float, int, str, int]] = []  # of a pod, told in the same way
        self.away: list[tuple[float, int, Node]] = []  # when it is back
        self.sequence = itertools.count()
        self.now = 0.0
        self.done = 0

    def next(self, arrival: float | None) -> float | None:
        """When something happens: an arrival, an end, a fault, or a time the engine asked for; None when nothing will.
        Nodes are lost only while something runs or is to come, else there would be no end of it."""
        moments = [arrival, self.engine.next_at]
        moments += [heap[0][0] for heap in (self.ends, self.failures, self.away) if heap]
        if self.ends or arrival is not None:
            moments.append(self.luck.next_loss)
        known = [moment for moment in moments if moment is not None]
        return max(self.now, min(known)) if known else None

    def settle(self, told: list[events.Event], now: float) -> bool:
        """Lets the engine decide until it wants nothing more in this moment; whether anything moved."""
        self.now, moved = now, False
        while True:
            begin = self.clock()
            wanted = self.engine.step(told, now, self.chance.random())
            for name, mishap in self.engine.tripped().items():
                raise Mistake(f"the engine tripped over gang {name}: {mishap.line}\n{mishap.trace}")
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

    # -- what breaks ---------------------------------------------------------------------------------------------

    def broken(self, now: float) -> Iterator[events.Event]:
        while self.away and self.away[0][0] <= now:
            yield from self.back(heapq.heappop(self.away)[2])
        if self.luck.next_loss is not None and self.luck.next_loss <= now and len(self.nodes) > 1:
            yield from self.lose(now)
        while self.failures and self.failures[0][0] <= now:
            at, _, name, epoch = heapq.heappop(self.failures)
            gang = self.gangs.get(name)
            if gang is not None and gang.running and gang.epoch == epoch:
                yield from self.failed(at, gang)

    def lose(self, now: float) -> Iterator[events.Event]:
        """A node is gone with its pods; their controllers make others."""
        name, until = self.luck.loss(now, sorted(self.nodes))
        heapq.heappush(self.away, (until, next(self.sequence), self.nodes.pop(name)))
        self.journal.room.set_there(name, False)
        yield events.NodeGone(name)
        yield from (events.PodGone(pod.key) for pod in self.strangers if pod.node == name)
        for gang in list(self.gangs.values()):
            for pod in [pod for pod in gang.pods.values() if pod.node == name]:
                yield events.PodGone(pod.key)
                yield from self.gave_up(now, gang, pod)

    def back(self, node: Node) -> Iterator[events.Event]:
        self.nodes[node.name] = node
        self.journal.room.set_there(node.name, True)
        yield events.NodeSeen(node)
        yield from (events.PodSeen(pod) for pod in self.strangers if pod.node == node.name)

    def failed(self, now: float, gang: _Gang) -> Iterator[events.Event]:
        on_nodes = [pod for pod in gang.pods.values() if pod.node]
        pod = on_nodes[self.luck.which(len(on_nodes))]
        yield events.PodSeen(replace(pod, phase="Failed", ready=False))
        yield from self.gave_up(now, gang, pod)
        yield events.PodGone(pod.key)

    def gave_up(self, now: float, gang: _Gang, pod: Pod) -> list[events.Event]:
        """A pod of a gang is no more, and another one of its rank is made. Below its minimum the gang begins again."""
        name = gang.submission.request.id
        del gang.pods[pod.key]
        if pod.node:
            self.journal.left(now, name, pod.node, self.units(pod))
        if gang.running and not _is_whole(gang):
            gang.running, gang.epoch = False, gang.epoch + 1
            self.journal.stopped(now, name)
        if pod.pod_set is None or pod.rank is None:
            raise Mistake("a pod of a gang without a set or a rank")
        return [events.PodSeen(self.made(gang, pod.pod_set, pod.rank))]

    # -- what the engine wants -----------------------------------------------------------------------------------

    def carried_out(self, effect: effects.Effect) -> Iterable[events.Event]:
        if isinstance(effect, effects.Report):
            if effect.reason is not None and effect.gang in self.gangs:
                self.journal.waits(effect.gang, effect.reason.type)
            return ()
        if isinstance(effect, effects.Notice):
            return ()
        gang = self.gangs.get(effect.gang)
        if gang is None:
            return ()
        if isinstance(effect, effects.Bind):
            return self.bound(gang, effect)
        if isinstance(effect, effects.Evict):
            return self.evicted(gang, effect)
        raise Mistake(f"gangs of a trace are bound, never gated: {effect!r}")

    def bound(self, gang: _Gang, effect: effects.Bind) -> list[events.Event]:
        pod = gang.pods.get(effect.key)
        if effect.node not in self.nodes or self.luck.refuses():
            return [events.BindAnswered(effect.key, effect.node, events.Answer.REFUSED)]
        if pod is None or pod.node not in ("", effect.node):
            return [events.BindAnswered(effect.key, effect.node, events.Answer.CONFLICT)]
        if pod.node:
            return [events.BindAnswered(effect.key, effect.node, events.Answer.HERE)]
        there = replace(pod, running=replace(pod.running, node=effect.node), phase="Running", ready=True)
        gang.pods[effect.key] = there
        self.journal.bound(self.now, effect.gang, effect.node, self.units(pod))
        return [events.BindAnswered(effect.key, effect.node, events.Answer.BOUND), events.PodSeen(there)]

    def evicted(self, gang: _Gang, effect: effects.Evict) -> list[events.Event]:
        pod = gang.pods.get(effect.key)
        gone = events.PodGone(effect.key)
        return [gone] if pod is None else [gone, *self.gave_up(self.now, gang, pod)]

    def begin_running(self, wanted: Iterable[effects.Effect]) -> None:
        """Gangs that have their minimum with the pods that were bound in this step run from now on."""
        for name in dict.fromkeys(effect.gang for effect in wanted if isinstance(effect, effects.Bind)):
            gang = self.gangs.get(name)
            if gang is None or gang.running or not _is_whole(gang):
                continue
            gang.running = True
            self.journal.started(self.now, name, _nodes(gang))
            end = self.now + gang.submission.duration
            heapq.heappush(self.ends, (end, next(self.sequence), name, gang.epoch))
            if (failure := self.luck.failure(gang.submission.duration)) is not None:
                heapq.heappush(self.failures, (self.now + failure, next(self.sequence), name, gang.epoch))

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


def _nodes(gang: _Gang) -> dict[str, Counter[str]]:
    """How many pods of each set are on which node."""
    found: dict[str, Counter[str]] = {}
    for pod in gang.pods.values():
        if pod.node and pod.pod_set is not None:
            found.setdefault(pod.pod_set, Counter())[pod.node] += 1
    return found


def _is_whole(gang: _Gang) -> bool:
    """Whether its minimum has places, and at least one pod of it."""
    counts = {name: nodes.total() for name, nodes in _nodes(gang).items()}
    return bool(counts) and whole(gang.submission.request, counts)
