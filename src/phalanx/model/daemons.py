"""DaemonSets: pods that come to every node they may use, and for which room is kept before they do."""

from dataclasses import dataclass

from phalanx.model.nodes import PodShape


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """``shape``: of its pods, with the tolerations that its controller gives them."""

    namespace: str
    name: str
    shape: PodShape

    @property
    def id(self) -> str:
        return f"{self.namespace}/{self.name}"
