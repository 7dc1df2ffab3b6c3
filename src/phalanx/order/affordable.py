"""The part of a request that its queue has quota for, where all of it is too much."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from phalanx.model.request import Group, PodSet, Request
from phalanx.order.least import least
from phalanx.order.quota import amounts

Fits = Callable[[Mapping[str, int]], bool]  # whether the queue may take these amounts


def smallest(request: Request) -> Request:
    """The request with no more pods than it must have."""
    return replace(request, root=_smallest(request.root))


def _smallest(group: Group) -> Group:
    members = tuple(_smallest(m) if isinstance(m, Group) else _fewest(m) for m in group.members)
    return replace(group, members=members)


def _fewest(pods: PodSet) -> PodSet:
    return replace(pods, count=max(pods.min_count, 1), min_count=pods.min_count)


def affordable(request: Request, placed: Collection[str], scarce: str, fits: Fits) -> Request | None:
    """The request without members that it can do without and that there is no quota for; None: the least of it is too
    much.

    ``placed``: pod sets that have a place beside each other, so that each of them has one without the others. Of these
    the ones that take least of what is ``scarce`` have to start; the rest follow in their order while it fits.
    """

    def holds(inside: set[str]) -> bool:
        return fits(_together(request, inside))

    inside = _cheapest(request.root, placed, scarce)
    if not holds(inside):
        return None
    return replace(request, root=_only(request.root, _filled(request.root, placed, scarce, inside, holds)))


def cheapest(request: Request, placed: Collection[str], scarce: str) -> Mapping[str, int]:
    """The amounts with which the request starts, if it takes as little as it can of what is scarce."""
    return _together(request, _cheapest(request.root, placed, scarce))


def _together(request: Request, inside: Collection[str]) -> Mapping[str, int]:
    return amounts(request, {pods.name: pods.count for pods in request.root.pod_sets() if pods.name in inside})


def _cheapest(member: Group | PodSet, placed: Collection[str], scarce: str) -> set[str]:
    """The pod sets with which a member starts, if it takes as little as it can."""
    if isinstance(member, PodSet):
        return {member.name}
    there = [one for one in member.members if _is_placed(one, placed)]
    first = sorted(there, key=lambda one: least(one, _amounts).get(scarce, 0))
    if member.min_members is None:
        needed = [one for one in there if not _may_be_empty(one)]
    else:
        needed = first[: member.min_members]
    return {name for one in needed or first[:1] for name in _cheapest(one, placed, scarce)}


def _filled(
    group: Group, placed: Collection[str], scarce: str, inside: set[str], holds: Callable[[set[str]], bool]
) -> set[str]:
    """These pod sets, and those of members that stay out so far and could be held too; outer ones first."""
    members = [one for one in group.members if _is_placed(one, placed)]
    for one in members:
        more = inside | _cheapest(one, placed, scarce)
        if not _is_placed(one, inside) and holds(more):
            inside = more
    for one in members:
        if isinstance(one, Group) and _is_placed(one, inside):
            inside = _filled(one, placed, scarce, inside, holds)
    return inside


def _may_be_empty(member: Group | PodSet) -> bool:
    return not any(pods.min_count for pods in _sets(member))


def _is_placed(member: Group | PodSet, placed: Collection[str]) -> bool:
    return any(pods.name in placed for pods in _sets(member))


def _sets(member: Group | PodSet) -> tuple[PodSet, ...]:
    return (member,) if isinstance(member, PodSet) else tuple(member.pod_sets())


def _amounts(pods: PodSet) -> Mapping[str, int]:
    return dict(pods.shape.requests.times(pods.min_count).items)


def _only(group: Group, inside: Collection[str]) -> Group:
    """The group with these pod sets and no others; all that is left has to start."""
    kept = (one for one in group.members if _is_placed(one, inside))
    members = tuple(_only(one, inside) if isinstance(one, Group) else one for one in kept)
    return replace(group, members=members, min_members=None)
