"""The Book: everything the engine remembers. Events go in, in any order of kinds, twice or late; a picture comes out.

A pod stays in the gang in which it was seen first (W-111), also when it is relabelled, for as long as that gang is
there: another uid is another gang, and begins with nothing that the one before it had. Every pod with a node counts
once, whoever put it there (K-055, X-46): as a place of its gang once that is known, by itself before. Room
for the pods of DaemonSets counts before they are there (``headroom``).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from phalanx.engine import holders
from phalanx.engine.board import Board
from phalanx.engine.gangs import Gang
from phalanx.engine.headroom import Headroom
from phalanx.engine.predecessors import Predecessors
from phalanx.engine.slots import Slot
from phalanx.engine.strangers import Strangers
from phalanx.model.events import (
    Answer,
    BindAnswered,
    BindUnderWay,
    DaemonSetsSeen,
    Event,
    GangGone,
    GangSeen,
    GangSpoiled,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QueuesSeen,
    SuspendRefused,
    TopologiesSeen,
)
from phalanx.model.mistakes import Mistake, Tripped
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queues
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import Topology
from phalanx.order.admission import asks_for_a_level


class Unbooked(Mistake):
    """Something was raised while an event was applied: what the book holds may be half of it."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"{type(event).__name__} could not be applied")
        self.event = event


