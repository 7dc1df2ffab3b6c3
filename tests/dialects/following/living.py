"""Objects of a living cluster, as its API server would show them."""

from typing import Any

from phalanx.dialects.following import Follower, Marks, Told

Object = dict[str, Any]


def follower(**marks: Any) -> Follower:
    return Follower(Marks(**marks))


def tell(one: Follower, *docs: Object) -> Told:
    """What the follower tells after these objects were seen."""
    for doc in docs:
        one.seen(doc)
    return one.tell()


def node(name: str, **labels: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def spec(cpu: str = "1", **more: Any) -> Object:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {"schedulerName": "phalanx", "containers": [container], **more}


def pod(name: str, owner: Object | None = None, **metadata: Any) -> Object:
    made = {"name": name, "namespace": "default", "uid": f"uid-{name}", **metadata}
    if owner is not None:
        made["ownerReferences"] = [reference(owner)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"creationTimestamp": "2026-11-16T08:00:00Z", **made},
        "spec": spec(),
        "status": {"phase": "Pending"},
    }


def reference(owner: Object) -> Object:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }


def job(name: str, pods: int, owner: Object | None = None, **metadata: Any) -> Object:
    made = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": "2026-11-16T08:00:00Z"}
    if owner is not None:
        made["ownerReferences"] = [reference(owner)]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**made, **metadata},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {"spec": spec(restartPolicy="Never")},
        },
    }


def jobs_pod(owner: Object, index: int, **labels: str) -> Object:
    name = owner["metadata"]["name"]
    own = {"batch.kubernetes.io/job-name": name, "batch.kubernetes.io/job-completion-index": str(index)}
    return pod(f"{name}-{index}-x", owner, labels={**own, **labels})


def pod_group(name: str, least: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
    }


def grouped(name: str, group: str) -> Object:
    made = pod(name)
    made["spec"]["schedulingGroup"] = {"podGroupName": group}
    return made


def bound(one: Object, to: str) -> Object:
    """The pod with a node, as after a bind of ours."""
    said = {**one["metadata"].get("annotations", {}), "phalanx.dev/domain": "", "phalanx.dev/rank": "0"}
    return {
        **one,
        "metadata": {**one["metadata"], "annotations": said},
        "spec": {**one["spec"], "nodeName": to},
    }
