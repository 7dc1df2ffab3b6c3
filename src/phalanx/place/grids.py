"""T2c: the exact tier for rules that are not closed downwards (evenness, company, at least so many).

Like ``exact``, but what a part of the cluster can hold is kept as the full set of vectors, a grid of yes and no, so any
rule about a part is a filter on its grid. Parts follow the tree where groups or slices need it, and the classes of
the rules where they nest with it; classes that cross each other are not for this tier.

    power feed p1 [ n1 n4 ]  p2 [ n2 n3 ]      nodes -> feeds (filter: at most 2 more in p1 than in p2 ...) -> block
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.place.asked import Types, attribute, counted, realise
from phalanx.place.between import Apart, Beside, Even, Rule
from phalanx.place.budget import Budget, BudgetSpent
from phalanx.place.choices import Choices
from phalanx.place.draft import Draft
from phalanx.place.fit import capacity
from phalanx.place.greedy import Found
from phalanx.place.plan import Ceiling, Exclusion, Leaf, Plan, Window
from phalanx.place.tables import CELLS_MAX

Ints = npt.NDArray[np.int64]
Grid = npt.NDArray[np.bool_]
Totals = Callable[[str], Ints]  # pods of a pod set, for every cell of a grid
Filter = Callable[[Totals], Grid]


class Crossing(Exception):
    """Classes of two rules, or a class and a needed level, overlap without nesting."""


@dataclass(slots=True, eq=False)
class Part:
    """Some nodes: one node, a domain of a level, or a class of a rule in between."""

    nodes: frozenset[int]
    level: int | None  # the level whose domain this is; None for a class in between
    filters: list[Filter] = field(default_factory=list)
    kids: list["Part"] = field(default_factory=list)
    sums: list[Grid] = field(default_factory=list)  # after each kid, kept for taking apart
    held: list[list[tuple[int, ...]]] = field(default_factory=list)  # what each kid holds


class Grids:
    """The search inside one domain, with every question about the rules answered."""

    def __init__(
        self, draft: Draft, plan: Plan, rules: list[Rule], choices: Choices, level: int, domain: int, budget: Budget
    ) -> None:
        self.draft, self.tree, self.plan, self.budget = draft, draft.tree, plan, budget
        self.level, self.domain, self.choices = level, domain, choices
        self.types = Types(plan)
        self.asked = self._asked()
        self.inside = frozenset(self.tree.nodes(level, domain))
        self.fixed_wrong = False  # a class without nodes here already breaks its rule
        self.root = self._part_tree(rules)

    def _asked(self) -> dict[int, list[tuple[int, int]]]:
        """Types and numbers asked of the domains of every level; one level more for what nodes are asked for."""
        asked = {}
        wanted = {self.types.root: 1}
        for at in range(self.level, self.tree.host + 2):
            asked[at] = sorted(wanted.items())
            wanted = self.types.opened(at, wanted)
        return asked

    # ---- parts --------------------------------------------------------------------------------------

    def _part_tree(self, rules: list[Rule]) -> Part:
        filters: dict[frozenset[int], list[Filter]] = {}
        for nodes, kept in [*self._bounds(), *(pair for rule in rules for pair in self._classes(rule))]:
            if nodes:
                filters.setdefault(nodes, []).append(kept)
            elif not bool(np.all(kept(lambda name: np.zeros(1, dtype=np.int64)))):
                self.fixed_wrong = True
        needed: list[tuple[frozenset[int], int]] = []
        for at in range(self.level, self.tree.host + 1):
            if at in (self.level, self.tree.host) or self.asked[at] != self.asked[at + 1]:
                for number in self.tree.within(self.level, self.domain, at):
                    needed.append((frozenset(self.tree.nodes(at, number)), at))
        self.budget.spend((len(needed) + len(filters)) * 1000)
        return self._nest(needed, filters)

    def _nest(self, needed: list[tuple[frozenset[int], int]], filters: dict[frozenset[int], list[Filter]]) -> Part:
        """The sets as a tree by inclusion; ``Crossing`` if two overlap. Of equal sets the wider level is outside."""
        domains = {nodes for nodes, _ in needed}
        sets: list[tuple[frozenset[int], int | None]] = [
            *needed,
            *((nodes, None) for nodes in filters if nodes not in domains),
        ]
        sets.sort(key=lambda entry: (-len(entry[0]), min(entry[0]), entry[1] or 0))
        root: Part | None = None
        for nodes, level in sets:
            part = Part(nodes, level, filters.pop(nodes, []))
            if root is None:
                root = part
            else:
                _around(root, nodes).kids.append(part)
        if root is None:
            raise Mistake("no part holds all the others")
        return root

    def _bounds(self) -> list[tuple[frozenset[int], Filter]]:
        """Windows, limits, ceilings and exclusions of the plan as filters on domains."""
        out: list[tuple[frozenset[int], Filter]] = []
        for leaf in self.plan.leaves:
            for at, window in leaf.windows.items():
                out += self._per_domain(at, partial(_within, _leaf(leaf), window))
            for at, most in leaf.limits:
                out += self._per_domain(at, partial(_at_most, _leaf(leaf), most))
        for ceiling in self.plan.ceilings:
            out += self._per_domain(ceiling.level, partial(_under, ceiling))
        for exclusion in self.plan.exclusions:
            out += self._per_domain(exclusion.level, partial(_not_both, exclusion))
        return out

    def _per_domain(self, level: int, make: Callable[[int], Filter]) -> list[tuple[frozenset[int], Filter]]:
        if level < self.level:
            return []
        return [
            (frozenset(self.tree.nodes(level, number)), make(number))
            for number in self.tree.within(self.level, self.domain, level)
        ]

    def _classes(self, rule: Rule) -> list[tuple[frozenset[int], Filter]]:
        out = []
        for code in range(rule.classes.count):
            members = frozenset(rule.classes.members(code).tolist()) & self.inside
            out.append((members, self._filter(rule, code)))
        return out

    def _filter(self, rule: Rule, code: int) -> Filter:
        if isinstance(rule, Apart):
            if rule.first == rule.second:
                return lambda t: t(rule.first) <= 1
            return lambda t: (t(rule.first) == 0) | (t(rule.second) == 0)
        if isinstance(rule, Beside):
            return self._beside(rule, code)
        least = 0 if rule.floor else int(self.choices.answers[rule.key])
        running = int(rule.running[code])
        return lambda t: _even(rule, t, running, least)

    def _beside(self, rule: Beside, code: int) -> Filter:
        founded = self.choices.answers.get(("found", *rule.team, str(rule.number)), -1)
        if rule.given[code]:
            return lambda t: np.ones_like(_sum(t, rule.team), dtype=bool)
        hosts = rule.hosts + (rule.founders if founded == code else ())
        return lambda t: (_sum(t, rule.team) == 0) | (_sum(t, hosts) > 0)

    # ---- what a part holds ----------------------------------------------------------------------------

    def solve(self) -> Found | None:
        """Pods per node for every leaf, or None: proved impossible in this domain."""
        if self.fixed_wrong:
            return None
        if not self._holds(self.root)[(1,)]:
            return None
        content = self._place(self.root, (1,))[self.types.root].pop()
        placed: dict[int, list[int]] = {leaf.number: [] for leaf in self.plan.leaves}
        attribute(self.types, self.plan.root, self.level, content, placed)
        return {number: counted(nodes) for number, nodes in placed.items() if nodes}

    def _below(self, part: Part) -> list[tuple[int, int]]:
        """The types asked of what lies directly below a part."""
        return self.asked[self._level_below(part)]

    def _level_below(self, part: Part) -> int:
        if part.level is not None:
            return part.level + 1
        first = part.kids[0]
        return first.level if first.level is not None else self._level_below(first)

    def _holds(self, part: Part) -> Grid:
        """Which vectors over the types asked of a part it can hold exactly."""
        below = self._below(part)
        shape = tuple(most + 1 for _, most in below)
        if np.prod(shape, dtype=np.float64) > CELLS_MAX / 10:
            raise BudgetSpent
        if part.level == self.tree.host:
            grid = self._node(part, below, shape)
        else:
            grid = self._merged(part, shape)
        for rule in part.filters:
            self.budget.spend(grid.size * len(below) + 1000)
            grid = grid & rule(self._totals(below, shape))
        part.sums.append(grid)
        return grid if part.level is None else self._open(part.level, below, grid)

    def _node(self, part: Part, below: list[tuple[int, int]], shape: tuple[int, ...]) -> Grid:
        (node,) = part.nodes
        fits = np.ones(shape, dtype=bool)
        numbers = np.indices(shape)
        self.budget.spend(fits.size * 4 * len(below) + 1000)
        need: dict[int, Ints] = {}
        for axis, (kind, _) in enumerate(below):
            pod = self.types.all[kind].shape
            if pod is None:
                raise Mistake("only pods stand on nodes")
            if pod.mask is not None and not pod.mask[node]:
                fits &= numbers[axis] == 0
            for row, amount in zip(pod.rows.tolist(), pod.need.tolist(), strict=True):
                # clipped so that absurd amounts cannot overflow: beyond the node's room all are alike
                room = max(int(self.draft.free[row, node]), 0)
                need[row] = (
                    need.get(row, np.zeros(shape, np.int64)) + np.minimum(numbers[axis], room // amount + 1) * amount
                )
        for row, asked in need.items():
            fits &= asked <= max(int(self.draft.free[row, node]), 0)
        return fits

    def _merged(self, part: Part, shape: tuple[int, ...]) -> Grid:
        total = np.zeros(shape, dtype=bool)
        total[(0,) * len(shape)] = True
        part.sums.append(total)
        for kid in part.kids:
            held = [tuple(v) for v in np.argwhere(self._holds(kid)).tolist()]
            part.held.append(held)
            self.budget.spend(len(held) * (total.size // 8 + 100))
            total = _plus(total, held)
            part.sums.append(total)
        return total

    def _open(self, level: int, below: list[tuple[int, int]], grid: Grid) -> Grid:
        asked = self.asked[level]
        if asked == below:
            return grid
        shape = tuple(most + 1 for _, most in asked)
        if np.prod(shape, dtype=np.float64) > CELLS_MAX / 10:
            raise BudgetSpent
        columns = [kind for kind, _ in below]
        opening = np.array([[self.types.opened(level, {kind: 1}).get(c, 0) for c in columns] for kind, _ in asked])
        wanted = np.indices(shape).reshape(len(shape), -1).T
        need = wanted @ opening
        opened: Grid = grid[tuple(need.T)].reshape(shape)
        return opened

    def _totals(self, below: list[tuple[int, int]], shape: tuple[int, ...]) -> Totals:
        numbers = np.indices(shape)

        def of(name: str) -> Ints:
            total = np.zeros(shape, dtype=np.int64)
            for axis, (kind, _) in enumerate(below):
                weight = self._pods_of(kind, name)
                if weight:
                    total = total + numbers[axis] * weight
            return total

        return of

    def _pods_of(self, kind: int, name: str) -> int:
        """Pods of a pod set (or, by number, of a leaf) in one of a type; none in the type -1."""
        if kind < 0:
            return 0
        found = self.types.all[kind]
        if found.leaf is not None:
            return int(name in found.leaf.parts or name == _leaf(found.leaf))
        return sum(count * self._pods_of(inner, name) for inner, count in found.content.items())

    # ---- placement ----------------------------------------------------------------------------------

    def _place(self, part: Part, wanted: tuple[int, ...]) -> dict[int, list[object]]:
        below = self._below(part)
        columns = [kind for kind, _ in below]
        if part.level is None or self.asked[part.level] == below:
            target = list(wanted)
        else:
            opened = self.types.opened(
                part.level, {k: n for (k, _), n in zip(self.asked[part.level], wanted, strict=True)}
            )
            target = [opened.get(kind, 0) for kind in columns]
        pool: dict[int, list[object]] = {kind: [] for kind in columns}
        if part.level == self.tree.host:
            (node,) = part.nodes
            for kind, number in zip(columns, target, strict=True):
                pool[kind] = [node] * number
        else:
            self._place_kids(part, target, pool)
        if part.level is None or self.asked[part.level] == below:
            return pool
        return {
            kind: [realise(self.types, part.level, kind, pool) for _ in range(number)]
            for (kind, _), number in zip(self.asked[part.level], wanted, strict=True)
        }

    def _place_kids(self, part: Part, target: list[int], pool: dict[int, list[object]]) -> None:
        for i in range(len(part.kids) - 1, -1, -1):
            before = part.sums[i]
            for share in part.held[i]:
                rest = [x - s for x, s in zip(target, share, strict=True)]
                if min(rest) >= 0 and before[tuple(rest)]:
                    break
            else:
                raise Mistake("a held vector could not be taken apart again")
            for kind, items in self._place(part.kids[i], share).items():
                pool.setdefault(kind, []).extend(items)
            target = rest


class SplitGrids(Grids):
    """The same for plans with nothing nested, when classes cross: pods are told apart by the class they land in.

    Every leaf becomes one variant per class of the rules in ``split``, so their class totals are known at the end and
    need no part of their own. What remains to nest are the other rules.
    """

    def __init__(
        self, draft: Draft, plan: Plan, rules: list[Rule], split: list[Rule], choices: Choices,
        level: int, domain: int, budget: Budget,
    ) -> None:  # fmt: skip
        self.split = split
        self.variants: dict[int, tuple[int, ...]] = {}  # pod type -> its class in each split rule
        super().__init__(draft, plan, rules, choices, level, domain, budget)

    def _asked(self) -> dict[int, list[tuple[int, int]]]:
        nodes = self.tree.nodes(self.level, self.domain)
        asked = []
        for leaf in self.plan.leaves:
            codes = np.stack([rule.classes.codes[nodes.start : nodes.stop] for rule in self.split], axis=1)
            for variant in np.unique(codes, axis=0).tolist():
                here = np.zeros(self.tree.size, dtype=bool)
                here[nodes.start : nodes.stop] = (codes == variant).all(axis=1)
                shape = self.draft.local_shape(leaf.shape, ("variant", here.tobytes()), here)
                most = min(leaf.count, int(capacity(self.draft, shape).levels[0][0]))
                if most:
                    kind = self.types.pod(replace(leaf, shape=shape))
                    self.variants[kind] = tuple(variant)
                    asked.append((kind, most))
        return dict.fromkeys(range(self.level, self.tree.host + 2), asked)

    def solve(self) -> Found | None:
        if self.fixed_wrong or not self.asked[self.level]:
            return None
        grid = self._holds(self.root)
        below = self.asked[self.level]
        totals = self._totals(below, grid.shape)
        for leaf in self.plan.leaves:
            grid = grid & (totals(_leaf(leaf)) == leaf.count)
        for at, rule in enumerate(self.split):
            self.budget.spend(grid.size * len(below) * rule.classes.count)
            inside = [self._totals_in(below, grid.shape, at, code) for code in range(rule.classes.count)]
            grid = grid & (self._level(rule, inside) if isinstance(rule, Even) else self._each(rule, inside))
        good = np.argwhere(grid)
        if not len(good):
            return None
        placed: dict[int, list[int]] = {}
        for kind, items in self._place(self.root, tuple(good[0].tolist())).items():
            leaf_of = self.types.all[kind].leaf
            if leaf_of is None:
                raise Mistake("pods of no leaf were placed")
            placed.setdefault(leaf_of.number, []).extend(items)  # type: ignore[arg-type]
        return {number: counted(nodes) for number, nodes in placed.items() if nodes}

    def _each(self, rule: Rule, inside: list[Totals]) -> Grid:
        kept = [self._filter(rule, code)(totals) for code, totals in enumerate(inside)]
        return np.asarray(np.logical_and.reduce(kept), dtype=bool)

    def _level(self, rule: Even, inside: list[Totals]) -> Grid:
        """Evenness judged on all classes at once: here their totals are known, nothing has to be assumed."""
        here = np.stack([_sum(totals, rule.counted) + int(n) for totals, n in zip(inside, rule.running, strict=True)])
        least = 0 if rule.floor else here.min(axis=0)
        owned = np.stack([_sum(totals, rule.owner) > 0 for totals in inside]) if rule.owner else np.True_
        return np.asarray((~owned | (here - least <= rule.skew)).all(axis=0))

    def _totals_in(self, below: list[tuple[int, int]], shape: tuple[int, ...], rule: int, code: int) -> Totals:
        """Totals of the pods in one class of a split rule."""
        kept = [(kind, most) if self.variants[kind][rule] == code else (-1, most) for kind, most in below]
        return self._totals(kept, shape)


def leasts(draft: Draft, plan: Plan, rule: Even) -> range:
    """Possible least counts of an even spread, from the most even down; bounded by what each class could hold."""
    most = rule.running.copy()
    inside = rule.classes.codes >= 0
    pods = 0
    for leaf in plan.leaves:
        if set(leaf.parts) & set(rule.counted):
            room = capacity(draft, leaf.shape).levels[-1]
            fits = np.bincount(rule.classes.codes[inside], weights=room[inside], minlength=rule.classes.count)
            most += np.minimum(fits, leaf.count).astype(np.int64)
            pods += leaf.count
    base = int(rule.running.min())
    top = int(most.min())
    low, high = base, max(top, base)
    while low < high:  # the largest least count that the pods suffice for
        middle = (low + high + 1) // 2
        if int(np.maximum(middle - rule.running, 0).sum()) <= pods:
            low = middle
        else:
            high = middle - 1
    return range(low, base - 1, -1)


def _around(part: Part, nodes: frozenset[int]) -> Part:
    """The innermost part so far that holds all of these nodes."""
    while True:
        inner = [kid for kid in part.kids if kid.nodes & nodes]
        if not inner:
            return part
        if len(inner) > 1 or not nodes <= inner[0].nodes:
            raise Crossing
        part = inner[0]


def _plus(total: Grid, held: list[tuple[int, ...]]) -> Grid:
    """All sums of a cell of ``total`` and one of the vectors, inside the box."""
    out = np.zeros_like(total)
    for vector in held:
        into = tuple(slice(v, None) for v in vector)
        source = tuple(slice(0, size - v) for v, size in zip(vector, total.shape, strict=True))
        out[into] |= total[source]
    return out


def _leaf(leaf: Leaf) -> str:
    """A leaf's own name among pod sets; no pod set can be called that."""
    return f"\0{leaf.number}"


