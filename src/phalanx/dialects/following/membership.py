"""Which place of which gang a pod is for: gang, pod set and number, from what the pod and its workload say.

Pod sets are told apart by their names, ``decode[1]/leader`` being class ``leader`` of copy 1 of group ``decode``::

    labels {jobset.sigs.k8s.io/replicatedjob-name: workers, .../job-index: "1"}   workers[1], or workers
    labels {leaderworkerset.sigs.k8s.io/group-index: "0", .../worker-index: "0"}  main[0]/leader, rank 0
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from phalanx.model.nodes import PodShape
from phalanx.model.request import PodSet, Request

_TOLERATED_BY_ALL = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NAME = re.compile(r"(?P<group>[^\[/]+)(?P<marks>(?:\[[^\]]*\])*)(?:/(?P<pod_class>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """What a pod says of itself; None where it does not. ``groups``: names of its group, the best first.

    ``shape``: what tells the classes of a group apart where nothing else does.
    """

    groups: tuple[str, ...] = ()
    replica: str | None = None
    pod_class: str | None = None
    rank: int | None = None
    shape: PodShape | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """A pod set of a request, its name taken apart. ``size``: pods of the group it stands in."""

    gang: str
    pods: PodSet
    group: str
    marks: tuple[str, ...]
    pod_class: str | None
    size: int
    ranked: bool


@dataclass(frozen=True, slots=True)
class Membership:
    gang: str
    pod_set: str
    rank: int | None


def seats(requests: Iterable[Request]) -> list[Seat]:
    """The pod sets of all requests of a workload, in order."""
    return [seat for request in requests for seat in _of_request(request)]


def _of_request(request: Request) -> list[Seat]:
    found: list[Seat] = []
    for group in request.root.groups():
        sets = [member for member in group.members if isinstance(member, PodSet)]
        size = sum(pods.count for pods in sets)
        found += [_seat(request.id, pods, size, group.ranks is not None) for pods in sets]
    return found


def _seat(gang: str, pods: PodSet, size: int, ranked: bool) -> Seat:
    parts = _NAME.fullmatch(pods.name)
    if parts is None:
        return Seat(gang, pods, pods.name, (), None, size, ranked)
    marks = tuple(parts["marks"][1:-1].split("][")) if parts["marks"] else ()
    return Seat(gang, pods, parts["group"], marks, parts["pod_class"], size, ranked)


def find(said: Said, seats: Sequence[Seat], keys: Sequence[str] = ()) -> Membership | None:
    """The place of a pod; None where nothing tells. ``keys``: the replica keys of its group, in order."""
    pool = _of_copy(said, _of_group(said, seats), keys)
    pool = _of_class(said, pool)
    return _member(said, pool[0]) if pool else None


def _of_group(said: Said, seats: Sequence[Seat]) -> list[Seat]:
    """Those of the first group that the pod names; of the only one where there is no other."""
    for name in said.groups:
        named = [seat for seat in seats if seat.group == name] or [seat for seat in seats if seat.pod_class == name]
        if named:
            return named
    return list(seats) if len({seat.group for seat in seats}) == 1 else []


def _of_copy(said: Said, pool: list[Seat], keys: Sequence[str]) -> list[Seat]:
    """Those of the pod's copy: the copy called like its key, else as many copies down as its key is among the keys."""
    if not any(seat.marks for seat in pool) or said.replica is None:
        return pool
    exact = [seat for seat in pool if seat.marks and seat.marks[-1] == said.replica]
    if exact or said.replica not in keys:
        return exact
    return [seat for seat in pool if seat.marks and seat.marks[-1] == str(keys.index(said.replica))]


def _of_class(said: Said, pool: list[Seat]) -> list[Seat]:
    if len(pool) < 2:
        return pool
    named = [seat for seat in pool if seat.pod_class is not None and seat.pod_class in (said.pod_class, *said.groups)]
    return named or _alike(said.shape, pool) or pool


def _alike(shape: PodShape | None, pool: list[Seat]) -> list[Seat]:
    """Those of the pod's shape; where admission changed more of the pod than we know of, those that ask for as much."""
    if shape is None:
        return []
    same = [seat for seat in pool if _plain(seat.pods.shape) == _plain(shape)]
    return same or [seat for seat in pool if seat.pods.shape.requests == shape.requests]


def _plain(shape: PodShape) -> PodShape:
    """A shape without what a server adds to every pod, and no template says."""
    own = tuple(one for one in shape.filter.tolerations if one.key not in _TOLERATED_BY_ALL)
    return replace(shape, labels=(), filter=replace(shape.filter, tolerations=own))


def _member(said: Said, seat: Seat) -> Membership:
    rank = said.rank if seat.ranked else None
    if rank is not None and seat.marks and rank >= seat.size:
        rank %= seat.size  # counted over all copies; a copy counts its own
    return Membership(seat.gang, seat.pods.name, rank if rank is not None and rank < seat.size else None)
