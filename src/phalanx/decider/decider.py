"""The deciding half of the scheduler: objects in, effects out. It touches no socket and may run in any thread."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phalanx.decider.advice import Advice
from phalanx.dialects.following import Follower, Told
from phalanx.engine import views
from phalanx.engine.book import Unbooked
from phalanx.engine.engine import Engine
from phalanx.engine.views import View
from phalanx.model.decision import Decision
from phalanx.model.effects import Effect, Report
from phalanx.model.events import Answered, BindUnderWay, GangSeen, NodeSeen, PodGone, PodSeen
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey

Document = Mapping[Any, Any]
LATE_SECONDS = 0.5  # a step that comes so much later than it was asked for missed its moment ...
AWAY_SECONDS = 60.0  # ... and if there was none for so long before it, nobody was there to hear anything
Kind = tuple[str, str]  # API group and kind
Change = Callable[[], Document] | None  # how to get at an object as it is now; None: it is gone


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one step. ``seconds``: how long it took; ``next_at``: when to step again at the latest.

    ``views``: the gangs that something happened to, as they are now. ``mishaps``: what was raised about gangs in this
    step, and harmed no other. ``aside``: how many objects and gangs are left alone, by kind. ``is_anew``: all that was
    known before is forgotten, and this is what the cluster is like.
    """

    effects: tuple[Effect, ...]
    told: Told
    decisions: tuple[Decision, ...]
    views: Mapping[str, View]
    next_at: float | None
    seconds: float
    is_anew: bool = False
    mishaps: Mapping[str, Mishap] = field(default_factory=dict)
    aside: Mapping[Kind, int] = field(default_factory=dict)


class Decider:
    """Follower and engine together. Nobody else touches either while a step is under way.

    ``clock``: seconds that only ever grow, to measure how long a step and a search for advice take.
    """

    def __init__(self, follower: Follower, engine: Engine, clock: Callable[[], float]) -> None:
        self.follower, self.engine, self._clock = follower, engine, clock
        self._advice = Advice(engine, clock)
        self._is_warm = False

    def step(
        self,
        changes: Iterable[tuple[ObjectKey, Change]],
        answers: Iterable[Answered],
        now: float,
        jitter: float,
        *,
        heard: float | None = None,
        unheard: float = 0.0,
    ) -> Outcome:
        """One step about everything that has changed since the last one, in the order given.

        ``heard``: all that happened until then is told by now; None: until now. ``unheard``: seconds since the last
        step in which nothing could be heard; that nobody stepped for long is seen without it.

        What is raised about one object, family or gang stays with it. Whatever else is raised leaves half of the step
        behind: nothing is to be asked any more but ``begin_anew``.
        """
        began = self._clock()
        missed = max(unheard, self._away(now))
        self._hear(changes)
        return self._decide(answers, now, jitter, heard, missed, began)

    def begin_anew(
        self,
        objects: Iterable[tuple[ObjectKey, Change]],
        error: Exception,
        now: float,
        jitter: float,
        *,
        heard: float | None = None,
        unheard: float = 0.0,
    ) -> Outcome:
        """The first step about all objects there are, after a step failed. Binds under way are not forgotten. An object
        whose event could not be applied is passed over until it changes."""
        began = self._clock()
        culprit, under_way = self._culprit(error), self._under_way()
        self.follower, self.engine = self.follower.anew(), self.engine.anew()
        self._advice, self._is_warm = Advice(self.engine, self._clock), False
        self._hear(objects)
        if culprit is not None:
            self.follower.pass_over(culprit, error.__cause__ or error)
        return replace(self._decide(under_way, now, jitter, heard, unheard, began), is_anew=True)

    def _hear(self, changes: Iterable[tuple[ObjectKey, Change]]) -> None:
        for key, change in changes:
            if change is None:
                self.follower.gone(key)
                continue
            try:
                value = change()
            except Exception as error:
                self.follower.set_aside(key, error)
            else:
                self.follower.seen(value)

    def _decide(
        self,
        answers: Iterable[Answered | BindUnderWay],
        now: float,
        jitter: float,
        heard: float | None,
        unheard: float,
        began: float,
    ) -> Outcome:
        told = self.follower.tell()
        effects = self.engine.step([*told.events, *answers], now, jitter, heard=heard, unheard=unheard)
        self._warm()
        names = _concerned(told, effects) | self.engine.border.changed
        made, mishaps = self._views(names)
        seen = self._advice.follow(names, made, self.engine.decisions)
        tripped = self.engine.tripped()
        mishaps |= self._advice.mishaps()
        mishaps |= {name: tripped[name] for name in sorted(self.engine.border.changed & tripped.keys())}
        aside = Counter(self.follower.set_aside_by_kind) + Counter(map(self._kind, tripped))
        took, next_at = self._clock() - began, self.engine.next_at
        return Outcome(effects, told, tuple(self.engine.decisions), seen, next_at, took, mishaps=mishaps, aside=aside)

    def _views(self, names: Iterable[str]) -> tuple[dict[str, View], dict[str, Mishap]]:
        """Those that can be made, and what was raised about the others."""
        found: dict[str, View] = {}
        mishaps: dict[str, Mishap] = {}
        for name in sorted(names):
            try:
                found |= views.of_all(self.engine.book, [name])
            except Exception as error:
                mishaps[name] = Mishap.of(error)
        return found, mishaps

    def _kind(self, gang: str) -> Kind:
        key = self.follower.key_of(gang)
        return ("", "") if key is None else key.of_kind

    # -- after a failure -----------------------------------------------------------------------------------------

    def _culprit(self, error: Exception) -> ObjectKey | None:
        """The object whose event could not be applied."""
        match error:
            case Unbooked(event=PodSeen(pod=pod)):
                return pod.key.object
            case Unbooked(event=PodGone(key=key)):
                return key.object
            case Unbooked(event=NodeSeen(node=node)):
                return ObjectKey("", "Node", "default", node.name)
            case Unbooked(event=GangSeen(request=request)):
                return self.follower.key_of(request.id)
        return None

    def _under_way(self) -> list[BindUnderWay]:
        """Of an engine that failed: what of it can be asked."""
        try:
            return self.engine.under_way()
        except Exception:
            return []

    def _away(self, now: float) -> float:
        """For how long nobody was there: the process was stopped, its machine slept, or whoever steps was cut off."""
        due, before = self.engine.next_at, self.engine.now
        is_back = due is not None and now > due + LATE_SECONDS and now > before + AWAY_SECONDS
        return now - before if is_back else 0.0

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
