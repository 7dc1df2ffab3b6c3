"""What a gang does about what happened to it: its pods came, went, failed, its node is gone, its clock ran out."""

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from phalanx.engine import enforce, repair, slots
from phalanx.engine.book import Book
from phalanx.engine.decide import decide
from phalanx.engine.gangs import HOLDING, Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.repair import Survivors
from phalanx.engine.settings import Settings
from phalanx.engine.slots import Slot
from phalanx.engine.turns import Turns
from phalanx.model.decision import Decision, Placed
from phalanx.model.effects import Effect, Evict
from phalanx.model.events import Answer, BindAnswered
from phalanx.model.pods import Pod
from phalanx.model.policy import Policy

if TYPE_CHECKING:
    from phalanx.model.topology import Tree

_STARTED = (State.BINDING, State.STARTING, State.RUNNING, State.DEGRADED)
_BROKEN = ("Failed", "Unknown")
_TIMEOUTS = {
    State.RESERVED: Cause.SCHEDULE_TIMEOUT,
    State.BINDING: Cause.SCHEDULE_TIMEOUT,
    State.STARTING: Cause.READY_TIMEOUT,
    State.DEGRADED: Cause.RECOVERY_TIMEOUT,
}


class Loop(Protocol):
    """What reactions need of the engine."""

    policy: Policy
    settings: Settings
    now: float
    jitter: float
    decisions: list[Decision]
    turns: Turns

    def move(self, gang: Gang, cause: Cause, seconds: float | None = None) -> None: ...
    def say(self, effect: Effect) -> None: ...
    def wake_at(self, gang: Gang, at: float) -> None: ...
    def rebook(self, gang: Gang) -> None: ...


