"""Who is worth another look: after a change only those whom it could help.

Whoever waits for room is filed under one condition that does not hold (``conditions``), sorted by how many pods it
needs: what most fits one domain now parts those who may fit from those who cannot, and only the first are touched.
When the condition holds and another of the same gang does not, it is filed under that one instead. Whoever waits for
something else sleeps until just that happens.

Why nobody who could start stays asleep, if the caller tells what happened (``Hints``):

1. Who waits for room and could start has a placement on one of its flavors. Its pods of one shape stand in one domain
   of their level there, so ``most`` of them is no less than needed: every condition holds, the one it is filed under
   among them, and it is found. Without a hint of room nothing grew, and what was refused still is; those whom pods that
   came may help (``minds_others``) are looked at on that hint too. Undecided counts as refused until something grows.
2. Who waits for its pods, its owner or a time is handed out when that comes, and could not start before. So it is with
   quota and turn, but these come for many at once: of them only those are handed out for whom all conditions hold. The
   others wait for room alone from then on (``now_for_room``), which is case 1: what else is in their way is found out
   at the next look.
3. Who was handed out is handed out again until the caller says what became of it: ``remove`` or ``add``.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from phalanx.model.nodes import PodShape
from phalanx.model.queues import Flavor
from phalanx.model.reasons import Why
from phalanx.model.request import Request
from phalanx.order.conditions import Condition, Kind, conditions, minds_others
from phalanx.order.flavors import ANY_NODE, applied

Most = Callable[[PodShape, str | None, int], int]
"""The most pods of a shape that any domain of a level of a topology holds now. It may say too many, never too few: on
the level of the cluster, nodes outside the topology count too."""


class Until(Enum):
    """What a sleeper waits for."""

    ROOM = "room for it"
    QUOTA = "less use of its queue or of one above"
    ITSELF = "its pods, its owner, its own change"
    TIME = "a moment"
    TURN = "those ahead of it in its queue"


WAKES: Mapping[Why, Until] = {
    Why.PODS_MISSING: Until.ITSELF,
    Why.NO_MATCHING_NODES: Until.ROOM,
    Why.TOO_LARGE: Until.ROOM,
    Why.NO_ROOM: Until.ROOM,
    Why.FRAGMENTED: Until.ROOM,
    Why.OVER_QUOTA: Until.QUOTA,
    Why.BEHIND_OTHERS: Until.TURN,
    Why.EVICTING: Until.ROOM,
    Why.BACKING_OFF: Until.TIME,
    Why.UNDECIDED: Until.ROOM,
    Why.SUSPENDED: Until.ITSELF,
}


@dataclass(frozen=True, slots=True)
class Hints:
    """What happened since the last look. A hint too many costs a look, one too few a wake-up.

    ``freed``: room may have grown somewhere: a pod left or changed, a node came, went or changed, a topology did.
    ``taken``: pods came to stand on nodes. ``eased``: queues of which less is used (``Usage.give`` says which).
    ``gangs``: those whose own pods were seen, whose owner let go. ``turns``: by queue in which it changed, who alone
    may start (``Lines.blocker``); None: everybody. ``everything``: all are handed out, as after a change of queues.
    """

    now: float = float("-inf")
    freed: bool = False
    taken: bool = False
    eased: Collection[str] = ()
    gangs: Collection[str] = ()
    turns: Mapping[str, str | None] = field(default_factory=dict)
    everything: bool = False


@dataclass(slots=True, eq=False)
class _Sleeper:
    """``ways``: the conditions on each flavor it may be tried on; one way whose conditions all hold is enough."""

    id: str
    queue: str
    ways: tuple[tuple[Condition, ...], ...]
    minds_others: bool
    until: frozenset[Until]
    line: tuple[str, ...]
    at: float
    filed: list[Condition] = field(default_factory=list)  # by way: the condition it is filed under


class Waiting:
    """Everybody who waits. ``looked``: how many were touched one by one so far.

    ``now_for_room``: of the last look, those who waited for quota or their turn and now wait for room. Nobody looked at
    them, so the reason last told of them is an old one.
    """

    __slots__ = (
        "_always", "_by_queue", "_by_time", "_by_turn", "_filed", "_minding", "_out", "_sleepers", "looked",
        "now_for_room",
    )  # fmt: skip

    def __init__(self) -> None:
        self.looked = 0
        self.now_for_room: tuple[str, ...] = ()
        self._sleepers: dict[str, _Sleeper] = {}
        self._out: set[str] = set()  # handed out, and not heard of since
        self._filed: dict[Kind, list[tuple[int, str, int]]] = {}  # (needed, id, way), sorted
        self._always: set[str] = set()  # wait for room, and have a way without conditions
        self._minding: set[str] = set()  # wait for room, and pods that come may help
        self._by_queue: dict[str, set[str]] = {}
        self._by_turn: dict[str, set[str]] = {}
        self._by_time: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._sleepers)

    def __contains__(self, name: object) -> bool:
        return name in self._sleepers

    @property
    def next_at(self) -> float | None:
        """When the next one wakes of itself."""
        return self._by_time[0][0] if self._by_time else None

    # ---- coming and going ---------------------------------------------------------------------------

    def add(
        self,
        name: str,
        request: Request,
        *whys: Why,
        flavors: Sequence[Flavor | None] = ANY_NODE,
        line: Sequence[str] = (),
        at: float = float("-inf"),
    ) -> None:
        """It waits, and why: every reason that was met, as one flavor may lack quota and another room. Without any it
        is new, and handed out next time.

        ``flavors``: all it may be tried on. ``line``: its queue and those above (its own queue if empty).
        ``at``: when it backs off, until when.
        """
        self.remove(name)
        ways = tuple(_conditions(applied(request, flavor), whys) for flavor in flavors)
        until = frozenset(WAKES[why] for why in whys)
        above = tuple(line) or (request.queue,)
        sleeper = _Sleeper(name, request.queue, ways, minds_others(request), until, above, at)
        self._sleepers[name] = sleeper
        if until:
            self._lay_down(sleeper)
        else:
            self._out.add(name)

    def remove(self, name: str) -> None:
        """It waits no more; one that did not is no mistake."""
        sleeper = self._sleepers.pop(name, None)
        if sleeper is not None:
            self._get_up(sleeper)
            self._out.discard(name)

    # ---- looking ------------------------------------------------------------------------------------

    def awake(self, hints: Hints, most: Most) -> tuple[str, ...]:
        """Those whom it could have helped, by id; ``sequence.ordered`` puts them in turn.

        Each is to be answered by ``remove`` or ``add``.
        """
        asked = Asked(most)
        self._hand_out(self._sleepers.values() if hints.everything else self._called(hints))
        self.now_for_room = tuple(sleeper.id for sleeper in self._let_in(hints) if not self._stir(sleeper, asked))
        if hints.freed:
            self._look_for_room(asked)
        elif hints.taken:
            self._hand_out([self._sleepers[name] for name in sorted(self._minding) if self._fits(name, asked)])
        return tuple(sorted(self._out))

    def _called(self, hints: Hints) -> list[_Sleeper]:
        """Those whom an event names, and those whose time has come."""
        due = self._by_time[: bisect_right(self._by_time, hints.now, key=lambda one: one[0])]
        names = {name for name in hints.gangs if name in self._sleepers} | {name for _, name in due}
        self.looked += len(names - self._out)
        return [self._sleepers[name] for name in names]

    def _let_in(self, hints: Hints) -> list[_Sleeper]:
        """Those whose queue has quota for somebody again, and those whose turn it may be."""
        names: set[str] = set()
        for queue in hints.eased:
            names |= self._by_queue.get(queue, set())
        for queue, only in hints.turns.items():
            waiting = self._by_turn.get(queue, set())
            names |= waiting if only is None else waiting & {only}
        return [self._sleepers[name] for name in sorted(names)]

    def _stir(self, sleeper: _Sleeper, asked: "Asked") -> bool:
        """Hands it out if there may be room, else it waits for that alone."""
        if self._fits(sleeper.id, asked):
            self._hand_out([sleeper])
            return True
        self._get_up(sleeper)
        sleeper.until = frozenset({Until.ROOM})
        self._lay_down(sleeper)
        return False

    def _look_for_room(self, asked: "Asked") -> None:
        self._hand_out([self._sleepers[name] for name in sorted(self._always)])
        for kind in list(self._filed):
            entries = self._filed.get(kind, [])
            fitting = entries[: bisect_right(entries, asked(kind), key=lambda entry: entry[0])]
            for _, name, way in fitting:
                if name not in self._out:
                    self._look(self._sleepers[name], way, asked)

    def _look(self, sleeper: _Sleeper, way: int, asked: "Asked") -> None:
        """Hands it out if all conditions of a way hold, else files it under one that does not."""
        self.looked += 1
        failing = asked.failing(sleeper.ways[way])
        if failing is None:
            self._hand_out([sleeper])
        else:
            self._unfile(sleeper, way)
            sleeper.filed[way] = failing
            self._file(sleeper, way)

    def _fits(self, name: str, asked: "Asked") -> bool:
        self.looked += 1
        return any(asked.failing(way) is None for way in self._sleepers[name].ways)

    def _hand_out(self, sleepers: Iterable[_Sleeper]) -> None:
        for sleeper in sleepers:
            self._get_up(sleeper)
            self._out.add(sleeper.id)

    # ---- filing -------------------------------------------------------------------------------------

    def _lay_down(self, sleeper: _Sleeper) -> None:
        for shelf, keys in self._shelves(sleeper):
            for key in keys:
                shelf.setdefault(key, set()).add(sleeper.id)
        if Until.TIME in sleeper.until:
            insort(self._by_time, (sleeper.at, sleeper.id))
        if Until.ROOM not in sleeper.until:
            return
        if sleeper.minds_others:
            self._minding.add(sleeper.id)
        if not all(sleeper.ways):
            self._always.add(sleeper.id)
            return
        sleeper.filed = [way[0] for way in sleeper.ways]
        for way in range(len(sleeper.ways)):
            self._file(sleeper, way)

    def _get_up(self, sleeper: _Sleeper) -> None:
        """Takes it from wherever it lies; does nothing the second time."""
        for shelf, keys in self._shelves(sleeper):
            for key in keys:
                _drop(shelf, key, sleeper.id)
        place = bisect_left(self._by_time, (sleeper.at, sleeper.id))
        if self._by_time[place : place + 1] == [(sleeper.at, sleeper.id)]:
            del self._by_time[place]
        self._minding.discard(sleeper.id)
        self._always.discard(sleeper.id)
        for way in range(len(sleeper.filed)):
            self._unfile(sleeper, way)
        sleeper.filed = []

    def _shelves(self, sleeper: _Sleeper) -> Iterator[tuple[dict[str, set[str]], tuple[str, ...]]]:
        if Until.QUOTA in sleeper.until:
            yield self._by_queue, sleeper.line
        if Until.TURN in sleeper.until:
            yield self._by_turn, (sleeper.queue,)

    def _file(self, sleeper: _Sleeper, way: int) -> None:
        under = sleeper.filed[way]
        insort(self._filed.setdefault(under.kind, []), (under.needed, sleeper.id, way))

    def _unfile(self, sleeper: _Sleeper, way: int) -> None:
        under = sleeper.filed[way]
        entries = self._filed[under.kind]
        del entries[bisect_left(entries, (under.needed, sleeper.id, way))]
        if not entries:
            del self._filed[under.kind]


class Asked:
    """``most``, asked once for each kind within one look."""

    __slots__ = ("_known", "_most")

    def __init__(self, most: Most) -> None:
        self._most = most
        self._known: dict[Kind, int] = {}

    def __call__(self, kind: Kind) -> int:
        found = self._known.get(kind)
        if found is None:
            found = self._known[kind] = self._most(kind.shape, kind.topology, kind.level)
        return found

    def failing(self, way: tuple[Condition, ...]) -> Condition | None:
        """The first condition that does not hold; None: they all do."""
        return next((one for one in way if self(one.kind) < one.needed), None)


def _conditions(request: Request, whys: Collection[Why]) -> tuple[Condition, ...]:
    """What must hold before it is worth another look. Of pods that no node admits one is enough: as soon as there is a
    node for it, what the gang waits for is something else, and is to be told."""
    found = conditions(request)
    if set(whys) != {Why.NO_MATCHING_NODES}:
        return found
    return tuple(replace(one, needed=min(one.needed, 1)) for one in found)


def _drop(shelf: dict[str, set[str]], key: str, name: str) -> None:
    found = shelf.get(key, set())
    found.discard(name)
    if not found:
        shelf.pop(key, None)
