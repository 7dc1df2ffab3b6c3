"""What breaks on the short way through a trace: nodes, pods and binds, at times that a seed gives.

Few kinds, with rates a person would name for a cluster. Worlds in which everything goes wrong at once are elsewhere
(``faults``, ``mischief``).
"""

import random
from dataclasses import dataclass

DAY = 86_400.0
HOUR = 3_600.0


@dataclass(frozen=True, slots=True)
class Breakage:
    """``node_every``: seconds from one loss of a node to its next, on average (0: never), ``node_away``: until it is
    back, on average. ``pod_failed``: the chance that a gang which starts loses a pod before its end. ``refused``: the
    chance that a bind is refused."""

    node_every: float = 0.0
    node_away: float = 0.0
    pod_failed: float = 0.0
    refused: float = 0.0


NONE = "none"
LEVELS = {
    NONE: Breakage(),
    "calm": Breakage(node_every=180 * DAY, node_away=4 * HOUR, pod_failed=0.005, refused=0.001),
    "stormy": Breakage(node_every=10 * DAY, node_away=2 * HOUR, pod_failed=0.05, refused=0.02),
}


class Luck:
    """Draws what breaks when; one source for each kind, so that one more of one changes none of another."""

    def __init__(self, breakage: Breakage, nodes: int, seed: int) -> None:
        self._rates = breakage
        self._nodes = nodes
        self._node, self._pod, self._bind = (
            random.Random(f"{seed}:breakage {kind}") for kind in ("node", "pod", "bind")
        )
        self.next_loss = self._after(0.0)

    def _after(self, now: float) -> float | None:
        if not self._rates.node_every or not self._nodes:
            return None
        return now + self._node.expovariate(self._nodes / self._rates.node_every)

    def loss(self, now: float, present: list[str]) -> tuple[str, float]:
        """Which node is lost now, and when it is back."""
        self.next_loss = self._after(now)
        return self._node.choice(present), now + self._node.expovariate(1 / self._rates.node_away)

    def failure(self, duration: float) -> float | None:
        """After how many seconds a gang that starts now loses a pod; None: it does not."""
        fails, after = self._pod.random() < self._rates.pod_failed, self._pod.random() * duration
        return after if fails else None

    def which(self, count: int) -> int:
        return self._pod.randrange(count)

    def refuses(self) -> bool:
        return self._bind.random() < self._rates.refused
