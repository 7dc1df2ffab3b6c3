"""A pod as the engine sees it: one that exists, wherever it came from and whoever gave it a node."""

from dataclasses import dataclass

from phalanx.model.nodes import RunningPod
from phalanx.model.objects import ObjectKey
from phalanx.model.resources import Resources

STOPPED = "Stopped"  # it was told to end, and did: its work is not done
ENDED = ("Succeeded", "Failed", STOPPED)


@dataclass(frozen=True, slots=True)
class PodKey:
    """The identity of a pod: a name is used again, a uid never is."""

    namespace: str
    name: str
    uid: str

    @property
    def object(self) -> ObjectKey:
        """What it is called."""
        return ObjectKey("", "Pod", self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Pod:
    """``gang``: the id of the Request it belongs to (None: it stands for itself), ``pod_set``: which of its sets.

    ``rank``: its number in its group, counted through the sets of the group in order. ``running``: what it takes on a
    node, with its labels and rules; its ``node`` is empty while it has none.
    """

    key: PodKey
    running: RunningPod
    gang: str | None = None
    pod_set: str | None = None
    rank: int | None = None
    phase: str = "Pending"  # Pending | Running | Succeeded | Failed | Stopped
    ready: bool = False
    leaving: bool = False  # it is being deleted, and holds its place until it is gone
    gated: bool = False
    pinned: str = ""  # the one node it may go to since our gate is off; empty for pods that were never gated
    least: int | None = None  # with how many pods of its set its gang was whole when it was let go, if that was said
    daemon: bool = False  # made for its node: by a DaemonSet, or by the kubelet itself
    daemon_set: str = ""  # the DaemonSet that made it, ``namespace/name``
    waits_for: str = ""  # what it waits for before anybody may give it a node, as a sentence; empty: for nothing
    nominated: str = ""  # the node that another scheduler keeps for it, while it has none
    made: float = 0.0  # when, in whole seconds since 1970; 0: it does not say

    @property
    def node(self) -> str:
        """The node it is bound to; empty while it has none."""
        return self.running.node

    @property
    def requests(self) -> Resources:
        return self.running.requests

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def holds(self) -> bool:
        """Whether it takes room on its node."""
        return bool(self.node) and not self.ended
