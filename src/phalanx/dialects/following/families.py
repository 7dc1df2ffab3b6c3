"""Families: objects that are tied to each other, directly or through others that may not even be there."""

from collections import deque
from collections.abc import Iterable

from phalanx.model.objects import ObjectKey


class Families:
    """Who is tied to whom. ``around`` walks from one key to all of its family."""

    def __init__(self) -> None:
        self._ties: dict[ObjectKey, frozenset[ObjectKey]] = {}
        self._back: dict[ObjectKey, set[ObjectKey]] = {}

    def tie(self, key: ObjectKey, ties: Iterable[ObjectKey]) -> None:
        """The object is tied to these, and to nothing else any more."""
        self.drop(key)
        self._ties[key] = frozenset(ties)
        for other in self._ties[key]:
            self._back.setdefault(other, set()).add(key)

    def drop(self, key: ObjectKey) -> None:
        for other in self._ties.pop(key, ()):
            tied = self._back.get(other, set())
            tied.discard(key)
            if not tied:
                self._back.pop(other, None)

    def tied(self, key: ObjectKey) -> frozenset[ObjectKey]:
        """What an object is tied to itself."""
        return self._ties.get(key, frozenset())

    def around(self, key: ObjectKey) -> frozenset[ObjectKey]:
        """All keys of a family, also of objects that are only named."""
        seen = {key}
        line = deque(seen)
        while line:
            here = line.popleft()
            for other in (*self._ties.get(here, ()), *self._back.get(here, ())):
                if other not in seen:
                    seen.add(other)
                    line.append(other)
        return frozenset(seen)
