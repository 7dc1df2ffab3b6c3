"""Which bounds made a contradiction: the part of the solver of whole numbers that learns."""

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phalanx.place.numbers import Numbers

Bound = tuple[int, int]  # (side, value): that side is at least this value

PER_VISIT, PER_TERM = 8, 1  # work units of looking at a rule and at each of its terms


class Blame:
    """The bounds that together make a contradiction, traced back along the trail."""

    def __init__(self, numbers: "Numbers", start: int, current: int) -> None:
        self.n = numbers
        self.start, self.current = start, current  # entries of the first guess, and of the newest
        self.needed: dict[int, tuple[int, int]] = {}  # side -> (value it must have reached, the entry that did)
        self.fresh = 0  # how many of them are newer than the newest guess
        self.heap: list[tuple[int, int]] = []
        self.met: dict[int, int] = {}  # number -> how often it was needed on the way

    def newest(self) -> tuple[int, int]:
        """The newest entry that is needed, and its side."""
        while True:
            entry, side = self.heap[0]
            held = self.needed.get(side)
            if held is not None and held[1] == -entry:
                return -entry, side
            heappop(self.heap)

    def settle(self, side: int) -> None:
        """A needed bound is about to be replaced by its reason."""
        _, entry = self.needed.pop(side)
        if entry >= self.current:
            self.fresh -= 1

    def explain(self, reason: int, bound: Bound | None, before: int) -> None:
        """Adds why a bound holds (None: why nothing is possible), as of an entry of the trail."""
        n = self.n
        if reason <= -2:
            clause = n.clauses[-2 - reason]
            n.spent += PER_VISIT + 2 * PER_TERM * len(clause)
            for side, value in clause:
                if bound is None or side != bound[0]:
                    self._need(side ^ 1, 1 - value, before)
            return
        n.spent += 2 * n.cost[reason]
        own = -1 if bound is None else bound[0] ^ 1
        spare = -n.most[reason] - 1  # by how much the sum of the rule is more than it takes to force the bound
        held: list[tuple[int, int, int]] = []
        for weight, side in n.rules[reason]:
            if side == own and bound is not None:
                spare += weight * (1 - bound[1])
                continue
            entry, value = n.last[side], n.side[side]
            while entry >= before:
                _, value, entry, _ = n.at[entry]
            spare += weight * value
            if value > n.root[side]:
                held.append((weight, side, value))
        for weight, side, value in held:
            if weight * (value - n.root[side]) <= spare:  # it is forced without this one
                spare -= weight * (value - n.root[side])
            else:
                give = spare // weight
                spare -= give * weight
                self._need(side, value - give, before)

    def _need(self, side: int, value: int, before: int) -> None:
        n, entry = self.n, self.n.last[side]
        while entry >= before or (entry >= 0 and n.at[entry][1] >= value):
            entry = n.at[entry][2]
        if entry < self.start:
            return  # so it was before any guess
        n.spent += PER_VISIT
        self.met[side >> 1] = self.met.get(side >> 1, 0) + 1
        held = self.needed.get(side)
        if held is not None:
            if held[0] >= value:
                return
            if held[1] >= self.current:
                self.fresh -= 1
        self.needed[side] = (value, entry)
        if entry >= self.current:
            self.fresh += 1
        heappush(self.heap, (-entry, side))
