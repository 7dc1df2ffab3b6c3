"""Which place of which gang a pod is for: gang, pod set and number, from what the pod and its workload say.

Pod sets are told apart by their names, ``decode[1]/leader`` being class ``leader`` of copy 1 of group ``decode``::

    labels {jobset.sigs.k8s.io/replicatedjob-name: workers, .../job-index: "1"}   workers[1], or workers
    labels {leaderworkerset.sigs.k8s.io/group-index: "0", .../worker-index: "0"}  main[0]/leader, rank 0
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phalanx.dialects import attachments
from phalanx.dialects.gang import copied
from phalanx.dialects.gang.copied import Copied, Way
from phalanx.model.nodes import PodShape
from phalanx.model.request import PodSet, Request

_TOLERATED_BY_ALL = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NAME = re.compile(r"(?P<group>[^\[/]+)(?P<marks>(?:\[[^\]]*\])*)(?:/(?P<pod_class>.*))?", re.DOTALL)


Part = tuple[str, ...]  # a group, and which copies of it


@dataclass(frozen=True, slots=True)
class Said:
    """What a pod says of itself; None where it does not. ``groups``: names of its group, the best first.

    ``replica``: the key of its copy by its link, or its kind; ``carried``: by the paths that its gang names for it.
    ``shape``: what tells the classes of a group apart where nothing else does. ``likeness``: the same, of pods that
    tell themselves which classes there are.
    """

    groups: tuple[str, ...] = ()
    replica: str | None = None
    carried: Mapping[str, str] = field(default_factory=dict)
    pod_class: str | None = None
    rank: int | None = None
    shape: PodShape | None = None
    likeness: object = None


@dataclass(frozen=True, slots=True)
class Seat:
    """A pod set of a request, its name taken apart. ``size``: pods of the group it stands in.

    ``marks``: of which copy, outermost first; ``levels``: how its pods are told from those of other copies.
    ``like``: the likeness of its pods, where they tell themselves what the gang is like. ``is_role``: its group is one
    of their shapes, and called like the first pod of it.
    """

    gang: str
    pods: PodSet
    group: str
    marks: tuple[str, ...]
    pod_class: str | None
    size: int
    ranked: bool
    levels: tuple[Copied, ...] = ()
    like: object = None
    is_role: bool = False

    @property
    def part(self) -> Part:
        """Which part of its workload it is, whatever the shapes in it are called."""
        return () if self.is_role else (self.group, *self.marks)


Levels = Mapping[str, tuple[Copied, ...]]  # by group: the copied groups it stands in, outermost first
Called = Mapping[Way, Mapping[str, str]]  # what the copy of each key is called


@dataclass(frozen=True, slots=True)
class Membership:
    """``part``: the group, and which copies of it. ``keys``: of the copies, as the pod said them, outermost first.
    ``uid``: of the object that its gang was read from."""

    gang: str
    pod_set: str
    rank: int | None
    keys: tuple[str | None, ...] = ()
    part: Part = ()
    uid: str = ""


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


def with_levels(seats: Iterable[Seat], levels: Levels) -> list[Seat]:
    """The seats with what tells the copies of their groups apart."""
    return [replace(one, levels=found) if (found := levels.get(one.group)) else one for one in seats]


def find(said: Said, seats: Sequence[Seat], called: Called) -> Membership | None:
    """The place of a pod; None where nothing tells."""
    pool = _of_copy(said, of_group(said, seats), called)
    pool = _of_class(said, pool)
    return _member(said, pool[0]) if pool else None


def of_group(said: Said, seats: Sequence[Seat]) -> list[Seat]:
    """Those of the first group that the pod names; of the only one where there is no other."""
    for name in said.groups:
        named = [seat for seat in seats if seat.group == name] or [seat for seat in seats if seat.pod_class == name]
        if named:
            return named
    if len({seat.group for seat in seats}) == 1:
        return list(seats)
    return [seat for seat in seats if seat.is_role]


def keys(said: Said, seat: Seat) -> tuple[str | None, ...]:
    """The keys by which a pod says in which copies it is, outermost first. What it carries where its gang says so
    counts; else what its link says, which is about the innermost."""
    carried = [said.carried.get(level.path) if level.path is not None else None for level in seat.levels]
    if not carried:
        return (said.replica,) if seat.marks else ()
    return (*carried[:-1], carried[-1] if carried[-1] is not None else said.replica)


def called(joined: Iterable[Membership], coming: Iterable[Said], seats: Sequence[Seat]) -> Called:
    """What copies are called by the keys of their pods. Those of pods that have joined go on being called as they are,
    whoever comes later."""
    known: dict[Way, dict[str, str]] = {}
    fresh: dict[Way, list[str]] = {}
    by_part = {seat.part: seat for seat in seats if seat.levels}
    for member in joined:
        seat = by_part.get(member.part)
        for level, mark, key in zip(seat.levels, seat.marks, member.keys, strict=False) if seat is not None else ():
            known.setdefault(level.way, {}).setdefault(key or "", mark)
    for said in coming:
        for seat in [one for one in of_group(said, seats)[:1] if one.levels]:
            for level, key in zip(seat.levels, keys(said, seat), strict=True):
                fresh.setdefault(level.way, []).extend([] if key is None else [key])
    return {way: copied.marks(fresh.get(way, ()), way[1], known.get(way)) for way in {**known, **fresh}}


def _of_copy(said: Said, pool: list[Seat], called: Called) -> list[Seat]:
    """Those of the pod's copy. A pod that does not say in which of several it is has no place."""
    return [seat for seat in pool if all(_is_in(seat, i, key, called) for i, key in enumerate(keys(said, seat)))]