def _sum(totals: Totals, names: tuple[str, ...]) -> Ints:
    return sum((totals(name) for name in names[1:]), totals(names[0])) if names else np.zeros_like(totals("\0"))


def _within(name: str, window: Window, domain: int) -> Filter:
    least = 0 if window.low is None else int(window.low[domain])
    most = 2**60 if window.high is None else int(window.high[domain])
    return lambda totals: (totals(name) >= least) & (totals(name) <= most)


def _at_most(name: str, most: int, _domain: int) -> Filter:
    return lambda totals: totals(name) <= most


def _under(ceiling: Ceiling, domain: int) -> Filter:
    names = tuple(_leaf(leaf) for leaf in ceiling.leaves)
    return lambda totals: _sum(totals, names) <= ceiling.at(domain)


def _not_both(exclusion: Exclusion, _domain: int) -> Filter:
    first, second = _leaf(exclusion.first), _leaf(exclusion.second)
    return lambda totals: (totals(first) == 0) | (totals(second) == 0)


def _even(rule: Even, totals: Totals, running: int, least: int) -> Grid:
    here = _sum(totals, rule.counted) + running
    owned = _sum(totals, rule.owner) > 0 if rule.owner else np.ones_like(here, dtype=bool)
    return (here >= least) & (~owned | (here <= least + rule.skew))
