"""The one loop body: events in, effects out. The simulator and the live scheduler call it; nobody decides elsewhere.

::

    step(events, now)
      1  the book applies the events
      2  gangs that something happened to, or whose clock ran out, react: ``reactions``
      3  who waits is tried, in turn: ``decide``; who is placed holds its places and is released whole
      4  -> effects, in order
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from heapq import heapify, heappop, heappush

from phalanx.engine import enforce, sizing, slots
from phalanx.engine.book import Book
from phalanx.engine.border import AGAIN_SECONDS, Border
from phalanx.engine.decide import decide
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.reactions import Reactions
from phalanx.engine.settings import Settings
from phalanx.engine.turns import Turns, shut_out, told
from phalanx.engine.whatif import ROOM
from phalanx.model.decision import Decision, Invalid, Placed
from phalanx.model.effects import Effect, Prepare, Report, Resume
from phalanx.model.events import BindAnswered, BindUnderWay, Event, SuspendRefused
from phalanx.model.mistakes import Mishap
from phalanx.model.policy import Policy
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, Why
from phalanx.model.request import Missing, Request
from phalanx.model.snapshot import Snapshot
from phalanx.order.sequence import Ageing

OnDecision = Callable[[Snapshot, Request, Policy, Decision], None]  # the picture of that moment, question, answer


class Engine:
    """Decides for all gangs of a cluster. Changed by ``step`` alone; the same steps give the same effects."""

    def __init__(
        self, policy: Policy = Policy(), settings: Settings = Settings(), on_decision: OnDecision | None = None
    ) -> None:
        self.policy = policy
        self.settings = settings
        self._on_decision = on_decision
        self.book = Book()
        self.decisions: list[Decision] = []  # those of the last step
        self.now = self.heard = float("-inf")  # ``heard``: until when it is known what happened
        self._clocks: list[tuple[float, str]] = []
        self._effects: list[Effect] = []
        self.turns = Turns(self.book, Ageing(settings.starving))
        self.border = Border(self.book, self._recount)
        self._names: set[str] = set()
        self._reactions = Reactions(self.book, self)

    # -- the step ------------------------------------------------------------------------------------------------

    def step(
        self,
        events: Iterable[Event],
        now: float,
        jitter: float = 0.0,
        *,
        heard: float | None = None,
        unheard: float = 0.0,
    ) -> tuple[Effect, ...]:
        """What is to be done about these events at this moment. ``jitter``: 0 to 1, spreads retries.

        ``heard``: all that happened until then was told by now; None: until now. No gang leaves its places for a clock
        that ran out later. ``unheard``: so much of the time since the last step does not count, for nothing could be
        heard: no clock that takes something away went on. (decision 12)
        """
        self._effects, self.decisions = [], []
        self.border.changed.clear()
        if now < self.now:
            self._set_back(self.now - now)
        if unheard:
            self._put_off(unheard)
        self.now, self.heard, self.jitter = now, now if heard is None else heard, jitter
        given = list(events)
        self.book.apply(given)
        self._forget()
        for key in self.book.predecessors.due(now, self.settings.succession):
            self.book.adopt(key)
        self.turns.follow_queues()
        for event in given:
            if isinstance(event, BindAnswered):
                self._reactions.answered(event)
            elif isinstance(event, BindUnderWay) and (gang := self.book.holder(event.key)) is not None:
                self.wake_at(gang, event.at + self.settings.bind_again)
            elif isinstance(event, SuspendRefused):
                self._reactions.suspend_refused(event)
        stirred = list(self._stirred())
        for gang in stirred:  # first what is taken, by all of them; only then who gets what is left
            self._passes(gang, self._take_stock)
        for gang in stirred:
            self._passes(gang, self._reactions.react)
        for gang in self._needy():
            self._passes(gang, self._reactions.react)
        self._forget()
        self.book.renewed.clear()
        self.book.changed.clear()
        self._schedule()
        self._effects += self.book.strangers.notices(self.book.nodes, self.book.topologies)
        return tuple(self._effects)

    def anew(self) -> "Engine":
        """One that is set up like this, and knows nothing yet."""
        return Engine(self.policy, self.settings, self._on_decision)

    def under_way(self) -> list[BindUnderWay]:
        """Binds that were asked for, of pods that were not seen with a node since."""
        gangs = [gang for _, gang in sorted(self.book.gangs.items())]
        slots = [(gang, slot, slot.pod) for gang in gangs for slot in gang.every_slot()]
        return [BindUnderWay(key, slot.node, gang.asked[key]) for gang, slot, key in slots if key in gang.asked]

    @property
    def next_at(self) -> float | None:
        """When to step again at the latest, even if nothing happens."""
        while self._clocks and not self._matters(*self._clocks[0]):
            heappop(self._clocks)
        own = self._clocks[0][0] if self._clocks else None
        joins = self.book.predecessors.next_at(self.settings.succession)
        found = [at for at in (own, joins, self.turns.next_at(self.now)) if at is not None]
        return min(found, default=None)

    def states(self) -> dict[str, State]:
        return {name: gang.state for name, gang in self.book.gangs.items()}

    def tripped(self) -> dict[str, Mishap]:
        """Gangs that are set aside, and what was raised about them."""
        return {name: one.mishap for name, one in self.book.aside.items()}

    def _stirred(self) -> Iterator[Gang]:
        """Gangs that something happened to, and those whose clock ran out; by id."""
        news = dict(self.book.touched)
        names = dict(news)
        self.book.touched.clear()
        while self._clocks and self._clocks[0][0] <= self.now:
            names[heappop(self._clocks)[1]] = None
        self._names = set(names)
        for name in sorted(names):
            gang = self.book.gangs.get(name)
            if gang is not None and not self.border.is_closed(name, self.now, name in news):
                self._wind_up(gang)
                yield gang

    def _take_stock(self, gang: Gang) -> None:
        if gang.state is State.QUEUED:
            self.turns.enter(gang)
        self._reactions.take_stock(gang)

    def _needy(self) -> list[Gang]:
        """Gangs that need room near them, if some came free: by what happened, or by what the others did about it."""
        if not self.book.freed:
            return []
        names = sorted(self.book.needy)
        self.book.needy.clear()
        return [self.book.gangs[name] for name in names if name in self.book.gangs]

    def _passes(self, gang: Gang, act: Callable[[Gang], None]) -> bool:
        """Does something about one gang; False where that raised, and the gang is set aside (``border``)."""
        if gang.id in self.book.aside or self.book.gangs.get(gang.id) is not gang:
            self.turns.leave(gang.id)
            return False
        if self.border.passes(gang, act, self._effects, self.now):
            return True
        self.wake_at(gang, self.now + AGAIN_SECONDS)
        return False

    def _recount(self, gang: Gang) -> None:
        """Lines, quota and board are made anew from what gangs hold, after one of them left them half changed."""
        self.turns = Turns(self.book, Ageing(self.settings.starving))
        for name, one in sorted(self.book.gangs.items()):
            with suppress(Exception) if name in self.book.aside else nullcontext():
                self.turns.book_use(one)
            if one.state is State.QUEUED and name not in self.book.aside:
                self.turns.enter(one)
        if self._is_known(gang.request.topology):
            self.book.board.draft(gang.request.topology)  # where that fails too it is not about the one gang

    def _forget(self) -> None:
        """What was deleted and has nothing left holds no quota any more, and nobody waits for it."""
        for name in self.book.left:
            self.turns.leave(name)
            self.turns.forget(name)
        self.book.left.clear()

    # -- clocks --------------------------------------------------------------------------------------------------

    def wake_at(self, gang: Gang, at: float) -> None:
        """The gang is looked at again at this time."""
        heappush(self._clocks, (at, gang.id))

    def _wind_up(self, gang: Gang) -> None:
        """The clocks of a gang that was set aside: they may have rung meanwhile."""
        if gang.id in self.border.changed:
            times = [gang.deadline, gang.not_before, gang.quiet_until, *gang.resting.values()]
            times += [at + self.settings.bind_again for at in gang.asked.values()]
            for at in times:
                if at is not None and at > self.now:
                    self.wake_at(gang, at)

    def _set_back(self, seconds: float) -> None:
        """Somebody set the clock back: what was to happen in a minute still does."""
        for gang in self.book.gangs.values():
            gang.set_back(seconds)
        self.book.predecessors.set_back(seconds)
        self._clocks = [(at - seconds, name) for at, name in self._clocks]
        heapify(self._clocks)

    def _put_off(self, seconds: float) -> None:
        """What happened in so much time could not be told: what it may have kept from happening happens later."""
        for gang in self.book.gangs.values():
            gang.put_off(seconds)
            for at in gang.clocks():
                self.wake_at(gang, at)
        self.book.predecessors.set_back(-seconds)

    def _matters(self, at: float, name: str) -> bool:
        """Whether a clock still means something: most are for things that have happened meanwhile."""
        gang = self.book.gangs.get(name)
        if gang is None:
            return False
        if name in self.book.aside:
            return at >= self.book.aside[name].at + AGAIN_SECONDS
        if at in (gang.deadline, gang.not_before, gang.quiet_until) or gang.asked or gang.resting:
            return True
        if at == gang.hold.wakes_at(self.settings.bind_again):
            return True
        return any(slot.empty_since is not None and slot.pod is None for slot in gang.every_slot())

    # -- transitions ---------------------------------------------------------------------------------------------

    def move(self, gang: Gang, cause: Cause, seconds: float | None = None) -> None:
        """The gang goes on to the state that follows, with a clock of its own if it has one."""
        gang.enter(cause, self.now, seconds)
        if gang.deadline is not None:
            self.wake_at(gang, gang.deadline)
        if gang.state is State.QUEUED:
            self.turns.enter(gang)
        said = gang.end.said if gang.gone and gang.end is not None else ""
        self.say(Report(gang.id, gang.state, cause.name, gang.reason, self.now, said))

    def say(self, effect: Effect) -> None:
        self._effects.append(effect)

    # -- who waits -----------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Looks at those who wait and whom something could have helped, in turn, until nobody's turn comes of it."""
        names = self._names
        while True:
            taken = self.book.came
            self.book.note_who_came()
            awake = self.turns.awake(names, self.now, taken)
            all_passed = all(self._passes(gang, self._look) for gang in awake)  # else the lines were made anew
            self.book.freed = False
            if all_passed and not self.book.came and not self.turns.stirred:
                return
            names = set()

    def _look(self, gang: Gang) -> None:
        """One look at one that waits: it starts, or sleeps until what is in its way may have gone."""
        if gang.spoiled:
            self._turn_away(gang)
        elif gang.is_held_back:
            self._wait(gang, gang.request, Reason(Why.SUSPENDED, gang.request.root.name, "cluster", 0))
        elif gang.not_before > self.now:
            self._wait(gang, gang.request, Reason(Why.BACKING_OFF, gang.request.root.name, "cluster", 0))
        elif (queue := self.turns.closed(gang.request)) is not None:
            self._wait(gang, gang.request, shut_out(gang.request, queue))
        else:
            self.let_go(gang)
            self._look_for_places(gang)

    def _look_for_places(self, gang: Gang) -> None:
        """Nothing but its pods, its turn and what is free stands in its way."""
        if isinstance(wanted := self._wanted(gang), Missing):
            self._wait_for_pods(gang, gang.lacks(wanted))
        elif not self._is_known(wanted.topology):
            self._refuse(gang, wanted, Reason(Why.NO_MATCHING_NODES, wanted.root.name, "cluster", 0))
        elif (ahead := self.turns.ahead_of(gang, self.now)) is not None:
            self._wait(gang, wanted, Reason(Why.BEHIND_OTHERS, wanted.root.name, "cluster", 0, ahead=ahead))
        elif (known := self._still_true(gang, wanted)) is not None:
            self._wait(gang, wanted, known)
        else:
            self._try(gang, wanted)

    def _still_true(self, gang: Gang, wanted: Request) -> Reason | None:
        """The reason it was given last, if that was room and a quick look says that there is none. Who holds back
        others is tried in full, and so is one that asks for something else by now."""
        about_room = gang.reason is not None and gang.reason.type in ROOM
        if not about_room or not self.turns.was_refused(gang, wanted):
            return None
        if self.turns.blocks(gang, self.now) or self.turns.might_fit(wanted):
            return None
        return gang.reason

    def _is_known(self, topology: str | None) -> bool:
        """Whether the topology that its levels are numbers of is there; it may be made later (K-026)."""
        return topology is None or any(one.name == topology for one in self.book.topologies)

    def _wanted(self, gang: Gang) -> Request | Missing:
        """What is placed now: the pods that exist, or all of it where the owner makes them only afterwards."""
        if enforce.is_ahead(gang):
            return gang.request
        return sizing.sized(gang.asks(), gang.seen())

    def _try(self, gang: Gang, wanted: Request) -> None:
        reasons: list[Reason] = []
        for flavor, way in self.turns.ways(wanted):
            name = None if flavor is None else flavor.name
            decision = way if isinstance(way, Reason) else self._decide_within_quota(way, name)
            if isinstance(decision, Placed):
                return self._start(gang, decision, name)
            if isinstance(decision, Invalid):
                return self._turn_away(gang, decision.problems)
            reasons.append(decision if isinstance(decision, Reason) else decision.reason)
        return self._refuse(gang, wanted, *reasons)

    def _turn_away(self, gang: Gang, problems: tuple[Problem, ...] = ()) -> None:
        gang.turn_away(problems)
        self.turns.leave(gang.id)
        self.move(gang, Cause.WRONG)

    def _decide_within_quota(self, way: Request, flavor: str | None) -> Decision | Reason:
        """One decision; another one without what there is no quota for, where the gang can do without that."""
        decision = self.decide(way)
        less = self.turns.beyond_quota(decision, flavor) if isinstance(decision, Placed) else None
        if less is None:
            return decision
        return less if isinstance(less, Reason) else self.decide(less)

    def decide(self, wanted: Request) -> Decision:
        """One decision on the board as it stands, noted down, and shown with its picture to whoever wants to see it."""
        decision = decide(self.book.board, wanted, self.policy)
        self.decisions.append(decision)
        if self._on_decision is not None:
            self._on_decision(self.book.board.snapshot(), wanted, self.policy, decision)
        return decision

    def _start(self, gang: Gang, placed: Placed, flavor: str | None) -> None:
        self.turns.leave(gang.id)
        made = slots.made(placed.request, placed.placement)
        gang.start(slots.numbered(made, gang.request, gang.living()), flavor)
        ahead = enforce.is_ahead(gang)
        self.move(gang, Cause.PLACED_AHEAD if ahead else Cause.PLACED, gang.request.rules.schedule)
        if ahead and gang.owner is not None:
            self.say(Prepare(gang.id, gang.owner))
            self.say(Resume(gang.id, gang.owner))
        self._reactions.release(gang)
        self.rebook(gang)
        if not ahead and not any(gang.every_slot()):
            self._reactions.react(gang)  # its minimum is done already, and nobody is sent of whom it would hear

    def _refuse(self, gang: Gang, wanted: Request, *reasons: Reason) -> None:
        """It was tried, and waits."""
        self.turns.judge(gang, wanted, reasons)
        self._wait(gang, wanted, *reasons)

    def _wait(self, gang: Gang, wanted: Request, *reasons: Reason) -> None:
        """It waits, for the last of these that is told, and for any of them that changes."""
        self.turns.sleep(gang, wanted, reasons)
        gang.wait(told(reasons))
        self._tell(gang)

    def _wait_for_pods(self, gang: Gang, lack: Reason) -> None:
        """It waits for pods. That is told when they are long in coming, and again after as long. (W-019)"""
        if gang.quiet_until is None:
            began = gang.entered if gang.reason is None else self.now
            self._keep_quiet(gang, began + self.settings.pods_grace)
        self.turns.sleep(gang, gang.request, [lack])
        gang.wait_for_pods(lack)
        if gang.quiet_until is not None and gang.quiet_until <= self.now and gang.told != lack:
            self._keep_quiet(gang, self.now + self.settings.pods_grace)
            self._tell(gang)

    def _keep_quiet(self, gang: Gang, until: float) -> None:
        gang.keep_quiet(until)
        self.wake_at(gang, until)

    def _tell(self, gang: Gang) -> None:
        """Reports why a gang waits, once for each reason."""
        if gang.tell():
            self.say(Report(gang.id, gang.state, "", gang.reason, self.now))

    def let_go(self, gang: Gang) -> None:
        """What makes its pods, and was held back until they were gone, makes pods again."""
        for maker in gang.hold.due(self.now, self.settings.bind_again):
            self.say(Resume(gang.id, maker.object, gated=False))
            self.wake_at(gang, self.now + self.settings.bind_again)

    def rebook(self, gang: Gang) -> None:
        """Board and quota follow what a gang holds now."""
        self.book.rebook(gang)
        self.turns.book_use(gang)
