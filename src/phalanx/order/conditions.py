"""What must hold wherever a request can start: so many pods of one shape inside one domain of a level.

Each is necessary and none is sufficient. Leaving something out (ports, rules between pods, spread, ranks, what other
shapes take) makes a condition easier to meet, never wrong.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Request
from phalanx.order.least import least

CLUSTER = 0  # the level that holds everything


@dataclass(frozen=True, slots=True)
class Kind:
    """Pods that are counted together. ``shape``: requests and node filter alone."""

    shape: PodShape
    topology: str | None
    level: int


@dataclass(frozen=True, slots=True)
class Condition:
    kind: Kind
    needed: int


def conditions(request: Request) -> tuple[Condition, ...]:
    """All conditions of a request, the hardest first by guess.

    A group's pods stand in one domain of the narrowest level required around them, so those of one shape are counted
    together there. A slice stands in one domain of its level.
    """
    found: dict[Kind, int] = {}
    for shape, level, needed in _counted(request.root, CLUSTER):
        kind = Kind(shape, request.topology, level)
        found[kind] = max(found.get(kind, 0), needed)
    return tuple(sorted((Condition(kind, needed) for kind, needed in found.items() if needed), key=_ease))


def minds_others(request: Request) -> bool:
    """Whether pods that come to stand somewhere may help it: it wants to be near some, or as many here as there."""
    return any(pods.shape.affinity or pods.shape.spread for pods in request.root.pod_sets())


def _counted(group: Group, level: int) -> Iterator[tuple[PodShape, int, int]]:
    level = max(level, group.required or CLUSTER)
    for shape, needed in least(group, _pods).items():
        yield shape, level, needed
    if group.min_members is not None and group.min_members < len(group.members):
        return  # any one of the members may stay out: nothing inside it is necessary
    for member in group.members:
        if isinstance(member, Group):
            yield from _counted(member, level)
        elif member.min_count:
            yield from ((_plain(member.shape), max(level, one.level), one.size) for one in member.slices)


def _pods(pods: PodSet) -> Mapping[PodShape, int]:
    return {_plain(pods.shape): pods.min_count}


def _plain(shape: PodShape) -> PodShape:
    return PodShape(shape.requests, replace(shape.filter, preferred=()))


def _ease(condition: Condition) -> tuple[int, int, int]:
    """Devices are what is scarce, then narrow levels, then many pods."""
    devices = sum(amount for name, amount in condition.kind.shape.requests if "/" in name)
    return (-condition.needed * devices, -condition.kind.level, -condition.needed)
