"""A Plan: a request brought into the form that is searched.

Two normalisations: a child's level at or above its parent's is implied and dropped; groups without a level of
their own dissolve into their parent. What remains are *units* (groups that need one domain each) and loose
*leaves* (interchangeable pods).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from phalanx.place.budget import Budget
from phalanx.place.draft import TOTAL_MAX, Draft, Shape
from phalanx.place.fit import Capacity, Layers, capacity, refresh

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
MORE_THAN_ALL = TOTAL_MAX + 1


@dataclass(slots=True, eq=False)
class Window:
    """For one level: at least ``low`` and at most ``high`` pods of a leaf in each domain (arrays; None: no bound)."""

    low: Ints | None = None
    high: Ints | None = None


@dataclass(slots=True, eq=False)
class Leaf:
    """Interchangeable pods. ``parts``: the pod sets each of them stands for (two for a pair that shares a node).

    ``alone``: its pods must not be mixed up with those of other leaves of the same shape, because a rule
    counts them separately.
    """

    number: int
    count: int
    shape: Shape
    parts: tuple[str, ...]
    units: Layers = ()
    limits: Layers = ()
    windows: dict[int, Window] = field(default_factory=dict)
    alone: bool = False
    home: int = 0  # level of the unit it lies in
    across: int | None = None  # the level its ranks are striped or balanced over
    own: Capacity | None = None

    def layers(self, above: int) -> tuple[Layers, Layers]:
        """Slices and limits that still mean something inside a domain of level ``above``."""
        units = tuple(u for u in self.units if u[0] > above)
        return units, tuple(x for x in self.limits if x[0] > above)

    def capacity(self, draft: Draft, above: int) -> Capacity:
        """How many of these pods fit at most, slices, limits and upper windows included."""
        units, limits = self.layers(above)
        if not self.windows:
            return capacity(draft, self.shape, units, limits)
        if self.own is None:
            self.own = Capacity(self.shape, self.layers(self.home)[0], self.highs(self.home))
        refresh(draft, self.own)
        return self.own

    def below(self, most: Mapping[int, Ints]) -> "Leaf":
        """The leaf with at most so many of it in each domain of these levels."""
        if not most:
            return self
        windows = dict(self.windows)
        for level, high in most.items():
            own = windows.get(level, Window())
            windows[level] = Window(own.low, high if own.high is None else np.minimum(own.high, high))
        return replace(self, windows=windows, own=None)

    def highs(self, above: int) -> dict[int, Ints | int]:
        """At most so many in a domain of each level inside one of level ``above``."""
        bounds: dict[int, Ints | int] = dict(self.layers(above)[1])
        for level, window in self.windows.items():
            if window.high is not None and level > above:
                bounds[level] = np.minimum(window.high, bounds[level]) if level in bounds else window.high
        return bounds


@dataclass(slots=True, eq=False)
class Unit:
    """A group that needs one domain of ``level`` (0: the cluster) for everything in it."""

    name: str
    level: int
    kids: list["Unit"] = field(default_factory=list)
    loose: list[Leaf] = field(default_factory=list)
    totals: dict[object, tuple[Leaf, int]] = field(default_factory=dict)  # per shape and layers: one leaf of it, pods
    demand: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    weight: float = 0.0
    heaviest: tuple[Leaf, int] | None = None
    mask: Flags | None = None  # domains of ``level`` that pass the bounds
    likeness: object = None  # equal for units that ask for the same

    def leaves(self) -> list[Leaf]:
        below = [leaf for kid in self.kids for leaf in kid.leaves()]
        return self.loose + below


@dataclass(slots=True, eq=False)
class Exclusion:
    """In no domain of ``level`` may both leaves have pods."""

    level: int
    first: Leaf
    second: Leaf


@dataclass(slots=True, eq=False)
class Ceiling:
    """Of all these leaves together at most ``most`` pods (one number, or one a domain) in each domain of ``level``."""

    level: int
    leaves: tuple[Leaf, ...]
    most: "int | Ints"

    def at(self, domain: int) -> int:
        return self.most if isinstance(self.most, int) else int(self.most[domain])


@dataclass(slots=True, eq=False)
class Plan:
    """Units and leaves, and the rules between leaves that counting alone does not carry."""

    root: Unit
    leaves: list[Leaf]
    exclusions: list[Exclusion] = field(default_factory=list)
    ceilings: list[Ceiling] = field(default_factory=list)

    @property
    def counted(self) -> bool:
        """True if counting settles the question: one leaf, nothing nested, no rule between leaves."""
        return len(self.leaves) == 1 and not self.root.kids and not self.ceilings and not self.exclusions


def complete(draft: Draft, unit: Unit, reference: npt.NDArray[np.float64]) -> None:
    """Fills in totals, demand and weights bottom-up; the heaviest units and leaves come first."""
    unit.totals = {}
    unit.demand = np.zeros(len(reference), dtype=np.int64)
    for leaf in unit.loose:
        _add(unit, leaf, leaf.count)
        unit.demand[leaf.shape.rows] += clipped(leaf.shape.need, leaf.count)
    for kid in unit.kids:
        complete(draft, kid, reference)
        for leaf, count in kid.totals.values():
            _add(unit, leaf, count)
        unit.demand += kid.demand
    unit.demand = np.minimum(unit.demand, MORE_THAN_ALL)
    unit.weight = float((unit.demand / reference).max()) if len(reference) else 0.0
    unit.kids.sort(key=lambda kid: -kid.weight)
    unit.loose.sort(key=lambda leaf: -size(leaf.shape, reference))
    if unit.totals:
        unit.heaviest = max(unit.totals.values(), key=lambda entry: size(entry[0].shape, reference) * entry[1])
    unit.likeness = (unit.level, frozenset((key, count) for key, (_, count) in unit.totals.items()))


def clipped(need: Ints, count: int) -> Ints:
    """``need * count`` without overflow: beyond any cluster it stays at "more than all"."""
    return np.array([min(int(amount) * count, MORE_THAN_ALL) for amount in need], dtype=np.int64)


def _add(unit: Unit, leaf: Leaf, count: int) -> None:
    key = (leaf.shape.key, leaf.layers(unit.level), leaf.number if leaf.alone else None)
    held = unit.totals.get(key)
    unit.totals[key] = (leaf, count + (held[1] if held else 0))


def size(shape: Shape, reference: npt.NDArray[np.float64]) -> float:
    """The largest share of a node that one pod takes."""
    return float((shape.need / reference[shape.rows]).max()) if len(shape.rows) else 0.0


def reference_node(draft: Draft) -> npt.NDArray[np.float64]:
    """What a roomy node has free of each resource: the measure for weights."""
    step = max(1, draft.tree.size // 512)
    sample = draft.free[:, ::step]
    top = sample.max(axis=1) if sample.size else np.ones(draft.free.shape[0])
    return np.maximum(top, 1).astype(np.float64)


def pinned(draft: Draft, plan: Plan, domain: int, budget: Budget) -> Iterator[Plan]:
    """The plan with every unit tied to one domain and so nothing nested, for each way to do that inside a domain."""
    for places in _pins(draft, plan.root, plan.root.level, domain, budget):
        leaves = []
        for leaf in plan.leaves:
            mask = places.get(leaf.number)
            shape = leaf.shape if mask is None else draft.local_shape(leaf.shape, ("pinned", mask.tobytes()), mask)
            leaves.append(replace(leaf, shape=shape, home=plan.root.level, own=None))
        flat = Unit(plan.root.name, plan.root.level, loose=list(leaves))
        changed = dict(zip((leaf.number for leaf in plan.leaves), leaves, strict=True))
        exclusions = [
            Exclusion(e.level, changed[e.first.number], changed[e.second.number])
            for e in plan.exclusions
            if e.first.count and e.second.count
        ]
        ceilings = [
            Ceiling(c.level, tuple(changed[x.number] for x in c.leaves if x.count), c.most) for c in plan.ceilings
        ]
        yield Plan(flat, leaves, exclusions, ceilings)


def _pins(draft: Draft, unit: Unit, level: int, domain: int, budget: Budget) -> Iterator[dict[int, Flags]]:
    """Every choice of domains for the units below one that sits in ``domain``: masks of their leaves."""
    if not unit.kids:
        yield {}
        return
    (first, *others), tree = unit.kids, draft.tree
    rest = Unit(unit.name, unit.level, kids=others)
    for number in tree.within(level, domain, first.level):
        budget.spend(1000)
        if first.mask is not None and not first.mask[number]:
            continue
        here = tree.domain[first.level] == number
        for inner in _pins(draft, first, first.level, number, budget):
            own = {leaf.number: here for leaf in first.leaves()} | inner
            for more in _pins(draft, rest, level, domain, budget):
                yield own | more
