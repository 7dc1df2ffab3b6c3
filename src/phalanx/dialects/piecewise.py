"""Workloads read although one of them makes us trip: that one is Internal, and all others are read without it.

Reading looks at all documents together, so where it raises the piles that belong together are tried one by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from phalanx.dialects import documents, reading
from phalanx.dialects.documents import Document, Role
from phalanx.dialects.following import ties
from phalanx.dialects.surroundings import Surroundings
from phalanx.dialects.workloads import WorkloadReading
from phalanx.model.decision import Internal, Invalid
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot

Item = Request | Invalid | Internal
_WORKLOADS = (Role.WORKLOAD, Role.UNREAD)


@dataclass(frozen=True, slots=True)
class Pieces:
    """``work``: what could be read; ``items``: the same in the order given, with those over which we tripped."""

    work: WorkloadReading
    items: tuple[Item, ...]


def read(docs: object, around: Surroundings, snapshot: Snapshot) -> Pieces:
    """What is to be placed. Raises only where no pile is to blame."""
    try:
        work = reading.read_workloads(docs, around, snapshot)
    except Exception:
        sorted_docs, unrecognised = documents.sort(docs)
        tripped = {key: one for pile in piles(sorted_docs) for key, one in _tripped(pile, around, snapshot)}
        if not tripped:
            raise
        work = reading.read_workloads([one.value for one in sorted_docs if one.key not in tripped], around, snapshot)
        work = replace(work, problems=(*unrecognised, *work.problems))
        return Pieces(work, _in_order(sorted_docs, [*work.items, *filter(None, tripped.values())]))
    return Pieces(work, work.items)


def _in_order(docs: Sequence[Document], items: list[Item]) -> tuple[Item, ...]:
    place = {one.key.address: number for number, one in reversed([*enumerate(docs)])}
    return tuple(sorted(items, key=lambda one: place.get((one.kind, one.namespace, one.name), len(docs))))


def piles(docs: Sequence[Document]) -> Iterable[list[Document]]:
    """Workloads with all that belongs to them, by what they say they belong to."""
    given = [one for one in docs if one.role in _WORKLOADS]
    above: dict[ObjectKey, ObjectKey] = {}  # of each key another one of its pile, until the one that stands for it

    def first(key: ObjectKey) -> ObjectKey:
        while above.setdefault(key, key) != key:
            key = above[key]
        return key

    for doc in given:
        for key in _ties(doc):
            above[first(key)] = first(doc.key)
    piles: dict[ObjectKey, list[Document]] = {}
    for doc in given:
        piles.setdefault(first(doc.key), []).append(doc)
    return piles.values()


def _ties(doc: Document) -> frozenset[ObjectKey]:
    try:
        return ties.of(doc)
    except Exception:  # the very document, perhaps: it is a pile by itself
        return frozenset()


def _tripped(
    pile: list[Document], around: Surroundings, snapshot: Snapshot
) -> Iterator[tuple[ObjectKey, Internal | None]]:
    """All of a pile that cannot be read; those that belong to nobody in it speak for it."""
    try:
        reading.read_workloads([one.value for one in pile], around, snapshot)
    except Exception as error:
        keys = {one.key for one in pile}
        for one in pile:
            is_part = not keys.isdisjoint(_ties(one) - {one.key})
            yield one.key, None if is_part else Internal(one.kind, one.namespace, one.name, Mishap.of(error))
