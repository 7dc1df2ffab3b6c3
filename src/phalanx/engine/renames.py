"""Pod sets by other names: where pods themselves tell which shapes a gang has, a set is called after one of them.

::

    g             4 pods of 5 GPUs                    one shape: the set is called like its group
    g/p0, g/p2    2 of 5 GPUs and 2 of 3 GPUs         several: like the first pod of each
    g/p1, g/p2    p0 is gone                          the places of g/p0 are those of g/p1
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Request

_Place = tuple[str, PodSet]  # the group that a set stands in, and the set


def of(before: Request, now: Request) -> dict[str, str]:
    """For every set of a manifest the one that it is in the next: of its shape, in its group where there is one; else
    the one that is called like it. A set that is there no more is left out."""
    if before.root == now.root:
        return {pods.name: pods.name for pods in before.root.pod_sets()}
    left = list(_sets(now.root))
    found: dict[str, str] = {}
    for way in (_same, _alike_here, _alike, _called_the_same):
        for one in [one for one in _sets(before.root) if one[1].name not in found]:
            other = next((two for two in left if way(one, two)), None)
            if other is not None:
                left.remove(other)
                found[one[1].name] = other[1].name
    return found


def least(root: Group) -> dict[str, int]:
    """How many pods each group needs of the sets that stand in it."""
    return {
        group.name: sum(pods.min_count for pods in group.members if isinstance(pods, PodSet)) for group in root.groups()
    }


def kept(before: Request, now: Request, held: Mapping[str, int]) -> dict[str, int] | None:
    """What a gang is whole with that was whole with ``held`` of each set, and is asked for others now: for more, or for
    as many otherwise shared out among its shapes, as when a pod of one of them comes. None where nothing of a set is
    asked for that it was whole without: then it needs what its manifest says."""
    renamed = of(before, now)
    same = {renamed[name]: count for name, count in held.items() if name in renamed}
    _hand_on(_gone(before, held, renamed), now.root, same)
    found: dict[str, int] = {}
    for group in now.root.groups():
        sets = [pods for pods in group.members if isinstance(pods, PodSet)]
        if any(pods.min_count > same.get(pods.name, 0) for pods in sets):
            found |= _trimmed({pods.name: same.get(pods.name, 0) for pods in sets}, least(now.root)[group.name])
    if not found or not any(pods.min_count > found.get(pods.name, pods.min_count) for pods in now.root.pod_sets()):
        return None
    return {pods.name: found.get(pods.name, pods.min_count) for pods in now.root.pod_sets()}


def _gone(before: Request, held: Mapping[str, int], renamed: Mapping[str, str]) -> Counter[str]:
    """By group how many it was whole with of sets that are there no more, as when the last pod of a shape went."""
    found = Counter[str]()
    for group, pods in _sets(before.root):
        if pods.name not in renamed:
            found[group] += held.get(pods.name, 0)
    return found


def _hand_on(gone: Counter[str], root: Group, same: dict[str, int]) -> None:
    """Others are asked for as many more: it is not whole without those that went. First sets of their own group, then,
    where that went too, all others."""
    groups = {group.name for group in root.groups()}
    for name, pods in _sets(root):
        for group in (name, *(one for one in gone if one not in groups)):
            more = min(gone[group], max(pods.min_count - same.get(pods.name, 0), 0))
            if more:
                same[pods.name] = same.get(pods.name, 0) + more
                gone[group] -= more


def _trimmed(held: Mapping[str, int], most: int) -> dict[str, int]:
    """So many of each set, and no more than that together: a group is not whole with more than it asks for."""
    found = {}
    for name, count in held.items():
        found[name] = min(count, most)
        most -= found[name]
    return found


def _sets(root: Group) -> Iterator[_Place]:
    for group in root.groups():
        yield from ((group.name, pods) for pods in group.members if isinstance(pods, PodSet))


def _same(one: _Place, two: _Place) -> bool:
    return one[1].name == two[1].name and _alike(one, two)


def _alike_here(one: _Place, two: _Place) -> bool:
    return one[0] == two[0] and _alike(one, two)


def _alike(one: _Place, two: _Place) -> bool:
    return _plain(one[1].shape) == _plain(two[1].shape)


def _called_the_same(one: _Place, two: _Place) -> bool:
    return one[1].name == two[1].name


def _plain(shape: PodShape) -> PodShape:
    return replace(shape, labels=())
