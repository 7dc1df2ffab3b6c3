"""Objects that are no gang themselves: what they are part of, what they made, and whether they have ended.

::

    Deployment web -> Gang llm             its pods name what they belong to
    CronJob night  -> Job night-2913       it made what is placed
    PodGroup a     -> CompositePodGroup b  it says so itself
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from phalanx.cli import naming
from phalanx.cli.clusters import Look
from phalanx.dialects import documents
from phalanx.dialects.documents import WORKLOAD_KINDS, Document
from phalanx.dialects.following import ties
from phalanx.model.objects import ObjectKey


@dataclass(frozen=True, slots=True)
class Kin:
    """All objects of a look, and who is tied to whom. What is only named by others has no document."""

    docs: Mapping[ObjectKey, Document]
    above: Mapping[ObjectKey, frozenset[ObjectKey]]
    below: Mapping[ObjectKey, set[ObjectKey]] = field(default_factory=dict)

    @classmethod
    def of(cls, look: Look) -> "Kin":
        docs = {doc.key: doc for doc in documents.sort(look.objects)[0]}
        above = {key: ties.of(doc) for key, doc in docs.items()}
        below: dict[ObjectKey, set[ObjectKey]] = {}
        for key, others in above.items():
            for other in others:
                below.setdefault(other, set()).add(key)
        return cls(docs, above, below)

    def meant(self, name: str, look: Look) -> list[ObjectKey]:
        """The workloads that a name stands for, also those that are only named by what they made."""
        known = {*self.docs, *self.below}
        return sorted(key for key in known if key.kind in WORKLOAD_KINDS and naming.is_meant(*key.address, name, look))

    def belongs_to(self, key: ObjectKey) -> list[ObjectKey]:
        """What it is part of, the nearest first, then what that is part of."""
        return _walk(key, lambda one: self.above.get(one, ()))

    def holds(self, key: ObjectKey) -> list[ObjectKey]:
        """What is part of it or was made by it, the nearest first, then what those hold."""
        return _walk(key, lambda one: self.below.get(one, ()))


def _walk(start: ObjectKey, steps: Callable[[ObjectKey], Iterable[ObjectKey]]) -> list[ObjectKey]:
    found, seen = [start], {start}
    for key in found:
        next_ones = sorted(set(steps(key)) - seen)
        seen.update(next_ones)
        found += next_ones
    return found[1:]


def title(key: ObjectKey) -> str:
    """``Job serving/train``"""
    return f"{key.kind} {key.namespace}/{key.name}"
