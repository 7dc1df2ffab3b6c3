"""A Request: one all-or-nothing unit, already valid, as a tree of groups and pod sets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from phalanx.model.nodes import PodShape
from phalanx.model.rules import Rules

_COPY = re.compile(r"\[[^]]*\]")


def as_declared(name: str) -> str:
    """The name of a group or pod set without the numbers of copies: ``decode/leader`` of ``decode[1]/leader``."""
    return _COPY.sub("", name)


@dataclass(frozen=True, slots=True)
class Slice:
    """Every ``size`` pods share one domain of ``level``."""

    level: int
    size: int


@dataclass(frozen=True, slots=True)
class Spread:
    """How the pods of a group are kept apart on ``level``; exactly one of the three is set."""

    level: int
    max_per_domain: int | None = None
    min_domains: int | None = None
    max_skew: int | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """How the pods of a group are numbered. ``order``: None | Consecutive | Stripe | Balance."""

    order: str = "Consecutive"
    across: int | None = None  # the level Stripe and Balance go over
    with_same_rank_of: str | None = None  # a sibling group; rank i of both share a domain ...
    level: int | None = None  # ... of this level


@dataclass(frozen=True, slots=True)
class PodSet:
    """Interchangeable pods. ``min_count`` of ``count`` must be placed; slices run coarse to fine.

    ``first``: so many of them are made at once, and the others only when the first of the gang have nodes; None: all
    are made at once. All are placed together all the same.

    ``pool``: once placed, its pods count together with those of all sets of this pool, whatever their shapes: nothing
    but pods tells which shapes there are. Empty: they count by themselves.
    """

    name: str
    count: int
    min_count: int
    shape: PodShape
    slices: tuple[Slice, ...] = ()
    first: int | None = None
    pool: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Members that belong near each other.

    ``required``/``preferred`` are level numbers of the request's topology (None: not asked).
    ``min_members``: how many of the members must be placed (None: all). Only ranked groups have ``ranks``;
    their numbering runs through their pod sets in order.
    """

    name: str
    members: tuple["Group | PodSet", ...]
    required: int | None = None
    preferred: int | None = None
    min_members: int | None = None
    spread: Spread | None = None
    ranks: Ranks | None = None

    def pod_sets(self) -> Iterator[PodSet]:
        for member in self.members:
            if isinstance(member, PodSet):
                yield member
            else:
                yield from member.pod_sets()

    def groups(self) -> Iterator["Group"]:
        """This group and all below it, outer first, in declared order."""
        yield self
        for member in self.members:
            if isinstance(member, Group):
                yield from member.groups()


@dataclass(frozen=True, slots=True)
class Missing:
    """A group of which fewer pods exist than must start together. ``groups``: groups are counted in it, not pods."""

    group: str
    needed: int
    seen: int
    groups: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One workload (or one independent unit of it) that is placed whole or not at all.

    Names of pod sets are unique within a request; so are names of groups.
    """

    kind: str
    namespace: str
    name: str
    root: Group
    topology: str | None = None  # None: the cluster has none, only level 0 and the node exist
    unit: str | None = None  # under policy Basic: which independent part this is
    queue: str = "default"
    local_queue: str | None = None  # what its namespace calls that queue, where it named it so (Kueue's LocalQueue)
    priority: int = 0
    suspended: bool = False  # its owner or spec says: not now
    missing: tuple[Missing, ...] = ()  # pods that must exist first, where nothing but the pods tells their shape
    rules: Rules = Rules()  # how it wants to be treated over time

    # the field in which the level around all of it is written, where that is known; it changes nothing
    around: str | None = field(default=None, compare=False, repr=False)
    exclusive: str | None = None  # the annotation by which its controller keeps others out of its parts' domains
    qualifier: str | None = None  # tells it from a workload of another kind with the same namespace and name

    @property
    def id(self) -> str:
        """``namespace/name``, or ``kind/namespace/name`` with a qualifier; ``#unit`` behind it where there is one."""
        base = f"{self.namespace}/{self.name}"
        base = base if self.qualifier is None else f"{self.qualifier}/{base}"
        return base if self.unit is None else f"{base}#{self.unit}"
