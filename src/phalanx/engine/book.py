"""The Book: everything the engine remembers. Events go in, in any order of kinds, twice or late; a picture comes out.

Membership is frozen at first sight (W-111): a pod that is relabelled stays where it was seen first. Every pod with a
node counts once, whoever put it there (K-055, X-46): as a place of its gang once that is known, by itself before. Room
for the pods of DaemonSets counts before they are there (``headroom``).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from phalanx.engine import holders
from phalanx.engine.board import Board
from phalanx.engine.gangs import HOLDING, Gang
from phalanx.engine.headroom import Headroom
from phalanx.engine.lifecycle import State
from phalanx.engine.strangers import Strangers
from phalanx.model.events import (
    BindAnswered,
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
    TopologiesSeen,
)
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queues
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import Topology
from phalanx.order.admission import asks_for_a_level


class Book:
    """Changed by ``apply`` and by the engine that owns it.

    ``touched``: gangs that something happened to since it was last asked. ``freed``: room may have come free.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.topologies: tuple[Topology, ...] = ()
        self.queues = Queues()
        self.gangs: dict[str, Gang] = {}
        self.touched: dict[str, None] = {}
        self.freed = False
        self.moved: dict[str, None] = {}  # nodes that changed or went since it was last asked
        self.renewed: dict[str, None] = {}  # gangs whose manifest changed since it was last asked
        self.left: list[str] = []  # gangs that were deleted since it was last asked
        self.needy: dict[str, None] = {}  # gangs that run and need room near them
        self.collected: set[PodKey] = set()  # pods that had succeeded, and whose objects went with the last events
        self.strangers = Strangers()
        self._headroom = Headroom(self.nodes)
        self._pods: dict[PodKey, Pod] = {}
        self._unclaimed: dict[str, set[PodKey]] = {}  # pods by a gang that was not seen yet
        self._former: dict[str, float] = {}  # since when a gang was there that is gone, and of which pods are left
        self._bygone: set[str] = set()  # uids of pods that ended in a gang before the one that has its name now
        self._membership: dict[str, tuple[str | None, str | None]] = {}  # uid -> gang and pod set
        self._elsewhere: dict[str, tuple[str | None, str | None]] = {}  # of pods that say something else by now
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
        }

    def apply(self, events: Iterable[Event]) -> None:
        self.collected.clear()
        for event in events:
            self._apply[type(event)](event)

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
            found += gang.holding()
        for key in sorted(self._pods, key=str):
            pod = self._pods[key]
            if pod.holds and self._gang_of(pod) is None:
                found.append(_loose(pod))
        found += self._headroom.coming()
        return tuple(pod for pod in found if pod.node in self.nodes)

    def rebook(self, gang: Gang) -> None:
        """The board follows what a gang holds now."""
        if self._board is not None:
            self._board.hold(gang.id, tuple(pod for pod in gang.holding() if pod.node in self.nodes))

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
            self.moved[event.node.name] = None  # its labels, taints or amounts: who chose it must choose again
        self.nodes[event.node.name] = event.node
        self._headroom.look_again(event.node.name)
        self.strangers.look_again([event.node.name])
        self._board = None
        self.freed = True
        self._touch_on(event.node.name)

    def _node_gone(self, event: NodeGone) -> None:
        if self.nodes.pop(event.name, None) is not None:
            self.moved[event.name] = None  # another one of its name may be there before anybody looks
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
        if known is None:
            known = Gang(event.request, event.since, event.owner, entered=event.since, nodes=self.nodes)
            self.gangs[name] = known
            for key in sorted(self._unclaimed.pop(name, ()), key=str):
                pod = self._pods[key]
                known.pods[key] = pod
                self._drop_loose(pod)
            if self._former.pop(name, event.since) != event.since:
                self._begin_anew(known)
            self.rebook(known)
        elif known.gone:
            if known.since != event.since:
                self._begin_anew(known)
            known.gone, known.spoiled = False, False
            known.request, known.owner, known.since = event.request, event.owner, event.since
            self.renewed[name] = None
        elif known.request == event.request and not known.spoiled:
            if known.owner == event.owner:
                return
            known.owner = event.owner  # what makes its pods came after it, or is not alone any more
        else:
            known.ask(event.request)
            known.owner, known.spoiled = event.owner, False
            self.renewed[name] = None
        self.touched[name] = None

    def _begin_anew(self, gang: Gang) -> None:
        """Another gang has its name now: what the pods of the one before have done is no work of this one."""
        for pod in [pod for pod in gang.pods.values() if pod.ended]:
            del gang.pods[pod.key], self._pods[pod.key]
            self._membership.pop(pod.key.uid, None)
            self._bygone.add(pod.key.uid)
        gang.collected.clear()

    def _gang_spoiled(self, event: GangSpoiled) -> None:
        gang = self.gangs.get(event.id)
        if gang is not None and not gang.gone:
            gang.spoiled = True
            self.touched[gang.id] = None

    def _gang_gone(self, event: GangGone) -> None:
        gang = self.gangs.get(event.id)
        if gang is not None:
            gang.gone = True
            self.touched[gang.id] = None

    def forget(self, gang: Gang) -> None:
        """The gang is no more, and nothing of it holds a place. Pods that are left of it wait for another one."""
        del self.gangs[gang.id]
        self.left.append(gang.id)
        self.touched.pop(gang.id, None)
        if self._board is not None:
            self._board.hold(gang.id, ())
        for pod in gang.pods.values():
            self._unclaimed.setdefault(gang.id, set()).add(pod.key)
            self._former[gang.id] = gang.since
            self._hold_loose(pod)
        for pod in [pod for pod in gang.pods.values() if pod.key.uid in self._elsewhere]:
            joined, pod_set = self._elsewhere[pod.key.uid]
            self._pod_seen(PodSeen(replace(pod, gang=joined, pod_set=pod_set)))
        self.freed = True

    # -- pods ----------------------------------------------------------------------------------------------------

    def _pod_seen(self, event: PodSeen) -> None:
        if event.pod.key.uid in self._bygone:
            return
        pod = self._member(event.pod)
        before = self._pods.get(pod.key)
        if before == pod or (before is not None and before.node and not pod.node):
            return  # told twice, or told late: a pod never loses its node
        self._pods[pod.key] = pod
        if before is not None and before.holds and (not pod.holds or pod.running != before.running):
            self.freed = True  # it left, or it asks for less, or is another for those who keep away from it
        if before is not None and before.gang != pod.gang:
            self._take_from(before)
        gang = self._gang_of(pod)
        if gang is None:
            if pod.gang is not None:
                self._unclaimed.setdefault(pod.gang, set()).add(pod.key)
                self.strangers.forget(pod)
            else:
                self.strangers.see(pod)
            self._hold_loose(pod)
            return
        gang.pods[pod.key] = pod
        if before is None and pod.pod_set is not None and pod.rank is not None:
            gang.collected.pop((pod.pod_set, pod.rank), None)  # its controller has it done again
        self.touched[gang.id] = None

    def _pod_gone(self, event: PodGone) -> None:
        self._bygone.discard(event.key.uid)
        pod = self._pods.pop(event.key, None)
        if pod is None:
            return
        self._membership.pop(event.key.uid, None)
        self._elsewhere.pop(event.key.uid, None)
        self.freed = self.freed or pod.holds
        gang = self._gang_of(pod)
        if gang is not None and pod.phase == "Succeeded":
            self._collect(gang, pod)
        self._take_from(pod)

    def _take_from(self, pod: Pod) -> None:
        """Whoever had this pod has it no more: its gang, or nobody."""
        gang = self._gang_of(pod)
        if gang is not None:
            gang.pods.pop(pod.key, None)
            gang.asked.pop(pod.key, None)
            self.touched[gang.id] = None
            self.rebook(gang)  # at once: a pod stands on the board once, and another gang may have it in this step
            return
        if pod.gang is not None:
            self._disclaim(pod.gang, pod.key)
        else:
            self.strangers.forget(pod)
        self._drop_loose(pod)

    def _collect(self, gang: Gang, pod: Pod) -> None:
        """The object of a pod that has succeeded is gone. A gang that waits begins from the first again."""
        self.collected.add(pod.key)
        if pod.pod_set is not None and gang.state in (*HOLDING, State.FINISHED):
            gang.collected[pod.pod_set, pod.rank] += 1

    def _disclaim(self, gang: str, key: PodKey) -> None:
        left = self._unclaimed.get(gang, set())
        left.discard(key)
        if not left:
            self._unclaimed.pop(gang, None)
            self._former.pop(gang, None)

    def _member(self, pod: Pod) -> Pod:
        """The pod in the gang it was first seen in, while that is there; then in the one it names by now. One that was
        seen in none may still join one. (W-111)"""
        uid, said = pod.key.uid, (pod.gang, pod.pod_set)
        known = self._membership.get(uid, (None, None))
        if pod.gang is not None and not self._keeps(known[0], pod):
            known = self._membership[uid] = said
        self._elsewhere.pop(uid, None)
        if pod.gang is not None and known != said:
            self._elsewhere[uid] = said
        return pod if known == said else replace(pod, gang=known[0], pod_set=known[1])

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
        return self.gangs.get(pod.gang) if pod.gang is not None else None

    def _hold_loose(self, pod: Pod) -> None:
        if self._board is not None:
            held = pod.holds and pod.node in self.nodes
            self._board.hold(holders.loose(pod), (_loose(pod),) if held else ())
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

    def _bind_answered(self, event: BindAnswered) -> None:
        """What the answer means is for the engine to say; here it is only noted that there is one."""


def _loose(pod: Pod) -> RunningPod:
    return replace(pod.running, gang=holders.loose(pod))


def _plain(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}
