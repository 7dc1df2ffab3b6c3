"""Whose turn it is: those who wait, their queues, and what these may still use.

Only those whom something that happened could help are looked at (``order.waiting``), in the order of their queues
(``order.sequence``), each within its quota (``order.quota``). Flavor and place are chosen together: a flavor without a
place for the gang is passed over, whatever quota it has left.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from phalanx.engine.book import Book
from phalanx.engine.gangs import HOLDING, Gang
from phalanx.engine.lifecycle import State
from phalanx.model.decision import Placed
from phalanx.model.nodes import Node, PodShape
from phalanx.model.queues import Flavor
from phalanx.model.reasons import Closed, ClosedQueue, Reason, Why
from phalanx.model.request import Group, PodSet, Request
from phalanx.order import flavors, quota, sequence
from phalanx.order.admission import closed, is_drained
from phalanx.order.conditions import conditions
from phalanx.order.lines import Lines
from phalanx.order.quota import Counts, Short
from phalanx.order.sequence import Ageing, Entry
from phalanx.order.usage import Usage
from phalanx.order.waiting import Hints, Waiting
from phalanx.place import room

_OUT_OF_LINE = (Why.PODS_MISSING, Why.SUSPENDED, Why.BACKING_OFF)


@dataclass(slots=True)
class Booked:
    """What a gang takes of its queue's quota."""

    queue: str
    flavor: str | None
    amounts: Mapping[str, int]


