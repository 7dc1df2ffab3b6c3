"""Who lets the pods of a gang come: what makes them may be suspended until we, or its user, resume it.

::

    Job, suspended, a gang itself            resumed by us
    Gang <- Job, suspended, queued           resumed by us: all pods of the gang are its pods
    Gang <- Job, Job                         by their user: one that must leave would have to take the other along
    Gang <- Job, pods that are there         by its user: the gang is placed when all of its pods exist

We resume for a gated gang what we may suspend for it again. Whatever is left suspended is told on the gang.
"""

from dataclasses import dataclass

from phalanx.dialects import clusterstate, links, owners, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours, ties, unheld
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.ours import GATE, Marks
from phalanx.dialects.kindtable import SUSPENDED
from phalanx.model.objects import Incarnation, ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.request import Request

_POD = ("", "Pod")
_SHOWN = 3  # makers that a message names


@dataclass(frozen=True, slots=True)
class Resuming:
    """``owner``: whom we resume for a gang and suspend when it must leave; None: nobody.

    ``left``: a Problem for each that holds pods of the gang back, and that nobody but its user resumes.
    """

    owner: Incarnation | None = None
    left: tuple[Problem, ...] = ()


def of(family: Family, request: Request, marks: Marks) -> Resuming:
    gated = request.rules.enforcement == "Gate"
    doc = family.subject(request.kind, request.namespace, request.name)
    if doc is not None and doc.of_kind in SUSPENDED:
        return Resuming(doc.incarnation if gated else None, unheld.left_suspended(doc, request, marks))
    makers = _makers(family, request)
    if not makers:
        return Resuming()
    why = _why_not(family, request, makers, marks)
    if not why:
        return Resuming(makers[0].incarnation)
    if request.suspended:  # it waits for its user anyway, and says so
        return Resuming()
    held = [doc for doc in makers if _is_held(Field.of(doc.value))]
    return Resuming(left=tuple(_problem(doc, why, gated) for doc in held))


def _is_held(maker: Field) -> bool:
    """Whether its user suspended it; we let go whom we suspended for a gang that left."""
    return maker.at("spec", "suspend").value is True and not ours.is_suspended_by_us(maker)


def _problem(doc: Document, why: str, gated: bool) -> Problem:
    message = f"we do not resume {doc.kind} {doc.name}: {why}; resume it yourself"
    with_gate = f", with gate {GATE} in its pod template" if gated else ""
    return Problem("spec.suspend", True, ("false",), f"{message}{with_gate}", doc.key)


def _why_not(family: Family, request: Request, makers: list[Document], marks: Marks) -> str:
    """Why those who make the pods of a gang are not for us to resume; empty: it is one, and it is."""
    if request.rules.enforcement != "Gate":
        return "its pods name our scheduler, and wait for their places without that"
    if len(makers) > 1:
        names = ", ".join(f"{one.kind} {one.name}" for one in makers[:_SHOWN])
        return f"{len(makers)} make pods of this gang ({names}{', ...' if len(makers) > _SHOWN else ''})"
    return _why_not_handed_over(makers[0], marks) or _why_not_the_same(makers[0], family, request)


def _why_not_handed_over(doc: Document, marks: Marks) -> str:
    if doc.of_kind not in SUSPENDED:
        return "only a Job or a JobSet is resumed"
    is_queued = any(Field.of(doc.value).at("metadata", "labels", key).present for key in marks.queues)
    return "" if is_queued else f"it has none of the labels {', '.join(marks.queues)}"


def _why_not_the_same(doc: Document, family: Family, request: Request) -> str:
    """Why resuming an object, or suspending it, is not the same as doing so with a gang."""
    gang = _key(request)
    if sum(_key(one) == gang for one in family.requests) > 1:
        return "parts of this gang start on their own"
    found = [links.of(template.aside()) for template in ties.templates(doc.value)]
    if any(link is None or readers.target(link, doc.namespace) != gang for link in found):
        return "some of its pods do not belong to this gang"
    named = {link.group for link in found if link is not None}
    wanted = dict.fromkeys(one.name.partition("[")[0].partition("/")[0] for one in request.root.pod_sets())
    lacking = [name for name in wanted if name not in named and (len(wanted) > 1 or named != {None})]
    return f"it makes no pods of group {lacking[0]}" if lacking else ""


# -- makers ------------------------------------------------------------------------------------------------------


def _key(request: Request) -> ObjectKey:
    return ObjectKey("phalanx.dev", request.kind, request.namespace, request.name)


def _makers(family: Family, request: Request) -> list[Document]:
    """What makes pods of a Gang, in order, and then pods that nothing we know made. There may be very many pods: they
    are looked at only where something is there to be resumed."""
    gang = _key(request)
    keys = sorted(family.docs)
    found = [family.docs[key] for key in keys if key.of_kind != _POD and _makes(family.docs[key], gang, family)]
    pods = [key for key in keys if key.of_kind == _POD] if found else []
    return [*found, *(family.docs[key] for key in pods if _makes(family.docs[key], gang, family))]


def _makes(doc: Document, gang: ObjectKey, family: Family) -> bool:
    return gang in ties.of(doc) and not _is_made(doc, family) and not _is_over(doc)


def _is_made(doc: Document, family: Family) -> bool:
    found = owners.controller(Field.of(doc.value).aside())
    return found is not None and found.key(doc.namespace) in family.docs


def _is_over(doc: Document) -> bool:
    is_pod = doc.of_kind == _POD
    return clusterstate.has_ended(Field.of(doc.value)) if is_pod else ours.has_finished(doc)
