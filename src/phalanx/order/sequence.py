"""Who is next.

In a queue: by priority, then age; or by age alone (Fifo). Whoever has waited for ``starving_seconds`` goes first, the
oldest of them before the others, and holds back everybody behind it in its queue until it starts. Who cannot start
however many others leave stands behind all others, and holds back nobody: it would for ever.

Why nothing starves: before a starving entry stand only older ones, in its own queue and in all others. Of these there
is a number, and what comes later is not among them. As each of them starts or leaves, the entry becomes the first,
whatever stream of others there is; and from then on nothing of its queue starts before it.

Between queues: the queue with the oldest head first. Holding back is for the own queue alone: another queue may still
use what becomes free.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Protocol

from phalanx.model.queues import Queue, Queues

STARVING_SECONDS = 3600.0


class Patience(Protocol):
    """The part of the settings that is read here."""

    @property
    def starving_seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Ageing:
    starving_seconds: float = STARVING_SECONDS


USUAL = Ageing()


@dataclass(frozen=True, slots=True)
class Entry:
    """One that waits for its turn.

    Who is suspended, backs off or misses pods is not in line, and holds nobody back. Nor is a broken gang, which has
    the first claim on what is free: it is tried before all others.

    ``able`` False: not even the empty cluster, or its whole quota, would hold it. It never starves and never blocks,
    not in a strict queue either, or one gang that is too large would close its queue for good.
    """

    id: str
    queue: str
    priority: int
    since: float
    able: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """``blocks``: if it does not start, everybody behind it in its queue waits (BehindOthers)."""

    entry: Entry
    starving: bool
    blocks: bool


def starving(entry: Entry, now: float, settings: Patience) -> bool:
    return entry.able and entry.since + settings.starving_seconds <= now


def ordered(entries: Iterable[Entry], queues: Queues, now: float, settings: Patience = USUAL) -> Iterator[Turn]:
    """Everybody once, in turn. The same whatever order the entries come in."""
    lines: dict[str, list[Entry]] = {}
    for entry in entries:
        lines.setdefault(entry.queue, []).append(entry)
    waiting = [_line(line, named(name, queues), now, settings) for name, line in lines.items()]
    heads = [(line[-1].entry.since, line[-1].entry.id, line) for line in waiting]
    heapify(heads)
    while heads:
        line = heads[0][2]
        yield line.pop()
        if line:
            heapreplace(heads, (line[-1].entry.since, line[-1].entry.id, line))
        else:
            heappop(heads)


def named(name: str, queues: Queues) -> Queue:
    """The queue; one that is not there orders as usual."""
    return queues.named(name) or Queue(name)


def _line(entries: list[Entry], queue: Queue, now: float, settings: Patience) -> list[Turn]:
    """The turns of one queue, the first one last."""
    strict = queue.when_blocked == "Strict"  # Reserve passes the head like BestEffort until there are reservations
    turns = [
        Turn(one, hungry, hungry or (strict and one.able))
        for one in entries
        for hungry in [starving(one, now, settings)]
    ]
    return sorted(turns, key=lambda turn: _place(turn, queue.order), reverse=True)


def _place(turn: Turn, order: str) -> tuple[bool, bool, int, float, str]:
    entry = turn.entry
    by_priority = order == "Priority" and not turn.starving
    return (not turn.starving, not entry.able, -entry.priority if by_priority else 0, entry.since, entry.id)
