"""One row for each kind that is served: how it is called, what is filled in when it is made, and what never changes.

All verbs of the store are generic over the row. A kind without a row is stored as it is written.
"""

from collections.abc import Callable
from dataclasses import dataclass

from phalanx.minicluster import defaults, unchanging
from phalanx.minicluster.documents import NODE, POD, Document, Kind

Defaults = Callable[[Document], Document]
Check = Callable[[Document, Document], None]


def as_written(doc: Document) -> Document:
    return doc


def anything(old: Document, new: Document) -> None:
    """Every change is fine."""


@dataclass(frozen=True, slots=True)
class Resource:
    """``fill``: the document with its defaults; ``check``: raises Rejected where old may not become new."""

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    fill: Defaults = as_written
    check: Check = anything

    @property
    def key(self) -> Kind:
        return self.group, self.kind


_TRAINER = ("trainer.kubeflow.org", ("v1alpha1",))
_KUEUE = ("v1beta1", "v1beta2")
_RAY = ("v1", "v1alpha1")
_SPEC = unchanging.spec_but

ROWS = (
    Resource(*NODE, "nodes", namespaced=False),
    Resource(*POD, "pods", fill=defaults.pod, check=unchanging.pod),
    Resource("", "Namespace", "namespaces", namespaced=False),
    Resource("", "PersistentVolume", "persistentvolumes", namespaced=False),
    Resource("", "PersistentVolumeClaim", "persistentvolumeclaims"),
    Resource("", "Service", "services"),
    Resource("", "ReplicationController", "replicationcontrollers", fill=defaults.replicas),
    Resource("apps", "ReplicaSet", "replicasets", fill=defaults.replicas, check=_SPEC("selector", only=True)),
    Resource("apps", "Deployment", "deployments", fill=defaults.replicas, check=_SPEC("selector", only=True)),
    Resource("apps", "DaemonSet", "daemonsets", check=_SPEC("selector", only=True)),
    Resource("apps", "StatefulSet", "statefulsets", fill=defaults.replicas, check=unchanging.stateful_set),
    Resource("batch", "Job", "jobs", fill=defaults.job, check=unchanging.job),
    Resource("batch", "CronJob", "cronjobs"),
    Resource("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", ("v2", "v1")),
    Resource("scheduling.k8s.io", "PriorityClass", "priorityclasses", namespaced=False),
    Resource("scheduling.k8s.io", "Workload", "workloads", ("v1beta1", "v1alpha3")),
    Resource("scheduling.k8s.io", "PodGroup", "podgroups", ("v1beta1", "v1alpha3")),
    Resource("scheduling.k8s.io", "CompositePodGroup", "compositepodgroups", ("v1alpha3",)),
    Resource("jobset.x-k8s.io", "JobSet", "jobsets", ("v1alpha2",), check=unchanging.job_set),
    Resource("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets"),
    Resource(_TRAINER[0], "TrainJob", "trainjobs", _TRAINER[1]),
    Resource(_TRAINER[0], "TrainingRuntime", "trainingruntimes", _TRAINER[1]),
    Resource(_TRAINER[0], "ClusterTrainingRuntime", "clustertrainingruntimes", _TRAINER[1], namespaced=False),
    Resource("kubeflow.org", "MPIJob", "mpijobs", ("v2beta1", "v1")),
    Resource("kubeflow.org", "PyTorchJob", "pytorchjobs"),
    Resource("kubeflow.org", "TFJob", "tfjobs"),
    Resource("kubeflow.org", "XGBoostJob", "xgboostjobs"),
    Resource("kubeflow.org", "PaddleJob", "paddlejobs"),
    Resource("kubeflow.org", "JAXJob", "jaxjobs"),
    Resource("ray.io", "RayCluster", "rayclusters", _RAY),
    Resource("ray.io", "RayJob", "rayjobs", _RAY),
    Resource("ray.io", "RayService", "rayservices", _RAY),
    Resource("phalanx.dev", "Gang", "gangs", ("v1alpha1",)),
    Resource("phalanx.dev", "Topology", "topologies", ("v1alpha1",), namespaced=False),
    Resource("phalanx.dev", "Queue", "queues", ("v1alpha1",), namespaced=False),
    Resource("phalanx.dev", "Flavor", "flavors", ("v1alpha1",), namespaced=False),
    Resource("kueue.x-k8s.io", "Topology", "topologies", _KUEUE, namespaced=False),
    Resource("kueue.x-k8s.io", "Workload", "workloads", _KUEUE),
    Resource("kueue.x-k8s.io", "LocalQueue", "localqueues", _KUEUE),
    Resource("kueue.x-k8s.io", "ClusterQueue", "clusterqueues", _KUEUE, namespaced=False),
    Resource("kueue.x-k8s.io", "Cohort", "cohorts", _KUEUE, namespaced=False),
    Resource("kueue.x-k8s.io", "ResourceFlavor", "resourceflavors", _KUEUE, namespaced=False),
    Resource("kueue.x-k8s.io", "AdmissionCheck", "admissionchecks", _KUEUE, namespaced=False),
    Resource("scheduling.run.ai", "PodGroup", "podgroups", ("v2alpha2",)),
    Resource("scheduling.run.ai", "Queue", "queues", ("v2",), namespaced=False),
    Resource("kai.scheduler", "Topology", "topologies", ("v1alpha1",), namespaced=False),
    Resource("argoproj.io", "Rollout", "rollouts", ("v1alpha1",)),
)

_BY_KIND = {row.key: row for row in ROWS}


def row_of(kind: Kind) -> Resource:
    """Its row, or one that knows nothing of it."""
    return _BY_KIND.get(kind) or Resource(*kind, plural=kind[1].lower() + "s", namespaced=False)
