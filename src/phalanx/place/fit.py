"""How many pods of a shape fit, in every domain of every level, kept current.

Counting is exact for one shape: children are disjoint, so what a domain holds is the sum of what its children
hold, limited where at most so many may share a domain, and rounded down where whole slices must.

    node caps   4 0 8 8 1 | 0 2 2        slices of 4 at the rack
    rack          21 -> 20 |  4 -> 4     block 24

A limit that is no multiple of the slices inside a domain is rounded down with them: at most 12 in a rack of slices of
8 on a host are 8.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from phalanx.place.draft import Draft, Shape

Ints = npt.NDArray[np.int64]
Layers = tuple[tuple[int, int], ...]  # (level, number) pairs: slice sizes, or most pods per domain

UNLIMITED = 10**9  # a pod that asks for nothing at all; requests hold at most 10**6 pods
CAPACITIES_KEEP = 512
REBUILD_SHARE = 8  # more than N/8 touched nodes: building anew is cheaper (measured)


class Capacity:
    """Counts of one shape for all domains, flat: level l is ``flat[offset[l]:offset[l+1]]``."""

    __slots__ = ("flat", "levels", "limits", "shape", "steps", "units", "version")

    def __init__(self, shape: Shape, units: Layers, limits: Mapping[int, "Ints | int"]) -> None:
        self.shape = shape
        self.units = dict(units)
        self.limits = limits
        # what a domain holds comes in whole slices: of its own level, or of the widest inside it that a limit may cut
        self.steps = {level: self.step(level) for level in {*self.units, *limits}}
        self.flat: Ints = np.zeros(0, np.int64)
        self.levels: list[Ints] = []
        self.version = -1

    def step(self, level: int) -> int:
        """What a domain of a level holds is a multiple of this."""
        return next((size for at, size in sorted(self.units.items()) if at >= level), 1)

    @property
    def outermost(self) -> int | None:
        """The widest level at which a domain's share is fixed by a slice or a limit; None if there is none."""
        layered = [*self.units, *self.limits]
        return min(layered) if layered else None


def capacity(draft: Draft, shape: Shape, units: Layers = (), limits: Layers = ()) -> Capacity:
    """The current capacity of a shape class, from the cache, brought up to date by what was touched."""
    key = (shape.key, units, limits)
    found = draft.capacities.get(key)
    if not isinstance(found, Capacity) or not _alike(found.shape, shape):
        if len(draft.capacities) >= CAPACITIES_KEEP:
            draft.capacities.pop(next(iter(draft.capacities)))
        found = draft.capacities[key] = Capacity(shape, units, dict(limits))
    refresh(draft, found)
    return found


def _alike(old: Shape, new: Shape) -> bool:
    """Whether a kept shape still says the same: a finer unit or a new host port may have changed it meanwhile."""
    return old is new or (np.array_equal(old.rows, new.rows) and np.array_equal(old.need, new.need))


def refresh(draft: Draft, found: Capacity) -> None:
    """Brings a capacity up to date."""
    draft.renew(found.shape)
    now = draft.version
    if found.version == now:
        return
    touched = draft.touched_since(found.version) if found.version >= 0 else None
    if touched is None or len(touched) * REBUILD_SHARE > draft.tree.size:
        build(draft, found)
    elif found.units or found.limits:
        _follow_layered(draft, found, touched)
    else:
        _follow_plain(draft, found, touched)
    found.version = now


def build(draft: Draft, found: Capacity) -> None:
    """Counts everything anew."""
    tree = draft.tree
    caps = _layer(found, tree.host, _node_caps(draft, found.shape), None)
    parts = [caps]
    for level in range(tree.host - 1, -1, -1):
        starts = tree.children[level][:-1]
        summed = np.add.reduceat(caps, starts) if len(starts) else np.zeros(0, np.int64)
        caps = _layer(found, level, summed, None)
        parts.append(caps)
    found.flat = np.concatenate(parts[::-1])
    found.levels = [found.flat[tree.offset[i] : tree.offset[i + 1]] for i in range(tree.host + 1)]


