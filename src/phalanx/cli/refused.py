"""Workloads that are wrong, with what their objects tell of them: they are in no engine that could be asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phalanx.cli.clusters import Look
from phalanx.dialects import documents, wishes
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import Subject, ties, times
from phalanx.engine.lifecycle import State
from phalanx.kube import status
from phalanx.kube.glance import Glance
from phalanx.model.decision import Internal, Invalid
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.queues import DEFAULT


@dataclass(frozen=True, slots=True)
class Refused:
    """``queue``: as it is written; ``since``: when it was made, 0.0 where it does not say. ``doc``: its object.
    ``mishap``: what was raised while it was read, where it is not the object that is wrong."""

    key: ObjectKey
    invalid: Invalid
    queue: str
    since: float
    doc: Mapping[Any, Any]
    mishap: Mishap | None = None

    @property
    def id(self) -> str:
        return f"{self.invalid.namespace}/{self.invalid.name}"

    @property
    def word(self) -> str:
        """Its state in a column."""
        return str(State.INVALID) if self.mishap is None else Internal.__name__

    @property
    def message(self) -> str:
        return status.listed(self.invalid.problems)


def every(look: Look, seen: Glance) -> list[Refused]:
    """All that are wrong, with those whose name one before them has, where that is one of ours."""
    ours = {subject.key for subject in seen.told.subjects.values()} | {subject.key for subject, _ in seen.told.refused}
    return [*found(look, seen), *(one for one in twice(look) if one.key in ours)]


def found(look: Look, seen: Glance) -> list[Refused]:
    """All that are wrong, whichever namespace they are of."""
    if not seen.told.refused:
        return []
    docs = _by_key(look)
    tripped = {one.subject.key: one.mishap for one in seen.told.set_aside}
    return [
        _of(subject, invalid, docs[subject.key], tripped.get(subject.key))
        for subject, invalid in seen.told.refused
        if subject.key in docs
    ]


def twice(look: Look) -> list[Refused]:
    """Manifests of a name that one before them has."""
    return [_given_twice(doc, look) for doc in documents.sort(look.twice)[0]]


def _given_twice(doc: Document, look: Look) -> Refused:
    message = documents.given_twice(doc.kind, doc.called(None))
    problem = look.places.problem(Problem("metadata.name", doc.name, (), message), f"{doc.kind} {doc.called(None)}")
    invalid = Invalid(doc.kind, doc.namespace, doc.name, (problem,))
    return _of(Subject.of(doc.key, doc), invalid, doc, None)


def _by_key(look: Look) -> dict[ObjectKey, Document]:
    return {doc.key: doc for doc in documents.sort(look.objects)[0]}


def _of(subject: Subject, invalid: Invalid, doc: Document, mishap: Mishap | None) -> Refused:
    made = Field.of(doc.value).at("metadata", "creationTimestamp").value
    return Refused(subject.key, invalid, _queue(doc), times.seconds(made) or 0.0, doc.value, mishap)


def _queue(doc: Document) -> str:
    """What its spec calls its queue, else what a label does; the object is wrong, so anything may stand there."""
    at = Field.of(doc.value)
    label = wishes.queue(at.at("metadata"), [one.at("metadata") for one in ties.templates(doc.value)])
    named = [at.at("spec", "queue").value, at.at("spec", "queueName").value, label.value]
    return next((one for one in named if isinstance(one, str) and one), DEFAULT)
