"""Whether a ClusterQueue is active, and if not, why: what it names must exist, and some things do not go together.

The design's first version keeps queues with a topology apart from cohorts, preemption, MultiKueue and
ProvisioningRequests: such a queue is not refused but inactive, and becomes active when it is changed or when a
field of ``Allowed`` lifts the guard; no manifest has to change (K-091).

``STRICT`` is the design's rule, for those who want it as a policy. Reading manifests follows ``TODAY`` instead: Kueue
has lifted all four since, and a queue that it accepts is not told off here. What none of them does in this program
yet is said once, by ``unbuilt``.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from phalanx.dialects.kueue.queues import AdmissionCheck, ClusterQueue
from phalanx.model.queues import Flavor, Preemption

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"

_NOT_TOGETHER = "NotSupportedWithTopologyAwareScheduling"
_MESSAGE_MAX = 32_768  # what an API server takes in a condition
_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a queue with a topology may have beside it. Nothing, unless told otherwise."""

    cohort: bool = False
    preemption: bool = False
    multikueue: bool = False
    provisioning: bool = False


STRICT = Allowed()
TODAY = Allowed(cohort=True, preemption=True, multikueue=True, provisioning=True)


@dataclass(frozen=True, slots=True)
class Why:
    """One thing that keeps a queue from being active: Kueue's word for it, and a sentence."""

    reason: str
    message: str


def inactive(
    queue: ClusterQueue,
    flavors: Mapping[str, Flavor],
    topologies: Collection[str],
    checks: Mapping[str, AdmissionCheck],
    allowed: Allowed = STRICT,
) -> tuple[Why, ...]:
    """Everything that keeps the queue inactive; nothing when it is active. The mappings are what exists, by name."""
    controllers = {checks[name].controller for name in queue.checks if name in checks}
    with_topology = [flavors[name] for name in queue.queue.flavors if name in flavors and flavors[name].topology]
    elsewhere = allowed.multikueue and MULTIKUEUE in controllers  # then another cluster has the nodes and the topology
    return (
        *_stopped(queue),
        *_missing("FlavorNotFound", "ResourceFlavor", queue.queue.flavors, flavors),
        *_missing("AdmissionCheckNotFound", "AdmissionCheck", queue.checks, checks),
        *(_not_together(queue, controllers, with_topology[0].name, allowed) if with_topology else ()),
        *(why for flavor in with_topology if not elsewhere for why in flavor_inactive(flavor, topologies)),
    )


def flavor_inactive(flavor: Flavor, topologies: Collection[str]) -> tuple[Why, ...]:
    """A flavor that names a Topology waits until it is there. (K-026)"""
    if flavor.topology is None or flavor.topology in topologies:
        return ()
    return (Why("TopologyNotFound", f"flavor {flavor.name!r} names Topology {flavor.topology!r}, which is not there"),)


def _stopped(queue: ClusterQueue) -> tuple[Why, ...]:
    stop = queue.queue.stop
    return () if stop == "None" else (Why("Stopped", f"stopPolicy is {stop}"),)


def _missing(reason: str, kind: str, names: Iterable[str], known: Collection[str]) -> tuple[Why, ...]:
    lacking = [name for name in names if name not in known]
    return (Why(reason, f"{kind} {', '.join(lacking)} is not there"),) if lacking else ()


def _not_together(queue: ClusterQueue, controllers: set[str], flavor: str, allowed: Allowed) -> tuple[Why, ...]:
    """The four guards: each names the field to change. (K-089, K-090, K-092, K-093)"""
    lifted = (allowed.cohort, allowed.preemption, allowed.multikueue, allowed.provisioning)
    return tuple(
        Why(_NOT_TOGETHER, f"flavor {flavor!r} has a topology, which is not supported together with {what}")
        for (what, used), fine in zip(_beside(queue, controllers), lifted, strict=True)
        if used and not fine
    )


def _beside(queue: ClusterQueue, controllers: set[str]) -> tuple[tuple[str, bool], ...]:
    """The four things a queue may have beside a topology, and whether this one has them."""
    return (
        ("a cohort", queue.queue.parent is not None),
        ("preemption", queue.queue.preemption != Preemption()),
        ("a MultiKueue admission check", MULTIKUEUE in controllers),
        ("a ProvisioningRequest admission check", PROVISIONING in controllers),
    )


def unbuilt(queues: Mapping[str, ClusterQueue]) -> str | None:
    """One sentence about all that these queues have and this program does not act on yet; None for nothing.

    Admission checks are told of where they are read.
    """
    found: dict[str, list[str]] = {}
    for name, queue in queues.items():
        for what, used in _beside(queue, set()):
            found.setdefault(what, []).extend([name] if used else [])
    listed = [f"{what} ({_some(names)})" for what, names in found.items() if names]
    return f"read, and not acted on yet: {', '.join(listed)}" if listed else None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more


def condition(whys: tuple[Why, ...]) -> dict[str, str]:
    """The Active condition of a queue's status. Several causes: the first one's reason, and all messages."""
    if not whys:
        return {"type": "Active", "status": "True", "reason": "Ready", "message": "new workloads can be admitted"}
    message = "no new workloads are admitted: " + "; ".join(why.message for why in whys)
    return {"type": "Active", "status": "False", "reason": whys[0].reason, "message": message[:_MESSAGE_MAX]}
