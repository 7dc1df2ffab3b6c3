"""Why a request found no place: which group, at which level, how far the nearest domains get. Numbers, no sentences.

Runs on a refusal only. The dominant reason is the first that holds, from what no waiting cures to what it does::

    no node passes the filters        NoMatchingNodes
    impossible on the empty cluster   TooLarge        whoever it wants to be beside
    possible without its levels       Fragmented      as is: enough in sum, each part alone, not together
    otherwise                         NoRoom

All of it is asked of the solver again, on a request with less in it: what is left out only ever makes it easier,
so a part that is impossible by itself is a cause and not a suspicion.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from phalanx.model.matching import selects
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import LabelSelector, PodShape, PodTerm
from phalanx.model.policy import Policy
from phalanx.model.reasons import PODS_GONE, DomainEvidence, Obstacle, Reason, Why
from phalanx.model.request import Group, PodSet, Request, Spread
from phalanx.model.topology import Tree
from phalanx.place import between, build, filters, fit, meeting, solve, verdicts
from phalanx.place.draft import TOTAL_MAX, Draft, Shape

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Member = Group | PodSet
Units = tuple[tuple[int, int], ...]  # level and size of slices

NEAREST = 3  # domains shown
LOOKED_AT = 8  # domains filled by way of trial to find those; counting alone misjudges mixed groups
WORK_MAX = 8_000_000  # budget units for everything asked again; a fifth of what one decision may spend
NODES_CHANGE = ("NodeAdded", "NodeChanged")
ROOM_COMES = (*NODES_CHANGE, PODS_GONE)
PODS_COME = "PodsCame"


def explain_refusal(draft: Draft, request: Request, answer: solve.Answer) -> Reason:
    """The dominant reason for an answer that is not a placement. The draft is left as it was."""
    whole = Culprit(request, (), request.root)
    if answer.status == verdicts.UNDECIDED:
        told = _told(draft, whole, Why.UNDECIDED, ROOM_COMES)
        return replace(told, rules=meeting.rules(request, draft.tree.topology))
    barred = next(_barred(draft, request), None)
    if barred is not None:
        return _no_nodes(draft, barred)
    ask = _Ask()
    empty, alone = emptied(draft), _alone(request)
    if ask.impossible(empty, alone):
        return _told(empty, _culprit(ask, empty, Culprit(alone, (), alone.root)), Why.TOO_LARGE, NODES_CHANGE)
    culprit = _culprit(ask, draft, whole)
    why = Why.FRAGMENTED if _enough_is_free(ask, draft, culprit) else Why.NO_ROOM
    return _told(draft, culprit, why, _helpers(draft, request))


def never_fits(draft: Draft, request: Request) -> bool:
    """Whether it is proved that the request would not fit either if nothing ran on these nodes."""
    return _Ask().impossible(emptied(draft), _alone(request))


def _helpers(draft: Draft, request: Request) -> tuple[str, ...]:
    """What could help. Nobody's departure does while pods are missing that it must be beside."""
    terms = list(_outside(request))
    if not terms:
        return ROOM_COMES
    all_there = all(draft.pods.matching(one.selector, one.namespaces).any() for one in terms)
    return (*(ROOM_COMES if all_there else NODES_CHANGE), PODS_COME)


def _outside(request: Request) -> Iterator[PodTerm]:
    """Affinity towards pods that are none of its own."""
    shapes = [pods.shape for pods in request.root.pod_sets()]
    for shape in shapes:
        yield from (t for t in shape.affinity if not any(_means(t.selector, t.namespaces, one) for one in shapes))


def _alone(request: Request) -> Request:
    """The request without those: on a cluster where nothing runs nobody is there to be beside."""
    terms = set(_outside(request))
    return replace(request, root=_without(request.root, terms)) if terms else request


def _without(group: Group, terms: set[PodTerm]) -> Group:
    def lighter(member: Member) -> Member:
        if isinstance(member, Group):
            return _without(member, terms)
        kept = tuple(term for term in member.shape.affinity if term not in terms)
        return replace(member, shape=replace(member.shape, affinity=kept))

    return replace(group, members=tuple(lighter(member) for member in group.members))


