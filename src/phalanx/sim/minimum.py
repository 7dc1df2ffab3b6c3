"""The least of a gang that counts as it, read from its request alone."""

from collections.abc import Iterator, Mapping

from phalanx.model.request import Group, PodSet, Request


def whole(request: Request, counts: Mapping[str, int]) -> bool:
    """Whether so many pods of each set are the minimum of the gang, in every part of it that must be there."""
    return _whole(request.root, counts)


def begun(request: Request, counts: Mapping[str, int]) -> Iterator[str]:
    """The groups and pod sets inside a gang that have some pods, and fewer than their minimum."""
    for group in request.root.groups():
        for member in group.members:
            sets = [member] if isinstance(member, PodSet) else list(member.pod_sets())
            if any(counts.get(pods.name) for pods in sets) and not _whole(member, counts):
                yield member.name


def _whole(member: Group | PodSet, counts: Mapping[str, int]) -> bool:
    if isinstance(member, PodSet):
        return counts.get(member.name, 0) >= member.min_count
    needed = len(member.members) if member.min_members is None else member.min_members
    return sum(_whole(below, counts) for below in member.members) >= needed
