"""Pods that were placed for a gang after which another one of its name came. Each takes its room by itself.

Nobody can tell at first whether such a pod is about to be deleted with its gang, or was made for the new one and came
before it was seen. What becomes of it tells: one that stays, and names the new gang, joins it after a while.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.model.pods import Pod, PodKey


@dataclass(slots=True)
class _Left:
    """``node``: where it is, or was being bound to. ``since``: when that was first looked at."""

    node: str
    since: float | None = None


class Predecessors:
    """Changed by the Book. ``due`` says who has stayed for long enough."""

    def __init__(self) -> None:
        self._left: dict[PodKey, _Left] = {}
        self._asked = float("-inf")  # when it was last looked who is due

    def __contains__(self, key: object) -> bool:
        return key in self._left

    def add(self, key: PodKey, node: str) -> None:
        self._left[key] = _Left(node)

    def forget(self, key: PodKey) -> None:
        self._left.pop(key, None)

    def node(self, pod: Pod) -> str:
        """Where a pod takes room: on its node, or where it was being bound to."""
        left = self._left.get(pod.key)
        return pod.node if pod.node or left is None else left.node

    def due(self, now: float, seconds: float) -> Iterator[PodKey]:
        """Pods that have stayed for so long."""
        self._asked = now
        for key, left in list(self._left.items()):
            left.since = now if left.since is None else min(left.since, now)
            if now >= left.since + seconds:
                yield key

    def next_at(self, seconds: float) -> float | None:
        """When somebody is due next. Who was due already and is still left is ending: that is heard, not waited for."""
        times = (one.since + seconds for one in self._left.values() if one.since is not None)
        return min((at for at in times if at > self._asked), default=None)

    def set_back(self, seconds: float) -> None:
        """The clock was set back."""
        self._asked -= seconds
        for left in self._left.values():
            left.since = None if left.since is None else left.since - seconds