# ---- who finds no home ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Culprit:
    """A member of a request, the groups around it from the root down, and the request with all else left out.

    ``parts``: its own members, where each of them alone has a place.
    """

    request: Request
    around: tuple[Group, ...]
    member: Member
    parts: tuple["Culprit", ...] = ()

    @property
    def name(self) -> str:
        """Its name; a pod set that is all of its group goes by the group's."""
        if isinstance(self.member, PodSet) and self.around and len(self.around[-1].members) == 1:
            return self.around[-1].name
        return self.member.name

    @property
    def level(self) -> int:
        """The level that must hold it: the narrowest required one on its path, its own included."""
        own = self.member.required if isinstance(self.member, Group) else None
        return max((own or 0, *(group.required or 0 for group in self.around)))

    def only(self, member: Member) -> "Culprit":
        """The same with one member of the group left in."""
        if not isinstance(self.member, Group):
            raise Mistake("only a group has members")
        around = (*self.around, self.member)
        if len(self.member.members) == 1:
            return Culprit(self.request, around, member)
        lonely = _by_itself(member, self.request)
        for group in reversed(around):
            lonely = replace(group, members=(lonely,), min_members=None, spread=_ceiling(group), ranks=None)
        if not isinstance(lonely, Group):
            raise Mistake("a request of something else than a group")
        return Culprit(replace(self.request, root=lonely), around, member)


def around(root: Group, name: str) -> tuple[Group, ...]:
    """The groups from the root down to the one called ``name`` or holding the pod set of that name."""
    if root.name == name:
        return (root,)
    for member in root.members:
        if isinstance(member, Group):
            if below := around(member, name):
                return (root, *below)
        elif member.name == name:
            return (root,)
    return ()


def _ceiling(group: Group) -> Spread | None:
    """Of a spread what fewer pods keep for certain: at most so many a domain."""
    return group.spread if group.spread is not None and group.spread.max_per_domain is not None else None


def _by_itself(member: Member, request: Request) -> Member:
    """The member without its ties to pods that are left out: a missing neighbour must not look like missing room."""
    alone = replace(member, ranks=None) if isinstance(member, Group) else member
    if not any(pods.shape.affinity or pods.shape.spread for pods in _sets(member)):
        return alone
    inside = {pods.name for pods in _sets(member)}
    return _untied(alone, [s.shape for s in request.root.pod_sets() if s.name not in inside])


def _untied(member: Member, gone: list[PodShape]) -> Member:
    if isinstance(member, Group):
        return replace(member, members=tuple(_untied(kid, gone) for kid in member.members))
    shape = member.shape
    affinity = tuple(t for t in shape.affinity if not any(_means(t.selector, t.namespaces, one) for one in gone))
    spread = tuple(r for r in shape.spread if not any(_means(r.selector, (shape.namespace,), one) for one in gone))
    return replace(member, shape=replace(shape, affinity=affinity, spread=spread))


def _means(selector: LabelSelector, namespaces: tuple[str, ...] | None, shape: PodShape) -> bool:
    return (namespaces is None or shape.namespace in namespaces) and selects(selector, dict(shape.labels))


def _sets(member: Member) -> tuple[PodSet, ...]:
    return tuple(member.pod_sets()) if isinstance(member, Group) else (member,)


class _Ask:
    """Questions to the solver, out of one budget; what was asked in other words is not asked again."""

    def __init__(self) -> None:
        self.left = WORK_MAX
        self.known: dict[tuple[int, Hashable], bool] = {}

    def impossible(self, draft: Draft, request: Request) -> bool:
        """Whether that was proved; a question that is too dear is answered with no."""
        key = (id(draft), build.likeness(request.root))
        if key not in self.known:
            self.known[key] = self._status(draft, request) == verdicts.IMPOSSIBLE
        return self.known[key]

    def placed(self, draft: Draft, request: Request) -> bool:
        return self._status(draft, request) == verdicts.PLACED

    def _status(self, draft: Draft, request: Request) -> str:
        answer = solve.place(draft, request, Policy(budget=self.left))
        self.left = max(self.left - answer.work, 0)
        return answer.status


