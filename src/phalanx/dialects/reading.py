"""All readers together: documents in, a Snapshot and Requests out.

``read`` takes everything at once; ``read_cluster`` and ``read_workloads`` take it in two steps, for those who ask
again and again about one cluster. Each may be handed the same documents: what belongs to the other is passed over.
One bad document never spoils the others: it becomes an Invalid (a workload) or a Problem (part of the cluster).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from phalanx.dialects import clusterstate, documents, gang, storage, wishes
from phalanx.dialects.documents import TOPOLOGY_GROUPS, WORKLOAD_KINDS, Document, Role
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.kinds import job, pod
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import Topology

Problems = tuple[Problem, ...]

_READERS: dict[str, Callable[[Field, Surroundings], tuple[Request, ...]]] = {
    "Gang": gang.read,
    "Job": job.read,
    "Pod": pod.read,
}


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """The cluster's state. ``problems``: documents that were left out, each note with the object in its path."""

    snapshot: Snapshot
    surroundings: Surroundings
    problems: Problems = ()
    warnings: Problems = ()


@dataclass(frozen=True, slots=True)
class WorkloadReading:
    """What is to be placed, in the order given.

    ``notes``: warnings by request id (``namespace/name`` for a workload that gave no Request).
    ``problems``, ``warnings``: about documents that are no workload at all.
    """

    items: tuple[Request | Invalid, ...]
    notes: Mapping[str, Problems] = field(default_factory=dict)
    problems: Problems = ()
    warnings: Problems = ()

    @property
    def requests(self) -> tuple[Request, ...]:
        return tuple(item for item in self.items if isinstance(item, Request))

    @property
    def invalid(self) -> tuple[Invalid, ...]:
        return tuple(item for item in self.items if isinstance(item, Invalid))


@dataclass(frozen=True, slots=True)
class Reading:
    """Both at once; see ClusterReading and WorkloadReading for the parts."""

    snapshot: Snapshot
    surroundings: Surroundings
    items: tuple[Request | Invalid, ...]
    requests: tuple[Request, ...]
    invalid: tuple[Invalid, ...]
    notes: Mapping[str, Problems]
    problems: Problems
    warnings: Problems


def read(docs: object) -> Reading:
    """A cluster and the workloads to place on it from one pile of documents."""
    sorted_docs, unrecognised = documents.sort(docs)
    cluster = _cluster(sorted_docs)
    work = _workloads(sorted_docs, cluster.surroundings, cluster.snapshot)
    return Reading(
        cluster.snapshot,
        cluster.surroundings,
        work.items,
        work.requests,
        work.invalid,
        work.notes,
        (*unrecognised, *cluster.problems, *work.problems),
        (*cluster.warnings, *work.warnings),
    )


def read_cluster(docs: object) -> ClusterReading:
    """Nodes, topologies, running pods, volumes and priority classes; workloads are passed over."""
    sorted_docs, unrecognised = documents.sort(docs)
    cluster = _cluster(sorted_docs)
    return replace(cluster, problems=(*unrecognised, *cluster.problems))


def read_workloads(docs: object, around: Surroundings, snapshot: Snapshot | None = None) -> WorkloadReading:
    """What is to be placed. Nodes, topologies and running pods among the documents are passed over; volumes and
    priority classes that a workload brings along are read beside those of the cluster."""
    sorted_docs, unrecognised = documents.sort(docs)
    work = _workloads(sorted_docs, _extended(around, sorted_docs), snapshot)
    return replace(work, problems=(*unrecognised, *work.problems))


# -- the cluster -------------------------------------------------------------------------------------------------


