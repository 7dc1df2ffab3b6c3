"""Which kinds of object the scheduler follows: those it cannot do without, and those it reads where they are served."""

from phalanx.wire.discovery import Served
from phalanx.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS, Resource

NEEDED = (NODES, PODS)
POD = ("", "Pod")

FOLLOWED: tuple[tuple[str, str], ...] = (
    ("phalanx.dev", "Topology"),
    ("phalanx.dev", "Gang"),
    ("phalanx.dev", "Queue"),
    ("phalanx.dev", "Flavor"),
    ("batch", "Job"),
    ("apps", "StatefulSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "DaemonSet"),
    ("", "Namespace"),
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("scheduling.k8s.io", "Workload"),
    ("scheduling.k8s.io", "PodGroup"),
    ("scheduling.k8s.io", "CompositePodGroup"),
    ("jobset.x-k8s.io", "JobSet"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    ("kueue.x-k8s.io", "Topology"),
    ("kueue.x-k8s.io", "ClusterQueue"),
    ("kueue.x-k8s.io", "LocalQueue"),
    ("kueue.x-k8s.io", "Cohort"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
    ("kueue.x-k8s.io", "Workload"),
    ("kai.scheduler", "Topology"),
    ("scheduling.run.ai", "Queue"),
    ("scheduling.run.ai", "PodGroup"),
    ("kubeflow.org", "MPIJob"),
    ("kubeflow.org", "PyTorchJob"),
    ("kubeflow.org", "TFJob"),
    ("kubeflow.org", "XGBoostJob"),
    ("kubeflow.org", "PaddleJob"),
    ("kubeflow.org", "JAXJob"),
    ("trainer.kubeflow.org", "TrainJob"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    ("ray.io", "RayCluster"),
    ("ray.io", "RayJob"),
    ("ray.io", "RayService"),
)


def followed(served: Served) -> list[Resource]:
    """The resources to follow on a server that serves these, the needed ones first."""
    found = [served.find(group, kind) for group, kind in FOLLOWED]
    return [*NEEDED, CUSTOM_RESOURCE_DEFINITIONS, *(one for one in found if one is not None)]
