"""How the pods of each workload kind are told apart: by the labels and annotations that its controller gives them.

``docs/grouping.md`` shows it beside what each kind becomes. Where a number can only be
understood with the workload at hand (where a StatefulSet starts to count, whether a PyTorchJob has a Master), the
workload's document is asked; without it the answer is None, never a guess::

    recognise("JobSet", pod, jobset)     # Recognised("workers", "1", 5): Job 1 of 4 pods, completion index 1
    recognise("LeaderWorkerSet", pod, lws)               # Recognised("main", "0", 0, "leader")
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from phalanx.dialects import jobspec, kindtable
from phalanx.dialects.fields import INT_MAX, Field
from phalanx.dialects.kindtable import PodIdentity

MAIN = "main"  # the pod set of a kind that has only one
LEADER, WORKER = "leader", "worker"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
POD_INDEX = "apps.kubernetes.io/pod-index"
JOBSET = "jobset.sigs.k8s.io/"
LWS = "leaderworkerset.sigs.k8s.io/"
TRAINING = "training.kubeflow.org/"
RAY = "ray.io/"

_PATH = re.compile(r"metadata\.(labels|annotations)\['([A-Za-z0-9./_-]{1,317})'\]", re.ASCII)
_SUFFIX = re.compile(r"-([0-9]{1,10})", re.ASCII)
_OTHER = {"labels": "annotations", "annotations": "labels"}

Texts = Callable[[Field, Field], str | None]  # the pod's metadata, the workload's document
Numbers = Callable[[Field, Field], int | None]


@dataclass(frozen=True, slots=True)
class Recognised:
    """Which pod of its workload a pod is. None: the pod does not say, or its kind has no such thing.

    ``rank`` counts within the group and over its replicas; for a LeaderWorkerSet within one replica, and for a
    PyTorchJob through both its groups, as its processes do.
    """

    group: str | None = None
    replica: str | None = None
    rank: int | None = None
    pod_class: str | None = None


# -- reading one key ---------------------------------------------------------------------------------------------


def _written(metadata: Field, key: str, first: str = "labels") -> Field:
    """The label or the annotation of a key: the ``first`` of them, the other where it is absent (X-23)."""
    at = metadata.at(first, key)
    other = metadata.at(_OTHER[first], key)
    return other if other.present and not at.present else at


def _index(at: Field) -> int | None:
    """A whole number from 0 written as a text, as labels are."""
    text = at.text(None)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= INT_MAX:
        return int(text)
    at.mistaken(f"is not a whole number from 0 to {INT_MAX} in quotes")
    return None


def _nothing(metadata: Field, workload: Field) -> None:
    """What a kind does not have."""


def _main(metadata: Field, workload: Field) -> str:
    return MAIN


# -- Job, StatefulSet --------------------------------------------------------------------------------------------


def _completion_index(metadata: Field, workload: Field) -> int | None:
    return _index(_written(metadata, COMPLETION_INDEX, "annotations"))


def _ordinal(metadata: Field, workload: Field) -> int | None:
    """The pod's number less the number that the StatefulSet starts with."""
    label = metadata.at("labels", POD_INDEX)
    number = _index(label) if label.present else _suffix(metadata.at("name"))
    start = workload.at("spec", "ordinals", "start").integer(0)
    if number is not None and number < start:
        label.wrong(f"pod number {number} is less than {start}, the start of the StatefulSet's ordinals")
        return None
    return None if number is None else number - start


def _suffix(name: Field) -> int | None:
    """The number at the end of a pod's name: 3 of ``web-3``."""
    text = name.text("")
    found = _SUFFIX.fullmatch(text[max(0, text.rfind("-")) :])
    return int(found.group(1)) if found else None


# -- JobSet, and TrainJob through its JobSet ---------------------------------------------------------------------


def _replicated_job(metadata: Field, workload: Field) -> str | None:
    return _written(metadata, JOBSET + "replicatedjob-name").name(None)


def _job_index(metadata: Field, workload: Field) -> str | None:
    return _written(metadata, JOBSET + "job-index").name(None)


def _rank_in_replicated_job(metadata: Field, workload: Field) -> int | None:
    """Job index times pods per Job, plus the index inside the Job."""
    job, index = _index(_written(metadata, JOBSET + "job-index")), _completion_index(metadata, workload)
    if job is None or index is None or job == 0:
        return index if job == 0 else None
    size = _pods_per_job(workload, _replicated_job(metadata, workload))
    return None if size is None else job * size + index


def _pods_per_job(workload: Field, name: str | None) -> int | None:
    """Pods of one Job of a replicated job; None when the JobSet is not given or has no such one."""
    for at in workload.at("spec", "replicatedJobs").items():
        if name is not None and at.at("name").value == name:
            return jobspec.pods(at.at("template", "spec"))
    return None


# -- LeaderWorkerSet ---------------------------------------------------------------------------------------------


def _group_index(metadata: Field, workload: Field) -> str | None:
    return metadata.at("labels", LWS + "group-index").name(None)


def _worker_index(metadata: Field, workload: Field) -> int | None:
    return _index(metadata.at("labels", LWS + "worker-index"))


