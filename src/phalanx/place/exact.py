"""T2b: the exact tier. What can a domain hold? Answered bottom-up for every domain that matters.

What a parent may ask of a domain is a vector of *types*: pods of a shape, slices, whole sub-groups (equal ones are
one type with a count). The set of vectors a domain can hold is closed downwards, so its maximal vectors describe
it. Children are merged one by one (max-plus), then units whose level this is are opened: replaced by what
they contain. Domains with equal content share their result.

    node      hold: (2 big, 0 small) (1, 3) (0, 6)
    rack      merge of its nodes, clipped to what the request wants, then "one group = 3 big + 4 small" -> (1 group)

Windows (at least, at most so many pods of a leaf in a domain), exclusions and ceilings act on the vectors of a domain
and keep them closed downwards: pods that a lower bound demands are set aside where they are demanded, and
counted off from what is asked above.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.place.asked import Types, attribute, counted, realise
from phalanx.place.budget import Budget, BudgetSpent
from phalanx.place.draft import Draft
from phalanx.place.greedy import Found
from phalanx.place.plan import Leaf, Plan
from phalanx.place.tables import CELLS_MAX, Table, Vector, grid_maximal, lowered, maximal, windowed, without

Ints = npt.NDArray[np.int64]

PATTERNS_MAX = 20_000  # of one node


@dataclass(slots=True)
class Scope:
    """One level: the types asked of its domains, and those asked of their children."""

    asked: list[int]
    asked_most: list[int]
    below: list[int]
    below_most: list[int]
    opening: Ints  # [asked, below]: what one of each asked type turns into
    same: bool  # nothing opens here


@dataclass(slots=True, eq=False)
class Bound:
    """One leaf's window on one level, in the types visible there: its column, and per domain what is set aside and the
    most."""

    column: int
    low: Ints
    high: Ints


class Exact:
    """The search inside one domain for one plan."""

    def __init__(self, draft: Draft, plan: Plan, level: int, domain: int, budget: Budget) -> None:
        self.draft, self.tree, self.plan, self.budget = draft, draft.tree, plan, budget
        self.level, self.domain = level, domain
        self.types = Types(plan)
        self.scopes: dict[int, Scope] = {}
        self.bounds: dict[int, list[Bound]] = {}
        self.memo: dict[tuple[int, object], list[Vector]] = {}
        self.signatures: dict[tuple[int, int], object] = {}
        self._names: dict[object, int] = {}
        self.set_aside: dict[int, list[int]] = {}
        self.possible = self._prepare()

    # ---- preparation --------------------------------------------------------------------------------

    def _prepare(self) -> bool:
        """Scopes and bounds; False if the lower bounds alone ask for more than there is."""
        shifted = self._shifts()
        if shifted is None:
            return False
        wanted = {self.types.root: 1}
        for level in range(self.level, self.tree.host + 1):
            below = self.types.opened(level, wanted)
            self.scopes[level] = self._scope(level, wanted, below, shifted)
            wanted = below
        self.pods = self.scopes[self.tree.host].below
        self.pod_most = self.scopes[self.tree.host].below_most
        shapes = [self.types.all[kind].shape for kind in self.pods]
        self.shapes = [shape for shape in shapes if shape is not None]
        self.rows = sorted({int(row) for shape in self.shapes for row in shape.rows})
        at = {row: i for i, row in enumerate(self.rows)}
        self.need = [[0] * len(self.rows) for _ in self.shapes]
        for i, shape in enumerate(self.shapes):
            for row, amount in zip(shape.rows.tolist(), shape.need.tolist(), strict=True):
                self.need[i][at[row]] = amount
        self._make_bounds()
        self._node_signatures()
        return True

    def _shifts(self) -> dict[int, dict[int, int]] | None:
        """pod type -> {level: pods set aside at that level or below} for leaves with lower bounds.

        A domain's lower bound counts what deeper bounds already set aside inside it.
        """
        self.aside: dict[tuple[int, int], Ints] = {}  # (pod type, level) -> per domain, set aside there itself
        totals: dict[int, dict[int, int]] = {}
        for leaf in self.plan.leaves:
            levels = [level for level, window in leaf.windows.items() if window.low is not None and level >= self.level]
            if not levels:
                continue
            pod = self.types.pod(leaf)
            inside: Ints = np.zeros(self.tree.size, dtype=np.int64)  # set aside so far, per node
            total = 0
            totals[pod] = {}
            for level in range(self.tree.host, self.level - 1, -1):
                if level in levels:
                    own = self._own_low(leaf, level, inside)
                    self.aside[pod, level] = own
                    inside[self.tree.start[level][:-1]] += own
                    total += int(own.sum())
                totals[pod][level] = total
            if total > leaf.count:
                return None
        return totals

    def _own_low(self, leaf: Leaf, level: int, inside: Ints) -> Ints:
        low = leaf.windows[level].low
        if low is None:
            raise Mistake("a leaf without a lower bound")
        already = np.add.reduceat(inside, self.tree.start[level][:-1])
        own = np.zeros(self.tree.count(level), dtype=np.int64)
        here = self.tree.within(self.level, self.domain, level)
        own[here.start : here.stop] = np.maximum(low - already, 0)[here.start : here.stop]
        return own

    def _scope(
        self, level: int, wanted: dict[int, int], below: dict[int, int], shifted: dict[int, dict[int, int]]
    ) -> Scope:
        def less(kind: int, number: int, at: int) -> int:
            return number - shifted.get(kind, {}).get(at, 0)

        asked, asked_below = sorted(wanted), sorted(below)
        rows = []
        for kind in asked:
            one = self.types.opened(level, {kind: 1})
            if kind in asked_below:
                rows.append([one.get(inner, 0) for inner in asked_below])
            else:  # opened here: pods that were set aside below are no longer asked for
                rows.append([less(inner, one[inner], level) if inner in one else 0 for inner in asked_below])
        opening = np.array(rows, dtype=np.int64).reshape(len(asked), len(asked_below))
        most = [less(kind, wanted[kind], level) for kind in asked]
        below_most = [less(kind, below[kind], level + 1) for kind in asked_below]
        return Scope(asked, most, asked_below, below_most, opening, asked == asked_below)

    def _make_bounds(self) -> None:
        """Windows of every level in the columns that are visible there."""
        tree = self.tree
        for leaf in self.plan.leaves:
            if not leaf.count:
                continue
            pod = self.types.pod(leaf)
            bounds = {level: (w.low, w.high) for level, w in leaf.windows.items()}
            for level, most in leaf.limits:
                low, high = bounds.get(level, (None, None))
                flat = np.full(tree.count(level), most, dtype=np.int64)
                bounds[level] = (low, flat if high is None else np.minimum(high, flat))
            inside = np.zeros(tree.size, dtype=np.int64)
            for level in range(tree.host, self.level - 1, -1):
                own = self.aside.get((pod, level))
                if level in bounds:
                    self._add_bound(leaf, level, bounds[level][1], own, inside)
                if own is not None:
                    inside[tree.start[level][:-1]] += own

    def _add_bound(self, leaf: Leaf, level: int, high: Ints | None, own: Ints | None, inside: Ints) -> None:
        tree, pod = self.tree, self.types.pod(leaf)
        visible = [(i, self.types.pods_in(kind, pod)) for i, kind in enumerate(self.scopes[level].below)]
        ((column, per_unit),) = [(i, per) for i, per in visible if per]
        sliced = per_unit != 1 or any(at <= level for at, _ in leaf.units)
        if own is not None and own.any() and sliced:
            raise BudgetSpent  # a lower bound on a part of a slice: not expressible here, so not decided
        count = tree.count(level)
        already = np.add.reduceat(inside, tree.start[level][:-1])
        top = np.full(count, 2**40, dtype=np.int64) if high is None else (high - already) // per_unit  # below 0: no
        shift = np.zeros(count, dtype=np.int64) if own is None else own
        self.bounds.setdefault(level, []).append(Bound(column, shift, top))

    # ---- equal domains ------------------------------------------------------------------------------

    def _node_signatures(self) -> None:
        """Numbers nodes inside the domain so that equal numbers mean equal nodes for this plan."""
        nodes = self.tree.nodes(self.level, self.domain)
        useful = [
            min(sum(need[i] * most for need, most in zip(self.need, self.pod_most, strict=True)), 2**62)
            for i in range(len(self.rows))
        ]
        free = np.maximum(self.draft.free[self.rows, nodes.start : nodes.stop], 0)
        columns = [np.minimum(free[i], useful[i]) for i in range(len(self.rows))]
        for shape in self.shapes:
            if shape.mask is not None:
                columns.append(shape.mask[nodes.start : nodes.stop].astype(np.int64))
        for bound in self.bounds.get(self.tree.host, ()):
            columns += [bound.low[nodes.start : nodes.stop], bound.high[nodes.start : nodes.stop]]
        for ceiling in self.plan.ceilings:
            if ceiling.level == self.tree.host and not isinstance(ceiling.most, int):
                columns.append(ceiling.most[nodes.start : nodes.stop])
        self.budget.spend(len(nodes) * (len(columns) + 1))
        self.first_node = nodes.start
        if not columns:
            self.node_class = np.zeros(len(nodes), dtype=np.int64)
            return
        _, self.node_class = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        self.node_class = self.node_class.ravel().astype(np.int64)

    def signature(self, level: int, domain: int) -> object:
        """Equal for domains of a level that can hold the same."""
        if level == self.tree.host:
            return int(self.node_class[domain - self.first_node])
        found = self.signatures.get((level, domain))
        if found is None:
            found = self.signatures[level, domain] = self._name(level, domain)
        return found

    def _name(self, level: int, domain: int) -> object:
        bounds = tuple((int(b.low[domain]), int(b.high[domain])) for b in self.bounds.get(level, ()))
        bounds += tuple((c.at(domain), 0) for c in self.plan.ceilings if c.level == level)
        kids = self._kids(level, domain)
        self.budget.spend(len(kids))
        if level + 1 == self.tree.host:
            classes = self.node_class[kids.start - self.first_node : kids.stop - self.first_node]
            key: object = (level, bounds, np.sort(classes).tobytes())
        else:
            key = (level, bounds, tuple(sorted(self.signature(level + 1, kid) for kid in kids)))  # type: ignore[type-var]
        return self._names.setdefault(key, len(self._names))

    def _kids(self, level: int, domain: int) -> range:
        children = self.tree.children[level]
        return range(int(children[domain]), int(children[domain + 1]))

    # ---- what a domain holds ------------------------------------------------------------------------

    def holds(self, level: int, domain: int) -> list[Vector]:
        """Maximal vectors over the types asked of this domain; empty if not even its lower bounds can be met."""
        key = (level, self.signature(level, domain))
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self._open(level, self._below(level, domain))
        return found

    def _below(self, level: int, domain: int) -> list[Vector]:
        """Maximal vectors over what its children can give, rules of this level applied."""
        vectors = self._patterns(domain) if level == self.tree.host else self._merged(level, domain)
        return self._ruled(level, domain, vectors)

    def _patterns(self, node: int) -> list[Vector]:
        """All maximal pod vectors of one node."""
        most = [
            number if shape.mask is None or shape.mask[node] else 0
            for number, shape in zip(self.pod_most, self.shapes, strict=True)
        ]
        for bound in self.bounds.get(self.tree.host, ()):
            most[bound.column] = min(most[bound.column], int(bound.high[node]))
        out: list[Vector] = []
        free = [max(int(self.draft.free[row, node]), 0) for row in self.rows]
        self._enumerate(0, free, most, (), out)
        self.budget.spend(20 * len(out) * max(len(out), 10))
        return maximal(out)

    def _enumerate(self, at: int, free: list[int], most: list[int], prefix: Vector, out: list[Vector]) -> None:
        need = self.need[at]
        fits = most[at]
        for have, want in zip(free, need, strict=True):
            if want and have // want < fits:
                fits = have // want
        if at == len(most) - 1:
            if len(out) >= PATTERNS_MAX:
                raise BudgetSpent
            self.budget.spend(200)
            out.append((*prefix, fits))
            return
        for number in range(fits, -1, -1):
            left = [have - number * want for have, want in zip(free, need, strict=True)]
            self._enumerate(at + 1, left, most, (*prefix, number), out)

    def _merged(self, level: int, domain: int) -> list[Vector]:
        table = self._merge(level, domain, self.scopes[level].below_most, None)
        return [] if table is None else table.maximal()

    def _merge(self, level: int, domain: int, most: list[int], steps: "list[Step] | None") -> "Table | None":
        """Children merged one by one; None if a child cannot meet its own lower bounds."""
        parts = [(kid, self.holds(level + 1, kid)) for kid in self._kids(level, domain)]
        if any(not vectors for _, vectors in parts):
            return None
        useful = [(kid, vectors) for kid, vectors in parts if any(any(v) for v in vectors)]
        useful.sort(key=lambda part: -max(sum(v) for v in part[1]))
        table = Table.empty(most)
        for kid, vectors in useful:
            if table.full:
                break
            self.budget.spend(table.cells * len(vectors) + 200 * len(vectors))
            merged = table.plus(vectors)
            if steps is not None:
                steps.append(Step(kid, vectors, table))
            table = merged
        return table

    def _ruled(self, level: int, domain: int, vectors: list[Vector]) -> list[Vector]:
        """Exclusions, ceilings and windows of one level applied to maximal vectors."""
        ruled = vectors
        for exclusion in self.plan.exclusions:
            if exclusion.level == level and ruled:
                ruled = self._excluded(level, domain, ruled, exclusion.first, exclusion.second)
        for ceiling in self.plan.ceilings:
            if ceiling.level == level and ruled:
                ruled = self._under(level, domain, ruled, ceiling.leaves, ceiling.at(domain))
        for bound in self.bounds.get(level, ()):
            ruled = windowed(ruled, bound.column, int(bound.low[domain]), int(bound.high[domain]))
        return ruled if ruled is vectors else maximal(ruled)

    def _columns(self, level: int, leaf: Leaf) -> tuple[int, int]:
        """(column, pods per unit) of the one visible type that holds a leaf's pods; (-1, 0) if it asks for none."""
        if not leaf.count:
            return -1, 0
        pod = self.types.pod(leaf)
        for column, kind in enumerate(self.scopes[level].below):
            per_unit = self.types.pods_in(kind, pod)
            if per_unit:
                return column, per_unit
        return -1, 0

    def _aside_in(self, level: int, domain: int, leaf: Leaf) -> int:
        """Pods of a leaf that lower bounds of deeper levels set aside inside a domain."""
        total = 0
        for deeper in range(level + 1, self.tree.host + 1):
            own = self.aside.get((self.types.pod(leaf), deeper))
            if own is not None:
                inside = self.tree.within(level, domain, deeper)
                total += int(own[inside.start : inside.stop].sum())
        return total

    def _excluded(self, level: int, domain: int, vectors: list[Vector], first: Leaf, second: Leaf) -> list[Vector]:
        a, b = self._columns(level, first)[0], self._columns(level, second)[0]
        if a < 0 or b < 0:
            return vectors
        if a == b:  # both lie in one unit, which would bring them together
            return [without(v, a) for v in vectors]
        must_a, must_b = self._aside_in(level, domain, first) > 0, self._aside_in(level, domain, second) > 0
        if must_a and must_b:
            return []
        out = []
        for vector in vectors:
            if not must_a:
                out.append(without(vector, a))
            if not must_b:
                out.append(without(vector, b))
        self.budget.spend(10 * len(out) ** 2)
        return maximal(out)

    def _under(
        self, level: int, domain: int, vectors: list[Vector], leaves: tuple[Leaf, ...], most: int
    ) -> list[Vector]:
        weights: dict[int, int] = {}
        left = most
        for leaf in leaves:
            column, _ = self._columns(level, leaf)
            left -= self._aside_in(level, domain, leaf)
            if column >= 0 and column not in weights:
                kind = self.scopes[level].below[column]
                weights[column] = sum(
                    self.types.pods_in(kind, pod) for pod in {self.types.pod(x) for x in leaves if x.count}
                )
        if left < 0:
            return []
        out: list[Vector] = []
        for vector in vectors:
            for lower in lowered(vector, sorted(weights.items()), left):
                self.budget.spend(100)
                out.append(lower)
        self.budget.spend(10 * len(out) ** 2)
        return maximal(out)

    def _open(self, level: int, vectors: list[Vector]) -> list[Vector]:
        """From what the children give to what is asked here: whole units count only if all they hold is there."""
        scope = self.scopes[level]
        if scope.same or not vectors:
            return vectors
        shape = tuple(most + 1 for most in scope.asked_most)
        cells = int(np.prod(shape, dtype=np.float64))
        if cells > CELLS_MAX or min(shape) < 1:
            if min(shape) < 1:
                return []
            raise BudgetSpent
        self.budget.spend(cells * len(vectors) * len(shape))
        wanted = np.indices(shape).reshape(len(shape), -1).T
        need = wanted @ scope.opening
        good = np.zeros(len(wanted), dtype=bool)
        for vector in vectors:
            good |= (need <= np.array(vector)).all(axis=1)
        return maximal([tuple(v) for v in wanted[good].tolist()]) if cells <= 64 else grid_maximal(good.reshape(shape))

    # ---- answer and placement -----------------------------------------------------------------------

    def solve(self) -> Found | None:
        """Pods per node for every leaf, or None: proved impossible in this domain."""
        if not self.possible or not any(v[0] >= 1 for v in self.holds(self.level, self.domain)):
            return None
        pool = self._place(self.level, self.domain, (1,))
        placed: dict[int, list[int]] = {leaf.number: [] for leaf in self.plan.leaves}
        attribute(self.types, self.plan.root, self.level, pool[self.types.root].pop(), placed)
        for leaf in self.plan.leaves:
            if leaf.count:
                placed[leaf.number] += self.set_aside.pop(self.types.pod(leaf), [])
        return {number: counted(nodes) for number, nodes in placed.items() if nodes}

    def _place(self, level: int, domain: int, wanted: Vector) -> dict[int, list[object]]:
        """Realises a held vector: per asked type a list of what it became (node numbers, or contents)."""
        scope = self.scopes[level]
        below = [int(x) for x in np.array(wanted, dtype=np.int64) @ scope.opening] if not scope.same else list(wanted)
        for bound in self.bounds.get(level, ()):
            below[bound.column] += int(bound.low[domain])
        pool: dict[int, list[object]] = {}
        if level == self.tree.host:
            for kind, number in zip(self.pods, below, strict=True):
                pool[kind] = [domain] * number
        else:
            self._place_children(level, domain, below, pool)
        for bound in self.bounds.get(level, ()):
            kind = scope.below[bound.column]
            for _ in range(int(bound.low[domain])):
                self.set_aside.setdefault(kind, []).append(pool[kind].pop())  # type: ignore[arg-type]
        if scope.same:
            return pool
        return {
            kind: [realise(self.types, level, kind, pool, self._left) for _ in range(number)]
            for kind, number in zip(scope.asked, wanted, strict=True)
        }

    def _place_children(self, level: int, domain: int, below: list[int], pool: dict[int, list[object]]) -> None:
        steps: list[Step] = []
        self._merge(level, domain, below, steps)
        kinds = self.scopes[level].below
        left = list(below)
        shares: dict[int, list[int]] = {}
        for step in reversed(steps):
            if step.before.reaches(left):
                continue
            for vector in sorted(step.vectors, key=sum):
                share = [min(v, x) for v, x in zip(vector, left, strict=True)]
                rest = [x - s for x, s in zip(left, share, strict=True)]
                if step.before.reaches(rest):
                    shares[step.kid], left = share, rest
                    break
        if any(left):
            raise Mistake("a held vector could not be taken apart again")
        for kid in self._kids(level, domain):
            share = shares.get(kid, [0] * len(kinds))
            if any(share) or self._demands(level + 1, kid):
                for kind, items in self._place(level + 1, kid, tuple(share)).items():
                    pool.setdefault(kind, []).extend(items)

    def _demands(self, level: int, domain: int) -> bool:
        """True if lower bounds set pods aside at or below a domain."""
        for (_pod, at), own in self.aside.items():
            if at >= level:
                inside = self.tree.within(level, domain, at)
                if own[inside.start : inside.stop].any():
                    return True
        return False

    def _left(self, level: int, kind: int, count: int) -> int:
        """How many of a content's pods are still asked for above the bounds that set some aside."""
        total = sum(int(own.sum()) for (pod, at), own in self.aside.items() if pod == kind and at >= level)
        return count - total


@dataclass(slots=True, eq=False)
class Step:
    """One merge: the child, what it holds, and the table before it."""

    kid: int
    vectors: list[Vector]
    before: "Table"
