"""The Job controller.

Makes pods up to ``parallelism``, with indexes where it is Indexed; counts pods that ended, and pods that somebody else
deleted as failures, each once, held by the finalizer of job tracking; gives up beyond ``backoffLimit``; waits longer
after each failure. Suspended, it deletes its pods and does not count them.
Left out: pod failure and success policies, limits per index, active deadlines, time to live, restarts of containers as
failures, adoption.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from phalanx.minicluster import documents, making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller, looks_after
from phalanx.minicluster.controllers import workloadwithjob
from phalanx.minicluster.documents import POD, Document, changed, holds, is_leaving, key_of, kind_of, merged, uid_of
from phalanx.minicluster.pods import has_ended, is_active
from phalanx.minicluster.store import DELETED, Event
from phalanx.minicluster.times import stamp
from phalanx.model.objects import ObjectKey

JOB = ("batch", "Job")
INDEX = "batch.kubernetes.io/job-completion-index"
TRACKED = "batch.kubernetes.io/job-tracking"


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    job = context.store.get(key)
    if job is None or job["spec"].get("managedBy"):
        return None
    if is_over(job):
        _finish(context, job, now)
        return None
    job = _counted(context, job, now)
    pods = context.children(job, POD)
    verdict = _verdict(job)
    if verdict or job["spec"].get("suspend"):
        _drop(context, [each for each in pods if is_active(each)], now)
        again = None
    elif is_leaving(job):
        again = None
    else:
        again = _manage(context, job, pods, now)
    pods = context.children(job, POD)
    context.write(job, lambda found: _reported(found, pods, verdict, now), now)
    return again


def is_over(job: Document) -> bool:
    return holds(job, "Complete") or holds(job, "Failed")


# -- counting ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Backoff:
    failures: int = 0
    until: float = 0.0


def _counted(context: Context, job: Document, now: float) -> Document:
    """The Job with those added that ended since; then they are let go."""
    ended = [pod for pod in context.children(job, POD) if _is_tracked(pod) and _counts(job, pod)]
    if not ended:
        return job
    good = [pod for pod in ended if pod["status"].get("phase") == "Succeeded"]
    status = job.get("status") or {}
    done = completed_indexes(job) | {index_of(pod) for pod in good}
    failed = status.get("failed", 0) + len(ended) - len(good)
    if job["spec"]["completionMode"] == "Indexed":
        change = {"succeeded": len(done), "completedIndexes": _written(done), "failed": failed}
    else:
        change = {"succeeded": status.get("succeeded", 0) + len(good), "failed": failed}
    _remember(context, job, bool(good), len(ended) - len(good), now)
    job = context.write(job, lambda found: merged(found, "status", **change), now)
    for pod in ended:
        release(context, pod, now)
    return job


def _counts(job: Document, pod: Document) -> bool:
    """Whether it ended, or is taken for ended because it was deleted."""
    return has_ended(pod) or (is_leaving(pod) and job["spec"].get("podReplacementPolicy") != "Failed")


def _is_tracked(pod: Document) -> bool:
    return TRACKED in (pod["metadata"].get("finalizers") or ())


def release(context: Context, pod: Document, now: float) -> None:
    """Lets go of a pod: it may be removed."""
    if _is_tracked(pod):
        context.write(pod, _untracked, now)


def _untracked(pod: Document) -> Document:
    rest = [each for each in pod["metadata"]["finalizers"] if each != TRACKED]
    return changed(pod, "metadata", "finalizers", to=rest or None)


def _remember(context: Context, job: Document, succeeded: bool, failures: int, now: float) -> None:
    """What is waited before pods are made again: it doubles with each failure since the last success."""
    about = uid_of(job), "backoff"
    before = _Backoff() if succeeded else context.memory.get(about, _Backoff())
    if failures:
        count, pace = before.failures + failures, context.pace
        pause = min(pace.backoff * 2 ** min(count - 1, 30), pace.backoff_most)
        before = _Backoff(count, now + pause)
    context.memory[about] = before


# -- pods --------------------------------------------------------------------------------------------------------


def _manage(context: Context, job: Document, pods: list[Document], now: float) -> float | None:
    """Makes the pods that are missing, or deletes those that are too many."""
    spec = job["spec"]
    active = [each for each in pods if is_active(each)]
    taking = active
    if spec.get("podReplacementPolicy") == "Failed":
        taking = [each for each in pods if not has_ended(each)]
    wanted = _wanted(job, len(active))
    if len(active) > wanted:
        _drop(context, _least_needed(active)[wanted:], now)
        return None
    missing = wanted - len(taking)
    if missing <= 0:
        return None
    backoff = context.memory.get((uid_of(job), "backoff"), _Backoff())
    if backoff.until > now:
        return float(backoff.until)
    group = workloadwithjob.pod_group(context, job, _has_started(job, pods), now)
    new = (workloadwithjob.owned(pod, group) for pod in _new_pods(job, taking, missing, group))
    return making.make(context, job, list(new), now)


def _has_started(job: Document, pods: list[Document]) -> bool:
    return bool(pods) or "startTime" in (job.get("status") or {})


def _wanted(job: Document, active: int) -> int:
    spec, done = job["spec"], (job.get("status") or {}).get("succeeded", 0)
    if spec.get("completions") is None:
        return active if done else int(spec["parallelism"])
    return min(int(spec["parallelism"]), int(spec["completions"]) - int(done))


def _new_pods(job: Document, taking: list[Document], missing: int, group: Document | None) -> list[Document]:
    name, template = job["metadata"]["name"], workloadwithjob.joined(job["spec"]["template"], group)
    meta = {**(template.get("metadata") or {}), "finalizers": [TRACKED]}
    template = {**template, "metadata": meta}
    if job["spec"]["completionMode"] != "Indexed":
        return [making.pod(job, template, generate=f"{name}-") for _ in range(missing)]
    taken = completed_indexes(job) | {index_of(pod) for pod in taking}
    free = [number for number in range(job["spec"]["completions"]) if number not in taken][:missing]
    return [_indexed(job, template, number) for number in free]


def _indexed(job: Document, template: Document, number: int) -> Document:
    said = {INDEX: str(number)}
    spec = {**template["spec"], "hostname": f"{job['metadata']['name']}-{number}"}
    generate = f"{job['metadata']['name']}-{number}-"
    return making.pod(job, {**template, "spec": spec}, generate=generate, labels=said, annotations=said)


def _least_needed(active: list[Document]) -> list[Document]:
    """Those to keep first: with a node, then with a low index."""
    return sorted(active, key=lambda pod: (not pod["spec"].get("nodeName"), index_of(pod), key_of(pod)))


def _drop(context: Context, pods: Iterable[Document], now: float) -> None:
    """Deletes pods that are not to be counted as failures."""
    for pod in pods:
        release(context, pod, now)
        context.remove(pod, now)


def index_of(pod: Document) -> int:
    return int((pod["metadata"].get("annotations") or {}).get(INDEX, -1))


def completed_indexes(job: Document) -> set[int]:
    """``1,3-5`` as numbers."""
    said = (job.get("status") or {}).get("completedIndexes") or ""
    found = (part.partition("-") for part in said.split(",") if part)
    return {number for low, _, high in found for number in range(int(low), int(high or low) + 1)}


def _written(indexes: set[int]) -> str:
    runs: list[tuple[int, int]] = []
    for number in sorted(indexes):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


# -- what it says of itself --------------------------------------------------------------------------------------


def _verdict(job: Document) -> str:
    """Failed or Complete once it is known that it will be."""
    spec, status = job["spec"], job.get("status") or {}
    if holds(job, "FailureTarget") or status.get("failed", 0) > spec["backoffLimit"]:
        return "Failed"
    wanted = spec.get("completions")
    if wanted is None:
        done = status.get("succeeded", 0) > 0 and not status.get("active", 0)
    else:
        done = status.get("succeeded", 0) >= wanted
    return "Complete" if done or holds(job, "SuccessCriteriaMet") else ""


def _reported(job: Document, pods: list[Document], verdict: str, now: float) -> Document:
    active = [each for each in pods if is_active(each)]
    leaving = [each for each in pods if is_leaving(each) and not has_ended(each)]
    counts = {
        "active": len(active),
        "ready": sum(holds(each, "Ready") for each in active),
        "terminating": len(leaving),
    }
    status = job.get("status") or {}
    if any(status.get(name, 0) != count for name, count in counts.items()):
        job = merged(job, "status", **counts)
    if verdict:
        return _concluded(job, verdict, bool(active or leaving), now)
    if job["spec"].get("suspend"):
        return documents.with_condition(job, now, "Suspended", True, "JobSuspended")
    if holds(job, "Suspended") or "startTime" not in status:
        job = changed(job, "status", "startTime", to=stamp(now))
    if documents.condition(job, "Suspended"):
        job = documents.with_condition(job, now, "Suspended", False, "JobResumed")
    return job


def _concluded(job: Document, verdict: str, waits: bool, now: float) -> Document:
    """First that it will be so, and when all pods are gone or over, that it is."""
    target, why = ("FailureTarget", "BackoffLimitExceeded") if verdict == "Failed" else ("SuccessCriteriaMet", "")
    job = documents.with_condition(job, now, target, True, why)
    if waits:
        return job
    job = documents.with_condition(job, now, verdict, True, why)
    return job if verdict == "Failed" else changed(job, "status", "completionTime", to=stamp(now))


def _finish(context: Context, job: Document, now: float) -> None:
    """Of a Job that is over nothing runs any more, and no pod is held."""
    _drop(context, [each for each in context.children(job, POD) if is_active(each)], now)
    for pod in context.children(job, POD):
        release(context, pod, now)
    context.memory.pop((uid_of(job), "backoff"), None)


# -- pods that have no Job any more ------------------------------------------------------------------------------


def _orphans(context: Context, event: Event) -> Iterable[ObjectKey]:
    doc = event.document
    if kind_of(doc) == JOB:
        return [key_of(each) for each in context.store.owned_by(uid_of(doc))] if event.type == DELETED else ()
    return (key_of(doc),) if _is_tracked(doc) else ()


def _release_orphan(context: Context, key: ObjectKey, now: float) -> None:
    """What its Job held is let go where that Job, by its uid, is gone."""
    pod = context.store.get(key)
    above = None if pod is None else documents.controller_of(pod)
    if pod is None or not _is_tracked(pod):
        return
    job = None if above is None else context.store.get(documents.owner_key(pod, above))
    if job is None or above is None or uid_of(job) != above["uid"]:
        release(context, pod, now)


CONTROLLERS = (looks_after(JOB, reconcile), Controller("JobOrphans", (POD, JOB), _orphans, _release_orphan))
