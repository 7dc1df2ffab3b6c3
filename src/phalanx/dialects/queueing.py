"""Queues and flavors of every dialect among the documents, as one set: ours, Kueue's and KAI's."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from phalanx.dialects import kindtable
from phalanx.dialects.clerk import Clerk
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.gang import queues as ours
from phalanx.dialects.kai import queue as kai
from phalanx.dialects.kueue import guards
from phalanx.dialects.kueue import queues as kueue
from phalanx.dialects.kueue.queues import AdmissionCheck, ClusterQueue
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.queues import Flavor, LocalName, Queue, Queues

Value = TypeVar("Value", Queue, Flavor)

_QUEUES: dict[tuple[str, str], Callable[[Field], Queue]] = {
    ("phalanx.dev", "Queue"): ours.queue,
    ("kueue.x-k8s.io", "Cohort"): kueue.cohort,
    ("scheduling.run.ai", "Queue"): kai.read,
}
_FLAVORS: dict[tuple[str, str], Callable[[Field], Flavor]] = {
    ("phalanx.dev", "Flavor"): ours.flavor,
    ("kueue.x-k8s.io", "ResourceFlavor"): kueue.resource_flavor,
}
_CLUSTER_QUEUE = ("kueue.x-k8s.io", "ClusterQueue")
_LOCAL_QUEUE = ("kueue.x-k8s.io", "LocalQueue")
NAMESPACE = ("", "Namespace")
_NAME = "kubernetes.io/metadata.name"
_CHECK = ("kueue.x-k8s.io", "AdmissionCheck")


@dataclass(slots=True)
class _Found:
    queues: dict[str, Queue] = field(default_factory=dict)
    flavors: dict[str, Flavor] = field(default_factory=dict)
    local: dict[tuple[str, str], LocalName] = field(default_factory=dict)
    cluster_queues: dict[str, ClusterQueue] = field(default_factory=dict)
    checks: dict[str, AdmissionCheck] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)


def read(docs: list[Document], topologies: tuple[str, ...], clerk: Clerk) -> Queues:
    """All queues there are. A ClusterQueue that Kueue would not use is a warning that says why not; one more names
    all that ClusterQueues have and nobody here acts on yet."""
    found = _Found()
    for doc in docs:
        kind = doc.of_kind
        at = clerk.opened(doc)
        if kind in _QUEUES:
            _keep(found.queues, doc, _QUEUES[kind](at), at, clerk)
        elif kind in _FLAVORS:
            _keep(found.flavors, doc, _FLAVORS[kind](at), at, clerk)
        elif kind == _CLUSTER_QUEUE:
            cluster_queue = kueue.cluster_queue(at)
            if _keep(found.queues, doc, cluster_queue.queue, at, clerk):
                found.cluster_queues[doc.name] = cluster_queue
        elif kind == _LOCAL_QUEUE:
            local = kueue.local_queue(at)
            found.local.update({(local.namespace, local.name): local} if clerk.accepted(at) else {})
        elif kind == NAMESPACE:
            found.namespaces[doc.name] = namespace_labels(at)
        elif kind == _CHECK:
            check = kueue.admission_check(at)
            found.checks.update({check.name: check} if clerk.accepted(at) else {})
    if any(queue.parent == kai.CLUSTER.name for queue in found.queues.values()):
        found.queues.setdefault(kai.CLUSTER.name, kai.CLUSTER)
    _warn_of_inactive(found, topologies, clerk)
    return Queues(found.queues, found.flavors, found.local, found.namespaces)


def namespace_labels(at: Field) -> dict[str, str]:
    """The labels of a namespace; its name is one of them."""
    metadata = at.at("metadata")
    return {_NAME: metadata.at("name").name(""), **dict(metadata.at("labels").pairs())}


def _keep(found: dict[str, Value], doc: Document, value: Value, at: Field, clerk: Clerk) -> bool:
    if not clerk.accepted(at):
        return False
    if value.name in found:
        clerk.repeated(doc)
        return False
    found[value.name] = value
    return True


def _warn_of_inactive(found: _Found, topologies: tuple[str, ...], clerk: Clerk) -> None:
    for name, queue in found.cluster_queues.items():
        for why in guards.inactive(queue, found.flavors, topologies, found.checks, guards.TODAY):
            about = ObjectKey("kueue.x-k8s.io", "ClusterQueue", "default", name)
            clerk.warnings.append(Problem("", name, (), f"inactive ({why.reason}): {why.message}", about))
    unbuilt = guards.unbuilt(found.cluster_queues)
    if unbuilt is not None:
        clerk.warnings.append(Problem("ClusterQueue", None, (), unbuilt))
    for flavor in found.flavors.values():
        for why in guards.flavor_inactive(flavor, topologies):
            about = ObjectKey(kindtable.OURS, "Flavor", "default", flavor.name)
            clerk.warnings.append(Problem("", flavor.topology, topologies, why.message, about))
