"""A store with its controllers and kubelets: ``tick`` runs everything that is due, in a fixed order."""

from phalanx.minicluster import garbage, kubelet
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller
from phalanx.minicluster.controllers import CONTROLLERS, leaderworkerset
from phalanx.minicluster.documents import POD, Kind, kind_of
from phalanx.minicluster.duekeys import DueKeys
from phalanx.minicluster.pace import Pace
from phalanx.minicluster.store import Event, Store
from phalanx.model.objects import ObjectKey

_MOST = 200_000  # looks in one tick; no world of a few thousand pods comes near


class NeverAtRest(Exception):
    """Controllers that undo each other's work."""


class Cluster:
    """The same seed, pace and calls give the same bytes."""

    def __init__(self, seed: int, pace: Pace = Pace()) -> None:
        self.store = Store(seed)
        self.store.admit[POD] = leaderworkerset.admit
        self._context = Context(self.store, pace)
        self._controllers: tuple[Controller, ...] = (kubelet.CONTROLLER, garbage.CONTROLLER, *CONTROLLERS)
        self._hearing: dict[Kind, list[int]] = {}  # by kind, who hears of it
        self._due: DueKeys[tuple[int, ObjectKey]] = DueKeys()
        self._heard = 0  # the version up to which they were told

    def tick(self, now: float) -> None:
        """Runs all that is due until then, each at the time when it is due."""
        for _ in range(_MOST):
            at = self.next_due()
            if at is None or at > now:
                return
            number, key = self._due.pop()
            again = self._controllers[number].reconcile(self._context, key, at)
            if again is not None:
                self._due.add((number, key), max(again, at))
        raise NeverAtRest(f"{_MOST} looks until {now}, the last at {key} by {self._controllers[number].name}")

    def next_due(self) -> float | None:
        """When ``tick`` has something to do again, if nothing else happens."""
        for event in self.store.all_events_since(self._heard):
            self._tell(event)
            self._heard = event.version
        return self._due.next_at()

    def _tell(self, event: Event) -> None:
        for number in self._who_hears(kind_of(event.document)):
            one = self._controllers[number]
            span = one.reaction(self._context.pace)
            for key in one.concerned(self._context, event):
                late = self._context.draws.within(span, "reaction", one.name, key, event.version)
                self._due.add((number, key), event.at + late)

    def _who_hears(self, kind: Kind) -> list[int]:
        if kind not in self._hearing:
            listed = enumerate(self._controllers)
            self._hearing[kind] = [number for number, one in listed if not one.hears or kind in one.hears]
        return self._hearing[kind]
