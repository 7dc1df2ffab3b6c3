"""The JobSet controller: Jobs of several kinds that start, fail and are made again together.

A Job that failed makes all of them anew, under their names, until ``maxRestarts``; the old ones go in the foreground,
so the new ones come when the last old pod is gone. Suspended with its Jobs; on the way back their templates are steered
to what the JobSet says by then. In order where ``startupPolicy`` or ``dependsOn`` says so.
Left out: rules of the failure policy, networks and host names, exclusive placement, coordinators, time to live.
"""

from phalanx.minicluster import documents, making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import looks_after
from phalanx.minicluster.controllers.job import JOB
from phalanx.minicluster.documents import (
    Document,
    changed,
    fingerprint,
    holds,
    is_leaving,
    labels_of,
    merged,
    reference,
)
from phalanx.model.objects import ObjectKey

JOB_SET = ("jobset.x-k8s.io", "JobSet")
MARK = "jobset.sigs.k8s.io/"
GROUP, INDEX, ATTEMPT = f"{MARK}replicatedjob-name", f"{MARK}job-index", f"{MARK}restart-attempt"
_STEERED = ("nodeSelector", "tolerations", "schedulingGates", "affinity")


def reconcile(context: Context, key: ObjectKey, now: float) -> None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return
    jobs = context.children(own, JOB)
    if is_over(own):
        for each in jobs:
            if not _is_over(each) and not is_leaving(each):
                context.remove(each, now, "Foreground")
        return
    attempt = restarts(own)
    _forget_earlier(context, jobs, attempt, now)
    current = {job["metadata"]["name"]: job for job in jobs if labels_of(job).get(ATTEMPT) == str(attempt)}
    verdict = _verdict(own, current)
    if verdict == "Restart":
        context.write(own, lambda found: changed(found, "status", "restarts", to=attempt + 1), now)
        return
    if not verdict:
        _drive(context, own, current, attempt, now)
    context.write(own, lambda found: _reported(found, current, verdict, now), now)


def is_over(own: Document) -> bool:
    return holds(own, "Completed") or holds(own, "Failed")


def restarts(own: Document) -> int:
    return int((own.get("status") or {}).get("restarts", 0))


def _is_over(job: Document) -> bool:
    return holds(job, "Complete") or holds(job, "Failed")


def _forget_earlier(context: Context, jobs: list[Document], attempt: int, now: float) -> None:
    for job in jobs:
        if int(labels_of(job).get(ATTEMPT, 0)) < attempt and not is_leaving(job):
            context.remove(job, now, "Foreground")


def _verdict(own: Document, current: dict[str, Document]) -> str:
    """Failed, Restart or Completed, if it is one of them."""
    policy = own["spec"].get("failurePolicy") or {}
    if any(holds(job, "Failed") for job in current.values()):
        return "Restart" if restarts(own) < policy.get("maxRestarts", 0) else "Failed"
    success = own["spec"].get("successPolicy") or {}
    targets = success.get("targetReplicatedJobs") or [each["name"] for each in own["spec"]["replicatedJobs"]]
    asked = [name for each in own["spec"]["replicatedJobs"] if each["name"] in targets for name in _names(own, each)]
    done = [name in current and holds(current[name], "Complete") for name in asked]
    enough = any(done) if success.get("operator") == "Any" else done and all(done)
    return "Completed" if enough else ""


def _names(own: Document, replicated: Document) -> list[str]:
    return [f"{own['metadata']['name']}-{replicated['name']}-{i}" for i in range(int(replicated.get("replicas", 1)))]


# -- Jobs --------------------------------------------------------------------------------------------------------


def _drive(context: Context, own: Document, current: dict[str, Document], attempt: int, now: float) -> None:
    """Makes, suspends and resumes Jobs, one kind after the other where they start in order."""
    for number, replicated in enumerate(own["spec"]["replicatedJobs"]):
        if own["spec"].get("suspend") or _may_start(own, replicated, number, current):
            for index, name in enumerate(_names(own, replicated)):
                job = current.get(name)
                new = _job(own, replicated, index, attempt)
                found = making.create(context, new, now) if job is None else _held_or_let(context, job, new, now)
                current.update({} if found is None else {name: found})


def _held_or_let(context: Context, job: Document, new: Document, now: float) -> Document:
    """The Job suspended or resumed like the new one would be; on the way back its pods are steered like those."""
    held = new["spec"]["suspend"]
    if bool(job["spec"].get("suspend")) == held or _is_over(job):
        return job

    def write(found: Document) -> Document:
        found = changed(found, "spec", "suspend", to=held)
        return found if held else _steered(found, new["spec"]["template"])

    return context.write(job, write, now)