def _leads_or_works(metadata: Field, workload: Field) -> str | None:
    """``leader`` or ``worker`` where they have templates of their own; else all pods are of one class."""
    index = _worker_index(metadata, workload)
    if index is None or not workload.at("spec", "leaderWorkerTemplate", "leaderTemplate").present:
        return None
    return WORKER if index else LEADER


# -- Kubeflow's training jobs, Ray -------------------------------------------------------------------------------


def _role(metadata: Field, workload: Field) -> str | None:
    """The kind of replica in lower case; MPIJobs of today call it a role."""
    labels = metadata.at("labels")
    kind = labels.at(TRAINING + "replica-type")
    named = (kind if kind.present else labels.at(TRAINING + "job-role")).name(None)
    return None if named is None else named.lower()


def _replica_index(metadata: Field, workload: Field) -> int | None:
    """The number within the kind of replica. A launcher that also works is 0, and its workers count from 1."""
    return _index(metadata.at("labels", TRAINING + "replica-index"))


def _torch_rank(metadata: Field, workload: Field) -> int | None:
    """The rank that the processes see: the Master is 0, and workers follow it if there is one."""
    if _role(metadata, workload) == "master":
        return 0
    index = _replica_index(metadata, workload)
    if index is None or not workload.present:
        return None
    return index + (1 if workload.at("spec", "pytorchReplicaSpecs", "Master").present else 0)


def _ray_group(metadata: Field, workload: Field) -> str | None:
    labels = metadata.at("labels")
    is_head = labels.at(RAY + "node-type").value == "head"
    return "head" if is_head else labels.at(RAY + "group").name(None)


# -- the table ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recognition:
    """How the pods of one kind are told apart: what to read from a pod's metadata, with the workload at hand."""

    group: Texts
    replica: Texts = _nothing
    rank: Numbers = _nothing
    pod_class: Texts = _nothing


_BY_IDENTITY = kindtable.complete(
    "way to tell its pods",
    [one for one in PodIdentity if one is not PodIdentity.BOUND_TO_NODES],
    {
        PodIdentity.ALIKE: Recognition(_main),
        PodIdentity.COMPLETION_INDEX: Recognition(_main, rank=_completion_index),
        PodIdentity.ORDINAL: Recognition(_main, rank=_ordinal),
        PodIdentity.JOB_OF_JOBSET: Recognition(_replicated_job, _job_index, _rank_in_replicated_job),
        PodIdentity.LEADER_AND_WORKERS: Recognition(_main, _group_index, _worker_index, _leads_or_works),
        PodIdentity.ROLE: Recognition(_role, rank=_replica_index),
        PodIdentity.TORCH_ROLE: Recognition(_role, rank=_torch_rank),
        PodIdentity.RAY_GROUP: Recognition(_ray_group),
    },
)
TABLE = {row.kind: _BY_IDENTITY[row.pods] for row in kindtable.ROWS if row.pods in _BY_IDENTITY}


def recognise(kind: str, pod: Field, workload: Field) -> Recognised:
    """Which pod of a workload this is; nothing is known of the pods of a kind that is not in the table (W-017).

    ``workload``: its document, or a field that holds nothing where it is not given.
    """
    row, metadata = TABLE.get(kind), pod.at("metadata")
    if row is None:
        return Recognised()
    return Recognised(
        row.group(metadata, workload),
        row.replica(metadata, workload),
        row.rank(metadata, workload),
        row.pod_class(metadata, workload),
    )


# -- ranks by field path -----------------------------------------------------------------------------------------


def by_path(pod: Field, path: Field) -> Field | None:
    """The label or annotation that a path like ``metadata.labels['KEY']`` means; the other where it is absent (X-23).

    None, and a Problem at the path, when it is no such path.
    """
    text = path.text(None)
    found = _PATH.fullmatch(text) if text is not None else None
    if found is None:
        if text is not None:
            path.mistaken("is not a field path", ("metadata.labels['KEY']", "metadata.annotations['KEY']"))
        return None
    return _written(pod.at("metadata"), found.group(2), found.group(1))


def rank_by_path(pod: Field, path: Field) -> int | None:
    """The rank that a pod carries where the path says; one that is absent or no number is a Problem (W-173)."""
    at = by_path(pod, path)
    if at is None:
        return None
    if not at.present:
        at.wrong("the pod carries no rank here, neither as a label nor as an annotation")
    return _index(at)


def ranks(pods: Sequence[Field], path: Field) -> tuple[int | None, ...]:
    """The ranks of the pods of one group, in their order; a rank that two pods share is a Problem (X-24)."""
    found = tuple(rank_by_path(pod, path) for pod in pods)
    first: dict[int, Field] = {}
    for pod, rank in zip(pods, found, strict=True):
        if rank is not None and first.setdefault(rank, pod) is not pod:
            at = by_path(pod, path) or path
            at.wrong(f"{_called(pod)} and {_called(first[rank])} both have rank {rank}; each rank is used once")
    return found


def _called(pod: Field) -> str:
    return f"pod {pod.at('metadata', 'name').aside().name('without a name')}"
