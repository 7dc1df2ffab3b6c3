"""KubeRay, as far as pods: a RayCluster has a head and groups of workers; a RayJob and a RayService have a RayCluster.

Pods that ended are deleted and made again; a worker of several hosts goes whole. Left out: the Job that submits a
RayJob, services, autoscaling, upgrades of a RayService, the end of a RayJob (it runs until it is deleted or suspended).
"""

from collections.abc import Callable

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import looks_after
from phalanx.minicluster.documents import POD, Document, changed, is_leaving, labels_of, merged, reference
from phalanx.minicluster.pods import active, has_ended, is_active, is_ready, least_useful
from phalanx.model.objects import ObjectKey

RAY_CLUSTER = ("ray.io", "RayCluster")
RAY_JOB, RAY_SERVICE = ("ray.io", "RayJob"), ("ray.io", "RayService")
MARK = "ray.io/"
REPLICA, GROUP = f"{MARK}worker-group-replica-index", f"{MARK}group"


def reconcile(context: Context, key: ObjectKey, now: float) -> float | None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return None
    pods = context.children(own, POD)
    over = [pod for pod in pods if has_ended(pod)] + (pods if own["spec"].get("suspend") else [])
    _remove(context, over, now)
    missing: list[Document] = []
    if not own["spec"].get("suspend"):
        missing = [] if any(labels_of(pod)[GROUP] == "headgroup" for pod in pods) else [_head(own)]
        for group in own["spec"].get("workerGroupSpecs") or ():
            mine = [pod for pod in pods if labels_of(pod)[GROUP] == group["groupName"]]
            how = _of_hosts if int(group.get("numOfHosts", 1)) > 1 else _of_group
            missing += how(context, own, group, mine, now)
    again = making.make(context, own, missing, now)
    _report(context, own, now)
    return again


def _of_group(context: Context, own: Document, group: Document, mine: list[Document], now: float) -> list[Document]:
    """Those of a group that are missing; those beyond what is wanted are deleted."""
    there, wanted = active(mine), int(group.get("replicas", 1))
    _remove(context, sorted(there, key=least_useful)[: max(0, len(there) - wanted)], now)
    return [_worker(own, group) for _ in range(wanted - len(there))]


def _of_hosts(context: Context, own: Document, group: Document, mine: list[Document], now: float) -> list[Document]:
    """Workers of several pods: where one of them leaves the others go too, and then it is made again."""
    wanted, hosts = int(group.get("replicas", 1)), int(group["numOfHosts"])
    missing = []
    for number in range(max([wanted, *(1 + int(labels_of(pod)[REPLICA]) for pod in mine)])):
        pods = [pod for pod in mine if labels_of(pod)[REPLICA] == str(number)]
        if number >= wanted or not all(map(is_active, pods)):
            _remove(context, pods, now)
        else:
            missing += [_worker(own, group, number) for _ in range(hosts - len(pods))]
    return missing


def _remove(context: Context, pods: list[Document], now: float) -> None:
    for pod in pods:
        if not is_leaving(pod):
            context.remove(pod, now)


def _common(own: Document, kind: str, group: str) -> dict[str, str]:
    name = own["metadata"]["name"]
    return {f"{MARK}cluster": name, f"{MARK}is-ray-node": "yes", f"{MARK}node-type": kind, GROUP: group}


def _head(own: Document) -> Document:
    template, name = own["spec"]["headGroupSpec"]["template"], own["metadata"]["name"]
    return making.pod(own, template, name=f"{name}-head", labels=_common(own, "head", "headgroup"))


def _worker(own: Document, group: Document, replica: int | None = None) -> Document:
    name = group["groupName"]
    labels = _common(own, "worker", name) | ({} if replica is None else {REPLICA: str(replica)})
    return making.pod(own, group["template"], generate=f"{own['metadata']['name']}-{name}-worker-", labels=labels)


def _report(context: Context, own: Document, now: float) -> None:
    pods = context.children(own, POD)
    ready = bool(pods) and all(map(is_ready, pods))
    state = "suspended" if own["spec"].get("suspend") and not pods else "ready" if ready else ""
    counts = {"state": state or None, "availableWorkerReplicas": sum(map(is_ready, pods))}
    context.write(own, lambda found: merged(found, "status", **counts), now)


# -- what has a cluster ------------------------------------------------------------------------------------------


def _with_cluster(field: str) -> Callable[[Context, ObjectKey, float], None]:
    """The controller of a kind that has a RayCluster, which it finds there in its spec."""

    def reconcile(context: Context, key: ObjectKey, now: float) -> None:
        own = context.store.get(key)
        if own is None or is_leaving(own) or field not in own["spec"]:
            return
        there = next(iter(context.children(own, RAY_CLUSTER)), None)
        if own["spec"].get("suspend"):
            if there is not None and not is_leaving(there):
                context.remove(there, now)
            status = "Suspended" if there is None else "Suspending"
        elif there is None:
            making.create(context, _cluster(own, field), now)
            status = "Initializing"
        else:
            status = "Running" if (there.get("status") or {}).get("state") == "ready" else "Initializing"
        context.write(own, lambda found: changed(found, "status", "jobDeploymentStatus", to=status), now)

    return reconcile


def _cluster(own: Document, field: str) -> Document:
    meta = {
        "generateName": f"{own['metadata']['name']}-raycluster-",
        "namespace": own["metadata"]["namespace"],
        "labels": labels_of(own),
        "annotations": own["metadata"].get("annotations") or {},
        "ownerReferences": [reference(own)],
    }
    return {"apiVersion": own["apiVersion"], "kind": "RayCluster", "metadata": meta, "spec": own["spec"][field]}


CONTROLLERS = (
    looks_after(RAY_CLUSTER, reconcile),
    looks_after(RAY_JOB, _with_cluster("rayClusterSpec"), makes=(RAY_CLUSTER,)),
    looks_after(RAY_SERVICE, _with_cluster("rayClusterConfig"), makes=(RAY_CLUSTER,)),
)
