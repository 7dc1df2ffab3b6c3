"""The pods of a JobSet as ``podGroups`` of the normal form.

A replicated job is one group of all its pods, named as it. Where something speaks of each Job (a wish on the Job
template, mode ReplicatedGang) its Jobs are copies, and what speaks of all of them sits on a group around the copies::

    workers                        workers[0] workers[1]          all-workers( workers[0] workers[1] )
    nothing asked per Job          rack on the Job template       rack there, and block on the pod template

A replicated job whose pods name an object that gathers them is a plain group: everything else is that object's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from phalanx.dialects import jobspec, outline, podsets, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset.gangconfig import EXCLUSIVE, Start
from phalanx.dialects.jobset.replicated import Replicated
from phalanx.dialects.outline import Entry
from phalanx.dialects.surroundings import Surroundings
from phalanx.dialects.wishes import Wish

JOB_INDEX = "jobset.sigs.k8s.io/job-index"

_WAITS = (Start.TOGETHER, Start.AS_ONE)  # its Jobs start together
_KEPT_OUT = "pods of other Jobs of JobSets are kept out of it, those of other workloads are not"


@dataclass(frozen=True, slots=True)
class JobSet:
    """A JobSet whose groups are made: its replicated jobs that want pods, and whom each starts with."""

    doc: Field
    name: str
    namespace: str
    jobs: Sequence[Replicated]
    starts: Mapping[str, Start]

    def free(self, name: str) -> str:
        """The name for a group around others, with a dot where a replicated job is called so: theirs have none."""
        return name if name not in self.starts else f"{name}."

    @property
    def whole(self) -> bool:
        """Whether all pods are one gang."""
        return all(self.starts[job.name] is Start.TOGETHER for job in self.jobs)

    @property
    def partly(self) -> bool:
        """Whether the JobSet's gang leaves some of its replicated jobs out."""
        return not self.whole and any(self.starts[job.name] is Start.TOGETHER for job in self.jobs)


def entries(of: JobSet, around: Surroundings) -> list[Entry]:
    """All groups, those around others first."""
    named = linked(of.jobs, of.namespace, around)
    shared = _shared(of, [job for job in of.jobs if job.name not in named], around)
    gang = of.free("gang") if of.partly else None
    made: list[Entry] = [{"name": gang, "policy": "Gang"}] if gang is not None else []
    made += [{**entry, "parent": gang} for entry in shared.values()]
    for job in of.jobs:
        parent = gang if of.starts[job.name] is Start.TOGETHER else None
        group = shared.get(str(wishes.group_name(job.pod_metadata).value))
        if job.name in named:
            made.append({**_pods(of, job, job.count), **_asked(job, around)})
        elif group is not None:
            made += _of_job(of, job, around, group["name"], bounded=True)
        else:
            made += _of_job(of, job, around, parent, bounded=False)
    return made


def linked(jobs: Iterable[Replicated], namespace: str, around: Surroundings) -> set[str]:
    """Names of the replicated jobs whose pods say themselves what they belong to."""
    return {job.name for job in jobs if podsets.linked(job.template, namespace, around)}


def _asked(job: Replicated, around: Surroundings) -> Wish:
    """What its annotations ask for pods that belong to something else: told to be in vain, which silence is not."""
    each = wishes.of_job_template(job.job_metadata, around.topologies)
    return {**each, **wishes.of_template(job.pod_metadata, around.topologies)}


# -- one replicated job ------------------------------------------------------------------------------------------


def _of_job(of: JobSet, job: Replicated, around: Surroundings, parent: object, bounded: bool) -> list[Entry]:
    """The group of a replicated job, or its copies and perhaps a group around them.

    ``bounded``: the parent keeps what the pod template asks for, for several replicated jobs at once.
    """
    start = of.starts[job.name]
    wish = wishes.of_template(job.pod_metadata, around.topologies)
    near_each, apart = _each_job(of, job, around)
    near_all = _near_all(wish, apart, bounded)
    least = _least(job, wish, start)
    pods = {key: value for key, value in (("slices", wish.get("slices")), ("minCount", least)) if value is not None}
    few = start is not Start.ALONE and least is not None and job.replicas > 1
    if start is not Start.PER_JOB and not near_each and not few:
        return [{**_pods(of, job, job.count), "parent": parent, **pods, **near_all}]
    copies = {**_pods(of, job, job.pods), "parent": parent, **pods, **near_each, **_copied(job)}
    if not near_all and start is not Start.AS_ONE:
        return [copies]
    name = of.free(f"all-{job.name}")
    policy = "Gang" if start in _WAITS else "Basic"
    return [{"name": name, "parent": parent, "policy": policy, **near_all}, {**copies, "parent": name}]


def _least(job: Replicated, wish: Wish, start: Start) -> object:
    """``minCount``: one pod without a gang; in one, of each Job what KAI's annotation says, else None for all."""
    least = wishes.least_members(job.job_metadata, job.pods, "pods of a Job")
    if start is Start.ALONE:
        return outline.least_alone(wish)
    jobspec.warn_of_turns(job.job, job.pods)
    return None if least.value == job.pods else least


