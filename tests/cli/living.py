"""Objects as a cluster has them: applied an hour before they were saved, with uid and status."""

from typing import Any

from tests.cluster import docs
from tests.cluster.docs import Doc

SAVED = "2026-11-16T09:00:00Z"
MADE = "2026-11-16T08:00:00Z"


def living(doc: Doc, **status: Any) -> Doc:
    """An object that was applied an hour before the snapshot."""
    name = doc["metadata"]["name"]
    about = {**doc["metadata"], "uid": f"uid-{name}", "creationTimestamp": MADE, "generation": 1}
    return {**doc, "metadata": about, **({"status": status} if status else {})}


def pod(gang: str, number: int, node: str = "", gpus: int = 8) -> Doc:
    """A pod of a Gang; on a node it is ready."""
    ready = [{"type": "Ready", "status": "True"}] if node else []
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": f"{gang}-{number}", "namespace": "serving", "uid": f"uid-{gang}-{number}",
            "creationTimestamp": MADE, "labels": {"phalanx.dev/gang": gang, "phalanx.dev/group": "workers"},
        },
        "spec": {"schedulerName": "phalanx", **({"nodeName": node} if node else {}), **docs.template(gpus)["spec"]},
        "status": {"phase": "Running" if node else "Pending", "conditions": ready},
    }  # fmt: skip


def snapshot(*objects: Doc) -> Doc:
    kept = {"metadata": {"annotations": {"phalanx.dev/saved-at": SAVED}}}
    return {"apiVersion": "v1", "kind": "List", **kept, "items": list(objects)}


def made_by(doc: Doc, kind: str, name: str, api: str = "apps/v1") -> Doc:
    """The object as one that another made and controls."""
    owner = {"apiVersion": api, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    return {**doc, "metadata": {**doc["metadata"], "ownerReferences": [owner]}}
