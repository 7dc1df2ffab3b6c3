"""What the server fills in when an object is made, as far as something here looks at it."""

from phalanx.minicluster.documents import Document, changed, merged
from phalanx.minicluster.errors import Rejected

JOB_NAME = "batch.kubernetes.io/job-name"
JOB_UID = "batch.kubernetes.io/controller-uid"


def pod(doc: Document) -> Document:
    spec = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, **(doc.get("spec") or {})}
    doc = {**doc, "spec": spec, "status": {"phase": "Pending", **(doc.get("status") or {})}}
    gates = spec.get("schedulingGates")
    if not gates:
        return doc
    if spec.get("nodeName"):
        raise Rejected("Invalid", "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared")
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    return changed(doc, "status", "conditions", to=[gated])


def replicas(doc: Document) -> Document:
    return changed(doc, "spec", to={"replicas": 1, **(doc.get("spec") or {})})


def job(doc: Document) -> Document:
    """Counts, and the labels by which its pods are found."""
    spec = doc["spec"]
    meta = doc["metadata"]
    counts = {"completions": 1} if "parallelism" not in spec and "completions" not in spec else {}
    usual = {
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    doc = changed(doc, "spec", to={**usual, **counts, **spec})
    named = {JOB_NAME: meta["name"], "job-name": meta["name"], JOB_UID: meta["uid"], "controller-uid": meta["uid"]}
    doc = merged(doc, "spec", "template", "metadata", "labels", **named)
    return changed(doc, "spec", "selector", to={"matchLabels": {JOB_UID: meta["uid"]}})
