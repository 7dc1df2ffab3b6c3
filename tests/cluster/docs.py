"""A small cluster as documents: two blocks, two racks each, two nodes with 8 GPUs each."""

from typing import Any

Doc = dict[str, Any]
GPU = "nvidia.com/gpu"


def topology() -> Doc:
    levels = [
        {"nodeLabel": "topology/block", "name": "block"},
        {"nodeLabel": "topology/rack", "name": "rack"},
        {"nodeLabel": "kubernetes.io/hostname", "name": "host"},
    ]
    return {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "t"},
        "spec": {"levels": levels},
    }


def node(name: str, labels: Doc | None = None, gpus: int = 8) -> Doc:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", GPU: str(gpus)}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}},
        "status": {"allocatable": amounts},
    }  # fmt: skip


def cluster() -> list[Doc]:
    return [
        topology(),
        *(
            node(f"{block}-{rack}-{i}", {"topology/block": block, "topology/rack": rack})
            for block in ("b1", "b2")
            for rack in ("r1", "r2")
            for i in (1, 2)
        ),
    ]


def template(gpus: int = 8) -> Doc:
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": {GPU: str(gpus)}}}]}}


def gang(name: str = "llm", *groups: Doc, **spec: Any) -> Doc:
    listed = groups or (workers(),)
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": {"name": name, "namespace": "serving"},
        "spec": {**spec, "podGroups": list(listed)},
    }  # fmt: skip


def workers(count: int = 2, required: str = "rack", gpus: int = 8, **more: Any) -> Doc:
    return {"name": "workers", "count": count, "topology": {"required": required}, "template": template(gpus), **more}


def job(name: str = "train", count: int = 2, **annotations: str) -> Doc:
    keys = {f"phalanx.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": keys},
        "spec": {
            "parallelism": count, "completions": count, "completionMode": "Indexed",
            "template": {"spec": {"restartPolicy": "Never", **template()["spec"]}},
        },
    }  # fmt: skip


def running(name: str, where: str, gpus: int = 8, gang: str | None = None) -> Doc:
    labels = {"phalanx.dev/gang": gang} if gang else {}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "other", "labels": labels},
        "spec": {"nodeName": where, **template(gpus)["spec"]},
    }  # fmt: skip
