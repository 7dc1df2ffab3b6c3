"""The table of kinds: everything there is to know about a kind of object, one row each.

Readers, owners, the scheduler's watches, its writes, the command line, the roles under ``deploy/rbac`` and
``docs/grouping.md`` derive from it or are tested against it. A row that leaves something open is refused as soon as
this module is imported, so that no program starts with a kind that is known here and forgotten there::

    KindRow("batch", "Job", "jobs", ("v1",), MAKES_PODS, SERVED, pods=COMPLETION_INDEX, suspended=True, ...)
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

Kind = tuple[str, str]  # API group and kind


class KindTableError(Exception):
    """The table, or what is made for one of its rows, is not complete."""


class Purpose(Enum):
    """What objects of a kind are to us."""

    MAKES_PODS = "a workload: its controller makes pods"
    GATHERS_PODS = "a workload: pods name it as what they belong to"
    LOOKED_UP = "a workload is read with its help"
    CLUSTER = "a part of the cluster: what there is, and who may have it"
    OWNS_PODS = "it owns pods, and is not read as a workload"


class PodIdentity(Enum):
    """How it is told which pod of its owner a pod is. ``recognised`` reads the labels."""

    ALIKE = "all pods are alike"
    COMPLETION_INDEX = "by the completion index of a Job"
    ORDINAL = "by the ordinal of a StatefulSet"
    JOB_OF_JOBSET = "by replicated job, job index and completion index"
    LEADER_AND_WORKERS = "by group index and worker index"
    ROLE = "by the role, and the number within it"
    TORCH_ROLE = "by the role; workers follow the master"
    RAY_GROUP = "head, or the name of the worker group"
    BOUND_TO_NODES = "each belongs to a node, and none is part of a gang"


class Followed(Enum):
    """Whether ``phalanx run`` watches a kind."""

    NEEDED = "nothing is scheduled without it"
    RESTRICTS = "where it is served: without it more would be started, or otherwise, than is right"
    SERVED = "where it is served"
    NEVER = "not at all"


_RANKED = frozenset({
    PodIdentity.COMPLETION_INDEX, PodIdentity.ORDINAL, PodIdentity.JOB_OF_JOBSET, PodIdentity.LEADER_AND_WORKERS,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind of object.

    ``plural``: as paths and roles name it. ``versions``: those we read; none: it is not read by itself.
    ``why_not``: why it is not followed. ``pods``: how its pods are told. ``above``: the owners that lead on from a pod
    to its workload. ``suspended``: whether one that is made suspended is gated, and resumed once it has its places.
    ``suspend``: the field by which it makes no pods for a while; we use it while its gang leaves. ``status``: whether
    we write its status.
    ``short``: other names on the command line. ``home``: the API group under which it is known, where it has another.
    """

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...]
    purpose: Purpose
    followed: Followed
    why_not: str = ""
    pods: PodIdentity | None = None
    above: tuple[Kind, ...] = ()
    suspended: bool = False
    suspend: str = ""
    status: bool = False
    short: tuple[str, ...] = ()
    namespaced: bool = True
    home: str = ""

    @property
    def key(self) -> Kind:
        """The kind by the API group under which it is known."""
        return self.home or self.group, self.kind

    @property
    def is_workload(self) -> bool:
        return self.purpose in (Purpose.MAKES_PODS, Purpose.GATHERS_PODS)

    @property
    def is_followed(self) -> bool:
        return self.followed is not Followed.NEVER

    @property
    def has_index(self) -> bool:
        """Whether its pods carry a number that no field path has to name."""
        return self.pods in _RANKED


# -- what a row must say -----------------------------------------------------------------------------------------


def checked(rows: Iterable[KindRow]) -> tuple[KindRow, ...]:
    """The rows; KindTableError with everything that they leave open."""
    table = tuple(rows)
    holes = [f"{row.kind} ({row.group or 'core'}): {hole}" for row in table for hole in _holes(row)]
    holes += [f"{name} is the name of several kinds" for name in _repeated(_names(table))]
    known = {row.key for row in table}
    holes += [
        f"{row.kind} ({row.group or 'core'}): {kind} ({group or 'core'}) above it has no row"
        for row in table
        for group, kind in row.above
        if (group, kind) not in known
    ]
    if holes:
        raise KindTableError("the table of kinds is not complete: " + "; ".join(holes))
    return table


