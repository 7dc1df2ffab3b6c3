"""From a request to a plan: groups become units, pod sets become leaves, rules become numbers.

Where a rule needs an assumption first, building stops with the Question; the search answers it and builds again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import lcm

import numpy as np
import numpy.typing as npt

from phalanx.model.request import Group, PodSet, Request
from phalanx.place.between import Apart, Beside, Between, Classes, Even
from phalanx.place.choices import Choices, Key, Question
from phalanx.place.draft import Draft, Shape
from phalanx.place.plan import Ceiling, Exclusion, Leaf, Plan, Unit, Window

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Asked(Exception):
    """Building cannot go on before this question is answered. Never leaves this module."""

    def __init__(self, alternatives: Iterator[Choices]) -> None:
        super().__init__()
        self.question = Question(alternatives)


@dataclass(slots=True)
class Bundle:
    """Ranks that sit together: the leaves of one bundle, by pod set; a joint leaf holds several of them."""

    sets: tuple[str, ...]  # sorted
    leaves: tuple[int, ...]  # one joint leaf, or one leaf per set with one pod each


@dataclass(slots=True)
class Built:
    """A plan and what it was built from."""

    plan: Plan
    leaves_of: dict[str, list[Leaf]]
    bundles: list[Bundle]
    counts: dict[str, int]
    lazy: list[Apart | Beside | Even]  # rules that are checked on what is found
    impossible: bool = False  # a rule contradicts the required levels, whatever is free


@dataclass(slots=True)
class Builder:
    """One building of one plan."""

    draft: Draft
    request: Request
    between: Between
    choices: Choices
    levels: Mapping[str, int | None]  # group -> the level to require in this attempt
    counts: Mapping[str, int]
    leaves: list[Leaf] = field(default_factory=list)
    leaves_of: dict[str, list[Leaf]] = field(default_factory=dict)
    homes: dict[int, Unit] = field(default_factory=dict)  # leaf -> its unit
    bundles: list[Bundle] = field(default_factory=list)
    ceilings: list[Ceiling] = field(default_factory=list)
    exclusions: list[Exclusion] = field(default_factory=list)
    lazy: list[Apart | Beside | Even] = field(default_factory=list)
    chosen: dict[str, list[PodSet]] = field(default_factory=dict)  # group -> pod sets below it that are in
    enclosing: dict[str, Unit] = field(default_factory=dict)
    path_required: dict[str, int] = field(default_factory=dict)  # group -> narrowest *required* level on its path
    impossible: bool = False

    def build(self) -> Built:
        root = Unit(self.request.root.name, self.levels.get(self.request.root.name) or 0)
        self._group(self.request.root, root, bound=False, required=0)
        self._rules(root)
        self._single_node_bounds()
        for leaf in self.leaves:
            self._settle_wide_bounds(leaf)
            self._stay_with_lower_bounds(leaf)
        self.leaves = [leaf for leaf in self.leaves if leaf.count]
        _drop_empty(root)
        while len(root.kids) == 1 and not root.loose:  # nothing but one unit: it is the whole question
            (root,) = root.kids
        self._settle_wide_rules(root)
        plan = Plan(root, self.leaves, self.exclusions, self.ceilings)
        return Built(plan, self.leaves_of, self.bundles, dict(self.counts), self.lazy, self.impossible)

    # ---- groups to units ----------------------------------------------------------------------------

    def _group(self, group: Group, unit: Unit, bound: bool, required: int) -> None:
        """Adds a group's content to ``unit``, which is already the unit the group lives in."""
        bound = bound or is_bound(group)
        required = max(required, group.required or 0)
        self.path_required[group.name] = required
        self.enclosing[group.name] = unit
        members = self._members(group)
        linked = linked_names(group)
        for member in members:
            if isinstance(member, PodSet):
                leaf = self._leaf(unit, member, self.counts[member.name], bound)
                leaf.across = group.ranks.across if group.ranks and group.ranks.order in ("Stripe", "Balance") else None
            elif member.name not in linked:
                self._group(member, self._unit_for(member, unit), bound, required)
        if linked:
            for component in components([m for m in members if isinstance(m, Group) and m.name in linked]):
                self._component(component, unit, required)
        self.chosen[group.name] = [s for m in members for s in (self.chosen[m.name] if isinstance(m, Group) else [m])]

    def _unit_for(self, group: Group, parent: Unit) -> Unit:
        level = self.levels.get(group.name) or 0
        if level <= parent.level:
            return parent
        unit = Unit(group.name, level)
        parent.kids.append(unit)
        return unit

    def _members(self, group: Group) -> list[Group | PodSet]:
        members = list(group.members)
        least = group.min_members
        if least is None or least >= len(members):
            return members
        key = ("members", group.name)
        if key not in self.choices.answers:
            raise Asked(self._subsets(key, members, least))
        return [members[i] for i in self.choices.answers[key]]

    def _subsets(self, key: Key, members: list[Group | PodSet], least: int) -> Iterator[Choices]:
        """All members; then the smallest sets that suffice; then what is between (rules may need company)."""
        sizes = [len(members), *range(least, len(members))]
        seen = set()
        for size in sizes:
            for subset in combinations(range(len(members)), size):
                kind = tuple(sorted(likeness(members[i]) for i in subset))
                if kind not in seen:
                    seen.add(kind)
                    yield self.choices.answer(key, subset)

    def _leaf(self, unit: Unit, pod_set: PodSet, count: int, bound: bool) -> Leaf:
        shape = self._shape(pod_set, bound)
        low, high = whole_range(pod_set)
        self.impossible = self.impossible or low > high  # no whole number of slices lies between minimum and count
        return self._add_leaf(unit, (pod_set.name,), count, shape, slice_units(pod_set))

    def _add_leaf(
        self, unit: Unit, sets: tuple[str, ...], count: int, shape: Shape, units: tuple[tuple[int, int], ...] = ()
    ) -> Leaf:
        leaf = Leaf(len(self.leaves), count, shape, sets, units, home=unit.level)
        self.leaves.append(leaf)
        unit.loose.append(leaf)
        self.homes[leaf.number] = unit
        for name in sets:
            self.leaves_of.setdefault(name, []).append(leaf)
        return leaf

    def _shape(self, pod_set: PodSet, bound: bool) -> Shape:
        shape = self.draft.shape(pod_set.shape, bound or bool(pod_set.slices))
        mask = self.between.masks.get(pod_set.name)
        pinned = self._pins(pod_set.name)
        if mask is not None and pinned is not None:
            mask = mask & pinned
        elif mask is None:
            mask = pinned
        if mask is None:
            return shape
        return self.draft.local_shape(shape, (pod_set.name, self.draft.version, mask.tobytes()), mask)

    def _pins(self, name: str) -> Flags | None:
        """Nodes a pod set is confined to by the answers so far."""
        if not self.choices.answers:
            return None
        mask: Flags | None = None
        for key, value in self.choices.answers.items():
            if key[0] == "confine" and name in value[0]:
                mask = value[1] if mask is None else mask & value[1]
        return mask

    # ---- same ranks ---------------------------------------------------------------------------------

    def _component(self, groups: list[Group], unit: Unit, required: int) -> None:
        """Groups whose equal ranks share a domain of one level.

        Every group has a rank 0, so all their domains meet: they nest, the widest outside. Groups narrower than the
        shared level bring all their partners into one domain of it.
        """
        level = next(g.ranks.level for g in groups if g.ranks and g.ranks.with_same_rank_of) or self.draft.tree.host
        for group in groups:
            self.path_required[group.name] = max(required, group.required or 0)
            self.chosen[group.name] = list(group.pod_sets())
        wanted = {g.name: max(self.levels.get(g.name) or 0, unit.level) for g in groups}
        by_width = sorted(groups, key=lambda g: wanted[g.name])
        wide = [g for g in by_width if wanted[g.name] <= level]
        narrow = [g for g in by_width if wanted[g.name] > level]
        homes: dict[str, Unit] = {}
        current = unit
        for group in wide:
            current = self._nested(current, group.name, wanted[group.name])
            homes[group.name] = self.enclosing[group.name] = current
        ranks = {g.name: rank_sets(g, self.counts) for g in groups}
        first_free = max((len(ranks[g.name]) for g in narrow), default=0)
        if narrow:
            meeting = self._nested(current, narrow[0].name + "+", level)
            for group in narrow:
                home = self._nested(meeting, group.name, wanted[group.name])
                self.enclosing[group.name] = home
                for pod_set in group.pod_sets():
                    self._leaf(home, pod_set, self.counts[pod_set.name], True)
            for group in wide:
                self._loose_ranks(group, ranks[group.name][:first_free], meeting)
        self._bundles(wide, {g.name: ranks[g.name] for g in wide}, first_free, level, homes)

    def _nested(self, unit: Unit, name: str, level: int) -> Unit:
        if level <= unit.level:
            return unit
        inner = Unit(name, level)
        unit.kids.append(inner)
        return inner

    def _loose_ranks(self, group: Group, names: list[str], unit: Unit) -> None:
        for pod_set in group.pod_sets():
            count = names.count(pod_set.name)
            if count:
                self._leaf(unit, pod_set, count, True)

    def _bundles(
        self, groups: list[Group], ranks: dict[str, list[str]], first: int, level: int, homes: dict[str, Unit]
    ) -> None:
        sets = {s.name: s for g in groups for s in g.pod_sets()}
        tally: dict[tuple[str, ...], int] = {}
        finest: dict[tuple[str, ...], Unit] = {}
        longest = max((len(r) for r in ranks.values()), default=0)
        for rank in range(first, longest):
            present = [g for g in groups if rank < len(ranks[g.name])]
            key = tuple(ranks[g.name][rank] for g in present)
            tally[key] = tally.get(key, 0) + 1
            finest[key] = homes[present[-1].name]
        for key, count in tally.items():
            self._bundle([sets[name] for name in key], count, level, finest[key])

    def _bundle(self, members: list[PodSet], count: int, level: int, unit: Unit) -> None:
        names = tuple(sorted(s.name for s in members))
        if len(members) == 1:
            self._leaf(unit, members[0], count, True)
        elif level >= self.draft.tree.host:
            shapes = [self._shape(s, True) for s in members]
            joint = self.draft.joint_shape(shapes, tuple(shape.key for shape in shapes))
            leaf = self._add_leaf(unit, names, count, joint)
            self.bundles.append(Bundle(names, (leaf.number,)))
        else:
            for _ in range(count):
                home = self._nested(unit, "+".join(names), level)
                leaves = [self._leaf(home, s, 1, True) for s in members]
                self.bundles.append(Bundle(names, tuple(leaf.number for leaf in leaves)))

    # ---- rules --------------------------------------------------------------------------------------

    def _rules(self, root: Unit) -> None:
        for group in self.request.root.groups():
            if group.spread is not None and group.name in self.chosen:
                self._spread(group, root)
        for rule in self.between.rules:
            if isinstance(rule, Apart):
                self._apart(rule)
            elif isinstance(rule, Beside):
                self._beside(rule)
            else:
                self._even(rule)

    def _leaves_in(self, names: "list[str] | tuple[str, ...]") -> list[Leaf]:
        found = [leaf for name in names for leaf in self.leaves_of.get(name, ()) if leaf.count]
        return list({leaf.number: leaf for leaf in found}.values())

    def _spread(self, group: Group, root: Unit) -> None:
        spread = group.spread
        assert spread is not None
        names = [s.name for s in self.chosen[group.name]]
        leaves = self._leaves_in(names)
        if not leaves:
            self.impossible = self.impossible or bool(spread.min_domains)
            return
        if spread.max_per_domain is not None:
            self._ceiling(spread.level, leaves, spread.max_per_domain)
        elif spread.min_domains is not None:
            self._seeds(group, leaves, spread.level, spread.min_domains)
        elif spread.max_skew is not None and spread.level > self.path_required[group.name]:
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
            self.ceilings.append(Ceiling(level, tuple(leaves), most))
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
        elif key in self.choices.answers:
            shares = self.choices.answers[key]
        else:
            most = [leaf.count // step for leaf, step in zip(leaves, steps, strict=True)]
            raise Asked(self.choices.answer(key, split) for split in _compositions(domains, most))
        seeds = []
        for leaf, share, step in zip(leaves, shares, steps, strict=True):
            if share * step > leaf.count:
                self.impossible = True
                return
            if not share:
                continue
            leaf.count -= share * step
            seed = self._add_leaf(self.homes[leaf.number], leaf.parts, share * step, leaf.shape, leaf.units)
            seed.alone = leaf.alone = True
            seed.limits = tuple(sorted({**dict(leaf.limits), level: step}.items()))
            if leaf.limits:  # both parts together stay under the leaf's own limits
                self.ceilings += [Ceiling(at, (leaf, seed), most) for at, most in leaf.limits]
            seeds.append(seed)
        if len(seeds) > 1:
            self.ceilings.append(Ceiling(level, tuple(seeds), max(steps)))

    def _group_skew(self, group: Group, names: list[str], root: Unit) -> None:
        spread = group.spread
        assert spread is not None and spread.max_skew is not None
        tree = self.draft.tree
        required = self.path_required[group.name]
        eligible = np.zeros(tree.size, dtype=bool)
        for pod_set in self.chosen[group.name]:
            mask = self.draft.mask(pod_set.shape.filter, True)
            eligible |= np.ones(tree.size, dtype=bool) if mask is None else mask
        eligible &= tree.inside
        if required > 0:
            key = ("pin", group.name)
            if key not in self.choices.answers:
                raise Asked(self._pin(key, names, required, eligible))
            eligible &= tree.domain[required] == self.choices.answers[key]
        codes = np.where(eligible, tree.domain[spread.level], -1)
        present = np.unique(codes[codes >= 0])
        renumber = np.full(tree.count(spread.level) + 1, -1, dtype=np.int64)
        renumber[present] = np.arange(len(present))
        classes = Classes(renumber[codes], len(present), spread.level)
        running = np.zeros(len(present), dtype=np.int64)
        self._even(Even(("skew", group.name), classes, (), tuple(names), running, spread.max_skew, False))

    def _pin(self, key: Key, names: list[str], level: int, eligible: Flags) -> Iterator[Choices]:
        tree = self.draft.tree
        for domain in np.unique(tree.domain[level][eligible]).tolist():
            here = tree.domain[level] == domain
            chosen = self.choices.answer(key, domain)
            yield chosen.answer(("confine", *key), (tuple(names), here))

    def _even(self, rule: Even) -> None:
        """An even spread: for each possible least count, bounds on every class."""
        counted = self._leaves_in(rule.counted)
        owners = set(rule.owner) & set(self.counts) if rule.owner else set(rule.counted)
        owners = {name for name in owners if self.leaves_of.get(name) and any(x.count for x in self.leaves_of[name])}
        if not owners or not rule.classes.count:
            return
        level = rule.classes.level
        simple = len(counted) == 1 and owners == set(rule.counted) and len(counted[0].parts) == 1
        if level is None or not simple or counted[0].units:
            self._check_later(rule, (*rule.counted, *owners))
            return
        leaf = counted[0]
        if rule.floor:
            self._window(leaf, rule.classes, level, None, np.maximum(rule.skew - rule.running, 0))
            return
        if rule.key not in self.choices.answers:
            raise Asked(self._leasts(rule, leaf, level))
        least = self.choices.answers[rule.key]
        low = np.maximum(least - rule.running, 0)
        high = np.maximum(least + rule.skew - rule.running, 0)
        self._window(leaf, rule.classes, level, low, high)

    def _leasts(self, rule: Even, leaf: Leaf, level: int) -> Iterator[Choices]:
        """Possible least counts, the most even first; none that capacity or the number of pods rules out."""
        caps = leaf.capacity(self.draft, 0).levels[level]
        domains = self._domain_of_class(rule.classes, level)
        top = int((rule.running + caps[domains]).min())
        base = int(rule.running.min())
        for least in range(min(top, base + leaf.count), base - 1, -1):
            if int(np.maximum(least - rule.running, 0).sum()) <= leaf.count:
                yield self.choices.answer(rule.key, least)

    def _check_later(self, rule: "Apart | Beside | Even", names: tuple[str, ...]) -> None:
        """A rule for the last tier; its pods are counted separately from now on."""
        self.lazy.append(rule)
        for leaf in self._leaves_in(names):
            leaf.alone = True

    def _domain_of_class(self, classes: Classes, level: int) -> Ints:
        first = np.full(classes.count, -1, dtype=np.int64)
        used = np.flatnonzero(classes.codes >= 0)[::-1]
        first[classes.codes[used]] = used
        return self.draft.tree.domain[level][first]

    def _window(self, leaf: Leaf, classes: Classes, level: int, low: Ints | None, high: Ints) -> None:
        domains = self._domain_of_class(classes, level)
        count = self.draft.tree.count(level)
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
            self._check_later(rule, (rule.first, rule.second))
        elif rule.first == rule.second:
            self._ceiling(level, first, 1)
        else:
            for a in first:
                for b in second:
                    a.alone = b.alone = True
                    self.exclusions.append(Exclusion(level, a, b))

    def _usable(self, leaves: list[Leaf]) -> Flags:
        usable = np.zeros(self.draft.tree.size, dtype=bool)
        for leaf in leaves:
            usable |= np.ones(self.draft.tree.size, dtype=bool) if leaf.shape.mask is None else leaf.shape.mask
        return usable

    def _beside(self, rule: Beside) -> None:
        team = [name for name in rule.team if self._leaves_in((name,))]
        if not team:
            return
        if rule.founders:
            key = ("found", *rule.team, str(rule.number))
            if key not in self.choices.answers:
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
        home = self.homes[leaf.number]
        if level > home.level:
            inner = Unit("+".join(leaf.parts), level)
            home.kids.append(inner)
            home.loose.remove(leaf)
            inner.loose.append(leaf)
            self.homes[leaf.number] = inner
            leaf.home = level
        return True

    def _foundings(self, key: Key, rule: Beside, team: list[str]) -> Iterator[Choices]:
        """Which class is founded. Without hosts everyone of the team is there; with hosts others may be beside them."""
        usable = self._usable(self._leaves_in(tuple(team)))
        for code in np.unique(rule.classes.codes[usable & (rule.classes.codes >= 0)]).tolist():
            chosen = self.choices.answer(key, code)
            if not rule.hosts:
                chosen = chosen.answer(("confine", *key), (tuple(team), rule.classes.codes == code))
            yield chosen
        if rule.hosts:
            yield self.choices.answer(key, -1)

    # ---- bounds on single nodes, and bounds wider than a unit ------------------------------------------

    def _single_node_bounds(self) -> None:
        if not self.choices.highs and not self.choices.lows:
            return
        host = self.draft.tree.host
        size = self.draft.tree.size
        highs: dict[str, Ints] = {}
        for (name, node), most in self.choices.highs.items():
            highs.setdefault(name, np.full(size, 10**9, dtype=np.int64))[node] = most
        lows: dict[str, Ints] = {}
        for (name, node), least in self.choices.lows.items():
            lows.setdefault(name, np.zeros(size, dtype=np.int64))[node] = least
        for name in sorted(highs.keys() | lows.keys()):
            leaves = self._leaves_in((name,))
            if len(leaves) == 1 and len(leaves[0].parts) == 1:
                self._narrow(leaves[0], host, lows.get(name), highs.get(name))
            elif name in lows:
                raise Asked(iter((UNANSWERABLE,)))
            else:
                self.ceilings.append(Ceiling(host, tuple(leaves), highs[name]))
                for leaf in leaves:
                    leaf.alone = True

    def _settle_wide_bounds(self, leaf: Leaf) -> None:
        """A bound on a level at or above the leaf's own unit speaks of the whole leaf: it becomes a mask."""
        if not leaf.limits and not leaf.windows:
            return
        tree = self.draft.tree
        mask = np.ones(tree.size, dtype=bool)
        for level, most in leaf.limits:
            if level <= leaf.home and most < leaf.count:
                self.impossible = True
        leaf.limits = tuple(entry for entry in leaf.limits if entry[0] > leaf.home)
        for level in [at for at in leaf.windows if at <= leaf.home]:
            window = leaf.windows.pop(level)
            if window.high is not None:
                mask &= (window.high >= leaf.count)[tree.domain[level]]
            if window.low is not None and window.low.any():
                needy = np.flatnonzero(window.low)
                mask &= (tree.domain[level] == needy[0]) & bool(len(needy) == 1 and window.low[needy[0]] <= leaf.count)
        if not mask.all():
            leaf.shape = self.draft.local_shape(
                leaf.shape, ("wide", leaf.number, self.draft.version, mask.tobytes()), mask
            )

    def _stay_with_lower_bounds(self, leaf: Leaf) -> None:
        """Pods demanded in some domain bring the leaf's whole unit there: one domain, or none at all."""
        tree = self.draft.tree
        for level, window in leaf.windows.items():
            if leaf.home == 0 or window.low is None or not window.low.any():
                continue
            firsts = tree.start[level][np.flatnonzero(window.low)]
            homes = np.unique(tree.domain[leaf.home][firsts])
            if len(homes) > 1:
                self.impossible = True
                return
            here = tree.domain[leaf.home] == homes[0]
            for other in self.homes[leaf.number].leaves():
                key = ("home", other.number, leaf.home, int(homes[0]))
                other.shape = self.draft.local_shape(other.shape, key, here)

    def _settle_wide_rules(self, root: Unit) -> None:
        for exclusion in self.exclusions:
            if exclusion.level <= root.level and exclusion.first.count and exclusion.second.count:
                self.impossible = True
        for ceiling in self.ceilings:
            if (
                ceiling.level <= root.level
                and isinstance(ceiling.most, int)
                and sum(x.count for x in ceiling.leaves) > ceiling.most
            ):
                self.impossible = True


UNANSWERABLE = Choices({("unanswerable",): True})


def _drop_empty(unit: Unit) -> None:
    unit.loose = [leaf for leaf in unit.loose if leaf.count]
    for kid in unit.kids:
        _drop_empty(kid)
    unit.kids = [kid for kid in unit.kids if kid.kids or kid.loose]


def _compositions(total: int, most: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to write ``total`` as a sum with bounded parts."""
    if not most:
        if total == 0:
            yield ()
        return
    for first in range(min(total, most[0]), -1, -1):
        for rest in _compositions(total - first, most[1:]):
            yield (first, *rest)


def is_bound(group: Group) -> bool:
    """Whether a group's own wishes tie its pods to the topology."""
    ranks = group.ranks
    ranked = ranks is not None and (ranks.level is not None or ranks.across is not None)
    return group.required is not None or group.preferred is not None or group.spread is not None or ranked


def slice_units(pod_set: PodSet) -> tuple[tuple[int, int], ...]:
    """(level, size) coarse to fine, sizes made to divide each other: a wide domain holds whole narrow slices, so what
    it holds is a multiple of both sizes."""
    units: list[tuple[int, int]] = []
    inner = 1
    for cut in sorted(pod_set.slices, key=lambda cut: -cut.level):
        inner = lcm(inner, cut.size)
        if inner > 1:
            units.insert(0, (cut.level, inner))
    return tuple(units)


def whole_slices(pod_set: PodSet) -> int:
    """The least number of pods of a set that can be placed at once, and the step to more."""
    units = slice_units(pod_set)
    return units[0][1] if units else 1


def whole_range(pod_set: PodSet) -> tuple[int, int]:
    """Fewest and most pods of a set in whole slices; nothing between them if the first is larger."""
    step = whole_slices(pod_set)
    return -(-pod_set.min_count // step) * step, pod_set.count // step * step


def likeness(member: Group | PodSet) -> str:
    """Equal for members that differ only in their names."""
    if isinstance(member, PodSet):
        return repr((member.count, member.min_count, member.shape, member.slices))
    inner = [likeness(m) for m in member.members]
    ranks = member.ranks and (member.ranks.order, member.ranks.across, member.ranks.with_same_rank_of)
    return repr((member.required, member.preferred, member.min_members, member.spread, ranks, inner))


def linked_names(group: Group) -> set[str]:
    """Members that share ranks with a sibling, on either side of the link."""
    names = set()
    for member in group.members:
        if isinstance(member, Group) and member.ranks and member.ranks.with_same_rank_of:
            names |= {member.name, member.ranks.with_same_rank_of}
    return names


def components(groups: list[Group]) -> list[list[Group]]:
    """Groups connected by same-rank links, in declared order."""
    label = {g.name: i for i, g in enumerate(groups)}
    for _ in groups:
        for g in groups:
            partner = g.ranks.with_same_rank_of if g.ranks else None
            if partner in label:
                label[g.name] = label[partner] = min(label[g.name], label[partner])
    return [[g for g in groups if label[g.name] == i] for i in sorted(set(label.values()))]


def rank_sets(group: Group, counts: Mapping[str, int]) -> list[str]:
    """The pod set of every rank of a group."""
    return [s.name for s in group.pod_sets() for _ in range(counts[s.name])]
