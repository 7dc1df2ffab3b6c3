"""Groups of pods that have no object of their own, as Kueue's: each is known again by the pods it was read from."""

from collections.abc import Collection
from dataclasses import dataclass, field

from phalanx.model.objects import ObjectKey


@dataclass(frozen=True, slots=True)
class Gathered:
    """One group. ``uid``: as if it had an object. ``pods``: the uids of the pods that it was read from last."""

    uid: str = ""
    pods: frozenset[str] = field(default_factory=frozenset)

    def followed_by(self, pods: Collection[str]) -> "Gathered":
        """Read from these pods now: another group, if none of the pods before is among them."""
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
