"""Whether a gang would fit on what is free: shown by doing it, the simplest way. A no proves nothing, a yes does."""

from collections.abc import Iterator, Sequence

from phalanx.model.nodes import Node, PodShape
from phalanx.model.request import Group, PodSet, Request
from phalanx.sim import picture
from phalanx.sim.picture import Amounts
from phalanx.sim.truth import Truth


def fits(truth: Truth, request: Request, free: Amounts) -> bool:
    """Whether the minimum of a gang finds room, set after set on the first node that has some. ``free`` is not changed.
    Gangs with slices, spreads and ranks that are tied to levels are not judged."""
    if any(pods.slices for pods in request.root.pod_sets()):
        return False
    if any(group.spread or (group.ranks and group.ranks.level) for group in request.root.groups()):
        return False
    return _group(truth, request, request.root, sorted(free), _copy(free)) is not None


def _copy(free: Amounts) -> Amounts:
    return {name: dict(amounts) for name, amounts in free.items()}


def _group(truth: Truth, request: Request, group: Group, nodes: Sequence[str], free: Amounts) -> Amounts | None:
    """What is left with the group in one of the domains it may have; None if none of them takes it."""
    for domain in _domains(truth, request, group.required, nodes):
        left = _members(truth, request, group, domain, _copy(free))
        if left is not None:
            return left
    return None


def _domains(truth: Truth, request: Request, level: int | None, nodes: Sequence[str]) -> Iterator[Sequence[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for name in nodes:
        found.setdefault(picture.path(truth, request, truth.nodes[name])[: level or 0], []).append(name)
    yield from found.values()


def _members(truth: Truth, request: Request, group: Group, nodes: Sequence[str], free: Amounts) -> Amounts | None:
    needed = len(group.members) if group.min_members is None else group.min_members
    for member in group.members:
        if isinstance(member, PodSet):
            left = _pods(truth, member, nodes, _copy(free))
        else:
            left = _group(truth, request, member, nodes, free)
        if left is not None:
            free, needed = left, needed - 1
    return free if needed <= 0 else None


def _pods(truth: Truth, pods: PodSet, nodes: Sequence[str], free: Amounts) -> Amounts | None:
    missing = pods.min_count
    for name in nodes:
        if missing and admits(truth.nodes[name], pods.shape):
            missing -= _fill(free[name], pods.shape, missing)
    return None if missing else free


def admits(node: Node, shape: PodShape) -> bool:
    """By its selector and taints; shapes with further wishes are judged not to be admitted."""
    plain = not (shape.filter.required or shape.affinity or shape.anti_affinity or shape.spread or shape.ports)
    tolerated = not any(picture.keeps_off(node, shape.filter.tolerations))
    return plain and tolerated and picture.has_labels(node, dict(shape.filter.selector))


def _fill(left: dict[str, int], shape: PodShape, most: int) -> int:
    count = min([most, *(left.get(resource, 0) // amount for resource, amount in shape.requests)])
    count = max(count, 0)
    for resource, amount in shape.requests:
        left[resource] = left.get(resource, 0) - count * amount
    return count
