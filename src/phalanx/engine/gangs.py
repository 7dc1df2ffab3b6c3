"""One gang over time: what it asked for, where it stands, its places and its pods. Kept by the Book alone."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.sizing import Seen
from phalanx.engine.slots import Slot
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.reasons import Reason
from phalanx.model.request import Group, PodSet, Request

STARTED = (State.BINDING, State.STARTING, State.RUNNING, State.DEGRADED)
HOLDING = (State.RESERVED, State.BINDING, State.STARTING, State.RUNNING, State.DEGRADED)
_BROKEN = ("Failed", "Unknown")


@dataclass(slots=True)
class Gang:
    """``slots``: its places by pod set, empty while it has none. ``entered``: when its state began.

    ``deadline``: when the clock of its state runs out. ``not_before``: when it may be tried again after a failure.
    ``told``: the reason that was last reported. ``quiet_until``: before that nobody is told that pods are missing.
    ``urgent``: it was broken, and has the first claim on what is free. ``flavor``: the nodes its quota was taken from.
    ``collected``: set and rank of pods that succeeded and are not listed any more; what they did stays done for as long
    as the gang keeps its places.
    """

    request: Request
    since: float
    owner: str = ""
    state: State = State.QUEUED
    cause: Cause | None = None
    reason: Reason | None = None
    told: Reason | None = None
    quiet_until: float | None = None  # None: nothing was missing since it waits
    entered: float = 0.0
    deadline: float | None = None
    not_before: float = 0.0
    failures: int = 0
    urgent: bool = False
    spoiled: bool = False  # its manifest is wrong by now; ``request`` is what it said before
    gone: bool = False  # it was deleted, and is kept until nothing of it holds a place
    flavor: str | None = None
    slots: dict[str, list[Slot]] = field(default_factory=dict)
    pods: dict[PodKey, Pod] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)  # all there are: a pod on another one is lost
    asked: dict[PodKey, float] = field(default_factory=dict)  # binds on their way: when they were last asked for
    refused: dict[PodKey, int] = field(default_factory=dict)
    past: set[PodKey] = field(default_factory=set)  # pods that failed before its present start: each counts once
    collected: Counter[tuple[str, int | None]] = field(default_factory=Counter)
    lack: Reason | None = None  # why pods of it that came late, or came back, have no place while it runs
    kept: dict[str, int] | None = None  # what it was whole with, while its manifest asks for more than that
    resting: dict[PodKey, float] = field(default_factory=dict)  # late pods that no node took: left alone until then

    @property
    def id(self) -> str:
        return self.request.id

    def set_back(self, seconds: float) -> None:
        """The clock was set back: all times of its own are so much earlier."""
        self.entered -= seconds
        self.not_before -= seconds
        self.deadline = None if self.deadline is None else self.deadline - seconds
        self.quiet_until = None if self.quiet_until is None else self.quiet_until - seconds
        self.asked = {key: at - seconds for key, at in self.asked.items()}
        self.resting = {key: at - seconds for key, at in self.resting.items()}
        for slot in self.every_slot():
            slot.empty_since = None if slot.empty_since is None else slot.empty_since - seconds

    def living(self) -> list[Pod]:
        """Pods that can still do something, in the order of their ranks and names."""
        found = [pod for pod in self.pods.values() if self._lives(pod)]
        return sorted(found, key=lambda pod: (pod.pod_set or "", pod.rank is None, pod.rank or 0, pod.key.name))

    def _lives(self, pod: Pod) -> bool:
        return not pod.ended and not pod.leaving and (not pod.node or pod.node in self.nodes)

    def on_nodes(self) -> list[Pod]:
        """Pods that take room, those that are leaving too."""
        return [pod for pod in self.pods.values() if pod.holds and pod.node in self.nodes]

    def is_leaving(self, key: PodKey) -> bool:
        """Whether a pod was told to go and still takes its room: its place is free for another only when it is gone."""
        pod = self.pods.get(key)
        return pod is not None and pod.leaving and pod.holds and pod.node in self.nodes

    def broken(self) -> set[PodKey]:
        """Pods that failed, and those nobody hears of."""
        return {pod.key for pod in self.pods.values() if pod.phase in _BROKEN}

    def bound(self) -> list[Pod]:
        return [pod for pod in self.living() if pod.node]

    def sent(self) -> list[Pod]:
        """Pods without a node that may go to one only: their gates were taken off, by us or by who was before us."""
        return [pod for pod in self.living() if pod.pinned and not pod.node]

    def under_way(self) -> list[Pod]:
        """Pods without a node that may be given one any moment: those that were sent, and those we asked a bind for."""
        asked = {slot.pod for slot in self.every_slot() if slot.pod in self.asked}
        return [pod for pod in self.living() if not pod.node and (pod.pinned or pod.key in asked)]

    def seen(self) -> dict[str, Seen]:
        """How many pods of each set are alive, and how many have succeeded."""
        alive: dict[str, int] = {}
        done = self._collected()
        for pod in self.pods.values():
            if pod.pod_set is not None and pod.phase == "Succeeded":
                done[pod.pod_set] = done.get(pod.pod_set, 0) + 1
            elif pod.pod_set is not None and self._lives(pod):
                alive[pod.pod_set] = alive.get(pod.pod_set, 0) + 1
        return {name: Seen(alive.get(name, 0), done.get(name, 0)) for name in {*alive, *done}}

    def wanted(self) -> set[str]:
        """The pod sets of its manifest. One may be taken out of it while its pods are still there."""
        return {pods.name for pods in self.request.root.pod_sets()}

    def there(self) -> dict[str, int]:
        """Pods of each set that exist or have succeeded."""
        return {name: seen.alive + seen.succeeded for name, seen in self.seen().items()}

    def every_slot(self) -> Iterator[Slot]:
        for slots in self.slots.values():
            yield from slots

    def places(self, only_sent: bool = False) -> Counter[str]:
        """How many of each set have a place (that somebody was sent to, if asked), or have succeeded."""
        given = [slot for slot in self.every_slot() if not slot.done and (slot.sent or not only_sent)]
        found = Counter(slot.pod_set for slot in given)
        found.update({name: seen.succeeded for name, seen in self.seen().items()})
        return found

    def has(self, count: "dict[str, int]") -> bool:
        """Whether so many pods of each set are the minimum of all of it, or what it was whole with: a gang that runs
        and is asked to be larger is kept as it is until there is room for more."""
        return enough(self.request.root, count, self.kept)

    def ask(self, request: Request) -> None:
        """Its manifest is this from now on."""
        if self.state in STARTED:
            before = self.kept
            self.kept = {pods.name: least(pods, before) for pods in self.request.root.pod_sets()}
        self.request = request

    def least_of(self, pod_set: str) -> int | None:
        """With how many pods of a set it is whole; None where its manifest does not have the set."""
        found = (least(pods, self.kept) for pods in self.request.root.pod_sets() if pods.name == pod_set)
        return next(found, None)

    def recall(self) -> None:
        """It is seen to run: what it was whole with is what its pods were told when they were let go."""
        told: dict[str, int] = {}
        for pod in self.bound():
            if pod.pod_set is not None and pod.least is not None:
                told[pod.pod_set] = max(told.get(pod.pod_set, 0), pod.least)
        sets = list(self.request.root.pod_sets())
        if any(told.get(pods.name, pods.min_count) < pods.min_count for pods in sets):
            self.kept = {pods.name: told.get(pods.name, pods.min_count) for pods in sets}

    def has_grown(self) -> bool:
        """Whether all that its manifest asks for is there by now."""
        return enough(self.request.root, self.counted())

    def counted(self, only_ready: bool = False) -> dict[str, int]:
        """Pods of each set that are bound (and ready, if asked), or have succeeded."""
        found = self._collected()
        for pod in self.pods.values():
            up = pod.node and self._lives(pod) and (pod.ready or not only_ready)
            if pod.pod_set is not None and (up or pod.phase == "Succeeded"):
                found[pod.pod_set] = found.get(pod.pod_set, 0) + 1
        return found

    def _collected(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for (name, _), count in self.collected.items():
            found[name] = found.get(name, 0) + count
        return found

    def holding(self) -> tuple[RunningPod, ...]:
        """What it takes on the board: its pods where they are, and its places where no pod is bound yet."""
        there = self.on_nodes()
        taken = {pod.key for pod in there}
        found = [_running(pod.running, pod.node, self.id) for pod in there]
        alike = Counter[tuple[str, int]]()
        for slot in self.every_slot():
            if not slot.done and (slot.pod is None or slot.pod not in taken):
                found += self._assumed(slot, alike[slot.pod_set, slot.number])
                alike[slot.pod_set, slot.number] += 1
        seated = {slot.pod for slot in self.every_slot()}
        sent = [pod for pod in self.sent() if pod.key not in seated and pod.pinned in self.nodes]
        return (*found, *(_running(pod.running, pod.pinned, self.id) for pod in sent))

    def _assumed(self, slot: Slot, alike: int) -> list[RunningPod]:
        """What is not bound yet, as it will be: by the name of its pod if it has one, so that nothing changes then.
        Nothing where no pod is to come: its set was taken out of the manifest. ``alike``: places before it with the
        same number, for pods may say that they have the same rank."""
        pod = self.pods.get(slot.pod) if slot.pod is not None else None
        if pod is not None:
            return [_running(pod.running, slot.node, self.id)]
        name = f"{self.id}/{slot.pod_set}/{slot.number}" + (f"+{alike}" if alike else "")
        shapes = [pods.shape for pods in self.request.root.pod_sets() if pods.name == slot.pod_set]
        return [
            RunningPod(name, s.namespace, slot.node, s.requests, dict(s.labels), s.ports, s.anti_affinity, self.id)
            for s in shapes
        ]


def _running(pod: RunningPod, node: str, gang: str) -> RunningPod:
    if pod.gang == gang and pod.node == node:
        return pod
    return RunningPod(pod.name, pod.namespace, node, pod.requests, pod.labels, pod.ports, pod.anti_affinity, gang)


def enough(member: Group | PodSet, count: Mapping[str, int], kept: Mapping[str, int] | None = None) -> bool:
    """Whether so many pods of each set are the minimum of a group or a set, or as many as are ``kept``."""
    if isinstance(member, PodSet):
        return count.get(member.name, 0) >= least(member, kept)
    good = sum(enough(below, count, kept) for below in member.members)
    return good >= (len(member.members) if member.min_members is None else member.min_members)


def least(pods: PodSet, kept: Mapping[str, int] | None) -> int:
    """How many of a set there must be: a set that came into the manifest since is not among what is kept."""
    return pods.min_count if kept is None else min(pods.min_count, kept.get(pods.name, 0))
