"""What a workload was drawn as, in numbers. The judge knows gangs from here, and never by reading a manifest.

::

    Drawn("w1", "Job", (Role("main", 4, 2),), level="rack")      four pods of two GPUs each, in one rack

A pod says in two annotations which incarnation of which workload it was made for, and in which role.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Doc = dict[str, Any]

WORKLOAD = "drawn.example.com/workload"  # w1.2: the second incarnation of w1
ROLE = "drawn.example.com/role"


@dataclass(frozen=True, slots=True)
class Role:
    """Pods that are alike. ``count``: of them in each copy. ``least``: as many must start together; None: all."""

    name: str
    count: int
    gpus: int
    least: int | None = None

    @property
    def needed(self) -> int:
        return self.count if self.least is None else self.least


@dataclass(frozen=True, slots=True)
class Drawn:
    """One workload.

    ``copies``: so many gangs of it, each of all roles. ``together``: whether its pods are a gang. ``any_of``: so many
    pods of whatever role are enough for one (of groups that know no roles); None: each role by itself. ``level``: in
    one domain of which the pods of a gang must be, or those of each role (``level_of_role``). ``remade``: pods made by
    hand that went come again under their names. ``pods``: annotations that say what its pods do.
    """

    name: str
    kind: str
    roles: tuple[Role, ...]
    level: str | None = None
    level_of_role: bool = False
    gated: bool = False
    held: bool = False
    copies: int = 1
    together: bool = True
    any_of: int | None = None
    queue: str = ""
    priority: str = ""
    remade: bool = False
    restart: str = "Never"
    says: tuple[str, ...] = ()  # what makes this one different from others of its kind
    pods: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Pods of one copy."""
        return sum(role.count for role in self.roles)

    def resized(self, counts: Mapping[str, int]) -> "Drawn":
        roles = tuple(replace(role, count=counts.get(role.name, role.count)) for role in self.roles)
        return replace(self, roles=roles)

    def is_whole(self, there: Mapping[str, int]) -> bool:
        """Whether so many pods of each role are enough to run."""
        if self.any_of is not None:
            return sum(there.values()) >= self.any_of
        return all(there.get(role.name, 0) >= role.needed for role in self.roles)


@dataclass(frozen=True, slots=True)
class Made:
    """What is created for a workload: ``objects`` in this order, and ``pods`` that no controller makes."""

    objects: tuple[Doc, ...] = ()
    pods: tuple[Doc, ...] = ()


Unit = tuple[str, str]  # the incarnation of a workload, and which copy of it


def incarnation(name: str, number: int) -> str:
    return f"{name}.{number}"
