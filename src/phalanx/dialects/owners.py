"""Who owns a pod: the walk from a pod through its controllers to the object whose pods are a gang.

Every object has at most one controller, so a pod's owners are a chain (W-030). The chain ends at the highest owner
that still describes one workload::

    Pod -> Job -> JobSet -> TrainJob          ends at the TrainJob
    Pod -> Job -> CronJob                     ends at the Job: each run is a workload of its own (W-075)
    Pod -> StatefulSet -> leader Pod -> StatefulSet -> LeaderWorkerSet      ends at the LeaderWorkerSet

A kind that nobody told us about ends it too: its user can say more with a Gang (W-017, W-076).
"""

from collections.abc import Callable
from dataclasses import dataclass

from phalanx.dialects.fields import Field
from phalanx.model.problems import Problem, shown

DEPTH_MAX = 8  # owners of one pod; the longest stack there is has four

Kind = tuple[str, str]  # API group and kind
Find = Callable[[str, str, str], Field | None]  # kind, namespace, name -> the owner's document, if given

_POD: Kind = ("", "Pod")
_JOB: Kind = ("batch", "Job")
_REPLICA_SET: Kind = ("apps", "ReplicaSet")
_DEPLOYMENT: Kind = ("apps", "Deployment")
_STATEFUL_SET: Kind = ("apps", "StatefulSet")
_ROLLOUT: Kind = ("argoproj.io", "Rollout")
_JOB_SET: Kind = ("jobset.x-k8s.io", "JobSet")
_LWS: Kind = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
_MPI_JOB: Kind = ("kubeflow.org", "MPIJob")
_TRAIN_JOB: Kind = ("trainer.kubeflow.org", "TrainJob")
_RAY_CLUSTER: Kind = ("ray.io", "RayCluster")
_RAY_JOB: Kind = ("ray.io", "RayJob")
_RAY_SERVICE: Kind = ("ray.io", "RayService")

# Which owners carry a stack on. Any other owner of the kind on the left stands above the end.
_ABOVE: dict[Kind, tuple[Kind, ...]] = {
    _JOB: (_JOB_SET, _MPI_JOB, _RAY_JOB),  # launcher and submitter are Jobs
    _JOB_SET: (_TRAIN_JOB,),
    _REPLICA_SET: (_DEPLOYMENT, _ROLLOUT),
    _DEPLOYMENT: (_ROLLOUT,),
    _STATEFUL_SET: (_LWS, _POD),  # the workers of a LeaderWorkerSet's group belong to its leader pod
    _POD: (_STATEFUL_SET,),
    _RAY_CLUSTER: (_RAY_JOB, _RAY_SERVICE),
}
_NO_GANG = {("", "Node"), ("apps", "DaemonSet")}  # their pods are bound to nodes one by one
_HOMES = {kind: group for group, kind in (*_ABOVE, *(up for ups in _ABOVE.values() for up in ups), *_NO_GANG)}


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller of an object, as its ownerReference names it."""

    api_group: str
    kind: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Walk:
    """The owners of a pod, nearest first, up to where the stack ends.

    ``missing``: the last of the chain, when its document was not given, so that more owners may stand above it.
    ``problem``: what is wrong with the references; the chain then ends before it.
    """

    chain: tuple[Owner, ...] = ()
    problem: Problem | None = None
    missing: Owner | None = None

    @property
    def top(self) -> Owner | None:
        """The owner whose pods are one workload; None for pods on their own, of a Node or of a DaemonSet."""
        if self.problem is not None or not self.chain or _kind(self.chain[-1]) in _NO_GANG:
            return None
        return self.chain[-1]


# -- one step ----------------------------------------------------------------------------------------------------


def controller(doc: Field) -> Owner | None:
    """The owner that controls an object; owners that are not marked so do not. Several are a Problem (W-030)."""
    marked = [at for at in doc.at("metadata", "ownerReferences").items() if _is_controller(at)]
    if not marked:
        return None
    if len(marked) > 1:
        names = " and ".join(str(owner) for at in marked[:2] if (owner := _owner(at)) is not None)
        marked[1].at("controller").wrong(f"an object has one controller, this one has {len(marked)}: {names}")
        return None
    return _owner(marked[0])


def _is_controller(at: Field) -> bool:
    return at.mapping() and at.at("controller").flag(False)


def _owner(at: Field) -> Owner | None:
    kind, name, api = at.at("kind").name(None), at.at("name").name(None), at.at("apiVersion").text(None)
    if kind is None or name is None:
        at.wrong("an owner needs kind and name")
        return None
    group = _HOMES.get(kind, "") if api is None else api.rpartition("/")[0]
    return Owner(group, kind, name, at.at("uid").text(""))


def _kind(owner: Owner) -> Kind:
    return owner.api_group, owner.kind


def has_no_gang(kind: Kind) -> bool:
    """Whether its pods are bound to nodes one by one."""
    return kind in _NO_GANG


# -- the walk ----------------------------------------------------------------------------------------------------


def walk(pod: Field, find: Find) -> Walk:
    """The owners of a pod among the documents that ``find`` knows. Ends whatever they say: cycles are a Problem."""
    namespace = pod.at("metadata", "namespace").aside().name("default")
    seen = {(*_POD, pod.at("metadata", "name").aside().name(""))}
    chain: tuple[Owner, ...] = ()
    here: Field | None = pod.aside()
    while here is not None:
        owner, problem = _step(here)
        if owner is None or problem is not None:
            return Walk(chain, problem)
        if (*_kind(owner), owner.name) in seen:
            return Walk(chain, _wrong(here, f"{owner} owns itself, through {_listed(chain)}"))
        if chain and _kind(owner) not in _above(chain):
            return Walk(chain)
        if len(chain) == DEPTH_MAX:
            return Walk(chain, _wrong(here, f"more than {DEPTH_MAX} owners stand above each other: {_listed(chain)}"))
        chain, seen = (*chain, owner), seen | {(*_kind(owner), owner.name)}
        here = _given(owner, namespace, find)
    return Walk(chain, missing=chain[-1] if _above(chain) else None)


def _above(chain: tuple[Owner, ...]) -> tuple[Kind, ...]:
    """The kinds that carry a stack on above its last owner. A pod does so only for the StatefulSet that it leads:
    other pods that own pods (a Spark driver) have nothing to do with what made them."""
    if _kind(chain[-1]) == _POD and (len(chain) == 1 or _kind(chain[-2]) != _STATEFUL_SET):
        return ()
    return _ABOVE.get(_kind(chain[-1]), ())


def _step(here: Field) -> tuple[Owner | None, Problem | None]:
    """The controller of a document, and the first thing that is wrong with its owners."""
    owner = controller(here)
    return owner, next(iter(here.notes.problems), None)


def _given(owner: Owner, namespace: str, find: Find) -> Field | None:
    """The document of an owner; None when it is not given, or only another object of that name is."""
    found = find(owner.kind, namespace, owner.name)
    if found is None:
        return None
    api, uid = found.at("apiVersion").value, found.at("metadata", "uid").value
    other_group = isinstance(api, str) and api.rpartition("/")[0] != owner.api_group
    other_life = bool(owner.uid) and isinstance(uid, str) and uid != owner.uid
    return None if other_group or other_life else found.aside()


def _wrong(here: Field, message: str) -> Problem:
    at = here.at("metadata", "ownerReferences")
    return Problem(at.path, shown(at.value), (), message)


def _listed(chain: tuple[Owner, ...]) -> str:
    return ", ".join(map(str, chain)) or "its own reference"
