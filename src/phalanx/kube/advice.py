"""Advice: what would help the gangs that wait, looked for while there is nothing else to think about.

Each way out is decided on the board as it is (``whatif``), so that it is true when it is told. It is told for as long
as the gang waits for the same reason, and looked at again from time to time: others may have taken the room. However
many wait, this takes a small part of the time.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from phalanx.engine import views, whatif
from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.model.decision import Decision, Waiting
from phalanx.model.reasons import WayOut

SHARE = 0.1  # of the time, at most
AGAIN_SECONDS = 120.0  # after so long it is looked at again


@dataclass(frozen=True, slots=True)
class _Found:
    """What would help against a refusal, as it was ``at`` that time."""

    waiting: Waiting
    ways_out: tuple[WayOut, ...]
    at: float


class Advice:
    """Touched only where the engine is: between two steps, in the thread that thinks."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._clock = engine, clock
        self._wanted: dict[str, Waiting] = {}  # gangs that wait for room, and for which nothing was looked for yet
        self._found: dict[str, _Found] = {}  # the oldest first
        self._not_before = float("-inf")

    def follow(self, names: Iterable[str], seen: Mapping[str, View], decisions: Iterable[Decision]) -> dict[str, View]:
        """Gangs that something happened to, as they are seen now: with what would help those that wait as before."""
        for name in names:
            view, known = seen.get(name), self._found.get(name)
            if view is None or view.state is not State.QUEUED:
                self._wanted.pop(name, None)
            if known is not None and (view is None or view.reason != known.waiting.reason):
                del self._found[name]
        for one in decisions:
            if isinstance(one, Waiting) and one.reason.type in whatif.ROOM and one.request.id not in self._found:
                self._wanted[one.request.id] = one
        return {name: self._with_ways(view) for name, view in seen.items()}

    @property
    def rest(self) -> float | None:
        """Seconds until something is looked for; None: nothing is wanted."""
        if not self._wanted and not self._found:
            return None
        oldest = float("-inf") if self._wanted else next(iter(self._found.values())).at + AGAIN_SECONDS
        return max(self._not_before - self._clock(), oldest - self._clock(), 0.0)

    def give(self) -> View | None:
        """Looks for what would help the first that is due, and returns it as it is to be seen; None: nothing new."""
        if self.rest != 0.0:
            return None
        name, waiting = self._next()
        before = self._found.pop(name, None)
        gang = self._engine.book.gangs.get(name)
        if gang is None or gang.state is not State.QUEUED or gang.reason != waiting.reason:
            return None
        began = self._clock()
        found = whatif.ways_out(self._engine.book.board, waiting, self._engine.policy)
        self._not_before = began + (self._clock() - began) / SHARE
        self._found[name] = _Found(waiting, found, self._clock())
        known = () if before is None else before.ways_out
        return None if found == known else self._with_ways(views.of_all(self._engine.book, [name])[name])

    def _next(self) -> tuple[str, Waiting]:
        if self._wanted:
            name = next(iter(self._wanted))
            return name, self._wanted.pop(name)
        name, found = next(iter(self._found.items()))
        return name, found.waiting

    def _with_ways(self, view: View) -> View:
        found = self._found.get(view.id)
        return view if found is None or found.waiting.reason != view.reason else replace(view, ways_out=found.ways_out)
