"""The thinking half of the scheduler: objects in, effects out. It runs in a thread of its own and touches no socket."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from phalanx.dialects.following import Follower, Told
from phalanx.dialects.neighbours import Key
from phalanx.engine import views
from phalanx.engine.engine import Engine
from phalanx.engine.views import View
from phalanx.kube.advice import Advice
from phalanx.model.decision import Decision
from phalanx.model.effects import Effect, Report
from phalanx.model.events import BindAnswered, PodSeen

Document = Mapping[Any, Any]
Change = Callable[[], Document] | None  # how to get at an object as it is now; None: it is gone


@dataclass(frozen=True, slots=True)
class Thought:
    """What came of one step. ``seconds``: how long it took; ``next_at``: when to think again at the latest.

    ``views``: the gangs that something happened to, as they are now.
    """

    effects: tuple[Effect, ...]
    told: Told
    decisions: tuple[Decision, ...]
    views: Mapping[str, View]
    next_at: float | None
    seconds: float


class Mind:
    """Follower and engine together. Nobody else touches either while a step is under way."""

    def __init__(self, follower: Follower, engine: Engine) -> None:
        self.follower, self.engine = follower, engine
        self._advice = Advice(engine)
        self._is_warm = False

    def think(
        self, changes: Mapping[Key, Change], answers: Iterable[BindAnswered], now: float, jitter: float
    ) -> Thought:
        """One step about everything that has changed since the last one."""
        began = time.perf_counter()
        for key, change in changes.items():
            if change is None:
                self.follower.gone(key)
            else:
                self.follower.seen(change())
        told = self.follower.tell()
        effects = self.engine.step([*told.events, *answers], now, jitter)
        self._warm()
        names = _concerned(told, effects)
        seen = self._advice.follow(names, views.of_all(self.engine.book, names), self.engine.decisions)
        took = time.perf_counter() - began
        return Thought(effects, told, tuple(self.engine.decisions), seen, self.engine.next_at, took)

    @property
    def rest(self) -> float | None:
        """Seconds until there is something to advise; None: there is nothing."""
        return self._advice.rest

    def advise(self) -> View | None:
        """What would help one of those that wait, if anything does. It changes nothing."""
        return self._advice.give()

    def _warm(self) -> None:
        """Once, after the first whole picture: what the first gang would wait for is made before it comes."""
        if not self._is_warm:
            for topology in self.engine.book.topologies:
                self.engine.book.board.draft(topology.name)
            self._is_warm = True


def _concerned(told: Told, effects: Iterable[Effect]) -> set[str]:
    """Gangs that were reported on, or that were told of, or whose pods were."""
    moved = {event.pod.gang for event in told.events if isinstance(event, PodSeen)}
    reported = {effect.gang for effect in effects if isinstance(effect, Report)}
    return reported | told.subjects.keys() | {gang for gang in moved if gang is not None}
