"""The queues as they stand, so that one need not put everybody in order to know who is first."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from phalanx.model.queues import Queues
from phalanx.order.sequence import USUAL, Entry, Patience, named, starving

Place = tuple[float, str]  # what it is sorted by, then its id


class _Line:
    """One queue: everybody by age, by priority, and by age those who may starve."""

    __slots__ = ("able", "by_age", "by_priority")

    def __init__(self) -> None:
        self.by_age: list[Place] = []
        self.able: list[Place] = []
        self.by_priority: list[tuple[int, float, str]] = []


class Lines:
    """Everybody in line, by queue. ``blocker`` costs the same for ten and for ten thousand."""

    __slots__ = ("_entries", "_lines")

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._lines: dict[str, _Line] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def add(self, entry: Entry) -> bool:
        """Puts it in line; whoever stood there under its id is replaced. Whether that changed anything."""
        if self._entries.get(entry.id) == entry:
            return False
        self.remove(entry.id)
        self._entries[entry.id] = entry
        line = self._lines.setdefault(entry.queue, _Line())
        insort(line.by_age, (entry.since, entry.id))
        insort(line.by_priority, (-entry.priority, entry.since, entry.id))
        if entry.able:
            insort(line.able, (entry.since, entry.id))
        return True

    def remove(self, name: str) -> None:
        """Takes it out of line; one that is not there is no mistake."""
        entry = self._entries.pop(name, None)
        if entry is None:
            return
        line = self._lines[entry.queue]
        del line.by_age[bisect_left(line.by_age, (entry.since, name))]
        del line.by_priority[bisect_left(line.by_priority, (-entry.priority, entry.since, name))]
        if entry.able:
            del line.able[bisect_left(line.able, (entry.since, name))]
        if not line.by_age:
            del self._lines[entry.queue]

    def head(self, queue: str, queues: Queues, now: float, settings: Patience = USUAL) -> Entry | None:
        """The first of a queue, as ``ordered`` has it; None: nobody is in it."""
        line = self._lines.get(queue)
        if line is None:
            return None
        oldest = self._entries[line.able[0][1]] if line.able else None
        if oldest is not None and starving(oldest, now, settings):
            return oldest
        fifo = named(queue, queues).order == "Fifo"
        return self._entries[line.by_age[0][1] if fifo else line.by_priority[0][2]]

    def blocker(self, queue: str, queues: Queues, now: float, settings: Patience = USUAL) -> str | None:
        """Who alone may start in a queue: its head, if the queue is strict or the head starves. None: everybody may.

        Whoever blocks is always the head, so everybody else is behind it.
        """
        head = self.head(queue, queues, now, settings)
        if head is None or not (named(queue, queues).when_blocked == "Strict" or starving(head, now, settings)):
            return None
        return head.id

    def next_starving(self, now: float, settings: Patience = USUAL) -> float | None:
        """When the next one will have waited too long: then the head of its queue may change with nothing happening."""
        found = [self._next(line, now, settings) for line in self._lines.values()]
        return min((at for at in found if at is not None), default=None)

    def _next(self, line: _Line, now: float, settings: Patience) -> float | None:
        place = bisect_right(line.able, now, key=lambda one: one[0] + settings.starving_seconds)
        return line.able[place][0] + settings.starving_seconds if place < len(line.able) else None
