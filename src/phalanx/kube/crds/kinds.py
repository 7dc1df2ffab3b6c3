"""What each of our kinds is called, and which columns ``kubectl get`` shows of it."""

from dataclasses import dataclass

from phalanx.kube.crds.models import Flavor, Gang, Queue, Topology
from phalanx.kube.crds.models.base import Model

GROUP = "phalanx.dev"
VERSION = "v1alpha1"
CATEGORY = "phalanx"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, where its value stands, what it means. ``wide``: only with ``-o wide``."""

    name: str
    path: str
    description: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    model: type[Model]
    plural: str
    short: tuple[str, ...]
    namespaced: bool
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        return self.model.__name__


def _condition(kind: str, part: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{part}'


AGE = Column("Age", ".metadata.creationTimestamp", "Time since it was made.", "date")
VALID = Column("Valid", _condition("Valid", "status"), "Whether it can be used as it is.")
INVALID = Column("Message", _condition("Valid", "message"), "What is wrong with it.", wide=True)

KINDS = (
    Kind(
        Flavor,
        "flavors",
        ("pfl",),
        False,
        (Column("Topology", ".spec.topologyName", "The Topology of its nodes."), VALID, AGE, INVALID),
    ),
    Kind(
        Gang,
        "gangs",
        (),
        True,
        (
            Column("Queue", ".spec.queue", "The queue it waits in."),
            Column("State", ".status.state", "Where it is in its life."),
            Column("Reason", _condition("Scheduled", "reason"), "Why it waits."),
            Column("Pods", ".status.pods", "Pods with a node, of those wanted."),
            Column("Domain", ".status.domain", "The narrowest domain that holds all of it."),
            AGE,
            Column("Message", _condition("Scheduled", "message"), "Why it waits, in a sentence.", wide=True),
        ),
    ),
    Kind(
        Queue,
        "queues",
        ("pq",),
        False,
        (
            Column("Parent", ".spec.parent", "The queue above."),
            Column("Order", ".spec.order", "Who comes first."),
            Column("Blocked", ".spec.whenBlocked", "What those behind a gang that cannot start do."),
            Column("Weight", ".spec.weight", "Share of what siblings leave unused."),
            VALID,
            AGE,
            INVALID,
        ),
    ),
    Kind(
        Topology,
        "topologies",
        ("ptopo",),
        False,
        (
            Column("Widest", ".spec.levels[0].nodeLabel", "The label of the widest level."),
            Column("Narrowest", ".spec.levels[-1:].nodeLabel", "The label of the narrowest level."),
            VALID,
            AGE,
            INVALID,
        ),
    ),
)
