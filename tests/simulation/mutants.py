"""Engines with a planted mistake. Each stands between the real engine and its world, and falsifies what it is told or
what it asks for: nothing here knows how the engine is built."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from phalanx.engine.engine import Engine
from phalanx.model.effects import Bind, Effect, Evict
from phalanx.model.events import Event, GangGone, GangSeen, NodeSeen, PodGone, PodSeen, QueuesSeen
from phalanx.model.mistakes import Mishap
from phalanx.model.request import Group


class Mutant:
    """An engine without a mistake yet. ``hear`` changes what it is told, ``say`` what it asks for."""

    def __init__(self) -> None:
        self.engine = Engine()

    @property
    def next_at(self) -> float | None:
        return self.engine.next_at

    def step(self, events: Iterable[Event], now: float, jitter: float = 0.0) -> tuple[Effect, ...]:
        return tuple(self.say(self.engine.step(tuple(self.hear(events)), now, jitter)))

    def states(self) -> Mapping[str, str]:
        return self.engine.states()

    def tripped(self) -> Mapping[str, Mishap]:
        return self.engine.tripped()

    def hear(self, events: Iterable[Event]) -> Iterable[Event]:
        return events

    def say(self, effects: tuple[Effect, ...]) -> Iterable[Effect]:
        return effects


class DoubleBooking(Mutant):
    """Gives every place of a node away twice."""

    def hear(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, NodeSeen):
                event = NodeSeen(replace(event.node, allocatable=event.node.allocatable.times(2)))
            yield event


class LostWakeUp(Mutant):
    """Notices that something has left only when the next gang comes."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Event] = []

    def hear(self, events: Iterable[Event]) -> list[Event]:
        told = [*self.kept, *events]
        if any(isinstance(event, GangSeen) for event in told):
            self.kept = []
            return told
        self.kept = [event for event in told if _frees(event)]
        return [event for event in told if not _frees(event)]


def _frees(event: Event) -> bool:
    return isinstance(event, PodGone | GangGone) or (isinstance(event, PodSeen) and event.pod.ended)


class HalfBind(Mutant):
    """Forgets one pod of each gang, and to take the others back."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten: dict[str, object] = {}

    def say(self, effects: tuple[Effect, ...]) -> Iterator[Effect]:
        for effect in effects:
            if isinstance(effect, Evict) or (isinstance(effect, Bind) and self._is_forgotten(effect)):
                continue
            yield effect

    def _is_forgotten(self, effect: Bind) -> bool:
        return self.forgotten.setdefault(effect.gang, effect.key) == effect.key


class HalfBegun(Mutant):
    """Forgets the first pod of the third of several equal groups, of which fewer may do."""

    def say(self, effects: tuple[Effect, ...]) -> Iterator[Effect]:
        for effect in effects:
            if not (isinstance(effect, Bind) and effect.key.name.endswith("-pods-2-0")):
                yield effect


class QuotaLeak(Mutant):
    """Reads every quota ten times too large."""

    def hear(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, QueuesSeen):
                queues = {
                    name: replace(queue, quotas=tuple(replace(q, nominal=q.nominal * 10) for q in queue.quotas))
                    for name, queue in event.queues.queues.items()
                }
                event = QueuesSeen(replace(event.queues, queues=queues))
            yield event


class RankSwapped(Mutant):
    """Lets the first and the last rank of a pod set change places."""

    def say(self, effects: tuple[Effect, ...]) -> list[Effect]:
        out = list(effects)
        binds: dict[str, list[int]] = {}
        for i, effect in enumerate(out):
            if isinstance(effect, Bind):
                binds.setdefault(effect.key.name.rpartition("-")[0], []).append(i)
        for places in binds.values():
            first, last = out[places[0]], out[places[-1]]
            assert isinstance(first, Bind) and isinstance(last, Bind)
            out[places[0]], out[places[-1]] = replace(first, node=last.node), replace(last, node=first.node)
        return out


class RankMistold(Mutant):
    """Counts ranks from one when it tells them."""

    def say(self, effects: tuple[Effect, ...]) -> Iterator[Effect]:
        for effect in effects:
            if isinstance(effect, Bind) and effect.rank is not None:
                effect = replace(effect, rank=effect.rank + 1)
            yield effect


class LevelIgnored(Mutant):
    """Takes every node to be in the same rack."""

    def hear(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, NodeSeen):
                labels = {**event.node.labels, "example.com/rack": "r0", "example.com/block": "b0"}
                event = NodeSeen(replace(event.node, labels=labels))
            yield event


class SliceBroken(Mutant):
    """Does not read that pods are to share a domain slice by slice."""

    def hear(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, GangSeen):
                event = replace(event, request=replace(event.request, root=_plain(event.request.root)))
            yield event


def _plain(group: Group) -> Group:
    members = tuple(_plain(one) if isinstance(one, Group) else replace(one, slices=()) for one in group.members)
    return replace(group, members=members)


class SpreadBroken(Mutant):
    """Does not read that pods are to be kept apart."""

    def hear(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, GangSeen):
                event = replace(event, request=replace(event.request, root=replace(event.request.root, spread=None)))
            yield event


class TaintIgnored(Mutant):
    """Does not read taints."""

    def hear(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            yield NodeSeen(replace(event.node, taints=())) if isinstance(event, NodeSeen) else event


class GangForgotten(Mutant):
    """Overlooks every fifth gang."""

    def __init__(self) -> None:
        super().__init__()
        self.overlooked: set[str] = set()
        self.seen: set[str] = set()

    def hear(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, GangSeen):
                self.seen.add(event.request.id)
                if len(self.seen) % 5 == 0:
                    self.overlooked.add(event.request.id)
                if event.request.id in self.overlooked:
                    continue
            yield event
