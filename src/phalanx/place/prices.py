"""T2a: several shapes in one domain, nothing nested: prices per shape, raised where pods stay unplaced.

Nodes with equal room form a class; the maximal pod counts of a class are its *patterns*. Each round:

    dual     if the best pattern of every node together is worth less than the demand, no placement exists
             (true for any prices >= 0; integers, so that rounding cannot lie)
    primal   walk the nodes, take at each the pattern worth most for what is still missing
    raise    the price of what stayed unplaced
"""

import numpy as np
import numpy.typing as npt

from phalanx.place.budget import Budget
from phalanx.place.draft import Draft
from phalanx.place.greedy import Found
from phalanx.place.plan import Leaf

Ints = npt.NDArray[np.int64]

ROUNDS = 16
PATTERNS_MAX = 4000
PRICE_SCALE = 10**6  # prices are integers below this, so sums over 10**6 pods stay exact in 64 bits


def settle(draft: Draft, leaves: list[Leaf], first: int, last: int, budget: Budget) -> tuple[str, Found | None]:
    """("placed", pods per node) | ("impossible", None) | ("undecided", None) for nodes [first, last)."""
    kinds = _by_shape(leaves)
    demand = np.array([sum(leaf.count for leaf in kind) for kind in kinds], dtype=np.int64)
    rows = sorted({int(row) for kind in kinds for row in kind[0].shape.rows})
    need = [_needs(kind[0], rows) for kind in kinds]
    classes, which, times = _classes(draft, kinds, rows, need, demand, first, last)
    budget.spend((last - first) * (len(rows) + len(kinds)))
    patterns = []
    for row in classes:
        most = [int(d) if row[len(rows) + i] else 0 for i, d in enumerate(demand)]
        found = _patterns([int(x) for x in row[: len(rows)]], need, most, budget)
        if found is None:
            return "undecided", None
        patterns.append(found)
    verdict, counts = _rounds(patterns, which, times, demand, budget)
    if counts is None:
        return verdict, None
    return verdict, _hand_out(kinds, counts, first)


def _by_shape(leaves: list[Leaf]) -> list[list[Leaf]]:
    kinds: dict[object, list[Leaf]] = {}
    for leaf in leaves:
        kinds.setdefault(leaf.shape.key, []).append(leaf)
    return list(kinds.values())


def _needs(leaf: Leaf, rows: list[int]) -> list[int]:
    need = dict(zip(leaf.shape.rows.tolist(), leaf.shape.need.tolist(), strict=True))
    return [need.get(row, 0) for row in rows]


def _classes(
    draft: Draft, kinds: list[list[Leaf]], rows: list[int], need: list[list[int]], demand: Ints, first: int, last: int
) -> tuple[Ints, Ints, Ints]:
    """Distinct nodes as (room, admitted shapes); which class each node is; how many nodes a class has."""
    columns = []
    for i, row in enumerate(rows):
        useful = min(sum(int(d) * n[i] for d, n in zip(demand, need, strict=True)), 2**62)
        columns.append(np.clip(draft.free[row, first:last], 0, useful))
    for kind in kinds:
        mask = kind[0].shape.mask
        columns.append(np.ones(last - first, np.int64) if mask is None else mask[first:last].astype(np.int64))
    classes, which, times = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True, return_counts=True)
    return classes, which.ravel(), times


def _patterns(free: list[int], need: list[list[int]], most: list[int], budget: Budget) -> Ints | None:
    out: list[tuple[int, ...]] = []

    def walk(at: int, left: list[int], prefix: tuple[int, ...]) -> bool:
        fits = most[at]
        for have, want in zip(left, need[at], strict=True):
            if want and have // want < fits:
                fits = have // want
        if at == len(most) - 1:
            budget.spend(150)
            out.append((*prefix, fits))
            return len(out) <= PATTERNS_MAX
        return all(
            walk(at + 1, [h - number * w for h, w in zip(left, need[at], strict=True)], (*prefix, number))
            for number in range(fits, -1, -1)
        )

    if not walk(0, free, ()):
        return None
    budget.spend(len(out) * 10)
    found = np.unique(np.array(out, dtype=np.int64), axis=0)
    if len(found) <= 1500:  # dropping covered patterns is quadratic; beyond this the rounds are cheaper with them
        budget.spend(len(found) ** 2 * len(most))
        covered = (found[None] >= found[:, None]).all(axis=2).sum(axis=1) > 1
        found = found[~covered]
    return found


def _rounds(patterns: list[Ints], which: Ints, times: Ints, demand: Ints, budget: Budget) -> tuple[str, Ints | None]:
    top = np.maximum(np.array([p.max(axis=0) for p in patterns]).max(axis=0), 1)
    prices = 1.0 / top
    order = np.argsort([len(patterns[i]) for i in which], kind="stable")
    cells = sum(p.size for p in patterns)
    for _ in range(ROUNDS):
        whole = np.maximum(np.rint(prices / prices.max() * PRICE_SCALE), 0).astype(np.int64)
        budget.spend(cells + int(sum(patterns[i].size for i in which)))
        worth = sum(int(n) * int((p @ whole).max()) for n, p in zip(times, patterns, strict=True))
        if worth < int(demand @ whole):
            return "impossible", None
        counts, missing = _fill(patterns, which, order, demand, prices)
        if not missing.any():
            return "placed", counts
        prices = prices * (1 + 0.8 * missing / np.maximum(demand, 1) + 0.1 * (missing > 0))
        prices /= prices.sum()
    return "undecided", None


def _fill(
    patterns: list[Ints], which: Ints, order: npt.NDArray[np.intp], demand: Ints, prices: npt.NDArray[np.float64]
) -> tuple[Ints, Ints]:
    missing = demand.copy()
    counts = np.zeros((len(which), len(demand)), dtype=np.int64)
    for node in order:
        useful = np.minimum(patterns[which[node]], missing)
        counts[node] = useful[int((useful @ prices).argmax())]
        missing = missing - counts[node]
        if not missing.any():
            break
    return counts, missing


def _hand_out(kinds: list[list[Leaf]], counts: Ints, first: int) -> Found:
    """Leaves of one shape share what was placed of it, in tree order."""
    found: Found = {}
    for column, kind in enumerate(kinds):
        pods = np.repeat(np.arange(len(counts)), counts[:, column]) + first
        at = 0
        for leaf in kind:
            nodes, numbers = np.unique(pods[at : at + leaf.count], return_counts=True)
            found[leaf.number] = (nodes, numbers.astype(np.int64))
            at += leaf.count
    return found
