"""Workloads that are wrong, with what their objects tell of them: they are in no engine that could be asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phalanx.cli.clusters import Look
from phalanx.dialects import documents, wishes
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import Subject, ties, times
from phalanx.kube import status
from phalanx.kube.glance import Glance
from phalanx.model.decision import Invalid
from phalanx.model.objects import ObjectKey
from phalanx.model.queues import DEFAULT


@dataclass(frozen=True, slots=True)
class Refused:
    """``queue``: as it is written; ``since``: when it was made, 0.0 where it does not say. ``doc``: its object."""

    key: ObjectKey
    invalid: Invalid
    queue: str
    since: float
    doc: Mapping[Any, Any]

    @property
    def id(self) -> str:
        return f"{self.invalid.namespace}/{self.invalid.name}"

    @property
    def message(self) -> str:
        return status.listed(self.invalid.problems)


def found(look: Look, seen: Glance) -> list[Refused]:
    """All that are wrong, whichever namespace they are of."""
    if not seen.told.refused:
        return []
    docs = _by_key(look)
    return [_of(subject, invalid, docs[subject.key]) for subject, invalid in seen.told.refused if subject.key in docs]


def _by_key(look: Look) -> dict[ObjectKey, Document]:
    return {doc.key: doc for doc in documents.sort(look.objects)[0]}


def _of(subject: Subject, invalid: Invalid, doc: Document) -> Refused:
    made = Field.of(doc.value).at("metadata", "creationTimestamp").value
    return Refused(subject.key, invalid, _queue(doc), times.seconds(made) or 0.0, doc.value)


def _queue(doc: Document) -> str:
    """What its spec calls its queue, else what a label does; the object is wrong, so anything may stand there."""
    at = Field.of(doc.value)
    label = wishes.queue(at.at("metadata"), [one.at("metadata") for one in ties.templates(doc.value)])
    named = [at.at("spec", "queue").value, at.at("spec", "queueName").value, label.value]
    return next((one for one in named if isinstance(one, str) and one), DEFAULT)
