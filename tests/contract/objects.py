"""The smallest valid objects of each kind, as plain documents."""

import uuid
from typing import Any

from tests.contract.door import Doc

# No scheduler answers to it, so that pods stay as the case left them whatever else runs beside the server.
NOBODY = "contract-nobody"
IMAGE = "registry.invalid/contract:1"


def unique(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


def pod(name: str, *, labels: Doc | None = None, **spec: Any) -> Doc:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": pod_spec(**spec),
    }


def pod_spec(**more: Any) -> Doc:
    return {
        "schedulerName": NOBODY,
        "automountServiceAccountToken": False,  # the namespace is too young to have any
        "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "main", "image": IMAGE}],
        **more,
    }


def gated(name: str, *gates: str, **spec: Any) -> Doc:
    return pod(name, schedulingGates=[{"name": gate} for gate in gates], **spec)


def node(name: str, **spec: Any) -> Doc:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"contract": name}}, "spec": spec}


def lease(name: str, **spec: Any) -> Doc:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}


def configmap(name: str, **data: str) -> Doc:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def job(name: str, **spec: Any) -> Doc:
    """A Job that no controller touches: `managedBy` gives its status to the suite."""
    template = {"metadata": {"labels": {"of": name}}, "spec": pod_spec(restartPolicy="Never")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"managedBy": "contract.example/nobody", "template": template, **spec},
    }


def budget(name: str, min_available: int, labels: Doc) -> Doc:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": labels}},
    }


def owned_by(doc: Doc, owner: Doc, *, blocking: bool = False) -> Doc:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": blocking,
    }
    return {**doc, "metadata": {**doc["metadata"], "ownerReferences": [reference]}}


def condition(doc: Doc, kind: str) -> Doc:
    """The condition of this type, empty when there is none."""
    conditions = doc.get("status", {}).get("conditions") or []  # a new CRD has null there
    found = (each for each in conditions if each["type"] == kind)
    return next(found, {})


def changed(doc: Doc, **metadata: Any) -> Doc:
    """A copy with parts of its metadata replaced."""
    return {**doc, "metadata": {**doc["metadata"], **metadata}}
