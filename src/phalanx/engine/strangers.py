"""Pods that no gang of ours has, on nodes of a topology that gangs use: each node of that kind is told of once. (K-069)

They take room like all others. But whoever else puts pods there does not know of levels, and a domain that was nearly
free is torn: the people of the cluster should keep such nodes apart by a label.
"""

from collections.abc import Iterable, Mapping

from phalanx.model.effects import Notice, Topic
from phalanx.model.nodes import Node
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import Pod, PodKey
from phalanx.model.topology import HOSTNAME, Topology

NAMES_MAX = 5  # pods named in one notice


class Strangers:
    """Foreign pods by node, as long as nothing was said of it. ``fresh``: nodes not looked at since they changed."""

    def __init__(self) -> None:
        self._on: dict[str, dict[PodKey, None]] = {}
        self._fresh: dict[str, None] = {}
        self._told: set[str] = set()
        self._used: set[str] = set()  # topologies that some gang has asked for

    def see(self, pod: Pod) -> None:
        """A pod of no gang, as it is now. Those that are made for their node belong there, whoever made them; and who
        leaves tears no domain for long: it may be what a gang of ours left behind."""
        if not pod.holds or pod.leaving:
            self.forget(pod)
        elif not pod.daemon and pod.node not in self._told:
            self._on.setdefault(pod.node, {})[pod.key] = None
            self._fresh[pod.node] = None

    def forget(self, pod: Pod) -> None:
        there = self._on.get(pod.node, {})
        there.pop(pod.key, None)
        if not there:
            self._on.pop(pod.node, None)

    def leave(self, node: str) -> None:
        """The node is gone; another one of its name is looked at afresh."""
        self._told.discard(node)

    def use(self, topology: str | None) -> None:
        """A gang asks for places in this topology."""
        if topology is not None and topology not in self._used:
            self._used.add(topology)
            self.look_again()

    def look_again(self, nodes: Iterable[str] | None = None) -> None:
        """Nodes, or all of them, may be of a topology now."""
        self._fresh.update(dict.fromkeys(self._on if nodes is None else nodes))

    def notices(self, nodes: Mapping[str, Node], topologies: Iterable[Topology]) -> list[Notice]:
        """What is to be told now, by node."""
        if not self._fresh:
            return []
        used = [one for one in topologies if one.name in self._used]
        found = [name for name in sorted(self._fresh) if name in self._on and _is_inside(nodes.get(name), used)]
        self._fresh.clear()
        return [self._notice(name) for name in found]

    def _notice(self, node: str) -> Notice:
        self._told.add(node)
        names = sorted(str(key) for key in self._on.pop(node))
        return Notice(ObjectKey("", "Node", "", node), Topic.FOREIGN_PODS, tuple(names[:NAMES_MAX]))


def _is_inside(node: Node | None, topologies: Iterable[Topology]) -> bool:
    return node is not None and any(
        all(level.label in node.labels for level in one.levels if level.label != HOSTNAME) for one in topologies
    )
