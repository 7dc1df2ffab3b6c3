"""The part of a Request that can start now: as many pods as exist, if every group has its minimum."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from phalanx.model.request import Group, Missing, PodSet, Request


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
    size = pods.slices[0].size if pods.slices else 1
    count = min(here.alive, pods.count) // size * size
    if count < least:
        return Missing(group, pods.min_count, here.alive + here.succeeded)
    return replace(pods, count=count, min_count=min(least, count))
