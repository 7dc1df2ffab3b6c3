"""What the world tells the engine. Each says what is, not what changed: told twice it changes nothing more.

Events of one kind come in order; between kinds there is none (W-046): a pod may be told of before its gang, or after
its node is gone.
"""

from dataclasses import dataclass
from enum import Enum

from phalanx.model.daemons import DaemonSet
from phalanx.model.makers import Maker
from phalanx.model.nodes import Node
from phalanx.model.objects import Incarnation
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

    ``owner``: what is suspended and resumed for a gated gang; None where its pods are all there is.
    ``uid``: of the object that it was read from: with another one it is another gang, which begins from the first.
    ``makers``: what makes all pods of a gang that we bind, and is suspended while it leaves; empty where that is not
    for us to do.
    """

    request: Request
    since: float
    owner: Incarnation | None = None
    uid: str = ""
    makers: tuple[Maker, ...] = ()


class Ending(Enum):
    """How there came to be nothing more to place for a gang."""

    DELETED = "its object is gone, or is none of ours any more"
    SUCCEEDED = "its object says that its work is done"
    FAILED = "its object says that it has failed for good"


@dataclass(frozen=True, slots=True)
class GangGone:
    """``said``: why, as its object says it in a word: BackoffLimitExceeded."""

    id: str
    how: Ending = Ending.DELETED
    said: str = ""


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


@dataclass(frozen=True, slots=True)
class BindUnderWay:
    """A bind was asked for ``at`` that time, before we began anew: whether it was done only seeing the pod tells. Told
    after the pod and its gang."""

    key: PodKey
    node: str
    at: float


@dataclass(frozen=True, slots=True)
class SuspendRefused:
    """What makes the pods of a gang may not be suspended by us: they have to be deleted."""

    gang: str


Answered = BindAnswered | SuspendRefused  # what became of effects

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
    | BindUnderWay
    | SuspendRefused
)
