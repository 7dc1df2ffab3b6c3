"""Pods and their templates, as the drawn workloads write them."""

from typing import Any

from phalanx.sim.objects.drawn import ROLE, WORKLOAD, Doc, Drawn, Role

GPU = "nvidia.com/gpu"
SCHEDULER = "phalanx"
GATE = "phalanx.dev/topology"
QUEUE = "phalanx.dev/queue"
REQUIRED = "phalanx.dev/topology-required"
GANG_MODE = "phalanx.dev/gang-mode"


def template(
    drawn: Drawn, made: str, role: Role, annotations: Doc | None = None, labels: Doc | None = None, **spec: Any
) -> Doc:
    """``made``: the incarnation. A gated workload that its user does not suspend has our gate in its templates."""
    own: Doc = {"containers": [{"name": "main", "image": "work:1", "resources": _amounts(role.gpus)}]}
    if not drawn.gated:
        own["schedulerName"] = SCHEDULER
    elif not drawn.held:
        own["schedulingGates"] = [{"name": GATE}]
    if drawn.priority:
        own["priorityClassName"] = drawn.priority
    own["restartPolicy"] = drawn.restart
    notes = {WORKLOAD: made, ROLE: role.name, **drawn.pods, **(annotations or {})}
    return {
        "metadata": {"labels": {"app": drawn.name, **(labels or {})}, "annotations": notes},
        "spec": {**own, **spec},
    }


def pod(drawn: Drawn, made: str, role: Role, name: str, template_of: Doc) -> Doc:
    """A pod that somebody makes by hand."""
    metadata = {**template_of["metadata"], "name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template_of["spec"]}


def top(drawn: Drawn, api: str, kind: str, spec: Doc, **annotations: str) -> Doc:
    """The object of a workload, with the wishes that its user writes on it."""
    notes = {**annotations, **({REQUIRED: drawn.level} if drawn.level else {})}
    labels = {QUEUE: drawn.queue} if drawn.queue else {}
    metadata: Doc = {"name": drawn.name, "namespace": "default"}
    metadata |= {"annotations": notes} if notes else {}
    metadata |= {"labels": labels} if labels else {}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def grouping(drawn: Drawn, api: str, kind: str, spec: Doc, name: str = "") -> Doc:
    """An object that gathers pods, and says in its spec what it wishes."""
    labels = {QUEUE: drawn.queue} if drawn.queue else {}
    metadata: Doc = {"name": name or drawn.name, "namespace": "default"}
    metadata |= {"labels": labels} if labels else {}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _amounts(gpus: int) -> Doc:
    return {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}