class Book:
    """Changed by ``apply`` and by the engine that owns it.

    ``touched``: gangs that something happened to since it was last asked. ``freed``: room may have come free.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.topologies: tuple[Topology, ...] = ()
        self.queues = Queues()
        self.gangs: dict[str, Gang] = {}
        self.aside: dict[str, Tripped] = {}  # gangs that are left alone: something was raised while they were looked at
        self.touched: dict[str, None] = {}
        self.freed = False
        self.changed: dict[str, Node | None] = {}  # nodes as they were when it was last asked; None: they went
        self.renewed: dict[str, None] = {}  # gangs whose manifest changed since it was last asked
        self.left: list[str] = []  # gangs that were deleted since it was last asked
        self.needy: dict[str, None] = {}  # gangs that run and need room near them
        self.collected: set[PodKey] = set()  # pods that had succeeded, and whose objects went with the last events
        self.strangers = Strangers()
        self._headroom = Headroom(self.nodes)
        self._pods: dict[PodKey, Pod] = {}
        self._unclaimed: dict[str, set[PodKey]] = {}  # pods by a gang that was not seen yet
        self.predecessors = Predecessors()
        self._let_go_for_others: set[str] = set()  # pods whose note of a minimum is that of another gang
        self._former: dict[str, tuple[str, float]] = {}  # uid and age of a gang that is gone, and left pods behind
        self._lived: dict[str, tuple[str, str]] = {}  # uid of a pod -> the gang it was in last, and its uid
        self._bygone: set[str] = set()  # uids of pods that ended in a gang before the one that has its name now
        self._joined: dict[str, tuple[str | None, str | None]] = {}  # uid -> gang and pod set
        self._said: dict[str, tuple[str | None, str | None]] = {}  # uid -> what the pod says by now
        self._board: Board | None = None
        self._apply: dict[type, Callable[[Any], None]] = {
            NodeSeen: self._node_seen,
            NodeGone: self._node_gone,
            TopologiesSeen: self._topologies_seen,
            QueuesSeen: self._queues_seen,
            DaemonSetsSeen: self._daemon_sets_seen,
            GangSeen: self._gang_seen,
            GangGone: self._gang_gone,
            GangSpoiled: self._gang_spoiled,
            PodSeen: self._pod_seen,
            PodGone: self._pod_gone,
            BindAnswered: self._bind_answered,
            BindUnderWay: self._bind_under_way,
            SuspendRefused: self._suspend_refused,
        }

    def apply(self, events: Iterable[Event]) -> None:
        self.collected.clear()
        for event in events:
            try:
                self._apply[type(event)](event)
            except Exception as error:
                raise Unbooked(event) from error

    # -- the picture ---------------------------------------------------------------------------------------------

    @property
    def board(self) -> Board:
        """What is free. Made anew after a node or a topology changed, kept current otherwise."""
        if self._board is None:
            self._board = Board.of(self.snapshot())
        return self._board

    @property
    def came(self) -> bool:
        """Whether pods came to stand on nodes since that was last noted: whoever wants to be near them may start."""
        return self._board is not None and self._board.came

    def note_who_came(self) -> None:
        if self._board is not None:
            self._board.came = False

    def snapshot(self) -> Snapshot:
        nodes = tuple(sorted(self.nodes.values(), key=lambda node: node.name))
        return Snapshot(nodes, self.topologies, self._running(), queues=self.queues)

    def _running(self) -> tuple[RunningPod, ...]:
        found: list[RunningPod] = []
        for gang in sorted(self.gangs.values(), key=lambda one: one.id):
            found += gang.taking()
        for key in sorted(self._pods, key=str):
            pod = self._pods[key]
            if self._gang_of(pod) is None and self._takes_room(pod):
                found.append(self._loose(pod))
        found += self._headroom.coming()
        return tuple(pod for pod in found if pod.node in self.nodes)

    def rebook(self, gang: Gang) -> None:
        """The board follows what a gang holds now."""
        if self._board is not None:
            self._board.hold(gang.id, tuple(pod for pod in gang.taking() if pod.node in self.nodes))

    def audit(self) -> list[str]:
        """Nodes on which the kept ledger differs from one made anew."""
        fresh = Board.of(self.snapshot())
        kept, made = self.board.free(self.nodes), fresh.free(self.nodes)
        return [name for name in sorted(self.nodes) if _plain(kept[name]) != _plain(made[name])]

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _node_seen(self, event: NodeSeen) -> None:
        before = self.nodes.get(event.node.name)
        if before == event.node:
            return
        if before is not None:
            self.changed.setdefault(event.node.name, before)
        self.nodes[event.node.name] = event.node
        self._headroom.look_again(event.node.name)
        self.strangers.look_again([event.node.name])
        self._board = None
        self.freed = True
        self._touch_on(event.node.name)

    def _node_gone(self, event: NodeGone) -> None:
        if self.nodes.pop(event.name, None) is not None:
            self.changed[event.name] = None  # another one of its name may be there before anybody looks
            self._headroom.look_again(event.name)
            self.strangers.leave(event.name)
            self._board = None
            self.freed = True  # its pods count no more: some kept others away, or kept a domain from being even
            self._touch_on(event.name)

    def _touch_on(self, node: str) -> None:
        for gang in self.gangs.values():
            on_it = any(slot.node == node for slot in gang.every_slot())
            if on_it or any(pod.node == node for pod in gang.pods.values()):
                self.touched[gang.id] = None

    def _topologies_seen(self, event: TopologiesSeen) -> None:
        if event.topologies != self.topologies:
            self.topologies = event.topologies
            self.strangers.look_again()
            self._board = None
            self.freed = True

    def _queues_seen(self, event: QueuesSeen) -> None:
        if event.queues != self.queues:
            self.queues = event.queues
            self.freed = True

    def _daemon_sets_seen(self, event: DaemonSetsSeen) -> None:
        if event.daemon_sets != self._headroom.daemon_sets:
            self._headroom.follow(event.daemon_sets)
            self._board = None
            self.freed = True

    # -- gangs ---------------------------------------------------------------------------------------------------

    def _gang_seen(self, event: GangSeen) -> None:
        name = event.request.id
        if asks_for_a_level(event.request.root):
            self.strangers.use(event.request.topology)
        known = self.gangs.get(name)
        if known is not None and _is_another(event, known.uid, known.since if known.gone else event.since):
            self._end(known)
            known = None
        if known is None:
            self._begin(event)
        else:
            if known.gone or known.spoiled or known.request != event.request:
                known.follow(event.request)
                self.renewed[name] = None
            elif known.owner == event.owner and known.hold.makers == event.makers:
                return
            known.follow_owner(event.owner, event.makers)
        self.touched[name] = None

    def _begin(self, event: GangSeen) -> None:
        """A gang with the pods that wait for it; not with what one of its name had before."""
        name = event.request.id
        gang = Gang(event.request, event.since, event.owner, event.uid, entered=event.since, nodes=self.nodes)
        gang.follow_owner(event.owner, event.makers)
        self.gangs[name] = gang
        before = self._former.pop(name, None)
        is_successor = before is not None and _is_another(event, *before)
        for key in sorted(self._unclaimed.pop(name, ()), key=str):
            pod = self._pods[key]
            if not self._claims(gang, pod) and (is_successor or self._was_in_another(pod, gang)):
                self._set_aside(pod)
            if pod.key in self._pods and pod.key not in self.predecessors:
                self._drop_loose(pod)
                self._join(pod, gang)
        self.rebook(gang)

    def _claims(self, gang: Gang, pod: Pod) -> bool:
        """Whether a pod that is placed, or is being bound, was made for this gang, which then has both."""
        asked, home = self.predecessors.asked(pod), self.predecessors.node(pod)
        if not (home or pod.ended) or not _was_made_for(pod, gang):
            return False
        self.predecessors.forget(pod.key)
        if asked is not None and pod.pod_set is not None:
            gang.expect(Slot(pod.pod_set, 0, home, pod.key, sent=True), pod.key, asked)
        return True

    def _end(self, gang: Gang) -> None:
        """Another gang has its name: this one has no places any more. Pods that are on nodes, or on their way, take
        their room by themselves; what those that have ended did is no work of the other one."""
        homes = {slot.pod: slot.node for slot in gang.every_slot() if slot.pod in gang.asked}
        self.forget(gang)
        self._former[gang.id] = gang.uid, gang.since
        for pod in gang.pods.values():
            home = pod.node or homes.get(pod.key, "")
            if home and pod.key in self._pods and not pod.ended:
                self._leave_alone(pod, home, gang.asked.get(pod.key))

    def _join(self, pod: Pod, gang: Gang) -> None:
        uid = pod.key.uid
        name, before = self._lived.get(uid, (gang.id, gang.uid))
        if name == gang.id and before != gang.uid:
            self._let_go_for_others.add(uid)
            self._joined.pop(uid, None)  # it named a gang that had this name: what it says next counts
        else:
            self._joined[uid] = gang.id, pod.pod_set
        self._lived[uid] = gang.id, gang.uid
        gang.take_in(replace(pod, least=None) if uid in self._let_go_for_others else pod)

    def _was_in_another(self, pod: Pod, gang: Gang) -> bool:
        """Whether a pod was in a gang of this name that is no more, and was not made for this one."""
        name, uid = self._lived.get(pod.key.uid, ("", ""))
        made_for_it = bool(pod.node or pod.ended) and _was_made_for(pod, gang)
        return name == gang.id and bool(uid) and uid != gang.uid and not made_for_it

    def _set_aside(self, pod: Pod) -> None:
        """It is of an earlier gang: what it did there is no work of this one, and what it takes it takes by itself."""
        if pod.ended:
            self._let_go(pod)
        elif pod.holds:
            self._leave_alone(pod, pod.node)

    def _leave_alone(self, pod: Pod, node: str, asked: float | None = None) -> None:
        """It was placed for a gang that is no more, and is no member of another one for now, whichever it names."""
        if pod.key not in self.predecessors:
            joined = self._gang_of(self._pods[pod.key])
            if joined is not None:
                joined.lose(pod.key)
                self.touched[joined.id] = None
                self.rebook(joined)
            self.predecessors.add(pod.key, node, asked)
        self._hold_loose(pod)

    def _let_go(self, pod: Pod) -> None:
        """It ended in an earlier gang, and says nothing any more."""
        self.predecessors.forget(pod.key)
        self._disclaim(pod.gang or "", pod.key)
        self._drop_loose(pod)
        del self._pods[pod.key]
        self._forget_pod(pod.key.uid)
        self._bygone.add(pod.key.uid)

    def _forget_pod(self, uid: str) -> None:
        for of_pod in (self._joined, self._said, self._lived):
            of_pod.pop(uid, None)
        self._let_go_for_others.discard(uid)

    def adopt(self, key: PodKey) -> None:
        """A pod that was left alone stays: it is a member of what it names. One that is leaving is not."""
        pod = self._pods.get(key)
        if pod is None or (pod.leaving and pod.holds):
            return
        self.predecessors.forget(key)
        self._lived.pop(key.uid, None)
        self._disclaim(pod.gang or "", key)
        joined, pod_set = self._said.get(key.uid, (pod.gang, pod.pod_set))
        self._drop_loose(pod)
        self._take_in(replace(pod, gang=joined, pod_set=pod_set))

    def _gang_spoiled(self, event: GangSpoiled) -> None:
        gang = self.gangs.get(event.id)
        if gang is not None and not gang.gone:
            gang.spoil()
            self.touched[gang.id] = None

    def _gang_gone(self, event: GangGone) -> None:
        gang = self.gangs.get(event.id)
        if gang is not None:
            gang.delete(event)
            self.touched[gang.id] = None

    def set_aside(self, gang: Gang, tripped: Tripped) -> None:
        """It is left alone, and the board is made anew: part of what it was to hold may stand there."""
        self.aside[gang.id] = tripped
        self.touched.pop(gang.id, None)
        self.needy.pop(gang.id, None)
        self.doubt_board()
        self.freed = True

    def doubt_board(self) -> None:
        """Something was raised while somebody tried things on the board: it is made anew."""
        self._board = None

    def forget(self, gang: Gang) -> None:
        """The gang is no more. Pods that are left of it are what they say they are by now."""
        del self.gangs[gang.id]
        self.aside.pop(gang.id, None)
        self.left.append(gang.id)
        self.touched.pop(gang.id, None)
        if self._board is not None:
            self._board.hold(gang.id, ())
        for pod in gang.pods.values():
            joined, pod_set = self._said.get(pod.key.uid, (pod.gang, pod.pod_set))
            self._joined.pop(pod.key.uid, None)
            if joined == gang.id:
                self._former[gang.id] = gang.uid, gang.since
            self._take_in(replace(pod, gang=joined, pod_set=pod_set))
        self.freed = True

    # -- pods ----------------------------------------------------------------------------------------------------

    def _pod_seen(self, event: PodSeen) -> None:
        if event.pod.key.uid in self._bygone:
            return
        pod = self._member(event.pod)
        before = self._pods.get(pod.key)
        if before == pod or (before is not None and before.node and not pod.node):
            return  # told twice, or told late: a pod never loses its node
        if (
            before is not None
            and self._home(before)
            and (self._home(pod) != self._home(before) or pod.running != before.running)
        ):
            self.freed = True  # it left, or it asks for less, or is another for those who keep away from it
        if before is not None and before.gang != pod.gang:
            left = self._gang_of(before)
            way = left.way_of(pod) if left is not None and pod.gang is None else None
            self._take_from(before)
            if way is not None:
                self.predecessors.add(pod.key, *way)  # it may be there any moment: it takes its room by itself
        self._take_in(pod)
        if before is None and (gang := self._gang_of(pod)) is not None:
            gang.begin_again(pod)

    def _take_in(self, pod: Pod) -> None:
        """It stands where it belongs: in its gang, or by itself."""
        self._pods[pod.key] = pod
        successor = self.gangs.get(pod.gang or "")
        if pod.key in self.predecessors and successor is not None and self._claims(successor, pod):
            self._disclaim(successor.id, pod.key)
            self._drop_loose(pod)
        if pod.ended and pod.key in self.predecessors:
            # who finishes before it was adopted did its work for the gang that would have adopted it
            return self.adopt(pod.key) if pod.phase == "Succeeded" and not pod.leaving else self._let_go(pod)
        gang = self._gang_of(pod)
        if gang is None:
            if pod.gang is not None:
                self._unclaimed.setdefault(pod.gang, set()).add(pod.key)
                self.strangers.forget(pod)
            else:
                self.strangers.see(pod)
            return self._hold_loose(pod)
        if self._was_in_another(pod, gang) and (pod.ended or pod.holds):
            return self._set_aside(pod)
        self._join(pod, gang)
        self.touched[gang.id] = None
        return None

    def _pod_gone(self, event: PodGone) -> None:
        self._bygone.discard(event.key.uid)
        pod = self._pods.pop(event.key, None)
        if pod is None:
            return
        self._forget_pod(event.key.uid)
        self.freed = self.freed or self._takes_room(pod)
        gang = self._gang_of(pod)
        if gang is not None and pod.phase == "Succeeded":
            self.collected.add(pod.key)
            gang.collect(pod)
        self._take_from(pod)
        self.predecessors.forget(event.key)

    def _take_from(self, pod: Pod) -> None:
        """Whoever had this pod has it no more: its gang, or nobody."""
        gang = self._gang_of(pod)
        if gang is not None:
            gang.lose(pod.key)
            self.touched[gang.id] = None
            self.rebook(gang)  # at once: a pod stands on the board once, and another gang may have it in this step
            return
        if pod.gang is not None:
            self._disclaim(pod.gang, pod.key)
        else:
            self.strangers.forget(pod)
        self._drop_loose(pod)

    def _disclaim(self, gang: str, key: PodKey) -> None:
        left = self._unclaimed.get(gang, set())
        left.discard(key)
        if not left:
            self._unclaimed.pop(gang, None)
            self._former.pop(gang, None)

    def _member(self, pod: Pod) -> Pod:
        """The pod in the gang it was first seen in, while that is there; then in the one it names by now. One that was
        seen in none may still join one. (W-111)"""
        uid = pod.key.uid
        self._said[uid] = pod.gang, pod.pod_set
        gang, pod_set = self._joined.get(uid, (None, None))
        if gang in (None, pod.gang) or not self._keeps(gang, pod):
            return pod
        return replace(pod, gang=gang, pod_set=pod_set)

    def _keeps(self, name: str | None, pod: Pod) -> bool:
        """Whether a gang keeps a pod that may name another one by now. One that was deleted does so until it is known
        what became of the bind that was asked for the pod."""
        gang = None if name is None else self.gangs.get(name)
        return gang is not None and (not gang.gone or (pod.key in gang.asked and not pod.node))

    def holder(self, key: PodKey) -> Gang | None:
        """The gang that a pod is a member of."""
        pod = self._pods.get(key)
        return None if pod is None else self._gang_of(pod)

    def _gang_of(self, pod: Pod) -> Gang | None:
        if pod.gang is None or pod.key in self.predecessors:
            return None
        return self.gangs.get(pod.gang)

    def _takes_room(self, pod: Pod) -> bool:
        """Whether it takes room by itself: it is on a node, or may be bound to one any moment."""
        return bool(self._home(pod))

    def _home(self, pod: Pod) -> str:
        """The node on which it takes room by itself, or room is kept for it."""
        return "" if pod.ended else self.predecessors.node(pod) or pod.nominated

    def _loose(self, pod: Pod) -> RunningPod:
        return replace(pod.running, node=self._home(pod), gang=holders.loose(pod))

    def _hold_loose(self, pod: Pod) -> None:
        if self._board is not None:
            held = self._home(pod) in self.nodes
            self._board.hold(holders.loose(pod), (self._loose(pod),) if held else ())
        if pod.daemon_set:
            self._headroom.see(pod)
            self._hold_beside(pod)

    def _drop_loose(self, pod: Pod) -> None:
        if self._board is not None:
            self._board.hold(holders.loose(pod), ())
        if pod.daemon_set:
            self._headroom.forget(pod)
            self._hold_beside(pod)

    def _hold_beside(self, pod: Pod) -> None:
        """The room that was kept for a pod is its own once it is there, and kept again when it is gone."""
        if self._board is not None and pod.node:
            self._board.hold(*self._headroom.beside(pod))

    def _suspend_refused(self, event: SuspendRefused) -> None:
        """Whether that means anything by now is for the engine to say."""
        if event.gang in self.gangs:
            self.touched[event.gang] = None

    def _bind_answered(self, event: BindAnswered) -> None:
        """What the answer means for a gang is for the engine to say. A pod that was left alone while its bind was under
        way, and was refused, waits for its place like any other."""
        pod = self._pods.get(event.key)
        if pod is not None and not pod.node and event.key in self.predecessors and event.answer is Answer.REFUSED:
            self.adopt(event.key)

    def _bind_under_way(self, event: BindUnderWay) -> None:
        pod = self._pods.get(event.key)
        gang = None if pod is None else self._gang_of(pod)
        if pod is None or gang is None or pod.node or pod.ended or pod.pod_set is None:
            return
        gang.expect(Slot(pod.pod_set, 0, event.node, event.key, sent=True), event.key, event.at)
        self.touched[gang.id] = None


def _is_another(event: GangSeen, uid: str, since: float) -> bool:
    """Whether a gang is another one than that with this uid; without uids, than that of this age."""
    return event.uid != uid if event.uid or uid else event.since != since


def _was_made_for(pod: Pod, gang: Gang) -> bool:
    """Whether a pod is younger than a gang: it was made for this one, and not for one before it. Both times are whole
    seconds."""
    return 0 < int(gang.since) <= pod.made


def _plain(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}