def _culprit(ask: _Ask, draft: Draft, whole: Culprit) -> Culprit:
    """The innermost member that finds no home even with all the others left out."""
    if not isinstance(whole.member, Group):
        return whole
    parts = [whole.only(member) for member in whole.member.members]
    if len(parts) == 1:
        return _culprit(ask, draft, parts[0])
    spare = len(parts) - (len(parts) if whole.member.min_members is None else whole.member.min_members)
    homeless = [part for part in parts if ask.impossible(draft, part.request)]
    if len(homeless) > spare:
        return _culprit(ask, draft, homeless[0])
    return replace(whole, parts=tuple(parts))


# ---- what kind of no --------------------------------------------------------------------------------------------


def _barred(draft: Draft, request: Request) -> Iterator[Culprit]:
    """Pod sets that must start and that no node admits, whatever is free."""
    for culprit in _mandatory(Culprit(request, (), request.root)):
        if not isinstance(culprit.member, PodSet):
            raise Mistake("only pod sets must start")
        mask = draft.mask(culprit.member.shape.filter, _bound(culprit))
        open_nodes = draft.tree.size if mask is None else int(mask.sum())
        if culprit.member.min_count and not open_nodes:
            yield culprit


def _mandatory(culprit: Culprit) -> Iterator[Culprit]:
    """The pod sets without which the request cannot start."""
    member = culprit.member
    if isinstance(member, PodSet):
        yield culprit
    elif member.min_members is None or member.min_members >= len(member.members):
        for kid in member.members:
            yield from _mandatory(Culprit(culprit.request, (*culprit.around, member), kid))


def _bound(culprit: Culprit) -> bool:
    sliced = isinstance(culprit.member, PodSet) and bool(culprit.member.slices)
    return sliced or any(build.is_bound(group) for group in culprit.around)


def emptied(draft: Draft) -> Draft:
    """The same nodes with nothing running; kept beside the draft's counts, because making it reads every node."""
    found = draft.capacities.get("empty")
    if not isinstance(found, Draft):
        found = draft.capacities["empty"] = Draft(draft.tree, draft.table.nodes, ())
    return found


def _enough_is_free(ask: _Ask, draft: Draft, culprit: Culprit) -> bool:
    """Whether it would fit without levels and slices; or, of parts that fit one by one, whether the sums allow it."""
    if ask.placed(draft, replace(culprit.request, root=_loosened(culprit.request.root))):
        return True
    return bool(culprit.parts) and _sums_allow(draft, culprit)


def _loosened(member: Group) -> Group:
    """Without required levels and slices. A wish for the widest level stays: it binds the pods to the topology."""
    kids = tuple(
        _loosened(kid) if isinstance(kid, Group) else replace(kid, slices=(), count=kid.min_count)
        for kid in member.members
    )
    wish = None if member.required is None and member.preferred is None else 1
    return replace(member, members=kids, required=None, preferred=wish, ranks=None)


def _sums_allow(draft: Draft, culprit: Culprit) -> bool:
    free = np.maximum(draft.free, 0).sum(axis=1)
    asked = [0] * len(free)
    for pod_set in _sets(culprit.member):
        shape = draft.shape(pod_set.shape, False)
        for row, need in zip(shape.rows.tolist(), shape.need.tolist(), strict=True):
            asked[row] += need * pod_set.min_count
    return all(ask <= have for ask, have in zip(asked, free.tolist(), strict=True))


# ---- the evidence -----------------------------------------------------------------------------------------------


def _told(draft: Draft, culprit: Culprit, why: Why, helped_by: tuple[str, ...]) -> Reason:
    """The reason with its figures, counted on one draft."""
    trial = _Trial(draft, culprit)
    level = culprit.level
    wider_level, wider = trial.wider() if isinstance(culprit.member, PodSet) else (0, None)
    return Reason(
        why, culprit.name, draft.tree.topology.level_name(level), needed(culprit.member),
        nearest=trial.nearest(level),
        together=bool(culprit.parts),
        nodes_seen=draft.tree.size,
        free_elsewhere=trial.anywhere(),
        parts=tuple(_part(draft, part, why) for part in culprit.parts),
        wider=wider,
        wider_level=draft.tree.topology.level_name(wider_level) if wider is not None else "",
        helped_by=helped_by,
    )  # fmt: skip


