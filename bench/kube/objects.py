"""The objects that both schedulers get: nodes in racks, PodGroups of Kubernetes, and pods that name them."""

from typing import Any

from phalanx.wire.resources import Resource

Object = dict[str, Any]

POD_GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
TOPOLOGIES = Resource("phalanx.dev", "v1alpha1", "topologies", "Topology", namespaced=False)
RACK = "bench/rack"
NAMESPACE = "default"

TOPOLOGY: Object = {
    "apiVersion": "phalanx.dev/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "bench"},
    "spec": {"levels": [{"nodeLabel": RACK, "name": "rack"}]},
}
_AMOUNTS = {"cpu": "32", "memory": "128Gi", "pods": "110"}


def node(number: int, rack_size: int) -> Object:
    name = f"node-{number:05}"
    labels = {"kubernetes.io/hostname": name, RACK: f"rack-{number // rack_size:04}"}
    ready = {"type": "Ready", "status": "True"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": _AMOUNTS, "capacity": _AMOUNTS, "conditions": [ready]},
    }


def group(name: str, pods: int, rack: bool) -> Object:
    spec: Object = {"schedulingPolicy": {"gang": {"minCount": pods}}}
    if rack:
        spec["schedulingConstraints"] = {"topology": [{"key": RACK}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def pod(group: str, number: int, scheduler: str, node: str = "") -> Object:
    asked = {"requests": {"cpu": "1", "memory": "1Gi"}}
    spec: Object = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "image": "x", "resources": asked}],
    }
    spec |= {"nodeName": node} if node else {"schedulingGroup": {"podGroupName": group}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{group}-{number}", "namespace": NAMESPACE, "labels": {"bench": group}},
        "spec": spec,
    }
