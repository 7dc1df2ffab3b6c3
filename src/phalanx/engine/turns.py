"""Whose turn it is: those who wait, their queues, and what these may still use.

Only those whom something that happened could help are looked at (``order.waiting``), in the order of their queues
(``order.sequence``), each within its quota (``order.quota``). Flavor and place are chosen together: a flavor without a
place for the gang is passed over, whatever quota it has left.

Who may hold back others: one that was tried, as it is now and on the nodes that are there now, and that could start
if others left (``judge``). Whoever comes to be the first of a queue untried is tried at once. So nobody closes a queue
for good.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from phalanx.engine.board import Board
from phalanx.engine.book import Book
from phalanx.engine.gangs import HOLDING, Gang
from phalanx.model.decision import Placed
from phalanx.model.nodes import Node, PodShape, Toleration
from phalanx.model.queues import Flavor
from phalanx.model.reasons import PODS_GONE, Closed, ClosedQueue, FullQuota, Reason, Why
from phalanx.model.request import Request
from phalanx.order import flavors, holders, quota, sequence
from phalanx.order.admission import closed, is_drained
from phalanx.order.affordable import affordable, cheapest, smallest
from phalanx.order.conditions import Condition, conditions
from phalanx.order.lines import Lines
from phalanx.order.quota import Counts, Short
from phalanx.order.sequence import Ageing, Entry
from phalanx.order.usage import Usage
from phalanx.order.waiting import Asked, Hints, Waiting
from phalanx.place import room
from phalanx.place.evidence import emptied, never_fits

QUEUE_CHANGES = ("QueueChanged",)
QUOTA_COMES = (PODS_GONE, *QUEUE_CHANGES)
_OUT_OF_LINE = (Why.PODS_MISSING, Why.SUSPENDED, Why.BACKING_OFF)


@dataclass(slots=True)
class Booked:
    """What a gang takes of its queue's quota."""

    queue: str
    flavor: str | None
    amounts: Mapping[str, int]

    def is_elsewhere(self, other: "Booked") -> bool:
        return (self.queue, self.flavor) != (other.queue, other.flavor)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of the last try of a gang: whether it could start if others left. It is of this request, of what was
    ``wanted`` of it, and of nodes as they were in an era; ``ways``: what they would have to hold, where they could not
    even when empty."""

    request: Request
    wanted: Request
    able: bool
    era: int
    ways: tuple[tuple[Condition, ...], ...] = ()


class Turns:
    """Who waits, in line, and the use of every queue."""

    def __init__(self, book: Book, patience: Ageing) -> None:
        self._book = book
        self._patience = patience
        self._waiting = Waiting()
        self._lines = Lines()
        self.usage = Usage(book.queues)
        self._booked: dict[str, Booked] = {}
        self._holders: dict[tuple[str, str | None, str], tuple[str, ...]] = {}  # of quotas, until somebody books
        self._eased: set[str] = set()
        self._queues, self._changed = book.queues, False
        self._verdicts: dict[str, Verdict] = {}
        self._board: Board | None = None  # of the era
        self._era = 0  # begins anew when nodes change
        self._aged = float("-inf")  # when it was last seen who starves

    @property
    def stirred(self) -> bool:
        """Whether the head of a queue may have changed since those who are behind were looked at."""
        return self._lines.are_stirred

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

    def leave(self, name: str) -> None:
        """The gang waits no more."""
        self._waiting.remove(name)
        self._lines.remove(name)
        self._verdicts.pop(name, None)

    def sleep(self, gang: Gang, wanted: Request, reasons: Sequence[Reason]) -> None:
        """The gang was looked at and waits for these. Who waits for nothing that others hold stands in nobody's way."""
        tried = self._tried_on(wanted)
        line = quota.line(gang.request.queue, self._book.queues)
        whys = [reason.type for reason in reasons]
        self._waiting.add(gang.id, wanted, *whys, flavors=tried, line=line, at=gang.not_before)
        if any(reason.type in _OUT_OF_LINE or reason.queue is not None for reason in reasons):
            self._lines.remove(gang.id)
        else:
            self._lines.add(self._entry(gang))

    def judge(self, gang: Gang, wanted: Request, reasons: Sequence[Reason]) -> None:
        """The gang was tried, and refused for these."""
        able = any(reason.ends_with_others and self._may_grow_easier(reason) for reason in reasons)
        ways = () if able else tuple(conditions(flavors.applied(wanted, one)) for one in self._tried_on(wanted))
        self._verdicts[gang.id] = Verdict(gang.request, wanted, able, self._era, ways)

    def _may_grow_easier(self, reason: Reason) -> bool:
        """Whether a question may be decided when there is more room: not where no gang holds any."""
        return reason.type is not Why.UNDECIDED or bool(self._booked)

    def is_able(self, gang: Gang) -> bool:
        """Whether it could start if others left, as far as is known: who was not tried as it is now may be able."""
        verdict = self._verdicts.get(gang.id)
        return verdict is None or verdict.able or verdict.request is not gang.request

    def was_refused(self, gang: Gang, wanted: Request) -> bool:
        """Whether the reason it waits for was given to just this question."""
        verdict = self._verdicts.get(gang.id)
        return verdict is not None and verdict.wanted == wanted

    def _entry(self, gang: Gang) -> Entry:
        return Entry(gang.id, gang.request.queue, gang.request.priority, gang.since, self.is_able(gang))

    def _is_tried(self, name: str) -> bool:
        """Whether what is known of one in line is of what it asks for now, and of the nodes there are now."""
        verdict = self._verdicts.get(name)
        if verdict is None:
            return False
        return verdict.era == self._era and verdict.request is self._book.gangs[name].request

    def follow_queues(self) -> None:
        """The use of every queue is counted in those that stand above it now; who has to leave one is looked at."""
        if self._book.queues is not self._queues:
            self._queues, self._changed = self._book.queues, True
            self._verdicts.clear()
            self._holders.clear()
            self.usage.under(self._queues)
            for gang in self._book.gangs.values():
                if gang.id in self._booked and self._find_flavor(gang):
                    self.book_use(gang)
                if gang.state in HOLDING and is_drained(gang.request, self._queues):
                    self._book.touched[gang.id] = None

    def _follow_nodes(self) -> None:
        """Nodes came, went or changed: who blocks is to be tried on those there are, and who was unable may be able
        where these could hold it."""
        if not len(self._waiting) or self._book.board is self._board:
            return
        self._board = self._book.board
        self._era += 1
        self._lines.stir()
        asked = Asked(self._most_when_empty)
        unable = [(name, one.ways) for name, one in self._verdicts.items() if not one.able]
        for name, ways in unable:
            if any(asked.failing(way) is None for way in ways):
                del self._verdicts[name]
                self._lines.add(self._entry(self._book.gangs[name]))

    # -- who is next ---------------------------------------------------------------------------------------------

    def awake(self, names: set[str], now: float, taken: bool) -> Iterator[Gang]:
        """Those to be looked at, in turn. Each is answered by ``leave`` or ``sleep`` before the next is asked for."""
        changed, self._changed = self._changed, False
        self._follow_nodes()
        self._lines.age(self._aged, now, self._patience)
        self._aged = now
        due = {queue: self._blocker(queue, now) for queue in self._lines.stirred()}
        untried = {name for name in due.values() if name is not None and not self._is_tried(name)}
        hints = Hints(now, self._book.freed, taken, sorted(self._eased), sorted(names | untried), due, changed)
        self._eased = set()
        found = [self._book.gangs[name] for name in self._waiting.awake(hints, self._most)]
        for gang in found:
            self._lines.add(self._entry(gang))
        yield from self._urgent_first([self._entry(gang) for gang in found], now)

    def _urgent_first(self, entries: list[Entry], now: float) -> Iterator[Gang]:
        """Broken gangs have the first claim on what is free, then each in the turn of its queue."""
        gangs = self._book.gangs
        hurt = sorted((one for one in entries if gangs[one.id].urgent), key=lambda one: (one.since, one.id))
        rest = [one for one in entries if not gangs[one.id].urgent]
        for entry in hurt:
            yield gangs[entry.id]
        for turn in sequence.ordered(rest, self._book.queues, now, self._patience):
            yield gangs[turn.entry.id]

    def ahead_of(self, gang: Gang, now: float) -> str | None:
        """Who is ahead of it in its queue and must start first; None: nobody."""
        ahead = None if gang.urgent else self._blocker(gang.request.queue, now)
        return None if ahead == gang.id else ahead

    def blocks(self, gang: Gang, now: float) -> bool:
        """Whether everybody else in its queue waits for it: then nothing old is told of it."""
        return self._blocker(gang.request.queue, now) == gang.id

    def _blocker(self, queue: str, now: float) -> str | None:
        return self._lines.blocker(queue, self._book.queues, now, self._patience)

    def _most(self, shape: PodShape, topology: str | None, level: int) -> int:
        return room.most(self._book.board.draft(topology), shape, level)

    def _most_when_empty(self, shape: PodShape, topology: str | None, level: int) -> int:
        return room.most(emptied(self._book.board.draft(topology)), shape, level)

    def _tried_on(self, request: Request) -> tuple[Flavor | None, ...]:
        """The flavors that a request is tried on, in order; None: any node."""
        queue = self._book.queues.named(request.queue)
        if queue is None or not queue.flavors:
            return flavors.ANY_NODE
        return flavors.flavors(queue, self._book.queues, quota.need(request))

    # -- may they ------------------------------------------------------------------------------------------------

    def closed(self, request: Request) -> ClosedQueue | None:
        """What keeps a request out of its queue, whatever is free; None: it is open."""
        return closed(request, self._book.queues)

    def ways(self, request: Request) -> Iterator[tuple[Flavor | None, Request | Reason]]:
        """What may be tried, in order: the request on each flavor of its queue, or why it is not worth a try.

        Who waits for quota holds others back in a Strict queue. One that no node could hold is tried all the same, so
        that it waits for nodes and holds back nobody."""
        queues = self._book.queues
        for flavor in self._tried_on(request):
            name = None if flavor is None else flavor.name
            full = quota.over(request.queue, name, self.usage, quota.need(request), queues)
            least = quota.over(request.queue, name, self.usage, quota.need(request, Counts.MINIMUM), queues)
            if least and not self._never_fits(flavors.applied(request, flavor), least):
                yield flavor, self._over_quota(request, least)
            else:
                yield flavor, flavors.applied(smallest(request) if full else request, flavor)

    def _never_fits(self, request: Request, short: Sequence[Short]) -> bool:
        """Whether more quota would not help it: that could come, and nodes that could hold it are not there."""
        return not any(one.for_good for one in short) and never_fits(self._book.board.draft(request.topology), request)

    def beyond_quota(self, placed: Placed, flavor: str | None) -> Request | Reason | None:
        """What to do where more was placed than the queue may take, as a gang may do without some of it: what it may
        take of it, or why it can take none. None: it may take all of it."""
        request, queues = placed.request, self._book.queues
        counts = {name: sum(count for _, count in nodes) for name, nodes in placed.placement.pod_sets.items()}
        short = quota.over(request.queue, flavor, self.usage, quota.amounts(request, counts), queues)
        if not short:
            return None

        def over(amounts: Mapping[str, int]) -> tuple[Short, ...]:
            return quota.over(request.queue, flavor, self.usage, amounts, queues)

        inside, scarce = [name for name, count in counts.items() if count], short[0].resource
        part = affordable(request, inside, scarce, lambda amounts: not over(amounts))
        return part or self._over_quota(request, over(cheapest(request, inside, scarce)))

    def _over_quota(self, request: Request, short: Sequence[Short]) -> Reason:
        """What is short and who uses it; first what will not do whoever leaves."""
        first = sorted(short, key=lambda one: not one.for_good)
        full = tuple(
            FullQuota(one.queue, one.flavor, one.resource, one.needed, one.used, one.limit, self._held_by(one))
            for one in first
        )
        return replace(over_quota(request, any(one.is_too_small for one in full)), quotas=full)

    def _held_by(self, short: Short) -> tuple[str, ...]:
        """Who uses most of a quota. Many are refused for one quota in a row, and those who use it are many too."""
        key = (short.queue, short.flavor, short.resource)
        if key not in self._holders:
            held = ((name, (one.queue, one.flavor, one.amounts)) for name, one in self._booked.items())
            self._holders[key] = holders.most(short, held, self._book.queues)
        return self._holders[key]

    def might_fit(self, request: Request) -> bool:
        """A quick look: whether what must hold wherever it can start holds on one of its flavors. (order.conditions)"""
        for flavor in self._tried_on(request):
            way = conditions(flavors.applied(request, flavor))
            if all(self._most(one.kind.shape, one.kind.topology, one.kind.level) >= one.needed for one in way):
                return True
        return False

    def more(self, gang: Gang, wanted: Request, new: Mapping[str, int]) -> Request | None:
        """More places for a gang that runs, on the flavor it has; None: its queue may not take them now, or has
        flavors and not the one it is on, so that nobody can tell where they would count.

        ``new``: how many of each set are not booked already. A place that is moved takes no more than it did.
        """
        if not self.has_quota(gang, new):
            return None
        own = self._flavor(gang)
        if own is None and self._tried_on(gang.request) != flavors.ANY_NODE:
            return None
        return flavors.applied(wanted, own)

    def tolerations(self, gang: Gang) -> tuple[Toleration, ...]:
        """What the flavor that a gang is on gives to its pods."""
        own = self._flavor(gang)
        return () if own is None else own.tolerations

    def on_flavor(self, gang: Gang) -> Request:
        """What a gang asks for on the flavor that it has."""
        return flavors.applied(gang.request, self._flavor(gang))

    def _flavor(self, gang: Gang) -> Flavor | None:
        tried = self._tried_on(gang.request)
        return next((one for one in tried if one is not None and one.name == gang.flavor), None)

    def has_quota(self, gang: Gang, new: Mapping[str, int]) -> bool:
        """Whether the queue of a gang that runs may take so many more pods of each set, on the flavor it has."""
        return not self._short_of(gang, new)

    def no_quota(self, gang: Gang, new: Mapping[str, int]) -> Reason:
        """Why a gang that runs may not have so many more pods of each set."""
        return replace(self._over_quota(gang.request, self._short_of(gang, new)), needed=sum(new.values()))

    def _short_of(self, gang: Gang, new: Mapping[str, int]) -> tuple[Short, ...]:
        amounts = quota.amounts(gang.request, new)
        return quota.over(gang.request.queue, gang.flavor, self.usage, amounts, self._book.queues)

    def flavor_of(self, gang: Gang) -> str | None:
        """The flavor that a gang which runs already must have been given: that of most of its nodes."""
        nodes = [self._book.nodes[pod.node] for pod in gang.holding() if pod.node in self._book.nodes]
        tried = [one for one in self._tried_on(gang.request) if one is not None]
        found = {one.name: sum(_is_of(node, one) for node in nodes) for one in tried}
        most = max(found.values(), default=0)
        return next((name for name, count in found.items() if count == most), None) if most else None

    def _find_flavor(self, gang: Gang) -> bool:
        """A gang that holds something has the flavor it must have been given, where its queue does not have the one it
        was given: that was in another queue, or before this one had flavors. Whether that changed anything."""
        before, names = gang.flavor, [one.name for one in self._tried_on(gang.request) if one is not None]
        if names and before not in names:
            gang.take_flavor(self.flavor_of(gang) or before)
        return gang.flavor != before

    def book_use(self, gang: Gang) -> None:
        """What the gang holds now counts in its queue, as long as it holds it (X-52)."""
        booked = self._booked.get(gang.id)
        if booked is not None and booked.queue != gang.request.queue:
            self._find_flavor(gang)
        amounts: dict[str, int] = {}
        for pod in gang.holding():
            for name, amount in pod.requests:
                amounts[name] = amounts.get(name, 0) + amount
        now = Booked(gang.request.queue, gang.flavor, amounts)
        if booked == now:
            return
        self._holders.clear()
        before = self._booked.pop(gang.id, None)
        if before is not None:
            eased = self.usage.give(before.queue, before.flavor, before.amounts)
            if now.is_elsewhere(before) or any(amounts.get(name, 0) < held for name, held in before.amounts.items()):
                self._eased.update(eased)
        if amounts:
            self._booked[gang.id] = now
            self.usage.take(gang.request.queue, gang.flavor, amounts)

    def forget(self, name: str) -> None:
        before = self._booked.pop(name, None)
        if before is not None:
            self._holders.clear()
            self._eased.update(self.usage.give(before.queue, before.flavor, before.amounts))

    def held(self) -> list[tuple[str, str | None, Mapping[str, int]]]:
        """What every gang takes of its queue, for audits."""
        return [(one.queue, one.flavor, one.amounts) for _, one in sorted(self._booked.items())]


