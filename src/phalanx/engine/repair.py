"""Places for pods of a gang that runs: near the others, where its required levels allow no other domain.

What is left of a gang stays where it is. A group with survivors is held in their domain of the level it requires, so
the request for the rest is its tree without those levels, and with those domains as a filter (K-103)::

    workers(required rack): 3 of 4 run in b1/r2      ->      workers: 1 pod, on nodes with block=b1 and rack=r2

Where pods are kept apart, the domains that have enough of them are closed to the rest. What is open changes with every
pod, so that such places are found one at a time.

What the minimum lacks is found all or none, and so are lost places of slices; of the places beyond it, lost ones or
new, as many as there is room for, the lowest numbers first. The request says so with its minimum counts, so that one
decision answers both.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phalanx.engine.slots import Slot
from phalanx.model.nodes import PodShape, Requirement, Term
from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request, Slice
from phalanx.model.topology import Tree

_REPAIR = " (repair)"  # what the unit of such a request ends with

Either = tuple[Term, ...]  # one of them must hold
Terms = tuple[Either, ...]  # and so in each of these
PART = "~"  # between the name of a pod set and the number of its slice; no name holds it


Place = tuple[str, int]  # a pod set and a number in it


@dataclass(frozen=True, slots=True)
class Survivors:
    """Where the pods of a gang run: the node of each by pod set and number.

    ``places``: how many of each set have a place, a lost one too, or have succeeded. ``whole``: that is its minimum.
    ``firm``: nodes that are still as they were when they were chosen.
    """

    tree: Tree
    nodes: Mapping[str, Mapping[int, str]]
    beside: Mapping[Place, tuple[tuple[Place, int], ...]] = field(default_factory=dict)  # equal ranks, and how near
    places: Mapping[str, int] = field(default_factory=dict)
    whole: bool = True
    firm: frozenset[str] = frozenset()

    def must(self, pods: PodSet, lost: Sequence[Slot]) -> int:
        """How many of these places there must be: as many as the minimum lacks without them; of a set that is cut into
        slices all that were lost."""
        again = sum(not is_new(slot) for slot in lost)
        if pods.slices:
            return again + min(max(pods.min_count - self.places.get(pods.name, 0), 0), len(lost) - again)
        return min(max(pods.min_count - (self.places.get(pods.name, 0) - again), 0), len(lost))

    def begun(self, pods: PodSet) -> set[int]:
        """The smallest slices of a set that somebody runs in."""
        return {slice_of(pods, number) for number in self.nodes.get(pods.name, {})}

    def partners(self, place: Place) -> Terms:
        """The domains of those with the same rank in other groups, where they run."""
        found = []
        for (name, number), level in self.beside.get(place, ()):
            node = self.nodes.get(name, {}).get(number)
            domain = self.around([node], level) if node is not None else None
            found += [(domain,)] if domain is not None else []
        return tuple(found)

    def closed(self, group: Group) -> Terms:
        """Nodes outside the domains that have as many pods of a group as its spread allows. Nothing while none runs."""
        rule, sets = group.spread, list(group.pod_sets())
        held = self.paths([node for pods in sets for node in self.nodes.get(pods.name, {}).values()])
        if rule is None or not held:
            return ()
        counts = Counter(path[: rule.level] for path in held)
        missing = max(sum(pods.min_count for pods in sets) - len(held), 1)
        full: set[tuple[str, ...]] = set()
        if rule.max_per_domain is not None:
            full = {domain for domain, count in counts.items() if count >= rule.max_per_domain}
        elif rule.min_domains is not None and len(counts) + missing - 1 < rule.min_domains:
            full = set(counts)
        elif rule.max_skew is not None:
            domains = {path[: rule.level] for path in self.paths(self.tree.index)}
            lowest = min(counts[domain] for domain in domains)
            full = {domain for domain, count in counts.items() if count + 1 > lowest + rule.max_skew}
        return tuple(self._outside(domain) for domain in sorted(full))

    def paths(self, nodes: Iterable[str]) -> list[tuple[str, ...]]:
        """Of those that are inside the topology."""
        known = [self.tree.index[node] for node in nodes if node in self.tree.index]
        return [self.tree.paths[at] for at in known if self.tree.inside[at]]

    def domain(self, sets: Sequence[str], level: int) -> Term | None:
        """The one domain of a level that holds all pods of these sets; None when none of them runs."""
        return self.around([node for name in sets for node in self.nodes.get(name, {}).values()], level)

    def around(self, held: Sequence[str], level: int) -> Term | None:
        domains = self._domains(held, level)
        if not domains:
            return None
        most = max(domains.values())  # several only where nodes have moved: then where most of them are
        return self._term(min(path for path, count in domains.items() if count == most))

    def are_torn(self, held: Sequence[str], level: int) -> bool:
        """Whether pods that belong into one domain are in several, and nobody knows which of them is the right one."""
        return len(self._domains(held, level)) > 1

    def _domains(self, held: Sequence[str], level: int) -> Counter[tuple[str, ...]]:
        """Pods by domain: by the nodes that have not moved, as long as there are such."""
        firm = self.paths([node for node in held if node in self.firm])
        return Counter(path[:level] for path in firm or self.paths(held))

    def _term(self, path: tuple[str, ...]) -> Term:
        return Term(self._requirements(path, "In"))

    def _outside(self, path: tuple[str, ...]) -> Either:
        return tuple(Term((one,)) for one in self._requirements(path, "NotIn"))

    def _requirements(self, path: tuple[str, ...], operator: str) -> tuple[Requirement, ...]:
        if len(path) == self.tree.host:
            return (Requirement("metadata.name", operator, path[-1:], on_name=True),)
        labels = (level.label for level in self.tree.topology.levels)
        return tuple(Requirement(label, operator, (one,)) for label, one in zip(labels, path, strict=False))


def slice_of(pods: PodSet, number: int) -> int:
    return number // pods.slices[-1].size if pods.slices else number


def is_new(slot: Slot) -> bool:
    """Whether it was never a place: nobody had it before, and nobody misses it."""
    return not slot.node


def beside(request: Request) -> dict[Place, tuple[tuple[Place, int], ...]]:
    """Who has the same rank as whom, by ``with_same_rank_of``, both ways round."""
    groups = {group.name: group for group in request.root.groups()}
    found: dict[Place, tuple[tuple[Place, int], ...]] = {}
    for group in groups.values():
        ranks = group.ranks
        partner = groups.get(ranks.with_same_rank_of or "") if ranks is not None else None
        if partner is None or ranks is None or ranks.level is None:
            continue
        for one, other in zip(_places(group), _places(partner), strict=False):
            found[one] = (*found.get(one, ()), (other, ranks.level))
            found[other] = (*found.get(other, ()), (one, ranks.level))
    return found


def _places(group: Group) -> list[Place]:
    """The places of a group in the order of its ranks."""
    return [(m.name, i) for m in group.members if isinstance(m, PodSet) for i in range(m.count)]


def units(root: Group, lost: Mapping[str, Sequence[Slot]], survivors: Survivors) -> list[Group]:
    """Groups below the root that require a level and have places that must be found, the innermost first."""
    found = [
        group
        for group in root.groups()
        if group is not root
        and group.required is not None
        and any(survivors.must(pods, lost.get(pods.name, ())) for pods in group.pod_sets())
    ]
    return found[::-1]


def asked(request: Request, lost: Mapping[str, Sequence[Slot]], survivors: Survivors) -> Request | None:
    """A request for these places alone, inside the domains of what survives; None when there are none."""
    root = _group(request.root, lost, survivors, ())
    if root is None:
        return None
    root = _with_some(root) if sum(1 for _ in root.pod_sets()) == 1 else root
    return replace(request, root=root, unit=f"{request.unit or ''}{_REPAIR}", missing=())


def whose(request: Request) -> str:
    """The id of the gang that a request is of, be it for new places of some of its pods."""
    is_whole = request.unit is None or not request.unit.endswith(_REPAIR)
    return request.id if is_whole else request.id.removesuffix(_REPAIR).removesuffix("#")


def _with_some(group: Group) -> Group:
    """The same for one set alone, of which there must be some: where none fits there is a reason to be told."""
    (member,) = group.members
    some = _with_some(member) if isinstance(member, Group) else replace(member, min_count=max(member.min_count, 1))
    return replace(group, members=(some,), min_members=None)


def _group(group: Group, lost: Mapping[str, Sequence[Slot]], survivors: Survivors, around: Terms) -> Group | None:
    names = [pods.name for pods in group.pod_sets()]
    held = survivors.domain(names, group.required) if group.required is not None else None
    inside = around if held is None else (*around, (held,))
    inside = (*inside, *survivors.closed(group))
    members: list[Group | PodSet] = []
    more: list[Group | PodSet] = []
    for member in group.members:
        parts = _member(member, lost, survivors, inside)
        if parts and survivors.whole and group.min_members is not None and _is_all_new(member, lost):
            more.append(parts[0] if len(parts) == 1 else Group(f"{member.name}{PART}all", tuple(parts)))
        else:
            members += parts
    if more:
        begun = any(survivors.places.get(name) for name in names)
        least = 0 if begun or group.min_members is None else min(group.min_members, len(more))
        members.append(Group(f"{group.name}{PART}more", tuple(more), min_members=least))
    if not members:
        return None
    required = group.required if held is None else None
    spread = None if any(survivors.nodes.get(name) for name in names) else group.spread
    return Group(group.name, tuple(members), required, group.preferred, spread=spread)


def _member(
    member: Group | PodSet, lost: Mapping[str, Sequence[Slot]], survivors: Survivors, around: Terms
) -> list[Group | PodSet]:
    if isinstance(member, PodSet):
        return _parts(member, lost.get(member.name, ()), survivors, around)
    below = _group(member, lost, survivors, around)
    return [] if below is None else [below]


def _is_all_new(member: Group | PodSet, lost: Mapping[str, Sequence[Slot]]) -> bool:
    sets = [member] if isinstance(member, PodSet) else member.pod_sets()
    return all(is_new(slot) for pods in sets for slot in lost.get(pods.name, ()))


def _parts(pods: PodSet, lost: Sequence[Slot], survivors: Survivors, around: Terms) -> list[Group | PodSet]:
    """The places of one set; where it is cut into slices, those of each slice by themselves."""
    ordered = in_order(lost)
    must = survivors.must(pods, lost)
    if any((pods.name, slot.number) in survivors.beside for slot in lost):
        return [_one(pods, slot, int(at < must), survivors, around) for at, slot in enumerate(ordered)]
    if not pods.slices:
        return [_set(pods.name, pods, len(lost), must, around)] if lost else []
    size = pods.slices[0].size
    parts: dict[int, list[tuple[Slot, bool]]] = {}
    for at, slot in enumerate(ordered):
        parts.setdefault(slot.number // size, []).append((slot, at < must))
    return [_slice(pods, part, parts[part], survivors, around) for part in sorted(parts)]


def in_order(lost: Iterable[Slot]) -> list[Slot]:
    """Who comes first when there is not room for all: lost places, then the lowest numbers."""
    return sorted(lost, key=lambda slot: (is_new(slot), slot.number))


def _one(pods: PodSet, slot: Slot, least: int, survivors: Survivors, around: Terms) -> PodSet:
    """One place that must be near those of its rank. Where they are lost too, each finds its own way back first."""
    near = survivors.partners((pods.name, slot.number))
    return _set(f"{pods.name}{PART}{slot.number}", pods, 1, least, (*around, *near))


def _slice(
    pods: PodSet, part: int, wanted: Sequence[tuple[Slot, bool]], survivors: Survivors, around: Terms
) -> Group | PodSet:
    """The places of one slice: in the domain of its survivors, also of a narrower layer if all are in one. A slice that
    is not begun yet is begun with all of them or not at all."""
    name = f"{pods.name}{PART}{part}"
    lost = [slot for slot, _ in wanted]
    held = survivors.nodes.get(pods.name, {})
    level: int | None = None
    for layer in pods.slices:
        numbers = {slot.number // layer.size for slot in lost}
        beside = [node for number, node in held.items() if number // layer.size in numbers]
        domain = survivors.around(beside, layer.level) if len(numbers) == 1 else None
        if domain is not None:
            around = (*around, (domain,))
        elif len(numbers) == 1:
            level = layer.level
    least = sum(must for _, must in wanted)
    begun = survivors.begun(pods)
    if all(is_new(slot) and slice_of(pods, slot.number) not in begun for slot in lost):
        whole = _set(name, pods, len(lost), len(lost) if least else 0, around)
        return replace(whole, slices=(Slice(pods.slices[-1].level, len(lost)),))
    one = _set(name, pods, len(lost), least, around)
    return one if level is None else Group(f"{name}.slice", (one,), required=level)


def _set(name: str, pods: PodSet, count: int, least: int, around: Terms) -> PodSet:
    return PodSet(name, count, least, _held(pods.shape, around))


def _held(shape: PodShape, around: Terms) -> PodShape:
    return replace(shape, filter=replace(shape.filter, required=(*shape.filter.required, *around)))


def in_one_slice(request: Request, places: Sequence[Slot]) -> bool:
    """Whether places of one set can be found at once: where slices are cut again, those of one of the smallest can."""
    sets = {pods.name: pods for pods in request.root.pod_sets()}
    layers = sets[places[0].pod_set].slices if places[0].pod_set in sets else ()
    return len(layers) < 2 or len({slot.number // layers[-1].size for slot in places}) == 1


def given(
    request: Request, lost: Mapping[str, Sequence[Slot]], survivors: Survivors, placement: Placement
) -> list[tuple[Slot, str]]:
    """The places that were found and their nodes, by the parts they were asked for in."""
    sets = {pods.name: pods for pods in request.root.pod_sets()}
    parts: dict[str, list[Slot]] = {}
    for name, slots in lost.items():
        linked = any((name, slot.number) in survivors.beside for slot in slots)
        for slot in in_order(slots):
            parts.setdefault(_called(sets[name], slot, linked), []).append(slot)
    found: list[tuple[Slot, str]] = []
    for part, slots in parts.items():
        nodes = [node for node, count in placement.pod_sets.get(part, ()) for _ in range(count)]
        first = sorted(slots[: len(nodes)], key=lambda slot: slot.number)
        found += zip(first, nodes, strict=True)
    return found


def _called(pods: PodSet, slot: Slot, linked: bool) -> str:
    if linked:
        return f"{pods.name}{PART}{slot.number}"
    return f"{pods.name}{PART}{slot.number // pods.slices[0].size}" if pods.slices else pods.name