def _holes(row: KindRow) -> list[str]:
    owns_pods = row.purpose in (Purpose.MAKES_PODS, Purpose.OWNS_PODS)
    found = {
        "it has no plural": not row.plural,
        "it has no version that is read, and is followed": not row.versions and row.is_followed,
        "it is not followed, and does not say why": not row.is_followed and not row.why_not,
        "it is followed, and says why not": row.is_followed and bool(row.why_not),
        "how its pods are told is not said": owns_pods and row.pods is None,
        "it makes no pods, and says how they are told": row.purpose is Purpose.GATHERS_PODS and row.pods is not None,
        "it is suspended, and makes no pods": row.suspended and row.purpose is not Purpose.MAKES_PODS,
        "it is suspended, and by which field is not said": row.suspended and not row.suspend,
        "it can be suspended, and makes no pods": bool(row.suspend) and row.purpose is not Purpose.MAKES_PODS,
        "it is written to, and not followed": (bool(row.suspend) or row.status) and not row.is_followed,
    }
    return [hole for hole, is_there in found.items() if is_there]


def _names(table: tuple[KindRow, ...]) -> list[str]:
    """What has to be unique: kinds with their groups, owners of pods by kind alone, and short names."""
    kinds = [f"{row.kind} ({row.group or 'core'})" for row in table]
    owners = [row.kind for row in table if row.pods is not None]
    return [*kinds, *owners, *(short for row in table for short in row.short)]