def _is_of(node: Node, flavor: Flavor) -> bool:
    return dict(flavor.node_labels).items() <= node.labels.items()


def over_quota(request: Request, for_good: bool = False) -> Reason:
    """``for_good``: not even all of the quota would do, so that nobody's departure helps."""
    least = sum(pods.min_count for pods in request.root.pod_sets())
    return Reason(
        Why.OVER_QUOTA, request.root.name, "cluster", least, helped_by=QUEUE_CHANGES if for_good else QUOTA_COMES
    )


def told(reasons: Sequence[Reason]) -> Reason:
    """The one reason that is told of several, one for each flavor: the last. If that is a full quota, those of other
    flavors stand beside it, and first is one that may come free."""
    if not reasons[-1].quotas:
        return reasons[-1]
    full = [one for one in reasons if one.quotas]
    first = next((one for one in full if one.ends_with_others), full[-1])
    every = dict.fromkeys((*first.quotas, *(quota for one in full for quota in one.quotas)))
    return replace(first, quotas=tuple(every))


def shut_out(request: Request, queue: ClosedQueue) -> Reason:
    """The reason of those whose queue is closed to them."""
    why = Why.SUSPENDED if queue.why is Closed.HELD else Why.OVER_QUOTA
    return replace(over_quota(request, for_good=True), type=why, queue=queue)
