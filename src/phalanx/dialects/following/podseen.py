"""A Pod object as the engine sees it, but for the gang it belongs to."""

from phalanx.dialects import clusterstate, owners
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours
from phalanx.model.pods import Pod, PodKey


def key(doc: Field) -> PodKey:
    metadata = doc.at("metadata")
    parts = (metadata.at(part).value for part in ("namespace", "name", "uid"))
    namespace, name, uid = (part if isinstance(part, str) else "" for part in parts)
    return PodKey(namespace or "default", name, uid)


def pod(doc: Field) -> Pod:
    """The pod as it is now, a member of nothing."""
    status, owner = doc.at("status"), owners.controller(doc.aside())
    phase = status.at("phase").value
    return Pod(
        key=key(doc),
        running=clusterstate.running_pod(doc),
        phase=phase if isinstance(phase, str) and phase else "Pending",
        ready=_is_ready(status),
        leaving=doc.at("metadata", "deletionTimestamp").present,
        gated=ours.is_gated(doc),
        pinned=ours.pinned(doc),
        least=ours.least(doc),
        daemon=owner is not None and owner.kind in ("DaemonSet", "Node"),
        daemon_set=f"{key(doc).namespace}/{owner.name}" if owner is not None and owner.kind == "DaemonSet" else "",
    )


def _is_ready(status: Field) -> bool:
    found = [one.at("status").value for one in status.at("conditions").items() if one.at("type").value == "Ready"]
    return found[:1] == ["True"]
