"""The queues as they stand, so that one need not put everybody in order to know who is first.

They say themselves in which of them somebody else may be first by now (``stirred``): whoever came, went, changed or
grew old there. So nobody who moves has to remember whom that could help.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from phalanx.model.queues import Queues
from phalanx.order.sequence import USUAL, Entry, Patience, named, starving

ByAge = tuple[bool, float, str]  # whether it is unable, its age, its id
ByPriority = tuple[bool, int, float, str]


class _Line:
    """One queue: everybody by age, and by priority. Who is unable stands behind all others."""

    __slots__ = ("by_age", "by_priority")

    def __init__(self) -> None:
        self.by_age: list[ByAge] = []
        self.by_priority: list[ByPriority] = []


class Lines:
    """Everybody in line, by queue. ``blocker`` costs the same for ten and for ten thousand."""

    __slots__ = ("_entries", "_lines", "_stirred")

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._lines: dict[str, _Line] = {}
        self._stirred: set[str] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    # -- coming and going ----------------------------------------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Puts it in line; whoever stood there under its id is replaced."""
        if self._entries.get(entry.id) == entry:
            return
        self.remove(entry.id)
        self._entries[entry.id] = entry
        line = self._lines.setdefault(entry.queue, _Line())
        insort(line.by_age, _by_age(entry))
        insort(line.by_priority, _by_priority(entry))
        self._stirred.add(entry.queue)

    def remove(self, name: str) -> None:
        """Takes it out of line; one that is not there is no mistake."""
        entry = self._entries.pop(name, None)
        if entry is None:
            return
        line = self._lines[entry.queue]
        del line.by_age[bisect_left(line.by_age, _by_age(entry))]
        del line.by_priority[bisect_left(line.by_priority, _by_priority(entry))]
        if not line.by_age:
            del self._lines[entry.queue]
        self._stirred.add(entry.queue)

    # -- who is first --------------------------------------------------------------------------------------------

    def head(self, queue: str, queues: Queues, now: float, settings: Patience = USUAL) -> Entry | None:
        """The first of a queue, as ``ordered`` has it; None: nobody is in it."""
        line = self._lines.get(queue)
        if line is None:
            return None
        oldest = self._entries[line.by_age[0][-1]]
        by_age = starving(oldest, now, settings) or named(queue, queues).order == "Fifo"
        return oldest if by_age else self._entries[line.by_priority[0][-1]]

    def blocker(self, queue: str, queues: Queues, now: float, settings: Patience = USUAL) -> str | None:
        """Who alone may start in a queue: its head, if it is able and the queue is strict or the head starves. None:
        everybody may.

        Whoever blocks is always the head, so everybody else is behind it.
        """
        head = self.head(queue, queues, now, settings)
        if head is None or not head.able:
            return None
        strict = named(queue, queues).when_blocked == "Strict"
        return head.id if strict or starving(head, now, settings) else None

    # -- when that may have changed ------------------------------------------------------------------------------

    @property
    def are_stirred(self) -> bool:
        return bool(self._stirred)

    def stirred(self) -> list[str]:
        """Queues in which another may be first than when this was last asked."""
        found, self._stirred = sorted(self._stirred), set()
        return found

    def stir(self) -> None:
        """Something that is not of a queue changed for those in all of them."""
        self._stirred.update(self._lines)

    def age(self, before: float, now: float, settings: Patience = USUAL) -> None:
        """Time went on. Who starves by now may be the first, though nothing else has happened."""
        for queue, line in self._lines.items():
            if _starving(line, before, settings) != _starving(line, now, settings):
                self._stirred.add(queue)

    def next_starving(self, now: float, settings: Patience = USUAL) -> float | None:
        """When the next one will have waited too long: then the head of its queue may change with nothing happening."""
        found = [self._next(line, now, settings) for line in self._lines.values()]
        return min((at for at in found if at is not None), default=None)

    def _next(self, line: _Line, now: float, settings: Patience) -> float | None:
        place = _starving(line, now, settings)
        unable, since, _ = line.by_age[place] if place < len(line.by_age) else (True, 0.0, "")
        return None if unable else since + settings.starving_seconds


def _by_age(entry: Entry) -> ByAge:
    return (not entry.able, entry.since, entry.id)


def _by_priority(entry: Entry) -> ByPriority:
    return (not entry.able, -entry.priority, entry.since, entry.id)


def _starving(line: _Line, now: float, settings: Patience) -> int:
    """How many of a queue starve; they are the first by age."""
    return bisect_right(line.by_age, (False, now), key=lambda one: (one[0], one[1] + settings.starving_seconds))
