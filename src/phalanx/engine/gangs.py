"""One gang over time: what it asked for, where it stands, its places and its pods.

Its fields are read by the whole engine and changed by the methods here alone, each of which says what happened. What
that is, Book, Reactions and Engine decide.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace

from phalanx.engine import pools, renames, sizing
from phalanx.engine.hold import Hold
from phalanx.engine.lifecycle import Cause, State, after
from phalanx.engine.sizing import Seen
from phalanx.engine.slots import Slot
from phalanx.model.events import GangGone
from phalanx.model.makers import Maker
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.objects import Incarnation
from phalanx.model.pods import Pod, PodKey
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, Why
from phalanx.model.request import Group, Missing, PodSet, Request

STARTED = (State.BINDING, State.STARTING, State.RUNNING, State.DEGRADED)
HOLDING = (State.RESERVED, State.BINDING, State.STARTING, State.RUNNING, State.DEGRADED)
WAITING_TOLD = 3  # pods that a reason names
_BROKEN = ("Failed", "Unknown")
_HELD = ("pods", "asked", "refused", "past", "collected", "kept", "resting")  # what is changed, and not replaced


@dataclass(slots=True)
class Gang:
    """``slots``: its places by pod set, empty while it has none. ``entered``: when its state began.

    ``uid``: of the object that it was read from; with another one it is another gang.

    ``deadline``: when the clock of its state runs out. ``not_before``: when it may be tried again after a failure.
    ``told``: the reason that was last reported. ``quiet_until``: before that nobody is told that pods are missing.
    ``urgent``: it was broken, and has the first claim on what is free. ``flavor``: the nodes its quota was taken from.
    ``collected``: set and rank of pods that succeeded and are not listed any more; what they did stays done for as long
    as the gang keeps its places. ``hold``: what makes its pods, and whether that is held back for it. ``problems``: why
    no places can be looked for.
    """

    request: Request
    since: float
    owner: Incarnation | None = None
    uid: str = ""
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
    end: GangGone | None = None  # how that came
    flavor: str | None = None
    slots: dict[str, list[Slot]] = field(default_factory=dict)
    pods: dict[PodKey, Pod] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)  # all there are: a pod on another one is lost
    asked: dict[PodKey, float] = field(default_factory=dict)  # binds on their way: when they were last asked for
    refused: dict[PodKey, int] = field(default_factory=dict)
    past: set[PodKey] = field(default_factory=set)  # pods that failed before its present start: each counts once
    collected: Counter[tuple[str, int | None]] = field(default_factory=Counter)
    lack: Reason | None = None  # why pods of it that came late, or came back, have no place while it runs
    torn: tuple[Hashable, ...] = ()  # the required levels it is seen not to keep, as they were last reported
    lacking: Request | None = None  # the places that were looked for then; as good as ``lack`` is
    kept: dict[str, int] | None = None  # what it was whole with, while its manifest asks for more than that
    resting: dict[PodKey, float] = field(default_factory=dict)  # late pods that no node took: left alone until then
    hold: Hold = field(default_factory=Hold)
    problems: tuple[Problem, ...] = ()

    @property
    def id(self) -> str:
        return self.request.id

    # -- so that nothing stays half done ---------------------------------------------------------------------------

    def copied(self) -> "Gang":
        """Another one that is as it is now."""
        return replace(
            self,
            slots={name: [slot.copied() for slot in listed] for name, listed in self.slots.items()},
            **{name: copy(getattr(self, name)) for name in _HELD},
        )

    def put_back(self, before: "Gang") -> None:
        """Nothing that happened to it since counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(before, one.name))

    def expect(self, slot: Slot, pod: PodKey, at: float) -> None:
        """Its pod may come to a node any moment: that was asked for before anybody here knew of the gang."""
        self.add_place(slot)
        self.ask_for(pod, at)

    # -- what its object says --------------------------------------------------------------------------------------

    def follow(self, request: Request) -> None:
        """Its object is there and good, and says this from now on."""
        self.gone, self.spoiled, self.problems = False, False, ()
        self.ask(request)

    def follow_owner(self, owner: Incarnation | None, makers: tuple[Maker, ...]) -> None:
        """What makes its pods came after it, is not alone any more, or was suspended or let go."""
        self.owner = owner
        self.hold.follow(makers)

    def spoil(self) -> None:
        """Its manifest is wrong by now."""
        self.spoiled = True

    def turn_away(self, problems: tuple[Problem, ...]) -> None:
        """Its manifest can be read, and nothing can be placed for what it asks."""
        self.problems = problems

    def delete(self, event: GangGone) -> None:
        """Its object is gone, or over. It is kept until nothing of it holds a place."""
        self.gone, self.end = True, event

    # -- where it stands -------------------------------------------------------------------------------------------

    def enter(self, cause: Cause, now: float, seconds: float | None) -> None:
        """It goes on to the state that follows from the cause, and may stay there for so long."""
        self.state, self.cause = after(self.state, cause), cause
        self.entered, self.deadline = now, None if seconds is None else now + seconds
        if self.state not in STARTED:
            self.kept, self.lack = None, None  # the next start is of all that it asks for
        if self.state is not State.QUEUED:
            self.reason = None
        self.told, self.quiet_until = self.reason, None

    def wait(self, reason: Reason) -> None:
        """It was looked at, and waits for this."""
        self.reason, self.quiet_until = reason, None

    def wait_for_pods(self, lack: Reason) -> None:
        """It waits for pods, and nobody is told before ``quiet_until``."""
        self.reason = lack

    def keep_quiet(self, until: float) -> None:
        """Nobody is told before this time that pods are missing."""
        self.quiet_until = until

    def tell(self) -> bool:
        """Its reason is told. Whether that is news."""
        is_news = self.told != self.reason
        self.told = self.reason
        return is_news

    def note_lack(self, lack: Reason | None, lacking: Request | None = None) -> None:
        """Why pods that came late, or came back, have no place; ``lacking``: the places that were looked for."""
        self.lack = lack
        self.lacking = self.lacking if lacking is None else lacking

    def note_levels(self, torn: tuple[Hashable, ...]) -> bool:
        """The required levels that it is seen not to keep. Whether that is news."""
        is_news = self.torn != torn
        self.torn = torn
        return is_news

    # -- how it starts and ends ------------------------------------------------------------------------------------

    def start(self, slots: dict[str, list[Slot]], flavor: str | None) -> None:
        """Places were found for all of it."""
        self.slots, self.flavor = slots, flavor
        self.asked, self.refused, self.urgent = {}, {}, False

    def find_running(self, slots: dict[str, list[Slot]], asked: dict[PodKey, float]) -> None:
        """Somebody else, or we before a restart, gave it these places; ``asked``: pods that are on their way."""
        self.slots, self.asked = slots, asked | self.asked
        self.recall()

    def forgive_failures(self) -> None:
        """Pods that failed so far are of an earlier start: none of them makes the next one start over."""
        self.past = self.broken()

    def become_ready(self) -> None:
        """It started well: the next failure is the first one again."""
        self.failures = 0

    def leave(self, cause: Cause, now: float) -> None:
        """It leaves its places. What may still be bound keeps its own."""
        self.keep_under_way()
        self.refused, self.not_before = {}, now
        self.urgent = cause in (Cause.NODE_LOST, Cause.RECOVERY_TIMEOUT)
        self.hold.begin()

    def refuse_hold(self, now: float) -> None:
        """What makes its pods may not be suspended: these are asked to leave at once."""
        if self.state is State.EVICTING and self.hold.makers and not self.hold.refused:
            self.hold.refuse()
            self.not_before = now

    def call_again(self, at: float) -> None:
        """Its pods were asked to leave, and are asked again at this time."""
        self.not_before = at

    def be_gone(self, not_before: float) -> None:
        """All its pods have left: it begins from the first, and not before this time."""
        self.drop_places()
        self.refused = {}
        self.collected.clear()
        self.failures += 1
        self.not_before = not_before

    def vanish(self) -> None:
        """None of its pods is left, and nobody asked them to go."""
        self.drop_places()
        self.collected.clear()
        self.urgent = True

    def finish(self) -> None:
        """Its work is done."""
        self.slots = {}

    # -- its pods --------------------------------------------------------------------------------------------------

    def take_in(self, pod: Pod) -> None:
        """A pod of it, as it is now."""
        self.pods[pod.key] = pod

    def way_of(self, pod: Pod) -> tuple[str, float] | None:
        """The node to which a pod is being bound, and since when; None for one that is not."""
        if pod.node or pod.ended or pod.key not in self.asked:
            return None
        home = next((slot.node for slot in self.every_slot() if slot.pod == pod.key), "")
        return (home, self.asked[pod.key]) if home else None

    def lose(self, key: PodKey) -> None:
        """A pod is none of its own any more."""
        self.pods.pop(key, None)
        self.asked.pop(key, None)

    def collect(self, pod: Pod) -> None:
        """A pod that has succeeded is not listed any more. A gang that waits begins from the first again."""
        if pod.pod_set is not None and self.state in (*HOLDING, State.FINISHED):
            self.collected[pod.pod_set, pod.rank] += 1

    def begin_again(self, pod: Pod) -> None:
        """A new pod came: what one of its rank had done, its controller has done again."""
        if pod.pod_set is not None:
            self.collected.pop((pod.pod_set, pod.rank), None)

    def ask_for(self, key: PodKey, now: float) -> None:
        """Its bind, or that it goes, is asked for."""
        self.asked[key] = now

    def answer(self, key: PodKey) -> None:
        """It is known what became of a bind."""
        self.asked.pop(key)

    def refuse(self, key: PodKey) -> None:
        """Its bind was refused."""
        self.answer(key)
        if not self.pods[key].node:
            self.refused[key] = self.refused.get(key, 0) + 1

    def rest(self, keys: Iterable[PodKey], until: float) -> None:
        """Late pods that no node took have no places, and are left alone until then."""
        tired = set(keys)
        for key in tired:
            del self.refused[key]
            self.resting[key] = until
        for name, listed in self.slots.items():
            self.slots[name] = [slot for slot in listed if slot.pod not in tired]

    # -- its places ------------------------------------------------------------------------------------------------

    def add_place(self, slot: Slot) -> None:
        self.slots.setdefault(slot.pod_set, []).append(slot)

    def keep_places(self, name: str, kept: list[Slot]) -> bool:
        """Of the places of a set only these are left. A set that its manifest does not have any more goes with its
        last one. Whether any were given back."""
        gave_back = len(kept) < len(self.slots[name])
        self.slots[name] = kept
        if not kept and name not in self.wanted():
            del self.slots[name]
        return gave_back

    def give_back(self, places: Iterable[Slot]) -> None:
        """These are no places of it any more."""
        lost = {id(slot) for slot in places}
        for name, listed in self.slots.items():
            self.slots[name] = [slot for slot in listed if id(slot) not in lost]

    def keep_under_way(self) -> None:
        """It has no places but those of pods that may still be bound there."""
        self.slots = {name: [s for s in listed if s.pod in self.asked] for name, listed in self.slots.items()}

    def drop_places(self) -> None:
        """Nobody can come to its places any more."""
        self.slots, self.asked = {}, {}

    def take_flavor(self, flavor: str | None) -> None:
        """Its places are on nodes of this flavor."""
        self.flavor = flavor

    def grow_up(self) -> None:
        """All that its manifest asks for is there: what it was whole with before means nothing any more."""
        self.kept = None

    def set_back(self, seconds: float) -> None:
        """The clock was set back: all times of its own are so much earlier."""
        self.entered -= seconds
        self.not_before -= seconds
        self.deadline = None if self.deadline is None else self.deadline - seconds
        self.quiet_until = None if self.quiet_until is None else self.quiet_until - seconds
        self.asked = {key: at - seconds for key, at in self.asked.items()}
        self.resting = {key: at - seconds for key, at in self.resting.items()}
        for slot in self.every_slot():
            slot.set_back(seconds)
        self.hold.set_back(seconds)

    @property
    def is_held_back(self) -> bool:
        """Whether its user, or its queue, and not we, says: not now."""
        return self.request.suspended or self.hold.is_of_others

    def put_off(self, seconds: float) -> None:
        """So much time did not count. Clocks that take something away from it run out so much later."""
        self.entered += seconds
        self.deadline = None if self.deadline is None else self.deadline + seconds
        for slot in self.every_slot():
            slot.set_back(-seconds)
        self.hold.set_back(-seconds)

    def clocks(self) -> set[float]:
        """When it loses something unless it is heard that all is well: all its places, or those that are empty."""
        recovery = self.request.rules.recovery
        left = {slot.empty_since for slot in self.every_slot() if slot.pod is None}
        empty = {since + recovery for since in left if since is not None}
        return empty if self.deadline is None else empty | {self.deadline}

    def living(self) -> list[Pod]:
        """Pods that can still do something, in the order of their ranks and names."""
        found = [pod for pod in self.pods.values() if self._lives(pod)]
        return sorted(found, key=lambda pod: (pod.pod_set or "", pod.rank is None, pod.rank or 0, pod.key.name))

    def _lives(self, pod: Pod) -> bool:
        there = not pod.ended and not pod.leaving and (not pod.node or pod.node in self.nodes)
        return there and not self._has_to_wait(pod)

    def _has_to_wait(self, pod: Pod) -> bool:
        """Whether a pod is as good as not there yet. Whoever may be bound any moment is past waiting."""
        return bool(pod.waits_for) and not pod.node and not pod.pinned and pod.key not in self.asked

    def lacks(self, lack: Missing) -> Reason:
        """That it lacks pods; with what some that exist wait for before they may get a node."""
        found = [pod for pod in self.pods.values() if self._has_to_wait(pod) and not pod.ended and not pod.leaving]
        waiting = tuple(pod.waits_for for pod in sorted(found, key=lambda pod: pod.key.name)[:WAITING_TOLD])
        return Reason(Why.PODS_MISSING, lack.group, "cluster", lack.needed, pods_seen=lack.seen, waiting=waiting)

    def on_nodes(self) -> list[Pod]:
        """Pods that take room, those that are leaving too."""
        return [pod for pod in self.pods.values() if pod.holds and pod.node in self.nodes]

    def is_leaving(self, key: PodKey) -> bool:
        """Whether a pod was told to go and still takes its room, or may be bound there any moment: its place is free
        for another only when it is gone."""
        pod = self.pods.get(key)
        if pod is None or not pod.leaving or pod.ended:
            return False
        return pod.node in self.nodes if pod.node else key in self.asked

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

    def asks(self) -> Request:
        """What it asks for, with the amounts of its pods that have no node yet where these ask for more."""
        return sizing.as_large(self.request, (pod for pod in self.living() if not pod.node))

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
        return self._is_enough(count, self.kept)

    def _is_enough(self, count: Mapping[str, int], kept: Mapping[str, int] | None) -> bool:
        root = self.request.root
        return enough(pools.merged(self.request).root, pools.counts(root, count), kept)

    def ask(self, request: Request) -> None:
        """Its manifest is this from now on. What it has of a set it has of the one that the set is called now."""
        before, self.request = self.request, request
        if before.root == request.root:
            return
        if self.state in STARTED:
            whole = pools.merged(before)
            held = {pods.name: least(pods, self.kept) for pods in whole.root.pod_sets()}
            self.kept = renames.kept(whole, pools.merged(request), held)
        self._rename(renames.of(before, request))

    def _rename(self, names: Mapping[str, str]) -> None:
        """Places and what was done go by the present names of their sets; those of no set keep theirs."""
        if all(name == other for name, other in names.items()):
            return
        slots = {name: listed for name, listed in self.slots.items() if name not in names}
        for name, listed in self.slots.items():
            for slot in listed if name in names else ():
                slot.rename(names[name])
                slots.setdefault(names[name], []).append(slot)
        self.slots = slots
        done = {(names.get(name, name), rank): count for (name, rank), count in self.collected.items()}
        self.collected = Counter(done)

    def follow_sets(self) -> None:
        """A place is of the set that its pod is in: shapes may be told apart by now that were one."""
        strayed = [slot for slot in self.every_slot() if self._set_of(slot) not in (None, slot.pod_set)]
        for slot in strayed:
            self.slots[slot.pod_set].remove(slot)
            slot.rename(self._set_of(slot) or slot.pod_set)
            taken = {other.number for other in self.slots.get(slot.pod_set, ())}
            if slot.number in taken:
                slot.renumber(min(set(range(len(taken) + 1)) - taken))
            self.add_place(slot)

    def _set_of(self, slot: Slot) -> str | None:
        pod = self.pods.get(slot.pod) if slot.pod is not None else None
        return None if pod is None else pod.pod_set

    def least_of(self, pod_set: str) -> int | None:
        """With how many pods of a set, or of its pool, it is whole; None where its manifest does not have the set."""
        pool = next((pools.called(pods) for pods in self.request.root.pod_sets() if pods.name == pod_set), None)
        whole = pools.merged(self.request).root
        return next((least(pods, self.kept) for pods in whole.pod_sets() if pods.name == pool), None)

    def recall(self) -> None:
        """It is seen to run: what it was whole with is what its pods were told when they were let go."""
        names = {pods.name: pools.called(pods) for pods in self.request.root.pod_sets()}
        told: dict[str, int] = {}
        for pod in self.bound():
            if pod.pod_set in names and pod.least is not None:
                name = names[pod.pod_set]
                told[name] = max(told.get(name, 0), pod.least)
        whole = pools.merged(self.request)
        held = {pods.name: told.get(pods.name, pods.min_count) for pods in whole.root.pod_sets()}
        self.kept = renames.kept(whole, whole, held)

    def has_grown(self) -> bool:
        """Whether all that its manifest asks for is there by now."""
        return self._is_enough(self.counted(), None)

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
        """What it takes of its quota: its pods where they are, and its places where no pod is bound yet."""
        return self._held(list(self.every_slot()))

    def taking(self) -> tuple[RunningPod, ...]:
        """What it takes on nodes. A place that is lost takes nothing there, once nobody is on the way to it."""
        return self._held([slot for slot in self.every_slot() if not slot.moved or self._is_used(slot)])

    def _is_used(self, slot: Slot) -> bool:
        """Whether somebody is there, or on the way."""
        pod = self.pods.get(slot.pod) if slot.pod is not None else None
        return pod is not None and (pod.key in self.asked or bool(pod.node or pod.pinned))

    def _held(self, places: list[Slot]) -> tuple[RunningPod, ...]:
        there = self.on_nodes()
        taken = {pod.key for pod in there}
        found = [_running(pod.running, pod.node, self.id) for pod in there]
        alike = Counter[tuple[str, int]]()
        for slot in places:
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
    return pods.min_count if kept is None else kept.get(pods.name, 0)