def _repeated(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


# -- the rows ----------------------------------------------------------------------------------------------------

OURS = "phalanx.dev"
KUEUE = "kueue.x-k8s.io"
KAI = "scheduling.run.ai"
UPSTREAM = "scheduling.k8s.io"
_TRAINING = "kubeflow.org"
_TRAINER = "trainer.kubeflow.org"
_RAY = "ray.io"
_KUEUE_VERSIONS = ("v1alpha1", "v1beta1", "v1beta2")

POD: Kind = ("", "Pod")
NODE: Kind = ("", "Node")
VOLUME: Kind = ("", "PersistentVolume")
CLAIM: Kind = ("", "PersistentVolumeClaim")
CSI_NODE: Kind = ("storage.k8s.io", "CSINode")
STORAGE_CLASS: Kind = ("storage.k8s.io", "StorageClass")
JOB: Kind = ("batch", "Job")
STATEFUL_SET: Kind = ("apps", "StatefulSet")
DEPLOYMENT: Kind = ("apps", "Deployment")
DAEMON_SET: Kind = ("apps", "DaemonSet")
ROLLOUT: Kind = ("argoproj.io", "Rollout")
JOB_SET: Kind = ("jobset.x-k8s.io", "JobSet")
LEADER_WORKER_SET: Kind = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
MPI_JOB: Kind = (_TRAINING, "MPIJob")
TRAIN_JOB: Kind = (_TRAINER, "TrainJob")
RAY_JOB: Kind = (_RAY, "RayJob")
RAY_SERVICE: Kind = (_RAY, "RayService")

_SUSPEND, _POLICY = "spec.suspend", "spec.runPolicy.suspend"
_MAKES, _GATHERS, _OWNS = Purpose.MAKES_PODS, Purpose.GATHERS_PODS, Purpose.OWNS_PODS
_CLUSTER, _LOOKED_UP = Purpose.CLUSTER, Purpose.LOOKED_UP
_NEEDED, _RESTRICTS, _SERVED, _NEVER = Followed.NEEDED, Followed.RESTRICTS, Followed.SERVED, Followed.NEVER

ROWS = checked((
    # -- the cluster: what there is
    KindRow(*NODE, "nodes", ("v1",), _CLUSTER, _NEEDED, pods=PodIdentity.BOUND_TO_NODES, namespaced=False),
    KindRow("", "Namespace", "namespaces", ("v1",), _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(*VOLUME, "persistentvolumes", ("v1",), _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(*CLAIM, "persistentvolumeclaims", ("v1",), _CLUSTER, _RESTRICTS),
    KindRow(*CSI_NODE, "csinodes", ("v1",), _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(*STORAGE_CLASS, "storageclasses", ("v1",), _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(UPSTREAM, "PriorityClass", "priorityclasses", ("v1",), _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(*DAEMON_SET, "daemonsets", ("v1",), _OWNS, _RESTRICTS, pods=PodIdentity.BOUND_TO_NODES),
    # -- the cluster: how it is divided, and who may have it
    KindRow(OURS, "Topology", "topologies", ("v1alpha1",), _CLUSTER, _RESTRICTS, status=True, namespaced=False,
            short=("ptopo",)),
    KindRow(KUEUE, "Topology", "topologies", _KUEUE_VERSIONS, _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow("kai.scheduler", "Topology", "topologies", ("v1alpha1",), _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(OURS, "Queue", "queues", ("v1alpha1",), _CLUSTER, _RESTRICTS, status=True, namespaced=False,
            short=("pq",)),
    KindRow(OURS, "Flavor", "flavors", ("v1alpha1",), _CLUSTER, _RESTRICTS, status=True, namespaced=False,
            short=("pfl",)),
    KindRow(KUEUE, "ClusterQueue", "clusterqueues", _KUEUE_VERSIONS, _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(KUEUE, "LocalQueue", "localqueues", _KUEUE_VERSIONS, _CLUSTER, _RESTRICTS),
    KindRow(KUEUE, "Cohort", "cohorts", _KUEUE_VERSIONS, _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(KUEUE, "ResourceFlavor", "resourceflavors", _KUEUE_VERSIONS, _CLUSTER, _RESTRICTS, namespaced=False),
    KindRow(KUEUE, "AdmissionCheck", "admissionchecks", _KUEUE_VERSIONS, _CLUSTER, _SERVED, namespaced=False),
    KindRow(KAI, "Queue", "queues", ("v2", "v2alpha2"), _CLUSTER, _RESTRICTS, namespaced=False),
    # -- what workloads are read with
    KindRow("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", ("v1", "v2"), _LOOKED_UP, _RESTRICTS,
            short=("hpa",)),
    KindRow(_TRAINER, "TrainingRuntime", "trainingruntimes", ("v1alpha1",), _LOOKED_UP, _RESTRICTS),
    KindRow(_TRAINER, "ClusterTrainingRuntime", "clustertrainingruntimes", ("v1alpha1",), _LOOKED_UP, _RESTRICTS,
            namespaced=False),
    # -- workloads that make pods
    KindRow(*POD, "pods", ("v1",), _MAKES, _NEEDED, pods=PodIdentity.ALIKE, above=(STATEFUL_SET,), status=True,
            short=("po",)),  # of pods only the one that leads a StatefulSet has something above it
    KindRow(*JOB, "jobs", ("v1",), _MAKES, _SERVED, pods=PodIdentity.COMPLETION_INDEX, suspended=True, suspend=_SUSPEND,
            above=(JOB_SET, MPI_JOB, RAY_JOB)),  # the launcher and the submitter are Jobs
    KindRow("batch", "CronJob", "cronjobs", ("v1",), _MAKES, _NEVER, "each of its Jobs is a workload of its own",
            pods=PodIdentity.COMPLETION_INDEX, short=("cj",)),
    KindRow(*STATEFUL_SET, "statefulsets", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ORDINAL,
            above=(LEADER_WORKER_SET, POD), short=("sts",)),  # workers' StatefulSets belong to their leader pod
    KindRow(*DEPLOYMENT, "deployments", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ALIKE, above=(ROLLOUT,),
            short=("deploy",)),
    KindRow("apps", "ReplicaSet", "replicasets", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ALIKE,
            above=(DEPLOYMENT, ROLLOUT), short=("rs",)),
    KindRow("", "ReplicationController", "replicationcontrollers", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ALIKE,
            short=("rc",)),
    KindRow(*JOB_SET, "jobsets", ("v1alpha2", "v1"), _MAKES, _SERVED, pods=PodIdentity.JOB_OF_JOBSET,
            above=(TRAIN_JOB,), suspended=True, suspend=_SUSPEND),
    KindRow(*LEADER_WORKER_SET, "leaderworkersets", ("v1",), _MAKES, _SERVED, pods=PodIdentity.LEADER_AND_WORKERS,
            short=("lws",)),
    KindRow(*MPI_JOB, "mpijobs", ("v2beta1", "v1"), _MAKES, _SERVED, pods=PodIdentity.ROLE, suspend=_POLICY),
    KindRow(_TRAINING, "PyTorchJob", "pytorchjobs", ("v1",), _MAKES, _SERVED, pods=PodIdentity.TORCH_ROLE,
            suspend=_POLICY),
    KindRow(_TRAINING, "TFJob", "tfjobs", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ROLE, suspend=_POLICY),
    KindRow(_TRAINING, "XGBoostJob", "xgboostjobs", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ROLE, suspend=_POLICY),
    KindRow(_TRAINING, "PaddleJob", "paddlejobs", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ROLE, suspend=_POLICY),
    KindRow(_TRAINING, "JAXJob", "jaxjobs", ("v1",), _MAKES, _SERVED, pods=PodIdentity.ROLE, suspend=_POLICY),
    KindRow(*TRAIN_JOB, "trainjobs", ("v1alpha1",), _MAKES, _SERVED, pods=PodIdentity.JOB_OF_JOBSET, suspend=_SUSPEND),
    KindRow(_RAY, "RayCluster", "rayclusters", ("v1", "v1alpha1"), _MAKES, _SERVED, pods=PodIdentity.RAY_GROUP,
            above=(RAY_JOB, RAY_SERVICE)),
    KindRow(*RAY_JOB, "rayjobs", ("v1", "v1alpha1"), _MAKES, _SERVED, pods=PodIdentity.RAY_GROUP, suspend=_SUSPEND),
    KindRow(*RAY_SERVICE, "rayservices", ("v1", "v1alpha1"), _MAKES, _SERVED, pods=PodIdentity.RAY_GROUP),
    KindRow(*ROLLOUT, "rollouts", (), _OWNS, _NEVER, "each of its ReplicaSets is read as a workload of its own",
            pods=PodIdentity.ALIKE),
    # -- workloads that pods name
    KindRow(OURS, "Gang", "gangs", ("v1alpha1",), _GATHERS, _SERVED, status=True),
    KindRow(KUEUE, "Workload", "workloads", _KUEUE_VERSIONS, _GATHERS, _SERVED, short=("wl",)),
    KindRow(KUEUE, "PodGroup", "podgroups", (), _GATHERS, _NEVER, "it is a name that pods carry, and has no object"),
    KindRow(KAI, "PodGroup", "podgroups", ("v2alpha2",), _GATHERS, _SERVED, short=("pg",)),
    KindRow("scheduling", "Workload", "workloads", ("v1alpha1",), _GATHERS, _NEVER,
            "it is as the designs wrote it, and no server has it", home=UPSTREAM),
    KindRow(UPSTREAM, "Workload", "workloads", ("v1beta1", "v1alpha3"), _GATHERS, _SERVED),
    KindRow(UPSTREAM, "PodGroup", "podgroups", ("v1beta1", "v1alpha3"), _GATHERS, _SERVED, status=True),
    KindRow(UPSTREAM, "CompositePodGroup", "compositepodgroups", ("v1alpha3",), _GATHERS, _SERVED, status=True,
            short=("cpg",)),
))  # fmt: skip


# -- asked often -------------------------------------------------------------------------------------------------

BY_KEY = {row.key: row for row in ROWS if not row.home}
FOLLOWED = tuple(row for row in ROWS if row.is_followed)
LOOKED_UP = frozenset(row.key for row in ROWS if row.purpose is Purpose.LOOKED_UP)
SUSPENDED = frozenset(row.key for row in ROWS if row.suspended)
SUSPEND_FIELD = {row.key: tuple(row.suspend.split(".")) for row in ROWS if row.suspend}
NOT_OF_GANGS = frozenset(row.key for row in ROWS if row.pods is PodIdentity.BOUND_TO_NODES)
OWNER_GROUPS = {row.kind: row.group for row in ROWS if row.pods is not None}  # for references that name no API group
RANKED_KINDS = frozenset(row.kind for row in ROWS if row.has_index)
CLUSTER_SCOPED = frozenset(row.key for row in ROWS if not row.namespaced)


def of_purpose(purpose: Purpose) -> tuple[KindRow, ...]:
    """The rows with that purpose, in order."""
    return tuple(row for row in ROWS if row.purpose is purpose)


Asked = TypeVar("Asked", bound=Hashable)
Given = TypeVar("Given")


def complete(what: str, asked: Iterable[Asked], given: Mapping[Asked, Given]) -> dict[Asked, Given]:
    """What is given for each of those that are asked for; KindTableError if that is not all there is to give."""
    wanted = dict.fromkeys(asked)
    lacking = [f"{_word(one)} has no {what}" for one in wanted if one not in given]
    beside = [f"{_word(one)} has a {what}, and no row asks for it" for one in given if one not in wanted]
    if lacking or beside:
        raise KindTableError("the table of kinds is not complete: " + "; ".join((*lacking, *beside)))
    return {one: given[one] for one in wanted}


def _word(asked: Hashable) -> str:
    return f"{asked[1]} ({asked[0] or 'core'})" if isinstance(asked, tuple) else str(asked)