def inside(draft: Draft, request: Request, reason: Reason, path: tuple[str, ...]) -> DomainEvidence:
    """How far what finds no home gets in one domain, where the request must be in it for reasons of its own."""
    level, domain = domain_of(draft.tree, path)
    chain = around(request.root, reason.group)
    is_group = chain[-1].name == reason.group
    member: Member = chain[-1] if is_group else next(m for m in chain[-1].members if m.name == reason.group)
    culprit = Culprit(request, chain[:-1] if is_group else chain, member)
    return _Trial(emptied(draft) if reason.type is Why.TOO_LARGE else draft, culprit).evidence(level, domain)


def domain_of(tree: Tree, path: tuple[str, ...]) -> tuple[int, int]:
    """The level of a domain, and its number there."""
    node = next(i for i, one in enumerate(tree.paths) if one[: len(path)] == path)
    return len(path), int(tree.domain[len(path)][node])


def sets_of(root: Group, name: str) -> tuple[PodSet, ...]:
    """The pod set of that name, or those of the group of that name."""
    chain = around(root, name)
    found = chain[-1] if chain and chain[-1].name == name else None
    sets = tuple(chain[-1].pod_sets()) if chain else ()
    return sets if found is not None else tuple(one for one in sets if one.name == name)


def _part(draft: Draft, part: Culprit, why: Why) -> Reason:
    """Where a part alone would go best."""
    nearest = _Trial(draft, part).nearest(part.level)[:1]
    return Reason(why, part.name, draft.tree.topology.level_name(part.level), needed(part.member), nearest)


def _no_nodes(draft: Draft, culprit: Culprit) -> Reason:
    trial = _Trial(draft, culprit)
    (pod_set,) = _sets(culprit.member)
    everywhere = range(draft.tree.size)
    seen = DomainEvidence((), 0, pod_set.min_count, trial.barriers(pod_set, everywhere)[0])
    level = draft.tree.topology.level_name(culprit.level)
    return Reason(
        Why.NO_MATCHING_NODES, culprit.name, level, pod_set.min_count, (seen,),
        nodes_seen=draft.tree.size, helped_by=NODES_CHANGE,
    )  # fmt: skip


def needed(member: Member) -> int:
    """The fewest pods with which a member can start."""
    if isinstance(member, PodSet):
        return member.min_count
    return sum(needed(kid) for kid in _least(member))


def _least(group: Group) -> list[Member]:
    """The smallest members that suffice, in declared order."""
    count = len(group.members) if group.min_members is None else group.min_members
    ranked = sorted(range(len(group.members)), key=lambda i: (needed(group.members[i]), i))
    return [group.members[i] for i in sorted(ranked[:count])]


