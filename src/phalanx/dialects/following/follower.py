"""The door: any object of a cluster as it is now, or that it is gone; and events for the engine."""

from collections.abc import Mapping

from phalanx.dialects import documents
from phalanx.dialects.documents import Role
from phalanx.dialects.following.estate import DAEMON_SET, Estate
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.following.roll import Roll
from phalanx.dialects.following.told import Told
from phalanx.dialects.neighbours import Key

_LOOKED_UP = {"HorizontalPodAutoscaler", "TrainingRuntime", "ClusterTrainingRuntime"}  # by name, from workloads


class Follower:
    """Objects may come in any order of kinds, twice or late. Nothing is lost: what cannot be read is told."""

    def __init__(self, marks: Marks) -> None:
        self._estate = Estate()
        self._roll = Roll(marks)

    def seen(self, value: Mapping[object, object]) -> None:
        """An object exists, as it is now."""
        found, _ = documents.sort([value])
        for doc in found:
            if (doc.home, doc.kind) == DAEMON_SET or (doc.role is Role.STATE and doc.kind not in _LOOKED_UP):
                self._estate.seen(doc)
            elif doc.role in (Role.STATE, Role.WORKLOAD, Role.UNREAD):
                self._roll.seen(doc)

    def gone(self, key: Key) -> None:
        """An object is there no more."""
        self._estate.gone(key)
        self._roll.gone(key)

    def tell(self) -> Told:
        """What came of it since it was last asked: the cluster first, then gangs, then pods."""
        first = Told()
        around = self._estate.tell(first)
        if around is not None:
            self._roll.surround(around)
        told = self._roll.tell()
        told.events[:0] = first.events
        told.accepted[:0] = first.accepted
        told.dangling[:0] = first.dangling
        told.problems, told.unusable = first.problems, first.unusable
        return told
