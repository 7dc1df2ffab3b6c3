"""Pods that count together whatever their shapes: the sets of one pool as the one set that they are for the minimum.

::

    g/p0, g/p2    3 of 5 GPUs and 1 of 3 GPUs       needs 4: so many of either
    g/p1, g/p2    p0 is gone                        still 4: it is not whole with 3, whichever shape is short
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from phalanx.model.request import Group, PodSet, Request


def merged(request: Request) -> Request:
    """The request with each pool as one set, where its first set stands."""
    if not any(pods.pool for pods in request.root.pod_sets()):
        return request
    pools: dict[str, list[PodSet]] = {}
    for pods in request.root.pod_sets():
        pools.setdefault(called(pods), []).append(pods)
    return replace(request, root=_merged(request.root, pools))


def called(pods: PodSet) -> str:
    """What a set is counted as."""
    return pods.pool or pods.name


def counts(root: Group, count: Mapping[str, int]) -> dict[str, int]:
    """Pods of each set, counted as their pools. What is of no set of the request keeps its name."""
    names = {pods.name: called(pods) for pods in root.pod_sets()}
    found: dict[str, int] = {}
    for name, number in count.items():
        found[names.get(name, name)] = found.get(names.get(name, name), 0) + number
    return found


def begun(root: Group, places: Mapping[str, int]) -> dict[str, int]:
    """Places of each set, with those of its whole pool: a shape that comes new to a pool begins nothing."""
    together = counts(root, places)
    return {**places, **{pods.name: together[pods.pool] for pods in root.pod_sets() if pods.pool in together}}


def _merged(group: Group, pools: Mapping[str, list[PodSet]]) -> Group:
    members = (_of_group(one, pools) if isinstance(one, Group) else _of_set(one, pools) for one in group.members)
    return replace(group, members=tuple(one for below in members for one in below))


def _of_group(group: Group, pools: Mapping[str, list[PodSet]]) -> Iterable[Group]:
    """The group; none where all of it is counted elsewhere."""
    made = _merged(group, pools)
    return (made,) if made.members else ()


def _of_set(pods: PodSet, pools: Mapping[str, list[PodSet]]) -> Iterable[PodSet]:
    together = pools[called(pods)]
    if together[0] is not pods:
        return ()
    count, least = sum(one.count for one in together), sum(one.min_count for one in together)
    return (replace(pods, name=called(pods), count=count, min_count=least),)
