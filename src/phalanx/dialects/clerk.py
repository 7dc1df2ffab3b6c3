"""The notes on documents that are part of the cluster and not of a workload."""

from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field, Notes
from phalanx.model.problems import Problem


class Clerk:
    """Hands each document of the cluster to its reader, and keeps the notes of all."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def opened(self, doc: Document) -> Field:
        return Field.of(doc.value, Notes(), doc.key)

    def accepted(self, at: Field) -> bool:
        """Whether a document was read without Problems; its notes are kept either way."""
        self.problems.extend(at.notes.problems)
        self.warnings.extend(at.notes.warnings)
        return not at.notes.problems

    def repeated(self, doc: Document) -> None:
        message = f"{doc.kind} {doc.name!r} is given twice; the first is used"
        self.problems.append(Problem("metadata.name", doc.name, (), message, doc.key))
