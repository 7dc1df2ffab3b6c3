"""Which reader reads which kind of workload, and what all of them may look up. The only place that knows them all."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from phalanx.dialects import gang, kai, kindtable, kueue, links, misplaced, owners, workload
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset import jobset
from phalanx.dialects.kinds import (
    cronjob,
    deployment,
    job,
    kubeflow,
    lws,
    mpijob,
    pod,
    ray,
    replicaset,
    statefulset,
    trainjob,
)
from phalanx.dialects.kindtable import POD, Kind, Purpose
from phalanx.dialects.links import Link
from phalanx.dialects.neighbours import Neighbours
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.objects import ObjectKey

Reader = Callable[[Field, Surroundings], Outline | None]
_READERS: Mapping[Kind, Reader] = {
    ("", "Pod"): pod.read,
    ("batch", "Job"): job.read,
    ("batch", "CronJob"): cronjob.read,
    ("apps", "StatefulSet"): statefulset.read,
    ("apps", "Deployment"): deployment.read,
    ("apps", "ReplicaSet"): replicaset.read,
    ("", "ReplicationController"): replicaset.read_controller,
    ("jobset.x-k8s.io", "JobSet"): jobset.read,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): lws.read,
    ("kubeflow.org", "MPIJob"): mpijob.read,
    ("kubeflow.org", "PyTorchJob"): kubeflow.read,
    ("kubeflow.org", "TFJob"): kubeflow.read,
    ("kubeflow.org", "XGBoostJob"): kubeflow.read,
    ("kubeflow.org", "PaddleJob"): kubeflow.read,
    ("kubeflow.org", "JAXJob"): kubeflow.read,
    ("trainer.kubeflow.org", "TrainJob"): trainjob.read,
    ("ray.io", "RayCluster"): ray.read_cluster,
    ("ray.io", "RayJob"): ray.read_job,
    ("ray.io", "RayService"): ray.read_service,
    ("phalanx.dev", "Gang"): gang.read,
    ("kueue.x-k8s.io", "Workload"): kueue.read,
    ("kueue.x-k8s.io", "PodGroup"): kueue.read_podgroup,
    ("scheduling.run.ai", "PodGroup"): kai.read,
    ("scheduling.k8s.io", "Workload"): workload.read,
    ("scheduling.k8s.io", "PodGroup"): workload.read_podgroup,
    ("scheduling.k8s.io", "CompositePodGroup"): workload.read_composite,
}


def _remarking(read: Reader) -> Reader:
    """The reader of a kind that makes pods, and what there is to say of every such kind alike."""

    def reader(doc: Field, around: Surroundings) -> Outline | None:
        found = read(doc, around)
        if found is not None:
            misplaced.note(doc, found)
        return found

    return reader


_REMARKING = {
    row.key: _remarking(_READERS[row.key]) for row in kindtable.of_purpose(Purpose.MAKES_PODS) if row.key != POD
}
ALL = kindtable.complete("reader", (row.key for row in kindtable.ROWS if row.is_workload), {**_READERS, **_REMARKING})
MAKERS = {row.key: ALL[row.key] for row in kindtable.of_purpose(Purpose.MAKES_PODS)}
GATHERERS = {row.key: ALL[row.key] for row in kindtable.of_purpose(Purpose.GATHERS_PODS)}

NEVER_THERE = {one.of_kind for one in (links.KUEUE, links.KUEUE_PODS)}  # named, and a copy or a mere name


def surrounded(docs: Iterable[Document], around: Surroundings) -> Surroundings:
    """The surroundings with all documents to look up, and with a way to read a document inside another one."""
    index: dict[ObjectKey, Field] = {}
    for doc in docs:
        index.setdefault(doc.key, Field.of(doc.value))
    around = replace(around, neighbours=Neighbours(index))
    return replace(around, expand=lambda inner: _expanded(inner, around))


def _expanded(inner: Field, around: Surroundings) -> Outline | None:
    """The normal form of a document that another one holds; kinds that hold others are not read there again."""
    group, _, _ = str(inner.at("apiVersion").value).rpartition("/")
    reader = MAKERS.get((group, str(inner.at("kind").value)))
    return reader(inner, around) if reader is not None else None


def is_part_of(kind: Kind, maker: Kind) -> bool:
    """Whether what something made is placed with it. A pod stands for itself where nobody reads what made it, or where
    that is a pod, as a Spark driver is (W-017)."""
    if kind == POD:
        return maker != POD and (maker in ALL or owners.has_no_gang(maker))
    return maker in ALL


def target(link: Link, namespace: str) -> ObjectKey:
    """The key of the object that a link names."""
    return ObjectKey(*link.carrier.of_kind, namespace, link.name)


def is_followed(link: Link, namespace: str, neighbours: Neighbours) -> bool:
    """Whether a link counts. Kueue writes its own into every Job it has seen, whether we see its object or not."""
    return link.carrier is not links.KUEUE or neighbours.find(*target(link, namespace)) is not None
