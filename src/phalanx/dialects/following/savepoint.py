"""What is known of a part of the cluster before it is looked at: put back where something is raised meanwhile."""

from collections.abc import Collection, Hashable, MutableMapping
from typing import Any


class Savepoint:
    """Nothing of these keys stays half done once it is put back."""

    def __init__(self) -> None:
        self._kept: list[tuple[MutableMapping[Any, Any], Collection[Hashable], dict[Any, Any]]] = []
        self._marked: list[tuple[object, str, Collection[Hashable], set[Any]]] = []

    def keep(self, keys: Collection[Hashable], *mappings: MutableMapping[Any, Any]) -> None:
        """What these mappings hold by these keys. Their values are replaced, never changed."""
        for one in mappings:
            self._kept.append((one, keys, {key: one[key] for key in keys if key in one}))

    def mark(self, keys: Collection[Hashable], owner: object, *names: str) -> None:
        """Which of these keys are in sets of an owner, by their names: another set may stand there by then."""
        for name in names:
            self._marked.append((owner, name, keys, getattr(owner, name).intersection(keys)))

    def put_back(self) -> None:
        for one, keys, held in self._kept:
            for key in keys:
                one.pop(key, None)
            one.update(held)
        for owner, name, keys, there in self._marked:
            setattr(owner, name, getattr(owner, name).difference(keys) | there)
