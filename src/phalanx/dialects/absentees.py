"""Who names a Gang, PodGroup or Workload that is not there. It may come later, and they wait for it.

They are told of as what is wrong, since nothing else would say why they wait: once for each workload, and once for all
pods that nobody made and that name the same.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from phalanx.dialects import links, owners, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.links import Link
from phalanx.model.decision import Invalid
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

Docs = Mapping[ObjectKey, Document]


@dataclass(frozen=True, slots=True)
class Naming:
    """A pod, or an object with a pod template, and its link to what is not there."""

    doc: Document
    link: Link

    @property
    def target(self) -> ObjectKey:
        return readers.target(self.link, self.doc.namespace)


def told(namings: Iterable[Naming], docs: Docs, running: Collection[ObjectKey]) -> Iterator[Invalid]:
    """An Invalid for each who waits for what is not there. ``docs``: all objects, to find who made whom; ``running``:
    pods with a node. A workload that has such is past waiting."""
    started = {_top(docs[key], docs).key for key in running if key in docs}
    seen: set[ObjectKey] = set()
    for one in sorted(namings, key=lambda one: _age(one.doc)):
        top = _top(one.doc, docs)
        speaker = one.target if _is_pod(top) else top.key
        if top.key not in started and speaker not in seen:
            seen.add(speaker)
            yield Invalid(top.kind, top.namespace, top.name, (_problem(one, top),))


def _problem(one: Naming, top: Document) -> Problem:
    link, about = one.link, one.doc.key if _is_pod(one.doc) and top is not one.doc else None
    message = links.leads_nowhere(link.carrier, link.name, "its pods wait")
    return Problem(link.at.path, link.name, (), message, about)


def _top(doc: Document, docs: Docs) -> Document:
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
    return doc.of_kind == ("", "Pod")
