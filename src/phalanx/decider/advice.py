"""Advice: what would help the gangs that wait, looked for while there is nothing to decide.

Each way out is decided on the board as it is (``whatif``), so that it is true when it is told. It is told for as long
as the gang waits for the same reason, and looked at again from time to time: others may have taken the room. However
many wait, this takes a small part of the time.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from phalanx.engine import views, whatif
from phalanx.engine.engine import Engine
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.model.decision import Decision, Waiting
from phalanx.model.mistakes import Mishap
from phalanx.model.reasons import Reason, WayOut

SHARE = 0.1  # of the time, at most
AGAIN_SECONDS = 120.0  # after so long it is looked at again


@dataclass(frozen=True, slots=True)
class _Found:
    """What would help against a refusal, as it was ``at`` that time."""

    waiting: Waiting
    ways_out: tuple[WayOut, ...]
    at: float


class Advice:
    """Touched only where the engine is: between two steps, in the thread that decides."""

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self._engine, self._clock = engine, clock
        self._wanted: dict[str, Waiting] = {}  # gangs that wait for room, and for which nothing was looked for yet
        self._found: dict[str, _Found] = {}  # the oldest first
        self._not_before = float("-inf")
        self._mishaps: dict[str, Mishap] = {}  # what was raised since it was last asked

    def mishaps(self) -> dict[str, Mishap]:
        """What was raised while something was looked for, by the gang that it was for; told once."""
        found, self._mishaps = self._mishaps, {}
        return found

    def follow(self, names: Iterable[str], seen: Mapping[str, View], decisions: Iterable[Decision]) -> dict[str, View]:
        """Gangs that something happened to, as they are seen now: with what would help those that wait as before."""
        for name in names:
            view, known = seen.get(name), self._found.get(name)
            if view is None or _lack(view) is None:
                self._wanted.pop(name, None)
            if known is not None and (view is None or _lack(view) != known.waiting.reason):
                del self._found[name]
            self._want_late(name)
        for one in decisions:
            if isinstance(one, Waiting) and one.reason.type in whatif.ROOM and one.request.id not in self._found:
                self._wanted[one.request.id] = one
        return {name: self._with_ways(view) for name, view in seen.items()}

    def _want_late(self, name: str) -> None:
        """Pods that have no place while their gang runs wait for room as well."""
        gang = self._engine.book.gangs.get(name)
        if gang is None or gang.state is State.QUEUED or gang.lack is None or gang.lacking is None:
            return
        if gang.lack.type in whatif.ROOM and name not in self._found:
            self._wanted[name] = Waiting(gang.lacking, gang.lack, None)

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
        try:
            return self._looked_for(name, waiting)
        except Exception as error:  # nothing helps until it is looked at again
            self._mishaps[name] = Mishap.of(error)
            self._found[name] = _Found(waiting, (), self._clock())
            self._engine.book.doubt_board()
            return None

    def _looked_for(self, name: str, waiting: Waiting) -> View | None:
        before = self._found.pop(name, None)
        gang = self._engine.book.gangs.get(name)
        if gang is None or _reason(gang) != waiting.reason:
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
        return view if found is None or found.waiting.reason != _lack(view) else replace(view, ways_out=found.ways_out)


def _lack(view: View) -> Reason | None:
    """Why it waits; where it runs, why some of its pods have no place."""
    return view.reason if view.state is State.QUEUED else view.lack


def _reason(gang: Gang) -> Reason | None:
    return gang.reason if gang.state is State.QUEUED else gang.lack
