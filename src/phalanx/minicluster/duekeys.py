"""Whom a controller is to look at, and when: the sooner of two times counts, and of one time the order of asking."""

from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class DueKeys(Generic[T]):
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, T]] = []
        self._due: dict[T, tuple[float, int]] = {}
        self._asked = 0

    def add(self, one: T, at: float) -> None:
        if one in self._due and self._due[one][0] <= at:
            return
        self._asked += 1
        self._due[one] = at, self._asked
        heappush(self._heap, (at, self._asked, one))

    def next_at(self) -> float | None:
        """When the next is due."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][:2]:
            heappop(self._heap)  # it was asked for sooner, and had its turn
        return self._heap[0][0] if self._heap else None

    def pop(self) -> T:
        """The next one; there must be one."""
        self.next_at()
        one = heappop(self._heap)[2]
        del self._due[one]
        return one
