"""What is suspended while a gang that we bind leaves its places, so that its controller counts no failures.

::

    Job, a gang itself                       the Job
    JobSet -> Job                            the JobSet: it would let its Jobs go again
    Gang <- Job, Job                         both, where all pods of the gang are theirs
    Gang <- Job, StatefulSet                 nobody: a StatefulSet cannot be suspended; the pods are deleted
    Job that Kueue manages                   nobody: suspending is Kueue's, which would let it go again
    Job made by something nobody reads       nobody: that may let it go again
"""

from dataclasses import dataclass, replace

from phalanx.dialects import clusterstate, kindtable, owners, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours
from phalanx.dialects.following.family import Family
from phalanx.model.makers import Maker
from phalanx.model.request import Request

_POD = ("", "Pod")
_CRON_JOB = ("batch", "CronJob")  # it makes Jobs, and leaves them alone
_KUEUE_WORKLOAD = (kindtable.KUEUE, "Workload")
_OWN_CONTROLLERS = (None, "kubernetes.io/job-controller", "jobset.sigs.k8s.io/jobset-controller")


@dataclass(frozen=True, slots=True)
class Suspending:
    """``makers``: all that make pods of a gang. ``why_not``: why none of them is suspended for it; empty: they are.
    ``own``: what the gang was read from, where that is none of them."""

    makers: tuple[Document, ...] = ()
    why_not: str = ""
    own: Document | None = None

    def asked(self) -> tuple[Maker, ...]:
        """Those that are suspended for the gang, as they are now; where none is to be, those that we suspended once."""
        if not self.why_not:
            return tuple(_as_it_is(doc) for doc in self.makers)
        held = [doc for doc in self.makers if doc.of_kind in kindtable.SUSPEND_FIELD and _is_noted(doc)]
        return tuple(replace(_as_it_is(doc), spared=True) for doc in held)

    def follow(self, request: Request) -> Request:
        """The request, suspended only where it says so itself: that its makers are is told beside it."""
        if not any(one.suspended for one in self.asked()):
            return request
        says_so = self.own is not None and Field.of(self.own.value).at("spec", "suspend").value is True
        return replace(request, suspended=says_so)


def of(family: Family, request: Request) -> Suspending:
    """Who makes the pods of a gang, and whether they are suspended while it leaves."""
    own = family.subject(request.kind, request.namespace, request.name)
    if own is not None and own.of_kind in readers.MAKERS:
        makers = [own] if own.of_kind != _POD else []
    else:
        makers = _outermost(family)
    if not makers:
        return Suspending()
    why_not = _why_not_this_gang(family, request, own) or next(filter(None, map(_why_not, makers)), "")
    return Suspending(tuple(makers), why_not, own if own not in makers else None)


def _why_not_this_gang(family: Family, request: Request, own: Document | None) -> str:
    """Why suspending what makes its pods is not the same as taking this gang off its nodes."""
    if any(key.of_kind == _KUEUE_WORKLOAD for key in family.docs):
        return "Kueue suspends it and lets it go"
    others = [one for one in family.requests if one != request and not _is_beside(one, own, family)]
    return "it makes pods of other gangs too, or of other parts that start on their own" if others else ""


def _is_beside(other: Request, own: Document | None, family: Family) -> bool:
    """Whether another gang of the family has pods of its own makers: as each run of a CronJob has."""
    found = family.subject(other.kind, other.namespace, other.name)
    if own is None or found is None or found is own:
        return False
    return own.of_kind in readers.MAKERS and found.of_kind in readers.MAKERS


def _outermost(family: Family) -> list[Document]:
    """What makes pods and was made by nothing of the family, pods that nothing made among them."""
    makers = [doc for _, doc in sorted(family.docs.items()) if doc.of_kind in readers.MAKERS]
    return [doc for doc in makers if not _is_made(doc, family) and not _is_over(doc)]


def _is_made(doc: Document, family: Family) -> bool:
    found = owners.controller(Field.of(doc.value).aside())
    return found is not None and found.key(doc.namespace) in family.docs


def _is_over(doc: Document) -> bool:
    return clusterstate.has_ended(Field.of(doc.value)) if doc.of_kind == _POD else ours.has_finished(doc)


def _why_not(doc: Document) -> str:
    at = Field.of(doc.value).aside()
    if doc.of_kind not in kindtable.SUSPEND_FIELD:
        return f"{doc.kind} {doc.name} cannot be suspended"
    maker = owners.controller(at)
    if maker is not None and maker.of_kind != _CRON_JOB:
        return f"{maker} made {doc.kind} {doc.name}, and may let it go again"
    manager = at.at("spec", "managedBy").value
    if manager not in _OWN_CONTROLLERS:
        return f"{str(manager)[:100]} manages {doc.kind} {doc.name}"
    return _why_not_ray(doc, at) if doc.of_kind == kindtable.RAY_JOB else ""


def _why_not_ray(doc: Document, at: Field) -> str:
    """KubeRay takes a RayJob for wrong that is suspended and does not own its cluster, or keeps it."""
    own, ends = not at.at("spec", "clusterSelector").present, at.at("spec", "shutdownAfterJobFinishes").value is True
    return "" if own and ends else f"RayJob {doc.name} can be suspended with shutdownAfterJobFinishes: true alone"


def _as_it_is(doc: Document) -> Maker:
    at = Field.of(doc.value)
    suspended = at.at(*kindtable.SUSPEND_FIELD[doc.of_kind]).value is True
    return Maker(doc.incarnation, suspended, _is_noted(doc))


def _is_noted(doc: Document) -> bool:
    return ours.is_suspended_by_us(Field.of(doc.value))
