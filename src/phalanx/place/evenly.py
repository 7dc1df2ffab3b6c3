"""T1 for even spreads over several pod sets: each in turn is given so many pods in each domain that all stay even.

    counted so far   3 1 0     five more, at most 2 in the last     + 1 2 2     4 3 2

The bounds of every set by itself are kept; how sets get in each other's way on nodes is seen as they are placed, one
after the other. Finds or does not find; proves nothing.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from phalanx.place import fewest
from phalanx.place.between import Even, Rule
from phalanx.place.budget import Budget
from phalanx.place.draft import Draft
from phalanx.place.fit import Capacity
from phalanx.place.greedy import Found, collect
from phalanx.place.plan import Leaf, Plan, Window
from phalanx.place.split import Style

Ints = npt.NDArray[np.int64]


def settle(draft: Draft, plan: Plan, rules: list[Rule], style: Style, budget: Budget) -> Found | None:
    """A placement that is even by one of the rules, the draft as it was; whether it keeps the others is not asked."""
    if plan.root.kids or any(len(leaf.parts) > 1 for leaf in plan.leaves):
        return None
    for rule in rules:
        level = rule.classes.level
        if isinstance(rule, Even) and level is not None and level > plan.root.level:
            mark = draft.mark()
            found = _placed(draft, plan, rule, level, style, budget)
            draft.undo(mark)
            if found is not None:
                return found
    return None


def _placed(draft: Draft, plan: Plan, rule: Even, level: int, style: Style, budget: Budget) -> Found | None:
    """Set by set, those that count first; left taken on the draft."""
    tree, root = draft.tree, plan.root.level
    homes = tree.domain[level][[int(rule.classes.members(code)[0]) for code in range(rule.classes.count)]]
    domain = int(tree.domain[root][tree.start[level][homes[0]]])
    heights, parts = rule.running.copy(), []
    for leaf in sorted(plan.leaves, key=lambda one: not _counts(one, rule)):
        budget.spend(2 * tree.size)
        bounded = leaf
        if _counts(leaf, rule):
            low, most = _bounds(draft, leaf, root)
            step = most.step(level)
            shares = raised(heights, low[level][homes], most.levels[level][homes], leaf.count, step)
            if shares is None:
                return None
            heights = heights + shares
            bounded = _with_shares(leaf, level, homes, shares, tree.count(level))
        low, most = _bounds(draft, bounded, root)
        if not low[root][domain] <= leaf.count <= most.levels[root][domain]:
            return None
        for nodes, pods in fewest.place(draft, bounded, low, root, domain, style):
            draft.take(leaf.shape, nodes, pods)
            parts.append((leaf.number, nodes, pods))
    return collect(parts)


def _counts(leaf: Leaf, rule: Even) -> bool:
    return any(name in rule.counted for name in leaf.parts)


def _bounds(draft: Draft, leaf: Leaf, level: int) -> tuple[list[Ints], Capacity]:
    """How few and how many pods of a leaf every domain of a level and below it may have."""
    most = leaf.capacity(draft, level)
    return fewest.counts(draft, leaf, most, level), most


def _with_shares(leaf: Leaf, level: int, homes: Ints, shares: Ints, count: int) -> Leaf:
    """The leaf with its number of pods in each domain of a level fixed."""
    exactly = np.zeros(count, dtype=np.int64)
    exactly[homes] = shares
    return replace(leaf, windows={**leaf.windows, level: Window(exactly, exactly)}, own=None)


def raised(heights: Ints, low: Ints, high: Ints, count: int, step: int) -> Ints | None:
    """So many more in each place, in steps and within bounds, that what is there then is as even as can be."""
    if low.sum() > count or high.sum() < count or (low > high).any():
        return None

    def up_to(height: int) -> Ints:
        return np.clip((height - heights) // step * step, low, high)

    below, above = int(heights.min()) - 1, int((heights + high).max()) + step
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if up_to(middle).sum() <= count else (below, middle)
    shares = up_to(below)
    rest = (count - int(shares.sum())) // step
    able = np.flatnonzero(shares + step <= high)
    shares[able[np.argsort((heights + shares)[able], kind="stable")][:rest]] += step
    return shares if int(shares.sum()) == count else None
