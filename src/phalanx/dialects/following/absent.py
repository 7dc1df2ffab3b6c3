"""Workloads and pods that name a Gang, PodGroup or Workload that is not there. It may come later, and they wait for it.

They are told of as what is wrong, since nothing else would say why they wait: once for each workload, and once for all
pods that nobody made.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from phalanx.dialects import clusterstate, links, owners, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours, ties
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.links import Link
from phalanx.model.decision import Invalid
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

_POD = ("", "Pod")


def told(family: Family, keys: Iterable[ObjectKey], running: frozenset[ObjectKey], marks: Marks) -> Family:
    """The family with an Invalid for whoever waits for what is not there. ``keys``: of all its objects, and of what is
    only named; ``running``: pods with a node. A workload that has such is past waiting."""
    missing = {
        key for key in keys if key.of_kind in readers.GATHERERS and key.of_kind not in readers.NEVER_THERE
    } - family.docs.keys()
    if not missing:
        return family
    started = {_top(family.docs[key], family.docs).key for key in running if key in family.docs}
    waiting: dict[ObjectKey, tuple[Document, Problem]] = {}
    for doc in sorted(family.docs.values(), key=_age):
        top = _top(doc, family.docs)
        about = doc.key if _is_pod(doc) and top is not doc else None
        where = "" if _is_pod(doc) else "pod template: "
        for target, link in _named(doc, missing) if _is_waiting(doc, marks) else ():
            if top.key not in started:
                waiting.setdefault(target if _is_pod(top) else top.key, (top, _problem(link, where, about)))
    found = tuple(Invalid(top.kind, top.namespace, top.name, (problem,)) for top, problem in waiting.values())
    return replace(family, invalid=(*family.invalid, *found))


def _named(doc: Document, missing: set[ObjectKey]) -> Iterator[tuple[ObjectKey, Link]]:
    """What is named by a pod, or by templates of an object, and is not there."""
    for one in [Field.of(doc.value)] if _is_pod(doc) else ties.templates(doc.value):
        link = links.of(one.aside())
        if link is not None and readers.target(link, doc.namespace) in missing:
            yield readers.target(link, doc.namespace), link


def _problem(link: Link, where: str, about: ObjectKey | None) -> Problem:
    named = f"{link.carrier.kind} {link.name[:100]}"
    message = f"names {named} ({link.carrier.api_group}), which does not exist; its pods wait until it does"
    return Problem(f"{where}{link.at.path}", link.name, (), message, about)


def _is_waiting(doc: Document, marks: Marks) -> bool:
    """Whether it is ours, and not over."""
    is_over = clusterstate.has_ended(Field.of(doc.value)) if _is_pod(doc) else ours.has_finished(doc)
    return not is_over and ours.is_marked([doc], marks)


def _top(doc: Document, docs: Mapping[ObjectKey, Document]) -> Document:
    """The highest of those that made it, as far as they are there."""
    for _ in range(owners.DEPTH_MAX):
        owner = owners.controller(Field.of(doc.value).aside())
        above = docs.get(owner.key(doc.namespace)) if owner is not None else None
        if above is None:
            break
        doc = above
    return doc


def _age(doc: Document) -> tuple[bool, str, ObjectKey]:
    """Makers first, then the oldest: who speaks for others does not change as more come."""
    made = Field.of(doc.value).at("metadata", "creationTimestamp").value
    return _is_pod(doc), str(made), doc.key


def _is_pod(doc: Document) -> bool:
    return doc.of_kind == _POD
