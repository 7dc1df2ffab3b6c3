"""The other documents of the same pile, for readers whose object speaks of them: by name, or as its members.

A member is a pod, or the pods of a whole group of a workload, that says by a link in its template that it belongs to
an object (see ``links``). A user-made Gang, Workload or PodGroup learns the shapes of its pods from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Entry
from phalanx.model.objects import ObjectKey


@dataclass(frozen=True, slots=True)
class Member:
    """Pods that belong to an object: an entry of somebody's ``podGroups`` (a pod is an entry of one).

    ``group``, ``replica``: which part of the object they say they are in. ``is_pod``: a single pod that exists, and
    not a template by which some will be made. ``owner``: what makes them, or the pod itself. ``at``: where the link
    stands.
    """

    entry: Entry
    group: str | None
    replica: str | None
    owner: ObjectKey
    is_pod: bool
    at: Field


class Neighbours:
    """Documents by key, and members by the key of the object they name. Never changed; its indexes grow as asked."""

    __slots__ = ("_by_kind", "_by_value", "_documents", "_joined")

    def __init__(
        self,
        documents: Mapping[ObjectKey, Field] | None = None,
        joined: Mapping[ObjectKey, tuple[Member, ...]] | None = None,
    ) -> None:
        self._documents: Mapping[ObjectKey, Field] = documents or {}
        self._joined: Mapping[ObjectKey, tuple[Member, ...]] = joined or {}
        self._by_kind: dict[tuple[str, ...], list[Field]] | None = None
        self._by_value: dict[tuple[str, ...], dict[object, list[Field]]] = {}

    def joined_by(self, joined: Mapping[ObjectKey, tuple[Member, ...]]) -> "Neighbours":
        """The same documents, with these members."""
        return Neighbours(self._documents, joined)

    def find(self, group: str, kind: str, namespace: str, name: str) -> Field | None:
        """The document of that name, with notes of its own; None when it is not among those given."""
        found = self._documents.get(ObjectKey(group, kind, namespace, name))
        return None if found is None else found.aside()

    def of_kind(self, group: str, kind: str, namespace: str) -> list[Field]:
        """All documents of a kind in a namespace, by name."""
        return [one.aside() for one in self._kind(group, kind, namespace)]

    def pointing(self, group: str, kind: str, namespace: str, path: tuple[str, ...], value: str) -> list[Field]:
        """Those of them that hold this text in a place, as in ``spec.scaleTargetRef.name: web``."""
        key = (group, kind, namespace, *path)
        if key not in self._by_value:
            found: dict[object, list[Field]] = {}
            for one in self._kind(group, kind, namespace):
                held = one.at(*path).value
                found.setdefault(held if isinstance(held, str) else None, []).append(one)
            self._by_value[key] = found
        return [one.aside() for one in self._by_value[key].get(value, ())]

    def _kind(self, group: str, kind: str, namespace: str) -> list[Field]:
        if self._by_kind is None:
            self._by_kind = {}
            for key in sorted(self._documents):
                self._by_kind.setdefault(key[:3], []).append(self._documents[key])
        return self._by_kind.get((group, kind, namespace), [])

    def members(self, group: str, kind: str, namespace: str, name: str) -> tuple[Member, ...]:
        """Who says that it belongs to the object of that name, in the order of the documents."""
        return self._joined.get(ObjectKey(group, kind, namespace, name), ())


NOBODY = Neighbours()
