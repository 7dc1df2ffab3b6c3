"""Objects of a small living cluster, as a server has them: with uids, owners and times."""

from typing import Any

Doc = dict[str, Any]
GPU = "nvidia.com/gpu"
LEVELS = ("topology/block", "topology/rack")


def topology() -> Doc:
    levels = [{"nodeLabel": label} for label in (*LEVELS, "kubernetes.io/hostname")]
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology",
        "metadata": {"name": "topo", "uid": "topology"}, "spec": {"levels": levels},
    }  # fmt: skip


def node(name: str, block: str, rack: str, gpus: int = 8, labels: dict[str, str] | None = None, **spec: Any) -> Doc:
    own = {LEVELS[0]: block, LEVELS[1]: rack, "kubernetes.io/hostname": name, **(labels or {})}
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus)}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"node-{name}", "labels": own},
        "spec": spec, "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def cluster(blocks: int = 1, racks: int = 2, nodes: int = 2, gpus: int = 8) -> list[Doc]:
    """A Topology, and nodes ``n0``, ``n1`` ... of racks ``r0`` ... of blocks ``b0`` ..."""
    found = [topology()]
    for rack in range(blocks * racks):
        for number in range(nodes):
            found.append(node(f"n{rack * nodes + number}", f"b{rack // racks}", f"r{rack}", gpus))
    return found


def pod(name: str, gpus: int, uid: str = "", owner: Doc | None = None, **metadata: Any) -> Doc:
    """A pod that names our scheduler, as its controller made it. ``owner``: the object that made it."""
    meta: Doc = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", **metadata}
    if owner is not None:
        meta["ownerReferences"] = [reference(owner)]
    containers = [{"name": "main", "resources": {"requests": {GPU: str(gpus)}}}]
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": meta,
        "spec": {"schedulerName": "phalanx", "containers": containers}, "status": {"phase": "Pending"},
    }  # fmt: skip


def reference(owner: Doc) -> Doc:
    head = {key: owner["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **head, "controller": True}


def on(pod: Doc, node: str, ready: bool = True, phase: str = "Running") -> Doc:
    """The pod as it is once it has its node."""
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": phase, "conditions": conditions}}


def job(name: str, pods: int, gpus: int, uid: str = "", required: str | None = "rack", **spec: Any) -> Doc:
    annotations = {} if required is None else {"phalanx.dev/topology-required": required}
    containers = [{"name": "main", "resources": {"requests": {GPU: str(gpus)}}}]
    template = {"spec": {"schedulerName": "phalanx", "restartPolicy": "Never", "containers": containers}}
    return {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": name, "namespace": "default", "uid": uid or f"uid-{name}", "annotations": annotations,
        },
        "spec": {"parallelism": pods, "completions": pods, "template": template, **spec},
    }  # fmt: skip
