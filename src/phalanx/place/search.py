"""One decision in progress: wishes, numbers, questions and tiers, from the outside in.

preferences      all of them at once; if that fails the required levels only, then tightened outer first
  counts         every pod wanted; else the minimum, then as many more as fit
    questions    assumptions that rules between pods need, in turn
      T0 bounds -> T1 greedy -> T2a prices -> T2b exact -> T2c grids
    T3 numbers: where questions and rules meet and pods and nodes are few; else grids, moves and branching
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.model.policy import Policy
from phalanx.model.request import Group, Request
from phalanx.place import between, bounds, choose, evenly, fewest, fit, mend, nudge, prices
from phalanx.place.between import Rule
from phalanx.place.budget import Budget, BudgetSpent
from phalanx.place.build import Builder, Built, whole_range, whole_slices
from phalanx.place.choices import NOTHING_CHOSEN, UNANSWERABLE, Asked, Choices
from phalanx.place.choose import ORDERS
from phalanx.place.draft import Draft
from phalanx.place.exact import Exact
from phalanx.place.formulate import Formulation, Range
from phalanx.place.greedy import VARIANTS, Found, Greedy, collect
from phalanx.place.grids import Crossing, Grids, SplitGrids, leasts
from phalanx.place.handover import written
from phalanx.place.plan import Leaf, Plan, complete, pinned, reference_node
from phalanx.place.split import Style, descend
from phalanx.place.verdicts import IMPOSSIBLE, PLACED, UNDECIDED

Ints = npt.NDArray[np.int64]

MENDS_MAX = 60  # rules mended one inside the other before a branch is given up as undecided
LIKINGS_MAX = 4  # grades of preference told apart when choosing a domain; within it every node's own score counts
PER_PAIRED_POD = 40  # and matching it with the pods of its rank
PER_POD = 5  # numbering pods and writing the answer down, however they are placed
GRIDS_SHARE = 0.3  # of what is left, for one try of the last tier; branching needs the rest where it is too large
FEW = 2_000  # pod sets times nodes: up to here a number for each pair is quicker than branching over what rules meet
QUICK = 4_000_000  # what the other tiers may spend first where they are so few; else half of what is left
NUMBERS_SHARE = 0.6  # of what is left, for one try of it
STEP = 20_000  # work units that building and bounding a plan stand for: about a millisecond


@dataclass(slots=True, eq=False)
class Outcome:
    """The verdict of one attempt."""

    status: str
    built: Built | None = None
    found: Found = field(default_factory=dict)
    choices: Choices = NOTHING_CHOSEN  # under which it was placed


class Coupled(Exception):
    """Rules meet that the counting tiers cannot hold at once, and T3 can. ``counts``: a placement that breaks some."""

    def __init__(self, counts: Mapping[str, tuple[Ints, Ints]]) -> None:
        super().__init__()
        self.counts = counts


class Search:
    """One decision in progress."""

    def __init__(self, draft: Draft, request: Request, policy: Policy, budget: Budget) -> None:
        self.draft, self.request, self.policy, self.budget = draft, request, policy, budget
        self.order = ORDERS[policy.candidates]
        self.groups = tuple(request.root.groups())
        self.sets = tuple(request.root.pod_sets())
        for pod_set in self.sets:
            if pod_set.shape.ports:  # they may bring rows of their own: before anything is measured
                draft.shape(pod_set.shape, bound=False)
        self.between = between.read(draft, self.sets)
        self.ranges = {s.name: whole_range(s) for s in self.sets}
        self.style = self._style()
        self.few = len(self.sets) * draft.tree.size <= FEW
        self.start = NOTHING_CHOSEN
        self.levels: dict[str, int | None] = {}  # those of the wishes that are being tried
        self.tier = 0
        self.widest: Outcome | None = None  # of the least that would do, where it had to be asked

    def _style(self) -> Style:
        even = max(self.draft.tree.host - 1, 1) if self.policy.candidates == "balance" else None
        return Style(reuse=self.policy.nodes == "reuse", even=even)

    # ---- wishes -------------------------------------------------------------------------------------

    def best(self) -> Outcome:
        """The best placement by the declared order of wishes."""
        try:
            return self._best()
        except BudgetSpent:
            return Outcome(UNDECIDED)

    def _best(self) -> Outcome:
        """Every member and every pod; then fewer pods; then fewer members. Levels are relaxed within each of these."""
        paired = any(g.ranks is not None and g.ranks.with_same_rank_of for g in self.groups)
        self.budget.spend((PER_PAIRED_POD if paired else PER_POD) * sum(s.count for s in self.sets))
        full = {name: most for name, (_, most) in self.ranges.items()}
        outcome = Outcome(IMPOSSIBLE)
        for start in self._starts():
            self.start = start
            outcome = self._with_fewer_pods(full)
            if outcome.status == PLACED:
                break
        return outcome

    def _with_fewer_pods(self, full: dict[str, int]) -> Outcome:
        if self.few and self._non_monotone() and any(low < full[name] for name, (low, _) in self.ranges.items()):
            outcome = self._preferring(full)
            return self._joined(outcome, full) if outcome.status == PLACED else self._fewest_missing(full)
        outcome = Outcome(IMPOSSIBLE)
        for counts in chain((full,), self._smaller(full)):
            before, outcome = outcome, self._preferring(counts)
            if outcome.status == PLACED:
                outcome = self._joined(outcome, counts)
                return outcome if counts is full else self._extended(outcome, dict(counts), full)
            if before.status == UNDECIDED and self._non_monotone():
                return before  # one number of pods that could not be decided leaves the whole undecided
        return outcome

    def _fewest_missing(self, full: Mapping[str, int]) -> Outcome:
        """Where fewer pods may be harder to place than more: as many as there can be, pod set by pod set in order."""
        required = {g.name: g.required for g in self.groups}
        ranges, start = dict(self.ranges), self.start
        best = self._by_numbers(required, ranges, {})
        if best.status != PLACED:
            return best
        self.start = best.choices
        for pod_set in self.sets:
            name, step = pod_set.name, whole_slices(pod_set)
            low, high = self._placed(best, name), full[name]
            while 0 < low < high:
                ranges[name] = (low + max((high - low) // (2 * step), 1) * step, high)
                more = self._by_numbers(required, ranges, {})
                if more.status == PLACED:
                    best, low = more, self._placed(more, name)
                else:
                    high = ranges[name][0] - step
            ranges[name] = (low, low) if low else ranges[name]
        self.start, self.levels = start, required
        counts = {s.name: self._placed(best, s.name) or min(self.ranges[s.name]) for s in self.sets}
        outcome = self._preferring(counts)
        return self._joined(outcome if outcome.status == PLACED else best, counts)

    def _placed(self, outcome: Outcome, name: str) -> int:
        return outcome.built.counts.get(name, 0) if outcome.built is not None else 0

    def _starts(self) -> list[Choices]:
        """All members of every group in; and, where some may stay out, nothing decided about them."""
        optional = [g for g in self.groups if g.min_members is not None and g.min_members < len(g.members)]
        if not optional:
            return [NOTHING_CHOSEN]
        return [Choices({("members", g.name): tuple(range(len(g.members))) for g in optional}), NOTHING_CHOSEN]

    def _joined(self, placed: Outcome, counts: Mapping[str, int]) -> Outcome:
        """As many more members as fit, in declared order, where some were left out."""
        inside = {key: value for key, value in placed.choices.answers.items() if key[0] == "members"}
        if not inside:
            return placed
        groups = {g.name: g for g in self.groups}
        for key in list(inside):
            for i in range(len(groups[key[1]].members)):
                if i not in inside[key]:
                    self.start = Choices({**inside, key: tuple(sorted((*inside[key], i)))})
                    more = self._try(self.levels, counts)
                    if more.status == PLACED:
                        placed, inside = more, dict(self.start.answers)
        self.start = Choices(inside)
        return placed

    def _smaller(self, full: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """Fewer pods that still suffice: the minimum; where evenness is asked, every number down to it."""
        least = {name: min(low, high) for name, (low, high) in self.ranges.items()}
        if least == full:
            return
        touchy = self._non_monotone()
        if not touchy:
            yield least
            return
        some = [s for s in self.sets if s.name in touchy and least[s.name] < full[s.name]]
        for numbers in product(*(range(full[s.name], least[s.name] - 1, -whole_slices(s)) for s in some)):
            yield {**least, **dict(zip((s.name for s in some), numbers, strict=True))}

    def _non_monotone(self) -> set[str]:
        """Pod sets for which fewer pods may be harder to place than more."""
        touchy: set[str] = set()
        for group in self.groups:
            if group.spread is not None and group.spread.max_per_domain is None:
                touchy |= {s.name for s in group.pod_sets()}
        for rule in self.between.rules:
            if isinstance(rule, between.Even):
                touchy |= {*rule.counted, *rule.owner}
            elif isinstance(rule, between.Beside):
                touchy |= {*rule.team, *rule.hosts}
        return touchy

    def _extended(self, placed: Outcome, counts: dict[str, int], full: dict[str, int]) -> Outcome:
        """As many more pods as fit, pod set by pod set in declared order, by halving the distance to the full count."""
        levels = self.levels
        for pod_set in self.sets:
            low, high = counts[pod_set.name], full[pod_set.name]
            step = whole_slices(pod_set)
            while low < high:
                middle = low + max((high - low) // (2 * step), 1) * step if low + step <= high else high + 1
                if middle > high:
                    break
                more = self._try(levels, {**counts, pod_set.name: middle})
                if more.status == PLACED:
                    placed, low = more, middle
                    counts = {**counts, pod_set.name: middle}
                else:
                    high = middle - step
        return placed

    def _preferring(self, counts: Mapping[str, int]) -> Outcome:
        """Wishes for levels: lexicographic, outer groups first."""
        required = {g.name: g.required for g in self.groups}
        wishes = [g for g in self.groups if g.preferred is not None and g.preferred > (g.required or 0)]
        self.levels = {**required, **{g.name: g.preferred for g in wishes}}
        if len(wishes) <= 1:
            return self._ladder(wishes[0] if wishes else None, required, counts)
        outcome = self._try(self.levels, counts)
        if outcome.status == PLACED:
            return outcome
        self.levels = dict(required)
        outcome = self._try(self.levels, counts)
        if outcome.status == PLACED:
            outcome = self._tightened(outcome, wishes, counts)
        return outcome

    def _ladder(self, wish: Group | None, required: Mapping[str, int | None], counts: Mapping[str, int]) -> Outcome:
        """The wished level, then each wider one down to what is required."""
        rungs: Iterable[int | None] = [None]
        if wish is not None and wish.preferred is not None:
            rungs = [*range(wish.preferred, wish.required or 0, -1), wish.required]
        outcome = Outcome(IMPOSSIBLE)
        for rung in rungs:
            if wish is not None and rung and self._hopeless(wish, rung, counts):
                continue
            self.levels = dict(required) if wish is None else {**required, wish.name: rung}
            outcome = self._try(self.levels, counts)
            if outcome.status == PLACED:
                break
        return outcome

    def _hopeless(self, group: Group, level: int, counts: Mapping[str, int]) -> bool:
        """Whether counting alone shows that a group's pods do not fit one domain of a level: saves building a plan."""
        if any(g.min_members is not None for g in self.groups):
            return False  # it may be left out
        for pod_set in group.pod_sets():
            self.budget.spend(1000)
            held = fit.capacity(self.draft, self.draft.shape(pod_set.shape, True)).levels[level]
            if not len(held) or held.max().item() < counts[pod_set.name]:
                return True
        return False

    def _tightened(self, placed: Outcome, wishes: list[Group], counts: Mapping[str, int]) -> Outcome:
        for group in wishes:
            if group.preferred is None:
                raise Mistake("a wish without a preferred level")
            for level in range(group.preferred, group.required or 0, -1):
                levels = {**self.levels, group.name: level}
                outcome = self._try(levels, counts)
                if outcome.status == PLACED:
                    placed, self.levels = outcome, levels
                    break
        return placed

    # ---- one attempt --------------------------------------------------------------------------------

    def _try(self, levels: Mapping[str, int | None], counts: Mapping[str, int]) -> Outcome:
        """One attempt with levels and counts fixed; leaves the draft as it was."""
        if self.widest is not None and self.widest.status == IMPOSSIBLE:
            return self.widest
        mark = self.draft.mark()
        whole, outcome = self.budget, Outcome(UNDECIDED)
        self.budget = whole.portion(0.5)
        self.budget.limit = min(self.budget.limit, QUICK if self.few else self.budget.limit)
        near: Mapping[str, tuple[Ints, Ints]] = {}
        try:
            outcome = self._settle(levels, counts, self.start, 0)
        except BudgetSpent:
            pass
        except Coupled as coupled:
            near = coupled.counts
        finally:
            self.draft.undo(mark)
            whole.absorb(self.budget)
            self.budget = whole
        if outcome.status == UNDECIDED:
            if self._refuted():
                return Outcome(IMPOSSIBLE)
            outcome = self._by_numbers(levels, {name: (count, count) for name, count in counts.items()}, near)
        return outcome

    def _refuted(self) -> bool:
        """Whether nothing is possible with any wish given up, any number of pods and any choice of members."""
        if self.widest is None:
            start, self.start = self.start, NOTHING_CHOSEN
            self.widest = self._by_numbers({g.name: g.required for g in self.groups}, self.ranges, {})
            self.start = start
        return self.widest.status == IMPOSSIBLE

    def _by_numbers(
        self, levels: Mapping[str, int | None], ranges: Mapping[str, Range], near: Mapping[str, tuple[Ints, Ints]]
    ) -> Outcome:
        """T3: all rules at once. ``near``: where pods would go if some rules did not hold."""
        self.tier = 4
        members = {key: value for key, value in self.start.answers.items() if key[0] == "members"}
        attempt = self.budget.portion(NUMBERS_SHARE)
        try:
            asked = Formulation(self.draft, self.request, self.between, levels, ranges, members, attempt)
            solved = asked.solve(near)
        except BudgetSpent:
            return Outcome(UNDECIDED)
        finally:
            self.budget.absorb(attempt)
        if solved is None:
            return Outcome(IMPOSSIBLE)
        built, found = written(self.draft, asked, solved)
        return Outcome(PLACED, built, found, Choices(dict(solved.members)))

    def _settle(
        self, levels: Mapping[str, int | None], counts: Mapping[str, int], choices: Choices, depth: int
    ) -> Outcome:
        if choices is UNANSWERABLE or depth > MENDS_MAX:
            if self.few:
                raise Coupled({})
            return Outcome(UNDECIDED)
        self.budget.spend(STEP)
        builder = Builder(self.draft, self.request, self.between, choices, levels, counts)
        try:
            built = builder.build()
        except Asked as asked:
            return self._any(asked.question.alternatives, levels, counts, depth)
        if built.impossible:
            return Outcome(IMPOSSIBLE)
        outcome = self._search(built)
        outcome.choices = choices
        if outcome.status != PLACED:
            return outcome
        if not built.lazy:
            return outcome
        broken = mend.alternatives(built.lazy, by_set(built, outcome.found), choices)
        if broken is None:
            return outcome
        if self.few:
            raise Coupled(by_set(built, outcome.found))
        spread = self._evenly(built, choices)
        if spread is not None:
            return spread
        try:
            return self._by_grids(built, choices)
        except (Crossing, BudgetSpent):
            moved = nudge.settle(self.draft, built.plan, built.lazy, outcome.found, self.budget)
            if moved is not None:
                return Outcome(PLACED, built, moved, choices)
            return self._any(broken, levels, counts, depth + 1)

    def _evenly(self, built: Built, choices: Choices) -> Outcome | None:
        """Several sets that are to be even together, spread so from the start; None if some rule is broken then."""
        found = evenly.settle(self.draft, built.plan, built.lazy, self.style, self.budget)
        if found is None or not mend.keeps_counts(self.draft.tree, built.plan, found):
            return None
        broken = mend.alternatives(built.lazy, by_set(built, found), choices)
        return Outcome(PLACED, built, found, choices) if broken is None else None

    def _by_grids(self, built: Built, choices: Choices) -> Outcome:
        """T2c in every domain the root could use."""
        self.tier = 3
        for domain in self._root_candidates(built.plan):
            attempt = self.budget.portion(GRIDS_SHARE)
            try:
                found = self._grids(built, choices, domain, attempt)
            finally:
                self.budget.absorb(attempt)
            if found is not None:
                return Outcome(PLACED, built, found, choices)
        return Outcome(IMPOSSIBLE)

    def _grids(self, built: Built, choices: Choices, domain: int, budget: Budget) -> Found | None:
        """Parts that nest; where classes cross, units are pinned to domains and as few rules as possible split off."""
        if any(leaf.units for leaf in built.plan.leaves):
            return self._with_leasts(built.plan, built.lazy, [], choices, domain, budget)
        try:
            return self._with_leasts(built.plan, built.lazy, [], choices, domain, budget)
        except Crossing:
            if any(isinstance(rule, between.Apart) for rule in built.lazy):
                raise  # two ways to keep sets apart in a class: branching is quicker than splitting
            for plan in pinned(self.draft, built.plan, domain, budget):
                found = self._split(plan, built.lazy, choices, domain, budget)
                if found is not None:
                    return found
            return None

    def _split(self, plan: Plan, rules: list[Rule], choices: Choices, domain: int, budget: Budget) -> Found | None:
        for split in few_first(rules):
            try:
                return self._with_leasts(plan, rules, split, choices, domain, budget)
            except Crossing:
                continue
        raise Crossing

    def _with_leasts(
        self, plan: Plan, rules: list[Rule], split: list[Rule], choices: Choices, domain: int, budget: Budget
    ) -> Found | None:
        """Every combination of least counts for the even spreads that are not split off."""
        level = plan.root.level
        nested = [rule for rule in rules if rule not in split]
        evens = [rule for rule in nested if isinstance(rule, between.Even) and not rule.floor]
        for numbers in product(*(leasts(self.draft, plan, rule) for rule in evens)):
            assumed = choices
            for rule, least in zip(evens, numbers, strict=True):
                assumed = assumed.answer(rule.key, least)
            if split:
                grids: Grids = SplitGrids(self.draft, plan, nested, split, assumed, level, domain, budget)
            else:
                grids = Grids(self.draft, plan, nested, assumed, level, domain, budget)
            found = grids.solve()
            if found is not None:
                return found
        return None

    def _any(
        self, alternatives: Iterator[Choices], levels: Mapping[str, int | None], counts: Mapping[str, int], depth: int
    ) -> Outcome:
        """The first alternative that is placed; impossible only if every one of them is."""
        verdict = Outcome(IMPOSSIBLE)
        for choices in alternatives:
            outcome = self._settle(levels, counts, choices, depth)
            if outcome.status == PLACED:
                return outcome
            if outcome.status == UNDECIDED:
                verdict = outcome
        return verdict

    def _search(self, built: Built) -> Outcome:
        """The tiers. What they place is taken back at once: the outcome holds where it goes."""
        plan = built.plan
        if not plan.leaves:
            return Outcome(PLACED, built)
        if plan.counted:
            return self._one_set_between(built) if plan.leaves[0].windows else self._one_set(built)
        reference = reference_node(self.draft)
        complete(self.draft, plan.root, reference)
        self.budget.spend(STEP // 4 * len(plan.leaves))
        if not bounds.bound(self.draft, plan.root).any():
            return Outcome(IMPOSSIBLE)
        self.tier = max(self.tier, 1)
        found = self._greedy(plan, reference)
        if found is not None:
            return Outcome(PLACED, built, found)
        self.tier = 2
        return self._exactly(built)

    def _one_set(self, built: Built) -> Outcome:
        """One pod set: counting is exact, so the first domain in order that holds it is the answer.

        Nodes it likes better come first: if those alone hold it at this level, they do.
        """
        (leaf,), level = built.plan.leaves, built.plan.root.level
        style = self.style if leaf.across is None else replace(self.style, across=leaf.across)
        for capacity in self._liked_first(leaf, level):
            self.budget.spend(self.draft.tree.count(level))
            domain = choose.best(capacity.levels[level], leaf.count, self.order)
            if domain >= 0:
                self.tier = max(self.tier, 1)
                found = descend(self.draft.tree, capacity, level, domain, leaf.count, style)
                return Outcome(PLACED, built, {leaf.number: found})
        return Outcome(IMPOSSIBLE)

    def _one_set_between(self, built: Built) -> Outcome:
        """The same where domains inside must have some, or may have so many: of those that can, the first in order."""
        (leaf,), level, draft = built.plan.leaves, built.plan.root.level, self.draft
        self.budget.spend(draft.tree.size)
        most = leaf.capacity(draft, level)
        low = fewest.counts(draft, leaf, most, level)
        able = np.where(low[level] <= leaf.count, most.levels[level], -1)
        domain = choose.best(able, leaf.count, self.order)
        if domain < 0:
            return Outcome(IMPOSSIBLE)
        self.tier = max(self.tier, 1)
        style = self.style if leaf.across is None else replace(self.style, across=leaf.across)
        mark, parts = draft.mark(), []
        for nodes, counts in fewest.place(draft, leaf, low, level, domain, style):
            draft.take(leaf.shape, nodes, counts)
            parts.append((leaf.number, nodes, counts))
        draft.undo(mark)
        return Outcome(PLACED, built, collect(parts))

    def _liked_first(self, leaf: Leaf, level: int) -> Iterator[fit.Capacity]:
        """How many fit on the best-liked nodes alone, then with the next best, and at last on all."""
        score = leaf.shape.score
        if score is not None:
            for least in np.unique(score)[:0:-1][:LIKINGS_MAX].tolist():
                shape = self.draft.local_shape(leaf.shape, ("liked", least), score >= least)
                yield replace(leaf, shape=shape).capacity(self.draft, level)
        yield leaf.capacity(self.draft, level)

    def _greedy(self, plan: Plan, reference: npt.NDArray[np.float64]) -> Found | None:
        greedy = Greedy(self.draft, plan, reference, self.order, self.style, self.budget)
        for variant in VARIANTS:
            mark = self.draft.mark()
            found = greedy.search((variant,))
            self.draft.undo(mark)
            greedy.trail.clear()
            if found is not None and mend.keeps_counts(self.draft.tree, plan, found):
                return found
        return None

    def _exactly(self, built: Built) -> Outcome:
        """T2 in every domain the root could use, equal ones once."""
        root, tree = built.plan.root, self.draft.tree
        if root.mask is None:
            raise Mistake("the whole was not bounded")
        verdict = IMPOSSIBLE
        seen = set()
        for domain in self._root_candidates(built.plan):
            nodes = tree.nodes(root.level, domain)
            content = self._content(built.plan, root.level, domain) if root.level else b""
            if content in seen:
                continue
            seen.add(content)
            status, found = self._in_domain(built.plan, root.level, domain, nodes)
            if status == PLACED and found is not None:
                return Outcome(PLACED, built, found)
            if status == UNDECIDED:
                verdict = UNDECIDED
        return Outcome(verdict)

    def _root_candidates(self, plan: Plan) -> list[int]:
        root = plan.root
        if root.mask is None:  # one pod set was placed by counting alone, before a rule between pods broke
            complete(self.draft, root, reference_node(self.draft))
            bounds.bound(self.draft, root)
        if root.mask is None or root.heaviest is None:
            raise Mistake("the whole was not bounded")
        caps = root.heaviest[0].capacity(self.draft, root.level).levels[root.level]
        passing = np.flatnonzero(root.mask)
        return [int(d) for d in passing[np.argsort(self.order(caps[passing]), kind="stable")]]

    def _content(self, plan: Plan, level: int, domain: int) -> bytes:
        """Equal for domains in which the plan has equal chances: same shape of tree, room, masks and bounds."""
        tree = self.draft.tree
        nodes = tree.nodes(level, domain)
        self.budget.spend(len(nodes))
        parts: list[npt.NDArray[np.generic]] = [self.draft.free[:, nodes.start : nodes.stop]]
        for inner in range(level + 1, tree.host):
            parts.append(tree.domain[inner][nodes.start : nodes.stop] - tree.domain[inner][nodes.start])
        for leaf in plan.leaves:
            if leaf.shape.mask is not None:
                parts.append(leaf.shape.mask[nodes.start : nodes.stop])
            for at, window in sorted(leaf.windows.items()):
                inside = tree.within(level, domain, at)
                parts += [x[inside.start : inside.stop] for x in (window.low, window.high) if x is not None]
        for ceiling in plan.ceilings:
            if not isinstance(ceiling.most, int):
                inside = tree.within(level, domain, ceiling.level)
                parts.append(ceiling.most[inside.start : inside.stop])
        return b"|".join(np.ascontiguousarray(part).tobytes() for part in parts)

    def _in_domain(self, plan: Plan, level: int, domain: int, nodes: range) -> tuple[str, Found | None]:
        if plain(plan):
            status, found = prices.settle(self.draft, plan.leaves, nodes.start, nodes.stop, self.budget)
            if status != UNDECIDED:
                return status, found
        attempt = self.budget.portion(0.7)
        try:
            found = Exact(self.draft, plan, level, domain, attempt).solve()
        except BudgetSpent:
            return UNDECIDED, None
        finally:
            self.budget.absorb(attempt)
        return (IMPOSSIBLE, None) if found is None else (PLACED, found)


def few_first(rules: list[Rule]) -> Iterator[list[Rule]]:
    """Sets of rules to split off: none, then single ones with few classes first, then pairs."""
    ranked = sorted(rules, key=lambda rule: rule.classes.count)
    for size in (0, 1, 2):
        yield from (list(subset) for subset in combinations(ranked, size))


def plain(plan: Plan) -> bool:
    """Several shapes and nothing else: no units, slices, bounds or rules."""
    loose = not plan.root.kids and not plan.exclusions and not plan.ceilings
    return loose and not any(leaf.units or leaf.limits or leaf.windows for leaf in plan.leaves)


def by_set(built: Built, found: Found) -> dict[str, tuple[Ints, Ints]]:
    """Pods per node for every pod set: leaves that stand for it added up."""
    out = {}
    for name, leaves in built.leaves_of.items():
        parts = [found[leaf.number] for leaf in leaves if leaf.number in found]
        if len(parts) == 1:
            out[name] = parts[0]
        elif parts:
            nodes = np.concatenate([p[0] for p in parts])
            unique, where = np.unique(nodes, return_inverse=True)
            total = np.bincount(where, weights=np.concatenate([p[1] for p in parts]))
            out[name] = (unique, total.astype(np.int64))
    return out
