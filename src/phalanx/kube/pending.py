"""Work that waits for its moment: each piece once, and not too much of it in a second."""

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Pending(Generic[Key]):
    """Keys with the time when each is due. Added again, a key keeps the earlier time: it is never put off for ever."""

    def __init__(self) -> None:
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: object) -> bool:
        return key in self._due

    def add(self, key: Key, due: float) -> None:
        if key in self._due and self._due[key] <= due:
            return
        self._due[key] = due
        self._number += 1
        heappush(self._heap, (due, self._number, key))

    def discard(self, key: Key) -> None:
        self._due.pop(key, None)

    @property
    def next_at(self) -> float | None:
        """When the first is due."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def is_due(self, now: float) -> bool:
        """Whether any is due by now."""
        first = self.next_at
        return first is not None and first <= now

    def pop(self, now: float) -> Key | None:
        """The first that is due by now."""
        if not self.is_due(now):
            return None
        key = heappop(self._heap)[2]
        del self._due[key]
        return key


class Pace:
    """So many in a second, and as many at once after a rest."""

    def __init__(self, per_second: float) -> None:
        self._rate = per_second
        self._most = max(per_second, 1.0)
        self._left = self._most
        self._at: float | None = None

    def take(self, now: float) -> bool:
        """Whether one more may go now; it is counted if so."""
        self._fill(now)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def give_back(self) -> None:
        """One that was taken did not go after all."""
        self._left = min(self._left + 1.0, self._most)

    def next_at(self, now: float) -> float:
        """When one more may go."""
        self._fill(now)
        return now + max(1.0 - self._left, 0.0) / self._rate

    def _fill(self, now: float) -> None:
        passed = 0.0 if self._at is None else max(now - self._at, 0.0)  # clocks are set back now and then
        self._left, self._at = min(self._left + passed * self._rate, self._most), now
