"""From a request to a plan: groups become units, pod sets become leaves, rules become numbers.

Where a rule needs an assumption first, building stops with the Question; the search answers it and builds again.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from math import lcm

import numpy as np
import numpy.typing as npt

from phalanx.model.request import Group, PodSet, Request
from phalanx.place.between import Between, Rule
from phalanx.place.choices import UNANSWERABLE, Asked, Choices, Key
from phalanx.place.draft import Draft, Shape
from phalanx.place.plan import Ceiling, Exclusion, Leaf, Plan, Unit
from phalanx.place.rulings import Rulings, compositions

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BUNDLES_MAX = 2000  # pairs of ranks that each need a domain above the node; more are not searched


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
    lazy: list[Rule]  # rules that are checked on what is found
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
    lazy: list[Rule] = field(default_factory=list)
    chosen: dict[str, list[PodSet]] = field(default_factory=dict)  # group -> pod sets below it that are in
    enclosing: dict[str, Unit] = field(default_factory=dict)
    path_required: dict[str, int] = field(default_factory=dict)  # group -> narrowest *required* level on its path
    impossible: bool = False

    def build(self) -> Built:
        root = Unit(self.request.root.name, self.levels.get(self.request.root.name) or 0)
        self._group(self.request.root, root, bound=False, required=0)
        rulings = Rulings(self)
        rulings.apply(root)
        rulings.single_node_bounds()
        for leaf in self.leaves:
            rulings.settle_wide_bounds(leaf)
            rulings.stay_with_lower_bounds(leaf)
            leaf.own = None  # of before all its bounds were known
        self.leaves = [leaf for leaf in self.leaves if leaf.count]
        _drop_empty(root)
        while len(root.kids) == 1 and not root.loose:  # nothing but one unit: it is the whole question
            (root,) = root.kids
        rulings.settle_wide_rules(root)
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
        teams = rank_teams(group)
        linked = {one.name for _, team in teams for one in team}
        for member in members:
            if isinstance(member, PodSet):
                leaf = self._leaf(unit, member, self.counts[member.name], bound)
                leaf.across = group.ranks.across if group.ranks and group.ranks.order in ("Stripe", "Balance") else None
            elif member.name not in linked:
                self._group(member, self._unit_for(member, unit), bound, required)
        for level, team in teams:
            if present := [one for one in team if one in members]:
                self._component(present, level or self.draft.tree.host, unit, required)
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
        """All members; then the smallest sets that suffice; then what is between (rules may need company).

        Of members that are alike only the number matters, so the first ones stand for any.
        """
        alike: dict[object, list[int]] = {}
        linked = {m.ranks.with_same_rank_of for m in members if isinstance(m, Group) and m.ranks}
        for i, member in enumerate(members):
            alike.setdefault(member.name if member.name in linked else likeness(member), []).append(i)
        kinds = list(alike.values())
        for size in [len(members), *range(least, len(members))]:
            for numbers in compositions(size, [len(kind) for kind in kinds]):
                subset = sorted(i for kind, number in zip(kinds, numbers, strict=True) for i in kind[:number])
                yield self.choices.answer(key, tuple(subset))

    def _leaf(self, unit: Unit, pod_set: PodSet, count: int, bound: bool) -> Leaf:
        shape = self._shape(pod_set, bound)
        low, high = whole_range(pod_set)
        self.impossible = self.impossible or low > high  # no whole number of slices lies between minimum and count
        return self.add_leaf(unit, (pod_set.name,), count, shape, slice_units(pod_set))

    def add_leaf(
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

    def _component(self, groups: list[Group], level: int, unit: Unit, required: int) -> None:
        """Groups whose equal ranks share a domain of one level.

        Every group has a rank 0, so all their domains meet: they nest, the widest outside. Groups narrower than the
        shared level bring all their partners into one domain of it.
        """
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
            leaf = self.add_leaf(unit, names, count, joint)
            self.bundles.append(Bundle(names, (leaf.number,)))
        elif count > BUNDLES_MAX:
            raise Asked(iter((UNANSWERABLE,)))
        else:
            for _ in range(count):
                home = self._nested(unit, "+".join(names), level)
                leaves = [self._leaf(home, s, 1, True) for s in members]
                self.bundles.append(Bundle(names, tuple(leaf.number for leaf in leaves)))


def _drop_empty(unit: Unit) -> None:
    unit.loose = [leaf for leaf in unit.loose if leaf.count]
    for kid in unit.kids:
        _drop_empty(kid)
    unit.kids = [kid for kid in unit.kids if kid.kids or kid.loose]


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


def likeness(member: Group | PodSet) -> Hashable:
    """Equal for members that differ only in their names; what others refer to by name is like nothing else."""
    if isinstance(member, PodSet):
        return (member.count, member.min_count, member.shape, member.slices)
    inner = tuple(likeness(m) for m in member.members)
    ranks = member.ranks and (member.ranks.order, member.ranks.across, member.ranks.with_same_rank_of)
    return (member.required, member.preferred, member.min_members, member.spread, ranks, inner)


def rank_teams(parent: Group) -> list[tuple[int | None, list[Group]]]:
    """Members that share ranks, directly or through others, in declared order, with the level they meet on.

    Who stays out of a team still ties the others together.
    """
    groups = [m for m in parent.members if isinstance(m, Group)]
    label = {g.name: i for i, g in enumerate(groups)}
    ranked = [(g.name, g.ranks) for g in groups if g.ranks is not None]
    links = [(name, r.with_same_rank_of, r.level) for name, r in ranked if r.with_same_rank_of in label]
    for _ in links:
        for name, partner, _ in links:
            label[name] = label[partner] = min(label[name], label[partner])
    levels = {label[name]: level for name, _, level in links}
    return [(level, [g for g in groups if label[g.name] == i]) for i, level in sorted(levels.items())]


def rank_sets(group: Group, counts: Mapping[str, int]) -> list[str]:
    """The pod set of every rank of a group."""
    return [s.name for s in group.pod_sets() for _ in range(counts[s.name])]
