"""Places for pods of a gang that runs: near the others, where its required levels allow no other domain.

What is left of a gang stays where it is. A group with survivors is held in their domain of the level it requires, so
the request for the rest is its tree without those levels, and with those domains as a filter (K-103)::

    workers(required rack): 3 of 4 run in b1/r2      ->      workers: 1 pod, on nodes with block=b1 and rack=r2
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from phalanx.engine.slots import Slot
from phalanx.model.nodes import PodShape, Requirement, Term
from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.topology import Tree

Terms = tuple[Term, ...]
_PART = "~"  # between the name of a pod set and the number of its slice; no name holds it


Place = tuple[str, int]  # a pod set and a number in it


@dataclass(frozen=True, slots=True)
class Survivors:
    """Where the pods of a gang run: the node of each by pod set and number."""

    tree: Tree
    nodes: Mapping[str, Mapping[int, str]]
    beside: Mapping[Place, tuple[tuple[Place, int], ...]] = field(default_factory=dict)  # equal ranks, and how near

    def partners(self, place: Place) -> Terms:
        """The domains of those with the same rank in other groups, where they run."""
        found = []
        for (name, number), level in self.beside.get(place, ()):
            node = self.nodes.get(name, {}).get(number)
            domain = self.around([node], level) if node is not None else None
            found += [domain] if domain is not None else []
        return tuple(found)

    def domain(self, sets: Sequence[str], level: int) -> Term | None:
        """The one domain of a level that holds all pods of these sets; None when none of them runs."""
        return self.around([node for name in sets for node in self.nodes.get(name, {}).values()], level)

    def around(self, held: Sequence[str], level: int) -> Term | None:
        known = [self.tree.index[node] for node in held if node in self.tree.index]
        paths = Counter(self.tree.paths[at][:level] for at in known if self.tree.inside[at])
        if not paths:
            return None
        most = max(paths.values())  # several only where nodes have moved: then where most of them are
        return self._term(min(path for path, count in paths.items() if count == most))

    def _term(self, path: tuple[str, ...]) -> Term:
        if len(path) == self.tree.host:
            return Term((Requirement("metadata.name", "In", path[-1:], on_name=True),))
        labels = (level.label for level in self.tree.topology.levels)
        return Term(tuple(Requirement(label, "In", (one,)) for label, one in zip(labels, path, strict=False)))


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


def units(root: Group, lost: Mapping[str, Sequence[Slot]]) -> list[Group]:
    """Groups below the root that require a level and have lost places, the innermost first."""
    found = [
        group
        for group in root.groups()
        if group is not root and group.required is not None and any(lost.get(p.name) for p in group.pod_sets())
    ]
    return found[::-1]


def asked(request: Request, lost: Mapping[str, Sequence[Slot]], survivors: Survivors) -> Request | None:
    """A request for the lost places alone, inside the domains of what survives; None when nothing is lost."""
    root = _group(request.root, lost, survivors, ())
    return None if root is None else replace(request, root=root, unit=f"{request.unit or ''} (repair)", missing=())


def _group(group: Group, lost: Mapping[str, Sequence[Slot]], survivors: Survivors, around: Terms) -> Group | None:
    names = [pods.name for pods in group.pod_sets()]
    held = survivors.domain(names, group.required) if group.required is not None else None
    inside = around if held is None else (*around, held)
    members: list[Group | PodSet] = []
    for member in group.members:
        if isinstance(member, PodSet):
            members += _parts(member, lost.get(member.name, ()), survivors, inside)
        elif (below := _group(member, lost, survivors, inside)) is not None:
            members.append(below)
    if not members:
        return None
    required = group.required if held is None else None
    return Group(group.name, tuple(members), required, group.preferred)


def _parts(pods: PodSet, lost: Sequence[Slot], survivors: Survivors, around: Terms) -> list[Group | PodSet]:
    """The lost places of one set; where it is cut into slices, those of each slice by themselves."""
    if any((pods.name, slot.number) in survivors.beside for slot in lost):
        return [_one(pods, slot, survivors, around) for slot in lost]
    if not pods.slices:
        return [_set(pods.name, pods, len(lost), around)] if lost else []
    size = pods.slices[0].size
    parts = sorted({slot.number // size for slot in lost})
    return [_slice(pods, part, [s for s in lost if s.number // size == part], survivors, around) for part in parts]


def _one(pods: PodSet, slot: Slot, survivors: Survivors, around: Terms) -> PodSet:
    """One place that must be near those of its rank. Where they are lost too, each finds its own way back first."""
    near = survivors.partners((pods.name, slot.number))
    return _set(f"{pods.name}{_PART}{slot.number}", pods, 1, (*around, *near))


def _slice(pods: PodSet, part: int, lost: Sequence[Slot], survivors: Survivors, around: Terms) -> Group | PodSet:
    """The lost places of one slice: in the domain of its survivors, also of a narrower layer if all lost are in one."""
    name = f"{pods.name}{_PART}{part}"
    held = survivors.nodes.get(pods.name, {})
    wanted: int | None = None
    for layer in pods.slices:
        numbers = {slot.number // layer.size for slot in lost}
        beside = [node for number, node in held.items() if number // layer.size in numbers]
        domain = survivors.around(beside, layer.level) if len(numbers) == 1 else None
        if domain is not None:
            around = (*around, domain)
        elif len(numbers) == 1:
            wanted = layer.level
    one = _set(name, pods, len(lost), around)
    return one if wanted is None else Group(f"{name}.slice", (one,), required=wanted)


def _set(name: str, pods: PodSet, count: int, around: Terms) -> PodSet:
    return PodSet(name, count, count, _held(pods.shape, around))


def _held(shape: PodShape, around: Terms) -> PodShape:
    required = (*shape.filter.required, *((term,) for term in around))
    return replace(shape, filter=replace(shape.filter, required=required))


def given(
    request: Request, lost: Mapping[str, Sequence[Slot]], survivors: Survivors, placement: Placement
) -> dict[Place, str]:
    """The node of each lost place, by the parts it was asked for in."""
    sets = {pods.name: pods for pods in request.root.pod_sets()}
    parts: dict[str, list[Slot]] = {}
    for name, slots in lost.items():
        linked = any((name, slot.number) in survivors.beside for slot in slots)
        for slot in sorted(slots, key=lambda one: one.number):
            parts.setdefault(_called(sets[name], slot, linked), []).append(slot)
    found: dict[Place, str] = {}
    for part, slots in parts.items():
        nodes = [node for node, count in placement.pod_sets[part] for _ in range(count)]
        found.update({(slot.pod_set, slot.number): node for slot, node in zip(slots, nodes, strict=True)})
    return found


def _called(pods: PodSet, slot: Slot, linked: bool) -> str:
    if linked:
        return f"{pods.name}{_PART}{slot.number}"
    return f"{pods.name}{_PART}{slot.number // pods.slices[0].size}" if pods.slices else pods.name
