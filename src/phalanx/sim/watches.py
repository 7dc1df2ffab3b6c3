"""What the engine is told: a stream per kind, late, broken, mended, and never out of order within itself.

A watch remembers what it told last of each thing. A relist throws away what is under way and tells what differs from
that, as a client does after a lost connection. Duplicates repeat what was told last: an older version never comes after
a newer one, because clients compare resource versions.
"""

import math
from collections.abc import Callable, Hashable, Iterable
from random import Random

from phalanx.model.events import Event
from phalanx.sim.agenda import Agenda
from phalanx.sim.faults import Faults

DELIVERY = 1  # priority: after all that happens in the world at that instant
See = Callable[[Hashable], Event | None]  # the thing as it is now; None: it is gone
Gone = Callable[[Hashable], Event]


class Watch:
    def __init__(
        self, agenda: Agenda, faults: Faults, chance: Random, see: See, gone: Gone, deliver: Callable[[Event], None]
    ) -> None:
        self.told: dict[Hashable, Event] = {}
        self._agenda, self._faults, self._chance = agenda, faults, chance
        self._see, self._gone, self._deliver = see, gone, deliver
        self._pending: list[tuple[float, Hashable, Event]] = []
        self._last = 0.0  # nothing comes before what was sent earlier
        self._broken = False
        self._dirty: dict[Hashable, None] = {}  # changed while nobody listened, or told to nobody

    def changed(self, key: Hashable) -> None:
        """Something is not what it was. On its way to the engine it may be lost, and all of its kind until somebody
        finds out and lists it again; or delayed, or doubled."""
        if self._broken:
            self._dirty[key] = None
        elif self._strikes(self._faults.lost):
            self.break_off(self._chance.uniform(0, self._faults.relist))
            self._dirty[key] = None
        else:
            self._send(key)
            if self._strikes(self._faults.duplicated):
                self._send(key)

    def _strikes(self, probability: float) -> bool:
        return self._agenda.now < self._faults.until and self._chance.random() < probability

    def _send(self, key: Hashable) -> None:
        late = self._chance.uniform(0, self._faults.delay) if self._strikes(self._faults.delayed) else 0.0
        arrival = self._agenda.now + late + self._chance.uniform(0, self._faults.delays.watch)
        self._last = max(self._last, batch(arrival, self._faults.delays.tick))
        self._pending.append((self._last, key, self._event(key)))
        self._agenda.at(self._last, self._arrive, DELIVERY)

    def _event(self, key: Hashable) -> Event:
        return self._see(key) or self._gone(key)

    def _arrive(self) -> None:
        while self._pending and self._pending[0][0] <= self._agenda.now:
            _, key, event = self._pending.pop(0)
            self._tell(key, event)

    def _tell(self, key: Hashable, event: Event) -> None:
        if self._is_gone(event, key):
            self.told.pop(key, None)
        else:
            self.told[key] = event
        self._deliver(event)

    def _is_gone(self, event: Event, key: Hashable) -> bool:
        return event == self._gone(key)

    def break_off(self, seconds: float) -> None:
        """Nothing comes any more, until a relist."""
        self._broken = True
        self._agenda.after(seconds, self.relist)

    def relist(self) -> None:
        """All that is not as it was told, at once; what was still under way is older, and dropped."""
        self._broken = False
        late = dict.fromkeys((*(key for _, key, _ in self._pending), *self._dirty))
        self._pending.clear()
        self._dirty.clear()
        for key in sorted(late, key=lambda key: self._see(key) is not None):  # a name may be used again: first who left
            self.read(key)

    def read(self, key: Hashable) -> None:
        """One thing as it is now, if that is news. What was under way about it is older, and dropped."""
        self._pending = [one for one in self._pending if one[1] != key]
        event = self._event(key)
        known = self.told.get(key)
        if event != known and not (known is None and event == self._gone(key)):
            self._tell(key, event)

    def start_anew(self, keys: Iterable[Hashable]) -> None:
        """Another engine listens, which was told nothing yet: all there is."""
        self._broken = False
        self.told.clear()
        self._pending.clear()
        self._dirty.clear()
        for key in keys:
            self.read(key)


def batch(time: float, tick: float) -> float:
    """The end of the batch that an arrival falls into."""
    return math.ceil(time / tick) * tick if tick else time
