"""The cluster's own documents together: a Snapshot, and what workloads may look up."""

from collections import Counter
from dataclasses import dataclass, replace

from phalanx.dialects import attachments, clusterstate, kindtable, queueing, storage
from phalanx.dialects.attachments import Limits
from phalanx.dialects.clerk import Clerk
from phalanx.dialects.documents import Document, Role
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Claim, StorageClass, Surroundings, Volume
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import Topology

DEFAULT_TOPOLOGY = "phalanx.dev/default-topology"
_TOPOLOGIES = frozenset(row.key for row in kindtable.ROWS if row.kind == "Topology")
Problems = tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """The cluster's state. ``problems``: documents that were left out, each note with the object in its path."""

    snapshot: Snapshot
    surroundings: Surroundings
    problems: Problems = ()
    warnings: Problems = ()


def read(docs: list[Document]) -> ClusterReading:
    clerk = Clerk()
    state = [doc for doc in docs if doc.role is Role.STATE and _right_version(doc, clerk)]
    nodes = _nodes(state, clerk)
    topologies = _topologies(state, clerk)
    limits = _limits(state, clerk)
    limited = attachments.drivers(limits.values())
    around = replace(_lookups(state, clerk), limited=limited)
    pods = _running(docs, set(nodes), clerk, around)
    queues = queueing.read(state, tuple(topologies), clerk)
    return ClusterReading(
        Snapshot(
            tuple(attachments.with_limits(node, limits.get(node.name, {}), limited) for node in nodes.values()),
            tuple(topologies.values()),
            tuple(pods),
            queues=queues,
        ),
        replace(
            around,
            topologies=tuple(topologies.values()),
            default_topology=_default(state, clerk),
            refused_topologies=tuple(doc.name for doc in docs if _is_topology(doc) and doc.name not in topologies),
            queues=queues,
        ),
        tuple(clerk.problems),
        tuple(clerk.warnings),
    )


def _right_version(doc: Document, clerk: Clerk) -> bool:
    if doc.wrong_version is not None:
        clerk.problems.append(replace(doc.wrong_version, about=doc.key))
    return doc.wrong_version is None


def _nodes(docs: list[Document], clerk: Clerk) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for doc in docs:
        if doc.kind != "Node":
            continue
        at = clerk.opened(doc)
        node = clusterstate.node(at)
        if not clerk.accepted(at):
            continue
        if node.name in found:
            clerk.repeated(doc)
        found.setdefault(node.name, node)
    return found


def _limits(docs: list[Document], clerk: Clerk) -> dict[str, Limits]:
    found: dict[str, Limits] = {}
    for doc in docs:
        if doc.of_kind == kindtable.CSI_NODE:
            at = clerk.opened(doc)
            own = attachments.limits(at)
            found.update({doc.name: own} if clerk.accepted(at) else {})
    return found


def _topologies(docs: list[Document], clerk: Clerk) -> dict[str, Topology]:
    found: dict[str, Topology] = {}
    for doc in docs:
        if not _is_topology(doc):
            continue
        at = clerk.opened(doc)
        topology = clusterstate.topology(at, doc.group)
        if not clerk.accepted(at) or topology is None:
            continue
        if found.setdefault(topology.name, topology) != topology:  # one Topology in two dialects is no clash
            clerk.repeated(doc)
    return found


def _is_topology(doc: Document) -> bool:
    return (doc.group, doc.kind) in _TOPOLOGIES


def _default(docs: list[Document], clerk: Clerk) -> str | None:
    """The Topology of those who name none, where several exist: the one that is marked. (X-39)"""
    marked = []
    for doc in docs:
        mark = Field.of(doc.value).at("metadata", "annotations", DEFAULT_TOPOLOGY)
        if doc.kind == "Topology" and mark.value == "true":
            marked.append(doc)
    for doc in marked[1:]:
        message = f"Topology {marked[0].name!r} is marked as the default already; the first is used"
        clerk.problems.append(Problem("metadata.annotations", doc.name, (), message, doc.key))
    return marked[0].name if marked else None


def _running(docs: list[Document], nodes: set[str], clerk: Clerk, around: Surroundings) -> list[RunningPod]:
    found: dict[tuple[str, str], RunningPod] = {}
    elsewhere: Counter[str] = Counter()
    for doc in docs:
        if not _is_running(doc):
            continue
        at = clerk.opened(doc)
        one = clusterstate.running_pod(at)
        if not clerk.accepted(at):
            continue
        if (one.namespace, one.name) in found:
            clerk.repeated(doc)
        elif one.node not in nodes:
            elsewhere[one.node] += 1
        else:
            volumes = attachments.of(at, one.namespace, around)
            found[one.namespace, one.name] = replace(one, requests=one.requests + volumes)
    for node, count in sorted(elsewhere.items()):
        run = "pod runs" if count == 1 else "pods run"
        message = f"{count} {run} on it, but the node is not among the given objects; left out"
        clerk.warnings.append(Problem("", node[:80], (), message, ObjectKey(*kindtable.NODE, "default", node[:80])))
    return list(found.values())


def _is_running(doc: Document) -> bool:
    return doc.kind == "Pod" and not doc.group and clusterstate.holds_a_place(Field.of(doc.value))


def _lookups(docs: list[Document], clerk: Clerk) -> Surroundings:
    """Claims joined with their volumes, and classes."""
    claims: dict[tuple[str, str], Claim] = {}
    volumes: dict[str, Volume] = {}
    classes: dict[str, StorageClass] = {}
    priorities: dict[str, int] = {}
    default = 0
    for doc in docs:
        at = clerk.opened(doc)
        if doc.kind == "PersistentVolumeClaim":
            key, found = storage.claim(at)
            claims.update({key: found} if clerk.accepted(at) else {})
        elif doc.kind == "PersistentVolume":
            name, volume = storage.volume(at)
            volumes.update({name: volume} if clerk.accepted(at) else {})
        elif doc.kind == "StorageClass":
            name, one = storage.storage_class(at)
            classes.update({name: one} if clerk.accepted(at) else {})
        elif doc.kind == "PriorityClass":
            name, value, is_default = storage.priority_class(at)
            priorities.update({name: value} if clerk.accepted(at) else {})
            default = value if is_default else default
    joined = storage.join(claims, volumes)
    return Surroundings(claims=joined, classes=classes, priorities=priorities, default_priority=default)


def extended(around: Surroundings, docs: list[Document]) -> Surroundings:
    extra = _lookups([doc for doc in docs if doc.role is Role.STATE and doc.wrong_version is None], Clerk())
    return replace(
        around,
        claims={**around.claims, **extra.claims},
        classes={**around.classes, **extra.classes},
        priorities={**around.priorities, **extra.priorities},
        default_priority=extra.default_priority or around.default_priority,
    )
