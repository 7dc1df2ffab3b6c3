"""The least of a request that has to be placed, counted by whatever one asks for."""

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from phalanx.model.request import Group, PodSet

Key = TypeVar("Key", bound=Hashable)


def least(member: Group | PodSet, of: Callable[[PodSet], Mapping[Key, int]]) -> dict[Key, int]:
    """Amounts that no valid placement stays below. ``of``: what the minimum of one pod set amounts to.

    Where ``min_members`` lets some members out, the smallest of them count, each key by itself. No single choice of
    members may be the least in every key; it is a bound, and exact where all members are needed.
    """
    if isinstance(member, PodSet):
        return dict(of(member))
    parts = [least(one, of) for one in member.members]
    needed = len(parts) if member.min_members is None else member.min_members
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: sum(sorted(part.get(key, 0) for part in parts)[:needed]) for key in keys}
