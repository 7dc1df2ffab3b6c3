"""What a workload's manifest refers to by name: topologies, volumes, priorities."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.dialects.fields import Field
from phalanx.model.nodes import Term
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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything outside a manifest that its reader may look up."""

    topologies: tuple[Topology, ...] = ()
    claims: Mapping[tuple[str, str], Claim] = field(default_factory=dict)  # (namespace, name)
    priorities: Mapping[str, int] = field(default_factory=dict)
    default_priority: int = 0


def priority(at: Field, around: Surroundings) -> int:
    """The value of the PriorityClass named at this field; unknown ones, offline, are a warning and count as 0."""
    name = at.text(None)
    if not name:
        return around.default_priority
    known = {**BUILT_IN_PRIORITIES, **around.priorities}
    if name not in known:
        at.warn(f"PriorityClass {name!r} is not among the given objects; its priority counts as 0", sorted(known))
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
