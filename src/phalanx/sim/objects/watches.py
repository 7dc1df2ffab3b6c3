"""How the scheduler hears of objects: a stream for each kind, in its own time; late, twice, broken off and listed anew.

Within a kind nothing comes out of order. Between kinds there is no order. What comes of one object before the scheduler
looks is merged: it sees the last of it. (``phalanx.kube.loop``)
"""

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from phalanx.dialects.kindtable import FOLLOWED, Kind
from phalanx.minicluster.documents import key_of, kind_of
from phalanx.minicluster.store import DELETED, Event, Store
from phalanx.model.objects import ObjectKey
from phalanx.sim.agenda import Agenda
from phalanx.sim.objects.drawn import Doc

Hear = Callable[[ObjectKey, Doc | None], None]
_DELIVERY = 1  # priority: after all that happens at that instant


@dataclass(frozen=True, slots=True)
class Lateness:
    """Seconds. ``most``: how late a kind may be, each by its own measure. ``tick``: what comes within one is merged.

    ``twice``: how often something comes twice. ``away``: how long a watch that breaks off may be away.
    """

    most: float = 0.3
    tick: float = 0.1
    twice: float = 0.0
    away: float = 6.0

    @property
    def told_within(self) -> float:
        return max(self.most, self.away) + 2 * self.tick


@dataclass(slots=True)
class _Watch:
    """``told``: what the scheduler was told of each object last. ``pending``: what is on its way, with its arrival."""

    kind: Kind
    late: float
    told: dict[ObjectKey, Doc] = field(default_factory=dict)
    pending: deque[tuple[float, ObjectKey, Doc | None]] = field(default_factory=deque)
    last: float = 0.0
    broken: bool = False


class Watches:
    """``pull`` after anything was written; what it finds reaches ``hear`` later."""

    def __init__(self, store: Store, agenda: Agenda, chance: Random, lateness: Lateness, hear: Hear) -> None:
        self._store, self._agenda, self._chance, self._lateness, self._hear = store, agenda, chance, lateness, hear
        kinds = [row.key for row in FOLLOWED]
        self._watches = {kind: _Watch(kind, chance.uniform(0, lateness.most)) for kind in kinds}
        self._seen = 0

    def pull(self) -> None:
        """Everything that was written since goes on its way."""
        for event in self._store.all_events_since(self._seen):
            watch = self._watches.get(kind_of(event.document))
            if watch is not None and not watch.broken:
                self._send(watch, event)
        self._seen = self._store.version

    def told(self, key: ObjectKey) -> Doc | None:
        """An object as the scheduler was told of it last."""
        watch = self._watches.get(key.of_kind)
        return None if watch is None else watch.told.get(key)

    @property
    def under_way(self) -> bool:
        return any(watch.pending or watch.broken for watch in self._watches.values())

    def _send(self, watch: _Watch, event: Event) -> None:
        doc = None if event.type == DELETED else event.document
        for _ in range(1 + (self._chance.random() < self._lateness.twice)):
            self._put(watch, key_of(event.document), doc)

    def _put(self, watch: _Watch, key: ObjectKey, doc: Doc | None) -> None:
        arrival = self._agenda.now + self._chance.uniform(watch.late / 2, watch.late)
        tick = self._lateness.tick
        watch.last = max(watch.last, math.ceil(arrival / tick) * tick if tick else arrival)
        watch.pending.append((watch.last, key, doc))
        self._agenda.at(watch.last, lambda: self._arrive(watch), _DELIVERY)

    def _arrive(self, watch: _Watch) -> None:
        while watch.pending and watch.pending[0][0] <= self._agenda.now:
            _, key, doc = watch.pending.popleft()
            self._tell(watch, key, doc)

    def _tell(self, watch: _Watch, key: ObjectKey, doc: Doc | None) -> None:
        if doc is None:
            watch.told.pop(key, None)
        else:
            watch.told[key] = doc
        self._hear(key, doc)

    # -- broken off ------------------------------------------------------------------------------------------------

    def kinds(self) -> list[Kind]:
        """Those of which there is anything."""
        return [kind for kind in self._watches if self._store.of_kind(*kind)]

    def break_off(self, kind: Kind, seconds: float) -> None:
        """Nothing of a kind comes any more; after a while all of it is listed."""
        watch = self._watches[kind]
        if not watch.broken:
            watch.broken = True
            self._agenda.after(seconds, lambda: self._list(watch), _DELIVERY)

    def _list(self, watch: _Watch) -> None:
        """What is not as it was told, at once: first what is gone. What was on its way is older."""
        self.pull()
        watch.broken = False
        watch.pending.clear()
        watch.last = self._agenda.now
        there = {key_of(doc): doc for doc in self._store.of_kind(*watch.kind)}
        for key in [key for key in watch.told if key not in there]:
            self._tell(watch, key, None)
        for key, doc in there.items():
            if watch.told.get(key) != doc:
                self._tell(watch, key, doc)

    def read(self, key: ObjectKey, uid: str) -> None:
        """One object as it is now, ahead of its watch, as after a bind of which nobody knows what became."""
        watch = self._watches[key.of_kind]
        doc, told = self._store.get(key), watch.told.get(key)
        if doc is not None and doc["metadata"]["uid"] != uid:
            doc = None
        if doc is None:
            if told is None or told["metadata"]["uid"] == uid:
                self._hear(key, None)
        elif told is not None and _version(doc) > _version(told):
            self._hear(key, doc)

    def start_anew(self, chance: Random) -> None:
        """Another scheduler listens. It is told all there is, kind by kind in no certain order."""
        watches: Iterable[_Watch] = chance.sample(list(self._watches.values()), len(self._watches))
        for watch in watches:
            watch.told.clear()
            self._list(watch)


def _version(doc: Doc) -> int:
    return int(doc["metadata"]["resourceVersion"])
