"""T0: which domains could hold a unit at all, for all domains of a level at once.

Every bound is necessary: a domain that fails one cannot hold the unit, whatever else is decided. If no
domain of the root passes, the request is proved impossible.
"""

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.place import fit
from phalanx.place.draft import Draft
from phalanx.place.plan import Leaf, Unit

Flags = npt.NDArray[np.bool_]


def bound(draft: Draft, unit: Unit) -> Flags:
    """Marks on every unit, bottom-up, the domains that pass; returns those of ``unit``."""
    seen: dict[object, Flags] = {}
    for kid in unit.kids:
        known = seen.get(kid.likeness) if not kid.kids else None
        kid.mask = bound(draft, kid) if known is None else known
        seen[kid.likeness] = kid.mask
    passing = _each_shape_fits(draft, unit)
    if len(unit.totals) > 1:
        passing &= _resources_suffice(draft, unit)
    if unit.kids:
        passing &= _kids_find_homes(draft, unit)
    unit.mask = passing
    return passing


def _each_shape_fits(draft: Draft, unit: Unit) -> Flags:
    level = unit.level
    passing = np.ones(draft.tree.count(level), dtype=bool)
    by_shape: dict[object, tuple[Leaf, int, int]] = {}
    for leaf, count in unit.totals.values():
        passing &= leaf.capacity(draft, level).levels[level] >= count
        _, total, times = by_shape.get(leaf.shape.key, (leaf, 0, 0))
        by_shape[leaf.shape.key] = (leaf, total + count, times + 1)
    for leaf, total, times in by_shape.values():
        if times > 1:  # the same shape in different slices: the plain count bounds their sum
            passing &= fit.capacity(draft, leaf.shape).levels[level] >= total
    return passing


def _resources_suffice(draft: Draft, unit: Unit) -> Flags:
    free = fit.sums(draft, unit.level)
    asked = unit.demand.nonzero()[0]
    return np.asarray((free[asked] >= unit.demand[asked][:, None]).all(axis=0), dtype=bool)


def _kids_find_homes(draft: Draft, unit: Unit) -> Flags:
    passing = np.ones(draft.tree.count(unit.level), dtype=bool)
    alike: dict[object, list[Unit]] = {}
    for kid in unit.kids:
        alike.setdefault(kid.likeness, []).append(kid)
    for kids in alike.values():
        passing &= _homes(draft, unit.level, kids[0], len(kids))
    for kids in _of_one_shape(unit.kids).values():
        passing &= _sizes_fit(draft, unit.level, kids)
    return passing


def _homes(draft: Draft, level: int, kid: Unit, copies: int) -> Flags:
    """Do the kid's possible domains inside each domain hold so many copies of it?"""
    tree = draft.tree
    first = tree.domain[kid.level][tree.start[level][:-1]]
    if kid.mask is None:
        raise Mistake("a group was bounded before what is inside it")
    if copies == 1:
        return np.logical_or.reduceat(kid.mask, first)
    most = np.full(tree.count(kid.level), copies, dtype=np.int64)
    for leaf, count in kid.totals.values():
        if count:
            np.minimum(most, leaf.capacity(draft, kid.level).levels[kid.level] // count, out=most)
    return np.add.reduceat(most * kid.mask, first) >= copies


def _of_one_shape(kids: list[Unit]) -> dict[object, list[Unit]]:
    """Kids that ask for one plain shape on one level, where those are at least two different sizes."""
    found: dict[object, list[Unit]] = {}
    for kid in kids:
        if len(kid.totals) == 1:
            ((leaf, _count),) = kid.totals.values()
            found.setdefault((leaf.shape.key, kid.level), []).append(kid)
    return {key: members for key, members in found.items() if len({m.likeness for m in members}) > 1}


def _sizes_fit(draft: Draft, level: int, kids: list[Unit]) -> Flags:
    """Of kids with x pods or more, no more than the sum of (capacity // x) find a home."""
    tree = draft.tree
    inner = kids[0].level
    first = tree.domain[inner][tree.start[level][:-1]]
    sized = sorted(((next(iter(kid.totals.values()))) for kid in kids), key=lambda entry: -entry[1])
    caps = fit.capacity(draft, sized[0][0].shape).levels[inner]
    passing = np.ones(tree.count(level), dtype=bool)
    for rank, (_leaf, count) in enumerate(sized, 1):
        if count:
            passing &= np.add.reduceat(caps // count, first) >= rank
    return passing
