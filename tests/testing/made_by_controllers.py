"""What the controllers of every kind make: the objects between a workload and its pods, with their labels and owners.

``MADE``: by kind, a workload with the objects that its controller makes of it, in the order in which they come. Pods of
one group are all alike; the groups ask for different amounts, so that a pod in the wrong group would be seen.
"""

from collections.abc import Callable, Iterable
from typing import Any

from tests.testing import live_objects as objects

Doc = dict[str, Any]
BATCH = "batch.kubernetes.io/"
TRAINING = "training.kubeflow.org/"
JOBSET = "jobset.sigs.k8s.io/"
LWS = "leaderworkerset.sigs.k8s.io/"
RAY = "ray.io/"


def template(gpus: int, **metadata: Any) -> Doc:
    """A pod template that names our scheduler."""
    containers = [{"name": "main", "resources": {"requests": {objects.GPU: str(gpus)}}}]
    return {"metadata": metadata, "spec": {"schedulerName": "phalanx", "containers": containers}}


def made(api: str, kind: str, name: str, spec: Doc, owner: Doc | None = None, **metadata: Any) -> Doc:
    meta: Doc = {"name": name, "namespace": "default", "uid": f"uid-{kind}-{name}", **metadata}
    if owner is not None:
        meta["ownerReferences"] = [objects.reference(owner)]
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec}


# -- Kubernetes' own ---------------------------------------------------------------------------------------------


def job(owner: Doc | None = None, name: str = "w", pods: int = 2, gpus: int = 2, **metadata: Any) -> list[Doc]:
    own = made("batch/v1", "Job", name, indexed(pods, gpus), owner, **metadata)
    return [own, *(job_pod(own, number, gpus) for number in range(pods))]


def indexed(pods: int, gpus: int) -> Doc:
    """What a Job asks for."""
    return {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template(gpus)}


def job_pod(owner: Doc, number: int, gpus: int, labels: Doc | None = None) -> Doc:
    name = owner["metadata"]["name"]
    known = {f"{BATCH}job-name": name, "job-name": name, f"{BATCH}job-completion-index": str(number)}
    index = {f"{BATCH}job-completion-index": str(number)}
    return objects.pod(f"{name}-{number}", gpus, owner=owner, labels={**known, **(labels or {})}, annotations=index)


def cron_job() -> list[Doc]:
    above = made("batch/v1", "CronJob", "w", {"schedule": "@daily", "jobTemplate": {"spec": indexed(2, 2)}})
    return [above, *job(above, "w-1"), *job(above, "w-2")]


def stateful_set() -> list[Doc]:
    spec = {"replicas": 3, "podManagementPolicy": "Parallel", "template": template(2)}
    own = made("apps/v1", "StatefulSet", "w", spec)
    index = "apps.kubernetes.io/pod-index"
    return [own, *(objects.pod(f"w-{i}", 2, owner=own, labels={index: str(i)}) for i in range(3))]


def replica_set(owner: Doc | None = None, name: str = "w") -> list[Doc]:
    own = made("apps/v1", "ReplicaSet", name, {"replicas": 2, "template": template(2)}, owner)
    return [own, *(objects.pod(f"{name}-{i}", 2, owner=own) for i in range(2))]


def deployment() -> list[Doc]:
    own = made("apps/v1", "Deployment", "w", {"replicas": 2, "template": template(2)})
    return [own, *replica_set(own, "w-5d")]


def rollout() -> list[Doc]:
    own = made("argoproj.io/v1alpha1", "Rollout", "w", {"replicas": 2, "template": template(2)})
    return [*replica_set(own, "w-5d"), *replica_set(own, "w-7f")]


def replication_controller() -> list[Doc]:
    own = made("v1", "ReplicationController", "w", {"replicas": 2, "template": template(2)})
    return [own, *(objects.pod(f"w-{i}", 2, owner=own) for i in range(2))]


# -- JobSet and TrainJob -----------------------------------------------------------------------------------------


def _replicated(replicas: int, pods: int, gpus: int) -> Doc:
    return {"replicas": replicas, "template": {"spec": indexed(pods, gpus)}}


def jobset(owner: Doc | None = None, groups: dict[str, tuple[int, int, int]] | None = None) -> list[Doc]:
    """``groups``: Jobs, pods of each and GPUs of each pod, by the name of the replicated job."""
    wanted = groups or {"driver": (1, 1, 1), "workers": (2, 2, 2)}
    listed = [{"name": name, **_replicated(*each)} for name, each in wanted.items()]
    asked = {"phalanx.dev/gang-mode": "Gang"} if owner is None else {}
    own = made("jobset.x-k8s.io/v1alpha2", "JobSet", "w", {"replicatedJobs": listed}, owner, annotations=asked)
    jobs = [_child(own, name, index, *each[1:]) for name, each in wanted.items() for index in range(each[0])]
    return [own, *(doc for one in jobs for doc in one)]


