"""Workloads and pods of a family that wait for a Gang, PodGroup or Workload that is not there."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from phalanx.dialects import absentees, clusterstate, links, readers
from phalanx.dialects.absentees import Naming
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours, ties
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.ours import Marks
from phalanx.model.objects import ObjectKey

_POD = ("", "Pod")


def told(family: Family, keys: Iterable[ObjectKey], running: frozenset[ObjectKey], marks: Marks) -> Family:
    """The family with an Invalid for whoever waits for what is not there. ``keys``: of all its objects, and of what is
    only named; ``running``: pods with a node."""
    missing = {
        key for key in keys if key.of_kind in readers.GATHERERS and key.of_kind not in readers.NEVER_THERE
    } - family.docs.keys()
    if not missing:
        return family
    waiting = (doc for doc in family.docs.values() if _is_waiting(doc, marks))
    found = absentees.told((one for doc in waiting for one in _named(doc, missing)), family.docs, running)
    return replace(family, invalid=(*family.invalid, *found))


def _named(doc: Document, missing: set[ObjectKey]) -> Iterator[Naming]:
    """What is named by a pod, or by templates of an object, and is not there."""
    for one in [Field.of(doc.value)] if _is_pod(doc) else ties.templates(doc.value):
        link = links.of(one.aside())
        naming = Naming(doc, link) if link is not None else None
        if naming is not None and naming.target in missing:
            yield naming


def _is_waiting(doc: Document, marks: Marks) -> bool:
    """Whether it is ours, and not over."""
    is_over = clusterstate.has_ended(Field.of(doc.value)) if _is_pod(doc) else ours.has_finished(doc)
    return not is_over and ours.is_marked([doc], marks)


def _is_pod(doc: Document) -> bool:
    return doc.of_kind == _POD
