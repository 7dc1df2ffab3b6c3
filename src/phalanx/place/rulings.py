"""Rules of a request as numbers of its plan: limits, windows, ceilings, exclusions.

What cannot be a number yet becomes a question; what never can is left for the last tier to check.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.model.request import Group
from phalanx.place.between import Apart, Beside, Classes, Even, Rule
from phalanx.place.choices import UNANSWERABLE, Asked, Choices, Key
from phalanx.place.plan import Ceiling, Exclusion, Leaf, Unit, Window

if TYPE_CHECKING:
    from phalanx.place.build import Builder

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


APART_CLASSES_MAX = 6  # 2**6 ways to give each class to one of two sets; more are left to the last tier


class Rulings:
    """The rules of one building in progress."""

    def __init__(self, builder: "Builder") -> None:
        self.b = builder

    def apply(self, root: Unit) -> None:
        """Every rule as numbers, as a question, or for the last tier."""
        spread = [g for g in self.b.request.root.groups() if g.spread is not None and g.name in self.b.chosen]
        # seeds divide leaves, so they come first: whatever counts leaves must see all of them
        for group in sorted(spread, key=lambda g: g.spread is not None and g.spread.min_domains is None):
            self._spread(group, root)
        for rule in self.b.between.rules:
            if isinstance(rule, Apart):
                self._apart(rule)
            elif isinstance(rule, Beside):
                self._beside(rule)
            else:
                self._even(rule)

    def _leaves_in(self, names: "list[str] | tuple[str, ...]") -> list[Leaf]:
        found = [leaf for name in names for leaf in self.b.leaves_of.get(name, ()) if leaf.count]
        return list({leaf.number: leaf for leaf in found}.values())

    def _spread(self, group: Group, root: Unit) -> None:
        spread = group.spread
        if spread is None:
            raise Mistake("a group that is not spread")
        names = [s.name for s in self.b.chosen[group.name]]
        leaves = self._leaves_in(names)
        if not leaves:
            self.b.impossible = self.b.impossible or bool(spread.min_domains)
            return
        if spread.max_per_domain is not None:
            times = {len({*leaf.parts} & {*names}) for leaf in leaves}  # pods of the group in one pod of a leaf
            if len(times) > 1:
                raise Asked(iter((UNANSWERABLE,)))
            self._ceiling(spread.level, leaves, spread.max_per_domain // times.pop())
        elif spread.min_domains is not None:
            self._seeds(group, leaves, spread.level, spread.min_domains)
        elif spread.max_skew is not None and spread.level > self.b.path_required[group.name]:
            self._group_skew(group, names, root)

    def _ceiling(self, level: int, leaves: list[Leaf], most: int) -> None:
        single = len(leaves) == 1 and len(leaves[0].parts) == 1
        if single:
            leaf = leaves[0]
            leaf.limits = tuple(
                sorted({**dict(leaf.limits), level: min(most, dict(leaf.limits).get(level, most))}.items())
            )
            leaf.alone = True
        else:
            self.b.ceilings.append(Ceiling(level, tuple(leaves), most))
            for leaf in leaves:
                leaf.alone = True

    def _seeds(self, group: Group, leaves: list[Leaf], level: int, domains: int) -> None:
        """At least so many domains: that many pods are seeds, one to a domain; the others go anywhere."""
        if domains <= 1:
            return
        sliced = any(leaf.units and leaf.units[0][0] < level for leaf in leaves)
        if sliced or any(len(leaf.parts) > 1 for leaf in leaves):
            raise Asked(iter((UNANSWERABLE,)))
        key = ("seeds", group.name)
        steps = [leaf.units[0][1] if leaf.units else 1 for leaf in leaves]
        if len(leaves) == 1:
            shares: tuple[int, ...] = (domains,)
        elif key in self.b.choices.answers:
            shares = self.b.choices.answers[key]
        else:
            most = [leaf.count // step for leaf, step in zip(leaves, steps, strict=True)]
            raise Asked(self.b.choices.answer(key, split) for split in compositions(domains, most))
        seeds = []
        for leaf, share, step in zip(leaves, shares, steps, strict=True):
            if share * step > leaf.count:
                self.b.impossible = True
                return
            if not share:
                continue
            leaf.count -= share * step
            seed = self.b.add_leaf(self.b.homes[leaf.number], leaf.parts, share * step, leaf.shape, leaf.units)
            seed.alone = leaf.alone = True
            seed.limits = tuple(sorted({**dict(leaf.limits), level: step}.items()))
            self._divide(leaf, seed)
            seeds.append(seed)
        if len(seeds) > 1 and len({*steps}) == 1:
            self.b.ceilings.append(Ceiling(level, tuple(seeds), steps[0]))
        elif len(seeds) > 1:  # of small seeds several would fit where one large one does
            self.b.exclusions += [Exclusion(level, one, other) for one, other in combinations(seeds, 2)]

    def _divide(self, leaf: Leaf, seed: Leaf) -> None:
        """What bounds a leaf bounds both parts of it together; one that is all seed is met where its seed is."""
        if not leaf.count:
            for bundle in self.b.bundles:
                bundle.leaves = tuple(seed.number if at == leaf.number else at for at in bundle.leaves)
        self.b.ceilings += [Ceiling(at, (leaf, seed), most) for at, most in leaf.limits]
        for ceiling in self.b.ceilings:
            if leaf in ceiling.leaves and seed not in ceiling.leaves:
                ceiling.leaves = (*ceiling.leaves, seed)
        for exclusion in list(self.b.exclusions):
            if leaf in (exclusion.first, exclusion.second):
                other = exclusion.second if leaf is exclusion.first else exclusion.first
                self.b.exclusions.append(Exclusion(exclusion.level, seed, other))

    def _group_skew(self, group: Group, names: list[str], root: Unit) -> None:
        spread = group.spread
        if spread is None or spread.max_skew is None:
            raise Mistake("a group that need not be even")
        tree = self.b.draft.tree
        required = self.b.path_required[group.name]
        eligible = np.zeros(tree.size, dtype=bool)
        for pod_set in group.pod_sets():  # of those that stay out the domains count as well
            mask = self.b.draft.mask(pod_set.shape.filter, True)
            eligible |= np.ones(tree.size, dtype=bool) if mask is None else mask
        eligible &= tree.inside
        if required > 0:
            key = ("pin", group.name)
            if key not in self.b.choices.answers:
                raise Asked(self._pin(key, names, required, eligible))
            eligible &= tree.domain[required] == self.b.choices.answers[key]
        codes = np.where(eligible, tree.domain[spread.level], -1)
        present = np.unique(codes[codes >= 0])
        renumber = np.full(tree.count(spread.level) + 1, -1, dtype=np.int64)
        renumber[present] = np.arange(len(present))
        classes = Classes(renumber[codes], len(present), spread.level)
        running = np.zeros(len(present), dtype=np.int64)
        self._even(Even(("skew", group.name), classes, (), tuple(names), running, spread.max_skew, False))

    def _pin(self, key: Key, names: list[str], level: int, eligible: Flags) -> Iterator[Choices]:
        tree = self.b.draft.tree
        for domain in np.unique(tree.domain[level][eligible]).tolist():
            here = tree.domain[level] == domain
            chosen = self.b.choices.answer(key, domain)
            yield chosen.answer(("confine", *key), (tuple(names), here))

    def _even(self, rule: Even) -> None:
        """An even spread: for each possible least count, bounds on every class."""
        counted = self._leaves_in(rule.counted)
        owners = set(rule.owner) & set(self.b.counts) if rule.owner else set(rule.counted)
        owners = {
            name for name in owners if self.b.leaves_of.get(name) and any(x.count for x in self.b.leaves_of[name])
        }
        if not owners or not rule.classes.count:
            return
        level = rule.classes.level
        simple = len(counted) == 1 and owners == set(rule.counted) and len(counted[0].parts) == 1
        if level is None or not simple:
            self._check_later(rule, (*rule.counted, *owners))
            return
        leaf = counted[0]
        if rule.floor:
            self._window(leaf, rule.classes, level, None, np.maximum(rule.skew - rule.running, 0))
            return
        if rule.key not in self.b.choices.answers:
            raise Asked(self._leasts(rule, leaf, level))
        least = self.b.choices.answers[rule.key]
        low = np.maximum(least - rule.running, 0)
        high = np.maximum(least + rule.skew - rule.running, 0)
        self._window(leaf, rule.classes, level, low, high)

    def _leasts(self, rule: Even, leaf: Leaf, level: int) -> Iterator[Choices]:
        """Possible least counts, the most even first; none that capacity or the number of pods rules out."""
        caps = leaf.capacity(self.b.draft, 0).levels[level]
        domains = self._domain_of_class(rule.classes, level)
        top = int((rule.running + caps[domains]).min())
        base = int(rule.running.min())
        for least in range(min(top, base + leaf.count), base - 1, -1):
            if int(np.maximum(least - rule.running, 0).sum()) <= leaf.count:
                yield self.b.choices.answer(rule.key, least)

    def _check_later(self, rule: Rule, names: tuple[str, ...]) -> None:
        """A rule for the last tier; its pods are counted separately from now on."""
        self.b.lazy.append(rule)
        for leaf in self._leaves_in(names):
            leaf.alone = True

    def _domain_of_class(self, classes: Classes, level: int) -> Ints:
        first = np.full(classes.count, -1, dtype=np.int64)
        used = np.flatnonzero(classes.codes >= 0)[::-1]
        first[classes.codes[used]] = used
        return self.b.draft.tree.domain[level][first]

    def _window(self, leaf: Leaf, classes: Classes, level: int, low: Ints | None, high: Ints) -> None:
        domains = self._domain_of_class(classes, level)
        count = self.b.draft.tree.count(level)
        wide_high = np.full(count, leaf.count, dtype=np.int64)
        wide_high[domains] = high
        wide_low = None
        if low is not None and low.any():
            wide_low = np.zeros(count, dtype=np.int64)
            wide_low[domains] = low
        self._narrow(leaf, level, wide_low, wide_high)

    def _narrow(self, leaf: Leaf, level: int, low: Ints | None, high: Ints | None) -> None:
        window = leaf.windows.setdefault(level, Window())
        if low is not None:
            window.low = low if window.low is None else np.maximum(window.low, low)
        if high is not None:
            window.high = high if window.high is None else np.minimum(window.high, high)
        leaf.alone = True

    def _apart(self, rule: Apart) -> None:
        first, second = self._leaves_in((rule.first,)), self._leaves_in((rule.second,))
        if not first or not second:
            return
        joint = any(len(leaf.parts) > 1 for leaf in first + second)
        level = rule.classes.level
        everywhere = level is not None and bool((rule.classes.codes >= 0)[self._usable(first + second)].all())
        if level is None or joint or not everywhere:
            if rule.first != rule.second and rule.classes.count <= APART_CLASSES_MAX:
                self._choose_sides(rule, first, second)
                return
            self._check_later(rule, (rule.first, rule.second))
        elif rule.first == rule.second:
            self._ceiling(level, first, 1)
        else:
            for a in first:
                for b in second:
                    a.alone = b.alone = True
                    self.b.exclusions.append(Exclusion(level, a, b))

    def _choose_sides(self, rule: Apart, first: list[Leaf], second: list[Leaf]) -> None:
        """Few classes: in each that both could use, one of the two stays out; asked class by class."""
        codes = rule.classes.codes
        both = np.intersect1d(codes[self._usable(first) & (codes >= 0)], codes[self._usable(second) & (codes >= 0)])
        for code in both.tolist():
            key = ("apart", rule.first, rule.second, str(rule.number), str(code))
            if key not in self.b.choices.answers:
                elsewhere = rule.classes.codes != code
                raise Asked(
                    self.b.choices.answer(key, name).answer(("confine", *key), ((name,), elsewhere))
                    for name in (rule.first, rule.second)
                )

    def _usable(self, leaves: list[Leaf]) -> Flags:
        usable = np.zeros(self.b.draft.tree.size, dtype=bool)
        for leaf in leaves:
            usable |= np.ones(self.b.draft.tree.size, dtype=bool) if leaf.shape.mask is None else leaf.shape.mask
        return usable

    def _beside(self, rule: Beside) -> None:
        team = [name for name in rule.team if self._leaves_in((name,))]
        if not team:
            return
        if self._leaves_in(rule.founders):  # those that could found a class may be out
            key = ("found", *rule.team, str(rule.number))
            if key not in self.b.choices.answers:
                if not rule.hosts and self._found_by_level(rule, team):
                    return
                raise Asked(self._foundings(key, rule, team))
        self._check_later(rule, rule.team + rule.hosts)

    def _found_by_level(self, rule: Beside, team: list[str]) -> bool:
        """One pod set that wants its own company: all of it in one class, which a level says better."""
        leaves = self._leaves_in(tuple(team))
        level = rule.classes.level
        if level is None or len(leaves) != 1 or rule.given.any() or len(leaves[0].parts) > 1:
            return False
        (leaf,) = leaves
        home = self.b.homes[leaf.number]
        if level > home.level:
            inner = Unit("+".join(leaf.parts), level)
            home.kids.append(inner)
            home.loose.remove(leaf)
            inner.loose.append(leaf)
            self.b.homes[leaf.number] = inner
            leaf.home = level
        return True

    def _foundings(self, key: Key, rule: Beside, team: list[str]) -> Iterator[Choices]:
        """Which class is founded. Without hosts everyone of the team is there; with hosts others may be beside them."""
        usable = self._usable(self._leaves_in(tuple(team)))
        for code in np.unique(rule.classes.codes[usable & (rule.classes.codes >= 0)]).tolist():
            chosen = self.b.choices.answer(key, code)
            if not rule.hosts:
                chosen = chosen.answer(("confine", *key), (tuple(team), rule.classes.codes == code))
            yield chosen
        if rule.hosts:
            yield self.b.choices.answer(key, -1)

    # ---- bounds on single nodes, and bounds wider than a unit ------------------------------------------

    def single_node_bounds(self) -> None:
        if not self.b.choices.highs and not self.b.choices.lows:
            return
        host = self.b.draft.tree.host
        size = self.b.draft.tree.size
        highs: dict[str, Ints] = {}
        for (name, node), most in self.b.choices.highs.items():
            highs.setdefault(name, np.full(size, 10**9, dtype=np.int64))[node] = most
        lows: dict[str, Ints] = {}
        for (name, node), least in self.b.choices.lows.items():
            lows.setdefault(name, np.zeros(size, dtype=np.int64))[node] = least
        for name in sorted(highs.keys() | lows.keys()):
            leaves = self._leaves_in((name,))
            if len(leaves) == 1 and len(leaves[0].parts) == 1:
                self._narrow(leaves[0], host, lows.get(name), highs.get(name))
            elif name in lows:
                raise Asked(iter((UNANSWERABLE,)))
            else:
                self.b.ceilings.append(Ceiling(host, tuple(leaves), highs[name]))
                for leaf in leaves:
                    leaf.alone = True

    def settle_wide_bounds(self, leaf: Leaf) -> None:
        """A bound on a level at or above the leaf's own unit speaks of the whole leaf: it becomes a mask."""
        if not leaf.limits and not leaf.windows:
            return
        tree = self.b.draft.tree
        mask = np.ones(tree.size, dtype=bool)
        for level, most in leaf.limits:
            if level <= leaf.home and most < leaf.count:
                self.b.impossible = True
        leaf.limits = tuple(entry for entry in leaf.limits if entry[0] > leaf.home)
        for level in [at for at in leaf.windows if at <= leaf.home]:
            window = leaf.windows.pop(level)
            if window.high is not None:
                mask &= (window.high >= leaf.count)[tree.domain[level]]
            if window.low is not None and window.low.any():
                needy = np.flatnonzero(window.low)
                mask &= (tree.domain[level] == needy[0]) & bool(len(needy) == 1 and window.low[needy[0]] <= leaf.count)
        if not mask.all():
            leaf.shape = self.b.draft.local_shape(
                leaf.shape, ("wide", leaf.number, self.b.draft.version, mask.tobytes()), mask
            )

    def stay_with_lower_bounds(self, leaf: Leaf) -> None:
        """Pods demanded in some domain bring the leaf's whole unit there: one domain, or none at all."""
        tree = self.b.draft.tree
        for level, window in leaf.windows.items():
            if leaf.home == 0 or window.low is None or not window.low.any():
                continue
            firsts = tree.start[level][np.flatnonzero(window.low)]
            homes = np.unique(tree.domain[leaf.home][firsts])
            if len(homes) > 1:
                self.b.impossible = True
                return
            here = tree.domain[leaf.home] == homes[0]
            for other in self.b.homes[leaf.number].leaves():
                key = ("home", other.number, leaf.home, int(homes[0]))
                other.shape = self.b.draft.local_shape(other.shape, key, here)

    def settle_wide_rules(self, root: Unit) -> None:
        for exclusion in self.b.exclusions:
            if exclusion.level <= root.level and exclusion.first.count and exclusion.second.count:
                self.b.impossible = True
        for ceiling in self.b.ceilings:
            if (
                ceiling.level <= root.level
                and isinstance(ceiling.most, int)
                and sum(x.count for x in ceiling.leaves) > ceiling.most
            ):
                self.b.impossible = True


def compositions(total: int, most: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to write ``total`` as a sum with bounded parts."""
    if not 0 <= total <= sum(most):
        return
    if not most:
        yield ()
        return
    fewest = max(total - sum(most[1:]), 0)
    for first in range(min(total, most[0]), fewest - 1, -1):
        for rest in compositions(total - first, most[1:]):
            yield (first, *rest)
