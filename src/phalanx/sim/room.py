"""How full the cluster is: one resource, counted node by node, and how it is cut up on every level."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from phalanx.model.resources import NANO
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import Topology, grow

FLAT = Topology.of("flat", [])


class Room:
    """What of a resource is used where, in whole units. ``levels``: names, widest first, the cluster left out."""

    def __init__(self, snapshot: Snapshot, topology: Topology | None, resource: str) -> None:
        self.tree = grow(topology or FLAT, {node.name: node.labels for node in snapshot.nodes})
        self.levels = self.tree.topology.level_names()
        self.resource = resource
        amounts = {node.name: node.allocatable.get(resource) / NANO for node in snapshot.nodes}
        self.capacity = np.array([amounts[name] for name in self.tree.names], np.float64)
        self.taken = np.zeros_like(self.capacity)
        self.total = float(self.capacity.sum())
        self._there = np.ones_like(self.capacity)
        self.used = 0.0
        for pod in snapshot.pods:
            self.take(pod.node, pod.requests.get(resource) / NANO)

    def take(self, node: str, amount: float) -> None:
        """Room is taken on a node, or with a negative amount given back."""
        self.taken[self.tree.index[node]] += amount
        self.used += amount

    def set_there(self, node: str, there: bool) -> None:
        """A node is lost, or back. What a lost node has counts as neither free nor used."""
        self._there[self.tree.index[node]] = float(there)

    def fragmentation(self) -> tuple[float, ...]:
        """For each level the share of what is free that lies in domains which are partly used.

        0: every free unit is in a domain that is wholly free, so that the largest gangs find their place.
        """
        free = np.maximum(self.capacity - self.taken, 0.0) * self._there
        whole = float(free.sum())
        return tuple(self._torn(level, free) / whole if whole else 0.0 for level in range(1, len(self.levels) + 1))

    def _torn(self, level: int, free: npt.NDArray[np.float64]) -> float:
        starts = self.tree.start[level][:-1]
        if not len(starts):
            return 0.0
        left, there = np.add.reduceat(free, starts), np.add.reduceat(self.capacity * self._there, starts)
        return float(left[left < there].sum())

    def apart(self, pods: Mapping[str, int]) -> float:
        """How far two pods of a gang are apart on average, over all pairs: 0 on one node, 1 on two nodes of one
        narrowest domain, and so on up to the number of levels, the node among them. ``pods``: how many on each node."""
        count = sum(pods.values())
        pairs = count * (count - 1) / 2
        if not pairs:
            return 0.0
        total = 0.0
        for level in range(1, len(self.levels) + 1):
            together: Counter[tuple[str, ...]] = Counter()
            for node, number in pods.items():
                together[self.tree.paths[self.tree.index[node]][:level]] += number
            total += 1 - sum(n * (n - 1) / 2 for n in together.values()) / pairs
        return total

    def narrowest(self, nodes: set[str]) -> int:
        """The narrowest level of which one domain holds all these nodes; 0: only the cluster does."""
        paths = [self.tree.paths[self.tree.index[node]] for node in nodes]
        shared = 0
        for values in zip(*paths, strict=False):
            if len(set(values)) > 1:
                break
            shared += 1
        return shared