class _Clerk:
    """Hands each document of the cluster to its reader, and keeps the notes of all."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def opened(self, doc: Document) -> Field:
        return Field.of(doc.value, Notes(), doc.title)

    def accepted(self, at: Field) -> bool:
        """Whether a document was read without Problems; its notes are kept either way."""
        self.problems.extend(at.notes.problems)
        self.warnings.extend(at.notes.warnings)
        return not at.notes.problems

    def repeated(self, doc: Document) -> None:
        message = f"{doc.kind} {doc.name!r} is given twice; the first is used"
        self.problems.append(Problem(f"{doc.title}: metadata.name", doc.name, (), message))


def _cluster(docs: list[Document]) -> ClusterReading:
    clerk = _Clerk()
    state = [doc for doc in docs if doc.role is Role.STATE and _right_version(doc, clerk)]
    nodes = _nodes(state, clerk)
    topologies = _topologies(state, clerk)
    pods = _running(docs, set(nodes), clerk)
    around = _lookups(state, clerk)
    return ClusterReading(
        Snapshot(tuple(nodes.values()), tuple(topologies.values()), tuple(pods)),
        replace(around, topologies=tuple(topologies.values())),
        tuple(clerk.problems),
        tuple(clerk.warnings),
    )


def _right_version(doc: Document, clerk: _Clerk) -> bool:
    if doc.wrong_version is not None:
        clerk.problems.append(replace(doc.wrong_version, path=f"{doc.title}: {doc.wrong_version.path}"))
    return doc.wrong_version is None


def _nodes(docs: list[Document], clerk: _Clerk) -> dict[str, Node]:
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


def _topologies(docs: list[Document], clerk: _Clerk) -> dict[str, Topology]:
    found: dict[str, Topology] = {}
    for doc in docs:
        if doc.kind != "Topology" or doc.group not in TOPOLOGY_GROUPS:
            continue
        at = clerk.opened(doc)
        topology = clusterstate.topology(at, ours=doc.group == documents.OURS)
        if not clerk.accepted(at) or topology is None:
            continue
        if found.setdefault(topology.name, topology) != topology:  # one Topology in two dialects is no clash
            clerk.repeated(doc)
    return found


def _running(docs: list[Document], nodes: set[str], clerk: _Clerk) -> list[RunningPod]:
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
            found[one.namespace, one.name] = one
    for node, count in sorted(elsewhere.items()):
        run = "pod runs" if count == 1 else "pods run"
        message = f"{count} {run} on it, but the node is not among the given objects; left out"
        clerk.warnings.append(Problem(f"Node/{node[:80]}", node[:80], (), message))
    return list(found.values())


def _is_running(doc: Document) -> bool:
    return doc.kind == "Pod" and not doc.group and clusterstate.holds_a_place(Field.of(doc.value))


def _lookups(docs: list[Document], clerk: _Clerk) -> Surroundings:
    """Claims joined with their volumes, and priority classes."""
    claims: dict[tuple[str, str], storage.Bound] = {}
    volumes = {}
    priorities: dict[str, int] = {}
    default = 0
    for doc in docs:
        at = clerk.opened(doc)
        if doc.kind == "PersistentVolumeClaim":
            key, bound = storage.claim(at)
            claims.update({key: bound} if clerk.accepted(at) else {})
        elif doc.kind == "PersistentVolume":
            name, reachable = storage.volume(at)
            volumes.update({name: reachable} if clerk.accepted(at) else {})
        elif doc.kind == "PriorityClass":
            name, value, is_default = storage.priority_class(at)
            priorities.update({name: value} if clerk.accepted(at) else {})
            default = value if is_default else default
    return Surroundings(claims=storage.join(claims, volumes), priorities=priorities, default_priority=default)


def _extended(around: Surroundings, docs: list[Document]) -> Surroundings:
    extra = _lookups([doc for doc in docs if doc.role is Role.STATE and doc.wrong_version is None], _Clerk())
    return replace(
        around,
        claims={**around.claims, **extra.claims},
        priorities={**around.priorities, **extra.priorities},
        default_priority=extra.default_priority or around.default_priority,
    )


# -- workloads ---------------------------------------------------------------------------------------------------


def _workloads(docs: list[Document], around: Surroundings, snapshot: Snapshot | None) -> WorkloadReading:
    running = Counter(one.gang for one in snapshot.pods if one.gang) if snapshot is not None else Counter()
    items: list[Request | Invalid] = []
    notes: dict[str, Problems] = {}
    warnings: list[Problem] = []
    taken: dict[str, str] = {}  # namespace/name -> kind
    for doc in docs:
        aside = _passed_over(doc)
        if aside is not None:
            warnings.append(aside)
        elif doc.role in (Role.WORKLOAD, Role.UNREAD) and not _is_state_pod(doc):
            found, remarks = _read_one(doc, around, taken, running)
            items.extend(found)
            ids = [item.id for item in found if isinstance(item, Request)] or [f"{doc.namespace}/{doc.name}"]
            notes.update(dict.fromkeys(ids, remarks) if remarks else {})
    return WorkloadReading(tuple(items), notes, (), tuple(warnings))


def _is_state_pod(doc: Document) -> bool:
    """Whether a Pod document is no workload: it runs, or is over."""
    at = Field.of(doc.value)
    return doc.kind == "Pod" and not doc.group and (clusterstate.holds_a_place(at) or clusterstate.has_ended(at))


def _passed_over(doc: Document) -> Problem | None:
    """Why a document is neither state nor a workload of its own; None when it is."""
    if doc.role is Role.LATER:
        return Problem(doc.title, doc.kind, (), f"{doc.kind} is known but not used yet")
    if doc.role is Role.OTHER:
        return Problem(doc.title, doc.kind, (), f"{doc.kind} has nothing to do with placement and is ignored")
    owner = _owner(doc)
    return Problem(doc.title, doc.name, (), f"its pods belong to {owner} and are placed with it") if owner else None


def _owner(doc: Document) -> str | None:
    """The gang a workload's pods say they belong to, or the controller of a pod."""
    at = Field.of(doc.value)
    if doc.role is not Role.WORKLOAD or doc.kind == "Gang" or _is_state_pod(doc):
        return None
    if doc.kind == "Pod":
        return clusterstate.gang_id(at, doc.namespace) or _controller(at)
    metadata = at.at("spec", "template", "metadata")
    for key in (metadata.at("labels", wishes.GANG), metadata.at("annotations", wishes.GANG)):
        if isinstance(key.value, str) and key.value:
            return f"Gang {doc.namespace}/{key.value[:100]}"
    return None