def _near_all(wish: Wish, apart: Wish, bounded: bool) -> Wish:
    """``topology`` of all Jobs together: what the pod template asks for, and that the Jobs keep apart."""
    asked = wish.get("topology") if not bounded else None
    near = {**(asked if isinstance(asked, Mapping) else {}), **apart}
    return {"topology": near} if near else {}


def _copied(job: Replicated) -> dict[str, object]:
    """One copy for each Job, told apart by its index. (X-31)"""
    return {"replicas": job.at.at("replicas").meaning(job.replicas), "replicaKey": f"metadata.labels['{JOB_INDEX}']"}


def _pods(of: JobSet, job: Replicated, count: int) -> dict[str, object]:
    """So many pods of a replicated job."""
    one = count == job.pods
    rank: object = {"fieldPath": jobspec.INDEX} if one else {"order": "Consecutive"}  # job index, then index in the Job
    return {
        "name": job.at.at("name"),
        "count": (job.job.at("parallelism") if one else job.at.at("replicas")).meaning(count),
        "template": outline.template(job.template, _labels(of.name, job)),
        **({"rank": rank} if job.indexed else {}),
    }


def labels(jobset: str, job: Replicated) -> dict[str, str]:
    """What the JobSet controller puts on all pods of a replicated job."""
    return {"jobset.sigs.k8s.io/jobset-name": jobset, "jobset.sigs.k8s.io/replicatedjob-name": job.name}


def _labels(jobset: str, job: Replicated) -> dict[str, str]:
    """Labels that all its pods share: the name of the Job is one of them only where there is one Job. (X-31)"""
    only = jobspec.labels(job_name(jobset, job, 0)) if job.replicas == 1 else {}
    return {**labels(jobset, job), **only}


def job_name(jobset: str, job: Replicated, index: int) -> str:
    return f"{jobset}-{job.name}-{index}"


# -- each Job ----------------------------------------------------------------------------------------------------


def _each_job(of: JobSet, job: Replicated, around: Surroundings) -> tuple[Wish, Wish]:
    """What is asked for each Job, by our annotations on the Job template and by JobSet's own for a domain per Job;
    and the ``spread`` by which Jobs that start together keep apart."""
    wish = wishes.of_job_template(job.job_metadata, around.topologies)
    own, above = (at.at("annotations", EXCLUSIVE) for at in (job.job_metadata, of.doc.at("metadata")))
    exclusive = own if own.present else above
    if not exclusive.present:
        return wish, {}
    near = wish.get("topology")
    asked = near if isinstance(near, Mapping) else {}
    required = asked.get("required")
    if isinstance(required, Field) and required.present:
        exclusive.wrong(
            f"JobSet holds each Job in one domain of this level, whatever {required.path} says; leave one of them out"
        )
        return wish, {}
    alone: Wish = {"topology": {"required": exclusive, "preferred": asked.get("preferred")}}
    return alone, _apart(exclusive, job, of.starts[job.name])


def _apart(exclusive: Field, job: Replicated, start: Start) -> Wish:
    """No more pods in a domain than one Job has, so that each Job is alone there among those it starts with."""
    if start not in _WAITS or job.replicas == 1:
        exclusive.warn(f"each Job is held in one domain of this level; {_KEPT_OUT}")
        return {}
    exclusive.warn(
        f"each Job is held in one domain of this level, apart from the others of its replicated job; {_KEPT_OUT}"
    )
    return {"spread": {"level": exclusive, "maxPerDomain": job.pods}}


# -- Kueue's groups of pod sets ----------------------------------------------------------------------------------


def _shared(of: JobSet, jobs: Sequence[Replicated], around: Surroundings) -> dict[str, dict[str, object]]:
    """The groups around replicated jobs that name the same podset-group-name, by that name."""
    named: dict[str, list[Replicated]] = {}
    for job in jobs:
        at = wishes.group_name(job.pod_metadata)
        if at.present and (name := at.name(None)) is not None:
            named.setdefault(name, []).append(job)
    return {name: _around(of, name, those, around) for name, those in named.items()}


def _around(of: JobSet, name: str, those: Sequence[Replicated], around: Surroundings) -> dict[str, object]:
    """One group for replicated jobs that are kept in one domain, with the level that all of them name."""
    first = those[0]
    near = wishes.of_template(first.pod_metadata, around.topologies)
    for job in those:
        at = wishes.group_name(job.pod_metadata)
        if len(those) == 1:
            at.mistaken("groups nothing: no other pod template names it")
        if of.starts[job.name] is not Start.TOGETHER:
            at.mistaken("groups pods that do not start together, which is not supported yet", ("gangMode: Gang",))
        if "topology" not in near or _levels(job, around) != _levels(first, around):
            at.wrong("pod templates of one group ask for the same level, required or preferred")
    return {"name": of.free(f"group-{name}"), "policy": "Gang", "topology": near.get("topology")}


def _levels(job: Replicated, around: Surroundings) -> object:
    return outline.plain(wishes.of_template(job.pod_metadata.aside(), around.topologies).get("topology"))