def _child(owner: Doc, group: str, index: int, pods: int, gpus: int) -> list[Doc]:
    named = {f"{JOBSET}jobset-name": "w", f"{JOBSET}replicatedjob-name": group, f"{JOBSET}job-index": str(index)}
    own, *_ = job(owner, f"w-{group}-{index}", pods, gpus, labels=named, annotations=named)
    return [own, *(job_pod(own, number, gpus, named) for number in range(pods))]


def train_job() -> list[Doc]:
    groups = {"node": (1, 3, 2)}
    job_of = {"name": "node", **_replicated(1, 1, 2)}
    job_of["template"]["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    spec = {"mlPolicy": {"numNodes": 3}, "template": {"spec": {"replicatedJobs": [job_of]}}}
    runtime = made("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "torch", spec)
    del runtime["metadata"]["namespace"]
    own = made("trainer.kubeflow.org/v1alpha1", "TrainJob", "w", {"runtimeRef": {"name": "torch"}})
    return [runtime, own, *jobset(own, groups)]


# -- LeaderWorkerSet ---------------------------------------------------------------------------------------------


def leader_worker_set(leader: int = 1) -> list[Doc]:
    """Two groups of a leader and two workers; every worker belongs to the StatefulSet of its leader."""
    own_template = {} if leader == 2 else {"leaderTemplate": template(leader)}
    templates = {**own_template, "workerTemplate": template(2)}
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, **templates}}
    own = made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "w", spec)
    leaders = made("apps/v1", "StatefulSet", "w", {"replicas": 2, "template": template(leader)}, own)
    leaders["spec"]["podManagementPolicy"] = "Parallel"
    found = [own, leaders]
    for group in range(2):
        head = _lws_pod(f"w-{group}", leaders, group, 0, leader)
        workers = made("apps/v1", "StatefulSet", f"w-{group}", {"replicas": 2, "template": template(2)}, head)
        workers["spec"].update({"podManagementPolicy": "Parallel", "ordinals": {"start": 1}})
        found += [head, workers, *(_lws_pod(f"w-{group}-{i}", workers, group, i, 2) for i in (1, 2))]
    return found


def _lws_pod(name: str, owner: Doc, group: int, worker: int, gpus: int) -> Doc:
    labels = {f"{LWS}name": "w", f"{LWS}group-index": str(group), f"{LWS}worker-index": str(worker)}
    return objects.pod(name, gpus, owner=owner, labels=labels)


# -- Kubeflow's training kinds -----------------------------------------------------------------------------------


def training(kind: str, specs: str, roles: dict[str, tuple[int, int]]) -> list[Doc]:
    """``roles``: pods and GPUs of each, by the name of the role. The operator of v1 makes all pods itself."""
    replicas = {role: {"replicas": count, "template": template(gpus)} for role, (count, gpus) in roles.items()}
    own = made("kubeflow.org/v1", kind, "w", {specs: replicas})
    found = [own]
    for role, (count, gpus) in roles.items():
        for number in range(count):
            labels = training_labels(kind, role, number)
            found.append(objects.pod(f"w-{role.lower()}-{number}", gpus, owner=own, labels=labels))
    return found


def training_labels(kind: str, role: str, number: int) -> Doc:
    first = {f"{TRAINING}job-role": "master"} if role in ("Master", "Chief") else {}
    return {
        f"{TRAINING}operator-name": f"{kind.lower()}-controller", f"{TRAINING}job-name": "w",
        f"{TRAINING}replica-type": role.lower(), f"{TRAINING}replica-index": str(number), **first,
    }  # fmt: skip


def mpi_job() -> list[Doc]:
    """The operator of v2beta1: the launcher is a Job, the workers are its own pods, told by their role."""
    replicas = {
        "Launcher": {"replicas": 1, "template": template(1)},
        "Worker": {"replicas": 3, "template": template(2)},
    }
    own = made("kubeflow.org/v2beta1", "MPIJob", "w", {"mpiReplicaSpecs": replicas})
    common = {f"{TRAINING}operator-name": "mpi-operator", f"{TRAINING}job-name": "w"}
    launcher = made("batch/v1", "Job", "w-launcher", {"template": template(1)}, own)
    first = _without_index(job_pod(launcher, 0, 1, {**common, f"{TRAINING}job-role": "launcher"}))
    found = [own, launcher, first]
    for number in range(3):
        labels = {**common, f"{TRAINING}job-role": "worker", f"{TRAINING}replica-index": str(number)}
        found.append(objects.pod(f"w-worker-{number}", 2, owner=own, labels=labels))
    return found


