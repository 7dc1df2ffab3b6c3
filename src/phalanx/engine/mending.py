"""Places that were lost, and pods that come late: new places for them near the rest of their gang.

Three steps, each larger than the one before: the lost places alone, the smallest group around them that has room
elsewhere, and, when recovery takes too long, the gang (``reactions``).
"""

from dataclasses import replace

from phalanx.engine import repair, seating
from phalanx.engine.book import Book
from phalanx.engine.decide import decide
from phalanx.engine.gangs import STARTED, Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.loop import Loop
from phalanx.engine.repair import Survivors
from phalanx.engine.slots import Slot
from phalanx.model.decision import Placed
from phalanx.model.effects import Evict


class Mending:
    def __init__(self, book: Book, loop: Loop) -> None:
        self._book = book
        self._loop = loop

    def mend(self, gang: Gang) -> bool:
        """Places on nodes that are gone, and pods without a place, get new ones near the rest of the gang. (K-103)

        False: its places are gone before it has started, and nothing is left to be near to.
        """
        if self._still_leaving(gang):
            return True
        for slot in gang.every_slot():
            slot.moved = slot.moved or (not self._is_used(gang, slot) and self._is_overfull(slot.node))
        gone = [slot for slot in gang.every_slot() if self._is_lost(gang, slot)]
        extra = self._without_place(gang)
        if not gone and not extra:
            return True
        if gang.state is State.RESERVED or not self._survivors(gang).nodes:
            return not gone or gang.state not in (State.RESERVED, State.BINDING)
        self._replace(gang, self._in_turn(gang, [*gone, *extra]))
        return True

    def _in_turn(self, gang: Gang, wanted: list[Slot]) -> dict[str, list[Slot]]:
        """The places to find now. One that must be near another that is lost too waits until that one has a place."""
        beside = repair.beside(gang.request)
        all_lost = {(slot.pod_set, slot.number) for slot in wanted}
        lost: dict[str, list[Slot]] = {}
        for slot in wanted:
            place = (slot.pod_set, slot.number)
            if all(other not in all_lost or place < other for other, _ in beside.get(place, ())):
                lost.setdefault(slot.pod_set, []).append(slot)
            else:
                self._book.needy[gang.id] = None
        return lost

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
            if seating.is_due(gang, pod, self._loop.now, self._loop.settings.bind_again):
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
        if gang.state not in STARTED or gang.request.rules.on_failure == "None":
            return []
        seating.assign(gang)
        taken = {slot.pod for slot in gang.every_slot()}
        found: list[Slot] = []
        for pod in gang.living():
            if pod.key in taken or pod.pod_set is None or gang.resting.get(pod.key, 0) > self._loop.now:
                continue
            slot = Slot(pod.pod_set, seating.number(gang, pod, found), pod.node, pod.key)
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
        return Survivors(self._book.board.draft(gang.request.topology).tree, nodes, repair.beside(gang.request))

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