def _node_caps(draft: Draft, shape: Shape) -> Ints:
    free, mask = draft.free, shape.mask
    caps: Ints | None = None
    for row, need in zip(shape.rows.tolist(), shape.need.tolist(), strict=True):
        here = free[row] // need
        caps = here if caps is None else np.minimum(caps, here, out=caps)
    if caps is None:
        caps = np.full(draft.tree.size, UNLIMITED, dtype=np.int64)
    np.maximum(caps, 0, out=caps)  # an over-committed node holds nothing, it does not owe
    if mask is not None:
        caps *= mask
    return caps


def _caps_of(draft: Draft, shape: Shape, nodes: Ints) -> Ints:
    if not len(shape.rows):
        caps = np.full(len(nodes), UNLIMITED, dtype=np.int64)
    else:
        caps = (draft.free_at(shape, nodes) // shape.need[:, None]).min(axis=0)
        np.maximum(caps, 0, out=caps)
    if shape.mask is not None:
        caps = caps * shape.mask[nodes]
    return caps


def _layer(found: Capacity, level: int, caps: Ints, where: Ints | None) -> Ints:
    limit = found.limits.get(level)
    if limit is not None:
        bound = limit if isinstance(limit, int) or where is None else limit[where]
        caps = np.minimum(caps, bound)
    size = found.steps.get(level, 1)
    return caps - caps % size if size > 1 else caps


def _follow_plain(draft: Draft, found: Capacity, touched: Ints) -> None:
    host = found.levels[-1]
    change = _caps_of(draft, found.shape, touched) - host[touched]
    moved = change.nonzero()[0]
    if not len(moved):
        return
    if len(moved) < len(touched):
        touched, change = touched[moved], change[moved]
    ancestors = draft.tree.ancestors[touched]
    np.add.at(found.flat, ancestors.ravel(), change.repeat(ancestors.shape[1]))


def _follow_layered(draft: Draft, found: Capacity, touched: Ints) -> None:
    """Level by level upward: only parents of what changed are summed again."""
    tree = draft.tree
    fresh = _layer(found, tree.host, _caps_of(draft, found.shape, touched), touched)
    here = touched
    for level in range(tree.host, -1, -1):
        moved = (fresh != found.levels[level][here]).nonzero()[0]
        if not len(moved):
            return
        here, fresh = here[moved], fresh[moved]
        found.levels[level][here] = fresh
        if level:
            parents = tree.domain[level - 1][tree.start[level][here]]
            here = parents[np.concatenate(([True], parents[1:] != parents[:-1]))]
            fresh = _layer(found, level - 1, _children_sum(found.levels[level], tree.children[level - 1], here), here)


def _children_sum(values: Ints, children: Ints, parents: Ints) -> Ints:
    indices, starts = spans(children[parents], children[parents + 1])
    return np.add.reduceat(values[indices], starts)


def spans(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """All indices of the half-open ranges [first, last) in a row, and where each range starts in it."""
    lengths = last - first
    starts = np.concatenate(([0], np.cumsum(lengths)))
    return np.repeat(first - starts[:-1], lengths) + np.arange(starts[-1]), starts[:-1]


class Sums:
    """Free resources per domain and row, over-committed nodes counted as empty, kept current like a Capacity."""

    __slots__ = ("flat", "seen", "version")

    def __init__(self, draft: Draft) -> None:
        self.version = draft.version
        self.seen = np.maximum(draft.free, 0)
        tree = draft.tree
        levels = [np.add.reduceat(self.seen, tree.start[i][:-1], axis=1) for i in range(tree.host)]
        self.flat = np.concatenate(levels, axis=1)


def sums(draft: Draft, level: int) -> Ints:
    """Free amount [row, domain] of every domain of a level."""
    tree = draft.tree
    if level == tree.host:
        return np.maximum(draft.free, 0)
    found = draft.capacities.get("sums")
    touched = None
    if isinstance(found, Sums) and found.seen.shape[0] == draft.free.shape[0]:
        touched = draft.touched_since(found.version)
    if touched is None or not isinstance(found, Sums):
        found = draft.capacities["sums"] = Sums(draft)
    elif len(touched):
        fresh = np.maximum(draft.free[:, touched], 0)
        change = fresh - found.seen[:, touched]
        found.seen[:, touched] = fresh
        above = tree.ancestors[touched, : tree.host]
        for row in range(len(change)):
            if change[row].any():
                np.add.at(found.flat[row], above.ravel(), change[row].repeat(tree.host))
    found.version = draft.version
    return found.flat[:, tree.offset[level] : tree.offset[level + 1]]
