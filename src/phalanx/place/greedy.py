"""T1: best fit, hardest group first, in four variants, with a journal to undo.

Complete where sizes divide each other (1, 2, 4, 8 ...): placing the large ones first, wherever, leaves exactly
as many places for the small ones. Elsewhere it finds most placements and ``exact`` settles the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.place import choose, fewest
from phalanx.place.budget import Budget
from phalanx.place.choose import Order
from phalanx.place.draft import Draft
from phalanx.place.fit import Capacity
from phalanx.place.plan import Leaf, Plan, Unit, size
from phalanx.place.split import Style, descend

Ints = npt.NDArray[np.int64]
Found = dict[int, tuple[Ints, Ints]]  # leaf number -> (nodes ascending, pods on each)

CANDIDATES_MAX = 6  # domains tried per unit; more hardly ever helps (untuned guess of the prototype, kept)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of being greedy: which domains to fill first, and what to place first."""

    small_first: bool
    pieces_first: bool  # by largest indivisible piece instead of units before loose pods


SMALL_FIRST = Style(small_first=True)
VARIANTS = (Variant(False, False), Variant(True, False), Variant(True, True), Variant(False, True))


@dataclass(slots=True)
class Greedy:
    """One search over one plan. ``found`` holds what is placed so far, beside the draft's journal."""

    draft: Draft
    plan: Plan
    reference: npt.NDArray[np.float64]
    order: Order
    style: Style
    budget: Budget
    variant: Variant = VARIANTS[0]
    trail: list[tuple[int, Ints, Ints]] = field(default_factory=list)

    def search(self, variants: tuple[Variant, ...] = VARIANTS) -> Found | None:
        """A placement, left taken on the draft; or None with the draft as it was."""
        for self.variant in variants:
            if self._unit(self.plan.root, 0, 0):
                return collect(self.trail)
        return None

    def _unit(self, unit: Unit, level: int, domain: int) -> bool:
        """Puts a unit somewhere inside a domain."""
        if unit.level <= level:
            return self._undone_unless(self._inside(unit, level, domain), self.draft.mark(), len(self.trail))
        for candidate in self._candidates(unit, level, domain):
            self.budget.spend(1000)
            mark, trail = self.draft.mark(), len(self.trail)
            if self._undone_unless(self._inside(unit, unit.level, candidate), mark, trail):
                return True
        return False

    def _undone_unless(self, good: bool, mark: int, trail: int) -> bool:
        if not good:
            self.draft.undo(mark)
            del self.trail[trail:]
        return good

    def _candidates(self, unit: Unit, level: int, domain: int) -> list[int]:
        inside = self.draft.tree.within(level, domain, unit.level)
        if unit.heaviest is None or unit.mask is None:
            raise Mistake("a unit was not bounded before it was placed")
        leaf, count = unit.heaviest
        caps = leaf.capacity(self.draft, unit.level).levels[unit.level][inside.start : inside.stop]
        self.budget.spend(len(inside))
        allowed = unit.mask[inside.start : inside.stop]
        most = CANDIDATES_MAX
        return [inside.start + i for i in choose.several(caps, allowed, count, self.order, most)]

    def _inside(self, unit: Unit, level: int, domain: int) -> bool:
        """Everything of a unit into one domain."""
        if self.variant.pieces_first and unit.kids and unit.loose:
            return all(
                self._unit(item, level, domain) if isinstance(item, Unit) else self._put(item, level, domain)
                for item in self._by_piece(unit, level)
            )
        return all(self._unit(kid, level, domain) for kid in unit.kids) and all(
            self._put(leaf, level, domain) for leaf in self._loose(unit)
        )

    def _loose(self, unit: Unit) -> list[Leaf]:
        if not self.variant.pieces_first:
            return unit.loose
        return sorted(unit.loose, key=lambda leaf: -float((leaf.shape.need / self.reference[leaf.shape.rows]).sum()))

    def _by_piece(self, unit: Unit, level: int) -> list[Unit | Leaf]:
        pieces: list[tuple[float, int, Unit | Leaf]] = [(-kid.weight, i, kid) for i, kid in enumerate(unit.kids)]
        for leaf in unit.loose:
            sliced = max((number for at, number in leaf.units if at > level), default=1)
            # a slice must find one domain, so it is harder than its size; 4 is what worked best in trials
            weight = size(leaf.shape, self.reference) * sliced * (1 if sliced == 1 else 4)
            pieces.append((-weight, len(pieces), leaf))
        return [piece for _, _, piece in sorted(pieces, key=lambda p: p[:2])]

    def _put(self, leaf: Leaf, level: int, domain: int) -> bool:
        """All pods of a leaf into one domain, if they fit by counting."""
        if not leaf.count:
            return True
        shared = dict(self._shared(leaf))
        if any(most[self._around(level, domain, at)] < leaf.count for at, most in shared.items() if at <= level):
            return False
        bounded = leaf.below({at: most for at, most in shared.items() if at > level})
        capacity = bounded.capacity(self.draft, level)
        if bounded is not leaf or any(window.low is not None for window in leaf.windows.values()):
            return self._put_between(bounded, capacity, level, domain)
        if capacity.levels[level][domain] < leaf.count:
            return False
        self._take(leaf, *descend(self.draft.tree, capacity, level, domain, leaf.count, self._style(leaf)))
        return True

    def _put_between(self, leaf: Leaf, capacity: Capacity, level: int, domain: int) -> bool:
        """The same where domains inside must have some, or may have no more."""
        self.budget.spend(self.draft.tree.size)
        low = fewest.counts(self.draft, leaf, capacity, level)
        if not low[level][domain] <= leaf.count <= capacity.levels[level][domain]:
            return False
        for nodes, counts in fewest.place(self.draft, leaf, low, level, domain, self._style(leaf)):
            self._take(leaf, nodes, counts)
        return True

    def _shared(self, leaf: Leaf) -> Iterator[tuple[int, Ints]]:
        """For each level with rules that a leaf shares with others: how many of it each domain may have beside those
        that are placed already."""
        if not self.plan.exclusions and not self.plan.ceilings:
            return
        tree, most = self.draft.tree, dict[int, Ints]()
        for exclusion in self.plan.exclusions:
            pair = {exclusion.first.number, exclusion.second.number}
            if leaf.number in pair:
                there = self._pods(exclusion.level, pair - {leaf.number})
                most[exclusion.level] = _least(most.get(exclusion.level), np.where(there > 0, 0, leaf.count))
        for ceiling in self.plan.ceilings:
            numbers = {one.number for one in ceiling.leaves}
            if leaf.number in numbers:
                left = np.maximum(ceiling.most - self._pods(ceiling.level, numbers - {leaf.number}), 0)
                most[ceiling.level] = _least(most.get(ceiling.level), left)
        self.budget.spend(len(most) * tree.size)
        yield from most.items()

    def _pods(self, level: int, numbers: set[int]) -> Ints:
        """Pods of these leaves in every domain of a level."""
        tree = self.draft.tree
        total = np.zeros(tree.count(level), dtype=np.int64)
        for number, nodes, counts in self.trail:
            if number in numbers:
                np.add.at(total, tree.domain[level][nodes], counts)
        return total

    def _around(self, level: int, domain: int, outer: int) -> int:
        """The domain of a wider level in which one lies."""
        return int(self.draft.tree.domain[outer][self.draft.tree.start[level][domain]])

    def _style(self, leaf: Leaf) -> Style:
        if self.variant.small_first:
            return SMALL_FIRST
        return self.style if leaf.across is None else replace(self.style, across=leaf.across)

    def _take(self, leaf: Leaf, nodes: Ints, counts: Ints) -> None:
        self.budget.spend(len(nodes) + 500)
        self.draft.take(leaf.shape, nodes, counts)
        self.trail.append((leaf.number, nodes, counts))


def _least(one: Ints | None, other: Ints) -> Ints:
    return other if one is None else np.minimum(one, other)


def collect(trail: list[tuple[int, Ints, Ints]]) -> Found:
    """What was placed per leaf, nodes ascending and each once."""
    found: Found = {}
    for number, nodes, counts in trail:
        if number in found:
            nodes = np.concatenate([found[number][0], nodes])
            counts = np.concatenate([found[number][1], counts])
            unique, where = np.unique(nodes, return_inverse=True)
            counts = np.bincount(where, weights=counts).astype(np.int64)
            nodes = unique
        found[number] = (nodes, counts)
    return found