def _controller(at: Field) -> str | None:
    for owner in at.at("metadata", "ownerReferences").items():
        if owner.at("controller").value is True:
            return f"{owner.at('kind').text('')} {owner.at('name').text('')}"[:200]
    return None


def _read_one(
    doc: Document, around: Surroundings, taken: dict[str, str], running: Counter[str]
) -> tuple[tuple[Request | Invalid, ...], Problems]:
    """The Requests of one workload, or its Invalid; and its warnings."""
    at = Field.of(doc.value, Notes())
    requests = () if not _readable(doc, at) else _READERS[doc.kind](at, around)
    identity = f"{doc.namespace}/{doc.name}"
    if identity in taken:
        at.at("metadata", "name").wrong(f"{taken[identity]} {identity} is given already; a name is used once")
    elif not at.notes.problems:
        taken[identity] = doc.kind
    if running[identity] and requests:
        at.warn(f"{running[identity]} of its pods run already; the answer is for all of them once more")
    if at.notes.problems:
        wrong = Invalid(doc.kind, doc.namespace, doc.name, tuple(at.notes.problems), tuple(at.notes.warnings))
        return (wrong,), ()
    return requests, tuple(at.notes.warnings)


def _readable(doc: Document, at: Field) -> bool:
    if doc.wrong_version is not None:
        at.notes.problem(doc.wrong_version)
        return False
    if doc.role is Role.UNREAD:
        where = f" ({doc.group})" if doc.group else ""
        at.at("kind").wrong(f"kind {doc.kind[:80]}{where[:80]} is not supported yet", WORKLOAD_KINDS)
        return False
    return True
