"""How the pods of one set are distributed below the domain that was chosen for them.

Level by level the fewest domains are kept: largest first, and the last one replaced by the tightest that still
holds the rest. Down to the outermost slice or limit the children of all kept domains are pooled; below it
every domain's own share is split among its own children, because the share is then fixed.

    b1( r1[4] r2[3] r3[2] )   6 -> r1:4 + r3:2      (r3 holds the rest tighter than r2)
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phalanx.model.topology import Tree
from phalanx.place.fit import Capacity, spans

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Style:
    """How to pick below the chosen level.

    ``small_first``: fill small leftovers before large ones at every level. ``reuse``: only on the nodes.
    ``even``: the level over whose fewest domains the pods go evenly.
    """

    small_first: bool = False
    reuse: bool = False
    even: int | None = None


COMPACT = Style()


def descend(tree: Tree, capacity: Capacity, level: int, domain: int, quota: int, style: Style = COMPACT) -> tuple[Ints, Ints]:
    """(nodes, pods on each) for ``quota`` pods inside one domain that holds them; nodes in tree order."""
    outer = capacity.outermost
    pooled_down_to = tree.host if outer is None else outer
    domains = np.array([domain])
    amounts = np.array([quota], dtype=np.int64)
    while level < tree.host:
        first, last = tree.children[level][domains], tree.children[level][domains + 1]
        level += 1
        if len(domains) == 1:
            kids = np.arange(first[0], last[0])
            starts = np.zeros(1, dtype=np.int64)
        else:
            kids, starts = spans(first, last)
        caps = capacity.levels[level][kids]
        score = capacity.shape.score[kids] if level == tree.host and capacity.shape.score is not None else None
        if level <= pooled_down_to and style.even != level:
            chosen, amounts = _pick(caps, int(amounts.sum()), _small(style, level, tree.host), score)
        else:
            chosen, amounts = _pick_each(caps, starts, amounts, _small(style, level, tree.host), style.even == level, score, capacity.units.get(level, 1))
        domains = kids[chosen]
    return domains, amounts


def _small(style: Style, level: int, host: int) -> bool:
    return style.small_first or (style.reuse and level == host)


def _pick(caps: Ints, quota: int, small_first: bool, score: Ints | None) -> tuple[Ints, Ints]:
    """The fewest entries that reach the quota (or the smallest ones), ascending, with their amounts."""
    order = _order(caps, small_first, score)
    reached = np.cumsum(caps[order])
    full = int(np.searchsorted(reached, quota))
    rest = quota - (int(reached[full - 1]) if full else 0)
    if full == len(order):
        raise AssertionError("a domain was chosen that does not hold its quota")
    last = order[full] if small_first or score is not None else _tightest(caps, order[full:], rest)
    chosen = np.append(order[:full], last)
    amounts = np.append(caps[order[:full]], rest)
    kept = amounts > 0
    chosen, amounts = chosen[kept], amounts[kept]
    ascending = np.argsort(chosen)
    return chosen[ascending], amounts[ascending]


def _order(caps: Ints, small_first: bool, score: Ints | None) -> Ints:
    keys = caps if small_first else -caps
    if score is None:
        return np.argsort(keys, kind="stable")
    return np.lexsort((keys, -score))


def _tightest(caps: Ints, falling: Ints, rest: int) -> int:
    """Of entries in falling order of capacity the last that still holds ``rest``; ties by tree order."""
    values = -caps[falling]
    at = int(np.searchsorted(values, -rest, side="right")) - 1
    return int(falling[int(np.searchsorted(values, values[at]))])


def _pick_each(
    caps: Ints, starts: Ints, quotas: Ints, small_first: bool, even: bool, score: Ints | None, unit: int
) -> tuple[Ints, Ints]:
    """The same for each parent by itself: its own quota over its own children."""
    ends = np.append(starts[1:], len(caps))
    chosen, amounts = [], []
    for start, end, quota in zip(starts.tolist(), ends.tolist(), quotas.tolist(), strict=True):
        part = caps[start:end]
        own = None if score is None else score[start:end]
        picked, given = _pick_even(part, quota, unit) if even else _pick(part, quota, small_first, own)
        chosen.append(picked + start)
        amounts.append(given)
    return np.concatenate(chosen), np.concatenate(amounts)


def _pick_even(caps: Ints, quota: int, unit: int) -> tuple[Ints, Ints]:
    """The fewest entries that hold the quota, filled evenly in steps of ``unit`` as far as each reaches.

    Entries are those ``_pick`` would keep, largest first, so the number of domains does not grow.
    """
    order = np.argsort(-caps, kind="stable")
    parts = int(np.searchsorted(np.cumsum(caps[order]), quota)) + 1
    chosen = np.sort(order[:parts])
    given = np.zeros(parts, dtype=np.int64)
    rest = quota
    while rest > 0:
        open_ = np.flatnonzero(given < caps[chosen])
        step = max(rest // (len(open_) * unit), 1) * unit
        for i in open_:
            add = min(step, int(caps[chosen[i]] - given[i]), rest)
            given[i] += add
            rest -= add
    return chosen[given > 0], given[given > 0]
