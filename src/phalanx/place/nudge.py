"""T1 for rules that cross: pods moved one by one until nothing is broken.

A last try before branching, for plans with nothing nested: of all moves of one pod to another node the one that leaves
the least broken is made, and may not be taken back for a while. A node may be over-full on the way (that counts as
broken too), else tight clusters allow no move at all. Finds or does not find; proves nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

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
class Desk:
    """Pods of every leaf per node, room left, and how many pods each class of each rule has of each pod set."""

    leaves: list[Leaf]
    rules: list[Rule]
    codes: list[list[int]]
    free: list[list[int]]  # [row][node]
    scale: list[int]  # per row the largest need: an excess of that much counts as one pod too many
    pods: list[dict[int, int]]
    excess: float = 0.0
    totals: list[list[dict[str, int]]] = field(default_factory=list)

    def shift(self, at: int, node: int, step: int) -> None:
        leaf = self.leaves[at]
        self.pods[at][node] = self.pods[at].get(node, 0) + step
        for row, need in zip(leaf.shape.rows.tolist(), leaf.shape.need.tolist(), strict=True):
            before = self.free[row][node]
            after = self.free[row][node] = before - need * step
            self.excess += (max(-after, 0) - max(-before, 0)) / self.scale[row]
        for codes, classes in zip(self.codes, self.totals, strict=True):
            if codes[node] >= 0:
                here = classes[codes[node]]
                for name in leaf.parts:
                    here[name] = here.get(name, 0) + step

    def admits(self, at: int, node: int) -> bool:
        mask = self.leaves[at].shape.mask
        return mask is None or bool(mask[node])

    def broken(self) -> float:
        rules = sum(_broken(rule, classes) for rule, classes in zip(self.rules, self.totals, strict=True))
        return rules + (self.excess if self.excess > TINY else 0.0)


def settle(draft: Draft, plan: Plan, rules: list[Rule], found: Found, budget: Budget) -> Found | None:
    """A placement that keeps all rules, reached from one that does not; None if none was met on the way."""
    bounded = any(leaf.units or leaf.limits or leaf.windows for leaf in plan.leaves)
    if bounded or plan.root.kids or plan.root.level or plan.ceilings or plan.exclusions:
        return None
    if draft.tree.size > NODES_MAX or any(isinstance(rule, Beside) for rule in rules):
        return None
    walks = (_walk(_desk(draft, plan, rules, found), rest, draft.tree.size, budget) for rest in RESTS)
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


def _desk(draft: Draft, plan: Plan, rules: list[Rule], found: Found) -> Desk:
    scale = [1] * len(draft.free)
    for leaf in plan.leaves:
        for row, need in zip(leaf.shape.rows.tolist(), leaf.shape.need.tolist(), strict=True):
            scale[row] = max(scale[row], need)
    desk = Desk(
        plan.leaves, rules, [rule.classes.codes.tolist() for rule in rules], draft.free.tolist(), scale,
        [{} for _ in plan.leaves], totals=[[{} for _ in range(rule.classes.count)] for rule in rules],
    )  # fmt: skip
    for at, leaf in enumerate(plan.leaves):
        for node, count in zip(*(x.tolist() for x in found[leaf.number]), strict=True):
            desk.shift(at, node, count)
    return desk


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
        budget.spend(500 * (1 + len(desk.rules)))  # about ten microseconds a rule
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


def _broken(rule: Rule, classes: list[dict[str, int]]) -> int:
    """By how many pods a rule is broken."""
    if isinstance(rule, Even):
        totals = [
            sum(here.get(name, 0) for name in rule.counted) + int(running)
            for here, running in zip(classes, rule.running.tolist(), strict=True)
        ]
        least = 0 if rule.floor else min(totals)
        owned = [not rule.owner or any(here.get(name, 0) for name in rule.owner) for here in classes]
        return sum(max(total - least - rule.skew, 0) for total, own in zip(totals, owned, strict=True) if own)
    assert isinstance(rule, Apart)
    if rule.first == rule.second:
        return sum(max(here.get(rule.first, 0) - 1, 0) for here in classes)
    return sum(min(here.get(rule.first, 0), here.get(rule.second, 0)) for here in classes)


def _found(desk: Desk) -> Found:
    out: Found = {}
    for at, leaf in enumerate(desk.leaves):
        held = sorted((node, count) for node, count in desk.pods[at].items() if count)
        out[leaf.number] = (np.array([n for n, _ in held]), np.array([c for _, c in held], dtype=np.int64))
    return out
