"""The simulated clock: a heap of (time, priority, sequence, action). Nobody here ever asks what time it really is."""

import heapq
from collections.abc import Callable

Action = Callable[[], None]


class Agenda:
    """What will happen, in order: by time, at one instant by priority, then by the order it was noted down."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done = 0  # actions carried out so far
        self._heap: list[tuple[float, int, int, Action]] = []
        self._sequence = 0

    def at(self, time: float, action: Action, priority: int = 0) -> None:
        """Notes an action down. A time that has passed means now."""
        self._sequence += 1
        heapq.heappush(self._heap, (max(time, self.now), priority, self._sequence, action))

    def after(self, delay: float, action: Action, priority: int = 0) -> None:
        self.at(self.now + delay, action, priority)

    @property
    def next_time(self) -> float | None:
        """When something happens next; None: never again."""
        return self._heap[0][0] if self._heap else None

    def advance(self, to: float) -> None:
        """Lets happen all that is due up to and at ``to``, what these actions note down for then included."""
        while self._heap and self._heap[0][0] <= to:
            self.now, _, _, action = heapq.heappop(self._heap)
            self.done += 1
            action()
        self.now = max(self.now, to)
