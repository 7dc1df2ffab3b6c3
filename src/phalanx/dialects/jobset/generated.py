"""The Workload that is made for a JobSet with gangs, and the reference to it in every pod of them.

One Workload per JobSet; how its pods refer to it says which gang they are in (J-009, J-011)::

    one gang of all               pg-<jobset>          replicas 1   minCount: all pods
    a gang per replicated job     pg-<replicated job>  replicas 1   minCount: its pods
    a gang per Job                pg-<replicated job>  replicas n   minCount: pods of a Job; podGroupReplicaIndex 0..n-1

It is made whether the JobSet is suspended or not, from nothing but the manifest, so the same one comes out however
often it is made. The JobSet owns it, and it goes when the JobSet goes. Pods without a gang, and pods that name what
they belong to themselves, get no reference.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from phalanx.dialects import outline, owners
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset import gangconfig, groups, replicated, scheduled
from phalanx.dialects.jobset.gangconfig import Start
from phalanx.dialects.jobset.replicated import JOBS_MAX, Replicated
from phalanx.dialects.links import WORKLOAD
from phalanx.dialects.surroundings import Surroundings, identity

API_GROUP, KIND = "jobset.x-k8s.io", "JobSet"
NAME_MAX = 63  # characters, as in every name that may end up in a label

_HASH = 8  # characters
_NO_SURROUNDINGS = Surroundings()

Document = dict[str, object]
Reference = dict[str, object]


@dataclass(frozen=True, slots=True)
class Generated:
    """What a JobSet becomes.

    ``workload``: None when it has no gang. ``references``: ``spec.workload`` of the pods by replicated job, a list with
    one for each Job where every Job is a gang; replicated jobs without a gang of ours are left out. ``jobs``: all Jobs,
    with the reference in their pod templates.
    """

    workload: Document | None = None
    references: Mapping[str, Reference | list[Reference]] = field(default_factory=dict)
    jobs: tuple[Document, ...] = ()


def generate(doc: Field, around: Surroundings = _NO_SURROUNDINGS) -> Generated:
    """The Workload, references and Jobs of a JobSet; nothing at all when a Problem was noted in ``doc``."""
    namespace, name = identity(doc)
    doc = scheduled.applied(doc)
    jobs = replicated.read(doc.at("spec", "replicatedJobs"))
    linked = groups.linked(jobs, namespace, around)
    starts = gangconfig.starts(doc, jobs, linked)
    free = {job.name for job in jobs if job.count and job.name not in linked}
    gangs = {job.name: start for job in jobs if job.name in free and (start := starts[job.name]) is not Start.ALONE}
    _check_size(doc, jobs)
    if gangs:
        _check_name(doc, namespace, workload_name(name), around)
    if doc.notes.problems:
        return Generated()
    references = {job.name: _references(name, job, gangs[job.name]) for job in jobs if job.name in gangs}
    made = [one for job in jobs if job.count for one in _jobs(doc, name, job, references.get(job.name))]
    return Generated(_workload(doc, name, jobs, gangs) if gangs else None, references, tuple(made))


def workload_name(jobset: str) -> str:
    return _short(f"w-{jobset}")


def _short(name: str) -> str:
    """The name, cut and told apart by a hash where it is too long. (J-035)"""
    if len(name) <= NAME_MAX:
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{name[: NAME_MAX - _HASH - 1].rstrip('-.')}-{mark}"


# -- the Workload ------------------------------------------------------------------------------------------------


def _workload(doc: Field, name: str, jobs: Sequence[Replicated], gangs: Mapping[str, Start]) -> Document:
    together = [job.count for job in jobs if gangs.get(job.name) is Start.TOGETHER]
    whole = [_group(f"pg-{name}", 1, sum(together))] if together else []
    own = [job for job in jobs if gangs.get(job.name) in (Start.AS_ONE, Start.PER_JOB)]
    return {
        "apiVersion": "scheduling/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": workload_name(name), **_namespace(doc), "ownerReferences": [_owner(doc, name)]},
        "spec": {
            "controllerRef": {"name": name, "kind": KIND, "apiGroup": API_GROUP},
            "podGroups": whole + [_own_group(job, gangs[job.name]) for job in own],
        },
    }


def _own_group(job: Replicated, start: Start) -> Document:
    copies = job.replicas if start is Start.PER_JOB else 1
    return _group(f"pg-{job.name}", copies, job.count // copies)


def _group(name: str, replicas: int, least: int) -> Document:
    return {"name": _short(name), "replicas": replicas, "policy": {"kind": "Gang", "gang": {"minCount": least}}}


def _owner(doc: Field, name: str) -> Document:
    """The reference by which the Workload is deleted with the JobSet (J-034); the uid where one is known."""
    uid = doc.at("metadata", "uid").value
    named = {"apiVersion": doc.at("apiVersion").value, "kind": KIND, "name": name}
    return {**named, **({"uid": uid} if isinstance(uid, str) else {}), "controller": True, "blockOwnerDeletion": True}


def _namespace(doc: Field) -> Document:
    written = doc.at("metadata", "namespace")
    return {"namespace": written.value} if written.present else {}


# -- pods and Jobs -----------------------------------------------------------------------------------------------


def _references(name: str, job: Replicated, start: Start) -> Reference | list[Reference]:
    group = _short(f"pg-{name if start is Start.TOGETHER else job.name}")
    reference: Reference = {"name": workload_name(name), "podGroup": group}
    if start is not Start.PER_JOB:
        return reference
    numbers = range(job.replicas)  # from 0, as the label job-index counts (X-10)
    return [{**reference, "podGroupReplicaIndex": number} for number in numbers]


def _jobs(doc: Field, name: str, job: Replicated, reference: Reference | list[Reference] | None) -> list[Document]:
    """The Jobs of a replicated job, with the reference in their pod templates before any pod exists. (J-033)"""
    spec = {"completionMode": "Indexed", **_plain(job.job)}  # what a JobSet's Jobs are unless they say otherwise
    written: Document = {"metadata": _plain(job.job_metadata), "spec": spec}
    template = _plain(job.template)
    made: list[Document] = []
    for index in range(job.replicas):
        own = reference[index] if isinstance(reference, list) else reference
        labels = {**groups.labels(name, job), groups.JOB_INDEX: str(index)}
        pods = _labelled(template, labels, {} if own is None else {"workload": own})
        whole = _labelled(written, labels, {"template": pods})
        known = {"name": groups.job_name(name, job, index), **_namespace(doc), "ownerReferences": [_owner(doc, name)]}
        whole["metadata"] = {**_mapping(whole, "metadata"), **known}
        made.append({"apiVersion": "batch/v1", "kind": "Job", **whole})
    return made


def _labelled(of: Document, labels: Mapping[str, str], spec: Document) -> Document:
    """An object with labels added to its metadata and fields to its spec."""
    metadata = _mapping(of, "metadata")
    known = {**metadata, "labels": {**_mapping(metadata, "labels"), **labels}}
    return {**of, "metadata": known, "spec": {**_mapping(of, "spec"), **spec}}


def _mapping(of: Document, key: str) -> Document:
    found = of.get(key)
    return found if isinstance(found, dict) else {}


def _plain(at: Field) -> Document:
    found = outline.plain(at)
    return found if isinstance(found, dict) else {}


# -- rules -------------------------------------------------------------------------------------------------------


def _check_size(doc: Field, jobs: Sequence[Replicated]) -> None:
    total = sum(job.replicas for job in jobs if job.count)
    if total > JOBS_MAX:
        doc.at("spec", "replicatedJobs").wrong(f"make {total} Jobs; at most {JOBS_MAX} are made")


def _check_name(doc: Field, namespace: str, name: str, around: Surroundings) -> None:
    """A Workload of that name that is not this JobSet's is neither taken over nor replaced. (J-052)"""
    existing = around.neighbours.find(WORKLOAD.api_group, WORKLOAD.kind, namespace, name)
    if existing is None or _is_ours(existing, doc):
        return
    doc.at("metadata", "name").mistaken(
        f"would get Workload {namespace}/{name}, which exists and does not belong to this JobSet; rename one of them, "
        "or let the pod templates refer to that Workload"
    )


def _is_ours(workload: Field, doc: Field) -> bool:
    owner, uid = owners.controller(workload), doc.at("metadata", "uid").value
    if owner is None or (owner.api_group, owner.kind, owner.name) != (
        API_GROUP,
        KIND,
        doc.at("metadata", "name").value,
    ):
        return False
    return not owner.uid or uid is None or owner.uid == uid
