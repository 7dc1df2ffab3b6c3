"""What became of every pod, written down from the objects alone, write by write."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from phalanx.minicluster.controllers.job import TRACKED
from phalanx.minicluster.documents import controller_of, key_of, kind_of, labels_of, owner_key
from phalanx.minicluster.store import DELETED, Event, Store
from phalanx.model.objects import Incarnation, ObjectKey
from phalanx.sim.objects.drawn import ROLE, WORKLOAD, Doc, Unit
from phalanx.sim.objects.templates import GPU

POD = ("", "Pod")
CopyOf = Callable[[str, Doc], str]  # incarnation of a workload and labels of a pod -> which copy


@dataclass(slots=True)
class PodLife:
    """One pod. ``unit``: the gang it was drawn for; None: a pod of others. ``labels``: of its node, as they were when
    it came there. ``ours``: we gave it its node. ``promised``: the node that we let a gated pod go to. ``evicted``: we
    asked it to leave. ``lost``: it left by somebody else's doing. ``counted``: it succeeded while its Job held it, or
    before it was told to end."""

    key: ObjectKey
    uid: str
    unit: Unit | None
    role: str
    gpus: int
    owner: Incarnation | None
    node: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    leaving: bool = False
    phase: str = "Pending"
    reason: str = ""
    ready: bool = False
    gone: bool = False
    ours: bool = False
    promised: str = ""
    counted: bool = False
    evicted: bool = False
    lost: bool = False

    @property
    def ended(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def holds(self) -> bool:
        """Whether it takes room on its node."""
        return bool(self.node) and not self.ended and not self.gone

    @property
    def stands(self) -> bool:
        """Whether it does its work, or will as soon as its kubelet begins."""
        return self.holds and not self.leaving

    @property
    def done(self) -> bool:
        """Whether its work is done. Of those that were told to end that is so where their Job counts them."""
        return self.phase == "Succeeded" and (self.counted or not (self.of_job or self.evicted or self.lost))

    @property
    def of_job(self) -> bool:
        return self.owner is not None and self.owner.key.kind == "Job"


class Record:
    """``follow`` reads on in the store. ``pods``: all there ever were, by uid. ``makers``: owners of all else."""

    def __init__(self, store: Store, copy_of: CopyOf) -> None:
        self._store, self._copy_of = store, copy_of
        self._version = 0
        self.pods: dict[str, PodLife] = {}
        self.here: dict[str, PodLife] = {}
        self.makers: dict[str, Incarnation | None] = {}
        self.lost: list[PodLife] = []  # since it was last asked

    def follow(self) -> Iterator[Event]:
        """What was written since it was last asked."""
        events = list(self._store.all_events_since(self._version))
        self._version = self._store.version
        for event in events:
            if kind_of(event.document) == POD:
                self._pod(event)
            else:
                self.makers[event.document["metadata"]["uid"]] = _owner(event.document)
        return iter(events)

    def _pod(self, event: Event) -> None:
        doc = event.document
        uid = doc["metadata"]["uid"]
        life = self.pods.get(uid)
        if life is None:
            life = self.pods[uid] = self.here[uid] = self._born(doc)
        stood = life.stands or not (life.ended or life.leaving)
        status = doc.get("status") or {}
        node = doc["spec"].get("nodeName", "")
        if node and not life.node:
            found = self._store.get(ObjectKey("", "Node", "default", node))
            life.labels = {} if found is None else labels_of(found)
        life.node = node
        life.leaving = "deletionTimestamp" in doc["metadata"]
        life.phase, life.reason = status.get("phase", "Pending"), status.get("reason", "")
        life.ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
        held = TRACKED in (doc["metadata"].get("finalizers") or ())
        life.counted = life.counted or (life.of_job and life.phase == "Succeeded" and (held or not life.leaving))
        life.gone = event.type == DELETED
        if life.gone:
            self.here.pop(uid, None)
        fell = life.gone or life.leaving or life.phase == "Failed"
        if stood and fell and not life.evicted:
            life.lost = True
            self.lost.append(life)

    def _born(self, doc: Doc) -> PodLife:
        notes = doc["metadata"].get("annotations") or {}
        made = notes.get(WORKLOAD)
        unit = None if made is None else (made, self._copy_of(made, labels_of(doc)))
        amounts = [one["resources"].get("requests", {}) for one in doc["spec"]["containers"] if "resources" in one]
        gpus = sum(int(one.get(GPU, 0)) for one in amounts)
        return PodLife(key_of(doc), doc["metadata"]["uid"], unit, notes.get(ROLE, ""), gpus, _owner(doc))

    def chain(self, life: PodLife) -> Iterator[Incarnation]:
        """Those that made a pod, from below."""
        at = life.owner
        while at is not None:
            yield at
            at = self.makers.get(at.uid) if at.uid in self.makers else self._of_pod(at.uid)

    def _of_pod(self, uid: str) -> Incarnation | None:
        found = self.pods.get(uid)
        return None if found is None else found.owner


def _owner(doc: Doc) -> Incarnation | None:
    found = controller_of(doc)
    return None if found is None else Incarnation(owner_key(doc, found), found["uid"])
