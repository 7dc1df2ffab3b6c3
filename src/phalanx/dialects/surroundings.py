"""What a workload's manifest refers to by name: topologies, volumes, priorities."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import Kind
from phalanx.dialects.neighbours import NOBODY, Neighbours
from phalanx.dialects.outline import Outline
from phalanx.model.nodes import Term
from phalanx.model.queues import DEFAULT, Queue, Queues
from phalanx.model.rules import Rules
from phalanx.model.topology import Topology

BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim: the volume it is bound to, and where that volume can be reached.

    ``reachable`` None: from everywhere, or not known (then ``volume`` is empty or ``known`` is False).
    """

    volume: str = ""  # empty: not bound
    known: bool = False  # whether the volume itself was given
    reachable: tuple[Term, ...] | None = None
    one_pod: bool = False  # ReadWriteOncePod
    driver: str = ""  # CSI driver of its volume
    storage_class: str = ""
    owner: str = ""  # uid of the pod that it was made for
    leaving: bool = False  # it is being deleted


@dataclass(frozen=True, slots=True)
class StorageClass:
    """``waits``: its volumes are made only when their first pod has a node (WaitForFirstConsumer)."""

    waits: bool = False
    driver: str = ""  # who makes them


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume: the nodes it can be reached from (None: all), and its CSI driver, if it has one."""

    reachable: tuple[Term, ...] | None = None
    driver: str = ""


def _nothing(_: Field) -> Outline | None:
    return None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything outside a manifest that its reader may look up.

    ``expand`` reads a document of any kind: for kinds that hold the document of another one, as a CronJob does.
    """

    topologies: tuple[Topology, ...] = ()
    claims: Mapping[tuple[str, str], Claim] = field(default_factory=dict)  # (namespace, name)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    default_priority: int = 0
    default_topology: str | None = None  # of those who name none, where several exist
    refused_topologies: tuple[str, ...] = ()  # given, and wrong
    queues: Queues = Queues()
    rules: Rules = Rules()  # how those are treated who say nothing about it
    neighbours: Neighbours = NOBODY
    unknown: str = "not among the given objects"  # what is said of a name that stands for nothing
    instead: str = ""  # what is done about a claim that is not there; empty: its volume is taken to be reachable
    limited: frozenset[str] = frozenset()  # CSI drivers of whose volumes not any number may be attached to a node
    unread: frozenset[Kind] = frozenset()  # kinds that may not be read: that none of them is there tells nothing
    expand: Callable[[Field], Outline | None] = _nothing


def priority(at: Field, around: Surroundings) -> int:
    """The value of the PriorityClass named at this field; unknown ones, offline, are a warning and count as 0."""
    name = at.text(None)
    if not name:
        return around.default_priority
    known = {**BUILT_IN_PRIORITIES, **around.priorities}
    if name not in known:
        at.warn(f"PriorityClass {name!r} is {around.unknown}; its priority counts as 0", sorted(known))
    return known.get(name, 0)


def identity(doc: Field) -> tuple[str, str]:
    """Namespace (``default`` when not written) and name of an object; a missing name is a Problem."""
    metadata = doc.at("metadata")
    metadata.mapping()
    metadata.typos("name", "namespace", "labels", "annotations", "generateName", "ownerReferences")
    namespace = metadata.at("namespace").name("default")
    name = metadata.at("name").name("") or metadata.at("generateName").name("")
    if not name and not metadata.at("name").present:
        metadata.at("name").wrong("an object needs a name")
    return namespace, name


# -- queues ------------------------------------------------------------------------------------------------------


def queue(at: Field, namespace: str, around: Surroundings) -> str:
    """The name of the queue that this field names: itself, or the one that a LocalQueue of the namespace stands for.

    A name that nothing given has is a warning: only the cluster knows whether it is wrong. (K-017)
    """
    name = at.name(None)
    if name is None:
        return DEFAULT
    found = _queue(name, namespace, around)
    if found is None and name != DEFAULT and (around.queues.queues or around.queues.local_names):
        local = (known for space, known in around.queues.local_names if space == namespace)
        at.warn(f"queue {name!r} is {around.unknown}", sorted({*around.queues.queues, *local}))
    return name if found is None else found.name


def local_queue(at: Field, namespace: str, around: Surroundings) -> str | None:
    """The name that this field names a queue by, where it is one of the namespace's own names."""
    name = at.aside().name(None)
    return name if name is not None and (namespace, name) in around.queues.local_names else None


def _queue(name: str, namespace: str, around: Surroundings) -> Queue | None:
    return around.queues.local(namespace, name) or around.queues.named(name)


def usual_topology(queue: Field, namespace: str, around: Surroundings) -> str | None:
    """The topology of a workload that names none: that of its queue's flavors if it is one, else the default. (X-39)"""
    found = _queue(queue.aside().name(DEFAULT), namespace, around)
    flavors = [around.queues.flavors.get(name) for name in found.flavors] if found is not None else []
    named = {flavor.topology for flavor in flavors if flavor is not None and flavor.topology is not None}
    known = {topology.name for topology in around.topologies}
    return next(iter(named)) if len(named) == 1 and named <= known else around.default_topology
