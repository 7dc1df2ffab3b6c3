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

from phalanx.dialects import kindtable
from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import NOT_OF_GANGS, OWNER_GROUPS, POD, STATEFUL_SET, Kind
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem, shown

DEPTH_MAX = 8  # owners of one pod; the longest stack there is has four

Find = Callable[[str, str, str], Field | None]  # kind, namespace, name -> the owner's document, if given

# Which owners carry a stack on. Any other owner of the kind on the left stands above the end.
_ABOVE = {row.key: row.above for row in kindtable.ROWS if row.above}


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller of an object, as its ownerReference names it."""

    api_group: str
    kind: str
    name: str
    uid: str = ""

    @property
    def of_kind(self) -> Kind:
        return self.api_group, self.kind

    def key(self, namespace: str) -> ObjectKey:
        """It is in the namespace of what it owns, or in none."""
        return ObjectKey(self.api_group, self.kind, namespace, self.name)

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
        if self.problem is not None or not self.chain or self.chain[-1].of_kind in NOT_OF_GANGS:
            return None
        return self.chain[-1]


# -- one step ----------------------------------------------------------------------------------------------------


def controller(doc: Field) -> Owner | None:
    """The owner that controls an object; owners that are not marked so do not. Several are a Problem (W-030)."""
    marked = [at for at in doc.at("metadata", "ownerReferences").items() if _is_controller(at)]
    if not marked:
        return None
    if len(marked) > 1:
        names = " and ".join(str(owner) for at in marked[:2] if (owner := named(at)) is not None)
        marked[1].at("controller").wrong(f"an object has one controller, this one has {len(marked)}: {names}")
        return None
    return named(marked[0])


def _is_controller(at: Field) -> bool:
    return at.mapping() and at.at("controller").flag(False)


def named(at: Field) -> Owner | None:
    """The owner that one of the ownerReferences names; a Problem where it names none."""
    kind, name, api = at.at("kind").name(None), at.at("name").name(None), at.at("apiVersion").text(None)
    if kind is None or name is None:
        at.wrong("an owner needs kind and name")
        return None
    group = OWNER_GROUPS.get(kind, "") if api is None else api.rpartition("/")[0]
    return Owner(group, kind, name, at.at("uid").text(""))


def has_no_gang(kind: Kind) -> bool:
    """Whether its pods are bound to nodes one by one."""
    return kind in NOT_OF_GANGS


# -- the walk ----------------------------------------------------------------------------------------------------


def walk(pod: Field, find: Find) -> Walk:
    """The owners of a pod among the documents that ``find`` knows. Ends whatever they say: cycles are a Problem."""
    namespace = pod.at("metadata", "namespace").aside().name("default")
    seen = {(*POD, pod.at("metadata", "name").aside().name(""))}
    chain: tuple[Owner, ...] = ()
    here: Field | None = pod.aside()
    while here is not None:
        owner, problem = _step(here)
        if owner is None or problem is not None:
            return Walk(chain, problem)
        if (*owner.of_kind, owner.name) in seen:
            return Walk(chain, _wrong(here, f"{owner} owns itself, through {_listed(chain)}"))
        if chain and owner.of_kind not in _above(chain):
            return Walk(chain)
        if len(chain) == DEPTH_MAX:
            return Walk(chain, _wrong(here, f"more than {DEPTH_MAX} owners stand above each other: {_listed(chain)}"))
        chain, seen = (*chain, owner), seen | {(*owner.of_kind, owner.name)}
        here = _given(owner, namespace, find)
    return Walk(chain, missing=chain[-1] if _above(chain) else None)


def _above(chain: tuple[Owner, ...]) -> tuple[Kind, ...]:
    """The kinds that carry a stack on above its last owner. A pod does so only for the StatefulSet that it leads:
    other pods that own pods (a Spark driver) have nothing to do with what made them."""
    if chain[-1].of_kind == POD and (len(chain) == 1 or chain[-2].of_kind != STATEFUL_SET):
        return ()
    return _ABOVE.get(chain[-1].of_kind, ())


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
    return Problem(at.path, shown(at.value), (), message, at.about)


def _listed(chain: tuple[Owner, ...]) -> str:
    return ", ".join(map(str, chain)) or "its own reference"
