"""What every controller works with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from phalanx.minicluster.documents import Document, Kind, controller_of, key_of, kind_of, uid_of
from phalanx.minicluster.draws import Draws
from phalanx.minicluster.errors import Rejected
from phalanx.minicluster.pace import Pace
from phalanx.minicluster.store import Store
from phalanx.model.objects import ObjectKey


@dataclass(frozen=True, slots=True)
class Context:
    """``memory``: what a controller keeps for itself and would lose in a restart, by uid and what it is."""

    store: Store
    pace: Pace
    memory: dict[tuple[str, str], Any] = field(default_factory=dict)

    @property
    def draws(self) -> Draws:
        return self.store.draws

    def children(self, owner: Document, of_kind: Kind) -> list[Document]:
        """What that object controls, sorted by key."""
        uid = uid_of(owner)
        found = (doc for doc in self.store.owned_by(uid) if kind_of(doc) == of_kind)
        return [doc for doc in found if (controller_of(doc) or {}).get("uid") == uid]

    def write(self, doc: Document, change: Callable[[Document], Document], now: float) -> Document:
        """Changes that very object; one that is gone meanwhile is let be."""
        try:
            return self.store.change(key_of(doc), change, now, uid_of(doc))
        except Rejected as rejected:
            if rejected.reason not in ("NotFound", "Conflict"):
                raise
            return doc

    def remove(self, doc: Document, now: float, propagation: str = "Background", grace: float | None = None) -> None:
        """Deletes that very object; one that is gone already is fine."""
        try:
            self.store.delete(key_of(doc), now, uid=uid_of(doc), propagation=propagation, grace=grace)
        except Rejected as rejected:
            if rejected.reason not in ("NotFound", "Conflict"):
                raise


Reconcile = Callable[[Context, ObjectKey, float], float | None]