def train_job_of_mpi() -> list[Doc]:
    """The launcher is a replicated job of its own."""
    groups = {"launcher": (1, 1, 1), "node": (1, 3, 2)}
    runtime, own, *_ = train_job()
    listed = [{"name": name, **_replicated(*each)} for name, each in groups.items()]
    for one in listed:
        one["template"]["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = listed
    return [runtime, own, *jobset(own, groups)]


# -- Ray ---------------------------------------------------------------------------------------------------------


def _ray_spec() -> Doc:
    workers = [
        {"groupName": "small", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "template": template(1)},
        {"groupName": "large", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "template": template(2)},
    ]
    return {"headGroupSpec": {"rayStartParams": {}, "template": template(3)}, "workerGroupSpecs": workers}


def ray_cluster(owner: Doc | None = None, name: str = "w") -> list[Doc]:
    own = made("ray.io/v1", "RayCluster", name, _ray_spec(), owner)
    common = {f"{RAY}cluster": name, f"{RAY}is-ray-node": "yes"}
    head = {**common, f"{RAY}node-type": "head", f"{RAY}group": "headgroup"}
    found = [own, objects.pod(f"{name}-head", 3, owner=own, labels=head)]
    for group, gpus in (("small", 1), ("large", 2)):
        labels = {**common, f"{RAY}node-type": "worker", f"{RAY}group": group}
        found += [objects.pod(f"{name}-{group}-{i}", gpus, owner=own, labels=dict(labels)) for i in range(2)]
    return found


def ray_cluster_of_hosts() -> list[Doc]:
    """Two workers of two hosts each: all pods of a worker carry its index."""
    workers = {"groupName": "slices", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "numOfHosts": 2}
    spec = {"headGroupSpec": {"template": template(3)}, "workerGroupSpecs": [{**workers, "template": template(2)}]}
    own = made("ray.io/v1", "RayCluster", "w", spec)
    common = {f"{RAY}cluster": "w", f"{RAY}is-ray-node": "yes"}
    found = [own, objects.pod("w-head", 3, owner=own, labels={**common, f"{RAY}node-type": "head"})]
    for worker in range(2):
        labels = {**common, f"{RAY}node-type": "worker", f"{RAY}group": "slices"}
        labels |= {f"{RAY}worker-group-replica-index": str(worker)}
        found += [objects.pod(f"w-{worker}-{host}", 2, owner=own, labels=dict(labels)) for host in range(2)]
    return found


def ray_job() -> list[Doc]:
    """Its cluster; the Job that submits it comes when the cluster runs, and its pods name the default scheduler."""
    own = made("ray.io/v1", "RayJob", "w", {"entrypoint": "python x.py", "rayClusterSpec": _ray_spec()})
    return [own, *ray_cluster(own, "w-raycluster-x7")]


def ray_service() -> list[Doc]:
    own = made("ray.io/v1", "RayService", "w", {"rayClusterConfig": _ray_spec()})
    return [own, *ray_cluster(own, "w-raycluster-x7")]


def pods(docs: Iterable[Doc]) -> list[Doc]:
    return [doc for doc in docs if doc["kind"] == "Pod"]


MADE: dict[str, Callable[[], list[Doc]]] = {
    "Pod": lambda: [objects.pod("w", 2)],
    "Job": job,
    "CronJob": cron_job,
    "StatefulSet": stateful_set,
    "ReplicaSet": replica_set,
    "Deployment": deployment,
    "Rollout": rollout,
    "ReplicationController": replication_controller,
    "JobSet": jobset,
    "TrainJob": train_job,
    "LeaderWorkerSet": leader_worker_set,
    "MPIJob": mpi_job,
    "PyTorchJob": lambda: training("PyTorchJob", "pytorchReplicaSpecs", {"Master": (1, 1), "Worker": (3, 2)}),
    "TFJob": lambda: training(
        "TFJob", "tfReplicaSpecs", {"Chief": (1, 1), "PS": (2, 2), "Worker": (2, 3), "Evaluator": (1, 4)}
    ),
    "XGBoostJob": lambda: training("XGBoostJob", "xgbReplicaSpecs", {"Master": (1, 1), "Worker": (3, 2)}),
    "PaddleJob": lambda: training("PaddleJob", "paddleReplicaSpecs", {"Master": (1, 1), "Worker": (3, 2)}),
    "JAXJob": lambda: training("JAXJob", "jaxReplicaSpecs", {"Worker": (3, 2)}),
    "RayCluster": ray_cluster,
    "RayJob": ray_job,
    "RayService": ray_service,
}

OTHERWISE: dict[str, Callable[[], list[Doc]]] = {
    "Job without indexes": lambda: [_without_index(doc) for doc in job()],
    "LeaderWorkerSet with one template": lambda: leader_worker_set(2),
    "MPIJob of the training operator": lambda: training(
        "MPIJob", "mpiReplicaSpecs", {"Launcher": (1, 1), "Worker": (3, 2)}
    ),
    "PyTorchJob without a master": lambda: training("PyTorchJob", "pytorchReplicaSpecs", {"Worker": (3, 2)}),
    "RayCluster of several hosts": ray_cluster_of_hosts,
    "TrainJob of MPI": train_job_of_mpi,
}  # the same kinds, told in another way


def _without_index(doc: Doc) -> Doc:
    metadata = {key: value for key, value in doc["metadata"].items() if key != "annotations"}
    labels = {key: value for key, value in metadata.get("labels", {}).items() if "index" not in key}
    spec = {key: value for key, value in doc["spec"].items() if key != "completionMode"}
    return {**doc, "metadata": {**metadata, "labels": labels}, "spec": spec}
