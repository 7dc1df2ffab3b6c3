"""Room for the pods of DaemonSets that are still to come: one on every node they may use. (K-074, K-097)

Their controller makes them, and not always at once: on a new node, or in a rolling update between the old pod and the
new one. What they will take counts as taken from the beginning, and once: by the pod as soon as it stands there.
"""

from collections.abc import Iterator, Mapping

from phalanx.engine import holders
from phalanx.model.daemons import DaemonSet
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.place import filters
from phalanx.place.nodetable import NodeTable


class Headroom:
    """The pods that are to come, by node and DaemonSet. Nodes are the Book's; ``look_again`` says which changed."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.daemon_sets: tuple[DaemonSet, ...] = ()
        self._nodes = nodes
        self._wanted: dict[str, dict[str, RunningPod]] = {}  # node -> DaemonSet -> the pod that it makes there
        self._there: dict[tuple[str, str], set[PodKey]] = {}  # (node, DaemonSet) -> its pods that hold their room
        self._stale: dict[str, None] = {}

    def follow(self, daemon_sets: tuple[DaemonSet, ...]) -> None:
        """These are all DaemonSets there are."""
        self.daemon_sets = daemon_sets
        self._wanted = {}
        self._stale = dict.fromkeys(self._nodes)

    def look_again(self, node: str) -> None:
        """A node came, changed or went."""
        self._wanted.pop(node, None)
        self._stale[node] = None

    def see(self, pod: Pod) -> None:
        """A pod of a DaemonSet, as it is now."""
        if pod.holds:
            self._there.setdefault((pod.node, pod.daemon_set), set()).add(pod.key)
        else:
            self.forget(pod)

    def forget(self, pod: Pod) -> None:
        spot = (pod.node, pod.daemon_set)
        there = self._there.get(spot, set())
        there.discard(pod.key)
        if not there:
            self._there.pop(spot, None)

    def coming(self) -> Iterator[RunningPod]:
        """All pods that are to come, by node; each is a gang of its own on the board."""
        self._refresh()
        for node in sorted(self._wanted):
            yield from (pod for name, pod in self._wanted[node].items() if (node, name) not in self._there)

    def beside(self, pod: Pod) -> tuple[str, tuple[RunningPod, ...]]:
        """What is held on the node of a pod for its DaemonSet now, and under which name."""
        self._refresh()
        wanted = self._wanted.get(pod.node, {}).get(pod.daemon_set)
        free = wanted is not None and (pod.node, pod.daemon_set) not in self._there
        return holders.coming(pod.daemon_set, pod.node), (wanted,) if wanted is not None and free else ()

    def _refresh(self) -> None:
        """All nodes that changed at once: thousands of them come when a scheduler starts."""
        nodes = [self._nodes[name] for name in self._stale if name in self._nodes]
        self._stale = {}
        if not nodes:
            return
        table = NodeTable(nodes)
        for one in self.daemon_sets:
            for node, admitted in zip(nodes, filters.admits(table, one.shape.filter), strict=True):
                if admitted and _could_hold(node, one):
                    self._wanted.setdefault(node.name, {})[one.id] = _pod(one, node.name)


def _could_hold(node: Node, one: DaemonSet) -> bool:
    """Whether the pod fits on the empty node. One that never does will never run, and no room is kept for it."""
    has = dict(node.allocatable)
    return all(has.get(name, 0) >= amount for name, amount in one.shape.requests)


def _pod(one: DaemonSet, node: str) -> RunningPod:
    """Room and ports alone: rules between pods speak of pods that exist."""
    called = holders.coming(one.id, node)
    return RunningPod(called, one.namespace, node, one.shape.requests, ports=one.shape.ports, gang=called)
