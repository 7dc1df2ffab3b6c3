"""How full the cluster is: one resource, counted node by node, and how it is cut up on every level."""

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
        self.used = 0.0
        for pod in snapshot.pods:
            self.take(pod.node, pod.requests.get(resource) / NANO)

    def take(self, node: str, amount: float) -> None:
        """Room is taken on a node, or with a negative amount given back."""
        self.taken[self.tree.index[node]] += amount
        self.used += amount

    def fragmentation(self) -> tuple[float, ...]:
        """For each level the share of what is free that lies in domains which are partly used.

        0: every free unit is in a domain that is wholly free, so that the largest gangs find their place.
        """
        free = np.maximum(self.capacity - self.taken, 0.0)
        whole = float(free.sum())
        return tuple(self._torn(level, free) / whole if whole else 0.0 for level in range(1, len(self.levels) + 1))

    def _torn(self, level: int, free: npt.NDArray[np.float64]) -> float:
        starts = self.tree.start[level][:-1]
        if not len(starts):
            return 0.0
        left, there = np.add.reduceat(free, starts), np.add.reduceat(self.capacity, starts)
        return float(left[left < there].sum())

    def narrowest(self, nodes: set[str]) -> int:
        """The narrowest level of which one domain holds all these nodes; 0: only the cluster does."""
        paths = [self.tree.paths[self.tree.index[node]] for node in nodes]
        shared = 0
        for values in zip(*paths, strict=False):
            if len(set(values)) > 1:
                break
            shared += 1
        return shared
