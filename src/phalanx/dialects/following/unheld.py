"""Workloads that are to be gated, and whose pods nothing holds back: another scheduler starts them without us; or that
are held back for good, because nobody is to resume them."""

from dataclasses import replace

from phalanx.dialects import readers, wishes
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours, ties
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.kindtable import SUSPENDED
from phalanx.model.decision import Invalid
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.request import Request


def refused(family: Family, marks: Marks) -> Family:
    """The family without what would be gated, and with the reason, where its makers run free. There is no webhook that
    would have held them back when they were made."""
    gated = [one for one in family.requests if one.rules.enforcement == "Gate"]
    makers = [doc for key, doc in family.docs.items() if _makes_pods(key) and _lives(doc)]
    if not gated or not makers or any(_is_held(doc) for doc in makers):
        return family
    names = dict.fromkeys((one.kind, one.namespace, one.name) for one in gated)
    kept = tuple(one for one in family.requests if one not in gated)
    wrong = (_problem(makers[0], marks),)
    invalid = (*family.invalid, *(Invalid(*name, wrong) for name in names))
    return replace(family, requests=kept, invalid=invalid, seats=())


def _makes_pods(key: ObjectKey) -> bool:
    return key.of_kind in readers.MAKERS and key.kind != "Pod"


def _lives(doc: Document) -> bool:
    """Whether a server has it; a manifest that is only asked about starts nothing yet."""
    return Field.of(doc.value).at("metadata", "uid").present


def _is_held(doc: Document) -> bool:
    """Whether it makes no pods for now, or only such as our gate is on."""
    return Field.of(doc.value).at("spec", "suspend").value is True or _has_gate(doc)


def _has_gate(doc: Document) -> bool:
    """Whether its pods come with our gate on."""
    return any(ours.is_gated(one) for one in ties.templates(doc.value))


def _problem(doc: Document, marks: Marks) -> Problem:
    can_wait = doc.of_kind in SUSPENDED
    path, value = ("spec.suspend", False) if can_wait else ("spec.template.spec.schedulingGates", None)
    label = "" if _is_queued(doc) else f" and label {wishes.QUEUE}"
    ways = f"make it with suspend: true{label}, " if can_wait else ""
    message = (
        f"nothing holds its pods back, and another scheduler starts them: {ways}name schedulerName: "
        f"{marks.schedulers[0]} in its pod template, or put gate {ours.GATE} there"
    )
    return Problem(path, value, ("true",) if can_wait else (ours.GATE,), message)


def _is_queued(doc: Document) -> bool:
    """Whether it is for its queue, and not for its user, to resume it."""
    labels = Field.of(doc.value).at("metadata", "labels")
    return any(labels.at(key).present for key in (wishes.QUEUE, wishes.KUEUE_QUEUE))


def left_suspended(doc: Document | None, request: Request, marks: Marks) -> tuple[Problem, ...]:
    """What is said of a workload that is suspended, and that nobody resumes: without the label of a queue its user is
    to do so, and would start its pods without us."""
    held = request.suspended and request.rules.enforcement == "Gate"
    if doc is None or not held or _is_queued(doc) or _has_gate(doc):
        return ()
    message = (
        f"it is suspended, and not for us to resume: give it label {wishes.QUEUE}, or name schedulerName: "
        f"{marks.schedulers[0]} in its pod template and resume it yourself"
    )
    return (Problem("metadata.labels", None, (wishes.QUEUE,), message),)
