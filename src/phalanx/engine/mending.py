"""Places that were lost, and pods that come late: new places for them near the rest of their gang.

Three steps, each larger than the one before: the lost places alone, the smallest group around them that has room
elsewhere, and, when recovery takes too long, the gang (``reactions``).
"""

from collections import Counter
from dataclasses import replace

from phalanx.engine import growing, nearby, pins, repair, seating, sizing, torn
from phalanx.engine.book import Book
from phalanx.engine.gangs import STARTED, Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.loop import Loop
from phalanx.engine.repair import Survivors
from phalanx.engine.slots import Slot
from phalanx.model.decision import Decision, Placed, Waiting
from phalanx.model.effects import Evict, Report
from phalanx.model.reasons import Reason, Why
from phalanx.model.request import Missing, Request

MOVES = "GROUP_MOVES"  # why pods of a part are asked to go while the rest of their gang stays
WHOLE = "Gang"  # the disruption of gangs of which no part is moved while the rest stays


class Mending:
    def __init__(self, book: Book, loop: Loop) -> None:
        self._book = book
        self._loop = loop

    def mend(self, gang: Gang) -> bool:
        """Places on nodes that are gone, and pods without a place, get new ones near the rest of the gang. (K-103)

        False: its places are gone before it has started, and nothing is left to be near to.
        """
        self._see_levels(gang)
        if self._still_leaving(gang) or gang.spoiled:
            return True  # whose manifest is wrong keeps the places it has: its levels may be none any more
        before = gang.lack
        gang.note_lack(None)
        mended = self._mended(gang)
        if gang.lack is None or gang.lack.type is Why.PODS_MISSING:
            return mended  # pods that come one after the other lack each other for a moment
        if before is None or before.type is not gang.lack.type:
            self._loop.say(Report(gang.id, gang.state, "", gang.lack, self._loop.now))
        return mended

    def _see_levels(self, gang: Gang) -> None:
        """Whether it keeps its required levels, told when that changes: its nodes may have other labels by now."""
        broken = torn.found(gang, self._book.board.draft(gang.request.topology).tree)
        if gang.note_levels(broken):
            self._loop.say(Report(gang.id, gang.state, "", None, self._loop.now))

    def _mended(self, gang: Gang) -> bool:
        if gang.state in STARTED and seating.assign(gang):
            self._loop.rebook(gang)  # a pod may ask for more than the one before it
        self._follow_pins(gang)
        for slot in gang.every_slot():
            if not slot.moved and self._is_to_be_asked(gang, slot) and self._is_overfull(slot.node):
                slot.lose_node()
        gone = [slot for slot in gang.every_slot() if self._is_lost(gang, slot)]
        extra = self._without_place(gang)
        if not gone and not extra:
            return True
        stands = bool(self._survivors(gang).nodes) or gang.has(gang.counted())  # those that succeeded are near nobody
        if gang.state is State.RESERVED or not stands:
            return not gone or gang.state not in (State.RESERVED, State.BINDING)
        self._find_places(gang, [*gone, *self._joinable(gang, extra)])
        return True

    def _follow_pins(self, gang: Gang) -> None:
        """Pods that can only go to another node than their place have that one, or are called back. Whether there is
        room for them is seen when nobody has bound them for a while."""
        strayed = list(pins.elsewhere(gang))
        tree = self._book.board.draft(gang.request.topology).tree
        for slot, pod in strayed:
            is_good = pins.keeps_levels(gang.request, slot, pod.pinned, tree)
            slot.follow_pin(pod, is_good)
            gang.ask_for(pod.key, self._loop.now)
            if not is_good:
                self._loop.say(Evict(gang.id, pod.key, Cause.NODE_LOST.name))
            self._loop.wake_at(gang, self._loop.now + self._loop.settings.bind_again)
        if strayed:
            self._loop.rebook(gang)

    def _joinable(self, gang: Gang, extra: list[Slot]) -> list[Slot]:
        """New places that can be found. A gang that has its minimum does not grow where it is in two domains by now,
        and what has not begun waits for as many pods as it needs."""
        survivors = self._survivors(gang)
        found = growing.joinable(gang.request, extra, survivors) if survivors.whole else extra
        if len(found) < len(extra):
            self._book.needy[gang.id] = None
        whole = growing.whole(gang.request.root, found, survivors.places)
        waiting = {slot.pod_set for slot in found} - {slot.pod_set for slot in whole}
        if waiting:
            lack = sizing.lacking(gang.request.root, waiting, survivors.places, gang.seen())
            gang.note_lack(None if lack is None else gang.lacks(lack))
        return whole

    def _find_places(self, gang: Gang, wanted: list[Slot]) -> None:
        """New places for these. What has not begun gets as many as it needs, or gives back those that were found."""
        self._loop.rebook(gang)
        places, new = gang.places(), [slot for slot in wanted if repair.is_new(slot)]
        self._look_for(gang, wanted)
        found = [slot for slot in new if not repair.is_new(slot)]
        kept = growing.whole(gang.request.root, found, places)
        if len(kept) < len(found):
            gang.give_back(slot for slot in found if not any(slot is one for one in kept))
            self._book.needy[gang.id] = None  # they are looked for again when room comes free
            self._loop.rebook(gang)

    def _look_for(self, gang: Gang, wanted: list[Slot]) -> None:
        """Turn by turn, until nothing more is found. Where none of a set is found, the rest of it is not looked for."""
        while wanted and (turn := self._in_turn(gang, wanted)):
            lost = self._affordable(gang, turn)
            found = self._replace(gang, lost) if lost else []
            if found is None:
                return
            hopeless = () if found else (lost or turn)
            wanted = [s for s in wanted if s.pod_set not in hopeless and not any(s is one for one in found)]

    def _in_turn(self, gang: Gang, wanted: list[Slot]) -> dict[str, list[Slot]]:
        """The places to find now. One that must be near another that is lost too waits until that one has a place, and
        one that must be apart from others, or is in another slice of slices, until they have theirs; a slice that
        lacks pods is begun when the others are found."""
        beside = repair.beside(gang.request)
        all_lost = {(slot.pod_set, slot.number) for slot in wanted}
        apart = self._kept_apart(gang)
        pieces = growing.fragments(gang.request, wanted, self._survivors(gang))
        lost: dict[str, list[Slot]] = {}
        for slot in wanted:
            place, group = (slot.pod_set, slot.number), apart.get(slot.pod_set, frozenset())
            near = all(other not in all_lost or place < other for other, _ in beside.get(place, ()))
            if (
                near
                and place not in pieces
                and not group & lost.keys()
                and repair.in_one_slice(gang.request, [*lost.get(slot.pod_set, ()), slot])
            ):
                lost.setdefault(slot.pod_set, []).append(slot)
            else:
                self._book.needy[gang.id] = None
        return lost

    def _affordable(self, gang: Gang, turn: dict[str, list[Slot]]) -> dict[str, list[Slot]]:
        """These places without the new ones that the queue has no quota for. A lost place takes no more than it did."""
        kept = [slot for listed in turn.values() for slot in listed if not repair.is_new(slot)]
        survivors, new, short = self._survivors(gang), Counter[str](), set[str]()
        for bundle in growing.bundles(gang.request, turn, survivors):
            more = new + Counter(slot.pod_set for slot in bundle)
            if short.isdisjoint(slot.pod_set for slot in bundle) and self._loop.turns.has_quota(gang, more):
                kept += bundle
                new = more
            else:
                short |= {slot.pod_set for slot in bundle}
                gang.note_lack(self._loop.turns.no_quota(gang, more))
                self._book.needy[gang.id] = None
                if not survivors.whole:
                    break  # first what it cannot do without
        found: dict[str, list[Slot]] = {}
        for slot in kept:
            found.setdefault(slot.pod_set, []).append(slot)
        return found

    def _kept_apart(self, gang: Gang) -> dict[str, frozenset[str]]:
        """Pod sets of groups that are spread and of which some pods run, each with all sets of its group."""
        running = self._survivors(gang).nodes
        found: dict[str, frozenset[str]] = {}
        for group in gang.request.root.groups():
            sets = frozenset(pods.name for pods in group.pod_sets())
            if group.spread is not None and sets & running.keys():
                found |= dict.fromkeys(sets, sets)
        return found

    def _is_lost(self, gang: Gang, slot: Slot) -> bool:
        """Whether a place is no place any more: its node went or moved, and nobody is on the way there."""
        return slot.moved and not slot.done and not self._is_used(gang, slot)

    def _is_used(self, gang: Gang, slot: Slot) -> bool:
        """Whether somebody is there, or on the way."""
        return slot.pod is not None and (slot.pod in gang.asked or bool(gang.pods[slot.pod].node))

    def _is_to_be_asked(self, gang: Gang, slot: Slot) -> bool:
        """Whether nobody is there, and nobody was sent, or so long ago that he is to be sent again."""
        pod = gang.pods[slot.pod] if slot.pod is not None else None
        if pod is None:
            return True
        return not pod.node and seating.is_due(gang, pod, self._loop.now, self._loop.settings.bind_again)

    def _is_overfull(self, node: str) -> bool:
        """Whether others have taken the room that was kept there."""
        free = self._book.board.free([node])
        return any(left < 0 for left in free.get(node, {}).values())

    def _still_leaving(self, gang: Gang) -> bool:
        """Whether pods of a group that is to move are still there; they are asked to go again while they are."""
        there = [gang.pods[slot.pod] for slot in gang.every_slot() if slot.leaving and slot.pod is not None]
        for pod in there:
            if seating.is_due(gang, pod, self._loop.now, self._loop.settings.bind_again):
                gang.ask_for(pod.key, self._loop.now)
                self._loop.say(Evict(gang.id, pod.key, MOVES))
                self._loop.wake_at(gang, self._loop.now + self._loop.settings.bind_again)
        return bool(there)

    def _move_unit(self, gang: Gang, lost: dict[str, list[Slot]]) -> None:
        """The smallest group around the lost places that has room elsewhere, near what is around it, moves there whole.

        Its pods are asked to go only if a place for all of it is there already; where it goes is decided when they
        are gone. The gang itself is the last of these units, and leaves when its recovery takes too long; it is the
        only one where its rule says that it goes together. (W-209)
        """
        if gang.request.rules.disruption == WHOLE:
            return
        for group in repair.units(gang.request.root, lost, self._survivors(gang)):
            inside = {pods.name for pods in group.pod_sets()}
            held = self._survivors(gang)
            rest = replace(held, nodes={name: nodes for name, nodes in held.nodes.items() if name not in inside})
            whole = {name: [s for s in gang.slots.get(name, ()) if not s.done] for name in sorted(inside)}
            wanted = repair.asked(gang.asks(), {name: listed for name, listed in whole.items() if listed}, rest)
            way = None if wanted is None or not rest.nodes else self._loop.turns.more(gang, wanted, {})
            if way is not None and isinstance(self._loop.decide(way), Placed):
                for slot in (slot for listed in whole.values() for slot in listed):
                    slot.vacate(slot.pod is not None and bool(gang.pods[slot.pod].node))
                self._still_leaving(gang)
                return

    def _without_place(self, gang: Gang) -> list[Slot]:
        """A new place for each pod that has none to take over: late and extra ones. (M-025)"""
        if gang.state not in STARTED:
            return []
        seating.assign(gang)
        wanted, taken = gang.wanted(), {slot.pod for slot in gang.every_slot()}
        soon = Counter(slot.pod_set for slot in gang.every_slot() if slot.pod is not None and gang.is_leaving(slot.pod))
        open_sets, found = self._open_sets(gang), list[Slot]()
        for pod in gang.living():
            if pod.key in taken or pod.pod_set not in wanted or gang.resting.get(pod.key, 0) > self._loop.now:
                continue
            if not pod.node and soon[pod.pod_set] > 0:
                soon[pod.pod_set] -= 1  # it takes the place of one that is leaving
                continue
            # where somebody else put it, or it came back to, is right for this pod and perhaps for no other
            slot = Slot(pod.pod_set, seating.number(gang, pod, found), pod.node, pod.key, moved=bool(pod.node))
            if pod.node:
                gang.add_place(slot)
            elif pod.pod_set in open_sets:
                found.append(slot)
            else:
                gang.note_lack(self._rest_of(gang, pod.pod_set))
        return found

    def _open_sets(self, gang: Gang) -> set[str]:
        """The pod sets that may have new places: all, or, where its rule says that late pods wait for the whole set,
        those of which every pod is there. A gang that was found half is yet to start, and nobody in it is late. (W-153)
        """
        is_half = gang.state is State.BINDING and not gang.has(gang.places())
        if gang.request.rules.on_failure != "None" or is_half:
            return gang.wanted()
        there = gang.there()
        return {pods.name for pods in gang.request.root.pod_sets() if there.get(pods.name, 0) >= pods.count}

    def _rest_of(self, gang: Gang, name: str) -> Reason | None:
        """What late pods wait for that start only when all of their set are there."""
        wanted = next(pods.count for pods in gang.request.root.pod_sets() if pods.name == name)
        return gang.lacks(Missing(name, wanted, gang.there().get(name, 0)))

    def _survivors(self, gang: Gang) -> Survivors:
        nodes: dict[str, dict[int, str]] = {}
        there = [
            s for s in gang.every_slot() if not s.done and s.node in self._book.nodes and not self._is_lost(gang, s)
        ]
        for slot in there:
            nodes.setdefault(slot.pod_set, {})[slot.number] = slot.node
        firm = frozenset(slot.node for slot in there if not slot.moved)
        places = gang.places()
        tree = self._book.board.draft(gang.request.topology).tree
        return Survivors(tree, nodes, repair.beside(gang.request), places, gang.has(places), firm)

    def _replace(self, gang: Gang, lost: dict[str, list[Slot]]) -> list[Slot] | None:
        """Those of these places that were found: all that must be, and as many more as there is room for; None when
        there is not even room for the first. What is not found is looked for again when room comes free. (M-025)"""
        survivors = self._survivors(gang)
        wanted = repair.asked(gang.asks(), lost, survivors)
        if wanted is None:
            return None
        new = {name: sum(repair.is_new(slot) for slot in listed) for name, listed in lost.items()}
        way = self._loop.turns.more(gang, wanted, new)
        decision = None if way is None else self._loop.decide(way)
        if not isinstance(decision, Placed):
            self._note_lack(gang, wanted, decision, new)
            self._book.needy[gang.id] = None
            if survivors.whole and all(repair.is_new(slot) for listed in lost.values() for slot in listed):
                return []  # it can do without
            if gang.state is State.DEGRADED:
                self._move_unit(gang, lost)
            return None
        found = repair.given(gang.request, lost, survivors, decision.placement)
        if not found and len(lost) > 1:
            # none of several sets need be there, so nothing found is no refusal: one set alone gives the reason
            name, listed = next(iter(lost.items()))
            return self._replace(gang, {name: listed})
        if len(found) < sum(len(listed) for listed in lost.values()):
            self._book.needy[gang.id] = None
        for slot, node in found:
            self._take(gang, slot, node)
        self._loop.rebook(gang)
        return [slot for slot, _ in found]

    def _note_lack(self, gang: Gang, wanted: Request, decision: Decision | None, new: dict[str, int]) -> None:
        """Why these places were not found, and what was asked: what would help is looked for by that."""
        if not isinstance(decision, Waiting):
            return gang.note_lack(self._loop.turns.no_quota(gang, new))
        draft = self._book.board.draft(decision.request.topology)
        return gang.note_lack(nearby.told(gang.request, wanted, decision, draft), decision.request)

    def _take(self, gang: Gang, slot: Slot, node: str) -> None:
        """The place is on this node from now on."""
        if repair.is_new(slot):
            gang.add_place(slot)
        slot.move(node)
        if slot.pod is not None and slot.pod in gang.pods and gang.pods[slot.pod].node:
            slot.give_up_pod()