def _is_in(seat: Seat, i: int, key: str | None, called: Called) -> bool:
    if not seat.levels:
        return key in (None, seat.marks[-1])
    level = seat.levels[i]
    if key is None:
        return level.number == 1
    return called.get(level.way, {}).get(key) == seat.marks[i]


def _of_class(said: Said, pool: list[Seat]) -> list[Seat]:
    if len(pool) < 2 and all(seat.like is None for seat in pool):
        return pool
    named = [seat for seat in pool if seat.pod_class is not None and seat.pod_class in (said.pod_class, *said.groups)]
    if named:
        return named
    if any(seat.like is not None for seat in pool):
        return [seat for seat in pool if seat.like == said.likeness]
    return _alike(said.shape, pool) or pool


def _alike(shape: PodShape | None, pool: list[Seat]) -> list[Seat]:
    """Those of the pod's shape; where admission changed more of the pod than we know of, those that ask for as much."""
    if shape is None:
        return []
    same = [seat for seat in pool if _plain(seat.pods.shape) == _plain(shape)]
    return same or [seat for seat in pool if _plain(seat.pods.shape).requests == _plain(shape).requests]


def _plain(shape: PodShape) -> PodShape:
    """A shape without what a server adds to every pod, and no template says."""
    own = tuple(one for one in shape.filter.tolerations if one.key not in _TOLERATED_BY_ALL)
    amounts = attachments.uncounted(shape.requests)
    return replace(shape, labels=(), requests=amounts, filter=replace(shape.filter, tolerations=own))


def _member(said: Said, seat: Seat) -> Membership:
    rank = said.rank if seat.ranked else None
    if rank is not None and seat.marks and rank >= seat.size:
        rank %= seat.size  # counted over all copies; a copy counts its own
    told = rank if rank is not None and rank < seat.size else None
    return Membership(seat.gang, seat.pods.name, told, keys(said, seat), seat.part)


def again(known: Membership, said: Membership | None, seats: Sequence[Seat]) -> Membership:
    """A membership as the shapes of its part are called now. ``said``: what the pod would be if it came now; where that
    is another part it stays in the one it joined. (W-111)"""
    if said is not None and said.gang == known.gang and (said.part == known.part or not (said.part and known.part)):
        return said if known.rank is None else replace(said, rank=known.rank)
    own = [seat for seat in seats if seat.part == known.part]
    is_there = not own or any(seat.pods.name == known.pod_set for seat in own)
    return known if is_there else replace(known, pod_set=own[0].pods.name)