class Turns:
    """Who waits, in line, and the use of every queue."""

    def __init__(self, book: Book, patience: Ageing) -> None:
        self._book = book
        self._patience = patience
        self._waiting = Waiting()
        self._lines = Lines()
        self.usage = Usage()
        self._booked: dict[str, Booked] = {}
        self._eased: set[str] = set()
        self._queues, self._changed = book.queues, False
        self._stirred: set[str] = set()  # queues whose head may have changed
        self._just_came: set[str] = set()  # who was in nobody's way before this look

    @property
    def stirred(self) -> bool:
        """Whether the head of a queue may have changed since those who are behind were looked at."""
        return bool(self._stirred)

    @property
    def looked(self) -> int:
        """How many waiting gangs were looked at so far."""
        return self._waiting.looked

    def next_at(self, now: float) -> float | None:
        found = [self._waiting.next_at, self._lines.next_starving(now, self._patience)]
        return min((at for at in found if at is not None), default=None)

    # -- coming and going ----------------------------------------------------------------------------------------

    def enter(self, gang: Gang) -> None:
        """The gang waits, and nothing is known yet of what for."""
        self._waiting.add(gang.id, gang.request)

    def leave(self, name: str, queue: str) -> None:
        """The gang waits no more."""
        if name in self._waiting:
            self._waiting.remove(name)
            self._lines.remove(name)
            self._stirred.add(queue)

    def sleep(self, gang: Gang, wanted: Request, reasons: Sequence[Reason]) -> None:
        """The gang was looked at and waits for these. Who waits for nothing that others hold stands in nobody's way."""
        tried = flavors.flavors(self._book.queues.named(gang.request.queue), self._book.queues)
        line = quota.line(gang.request.queue, self._book.queues)
        whys = [reason.type for reason in reasons]
        self._waiting.add(gang.id, wanted, *whys, flavors=tried, line=line, at=gang.not_before)
        if any(reason.type in _OUT_OF_LINE or reason.queue is not None for reason in reasons):
            self._lines.remove(gang.id)
            if gang.id not in self._just_came:
                self._stirred.add(gang.request.queue)
        elif gang.id in self._lines and self._lines.add(_entry(gang, reasons[-1])):
            self._stirred.add(gang.request.queue)

    def follow_queues(self) -> None:
        """The use of every queue is counted in those that stand above it now; who has to leave one is looked at."""
        if self._book.queues is not self._queues:
            self._queues, self._changed = self._book.queues, True
            self.usage.under(self._queues)
            for gang in self._book.gangs.values():
                if gang.state in HOLDING and is_drained(gang.request, self._queues):
                    self._book.touched[gang.id] = None

    # -- who is next ---------------------------------------------------------------------------------------------

    def awake(self, names: set[str], now: float, taken: bool) -> Iterator[Gang]:
        """Those to be looked at, in turn. Each is answered by ``leave`` or ``sleep`` before the next is asked for."""
        changed, self._changed = self._changed, False
        due = {queue: self._blocker(queue, now) for queue in sorted(self._stirred)}
        hints = Hints(now, self._book.freed, taken, sorted(self._eased), sorted(names), due, changed)
        self._eased, self._stirred = set(), set()
        found = [self._book.gangs[name] for name in self._waiting.awake(hints, self._most)]
        self._just_came = {gang.id for gang in found if gang.id not in self._lines}
        for gang in found:
            if gang.state is State.QUEUED:
                self._lines.add(_entry(gang, gang.reason))
        entries = [_entry(gang, gang.reason) for gang in found]
        yield from self._urgent_first(entries, now)

    def _urgent_first(self, entries: list[Entry], now: float) -> Iterator[Gang]:
        """Broken gangs have the first claim on what is free, then each in the turn of its queue."""
        gangs = self._book.gangs
        hurt = sorted((one for one in entries if gangs[one.id].urgent), key=lambda one: (one.since, one.id))
        rest = [one for one in entries if not gangs[one.id].urgent]
        for entry in hurt:
            yield gangs[entry.id]
        for turn in sequence.ordered(rest, self._book.queues, now, self._patience):
            yield gangs[turn.entry.id]

    def is_behind(self, gang: Gang, now: float) -> bool:
        """Whether somebody ahead of it in its queue must start first."""
        return not gang.urgent and self._blocker(gang.request.queue, now) not in (None, gang.id)

    def _blocker(self, queue: str, now: float) -> str | None:
        return self._lines.blocker(queue, self._book.queues, now, self._patience)

    def _most(self, shape: PodShape, topology: str | None, level: int) -> int:
        return room.most(self._book.board.draft(topology), shape, level)

    # -- may they ------------------------------------------------------------------------------------------------

    def closed(self, request: Request) -> ClosedQueue | None:
        """What keeps a request out of its queue, whatever is free; None: it is open."""
        return closed(request, self._book.queues)

    def ways(self, request: Request) -> Iterator[tuple[Flavor | None, Request | Short]]:
        """What may be tried, in order: the request on each flavor of its queue, or what that flavor is short of."""
        queues = self._book.queues
        for flavor in flavors.flavors(queues.named(request.queue), queues, quota.need(request)):
            name = None if flavor is None else flavor.name
            full = quota.over(request.queue, name, self.usage, quota.need(request), queues)
            least = quota.over(request.queue, name, self.usage, quota.need(request, Counts.MINIMUM), queues)
            if least:
                yield flavor, least[0]
            else:
                yield flavor, flavors.applied(smallest(request) if full else request, flavor)

    def allows(self, placed: Placed, flavor: str | None) -> bool:
        """Whether the queue may take what was placed: that may be more than the least it was asked for."""
        counts = {name: sum(count for _, count in nodes) for name, nodes in placed.placement.pod_sets.items()}
        amounts = quota.amounts(placed.request, counts)
        return not quota.over(placed.request.queue, flavor, self.usage, amounts, self._book.queues)

    def might_fit(self, request: Request) -> bool:
        """A quick look: whether what must hold wherever it can start holds on one of its flavors. (order.conditions)"""
        queues = self._book.queues
        for flavor in flavors.flavors(queues.named(request.queue), queues, quota.need(request)):
            way = conditions(flavors.applied(request, flavor))
            if all(self._most(one.kind.shape, one.kind.topology, one.kind.level) >= one.needed for one in way):
                return True
        return False

    def more(self, gang: Gang, wanted: Request, new: Mapping[str, int]) -> Request | None:
        """More places for a gang that runs, on the flavor it has; None: its queue may not take them now.

        ``new``: how many of each set are not booked already. A place that is moved takes no more than it did.
        """
        queues = self._book.queues
        if not self.has_quota(gang, new):
            return None
        tried = flavors.flavors(queues.named(gang.request.queue), queues, quota.need(gang.request))
        own = next((one for one in tried if one is not None and one.name == gang.flavor), None)
        return flavors.applied(wanted, own)

    def has_quota(self, gang: Gang, new: Mapping[str, int]) -> bool:
        """Whether the queue of a gang that runs may take so many more pods of each set, on the flavor it has."""
        amounts = quota.amounts(gang.request, new)
        return not quota.over(gang.request.queue, gang.flavor, self.usage, amounts, self._book.queues)

    def flavor_of(self, gang: Gang) -> str | None:
        """The flavor that a gang which runs already must have been given: that of most of its nodes."""
        queues = self._book.queues
        homes = [*(pod.node for pod in gang.on_nodes()), *(pod.pinned for pod in gang.sent())]
        nodes = [self._book.nodes[name] for name in homes if name in self._book.nodes]
        tried = flavors.flavors(queues.named(gang.request.queue), queues, quota.need(gang.request))
        found = {one.name: sum(_is_of(node, one) for node in nodes) for one in tried if one is not None}
        most = max(found.values(), default=0)
        return next((name for name, count in found.items() if count == most), None) if most else None

    def book_use(self, gang: Gang) -> None:
        """What the gang holds now counts in its queue, as long as it holds it (X-52)."""
        amounts: dict[str, int] = {}
        for pod in gang.holding():
            for name, amount in pod.requests:
                amounts[name] = amounts.get(name, 0) + amount
        now = Booked(gang.request.queue, gang.flavor, amounts)
        if self._booked.get(gang.id) == now:
            return
        before = self._booked.pop(gang.id, None)
        if before is not None:
            eased = self.usage.give(before.queue, before.flavor, before.amounts)
            if before.amounts != amounts:
                self._eased.update(eased)
        if amounts:
            self._booked[gang.id] = now
            self.usage.take(gang.request.queue, gang.flavor, amounts)

    def forget(self, name: str) -> None:
        before = self._booked.pop(name, None)
        if before is not None:
            self._eased.update(self.usage.give(before.queue, before.flavor, before.amounts))

    def held(self) -> list[tuple[str, str | None, Mapping[str, int]]]:
        """What every gang takes of its queue, for audits."""
        return [(one.queue, one.flavor, one.amounts) for _, one in sorted(self._booked.items())]


