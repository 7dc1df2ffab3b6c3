"""Tight instances: hide a random valid placement, then let running pods take nearly all that it leaves."""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from phalanx.model.nodes import Node
from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.place import verify, verify_pods
from tests.properties.worlds import CPU, Spot, World, take


@dataclass
class _Try:
    """One attempt: what is left on each node, and where the pods of each set went, in rank order."""

    chance: Random
    spots: list[Spot]
    free: dict[str, dict[str, int]]
    where: dict[str, list[str]] = field(default_factory=dict)
    manner: str = "any"


def plant(chance: Random, place: World, request: Request, tries: int = 25) -> Placement | None:
    """A random placement that ``verify`` accepts in the world as it stands, or None when luck ran out."""
    snapshot = place.snapshot()
    for _ in range(tries):
        attempt = _Try(chance, list(place.spots), place.free())
        if not _put_group(attempt, request.root, attempt.spots):
            continue
        placement = _placement(attempt, request.root)
        if not verify.verify(snapshot, request, placement):
            return placement
    return None


def _placement(attempt: _Try, root: Group) -> Placement:
    counts = {name: tuple(sorted(Counter(nodes).items())) for name, nodes in attempt.where.items() if nodes}
    ranks = {
        group.name: tuple(node for pod_set in group.pod_sets() for node in attempt.where.get(pod_set.name, ()))
        for group in root.groups()
    }
    return Placement(counts, ranks=ranks)


def _put_group(attempt: _Try, group: Group, spots: list[Spot]) -> bool:
    if group.required is not None or group.preferred is not None or group.spread is not None or group.ranks is not None:
        spots = [spot for spot in spots if spot.path is not None]
    if group.required:
        spots = _one_domain(attempt.chance, spots, group.required)
    members = list(group.members)
    if group.min_members is not None:
        members = attempt.chance.sample(members, min(group.min_members, len(members)))
    for member in members:
        good = _put_group(attempt, member, spots) if isinstance(member, Group) else _put_set(attempt, member, spots)
        if not good:
            return False
        if isinstance(member, Group) and member.ranks is not None and not _join_partners(attempt, group, member):
            return False
    return True


def _one_domain(chance: Random, spots: list[Spot], level: int) -> list[Spot]:
    domains = sorted({spot.path[:level] for spot in spots if spot.path is not None})
    if not domains:
        return []
    domain = chance.choice(domains)
    return [spot for spot in spots if spot.path is not None and spot.path[:level] == domain]


