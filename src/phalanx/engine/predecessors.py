"""Pods that were placed for a gang after which another one of its name came. Each takes its room by itself.

Nobody can tell at first whether such a pod is about to be deleted with its gang, or was made for the new one and came
before it was seen. What becomes of it tells: one that stays, and names the new gang, joins it after a while.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.model.pods import Pod, PodKey


@dataclass(slots=True)
class _Left:
    """``node``: where it is, or was being bound to. ``asked``: when its bind was asked for, while nobody knows what
    became of that. ``since``: when it was first looked at."""

    node: str
    asked: float | None
    since: float | None = None


class Predecessors:
    """Changed by the Book. ``due`` says who has stayed for long enough."""

    def __init__(self) -> None:
        self._left: dict[PodKey, _Left] = {}
        self._asked = float("-inf")  # when it was last looked who is due

    def __contains__(self, key: object) -> bool:
        return key in self._left

    def add(self, key: PodKey, node: str, asked: float | None) -> None:
        self._left[key] = _Left(node, asked)

    def forget(self, key: PodKey) -> None:
        self._left.pop(key, None)

    def node(self, pod: Pod) -> str:
        """Where a pod takes room: on its node, or where it was being bound to."""
        left = self._left.get(pod.key)
        return pod.node if pod.node or left is None else left.node

    def asked(self, pod: Pod) -> float | None:
        """When the bind of a pod was asked for of which nobody knows what became."""
        left = self._left.get(pod.key)
        return None if pod.node or left is None else left.asked

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
            left.asked = None if left.asked is None else left.asked - seconds