def _is_of(node: Node, flavor: Flavor) -> bool:
    return dict(flavor.node_labels).items() <= node.labels.items()


def smallest(request: Request) -> Request:
    """The request with no more pods than it must have."""
    return replace(request, root=_least(request.root))


def _least(group: Group) -> Group:
    members = tuple(_least(m) if isinstance(m, Group) else _fewest(m) for m in group.members)
    return replace(group, members=members)


def _fewest(pods: PodSet) -> PodSet:
    return replace(pods, count=max(pods.min_count, 1), min_count=pods.min_count)


def over_quota(request: Request) -> Reason:
    return Reason(Why.OVER_QUOTA, request.root.name, "cluster", sum(p.min_count for p in request.root.pod_sets()))


def shut_out(request: Request, queue: ClosedQueue) -> Reason:
    """The reason of those whose queue is closed to them."""
    why = Why.SUSPENDED if queue.why is Closed.HELD else Why.OVER_QUOTA
    return replace(over_quota(request), type=why, queue=queue)


def _entry(gang: Gang, reason: Reason | None) -> Entry:
    """A gang in line. Whom no departure of others can help may be passed, however long it waits."""
    able = reason is None or reason.type not in (Why.TOO_LARGE, Why.NO_MATCHING_NODES)
    return Entry(gang.id, gang.request.queue, gang.request.priority, gang.since, able)
