"""The hands of the engine in a simulated world: its effects are carried out a little later, in order per gang.

A bind is answered. Everything else is tried until it is done, as a client does that meets 409 and 5xx.
"""

from collections.abc import Callable, Iterable
from random import Random

from phalanx.model.effects import Act, Bind, Effect, Evict, Notice, Prepare, Report, Resume, Suspend, Ungate
from phalanx.model.events import Answer, BindAnswered
from phalanx.model.nodes import Node
from phalanx.model.pods import PodKey
from phalanx.sim.agenda import Agenda
from phalanx.sim.controllers import Controllers
from phalanx.sim.faults import Faults
from phalanx.sim.truth import Bound, Truth
from phalanx.sim.watches import batch

Answered = Callable[[BindAnswered], None]
Told = Callable[[str], tuple[Node | None, frozenset[PodKey]]]  # what it was last told of a node and strangers on it


class Hands:
    """``counts``: effects by name, as the engine asked for them."""

    def __init__(
        self, truth: Truth, controllers: Controllers, agenda: Agenda, faults: Faults, chance: Random,
        answered: Answered, told: Told,
    ) -> None:  # fmt: skip
        self._truth, self._controllers, self._agenda = truth, controllers, agenda
        self._faults, self._chance, self._answered, self._told = faults, chance, answered, told
        self._free_at: dict[str, float] = {}
        self._under_way: dict[int, Callable[[], None]] = {}
        self._answers: dict[int, None] = {}
        self._sequence = 0
        self.counts: dict[str, int] = {}

    def carry_out(self, effects: Iterable[Effect], step: int) -> None:
        for effect in effects:
            name = type(effect).__name__
            self.counts[name] = self.counts.get(name, 0) + 1
            if not isinstance(effect, Report | Notice):
                self._later(effect, step)

    def _later(self, effect: Act, step: int) -> None:
        delay = self._chance.uniform(0, self._faults.delays.effect)
        if not isinstance(effect, Bind) and self._strikes(self._faults.slow):
            delay += self._chance.uniform(0, self._faults.delay)
        time = max(self._free_at.get(effect.gang, 0.0), self._agenda.now + delay)
        self._free_at[effect.gang] = time
        self._sequence += 1
        self._under_way[self._sequence] = self._action(effect, step)
        number = self._sequence
        self._agenda.at(time, lambda: self._now(number))

    def _now(self, number: int) -> None:
        action = self._under_way.pop(number, None)
        if action is not None:
            action()

    def _strikes(self, probability: float) -> bool:
        return self._agenda.now < self._faults.until and self._chance.random() < probability

    def new_leader(self) -> None:
        """The engine that asked is gone. What it had under way is done or is not; nobody waits for the answers."""
        actions = list(self._under_way.values())
        self._under_way.clear()
        for action in actions:
            if self._chance.random() < 0.5:
                action()
        self._answers.clear()
        self._free_at.clear()

    def _action(self, effect: Act, step: int) -> Callable[[], None]:
        match effect:
            case Bind():
                how = Bound(self._agenda.now, step, effect.rank, *self._told(effect.node))
                return lambda: self._bind(effect, how)
            case Ungate():
                how = Bound(self._agenda.now, step, effect.rank, *self._told(effect.node))
                return lambda: self._ungate(effect, how)
            case Evict():
                return lambda: self._controllers.delete(effect.key)
            case Prepare() | Resume() | Suspend():
                return lambda: self._own(effect)

    def _bind(self, effect: Bind, how: Bound) -> None:
        if self._strikes(self._faults.refused):
            answer = Answer.REFUSED
        elif self._strikes(self._faults.unknown):
            if self._chance.random() < 0.5:
                self._apply(effect, how)
            answer = Answer.UNKNOWN
        else:
            answer = self._apply(effect, how)
        self._answer(BindAnswered(effect.key, effect.node, answer))

    def _apply(self, effect: Bind, how: Bound) -> Answer:
        answer = self._truth.bind(effect.key, effect.node, how)
        if answer is Answer.BOUND and self._controllers.came_too_late(effect.node, how):
            self._controllers.fail(effect.key)
        elif answer is Answer.BOUND:
            self._controllers.was_bound(effect.key)
        return answer

    def _answer(self, event: BindAnswered) -> None:
        self._sequence += 1
        number = self._sequence
        self._answers[number] = None
        arrival = self._agenda.now + self._chance.uniform(0, self._faults.delays.answer)
        self._agenda.at(batch(arrival, self._faults.delays.tick), lambda: self._say(number, event), priority=1)

    def _say(self, number: int, event: BindAnswered) -> None:
        if number in self._answers:
            del self._answers[number]
            self._answered(event)

    def _ungate(self, effect: Ungate, how: Bound) -> None:
        if self._truth.ungate(effect.key, effect.node, effect.selector):
            self._controllers.schedule_pinned(effect.key, how)

    def _own(self, effect: Prepare | Resume | Suspend) -> None:
        """Acts on the owner of a gang, if that is there and in the state for it."""
        gang = self._truth.gangs.get(effect.gang)
        if gang is None or gang.ended or gang.owner != effect.owner:
            return
        if isinstance(effect, Suspend):
            self._controllers.hold(effect.gang)
        elif isinstance(effect, Resume):
            self._controllers.let_go(effect.gang)
        elif gang.held:
            gang.prepared = True
