"""What a gang does about what happened to it: its pods came, went, failed, its node is gone, its clock ran out."""

from phalanx.engine import enforce, growing, nodechanges, seating, sizing, slots
from phalanx.engine.book import Book
from phalanx.engine.gangs import HOLDING, STARTED, Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.loop import Loop
from phalanx.engine.mending import Mending
from phalanx.engine.slots import Slot
from phalanx.model.effects import Evict
from phalanx.model.events import Answer, BindAnswered, Ending, SuspendRefused
from phalanx.model.pods import Pod
from phalanx.order.admission import is_drained

_TIMEOUTS = {
    State.RESERVED: Cause.SCHEDULE_TIMEOUT,
    State.BINDING: Cause.SCHEDULE_TIMEOUT,
    State.STARTING: Cause.READY_TIMEOUT,
    State.DEGRADED: Cause.RECOVERY_TIMEOUT,
}
_ENDINGS = {Ending.DELETED: Cause.DELETED, Ending.SUCCEEDED: Cause.COMPLETED, Ending.FAILED: Cause.FAILED}


class Reactions:
    def __init__(self, book: Book, loop: Loop) -> None:
        self._book = book
        self._loop = loop
        self._mending = Mending(book, loop)

    # -- one gang ------------------------------------------------------------------------------------------------

    def react(self, gang: Gang) -> None:
        """Follows one gang as far as what happened carries it. The board holds what it holds in the end."""
        self._tidy(gang)
        if gang.gone:
            return self._deleted(gang)
        if gang.state is State.FINISHED and gang.id in self._book.renewed:
            self._loop.move(gang, Cause.CHANGED)
        if gang.state is State.FINISHED and gang.living():
            self._loop.move(gang, Cause.MORE_WORK)  # as of a Job that works in turns
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
        if gang.state in HOLDING:
            self._loop.let_go(gang)
        self._loop.rebook(gang)
        return None

    def take_stock(self, gang: Gang) -> None:
        """Books what the gang is seen to hold, before anybody does anything about it."""
        if gang.state is State.QUEUED and (gang.on_nodes() or gang.sent()):
            gang.take_flavor(self._loop.turns.flavor_of(gang))
        self._loop.rebook(gang)

    def _deleted(self, gang: Gang) -> None:
        """It was deleted, or is over: it keeps room and quota while its pods leave, and while one of them may still be
        bound."""
        if gang.state is not State.FINISHED:
            self._loop.turns.leave(gang.id)
            how = Ending.DELETED if gang.end is None else gang.end.how
            self._loop.move(gang, _ENDINGS[how], gang.request.rules.schedule)
            gang.keep_under_way()
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
        gang.refuse(event.key)
        self._book.touched[gang.id] = None

    def suspend_refused(self, event: SuspendRefused) -> None:
        """What makes the pods of a gang that leaves may not be suspended: its pods are deleted instead."""
        gang = self._book.gangs.get(event.gang)
        if gang is not None:
            gang.refuse_hold(self._loop.now)

    def _completed(self, gang: Gang) -> bool:
        """Whether all of its work is done: nobody is left, and as many as must have succeeded."""
        if gang.living() or any(pod.leaving and not pod.ended for pod in gang.pods.values()):
            return False
        done = {name: seen.succeeded for name, seen in gang.seen().items()}
        if not any(done.values()) or not gang.has(done):
            return False
        if gang.state is not State.FINISHED:
            self._loop.turns.leave(gang.id)
            gang.finish()
            self._loop.move(gang, Cause.COMPLETED)
            self._book.freed = True
        self._loop.rebook(gang)
        return True

    # -- places --------------------------------------------------------------------------------------------------

    def _tidy(self, gang: Gang) -> None:
        """Places follow their pods: kept for one that will be made again, free when it has succeeded."""
        gang.follow_sets()
        living = {pod.key: pod for pod in gang.living()}
        for key in [key for key in gang.asked if key not in gang.pods or gang.pods[key].node]:
            gang.answer(key)
        lost = self._lost(gang)
        for slot in gang.every_slot():
            if (slot.pod_set, slot.node) in lost or slot.node not in self._book.nodes:
                slot.lose_node()
            if slot.pod is None:
                continue
            pod = gang.pods.get(slot.pod)
            if pod is not None and pod.phase == "Succeeded":
                slot.succeed()
            elif slot.done or slot.pod in self._book.collected:
                slot.forget_pod()
            elif slot.pod not in living and not gang.is_leaving(slot.pod):
                slot.lose_pod(self._loop.now)
                self._loop.wake_at(gang, self._loop.now + gang.request.rules.recovery)
            elif slot.pod in living and living[slot.pod].node and living[slot.pod].node != slot.node:
                slot.follow(living[slot.pod])
        self._drop_unwanted(gang)

    def _lost(self, gang: Gang) -> set[nodechanges.Spot]:
        """Places that are none any more, for their nodes changed."""
        spots = {(slot.pod_set, slot.node) for slot in gang.every_slot() if slot.node in self._book.changed}
        return nodechanges.lost(self._book, self._loop.turns.on_flavor(gang), spots) if spots else set()

    def _drop_unwanted(self, gang: Gang) -> None:
        """Sets that were taken out of the manifest have no places, but for pods that may still be bound there."""
        for name in sorted(gang.slots.keys() - gang.wanted()):
            self._keep(gang, name, [slot for slot in gang.slots[name] if slot.pod in gang.asked])

    def release(self, gang: Gang) -> None:
        """Gives every place without a pod the next pod it can have, and asks for what is not bound yet."""
        if gang.state not in STARTED:
            return
        seating.assign(gang)
        if self._waits_for_all(gang):
            return
        tree = self._book.board.draft(gang.request.topology).tree
        offsets = slots.offsets(gang.request)
        tolerations = self._loop.turns.tolerations(gang)
        unbegun = self._unbegun(gang)
        for slot in gang.every_slot():
            pod = gang.pods.get(slot.pod) if slot.pod is not None else None
            if pod is None or pod.node or pod.leaving:
                continue
            if not seating.is_due(gang, pod, self._loop.now, self._loop.settings.bind_again):
                continue
            if slot.moved:
                self._call_back(gang, pod)
                continue
            if enforce.is_released(gang, pod) or slot.node not in self._book.nodes:
                continue
            if slot.pod_set in unbegun and not slot.sent:
                continue
            gang.ask_for(pod.key, self._loop.now)
            slot.send()
            rank = offsets[slot.pod_set] + slot.number if slot.pod_set in offsets else pod.rank
            self._loop.say(enforce.released(gang, pod, slot, rank, tree, tolerations))
            self._loop.wake_at(gang, self._loop.now + self._loop.settings.bind_again)

    def _unbegun(self, gang: Gang) -> set[str]:
        """Sets to whose places nobody was sent, and that lack pods to begin with: of places that were found ahead of
        their pods, in a part that the gang can do without."""
        for slot in gang.every_slot():
            pod = gang.pods.get(slot.pod) if slot.pod is not None else None
            there = pod is not None and (pod.key in gang.asked or enforce.is_released(gang, pod))
            if there:
                slot.send()
        return self._too_few(gang, [slot for slot in gang.every_slot() if slot.pod is not None])

    def _too_few(self, gang: Gang, places: list[Slot]) -> set[str]:
        """Sets in which nobody is and that these places are too few to begin."""
        new = [slot for slot in places if not slot.sent and not slot.done]
        kept = growing.whole(gang.request.root, new, gang.places(only_sent=True)) if new else []
        return {slot.pod_set for slot in new} - {slot.pod_set for slot in kept}

    def _waits_for_all(self, gang: Gang) -> bool:
        """Whether replacements wait until the whole set is there again: its rule, while some are missing. (W-153)"""
        if gang.request.rules.on_failure != "None" or gang.state is State.BINDING:
            return False
        return any(slot.pod is None and not slot.done for slot in gang.every_slot())

    def _call_back(self, gang: Gang, pod: Pod) -> None:
        """A pod on its way to a node that is gone, or in another domain by now: better none than one there."""
        if pod.key not in gang.asked:
            return
        gang.ask_for(pod.key, self._loop.now)
        self._loop.say(Evict(gang.id, pod.key, Cause.NODE_LOST.name))
        self._loop.wake_at(gang, self._loop.now + self._loop.settings.bind_again)

    # -- states --------------------------------------------------------------------------------------------------

    def _queued(self, gang: Gang) -> None:
        """A gang that was not told to start but has pods on nodes or on their way to one: somebody else, or we before a
        restart, did that."""
        if gang.cause is None and gang.hold.is_ours and gang.on_nodes():
            return self._go_on_leaving(gang)
        on_their_way = gang.under_way()
        there = [*gang.bound(), *on_their_way]
        if not there or gang.has(gang.counted()):
            gang.forgive_failures()
        if not there:
            return self._forget_places(gang)
        self._loop.turns.leave(gang.id)
        others = {name: listed for name, listed in gang.slots.items() if name not in gang.wanted()}
        seated = seating.found(gang, there, self._book.board.draft(gang.request.topology).tree)
        gang.find_running(others | seated, {pod.key: self._loop.now for pod in on_their_way})
        rules = gang.request.rules
        if gang.has(gang.counted()):
            self._loop.move(gang, Cause.FOUND_RUNNING, rules.ready)
        elif gang.bound() and all(pod.ready for pod in gang.bound()):
            self._loop.move(gang, Cause.FOUND_BROKEN, rules.recovery)  # it ran: what is released now is not all ready
        else:
            self._loop.move(gang, Cause.FOUND_HALF, rules.schedule)
        return self._holding(gang)

    def _go_on_leaving(self, gang: Gang) -> None:
        """A scheduler before us was taking it off its nodes."""
        self._loop.turns.leave(gang.id)
        self._loop.move(gang, Cause.FOUND_HALF, gang.request.rules.schedule)
        self._leave(gang, Cause.SUSPENDED)

    def _forget_places(self, gang: Gang) -> None:
        """Nobody can come to the places that are left of an earlier life."""
        self._book.freed = self._book.freed or any(gang.slots.values())
        gang.drop_places()

    def _evicting(self, gang: Gang) -> None:
        gang.forgive_failures()
        owned = gang.request.rules.enforcement == enforce.GATE and gang.owner is not None
        held = owned or gang.hold.is_whole
        awaited = gang.hold.is_awaited(self._loop.heard, self._loop.settings.suspension)
        if self._waits_for_pods_to_leave(gang) or gang.asked or awaited or (held and gang.living()):
            return self._evict(gang)
        self._book.freed = True
        wait = min(self._loop.settings.backoff * 2**gang.failures, self._loop.settings.backoff_most)
        gang.be_gone(self._loop.now + wait * (1 + self._loop.jitter / 2))
        self._loop.wake_at(gang, gang.not_before)
        self._loop.move(gang, Cause.PODS_GONE)
        return None

    def _waits_for_pods_to_leave(self, gang: Gang) -> bool:
        """Whether pods are still there. For one that was told to go and does not, as on a node that is dead, nobody
        waits longer than for a start: it keeps its room, and the gang may start beside it."""
        there = gang.on_nodes()
        late = self._loop.now >= gang.entered + gang.request.rules.schedule
        return bool(there) and not (late and all(pod.leaving for pod in there))

    def _evict(self, gang: Gang) -> None:
        """Asks its pods to leave, and again while some do not: it is safe to repeat."""
        if self._loop.now < gang.not_before:
            return
        cause = gang.cause.name if gang.cause is not None else ""
        for effect in enforce.evicted(gang, cause, self._loop.heard, self._loop.settings.suspension):
            self._loop.say(effect)
        gang.call_again(self._loop.now + self._loop.settings.bind_again)
        self._loop.wake_at(gang, gang.not_before)

    def _holding(self, gang: Gang) -> None:
        """A gang with places: out of time or luck it leaves them; else it goes on as its pods do."""
        rules = gang.request.rules
        if gang.is_held_back:
            return self._leave(gang, Cause.SUSPENDED)
        if is_drained(gang.request, self._book.queues):
            return self._leave(gang, Cause.DRAINED)
        if rules.on_failure == "RestartGang" and gang.broken() - gang.past:
            return self._leave(gang, Cause.POD_FAILED)
        if any(count >= self._loop.settings.bind_tries for count in gang.refused.values()):
            if gang.state is State.BINDING:
                return self._leave(gang, Cause.BIND_FAILED)
            self._rest(gang)
        if self._is_late(gang):
            return self._leave(gang, _TIMEOUTS[gang.state])
        if gang.state in STARTED and not gang.pods:
            return self._vanished(gang)
        if self._is_to_start_over(gang):
            return self._leave(gang, Cause.NODE_LOST)
        if not self._mending.mend(gang):
            return self._leave(gang, Cause.NODE_LOST)
        self._progress(gang)
        return None

    def _is_late(self, gang: Gang) -> bool:
        """Whether its clock ran out, and what it waits for has not come: what was heard counts before the clock, and a
        clock counts only once all that happened until then was heard."""
        if gang.deadline is None or self._loop.now < gang.deadline or self._has_come(gang):
            return False
        if self._loop.heard < gang.deadline:
            self._loop.wake_at(gang, gang.deadline)
            return False
        return True

    def _has_come(self, gang: Gang) -> bool:
        """Whether what the clock of its state waits for is there."""
        if gang.state is State.RESERVED:
            return sizing.can_start(gang.request, gang.seen())
        return gang.has(gang.counted(only_ready=gang.state is State.STARTING))

    def _is_to_start_over(self, gang: Gang) -> bool:
        """Whether pods are on their way to a node that is gone, and their owner makes all of them anew: a Job counts
        each pod that is deleted under it as a failure, and makes the next one only after a while. (K-068)"""
        owned = gang.request.rules.enforcement == enforce.GATE and gang.owner is not None
        if not owned or gang.state is not State.BINDING:
            return False
        return any(slot.moved and slot.pod in gang.asked for slot in gang.every_slot())

    def _progress(self, gang: Gang) -> None:
        if gang.state not in HOLDING:
            return
        rules = gang.request.rules
        if gang.state is State.RESERVED and sizing.can_start(gang.request, gang.seen()):
            self._loop.move(gang, Cause.PODS_CAME, rules.schedule)
        self.release(gang)
        if gang.kept is not None and gang.has_grown():
            gang.grow_up()
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
            gang.become_ready()
            self._loop.move(gang, Cause.READY)

    def _give_up_empty(self, gang: Gang) -> None:
        """Places that nobody took for as long as a recovery may last are given back: the gang has become smaller."""
        for slot in gang.every_slot():
            if slot.pod is None and slot.empty_since is None and not slot.done:
                slot.stay_empty(self._loop.now)  # found ahead
                self._loop.wake_at(gang, self._loop.now + gang.request.rules.recovery)
        for name, listed in list(gang.slots.items()):
            self._keep(gang, name, [slot for slot in listed if not self._is_long_empty(slot, gang)])
        for name in self._too_few(gang, list(gang.every_slot())):
            self._keep(gang, name, [slot for slot in gang.slots[name] if slot.sent or slot.done])

    def _is_long_empty(self, slot: Slot, gang: Gang) -> bool:
        """Its clock rings at just this sum: a difference would be another number, and nobody would come again."""
        recovery = gang.request.rules.recovery
        return slot.pod is None and slot.empty_since is not None and slot.empty_since + recovery <= self._loop.now

    def _keep(self, gang: Gang, name: str, kept: list[Slot]) -> None:
        """Of the places of a set only these are left."""
        self._book.freed = gang.keep_places(name, kept) or self._book.freed

    def _rest(self, gang: Gang) -> None:
        """A late pod that no node takes is left alone for a while: a long one, if the gang can run without it."""
        seconds = self._loop.settings.backoff_most if gang.has(gang.counted()) else self._loop.settings.backoff
        tired = [key for key, count in gang.refused.items() if count >= self._loop.settings.bind_tries]
        gang.rest(tired, self._loop.now + seconds)
        if tired:
            self._loop.wake_at(gang, self._loop.now + seconds)
        self._book.freed = True

    def _vanished(self, gang: Gang) -> None:
        gang.vanish()
        self._book.freed = True
        self._loop.move(gang, Cause.PODS_VANISHED)

    def _leave(self, gang: Gang, cause: Cause) -> None:
        """The whole gang leaves its places. What is not bound stays and waits for the next turn."""
        self._loop.move(gang, cause)
        gang.leave(cause, self._loop.now)
        self._evict(gang)
        self._book.freed = True
        self._evicting(gang)
