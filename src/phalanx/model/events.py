"""What the world tells the engine. Each says what is, not what changed: told twice it changes nothing more.

Events of one kind come in order; between kinds there is none (W-046): a pod may be told of before its gang, or after
its node is gone.
"""

from dataclasses import dataclass
from enum import Enum

from phalanx.model.daemons import DaemonSet
from phalanx.model.nodes import Node
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queues
from phalanx.model.request import Request
from phalanx.model.topology import Topology


@dataclass(frozen=True, slots=True)
class NodeSeen:
    node: Node


@dataclass(frozen=True, slots=True)
class NodeGone:
    name: str


@dataclass(frozen=True, slots=True)
class TopologiesSeen:
    """All topologies there are."""

    topologies: tuple[Topology, ...]


@dataclass(frozen=True, slots=True)
class QueuesSeen:
    """All queues and flavors there are."""

    queues: Queues


@dataclass(frozen=True, slots=True)
class DaemonSetsSeen:
    """All DaemonSets there are."""

    daemon_sets: tuple[DaemonSet, ...]


@dataclass(frozen=True, slots=True)
class GangSeen:
    """A gang exists. ``since``: when it was made, which is its age in the queue.

    ``owner``: what is suspended and resumed for it (``Job/default/train``); empty where its pods are all there is.
    """

    request: Request
    since: float
    owner: str = ""


@dataclass(frozen=True, slots=True)
class GangGone:
    id: str


@dataclass(frozen=True, slots=True)
class GangSpoiled:
    """Its manifest is wrong by now: nothing new is placed for it, and what runs goes on as it was last asked for."""

    id: str


@dataclass(frozen=True, slots=True)
class PodSeen:
    pod: Pod


@dataclass(frozen=True, slots=True)
class PodGone:
    key: PodKey


class Answer(Enum):
    """What became of a bind."""

    BOUND = "bound"
    HERE = "already on that node"
    CONFLICT = "refused: it is on another node, or gone"
    REFUSED = "refused: the node does not take it"
    UNKNOWN = "no answer: done or not done"  # only seeing the pod tells


@dataclass(frozen=True, slots=True)
class BindAnswered:
    """``node``: where it was to go. After UNKNOWN the world tells the pod as it is (PodSeen) before anything else."""

    key: PodKey
    node: str
    answer: Answer


Event = (
    NodeSeen
    | NodeGone
    | TopologiesSeen
    | QueuesSeen
    | DaemonSetsSeen
    | GangSeen
    | GangGone
    | GangSpoiled
    | PodSeen
    | PodGone
    | BindAnswered
)
