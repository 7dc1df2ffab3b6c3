"""The part of a Request that can start now: as many pods as exist, if every group has its minimum.

All of it where others are made only when the first have nodes: to wait for those would be to wait for ever, and to
place the first alone would be to start half a gang.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from phalanx.model import resources
from phalanx.model.pods import Pod
from phalanx.model.request import Group, Missing, PodSet, Request
from phalanx.model.resources import Resources


@dataclass(frozen=True, slots=True)
class Seen:
    """Pods of one set that exist: ``alive`` ones to place, and those that have ``succeeded``, which count as placed."""

    alive: int = 0
    succeeded: int = 0


def sized(request: Request, seen: Mapping[str, Seen]) -> Request | Missing:
    """The request with the pods that exist; the group that lacks some when they do not suffice. (W-133, M-022)"""
    lacking = next((one for one in request.missing if one.groups), None)
    if lacking is not None:  # no pods that exist can stand for a group that does not
        return lacking
    root = _group(request.root, seen)
    if isinstance(root, Missing):
        return root
    return replace(request, root=root, missing=())


def as_large(request: Request, pods: Iterable[Pod]) -> Request:
    """The request with sets whose pods are as large as the largest of these: what makes them knows their template, and
    something on the way may have added to it (a sidecar)."""
    largest: dict[str, Resources] = {}
    for pod in pods:
        known = largest.setdefault(pod.pod_set or "", pod.running.requests)
        if known != pod.running.requests:
            largest[pod.pod_set or ""] = resources.combine((known, pod.running.requests), max)
    grown: dict[str, Resources] = {}
    for one in request.root.pod_sets():
        asked = largest.get(one.name, one.shape.requests)
        if asked != one.shape.requests:
            grown[one.name] = resources.combine((asked, one.shape.requests), max)
    return replace(request, root=_grown(request.root, grown)) if grown else request


def _grown(group: Group, amounts: Mapping[str, Resources]) -> Group:
    return replace(group, members=tuple(_grown_member(one, amounts) for one in group.members))


def _grown_member(member: Group | PodSet, amounts: Mapping[str, Resources]) -> Group | PodSet:
    if isinstance(member, Group):
        return _grown(member, amounts)
    if member.name not in amounts:
        return member
    return replace(member, shape=replace(member.shape, requests=amounts[member.name]))


def can_start(request: Request, seen: Mapping[str, Seen]) -> bool:
    """Whether the pods that must exist before it starts do."""
    return not isinstance(sized(request, seen), Missing)


def lacking(root: Group, sets: Collection[str], places: Mapping[str, int], seen: Mapping[str, Seen]) -> Missing | None:
    """What pods of these sets wait for, in a gang that runs: the first member around them that has no places, and not
    the pods to begin with."""
    for group in root.groups():
        for member in group.members:
            inside = [member.name] if isinstance(member, PodSet) else [pods.name for pods in member.pod_sets()]
            if any(places.get(name) for name in inside) or not any(name in sets for name in inside):
                continue
            found = _group(member, seen) if isinstance(member, Group) else _pods(member, group.name, seen)
            if isinstance(found, Missing):
                return found
    return None


def _group(group: Group, seen: Mapping[str, Seen]) -> Group | Missing:
    """Members whose pods are not there are left out where the group can do without them."""
    found = [_group(m, seen) if isinstance(m, Group) else _pods(m, group.name, seen) for m in group.members]
    there = tuple(one for one in found if not isinstance(one, Missing))
    least = len(found) if group.min_members is None else group.min_members
    if len(there) < max(least, 1):
        return next(one for one in found if isinstance(one, Missing))
    dropped = len(found) - len(there)
    members = None if group.min_members is None else min(group.min_members, len(there))
    empty = tuple(one for one in there if not (isinstance(one, PodSet) and one.count == 0))
    if not empty:
        return Missing(group.name, 1, 0)
    return replace(group, members=empty, min_members=members if dropped or group.min_members is not None else None)


def _pods(pods: PodSet, group: str, seen: Mapping[str, Seen]) -> PodSet | Missing:
    here = seen.get(pods.name, Seen())
    least = max(pods.min_count - here.succeeded, 0)
    if pods.first is not None and here.alive + here.succeeded < pods.first:
        return Missing(group, pods.first, here.alive + here.succeeded)
    count = _those_there(pods, here) if pods.first is None else max(pods.count - here.succeeded, 0)
    if count < least:
        return Missing(group, pods.min_count, here.alive + here.succeeded)
    return replace(pods, count=count, min_count=min(least, count))


def _those_there(pods: PodSet, here: Seen) -> int:
    """How many can start, in whole slices."""
    size = pods.slices[0].size if pods.slices else 1
    return min(here.alive, pods.count) // size * size