class Reactions:
    def __init__(self, book: Book, loop: Loop) -> None:
        self._book = book
        self._loop = loop

    # -- one gang ------------------------------------------------------------------------------------------------

    def react(self, gang: Gang) -> None:
        """Follows one gang as far as what happened carries it. The board holds what it holds in the end."""
        self._tidy(gang)
        if gang.gone:
            return self._deleted(gang)
        if gang.state is State.FINISHED and gang.id in self._book.renewed:
            self._loop.move(gang, Cause.CHANGED)
        if self._completed(gang):
            return None
        if gang.state is State.INVALID and gang.id in self._book.renewed:
            self._loop.move(gang, Cause.CORRECTED)
        if gang.state is State.QUEUED:
            self._queued(gang)
        elif gang.state is State.EVICTING:
            self._evicting(gang)
        elif gang.state in HOLDING:
            self._holding(gang)
        self._loop.rebook(gang)
        return None

    def take_stock(self, gang: Gang) -> None:
        """Books what the gang is seen to hold, before anybody does anything about it."""
        if gang.state is State.QUEUED and gang.on_nodes():
            gang.flavor = self._loop.turns.flavor_of(gang)
        self._loop.rebook(gang)

    def _deleted(self, gang: Gang) -> None:
        """It keeps room and quota while its pods leave, and while one of them may still be bound."""
        if gang.state is not State.FINISHED:
            self._loop.turns.leave(gang.id, gang.request.queue)
            self._loop.move(gang, Cause.DELETED, gang.request.rules.schedule)
            under_way = set(gang.asked)
            gang.slots = {name: [s for s in listed if s.pod in under_way] for name, listed in gang.slots.items()}
            self._book.freed = True
        late = gang.deadline is not None and self._loop.now >= gang.deadline
        self._loop.rebook(gang)
        if not gang.on_nodes() and (late or not gang.asked):
            self._book.forget(gang)

    def answered(self, event: BindAnswered) -> None:
        """A bind was answered. A refusal is counted; too many release the whole gang, never half of it."""
        gang = self._book.holder(event.key)
        if gang is None or event.key not in gang.asked:
            return
        if event.answer is not Answer.REFUSED:
            return  # done, perhaps done, or somewhere else: only seeing the pod tells, until then it is under way
        gang.asked.pop(event.key)
        if not gang.pods[event.key].node:
            gang.refused[event.key] = gang.refused.get(event.key, 0) + 1
        self._book.touched[gang.id] = None

    def _completed(self, gang: Gang) -> bool:
        """Whether all of its work is done: nobody is left, and as many as must have succeeded."""
        if gang.living() or any(pod.leaving and not pod.ended for pod in gang.pods.values()):
            return False
        done = {name: seen.succeeded for name, seen in gang.seen().items()}
        if not any(done.values()) or not gang.has(done):
            return False
        if gang.state is not State.FINISHED:
            self._loop.turns.leave(gang.id, gang.request.queue)
            gang.slots = {}
            self._loop.move(gang, Cause.COMPLETED)
            self._book.freed = True
        self._loop.rebook(gang)
        return True

    # -- places --------------------------------------------------------------------------------------------------

    def _tidy(self, gang: Gang) -> None:
        """Places follow their pods: kept for one that will be made again, free when it has succeeded."""
        living = {pod.key: pod for pod in gang.living()}
        for key in [key for key in gang.asked if key not in gang.pods or gang.pods[key].node]:
            gang.asked.pop(key)
        for slot in gang.every_slot():
            slot.moved = slot.moved or slot.node in self._book.moved or slot.node not in self._book.nodes
            if slot.pod is None:
                continue
            pod = gang.pods.get(slot.pod)
            if pod is not None and pod.phase == "Succeeded":
                slot.done = True
            elif slot.pod not in living:
                slot.pod, slot.empty_since = None, self._loop.now
                slot.moved, slot.leaving = slot.moved or slot.leaving, False
                self._loop.wake_at(gang, self._loop.now + gang.request.rules.recovery)
            elif living[slot.pod].node and living[slot.pod].node != slot.node:
                slot.node = living[slot.pod].node  # somebody else gave it a node

    def release(self, gang: Gang) -> None:
        """Gives every place without a pod the next pod it can have, and asks for what is not bound yet."""
        if gang.state not in _STARTED:
            return
        self._assign(gang)
        if self._waits_for_all(gang):
            return
        tree = self._tree(gang)
        offsets = slots.offsets(gang.request)
        for slot in gang.every_slot():
            pod = gang.pods.get(slot.pod) if slot.pod is not None else None
            if pod is None or pod.node or not self._is_due(gang, pod):
                continue
            if slot.moved:
                self._call_back(gang, pod)
                continue
            if enforce.is_released(gang, pod) or slot.node not in self._book.nodes:
                continue
            gang.asked[pod.key] = self._loop.now
            rank = offsets[slot.pod_set] + slot.number if slot.pod_set in offsets else pod.rank
            self._loop.say(enforce.released(gang, pod, slot, rank, tree))
            self._loop.wake_at(gang, self._loop.now + self._loop.settings.bind_again)

    def _waits_for_all(self, gang: Gang) -> bool:
        """Whether replacements wait until the whole set is there again: its rule, while some are missing. (W-153)"""
        if gang.request.rules.on_failure != "None" or gang.state is State.BINDING:
            return False
        return any(slot.pod is None and not slot.done for slot in gang.every_slot())

    def _call_back(self, gang: Gang, pod: Pod) -> None:
        """A pod on its way to a node that is gone, or in another domain by now: better none than one there."""
        if pod.key not in gang.asked:
            return
        gang.asked[pod.key] = self._loop.now
        self._loop.say(Evict(gang.id, pod.key, Cause.NODE_LOST.name))
        self._loop.wake_at(gang, self._loop.now + self._loop.settings.bind_again)

    def _is_due(self, gang: Gang, pod: Pod) -> bool:
        """Whether a pod is to be asked for: never before, or so long ago that the answer may be lost."""
        last = gang.asked.get(pod.key)
        return last is None or self._loop.now >= last + self._loop.settings.bind_again

    def _assign(self, gang: Gang) -> None:
        offsets = slots.offsets(gang.request)
        taken = {slot.pod for slot in gang.every_slot() if slot.pod is not None}
        for pod in gang.living():
            if pod.key in taken or pod.pod_set not in gang.slots:
                continue
            slot = _free(gang.slots[pod.pod_set], pod, offsets.get(pod.pod_set))
            if slot is not None:
                slot.pod = pod.key
                if pod.node:
                    slot.node = pod.node

    def _tree(self, gang: Gang) -> "Tree":
        return self._book.board.draft(gang.request.topology).tree

    # -- states --------------------------------------------------------------------------------------------------

    def _queued(self, gang: Gang) -> None:
        """A gang that was not told to start but has pods on nodes: somebody else, or we before a restart, did that."""
        bound = gang.bound()
        if not bound:
            return
        self._loop.turns.leave(gang.id, gang.request.queue)
        gang.slots = _slots_of(gang, bound)
        if gang.has(gang.counted()):
            self._loop.move(gang, Cause.FOUND_RUNNING, gang.request.rules.ready)
            self._holding(gang)
        else:
            self._loop.move(gang, Cause.FOUND_HALF, gang.request.rules.schedule)
            self._holding(gang)

    def _evicting(self, gang: Gang) -> None:
        owned = gang.request.rules.enforcement == enforce.GATE and gang.owner
        if gang.on_nodes() or gang.asked or (owned and gang.living()):
            return self._evict(gang)
        gang.slots, gang.asked, gang.refused = {}, {}, {}
        self._book.freed = True
        wait = min(self._loop.settings.backoff * 2**gang.failures, self._loop.settings.backoff_most)
        gang.failures += 1
        gang.not_before = self._loop.now + wait * (1 + self._loop.jitter / 2)
        self._loop.wake_at(gang, gang.not_before)
        self._loop.move(gang, Cause.PODS_GONE)
        return None

    def _evict(self, gang: Gang) -> None:
        """Asks its pods to leave, and again while some do not: it is safe to repeat."""
        if self._loop.now < gang.not_before:
            return
        for effect in enforce.evicted(gang, gang.cause.name if gang.cause is not None else ""):
            self._loop.say(effect)
        gang.not_before = self._loop.now + self._loop.settings.bind_again
        self._loop.wake_at(gang, gang.not_before)

    def _holding(self, gang: Gang) -> None:
        """A gang with places: out of time or luck it leaves them; else it goes on as its pods do."""
        rules = gang.request.rules
        if gang.request.suspended:
            return self._leave(gang, Cause.SUSPENDED)
        if rules.on_failure == "RestartGang" and any(pod.phase in _BROKEN for pod in gang.pods.values()):
            return self._leave(gang, Cause.POD_FAILED)
        if any(count >= self._loop.settings.bind_tries for count in gang.refused.values()):
            if gang.state is State.BINDING:
                return self._leave(gang, Cause.BIND_FAILED)
            self._rest(gang)
        if gang.deadline is not None and self._loop.now >= gang.deadline:
            return self._leave(gang, _TIMEOUTS[gang.state])
        if gang.state in _STARTED and not gang.pods:
            return self._vanished(gang)
        self._mend(gang)
        self._progress(gang)
        return None

    def _progress(self, gang: Gang) -> None:
        if gang.state not in HOLDING:
            return
        rules = gang.request.rules
        if gang.state is State.RESERVED and gang.has(_there(gang)):
            self._loop.move(gang, Cause.PODS_CAME, rules.schedule)
        self.release(gang)
        enough = gang.has(gang.counted())
        if enough:
            self._give_up_empty(gang)
        if gang.state is State.BINDING and enough:
            self._loop.move(gang, Cause.BOUND, rules.ready)
        if gang.state in (State.STARTING, State.RUNNING) and not enough:
            self._loop.move(gang, Cause.LOST, rules.recovery)
        if gang.state is State.DEGRADED and enough:
            self._loop.move(gang, Cause.RECOVERED, rules.ready)
        if gang.state is State.STARTING and gang.has(gang.counted(only_ready=True)):
            gang.failures = 0
            self._loop.move(gang, Cause.READY)

    def _give_up_empty(self, gang: Gang) -> None:
        """Places that nobody took for as long as a recovery may last are given back: the gang has become smaller."""
        latest = self._loop.now - gang.request.rules.recovery
        for name, listed in gang.slots.items():
            kept = [slot for slot in listed if slot.empty_since is None or slot.pod or slot.empty_since > latest]
            self._book.freed = self._book.freed or len(kept) < len(listed)
            gang.slots[name] = kept

    def _rest(self, gang: Gang) -> None:
        """A late pod that no node takes is left alone for a while; the gang runs without it."""
        tired = [key for key, count in gang.refused.items() if count >= self._loop.settings.bind_tries]
        for key in tired:
            del gang.refused[key]
            gang.resting[key] = self._loop.now + self._loop.settings.backoff_most
            self._loop.wake_at(gang, gang.resting[key])
        for name, listed in gang.slots.items():
            gang.slots[name] = [slot for slot in listed if slot.pod not in tired]

    def _vanished(self, gang: Gang) -> None:
        gang.slots, gang.asked = {}, {}
        gang.urgent = True
        self._book.freed = True
        self._loop.move(gang, Cause.PODS_VANISHED)

    def _leave(self, gang: Gang, cause: Cause) -> None:
        """The whole gang leaves its places. What is not bound stays and waits for the next turn."""
        self._loop.move(gang, cause)
        under_way = set(gang.asked)
        gang.slots = {name: [s for s in listed if s.pod in under_way] for name, listed in gang.slots.items()}
        gang.refused, gang.not_before = {}, self._loop.now
        self._evict(gang)
        gang.urgent = cause in (Cause.NODE_LOST, Cause.NO_REPAIR, Cause.RECOVERY_TIMEOUT)
        self._book.freed = True
        self._evicting(gang)

    # -- losses --------------------------------------------------------------------------------------------------

    def _mend(self, gang: Gang) -> None:
        """Places on nodes that are gone, and pods without a place, get new ones near the rest of the gang. (K-103)"""
        if self._still_leaving(gang):
            return
        for slot in gang.every_slot():
            slot.moved = slot.moved or (not self._is_used(gang, slot) and self._is_overfull(slot.node))
        gone = [slot for slot in gang.every_slot() if self._is_lost(gang, slot)]
        extra = self._without_place(gang)
        if not gone and not extra:
            return
        if gang.state is State.RESERVED or not self._survivors(gang).nodes:
            if gone and gang.state in (State.RESERVED, State.BINDING):
                self._leave(gang, Cause.NODE_LOST)
            return
        beside = repair.beside(gang.request)
        all_lost = {(slot.pod_set, slot.number) for slot in (*gone, *extra)}
        lost: dict[str, list[Slot]] = {}
        for slot in (*gone, *extra):
            place = (slot.pod_set, slot.number)
            if all(other not in all_lost or place < other for other, _ in beside.get(place, ())):
                lost.setdefault(slot.pod_set, []).append(slot)
            else:
                self._book.needy[gang.id] = None  # once the one it must be near has a place
        self._replace(gang, lost)

    def _is_lost(self, gang: Gang, slot: Slot) -> bool:
        """Whether a place is no place any more: its node went or moved, and nobody is on the way there."""
        return slot.moved and not slot.done and not self._is_used(gang, slot)

    def _is_used(self, gang: Gang, slot: Slot) -> bool:
        """Whether somebody is there, or on the way."""
        return slot.pod is not None and (slot.pod in gang.asked or bool(gang.pods[slot.pod].node))

    def _is_overfull(self, node: str) -> bool:
        """Whether others have taken the room that was kept there."""
        free = self._book.board.free([node])
        return any(left < 0 for left in free.get(node, {}).values())

    def _still_leaving(self, gang: Gang) -> bool:
        """Whether pods of a group that is to move are still there; they are asked to go again while they are."""
        there = [gang.pods[slot.pod] for slot in gang.every_slot() if slot.leaving and slot.pod is not None]
        for pod in there:
            if self._is_due(gang, pod):
                gang.asked[pod.key] = self._loop.now
                self._loop.say(Evict(gang.id, pod.key, Cause.NO_REPAIR.name))
                self._loop.wake_at(gang, self._loop.now + self._loop.settings.bind_again)
        return bool(there)

    def _move_unit(self, gang: Gang, lost: dict[str, list[Slot]]) -> None:
        """The smallest group around the lost places that has room elsewhere, near what is around it, moves there whole.

        Its pods are asked to go only if a place for all of it is there already; where it goes is decided when they
        are gone. The gang itself is the last of these units, and leaves when its recovery takes too long.
        """
        for group in repair.units(gang.request.root, lost):
            inside = {pods.name for pods in group.pod_sets()}
            held = self._survivors(gang)
            rest = replace(held, nodes={name: nodes for name, nodes in held.nodes.items() if name not in inside})
            whole = {name: [s for s in gang.slots.get(name, ()) if not s.done] for name in sorted(inside)}
            wanted = repair.asked(gang.request, {name: listed for name, listed in whole.items() if listed}, rest)
            way = None if wanted is None or not rest.nodes else self._loop.turns.more(gang, wanted, {})
            if way is not None and isinstance(decide(self._book.board, way, self._loop.policy), Placed):
                for slot in (slot for listed in whole.values() for slot in listed):
                    slot.leaving = slot.pod is not None and bool(gang.pods[slot.pod].node)
                    slot.moved = slot.moved or not slot.leaving
                self._still_leaving(gang)
                return

    def _without_place(self, gang: Gang) -> list[Slot]:
        """A new place for each pod that has none to take over: late and extra ones. (M-025)"""
        if gang.state not in _STARTED or gang.request.rules.on_failure == "None":
            return []
        self._assign(gang)
        taken = {slot.pod for slot in gang.every_slot()}
        found: list[Slot] = []
        for pod in gang.living():
            if pod.key in taken or pod.pod_set is None or gang.resting.get(pod.key, 0) > self._loop.now:
                continue
            slot = Slot(pod.pod_set, _number(gang, pod, found), pod.node, pod.key)
            if pod.node:
                gang.slots.setdefault(pod.pod_set, []).append(slot)
            else:
                found.append(slot)
        return found

    def _survivors(self, gang: Gang) -> Survivors:
        nodes: dict[str, dict[int, str]] = {}
        for slot in gang.every_slot():
            if not slot.done and slot.node in self._book.nodes and not self._is_lost(gang, slot):
                nodes.setdefault(slot.pod_set, {})[slot.number] = slot.node
        return Survivors(self._tree(gang), nodes, repair.beside(gang.request))

    def _replace(self, gang: Gang, lost: dict[str, list[Slot]]) -> None:
        """New nodes for these places, all or none; without room or quota they are tried again when some comes free."""
        survivors = self._survivors(gang)
        wanted = repair.asked(gang.request, lost, survivors)
        if wanted is None:
            return
        self._loop.rebook(gang)
        new = {name: sum(slot not in gang.slots.get(name, ()) for slot in listed) for name, listed in lost.items()}
        way = self._loop.turns.more(gang, wanted, new)
        decision = None if way is None else decide(self._book.board, way, self._loop.policy)
        self._loop.decisions += [] if decision is None else [decision]
        if not isinstance(decision, Placed):
            self._book.needy[gang.id] = None
            if gang.state is State.DEGRADED:
                self._move_unit(gang, lost)
            return
        nodes = repair.given(gang.request, lost, survivors, decision.placement)
        for slot in (slot for slots_lost in lost.values() for slot in slots_lost):
            slot.node, slot.moved = nodes[slot.pod_set, slot.number], False
            if slot.pod is not None and slot.pod in gang.pods and gang.pods[slot.pod].node:
                slot.pod = None  # it is lost with its node; another one will come
            if slot not in gang.slots.setdefault(slot.pod_set, []):
                gang.slots[slot.pod_set].append(slot)
        self._loop.rebook(gang)


