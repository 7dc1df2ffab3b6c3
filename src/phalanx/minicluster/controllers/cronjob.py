"""CronJobs: a Job every so many seconds, as the annotation ``every`` of this room says; without it none.

Left out: schedules, history limits, deadlines for a late start. ``concurrencyPolicy`` is followed.
"""

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import looks_after
from phalanx.minicluster.controllers.job import JOB, is_over
from phalanx.minicluster.documents import Document, annotation, changed, is_leaving, reference
from phalanx.minicluster.times import seconds, stamp
from phalanx.model.objects import ObjectKey

CRON_JOB = ("batch", "CronJob")


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    own = context.store.get(key)
    every = None if own is None else annotation(own, "every")
    if own is None or every is None or is_leaving(own) or own["spec"].get("suspend"):
        return None
    last = (own.get("status") or {}).get("lastScheduleTime") or own["metadata"]["creationTimestamp"]
    due = seconds(last) + float(every)
    if due > now:
        return due
    running = [job for job in context.children(own, JOB) if not is_over(job) and not is_leaving(job)]
    policy = own["spec"].get("concurrencyPolicy", "Allow")
    if policy == "Replace":
        for job in running:
            context.remove(job, now)
    if policy != "Forbid" or not running:
        making.create(context, _job(own, now), now)
    context.write(own, lambda found: changed(found, "status", "lastScheduleTime", to=stamp(now)), now)
    return now + float(every)


def _job(own: Document, now: float) -> Document:
    template = own["spec"]["jobTemplate"]
    above = template.get("metadata") or {}
    said = {"batch.kubernetes.io/cronjob-scheduled-timestamp": stamp(now)}
    meta = {
        "name": f"{own['metadata']['name']}-{int(now)}",
        "namespace": own["metadata"]["namespace"],
        "labels": above.get("labels") or {},
        "annotations": {**(above.get("annotations") or {}), **said},
        "ownerReferences": [reference(own)],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": template["spec"]}


CONTROLLERS = (looks_after(CRON_JOB, reconcile, makes=(JOB,)),)
