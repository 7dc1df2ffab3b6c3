"""How the pods of one set are distributed below the domain that was chosen for them.

Level by level the fewest domains are kept: largest first, and the last one replaced by the tightest that still
holds the rest. Down to the outermost slice or limit the children of all kept domains are pooled; below it
every domain's own share is split among its own children, because the share is then fixed.

    b1( r1[4] r2[3] r3[2] )   6 -> r1:4 + r3:2      (r3 holds the rest tighter than r2)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.model.topology import Tree
from phalanx.place.fit import Capacity, spans

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Style:
    """How to pick below the chosen level.

    ``small_first``: fill small leftovers before large ones at every level. ``reuse``: only on the nodes.
    ``even``: the level over whose fewest domains the pods go evenly; ``across``: over all of them that have room.
    """

    small_first: bool = False
    reuse: bool = False
    even: int | None = None
    across: int | None = None


COMPACT = Style()
FIRST = np.zeros(1, dtype=np.int64)
MOST_PODS = 2**21  # a request holds at most 10**6 pods


def descend(
    tree: Tree, capacity: Capacity, level: int, domain: int, quota: int, style: Style = COMPACT
) -> tuple[Ints, Ints]:
    """(nodes, pods on each) for ``quota`` pods inside one domain that holds them; nodes in tree order."""
    outer = capacity.outermost
    pooled_down_to = tree.host if outer is None else outer
    score = capacity.shape.score
    domains, amounts = np.array((domain,)), np.array((quota,))
    while level < tree.host:
        children = tree.children[level]
        level += 1
        if len(domains) == 1:
            first, last = children.item(int(domains[0])), children.item(int(domains[0]) + 1)
            kids, starts, lengths = np.arange(first, last), FIRST, FIRST
            caps = capacity.levels[level][first:last]
        else:
            firsts, lasts = children[domains], children[domains + 1]
            lengths = lasts - firsts
            kids, starts = spans(firsts, lasts)
            caps = capacity.levels[level][kids]
        ranks = score[kids] if score is not None and level == tree.host else None
        small = style.small_first or (style.reuse and level == tree.host)
        if level in (style.even, style.across):
            unit, fewest = _unit_below(capacity, level), style.across != level
            if level <= pooled_down_to:
                starts, amounts = FIRST, amounts.sum(keepdims=True)
            chosen, amounts = _each(caps, starts, amounts, lambda c, q, _: _pick_even(c, q, unit, fewest))  # noqa: B023
            pooled_down_to = min(pooled_down_to, level)  # below it every share is fixed
        elif level <= pooled_down_to:
            # among equals, children of the fuller parent come first: what overflows stays near
            held = amounts.repeat(lengths) if len(domains) > 1 and ranks is None else ranks
            chosen, amounts = _pick(caps, int(amounts.sum()), small, held, ranks is not None)
        else:
            chosen, amounts = _each(caps, starts, amounts, lambda c, q, r: _pick(c, q, small, r, r is not None), ranks)  # noqa: B023
        domains = kids[chosen]
    return domains, amounts


def _unit_below(capacity: Capacity, level: int) -> int:
    """What a domain of a level holds comes in steps of the widest slice at or below it."""
    return next((size for at, size in sorted(capacity.units.items()) if at >= level), 1)


def _pick(
    caps: Ints, quota: int, small_first: bool, score: Ints | None = None, score_first: bool = False
) -> tuple[Ints, Ints]:
    """The fewest entries that reach the quota (or the smallest ones), ascending, with their amounts.

    ``score`` breaks ties between equal capacities; with ``score_first`` it comes before them.
    """
    order = _order(caps, small_first, score, score_first)
    reached = caps[order].cumsum()
    full = int(reached.searchsorted(quota))
    if full == len(order):
        raise Mistake("a domain was chosen that does not hold its quota")
    rest = quota - (reached.item(full - 1) if full else 0)
    chosen = order[: full + 1]
    if not small_first and not score_first:
        chosen[full] = _tightest(caps, order[full:], rest)
    amounts = caps[chosen]
    amounts[full] = rest
    if small_first or score_first:  # full entries may come after empty ones here
        chosen, amounts = chosen[amounts > 0], amounts[amounts > 0]
    ascending = chosen.argsort()
    return chosen[ascending], amounts[ascending]


def _order(caps: Ints, small_first: bool, score: Ints | None, score_first: bool) -> Ints:
    keys = caps if small_first else -caps
    if score is None:
        return keys.argsort(kind="stable")
    if score_first:
        return np.lexsort((keys, -score))
    return (keys * MOST_PODS - score).argsort(kind="stable")  # one sort instead of two: scores are below MOST_PODS


def _tightest(caps: Ints, falling: Ints, rest: int) -> int:
    """Of entries in falling order of capacity the last that still holds ``rest``; ties by tree order."""
    values = -caps[falling]
    at = int(values.searchsorted(-rest, side="right")) - 1
    return falling.item(int(values.searchsorted(values[at])))


def _each(
    caps: Ints, starts: Ints, quotas: Ints, pick: Callable[[Ints, int, Ints | None], tuple[Ints, Ints]],
    score: Ints | None = None,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The same for each parent by itself: its own quota over its own children."""
    ends = [*starts[1:].tolist(), len(caps)]
    chosen, amounts = [], []
    for start, end, quota in zip(starts.tolist(), ends, quotas.tolist(), strict=True):
        picked, given = pick(caps[start:end], quota, None if score is None else score[start:end])
        chosen.append(picked + start)
        amounts.append(given)
    return np.concatenate(chosen), np.concatenate(amounts)


def _pick_even(caps: Ints, quota: int, unit: int, fewest: bool) -> tuple[Ints, Ints]:
    """Entries filled evenly in steps of ``unit`` as far as each reaches: the fewest that hold the quota, or all."""
    order = np.argsort(-caps, kind="stable")
    parts = int(np.searchsorted(np.cumsum(caps[order]), quota)) + 1 if fewest else int((caps > 0).sum())
    chosen = np.sort(order[:parts])
    given = np.zeros(parts, dtype=np.int64)
    rest = quota
    while rest > 0:
        room = np.flatnonzero(given < caps[chosen])
        step = max(rest // (len(room) * unit), 1) * unit
        for i in room.tolist():
            add = min(step, int(caps[chosen[i]] - given[i]), rest)
            given[i] += add
            rest -= add
    return chosen[given > 0], given[given > 0]
