"""A Pod object as the engine sees it, but for the gang it belongs to."""

from dataclasses import replace

from phalanx.dialects import clusterstate, owners
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours, times
from phalanx.dialects.owners import Owner
from phalanx.model.pods import STOPPED, Pod, PodKey

JOB_TRACKING = "batch.kubernetes.io/job-tracking"


def key(doc: Field) -> PodKey:
    metadata = doc.at("metadata")
    parts = (metadata.at(part).value for part in ("namespace", "name", "uid"))
    namespace, name, uid = (part if isinstance(part, str) else "" for part in parts)
    return PodKey(namespace or "default", name, uid)


def pod(doc: Field) -> Pod:
    """The pod as it is now, a member of nothing."""
    status, owner = doc.at("status"), owners.controller(doc.aside())
    return Pod(
        key=key(doc),
        running=clusterstate.running_pod(doc),
        phase=_phase(doc, owner),
        ready=_is_ready(status),
        leaving=doc.at("metadata", "deletionTimestamp").present,
        gated=ours.is_gated(doc),
        pinned=ours.pinned(doc),
        least=ours.least(doc),
        made=times.seconds(doc.at("metadata", "creationTimestamp").value) or 0.0,
        daemon=owner is not None and owners.has_no_gang(owner.of_kind),
        daemon_set=f"{key(doc).namespace}/{owner.name}" if owner is not None and owner.kind == "DaemonSet" else "",
    )


def nominated(doc: Field) -> str:
    """The node that another scheduler keeps for a pod, which may have evicted others for it; empty where it has one, or
    cannot be bound as it is."""
    node = doc.at("status", "nominatedNodeName").value
    waits = not doc.at("spec", "nodeName").value and not doc.at("spec", "schedulingGates").value
    stays = not clusterstate.has_ended(doc) and not doc.at("metadata", "deletionTimestamp").present
    return node if isinstance(node, str) and waits and stays else ""


def _phase(doc: Field, owner: Owner | None) -> str:
    """What the kubelet says; but a pod that ends well because it was told to end has not done its work, unless its Job
    counts it all the same."""
    phase = doc.at("status", "phase").value
    if phase == "Succeeded" and not _is_counted(doc, owner) and _was_told_to_end(doc):
        return STOPPED
    return phase if isinstance(phase, str) and phase else "Pending"


def _is_counted(doc: Field, owner: Owner | None) -> bool:
    """Whether a Job takes the kubelet's word for a pod of its own: its controller holds each by a finalizer until it
    has counted it, and lets go of those that it deletes itself, as of a Job that is suspended."""
    if owner is None or owner.kind != "Job":
        return False
    held = any(one.value == JOB_TRACKING for one in doc.at("metadata", "finalizers").items())
    return held or not doc.at("metadata", "deletionTimestamp").present


def settled(before: Pod, now: Pod) -> Pod:
    """The pod as it is now: whose work was seen to be done before it was told to go, it stays done."""
    was_done = before.key == now.key and before.phase == "Succeeded"
    return replace(now, phase=before.phase) if was_done and now.phase == STOPPED else now


def _was_told_to_end(doc: Field) -> bool:
    policy, is_leaving = doc.at("spec", "restartPolicy").value, doc.at("metadata", "deletionTimestamp").present
    if policy == "Always":
        return True  # by itself it would have begun again
    return (is_leaving and not _had_ended(doc)) or any(
        one.at("type").value == "DisruptionTarget" and one.at("status").value == "True"
        for one in doc.at("status", "conditions").items()
    )


def _had_ended(doc: Field) -> bool:
    """Whether all of its containers had ended when it was deleted. The server's deletionTimestamp is when the pod must
    be gone: later than the deletion by its grace period."""
    gone_by = times.seconds(doc.at("metadata", "deletionTimestamp").value)
    grace = doc.at("metadata", "deletionGracePeriodSeconds").value
    containers = doc.at("status", "containerStatuses").items()
    ends = [times.seconds(one.at("state", "terminated", "finishedAt").value) for one in containers]
    if gone_by is None or not ends or None in ends:
        return False
    deleted = gone_by - (grace if isinstance(grace, int) else 0)
    return all(end is not None and end < deleted for end in ends)


def _is_ready(status: Field) -> bool:
    found = [one.at("status").value for one in status.at("conditions").items() if one.at("type").value == "Ready"]
    return found[:1] == ["True"]
