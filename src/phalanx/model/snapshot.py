"""A Snapshot: everything one decision may look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.nodes import Node, RunningPod
from phalanx.model.queues import Queues
from phalanx.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Nodes, topologies, running pods and queues at one moment. Reading it twice gives the same answer."""

    nodes: tuple[Node, ...]
    topologies: tuple[Topology, ...]
    pods: tuple[RunningPod, ...] = ()
    warnings: Mapping[str, str] = field(default_factory=dict)
    queues: Queues = Queues()
