"""JobSet: one pod set per replicated job, in one gang, several or none, as ``gangconfig`` reads it.

The wish on the JobSet bounds all its pods, that on a Job template each Job of it (K-011), that on a pod template all
pods of the replicated job, as in Kueue (K-015). Success and failure policies, network and coordinator say what
happens to pods later and are not read; the order of starting is, because it forbids a gang of everything.
"""

from collections.abc import Sequence

from phalanx.dialects import members, podsets, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset import gangconfig, groups, replicated, scheduled
from phalanx.dialects.jobset.groups import JobSet
from phalanx.dialects.jobset.replicated import Replicated
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.surroundings import Surroundings, identity

_READ = (
    "replicatedJobs", "gangConfig", "scheduling", "startupPolicy", "suspend", "network", "successPolicy",
    "failurePolicy", "coordinator", "managedBy", "ttlSecondsAfterFinished", "volumeClaimPolicies",
)  # fmt: skip
_GROUP_TEMPLATE = "scheduling.k8s.io/group-template-name"
_ANY_KUEUE = "kueue.x-k8s.io/podset-"


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a JobSet; None when it wants no pods."""
    namespace, name = identity(doc)
    doc = scheduled.applied(doc)
    jobs = replicated.read(doc.at("spec", "replicatedJobs"))
    _check(doc, jobs)
    starts = gangconfig.starts(doc, jobs, groups.linked(jobs, namespace, around))
    wanting = _wanting(doc, jobs)
    if not wanting:
        return None
    _check_kueue(doc, wanting)
    of = JobSet(doc, name, namespace, wanting, starts)
    listed = groups.entries(of, around)
    metadata, on_pods = doc.at("metadata"), [job.pod_metadata for job in jobs]
    whole = {
        "queue": wishes.queue(metadata, on_pods),
        "priorityClassName": _priority(wanting),
        "preemptible": wishes.preemptible(metadata, on_pods),
        "suspend": podsets.suspended(metadata, doc.at("spec", "suspend")),
        "topologyName": wishes.topology_name(metadata, [at for job in jobs for at in _templates(job)]),
        **_near_all(of, listed, around),
        "policy": "Gang" if of.whole else "Basic",
        "minGroups": _fewest(of),
        "disruption": _disruption(of),
        "podGroups": podsets.in_pool(listed, metadata),
    }
    return Outline("JobSet", namespace, name, whole)


def _check(doc: Field, jobs: Sequence[Replicated]) -> None:
    """Misspelt fields, keys of ours that mean nothing where they stand, and what is not followed."""
    spec = doc.at("spec")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(*_READ)
    wishes.check_our_keys(doc.at("metadata"), *wishes.on_object())
    for job in jobs:
        wishes.check_our_keys(job.job_metadata, *wishes.on_object())
        wishes.check_our_keys(job.pod_metadata, *wishes.on_template())
    _name_what_is_not_followed(spec, jobs)


def _name_what_is_not_followed(spec: Field, jobs: Sequence[Replicated]) -> None:
    """Other ways to ask JobSet for gangs are refused: they would be asked for in vain. Claims it makes are told."""
    if spec.at("gangPolicy").present:
        said = f"no release has this field; annotations {wishes.GANG_MODE} and {wishes.OURS.required} say the same"
        spec.at("gangPolicy").wrong(said, ("scheduling", "gangConfig"))
    for job in jobs:
        if job.job.at("scheduling").present:
            job.job.at("scheduling").warn("is not followed in a JobSet, whose own spec.scheduling says it for its Jobs")
        at = job.job_metadata.at("annotations", _GROUP_TEMPLATE)
        if at.present:
            at.warn("names a template of a Workload by which a PodGroup is made later; that is not followed")
    if spec.at("volumeClaimPolicies").value:
        spec.at("volumeClaimPolicies").warn("volumes that these make are bound later, and where is not considered")


def _wanting(doc: Field, jobs: Sequence[Replicated]) -> list[Replicated]:
    """Replicated jobs that want pods; a word about those that do not."""
    wanting = [job for job in jobs if job.count]
    if not wanting:
        doc.at("spec").remark("wants no pods now; nothing is placed")
        return []
    for job in jobs:
        if not job.count:
            job.at.remark(f"replicated job {job.name} wants no pods now and is left out")
    return wanting


def _templates(job: Replicated) -> tuple[Field, Field]:
    return job.job_metadata, job.pod_metadata


def _check_kueue(doc: Field, jobs: Sequence[Replicated]) -> None:
    """When one pod template names a level of Kueue's, none is left without any wish that bounds it. (K-038)"""
    levels = (wishes.KUEUE.required, wishes.KUEUE.preferred)
    named = [job.pod_metadata.at("annotations", key) for job in jobs for key in levels]
    first = next((at for at in named if at.present), None)
    if first is None or _bounded(doc.at("metadata")):
        return
    for job in jobs:
        if not any(_bounded(at) for at in _templates(job)) and not _of_kueue(job):
            job.pod_metadata.at("annotations").wrong(
                f"the pod template of replicated job {job.name} asks for no level, but {first.path} does; Kueue wants "
                "one on every pod template of a workload",
                levels,
            )


def _bounded(metadata: Field) -> bool:
    carriers = (wishes.OURS, wishes.KAI)
    return any(metadata.at("annotations", key).present for c in carriers for key in (c.required, c.preferred))


def _of_kueue(job: Replicated) -> bool:
    """Whether a pod template says anything about places in Kueue's words, be it that it does not mind."""
    keys = (key for key, _ in job.pod_metadata.at("annotations").entries())
    return any(key.startswith(_ANY_KUEUE) and key != wishes.GROUP_NAME for key in keys)


def _near_all(of: JobSet, listed: Sequence[Entry], around: Surroundings) -> wishes.Wish:
    """The JobSet's own wish. Parts that start at different times cannot be promised one domain."""
    wish = wishes.of_object(of.doc.at("metadata"), around.topologies)
    near = wish.get("topology")
    required = near.get("required") if isinstance(near, dict) else None
    units = sum(members.amount(entry.get("replicas"), 1) for entry in listed if entry.get("parent") is None)
    if not of.whole and units > 1 and isinstance(required, Field) and required.present:
        required.mistaken(
            "holds all pods of the JobSet in one domain, but they start in parts, for which that is not supported yet; "
            "set it on each Job template or pod template instead"
        )
    return wish


def _fewest(of: JobSet) -> Field | None:
    """How few of its replicated jobs will do, by KAI's annotation; None for all."""
    least = wishes.least_members(of.doc.at("metadata"), len(of.jobs), "replicated jobs")
    if least.value == len(of.jobs):
        return None
    if not of.whole:
        least.warn("is not followed: its replicated jobs do not start together")
    return least if of.whole else None


def _priority(jobs: Sequence[Replicated]) -> Field:
    """The PriorityClass of the first pod template that names one; a JobSet waits with one priority."""
    named = [job.template.at("spec", "priorityClassName") for job in jobs]
    given = [at for at in named if at.present]
    for other in given[1:]:
        if other.value != given[0].value:
            other.warn(f"names another PriorityClass than {given[0].path}, which is followed")
    return given[0] if given else named[0]


def _disruption(of: JobSet) -> str | None:
    said = scheduled.disruption(of.doc)
    return "Gang" if said == "Group" and of.whole else said