def _free(listed: list[Slot], pod: Pod, offset: int | None) -> Slot | None:
    """The place a pod takes: that of its rank where ranks are counted, else the first without a pod."""
    free = [slot for slot in listed if slot.pod is None and not slot.done]
    if pod.rank is not None and offset is not None:
        return next((slot for slot in free if slot.number == pod.rank - offset), None)
    return free[0] if free else None


def _slots_of(gang: Gang, bound: list[Pod]) -> dict[str, list[Slot]]:
    """Places for pods that are on nodes already, numbered by their ranks where these are counted."""
    offsets = slots.offsets(gang.request)
    found: dict[str, list[Slot]] = {}
    for pod in bound:
        if pod.pod_set is not None:
            listed = found.setdefault(pod.pod_set, [])
            ranked = pod.rank is not None and pod.pod_set in offsets
            number = (pod.rank or 0) - offsets[pod.pod_set] if ranked else len(listed)
            listed.append(Slot(pod.pod_set, number, pod.node, pod.key))
    return found


def _there(gang: Gang) -> dict[str, int]:
    return {name: seen.alive + seen.succeeded for name, seen in gang.seen().items()}


def _number(gang: Gang, pod: Pod, more: list[Slot]) -> int:
    """The number of a new place: that of the pod's rank where ranks are counted, else the next one."""
    offsets = slots.offsets(gang.request)
    if pod.rank is not None and pod.pod_set in offsets:
        return pod.rank - offsets[pod.pod_set]
    numbers = [slot.number for slot in (*gang.slots.get(pod.pod_set or "", ()), *more) if slot.pod_set == pod.pod_set]
    return max(numbers, default=-1) + 1
