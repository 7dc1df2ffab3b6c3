"""A pile of manifests that is read again from the start with a change in it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from phalanx.dialects import documents, picture, piecewise, workloads
from phalanx.dialects.documents import Document, Role
from phalanx.dialects.edits import Edits, Written
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot


class Manifests:
    """The documents of workloads in a pile. Each workload is read again with those that it is tied to, directly or
    through others, and with no more: a pile holds many that have nothing to do with each other. ``around`` gives what
    else they may look up, when it is needed."""

    def __init__(self, given: object, around: Callable[[], Surroundings], snapshot: Snapshot | None = None) -> None:
        self._given, self._known, self._snapshot = given, around, snapshot

    @cached_property
    def _docs(self) -> list[Document]:
        return documents.sort(self._given)[0]

    @cached_property
    def _around(self) -> Surroundings:
        return picture.extended(self._known(), self._docs)

    @cached_property
    def _piles(self) -> dict[tuple[str, str, str], list[Document]]:
        return {doc.key.address: pile for pile in piecewise.piles(self._docs) for doc in pile}

    @cached_property
    def _beside(self) -> list[Document]:
        """What workloads may look up by name: runtimes, autoscalers."""
        apart = (Role.WORKLOAD, Role.UNREAD)
        return [doc for doc in self._docs if doc.role not in apart and doc.kind not in ("Node", "Pod")]

    def written(self, request: Request) -> Written | None:
        """The workload of a request as its manifests say it; None when it is not among them."""
        docs = self._with_beside(request)
        outlines = workloads.read(docs, self._around, self._snapshot).outlines if docs else ()
        own = next((one for one in outlines if _is_of(one, request)), None)
        return None if own is None else Written(own, docs)

    def read_again(self, edits: Edits, request: Request) -> Request | None:
        """What the workload asks for with these changes in its manifests; None when it is wrong then, or cannot start
        whatever room there is."""
        changed, _ = documents.sort(applied([doc.value for doc in self._with_beside(request)], edits))
        items = workloads.read(changed, self._around, self._snapshot).requests
        named = (request.kind, request.namespace, request.name, request.unit)
        found = next((one for one in items if (one.kind, one.namespace, one.name, one.unit) == named), None)
        return None if found is None or found.suspended or found.missing else found

    def _with_beside(self, request: Request) -> list[Document]:
        family = self.family(request)
        return [*family, *self._beside] if family else []

    def printed(self, request: Request, edits: Edits) -> list[Document]:
        """The documents of a workload, and what else is changed."""
        changed = {edit.object for edit in edits}
        return [*self.family(request), *(doc for doc in self._beside if doc.key in changed)]

    def family(self, request: Request) -> list[Document]:
        """The documents that a workload is read with, in the order given."""
        return self._piles.get(_address(request), [])


def applied(docs: Sequence[Mapping[str, Any]], edits: Edits) -> list[Mapping[str, Any]]:
    """The documents with the changes in them. What is not changed is shared with those that were given."""
    found = list(docs)
    for number, doc in enumerate(documents.sort(docs)[0]):
        for edit in edits:
            if edit.object == doc.key:
                found[number] = _changed(found[number], edit.keys, edit.value)
    return found


def _changed(at: Any, keys: tuple[str | int, ...], value: str | int | None) -> Any:
    """A copy in which the value is at the end of the keys, or nothing is. Only the way there is copied: two places of
    a document may hold one and the same object, and the other place stays as it is."""
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if isinstance(at, (list, tuple)):
        return [_changed(one, rest, value) if i == first else one for i, one in enumerate(at)]
    held = dict(at) if isinstance(at, Mapping) else {}
    below = _changed(held.get(first), rest, value)
    if below is None or (value is None and below == {}):  # what would be left empty goes too
        return {key: one for key, one in held.items() if key != first}
    return {**held, first: below}


def _is_of(outline: Outline, request: Request) -> bool:
    return (outline.kind, outline.namespace, outline.name) == _address(request)


def _address(request: Request) -> tuple[str, str, str]:
    return request.kind, request.namespace, request.name