def _put_set(attempt: _Try, pod_set: PodSet, spots: list[Spot]) -> bool:
    """Puts the least the set needs (rounded up to whole slices), piece by piece, in one of several manners."""
    attempt.manner = attempt.chance.choice(("any", "apart", "near"))
    attempt.where[pod_set.name] = []
    allowed = [spot for spot in spots if verify_pods.admits(pod_set.shape.filter, _node(spot))]
    if pod_set.slices:
        allowed = [spot for spot in allowed if spot.path is not None]
    size = pod_set.slices[0].size if pod_set.slices else 1
    wanted = -(-pod_set.min_count // size)
    return all(_put_piece(attempt, pod_set, allowed, 0) for _ in range(wanted))


def _put_piece(attempt: _Try, pod_set: PodSet, spots: list[Spot], layer: int) -> bool:
    """One slice of the given layer, or one pod below the finest."""
    if layer == len(pod_set.slices):
        return _put_pod(attempt, pod_set, spots)
    inner = pod_set.slices[layer + 1].size if layer + 1 < len(pod_set.slices) else 1
    spots = _one_domain(attempt.chance, spots, pod_set.slices[layer].level)
    return all(_put_piece(attempt, pod_set, spots, layer + 1) for _ in range(pod_set.slices[layer].size // inner))


def _put_pod(attempt: _Try, pod_set: PodSet, spots: list[Spot]) -> bool:
    needs = pod_set.shape.requests.items
    fitting = [s.name for s in spots if all(attempt.free[s.name].get(name, 0) >= n for name, n in needs)]
    if not fitting:
        return False
    mine = attempt.where[pod_set.name]
    if attempt.manner == "apart":
        fewest = min(mine.count(name) for name in fitting)
        fitting = [name for name in fitting if mine.count(name) == fewest]
    elif attempt.manner == "near":
        used = {name for nodes in attempt.where.values() for name in nodes}
        fitting = [name for name in fitting if name in used] or fitting
    node = attempt.chance.choice(fitting)
    mine.append(node)
    for name, amount in needs:
        attempt.free[node][name] -= amount
    return True


def _node(spot: Spot) -> Node:
    return Node(spot.name, spot.labels, Resources(), spot.taints)


def _join_partners(attempt: _Try, parent: Group, group: Group) -> bool:
    """Moves the pods of a group to where pods of equal rank of the groups it is linked with already are."""
    if group.ranks is None or group.ranks.level is None:
        return True
    level = group.ranks.level
    linked = [m for m in parent.members if isinstance(m, Group) and m is not group and _is_linked(parent, m)]
    paths = {spot.name: spot.path for spot in attempt.spots}
    rank = 0
    for pod_set in group.pod_sets():
        for i in range(len(attempt.where[pod_set.name])):
            others = [line[rank] for m in linked if rank < len(line := _listed(attempt, m))]
            rank += 1
            if others and (home := paths[others[0]]) is not None:
                goals = [s for s in attempt.spots if s.path is not None and s.path[:level] == home[:level]]
                if not _move(attempt, pod_set, i, goals):
                    return False
    return True


def _is_linked(parent: Group, group: Group) -> bool:
    targets = {m.ranks.with_same_rank_of for m in parent.members if isinstance(m, Group) and m.ranks is not None}
    return group.ranks is not None or group.name in targets


def _move(attempt: _Try, pod_set: PodSet, i: int, goals: list[Spot]) -> bool:
    nodes = attempt.where[pod_set.name]
    old = nodes.pop(i)
    for name, amount in pod_set.shape.requests:
        attempt.free[old][name] += amount
    attempt.manner = "any"
    if not _put_pod(attempt, pod_set, goals):
        return False
    nodes.insert(i, nodes.pop())
    return True


def _listed(attempt: _Try, group: Group) -> list[str]:
    return [node for pod_set in group.pod_sets() for node in attempt.where.get(pod_set.name, ())]


def shrink(chance: Random, place: World, request: Request, hidden: Placement) -> None:
    """Running pods take what the hidden placement leaves, up to a little slack; nodes it does not use keep more."""
    shapes = {pod_set.name: pod_set.shape for pod_set in request.root.pod_sets()}
    left = place.free()
    used: set[str] = set()
    for name, counts in hidden.pod_sets.items():
        for node, pods in counts:
            used.add(node)
            for resource, amount in shapes[name].requests:
                left[node][resource] -= pods * amount
    unit = _units(request)
    for spot in place.spots:
        spare = chance.choice((0, 0, 1, 2)) if spot.name in used else chance.randint(0, 8)
        rest = left[spot.name]
        amounts = {name: free - chance.randint(0, spare) * unit.get(name, 0) for name, free in rest.items()}
        # one pod slot for the pod that holds the rest; the other slots are seldom what is short
        amounts[PODS] = min(rest[PODS], rest[PODS] if chance.random() < 0.1 else unit.get(PODS, 0))
        take(place, spot.name, amounts)


def _units(request: Request) -> dict[str, int]:
    """The smallest amount of each resource that some pod asks for: what a little slack is measured in."""
    smallest: dict[str, int] = {}
    for pod_set in request.root.pod_sets():
        for name, amount in pod_set.shape.requests:
            smallest[name] = min(amount, smallest.get(name, amount))
    return smallest


def one_more(chance: Random, request: Request) -> Request:
    """The same request with one pod (or slice) more in one of its sets: mostly impossible once the rest is tight."""
    name = chance.choice([pod_set.name for pod_set in request.root.pod_sets()])
    return replace(request, root=_grown(request.root, name))


def _grown(group: Group, name: str) -> Group:
    return replace(group, members=tuple(_grown_member(member, name) for member in group.members))


def _grown_member(member: Group | PodSet, name: str) -> Group | PodSet:
    if isinstance(member, Group):
        return _grown(member, name)
    if member.name != name:
        return member
    step = member.slices[0].size if member.slices else 1
    return replace(member, count=member.count + step, min_count=member.min_count + step)


_STEP = {CPU: NANO // 1000}  # of other resources whole units, as clusters have them


def squeeze(chance: Random, place: World, hidden: Placement) -> None:
    """One node of the hidden placement loses a little of one resource."""
    node = chance.choice(sorted({name for counts in hidden.pod_sets.values() for name, _ in counts}))
    steps = {name: amount // _STEP.get(name, NANO) for name, amount in place.free()[node].items() if name != PODS}
    short = [name for name in sorted(steps) if steps[name] > 0]
    if short:
        resource = chance.choice(short)
        take(place, node, {resource: chance.randint(1, steps[resource]) * _STEP.get(resource, NANO)})
