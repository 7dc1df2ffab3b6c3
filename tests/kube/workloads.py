"""A workload of four pods in one rack, of every kind that has a controller on the bed and of every kind that pods name.

A rack of two nodes with 4 cpu each has room for exactly one of them, whether its pods are alike (2, 2, 2, 2) or not
(3, 3, 1, 1). A ``huge`` one (4, 4, 4, 4) has room in no rack.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.kube.manifests import Object, gang, job, pod, pod_group, template

PODS = 4
RACK = "r{}=2"
NODE_CPU = 4
SLOWLY = "tests.phalanx.dev/slowly"  # a finalizer: what it is on ends when the test says so


@dataclass(frozen=True, slots=True)
class Order:
    """What one life is to be like. ``site``: namespace, Topology, and what the labels of its nodes begin with."""

    site: str
    name: str
    several: bool = False
    huge: bool = False
    slow: bool = False

    @property
    def cpus(self) -> tuple[int, ...]:
        return (4, 4, 4, 4) if self.huge else (3, 3, 1, 1) if self.several else (2, 2, 2, 2)

    @property
    def wish(self) -> dict[str, str]:
        return {"phalanx.dev/topology-required": "rack", "phalanx.dev/topology-name": self.site}

    def template(self, cpu: int, **more: Any) -> Object:
        made = template(cpu, **more)
        made["metadata"] |= {"finalizers": [SLOWLY]} if self.slow else {}
        return made

    def pod(self, number: int, **more: Any) -> Object:
        made = pod(f"{self.name}-{number}", self.cpus[number], **more)
        made["metadata"] |= {"finalizers": [SLOWLY]} if self.slow else {}
        return made


@dataclass(frozen=True, slots=True)
class Manifests:
    """``makers``: what is created first and deleted, from the top down; ``pods``: those that no controller makes."""

    makers: list[Object]
    pods: list[Object] = field(default_factory=list)


Kind = Callable[[Order], Manifests]


def _job(order: Order) -> Manifests:
    made = job(order.name, PODS, order.cpus[0], order.wish)
    made["spec"]["template"] = order.template(order.cpus[0], restartPolicy="Never")
    return Manifests([made])


def _cron_job(order: Order) -> Manifests:
    """A run as ``kubectl create job --from`` makes it, which goes with its CronJob."""
    run = _job(order).makers[0]
    said = {"schedule": "0 0 1 1 *", "suspend": True}
    spec = {**said, "jobTemplate": {"metadata": {"annotations": order.wish}, "spec": run["spec"]}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": f"{order.name}-cron"}, "spec": spec}
    run["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "CronJob", "name": f"{order.name}-cron"}]
    return Manifests([cron, run])


def _stateful_set(order: Order) -> Manifests:
    return Manifests([_replicated(order, "StatefulSet", serviceName=order.name, podManagementPolicy="Parallel")])


def _deployment(order: Order) -> Manifests:
    return Manifests([_replicated(order, "Deployment")])


def _replicated(order: Order, kind: str, **more: Any) -> Object:
    labels = {"app": order.name}
    made = order.template(order.cpus[0], labels=labels)
    spec = {"replicas": PODS, "selector": {"matchLabels": labels}, "template": made, **more}
    metadata = {"name": order.name, "annotations": order.wish}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _job_set(order: Order) -> Manifests:
    def replicated(name: str, cpu: int) -> Object:
        spec = {**job(name, 2)["spec"], "template": order.template(cpu, restartPolicy="Never")}
        return {"name": name, "replicas": 1, "template": {"spec": spec}}

    metadata = {"name": order.name, "annotations": {**order.wish, "phalanx.dev/gang-mode": "Gang"}}
    jobs = [replicated("workers", order.cpus[0]), replicated("driver", order.cpus[-1])]
    spec = {"replicatedJobs": jobs}
    return Manifests([{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}])


def _leader_worker_set(order: Order) -> Manifests:
    workers = (4,) if order.huge else (2,)
    groups: Object = {"size": PODS, "workerTemplate": order.template(workers[0])}
    groups |= {"leaderTemplate": order.template(4 if order.huge else 1)} if order.several else {}
    metadata = {"name": order.name, "annotations": order.wish}
    spec = {"replicas": 1, "leaderWorkerTemplate": groups}
    head = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    return Manifests([{**head, "metadata": metadata, "spec": spec}])


def _pod_group(order: Order) -> Manifests:
    made = pod_group(order.name, PODS, schedulingConstraints=_rack(order))
    return Manifests([made], [order.pod(i, schedulingGroup={"podGroupName": order.name}) for i in range(PODS)])


def _composite_pod_group(order: Order) -> Manifests:
    """Two groups of two in a tree."""
    alpha = {"apiVersion": "scheduling.k8s.io/v1alpha3"}
    whole = {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "schedulingConstraints": _rack(order)}
    leaves = {f"{order.name}-{leaf}": {"schedulingPolicy": {"gang": {"minCount": 2}}} for leaf in ("a", "b")}
    templates = [{"name": name, **said} for name, said in leaves.items()]
    tree = {"name": order.name, **whole, "podGroupTemplates": templates}
    workload = {**alpha, "kind": "Workload", "metadata": {"name": order.name}}
    makers = [{**workload, "spec": {"compositePodGroupTemplates": [tree]}}]
    reference = {"workloadName": order.name, "templateName": order.name}
    composite = {**alpha, "kind": "CompositePodGroup", "metadata": {"name": order.name}}
    makers.append({**composite, "spec": {"workloadRef": reference, **whole}})
    for name in leaves:
        more = {"parentCompositePodGroupName": order.name, "workloadRef": {**reference, "templateName": name}}
        makers.append({**pod_group(name, 2, **more), **alpha})
    names = list(leaves)
    pods = [order.pod(i, schedulingGroup={"podGroupName": names[i % 2]}) for i in range(PODS)]
    return Manifests(makers, pods)


def _gang(order: Order) -> Manifests:
    made = gang(order.name, workers={"count": PODS, "topology": {"required": "rack"}})
    made["spec"]["topologyName"] = order.site
    labels = {"phalanx.dev/gang": order.name}
    return Manifests([made], [order.pod(i, labels=labels) for i in range(PODS)])


def _rack(order: Order) -> Object:
    return {"topology": [{"key": f"{order.site}/rack"}]}


KINDS: dict[str, Kind] = {
    "job": _job,
    "cronjob": _cron_job,
    "statefulset": _stateful_set,
    "deployment": _deployment,
    "jobset": _job_set,
    "leaderworkerset": _leader_worker_set,
    "podgroup": _pod_group,
    "compositepodgroup": _composite_pod_group,
    "gang": _gang,
}
SEVERAL = ("jobset", "leaderworkerset", "podgroup", "compositepodgroup", "gang")  # kinds whose pods may differ
ONE_BY_ONE = ("deployment",)  # whose pods start one by one
NAMING = ("statefulset", "leaderworkerset", "jobset")  # whose pods, or Jobs, have the names of their predecessors