def _steered(job: Document, template: Document) -> Document:
    for name in _STEERED:
        job = changed(job, "spec", "template", "spec", name, to=template["spec"].get(name))
    for name in ("labels", "annotations"):
        job = merged(job, "spec", "template", "metadata", name, **template["metadata"][name])
    return job


def _may_start(own: Document, replicated: Document, number: int, current: dict[str, Document]) -> bool:
    """Whether those that come before it are as far as they must be."""
    listed = own["spec"]["replicatedJobs"]
    by_name = {each["name"]: each for each in listed}
    if (own["spec"].get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder":
        before = [(each, "Ready") for each in listed[:number]]
    else:
        before = [(by_name[each["name"]], each["status"]) for each in replicated.get("dependsOn") or ()]
    return all(name in current and _is_as_far(current[name], how) for each, how in before for name in _names(own, each))


def _is_as_far(job: Document, how: str) -> bool:
    if how == "Complete":
        return holds(job, "Complete")
    status = job.get("status") or {}
    there = int(status.get("ready", 0)) + int(status.get("succeeded", 0)) + int(status.get("failed", 0))
    return not job["spec"].get("suspend") and there >= int(job["spec"]["parallelism"])


def _job(own: Document, replicated: Document, index: int, attempt: int) -> Document:
    template, marks = replicated["template"], _marks(own, replicated, index, attempt)
    above = template.get("metadata") or {}
    meta = {
        "name": _names(own, replicated)[index],
        "namespace": own["metadata"]["namespace"],
        "labels": {**(above.get("labels") or {}), **marks},
        "annotations": {**(above.get("annotations") or {}), **marks},
        "ownerReferences": [reference(own)],
    }
    pods = template["spec"]["template"]
    for name in ("labels", "annotations"):
        pods = merged(pods, "metadata", name, **marks)
    spec = {**template["spec"], "suspend": bool(own["spec"].get("suspend")), "template": pods}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def _marks(own: Document, replicated: Document, index: int, attempt: int) -> dict[str, str]:
    """What its Jobs and their pods carry, as labels and as annotations."""
    listed = own["spec"]["replicatedJobs"]
    before = sum(int(each.get("replicas", 1)) for each in listed[: listed.index(_named(own, replicated["name"]))])
    name = _names(own, replicated)[index]
    said = {
        "jobset-name": own["metadata"]["name"],
        "jobset-uid": own["metadata"]["uid"],
        "replicatedjob-name": replicated["name"],
        "replicatedjob-replicas": replicated.get("replicas", 1),
        "global-replicas": sum(int(each.get("replicas", 1)) for each in listed),
        "job-index": index,
        "job-global-index": before + index,
        "job-key": fingerprint([own["metadata"]["namespace"], name]),
        "group-name": replicated.get("groupName", "default"),
        "restart-attempt": attempt,
    }
    return {f"{MARK}{key}": str(value) for key, value in said.items()}


def _named(own: Document, name: str) -> Document:
    return next(each for each in own["spec"]["replicatedJobs"] if each["name"] == name)


# -- what it says of itself --------------------------------------------------------------------------------------


def _reported(own: Document, current: dict[str, Document], verdict: str, now: float) -> Document:
    counts = [_counted(own, each, current) for each in own["spec"]["replicatedJobs"]]
    own = merged(own, "status", restarts=restarts(own), replicatedJobsStatus=counts)
    if verdict:
        why = "FailedJobs" if verdict == "Failed" else "AllJobsCompleted"
        return documents.with_condition(own, now, verdict, True, why)
    if own["spec"].get("suspend"):
        return documents.with_condition(own, now, "Suspended", True, "SuspendedJobs")
    if documents.condition(own, "Suspended"):
        return documents.with_condition(own, now, "Suspended", False, "ResumeJobs")
    return own


def _counted(own: Document, replicated: Document, current: dict[str, Document]) -> Document:
    jobs = [current[name] for name in _names(own, replicated) if name in current]
    return {
        "name": replicated["name"],
        "ready": sum(_is_as_far(job, "Ready") for job in jobs),
        "succeeded": sum(holds(job, "Complete") for job in jobs),
        "failed": sum(holds(job, "Failed") for job in jobs),
        "active": sum(bool((job.get("status") or {}).get("active")) for job in jobs),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in jobs),
    }


CONTROLLERS = (looks_after(JOB_SET, reconcile, makes=(JOB,)),)
