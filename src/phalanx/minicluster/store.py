"""A store of Kubernetes objects: one counter of versions, one log of events a kind, and every write in one place.

Objects are plain dicts and never changed in place; whoever reads one shares it. Time is an argument.
Left out: admission by quota, namespaces that end, field managers, validation beyond what ``unchanging`` checks, and
forgetting: events are kept for ever.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from phalanx.minicluster import documents
from phalanx.minicluster.documents import POD, Document, Kind, changed, is_leaving, key_of, kind_of, merged, uid_of
from phalanx.minicluster.draws import Draws
from phalanx.minicluster.errors import Rejected
from phalanx.minicluster.resources import row_of
from phalanx.minicluster.times import stamp
from phalanx.model.objects import ObjectKey

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"  # finalizers of the garbage collector
_FINALIZERS = {"Background": None, "Foreground": FOREGROUND, "Orphan": ORPHAN}
_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_NAME_LENGTH = 58  # what is kept of generateName, so that name and suffix are a label


class Event(NamedTuple):
    """``at``: when it was written."""

    version: int
    type: str  # ADDED, MODIFIED or DELETED
    document: Document
    at: float


class Store:
    """``admit``: what looks at each new object before it is stored, and may change it, like a webhook."""

    def __init__(self, seed: int) -> None:
        self.version = 0
        self.draws = Draws(seed)
        self.admit: dict[Kind, Callable[[Document], Document]] = {}
        self._objects: dict[Kind, dict[ObjectKey, Document]] = {}
        self._sorted: dict[Kind, list[ObjectKey]] = {}  # rebuilt when a kind gets or loses an object
        self._owned: dict[str, set[ObjectKey]] = {}  # by the uid of an owner
        self._events: dict[Kind, list[Event]] = {}
        self._log: list[Event] = []

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, key: ObjectKey) -> Document | None:
        return self._objects.get(key.of_kind, {}).get(key)

    def of_kind(self, group: str, kind: str) -> list[Document]:
        """All of a kind, sorted by key."""
        kept = self._objects.get((group, kind), {})
        if (group, kind) not in self._sorted:
            self._sorted[group, kind] = sorted(kept)
        return [kept[key] for key in self._sorted[group, kind]]

    def kinds(self) -> list[Kind]:
        """The kinds of which there is something, sorted."""
        return sorted(kind for kind, kept in self._objects.items() if kept)

    def owned_by(self, uid: str) -> list[Document]:
        """What names that object as an owner, sorted by key."""
        found = (self.get(key) for key in sorted(self._owned.get(uid, ())))
        return [doc for doc in found if doc is not None]

    def events_since(self, group: str, kind: str, version: int) -> Iterator[Event]:
        """What happened to a kind after that version, in order."""
        return self._after(self._events.get((group, kind), []), version)

    def all_events_since(self, version: int) -> Iterator[Event]:
        return self._after(self._log, version)

    @staticmethod
    def _after(events: list[Event], version: int) -> Iterator[Event]:
        return iter(events[bisect_right(events, version, key=lambda event: event.version) :])

    # -- writing -------------------------------------------------------------------------------------------------

    def create(self, document: Document, now: float) -> Document:
        """The object as it is stored. Its status is kept as it is written, as for something that was there before."""
        row = row_of(kind_of(document))
        meta = dict(document["metadata"])
        number = self.version + 1
        if row.namespaced:
            meta.setdefault("namespace", "default")
        if not meta.get("name"):
            meta["name"] = self._generated(meta, number)
        key = key_of({**document, "metadata": meta})
        if self.get(key) is not None:
            raise Rejected("AlreadyExists", f'{row.plural} "{key.name}" already exists')
        meta |= {"uid": self.draws.uid("uid", number), "creationTimestamp": stamp(now), "generation": 1}
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            meta.pop(name, None)
        made = row.fill({**document, "metadata": meta})
        if row.key in self.admit:
            made = self.admit[row.key](made)
        return self._written(ADDED, None, made, now)

    def change(
        self, key: ObjectKey, write: Callable[[Document], Document], now: float, uid: str | None = None
    ) -> Document:
        """The object as it is then. What changes nothing is no write; without its last finalizer, what leaves goes."""
        old = self._present(key, uid)
        new = write(old)
        if new is old:
            return old
        before, after = old["metadata"], new["metadata"]
        if any(before.get(name) != after.get(name) for name in ("uid", "resourceVersion", "name", "namespace")):
            raise Rejected("Conflict", f"{key}: the object has been modified, or it is another one")
        if before.get("deletionTimestamp") != after.get("deletionTimestamp"):
            raise Rejected("Invalid", f"{key}: metadata.deletionTimestamp: field is immutable")
        row_of(key.of_kind).check(old, new)
        if _specified(old) != _specified(new):
            new = changed(new, "metadata", "generation", to=before["generation"] + 1)
        return self._kept_or_gone(old, new, now)

    def delete(
        self,
        key: ObjectKey,
        now: float,
        *,
        uid: str | None = None,
        propagation: str = "Background",
        grace: float | None = None,
    ) -> None:
        """It goes at once, or says that it leaves until its finalizers and, on a node, its kubelet let it go."""
        old = self._present(key, uid)
        meta = dict(old["metadata"])
        rest = [each for each in meta.get("finalizers") or () if each not in (FOREGROUND, ORPHAN)]
        held = _FINALIZERS[propagation]
        finalizers = rest if held is None else [*rest, held]
        if is_leaving(old):
            finalizers = meta.get("finalizers") or []
        meta.pop("finalizers", None)
        if finalizers:
            meta["finalizers"] = finalizers
        seconds = self._grace(old, grace)
        if not is_leaving(old):
            meta |= {"deletionTimestamp": stamp(now + seconds), "generation": meta["generation"] + 1}
            meta["deletionGracePeriodSeconds"] = int(seconds)
        elif seconds < meta["deletionGracePeriodSeconds"]:
            meta |= {"deletionTimestamp": stamp(now + seconds), "deletionGracePeriodSeconds": int(seconds)}
        self._kept_or_gone(old, {**old, "metadata": meta}, now)

    def bind(
        self, namespace: str, name: str, uid: str | None, node: str, now: float,
        annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Gives a pod its node, once. Nobody looks whether there is such a node, or room on it."""
        key = ObjectKey(*POD, namespace, name)
        pod = self._present(key, uid)
        wrong = _not_bound_because(pod)
        if wrong:
            raise Rejected("Conflict", f'Operation cannot be fulfilled on pods/binding "{name}": pod {name} {wrong}')
        if not node:
            raise Rejected("BadRequest", "target.name: Required value")
        place = {label: value for label, value in self._labels_of_node(node).items() if label in _ZONES}
        bound = changed(pod, "spec", "nodeName", to=node)
        bound = changed(bound, "status", "nominatedNodeName", to=None)
        for field, more in (("annotations", annotations or {}), ("labels", {**place, **(labels or {})})):
            bound = merged(bound, "metadata", field, **more)
        self._written(MODIFIED, pod, documents.with_condition(bound, now, "PodScheduled", True), now)

    # -- how a write becomes true --------------------------------------------------------------------------------

    def _present(self, key: ObjectKey, uid: str | None) -> Document:
        found = self.get(key)
        if found is None:
            raise Rejected("NotFound", f'{row_of(key.of_kind).plural} "{key.name}" not found')
        if uid is not None and uid_of(found) != uid:
            raise Rejected("Conflict", f"Precondition failed: UID in precondition: {uid}, in object: {uid_of(found)}")
        return found

    def _generated(self, meta: Document, number: int) -> str:
        if not meta.get("generateName"):
            raise Rejected("Invalid", "metadata.name: Required value: name or generateName is required")
        return f"{meta['generateName'][:_NAME_LENGTH]}{self.draws.suffix('name', number)}"

    def _grace(self, doc: Document, asked: float | None) -> float:
        """Only pods that run on a node, or may, take their time."""
        spec, phase = doc.get("spec") or {}, (doc.get("status") or {}).get("phase")
        if kind_of(doc) != POD or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
            return 0.0
        usual = spec.get("terminationGracePeriodSeconds")
        return float(asked if asked is not None else 30 if usual is None else usual)

    def _labels_of_node(self, name: str) -> dict[str, str]:
        found = self.get(ObjectKey("", "Node", "default", name))
        return {} if found is None else documents.labels_of(found)

    def _kept_or_gone(self, old: Document, new: Document, now: float) -> Document:
        meta = new["metadata"]
        leaves = is_leaving(new) and not meta.get("finalizers") and not meta["deletionGracePeriodSeconds"]
        return self._written(DELETED if leaves else MODIFIED, old, new, now)

    def _written(self, how: str, old: Document | None, new: Document, now: float) -> Document:
        """The only place where anything is stored."""
        if how == MODIFIED and new == old:
            return new
        self.version += 1
        new = changed(new, "metadata", "resourceVersion", to=str(self.version))
        key, kind = key_of(new), kind_of(new)
        kept = self._objects.setdefault(kind, {})
        self._disown(key, old)
        if how == DELETED:
            del kept[key]
        else:
            kept[key] = new
            for each in documents.owners_of(new):
                self._owned.setdefault(each["uid"], set()).add(key)
        if how != MODIFIED:
            self._sorted.pop(kind, None)
        event = Event(self.version, how, new, now)
        self._events.setdefault(kind, []).append(event)
        self._log.append(event)
        return new

    def _disown(self, key: ObjectKey, old: Document | None) -> None:
        for uid in {each["uid"] for each in documents.owners_of(old)} if old else ():
            self._owned[uid].discard(key)
            if not self._owned[uid]:
                del self._owned[uid]


def _specified(doc: Document) -> Document:
    """What the wish for an object consists of."""
    return {key: value for key, value in doc.items() if key not in ("metadata", "status")}


def _not_bound_because(pod: Document) -> str:
    node = pod["spec"].get("nodeName")
    if is_leaving(pod):
        return "is being deleted, cannot be assigned to a host"
    if node:
        return f'is already assigned to node "{node}"'
    return "has non-empty .spec.schedulingGates" if pod["spec"].get("schedulingGates") else ""
