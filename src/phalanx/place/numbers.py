"""Whole numbers under linear rules: is there a value for each that keeps them all?

Exact and general, for a few hundred numbers. Every number has bounds; a rule (so much of these numbers together is at
most that) tightens them. Where nothing follows any more a number is guessed. When guesses end in a contradiction, what
of them was to blame is learnt as a new rule (one of these bounds must be otherwise) and the search goes back to where
that rule first says something. So a part that cannot work is found once, not once for every guess made before it.

    a + b <= 3,  a >= 2   gives  b <= 1

Bounds are kept in pairs of sides: side ``2 * x`` holds the least value of number x, side ``2 * x + 1`` the most, with
its sign turned, so that on both sides "larger" is "tighter" and a rule is one sum of sides with positive weights.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

from phalanx.place.blame import PER_TERM, PER_VISIT, Blame, Bound
from phalanx.place.budget import Budget

RESTART = 50  # conflicts before the search starts over with what it has learnt; times 1, 1, 2, 1, 1, 2, 4 ...
SAY_MAX = 1e100
DECAY = 0.95  # how fast older conflicts lose their say in what is guessed next
NOBODY = (0, -1)  # in the place of a clause that watches elsewhere now
GUESS = -1  # the reason of a bound that nothing forced
PER_NUMBER, PER_RULE = 60, 40  # work units of making one; a rule costs as much again for each of its terms
PER_BOUND = 24  # and of tightening a bound
OFTEN = 20_000  # what is spent is booked when so much has come together


class Numbers:
    """Numbers, rules about them, and the search for values."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.side: list[int] = []  # by side: its bound now
        self.rules: list[list[tuple[int, int]]] = []  # linear ones: (weight > 0, side)
        self.most: list[int] = []  # by rule: what its sum may be
        self.slack: list[int] = []  # by rule: how far below that the sum of the bounds is
        self.root: list[int] = []  # by side: its bound before the first guess
        self.widest: list[int] = []  # by rule: the most that any of its terms could take up
        self.in_rules: list[list[tuple[int, int]]] = []  # by side: (rule, weight)
        self.clauses: list[list[Bound]] = []  # learnt: one of these holds. The first two are watched
        self.watched: list[list[tuple[int, int]]] = []  # by side: where it rules out a watched bound, of which clause
        self.hint: list[int] = []  # by number: the value to guess first
        self.say: list[float] = []  # by number: its part in recent conflicts
        self.weight = 1.0
        self.turns: list[tuple[float, int]] = []  # a heap: (say with its sign turned, number), the next to guess first
        self.has_turn: list[bool] = []  # by number: whether it is among them with the say it has
        # the trail: every tightening since the start, and where the entries of each guess begin
        self.at: list[tuple[int, int, int, int]] = []  # (side, bound before, the side's entry before, reason)
        self.size = 0  # how many entries it has
        self.last: list[int] = []  # by side: its newest entry, -1 if none
        self.guesses: list[int] = []
        self.todo: list[int] = []  # rules to look at
        self.queued: list[bool] = []  # by rule: whether it is among them
        self.cost: list[int] = []  # by rule: the work of looking at it
        self.spent = 0  # not booked yet
        self.seen = 0  # entries of the trail whose clauses were looked at
        self.possible = True

    # ---- what is asked ------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        """A new number between two bounds."""
        self.budget.spend(PER_NUMBER)
        self.side += [low, -high]
        self.in_rules += [[], []]
        self.watched += [[], []]
        self.last += [-1, -1]
        self.hint.append(low)
        self.say.append(0.0)
        self.has_turn.append(False)
        if low > high:
            self.possible = False
        return len(self.hint) - 1

    def at_most(self, terms: Iterable[tuple[int, int]], most: int) -> None:
        """A rule: the sum of (factor, number) is at most so much."""
        terms = list(terms)
        self.budget.spend(PER_RULE * (1 + len(terms)))
        total: dict[int, int] = {}
        for factor, number in terms:
            total[number] = total.get(number, 0) + factor
        rule = [(factor, 2 * x) if factor > 0 else (-factor, 2 * x + 1) for x, factor in total.items() if factor]
        slack = most - sum(weight * self.side[side] for weight, side in rule)
        widest = max((-w * (self.side[side] + self.side[side ^ 1]) for w, side in rule), default=0)
        if slack < 0:
            self.possible = False
        if slack >= sum(-w * (self.side[side] + self.side[side ^ 1]) for w, side in rule):
            return  # it holds whatever the values are
        for weight, side in rule:
            self.in_rules[side].append((len(self.rules), weight))
        self.todo.append(len(self.rules))
        self.queued.append(True)
        self.cost.append(PER_VISIT + PER_TERM * len(rule))
        self.rules.append(rule)
        self.most.append(slack + sum(weight * self.side[side] for weight, side in rule))
        self.slack.append(slack)
        self.widest.append(widest)

    def at_least(self, terms: Iterable[tuple[int, int]], least: int) -> None:
        self.at_most([(-factor, number) for factor, number in terms], -least)

    def equal(self, terms: list[tuple[int, int]], value: int) -> None:
        self.at_most(terms, value)
        self.at_least(terms, value)

    def at_most_if(self, terms: list[tuple[int, int]], most: int, given: int) -> None:
        """A rule that holds where ``given`` (0 or 1) is 1."""
        top = sum(factor * (-self.side[2 * x + 1] if factor > 0 else self.side[2 * x]) for factor, x in terms)
        if top > most:
            self.at_most([*terms, (top - most, given)], top)

    # ---- the search ---------------------------------------------------------------------------------

    def solve(self) -> list[int] | None:
        """A value for every number, or None: proved that there are none. ``BudgetSpent`` if neither was found."""
        if not self.possible:
            return None
        turn, left = 1, RESTART
        for x in range(len(self.hint)):
            self._give_turn(x)
        while True:
            broken = self._follow()
            self._book()
            if broken is not None:
                if not self.guesses:
                    return None
                self._learn(broken)
                left -= 1
            elif left <= 0 and self.guesses:
                turn += 1
                left = RESTART * _luby(turn)
                self._back_to(0)
            elif not self._guess():
                return self.side[::2]

    def _guess(self) -> bool:
        """Tightens the number with most say in recent conflicts towards its hint; False if all have their value."""
        side = self.side
        if not self.guesses:
            self.root = list(side)
            self.spent += len(side)
        while self.turns:
            say, x = heappop(self.turns)
            self.spent += PER_BOUND
            if -say != self.say[x]:
                continue  # it has had more say since, and another turn for that
            self.has_turn[x] = False
            low, high = side[2 * x], -side[2 * x + 1]
            if low < high:
                value = min(max(self.hint[x], low), high)
                self.guesses.append(self.size)
                self._tighten(*((2 * x, value) if value > low else (2 * x + 1, -value)), GUESS)
                self._give_turn(x)
                return True
        return False

    def _give_turn(self, x: int) -> None:
        if not self.has_turn[x]:
            self.has_turn[x] = True
            heappush(self.turns, (-self.say[x], x))

    def _tighten(self, side: int, value: int, reason: int) -> None:
        before, slack, widest, queued = self.side[side], self.slack, self.widest, self.queued
        self.at.append((side, before, self.last[side], reason))
        self.last[side] = self.size
        self.size += 1
        self.side[side] = value
        self.spent += PER_BOUND
        for rule, weight in self.in_rules[side]:
            slack[rule] -= weight * (value - before)
            if slack[rule] < widest[rule] and not queued[rule]:
                queued[rule] = True
                self.todo.append(rule)

    def _back_to(self, guesses: int) -> None:
        """Undoes all but so many guesses and what followed from them."""
        start = self.guesses[guesses]
        self.budget.spend(PER_BOUND * (self.size - start))
        for side, before, entry, _ in reversed(self.at[start:]):
            if self.side[side] + self.side[side ^ 1] == 0:
                self.hint[side >> 1] = self.side[side & ~1]
            if not self.has_turn[side >> 1]:
                self._give_turn(side >> 1)
            gain = self.side[side] - before
            for rule, weight in self.in_rules[side]:
                self.slack[rule] += weight * gain
            self.side[side] = before
            self.last[side] = entry
        del self.at[start:], self.guesses[guesses:]
        for rule in self.todo:
            self.queued[rule] = False
        self.todo.clear()
        self.seen = self.size = start

    # ---- what follows -------------------------------------------------------------------------------

    def _follow(self) -> int | None:
        """Tightens what the rules force; the rule or clause that cannot be kept, or None.

        Clauses are numbered from -2 downwards, so that one number names either.
        """
        side, watched, todo = self.side, self.watched, self.todo
        while True:
            while self.seen < self.size:
                tightened = self.at[self.seen][0]
                self.seen += 1
                if watched[tightened]:
                    broken = self._heed(tightened)
                    if broken is not None:
                        return broken
            if not todo:
                return None
            rule = todo.pop()
            self.queued[rule] = False
            slack = self.slack[rule]
            if slack < 0:
                return rule
            self.spent += self.cost[rule]
            for weight, one in self.rules[rule]:
                low = side[one]
                if weight * (-side[one ^ 1] - low) > slack:
                    self._tighten(one ^ 1, -(low + slack // weight), rule)
            if self.spent > OFTEN:
                self._book()

    def _book(self) -> None:
        spent, self.spent = self.spent, 0
        self.budget.spend(spent)

    def _heed(self, tightened: int) -> int | None:
        """Looks at the clauses of which a watched bound became false."""
        watchers, clauses, side = self.watched[tightened], self.clauses, self.side
        now, other, left = side[tightened], tightened ^ 1, False
        self.spent += PER_TERM * len(watchers)
        broken: int | None = None
        for at, (false_at, number) in enumerate(watchers):
            if now < false_at:
                continue
            self.spent += PER_VISIT
            clause = clauses[number]
            if clause[0][0] == other:
                clause[0], clause[1] = clause[1], clause[0]
            first, least = clause[0]
            if side[first] >= least:
                continue
            for i, (one, bound) in enumerate(clause):
                if i > 1 and side[one ^ 1] + bound <= 0:
                    clause[1], clause[i] = clause[i], clause[1]
                    self.watched[one ^ 1].append((1 - bound, number))
                    watchers[at] = NOBODY
                    left = True
                    break
            else:
                if side[first ^ 1] + least > 0:
                    broken = -2 - number
                    break
                self._tighten(first, least, -2 - number)
        if left:
            self.watched[tightened] = [entry for entry in watchers if entry is not NOBODY]
        return broken

    # ---- learning -----------------------------------------------------------------------------------

    def _learn(self, broken: int) -> None:
        """Finds what of the guesses made a contradiction, keeps it as a clause, and goes back to where it matters."""
        self.weight /= DECAY
        blame = Blame(self, self.guesses[0], self.guesses[-1])
        blame.explain(broken, None, self.size)
        while True:
            entry, side = blame.newest()
            value = blame.needed[side][0]
            if blame.fresh == 1:
                break
            blame.settle(side)
            blame.explain(self.at[entry][3], (side, value), entry)
        rest = sorted(((at, s, v) for s, (v, at) in blame.needed.items() if s != side), reverse=True)
        clause = [(side ^ 1, 1 - value), *((s ^ 1, 1 - v) for _, s, v in rest)]
        level = 0
        if rest:
            newest = rest[0][0]
            while level < len(self.guesses) and self.guesses[level] <= newest:
                level += 1
        self._heard(blame.met, [s for s, _ in clause])
        self._back_to(level)
        if len(clause) > 1:
            number = len(self.clauses)
            self.clauses.append(clause)
            for one, bound in clause[:2]:
                self.watched[one ^ 1].append((1 - bound, number))
            self._tighten(*clause[0], -2 - number)
        else:
            self._tighten(*clause[0], GUESS)  # holds from the start
        self.budget.spend(PER_VISIT * len(clause))

    def _heard(self, met: dict[int, int], learnt: list[int]) -> None:
        """Who was part of a conflict has more say."""
        for side in learnt:
            met[side >> 1] = met.get(side >> 1, 0) + 1
        for x, times in met.items():
            self.say[x] += self.weight * times
            self.has_turn[x] = False
            self._give_turn(x)
        if self.weight > SAY_MAX:
            self.say = [say / SAY_MAX for say in self.say]
            self.weight /= SAY_MAX
            self.turns = []
            self.has_turn = [False] * len(self.say)
            for x in range(len(self.say)):
                self._give_turn(x)


def _luby(turn: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8 ..."""
    size = 1
    while size < turn + 1:
        size *= 2
    return size // 2 if size == turn + 1 else _luby(turn - size // 2 + 1)
