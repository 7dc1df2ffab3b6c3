"""Which pods told last what a group of pods that has no object is like: by them it is known as the same group."""

from collections.abc import Collection
from dataclasses import dataclass, field

from phalanx.model.objects import ObjectKey


@dataclass(frozen=True, slots=True)
class Gathered:
    """``uid``: the group's, as if it had an object. ``pods``: the uids of those that told of it last."""

    uid: str = ""
    pods: frozenset[str] = field(default_factory=frozenset)

    def followed_by(self, pods: Collection[str]) -> "Gathered":
        """Told by these pods now: another group, once none is left of those that told of it before."""
        if not pods:
            return self
        return Gathered(min(pods) if self.pods.isdisjoint(pods) else self.uid, frozenset(pods))


class Gatherings:
    """All groups of pods that have no object, by the key that they are given."""

    def __init__(self) -> None:
        self.known: dict[ObjectKey, Gathered] = {}

    def uid(self, key: ObjectKey, pods: Collection[str]) -> str:
        found = self.known[key] = self.known.get(key, Gathered()).followed_by(pods)
        return found.uid

    def forget(self, key: ObjectKey) -> None:
        self.known.pop(key, None)