@dataclass(slots=True)
class _Found:
    """What filling one domain by way of trial came to. ``short``: what stopped the first pod set that was."""

    pods: int = 0
    short: tuple[tuple[Obstacle, ...], tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class _Ceiling:
    """At most so many pods of a set in each domain of a level, and which rule says so."""

    level: int
    most: int
    what: Obstacle


class _Trial:
    """One member tried in single domains, to see how far it gets there."""

    def __init__(self, draft: Draft, culprit: Culprit) -> None:
        self.draft, self.culprit = draft, culprit
        self.between = between.read(draft, tuple(culprit.request.root.pod_sets()))
        self.paths = {one.member.name: one for one in _below(culprit)}
        self.shapes: dict[str, Shape] = {}
        self.why: dict[str, tuple[Ints, tuple[tuple[str, str], ...]]] = {}

    def nearest(self, level: int) -> tuple[DomainEvidence, ...]:
        """The domains of a level in which most pods fit, ties in tree order."""
        tree = self.draft.tree
        if not tree.size:
            return ()
        promise = np.zeros(tree.count(level), dtype=np.int64)
        for pod_set in _sets(self.culprit.member):
            promise += np.minimum(self.capacity(pod_set, level), pod_set.min_count)
        promise[~tree.inside[tree.start[level][:-1]] & (level > 0)] = -1
        best = [int(d) for d in _largest(promise, LOOKED_AT) if promise[d] >= 0]
        seen = [(self.evidence(level, domain), domain) for domain in best]
        seen.sort(key=lambda entry: (-entry[0].fits, entry[1]))
        return tuple(entry for entry, _ in seen[:NEAREST])

    def evidence(self, level: int, domain: int) -> DomainEvidence:
        mark = self.draft.mark()
        found = _Found()
        self._fill(self.culprit.member, level, domain, found)
        self.draft.undo(mark)
        obstacles, limits = found.short or (tuple(dict.fromkeys(self._rules())), ())
        wanted = needed(self.culprit.member)
        return DomainEvidence(self.draft.tree.path(level, domain), found.pods, wanted, obstacles, limits)

    def wider(self) -> tuple[int, DomainEvidence | None]:
        """The narrowest wider level at which counting finds room enough, and its best domain."""
        (pod_set,) = _sets(self.culprit.member)
        for level in range(self.culprit.level - 1, -1, -1):
            counts = self.capacity(pod_set, level)
            if len(counts) and counts.max() >= pod_set.min_count:
                best = int(counts.argmax())
                path = self.draft.tree.path(level, best)
                return level, DomainEvidence(path, int(counts[best]), pod_set.min_count)
        return 0, None

    def anywhere(self) -> int:
        """Pods that find room in the whole cluster, levels and slices ignored: as many as fit of a single set, as many
        as are wanted of several."""
        sets = _sets(self.culprit.member)
        if len(sets) == 1:
            counts = fit.capacity(self.draft, self.shape(sets[0])).levels[0]
            return int(counts[0]) if len(counts) else 0
        mark = self.draft.mark()
        nodes = range(self.draft.tree.size)
        pods = sum(self._take(one, self._node_room(one, nodes), nodes, one.min_count) for one in sets)
        self.draft.undo(mark)
        return pods

    def shape(self, pod_set: PodSet) -> Shape:
        """The pod's shape with every node closed that running pods close to it."""
        if pod_set.name not in self.shapes:
            shape = self.draft.shape(pod_set.shape, _bound(self.paths[pod_set.name]))
            mask = self.between.masks.get(pod_set.name)
            # a key of its own: what running pods close today must not be mistaken for what they close tomorrow
            self.shapes[pod_set.name] = shape if mask is None else self.draft.local_shape(shape, object(), mask)
        return self.shapes[pod_set.name]

    def capacity(self, pod_set: PodSet, level: int) -> Ints:
        """How many of a set every domain of a level counts room for, with slices and ceilings from there on down."""
        return self._counted(pod_set, level, self._units(pod_set, level), self._ceilings(pod_set, level))

    def _counted(self, pod_set: PodSet, level: int, units: Units, ceilings: Sequence[_Ceiling]) -> Ints:
        most: dict[int, int] = {}
        for one in ceilings:
            most[one.level] = min(most.get(one.level, TOTAL_MAX), one.most)
        return fit.capacity(self.draft, self.shape(pod_set), units, tuple(sorted(most.items()))).levels[level]

    def _units(self, pod_set: PodSet, level: int) -> Units:
        return tuple(unit for unit in build.slice_units(pod_set) if unit[0] > level)

    def _ceilings(self, pod_set: PodSet, level: int) -> list[_Ceiling]:
        """Most pods of the set in a domain: from spreads around it and from keeping away from itself."""
        topology, found = self.draft.tree.topology, []
        for group in self.paths[pod_set.name].around:
            if group.spread is not None and group.spread.max_per_domain is not None:
                at = group.spread.level
                what = self._named(Obstacle("spread", topology.level_name(at), 0), self._label(at))
                found.append(_Ceiling(at, group.spread.max_per_domain, what))
        for rule in self.between.rules:
            alone = isinstance(rule, between.Apart) and rule.first == rule.second == pod_set.name
            level_alone = rule.classes.level if alone else None
            if level_alone:
                keys = [term.key for term in pod_set.shape.anti_affinity]
                label = self._label(level_alone)
                found.append(_Ceiling(level_alone, 1, Obstacle("affinity", label if label in keys else keys[0], 0)))
        return [one for one in found if one.level >= level]

    def _binding(self, pod_set: PodSet, level: int, domain: int, fits: int) -> tuple[Obstacle, ...]:
        """The rules between its pods that stop a set before room does: ceilings without one of which more would fit,
        and slices without which all would."""
        units, ceilings = self._units(pod_set, level), self._ceilings(pod_set, level)

        def count(units: Units, ceilings: Sequence[_Ceiling]) -> int:
            return int(self._counted(pod_set, level, units, ceilings)[domain])

        found = [one.what for one in ceilings if count(units, [other for other in ceilings if other is not one]) > fits]
        if ceilings and not found and count(units, ()) > fits:
            found = [one.what for one in ceilings]
        if units and not found and count((), ceilings) >= pod_set.min_count:
            found = [Obstacle("slice", self.draft.tree.topology.level_name(at), 0) for at, _ in units]
        return tuple(dict.fromkeys(found))

    def _fill(self, member: Member, level: int, domain: int, found: _Found) -> None:
        """Takes what fits of a member in a domain, set by set; groups with a level of their own in one domain of it."""
        if isinstance(member, PodSet):
            self._fill_set(member, level, domain, found)
            return
        if member.required is not None and member.required > level:
            level, domain = member.required, self._home(member, level, domain)
        for kid in _least(member):
            self._fill(kid, level, domain, found)

    def _fill_set(self, pod_set: PodSet, level: int, domain: int, found: _Found) -> None:
        fits = min(int(self.capacity(pod_set, level)[domain]), pod_set.min_count)
        nodes = self.draft.tree.nodes(level, domain)
        if fits < pod_set.min_count and found.short is None:
            binding = self._binding(pod_set, level, domain, fits)
            obstacles, limits = self.barriers(pod_set, nodes)
            seen = {(one.kind, one.name) for one in obstacles}
            rules = tuple(one for one in binding if (one.kind, one.name) not in seen)
            found.short = (*obstacles, *rules), () if binding else limits
        found.pods += self._take(pod_set, self._node_room(pod_set, nodes), nodes, fits)

    def _home(self, group: Group, level: int, domain: int) -> int:
        """Of the domains inside, the tightest that counts room for the whole group; else the one with most."""
        inner = group.required or 0
        inside = self.draft.tree.within(level, domain, inner)
        cut = slice(inside.start, inside.stop)
        counts = [(self.capacity(one, inner)[cut], one.min_count) for one in group.pod_sets()]
        got = np.sum([np.minimum(have, want) for have, want in counts], axis=0)
        rest = np.sum([have for have, _ in counts], axis=0)
        return inside.start + int(np.lexsort((rest, -got))[0])

    def _node_room(self, pod_set: PodSet, nodes: range) -> Ints:
        return self.capacity(pod_set, self.draft.tree.host)[nodes.start : nodes.stop]

    def _take(self, pod_set: PodSet, room: Ints, nodes: range, pods: int) -> int:
        """Takes so many pods from the first nodes with room; returns how many it could."""
        before = np.cumsum(room) - room
        counts = np.clip(pods - before, 0, room)
        used = np.flatnonzero(counts)
        if len(used):
            self.draft.take(self.shape(pod_set), used + nodes.start, counts[used])
        return int(counts.sum())

    def _rules(self) -> Iterator[Obstacle]:
        """Where room alone is no obstacle: the rules among the pods, of which it cannot be said on which node."""
        around, member = self.culprit.around, self.culprit.member
        level_name = self.draft.tree.topology.level_name
        for group in (*around, *(member.groups() if isinstance(member, Group) else ())):
            if group.spread is not None:
                what = Obstacle("spread", level_name(group.spread.level), 0)
                yield self._named(what, self._label(group.spread.level))
            if group.ranks is not None and group.ranks.with_same_rank_of is not None and group.ranks.level is not None:
                yield Obstacle("rank", level_name(group.ranks.level), 0)
        for shape in (one.shape for one in _sets(member)):
            for term in (*shape.affinity, *shape.anti_affinity):
                yield self._named(Obstacle("affinity", term.key, 0), term.key)
            yield from (Obstacle("spread", rule.key, 0) for rule in shape.spread)

    def _label(self, level: int) -> str:
        levels = self.draft.tree.topology.levels
        return levels[level - 1].label if 0 < level <= len(levels) else ""

    def _named(self, what: Obstacle, label: str) -> Obstacle:
        """The obstacle; where a controller keeps others out of domains by this label, by what it was asked with."""
        key = self.culprit.request.exclusive
        is_so = key is not None and any(
            label in [term.key for term in pods.shape.anti_affinity] for pods in self.culprit.request.root.pod_sets()
        )
        return Obstacle("exclusive", f"{key}: {label}", what.nodes) if is_so else what

    # ---- what is in the way on single nodes -----------------------------------------------------------------

    def barriers(self, pod_set: PodSet, nodes: range) -> tuple[tuple[Obstacle, ...], tuple[str, ...]]:
        """What keeps a set off the nodes that hold not one pod of it, and which resources run out on the others.

        A node counts for its first obstacle among filters and neighbours, and for each resource it is short of.
        """
        cut = slice(nodes.start, nodes.stop)
        seen: list[Obstacle] = []
        left = np.ones(len(nodes), dtype=bool)
        for kind, name, closed in self._closed(pod_set, cut):
            seen += _obstacle(kind, name, closed & left)
            left &= ~closed
        shape = self.draft.shape(pod_set.shape, False)
        names = {row: name for name, row in self.draft.row.items()}
        if not len(shape.rows):
            return _sorted(seen), ()
        room = self.draft.free[shape.rows, cut] // shape.need[:, None]
        for row, here in zip(shape.rows.tolist(), room, strict=True):
            seen += _obstacle(*_resource(names[row]), left & (here < 1))
        least = room.min(axis=0)
        some = left & (least >= 1)
        ends = [
            (int((some & (here == least)).sum()), names[row])
            for row, here in zip(shape.rows.tolist(), room, strict=True)
        ]
        limits = [name for count, name in sorted(ends, key=lambda end: (-end[0], end[1])) if count]
        return _sorted(seen), tuple(_resource(name)[1] for name in limits)

    def _closed(self, pod_set: PodSet, cut: slice) -> Iterator[tuple[str, str, Flags]]:
        """Kind, name and nodes of everything but free resources that closes nodes to a set."""
        tree = self.draft.tree
        if _bound(self.paths[pod_set.name]):
            for label in sorted({entry.label for entry in tree.missing}):
                lacking = [tree.index[entry.node] for entry in tree.missing if entry.label == label]
                outside = np.zeros(tree.size, dtype=bool)
                outside[lacking] = True
                yield "outside", label, outside[cut]
        first, obstacles = self._why_not(pod_set)
        for number, (kind, name) in enumerate(obstacles):
            yield kind, name, first[cut] == number
        mask = self.between.masks.get(pod_set.name)
        if mask is not None:
            shape = pod_set.shape
            rules = [("affinity", t.key) for t in (*shape.anti_affinity, *shape.affinity)]
            rules += [("spread", r.key) for r in shape.spread]
            kind, name = rules[0] if rules else ("affinity", "pods")
            what = self._named(Obstacle(kind, name, 0), name)
            yield what.kind, what.name, ~mask[cut]

    def _why_not(self, pod_set: PodSet) -> tuple[Ints, tuple[tuple[str, str], ...]]:
        if pod_set.name not in self.why:
            self.why[pod_set.name] = filters.why_not(self.draft.table, pod_set.shape.filter)
        return self.why[pod_set.name]


def _below(culprit: Culprit) -> Iterator[Culprit]:
    """Every pod set at or below a culprit, with the groups around it."""
    if isinstance(culprit.member, PodSet):
        yield culprit
        return
    for kid in culprit.member.members:
        yield from _below(Culprit(culprit.request, (*culprit.around, culprit.member), kid))


def _largest(values: Ints, count: int) -> Ints:
    """Positions of the largest values, largest first, ties by position; without sorting them all."""
    if len(values) > count:
        floor = np.partition(values, len(values) - count)[len(values) - count]
        above = np.flatnonzero(values > floor)
        level = np.flatnonzero(values == floor)[: count - len(above)]
        chosen = np.sort(np.concatenate((above, level)))
    else:
        chosen = np.arange(len(values))
    return chosen[np.argsort(-values[chosen], kind="stable")]


def _resource(row: str) -> tuple[str, str]:
    """The kind and name of what a row of the draft stands for: a resource, or a host port."""
    return ("port", row.removeprefix("port ")) if row.startswith("port ") else ("resource", row)


def _obstacle(kind: str, name: str, nodes: Flags) -> list[Obstacle]:
    count = int(nodes.sum())
    return [Obstacle(kind, name, count)] if count else []


def _sorted(obstacles: list[Obstacle]) -> tuple[Obstacle, ...]:
    return tuple(sorted(obstacles, key=lambda one: (-one.nodes, one.kind, one.name)))
