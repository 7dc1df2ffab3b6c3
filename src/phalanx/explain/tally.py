"""How many pods a decision was about: how many were wanted, how many have a place, and which have none.

A gang may start with fewer pods than it wants (its minimum), and without groups that it can do without (``minGroups``).
Whoever is left out is told by name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from phalanx.model.decision import Decided, Invalid, Placed
from phalanx.model.request import Group, PodSet


@dataclass(frozen=True, slots=True)
class Tally:
    """``wanted`` None: the manifest is wrong or was not read, and nobody knows. ``left_out``: pods without a place, by
    the name of the outermost group that has none at all, or of a pod set that has some; ``placed`` and these make up
    ``wanted``."""

    wanted: int | None
    placed: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        """Whether some have a place, and others do not."""
        return bool(self.placed and self.left_out)


def of(decision: Decided) -> Tally:
    """The pods of one decision. Those whose work is done had their place."""
    if isinstance(decision, Invalid) or decision.request is None:
        return Tally(None)
    root = decision.request.root
    got = _got(decision) if isinstance(decision, Placed) else {}
    wanted, left_out = _wanted(root), dict(_left_out(root, got))
    return Tally(wanted, wanted - sum(left_out.values()), left_out)


def _got(placed: Placed) -> dict[str, int]:
    found = {name: sum(pods for _, pods in counts) for name, counts in placed.placement.pod_sets.items()}
    return {name: found.get(name, 0) + placed.done.get(name, 0) for name in {*found, *placed.done}}


def _left_out(member: Group | PodSet, got: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    missing = _wanted(member) - _placed(member, got)
    if not missing:
        return
    if isinstance(member, PodSet) or not _placed(member, got):
        yield member.name, missing
        return
    for one in member.members:
        yield from _left_out(one, got)


def _placed(member: Group | PodSet, got: Mapping[str, int]) -> int:
    return sum(min(got.get(one.name, 0), one.count) for one in _sets(member))


def _wanted(member: Group | PodSet) -> int:
    return sum(one.count for one in _sets(member))


def _sets(member: Group | PodSet) -> Iterator[PodSet]:
    return iter((member,)) if isinstance(member, PodSet) else member.pod_sets()
