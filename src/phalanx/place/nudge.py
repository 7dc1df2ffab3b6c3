"""T1 for rules that cross: pods moved one by one until nothing is broken.

A last try before branching, for plans with nothing nested: of all moves of one pod to another node the one that leaves
the least broken is made, and may not be taken back for a while. A node may be over-full on the way (that counts as
broken too), else tight clusters allow no move at all. Finds or does not find; proves nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phalanx.place.between import Apart, Beside, Even, Rule
from phalanx.place.budget import Budget
from phalanx.place.draft import Draft
from phalanx.place.greedy import Found
from phalanx.place.plan import Leaf, Plan

Ints = npt.NDArray[np.int64]

MOVES_MAX = 400
RESTS = (6, 13)  # moves for which a pod may not return to the node it left; each length gets its own walk
TINY = 1e-9  # rounding of sums of fractions
NODES_MAX = 64  # beyond this a move is too dear to look for


@dataclass(slots=True)
class Tally:
    """One rule in numbers: two counts per class, and by how many pods it is broken.

    Even: pods that count, and pods of the owner. Apart: pods of the one and of the other set.
    """

    rule: Even | Apart
    codes: list[int]
    first: list[int]
    second: list[int]

    def broken(self) -> int:
        if isinstance(self.rule, Even):
            least = 0 if self.rule.floor else min(self.first)
            most = least + self.rule.skew
            owned = zip(self.first, self.second, strict=True)
            return sum(total - most for total, own in owned if total > most and (own or not self.rule.owner))
        if self.rule.first == self.rule.second:
            return sum(count - 1 for count in self.first if count > 1)
        return sum(min(pair) for pair in zip(self.first, self.second, strict=True))


@dataclass(slots=True)
class Desk:
    """Pods of every leaf per node, room left, and the tallies of the rules."""

    leaves: list[Leaf]
    needs: list[list[tuple[int, int]]]  # per leaf: (row, need)
    weights: list[list[tuple[int, int]]]  # per leaf and rule: what one pod adds to the two counts
    tallies: list[Tally]
    free: list[list[int]]  # [row][node]
    scale: list[int]  # per row the largest need: an excess of that much counts as one pod too many
    pods: list[dict[int, int]]
    excess: float = 0.0

    def shift(self, at: int, node: int, step: int) -> None:
        self.pods[at][node] = self.pods[at].get(node, 0) + step
        for row, need in self.needs[at]:
            before = self.free[row][node]
            after = self.free[row][node] = before - need * step
            if before < 0 or after < 0:
                self.excess += (max(-after, 0) - max(-before, 0)) / self.scale[row]
        for tally, (one, two) in zip(self.tallies, self.weights[at], strict=True):
            code = tally.codes[node]
            if code >= 0:
                tally.first[code] += one * step
                tally.second[code] += two * step

    def admits(self, at: int, node: int) -> bool:
        mask = self.leaves[at].shape.mask
        return mask is None or bool(mask[node])

    def broken(self) -> float:
        rules = sum(tally.broken() for tally in self.tallies)
        return rules + (self.excess if self.excess > TINY else 0.0)


def settle(draft: Draft, plan: Plan, rules: list[Rule], found: Found, budget: Budget) -> Found | None:
    """A placement that keeps all rules, reached from one that does not; None if none was met on the way."""
    bounded = any(leaf.units or leaf.limits or leaf.windows for leaf in plan.leaves)
    if bounded or plan.root.kids or plan.root.level or plan.ceilings or plan.exclusions:
        return None
    kept = [rule for rule in rules if not isinstance(rule, Beside)]
    if draft.tree.size > NODES_MAX or len(kept) < len(rules):
        return None
    walks = (_walk(_desk(draft, plan, kept, found), rest, draft.tree.size, budget) for rest in RESTS)
    return next((walked for walked in walks if walked is not None), None)


def _walk(desk: Desk, rest: int, size: int, budget: Budget) -> Found | None:
    resting: dict[tuple[int, int], int] = {}
    for turn in range(MOVES_MAX):
        if desk.broken() == 0 and _inside(desk):
            return _found(desk)
        move = _best_move(desk, resting, turn, size, budget)
        if move is None:
            return None
        at, source, target = move
        desk.shift(at, source, -1)
        desk.shift(at, target, 1)
        resting[at, source] = turn + rest
    return None


def _desk(draft: Draft, plan: Plan, rules: list[Even | Apart], found: Found) -> Desk:
    needs = [list(zip(x.shape.rows.tolist(), x.shape.need.tolist(), strict=True)) for x in plan.leaves]
    scale = [1] * len(draft.free)
    for row, need in (pair for pairs in needs for pair in pairs):
        scale[row] = max(scale[row], need)
    tallies = [_tally(rule) for rule in rules]
    weights = [[_weight(rule, leaf) for rule in rules] for leaf in plan.leaves]
    desk = Desk(plan.leaves, needs, weights, tallies, draft.free.tolist(), scale, [{} for _ in plan.leaves])
    for at, leaf in enumerate(plan.leaves):
        for node, count in zip(*(x.tolist() for x in found[leaf.number]), strict=True):
            desk.shift(at, node, count)
    return desk


def _tally(rule: Even | Apart) -> Tally:
    first = rule.running.tolist() if isinstance(rule, Even) else [0] * rule.classes.count
    return Tally(rule, rule.classes.codes.tolist(), first, [0] * rule.classes.count)


def _weight(rule: Even | Apart, leaf: Leaf) -> tuple[int, int]:
    one, two = (rule.counted, rule.owner) if isinstance(rule, Even) else ((rule.first,), (rule.second,))
    return sum(name in one for name in leaf.parts), sum(name in two for name in leaf.parts)


def _inside(desk: Desk) -> bool:
    """No node is over-full, judged exactly where something was placed."""
    used = {node for pods in desk.pods for node, count in pods.items() if count}
    rows = {row for leaf in desk.leaves for row in leaf.shape.rows.tolist()}
    return all(desk.free[row][node] >= 0 for row in rows for node in used)


def _best_move(
    desk: Desk, resting: dict[tuple[int, int], int], turn: int, size: int, budget: Budget
) -> tuple[int, int, int] | None:
    best, chosen = None, None
    for at, source, target in _moves(desk, size):
        if resting.get((at, target), -1) >= turn or not desk.admits(at, target):
            continue
        budget.spend(100 * (2 + len(desk.tallies)))  # some microseconds a rule
        desk.shift(at, source, -1)
        desk.shift(at, target, 1)
        left = desk.broken()
        desk.shift(at, target, -1)
        desk.shift(at, source, 1)
        if best is None or left < best:
            best, chosen = left, (at, source, target)
    return chosen


def _moves(desk: Desk, size: int) -> Iterator[tuple[int, int, int]]:
    for at in range(len(desk.leaves)):
        for source in sorted(node for node, count in desk.pods[at].items() if count):
            yield from ((at, source, target) for target in range(size) if target != source)


def _found(desk: Desk) -> Found:
    out: Found = {}
    for at, leaf in enumerate(desk.leaves):
        held = sorted((node, count) for node, count in desk.pods[at].items() if count)
        out[leaf.number] = (np.array([n for n, _ in held]), np.array([c for _, c in held], dtype=np.int64))
    return out
