"""All readers together: documents in, a Snapshot and Requests out.

``read`` takes everything at once; ``read_cluster`` and ``read_workloads`` take it in two steps, for those who ask
again and again about one cluster. Each may be handed the same documents: what belongs to the other is passed over.
One bad document never spoils the others: it becomes an Invalid (a workload) or a Problem (part of the cluster).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phalanx.dialects import documents, picture, workloads
from phalanx.dialects.documents import Document
from phalanx.dialects.picture import ClusterReading, Problems
from phalanx.dialects.surroundings import Surroundings
from phalanx.dialects.workloads import WorkloadReading
from phalanx.model.decision import Invalid
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot

__all__ = ["ClusterReading", "Problems", "Reading", "WorkloadReading", "read", "read_cluster", "read_workloads"]


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
    cluster = picture.read(sorted_docs)
    work = _with_absentees(workloads.read(sorted_docs, cluster.surroundings, cluster.snapshot), sorted_docs)
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
    cluster = picture.read(sorted_docs)
    return replace(cluster, problems=(*unrecognised, *cluster.problems))


def read_workloads(docs: object, around: Surroundings, snapshot: Snapshot | None = None) -> WorkloadReading:
    """What is to be placed. Nodes, topologies and running pods among the documents are passed over; volumes and
    priority classes that a workload brings along are read beside those of the cluster."""
    sorted_docs, unrecognised = documents.sort(docs)
    work = _with_absentees(workloads.read(sorted_docs, picture.extended(around, sorted_docs), snapshot), sorted_docs)
    return replace(work, problems=(*unrecognised, *work.problems))


def _with_absentees(work: WorkloadReading, docs: Sequence[Document]) -> WorkloadReading:
    """Who names what is not there is wrong, like everybody else who is, and stands where it was given. What has no
    document of its own (Kueue's groups of pods) comes last."""
    place = {doc.key.address: number for number, doc in reversed([*enumerate(docs)])}
    last, every = len(docs), (*work.items, *work.absentees)
    items = sorted(every, key=lambda one: place.get((one.kind, one.namespace, one.name), last))
    return replace(work, items=tuple(items), absentees=()) if work.absentees else work
