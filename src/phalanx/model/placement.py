"""A Placement: how many pods of each set on which node."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Counts = tuple[tuple[str, int], ...]  # (node name, pods), in tree order


@dataclass(frozen=True, slots=True)
class Placement:
    """Where everything goes. Pod sets that were left out (beyond a minimum) are absent or have fewer pods."""

    pod_sets: Mapping[str, Counts]
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # group -> deepest domain that holds it
    level_reached: Mapping[str, str] = field(default_factory=dict)  # group -> name of that domain's level
    ranks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # ranked group -> node of rank i
