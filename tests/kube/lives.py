"""Lives of workloads: what is deleted and made again under its name has another uid, and is another one.

Judged from a history of everything alone. ``Lineage`` knows who made whom, by uid, and when each of them ended::

    with Witness(bed.admin_kubeconfig) as witness:
        life = witness.life("train", 4, level, uids=[...])
        ...
        assert witness.wrongs(window_seconds=20) == []
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.contract.door import from_kubeconfig
from tests.kube.history import History, Object, Record, Replay

MAKERS = {
    "Job": "/apis/batch/v1/jobs",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "Deployment": "/apis/apps/v1/deployments",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    "PodGroup": "/apis/scheduling.k8s.io/v1beta1/podgroups",
    "CompositePodGroup": "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups",
    "Gang": "/apis/phalanx.dev/v1alpha1/gangs",
}
GRACE_SECONDS = 1.0  # so long a bind may be on its way after what it is for was deleted; under load it was 0.2


@dataclass(slots=True)
class Life:
    """One life of a workload. ``uids``: of the objects that were made, among them pods that nobody else makes.

    ``told``: when the test began to take it away. ``whole``: how many of its pods start together. ``never``: it fits
    nowhere. ``path``: labels in which the nodes of its pods agree.
    """

    name: str
    whole: int
    path: tuple[str, ...] = ()
    never: bool = False
    uids: set[str] = field(default_factory=set)
    told: float = float("inf")

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(sorted(one[:8] for one in self.uids))})"


class Lineage:
    """Who made whom, by uid; what is there now; when what was there ended. Told by several threads.

    ``adopted``: what another object took over: a LeaderWorkerSet does that with the StatefulSet of the one before it.
    The pods are its own then, though they were made, and may be bound, for the other; it replaces them by and by.
    """

    def __init__(self) -> None:
        self.makers: dict[str, tuple[str, ...]] = {}
        self.pods: dict[str, Object] = {}
        self.ended: dict[str, Record] = {}
        self.adopted: set[str] = set()

    def take(self, record: Record) -> None:
        metadata = record.object["metadata"]
        made_by = metadata.get("ownerReferences", [])
        makers = tuple(one["uid"] for one in made_by if one.get("controller"))
        if self.makers.setdefault(record.uid, makers) != makers and makers:
            self.adopted.add(record.uid)
            self.makers[record.uid] = makers
        if record.gone or "deletionTimestamp" in metadata:
            self.ended.setdefault(record.uid, record)
        if record.kind == "Pod" and record.gone:
            self.pods.pop(record.uid, None)
        elif record.kind == "Pod":
            self.pods[record.uid] = record.object

    def above(self, uid: str) -> Iterator[str]:
        """What made an object, what made that, and so on."""
        for maker in self.makers.get(uid, ()):
            yield maker
            yield from self.above(maker)

    def is_of(self, uid: str, life: Life) -> bool:
        return uid in life.uids or any(one in life.uids for one in self.above(uid))

    def was_adopted(self, uid: str) -> bool:
        return any(one in self.adopted for one in self.above(uid))

    def pods_of(self, life: Life) -> list[Object]:
        """Its pods that are there now."""
        return [pod for uid, pod in list(self.pods.items()) if self.is_of(uid, life)]

    def orphaned(self, uid: str, life: Life) -> Record | None:
        """When the first of what made a pod ended, or of what it belongs to."""
        ends = [self.ended[one] for one in self.above(uid) if one in self.ended]
        ends += [self.ended[one] for one in life.uids if one in self.ended and self.ended[one].kind != "Pod"]
        return min(ends, key=lambda one: one.version, default=None)


class Witness:
    """Follows everything from the moment the block begins, and judges the lives that it was told of."""

    def __init__(self, kubeconfig: Path) -> None:
        self.lineage = Lineage()
        self.lives: list[Life] = []
        self._history = History(kubeconfig, _served(kubeconfig), self.lineage.take)

    def __enter__(self) -> Self:
        self._history.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._history.__exit__(kind, error, at)

    def life(self, name: str, whole: int, path: tuple[str, ...] = (), never: bool = False) -> Life:
        """A life that begins, whose objects are still to be made."""
        self.lives.append(Life(name, whole, path, never))
        return self.lives[-1]

    def wrongs(self, window_seconds: float) -> list[str]:
        """Everything that was wrong up to now; nothing if all is well."""
        self._history.catch_up()
        return judge(self._history.records, self.lineage, self.lives, window_seconds, time.monotonic())


def judge(
    records: Iterable[Record], lineage: Lineage, lives: Iterable[Life], window_seconds: float, until: float
) -> list[str]:
    """Everything that is wrong in a history that ends at ``until``; nothing if all is well."""
    replay, wrong = Replay(), list[str]()
    judges = [_Judge(life, lineage, window_seconds) for life in lives]
    known: dict[str, _Judge | None] = {}
    for moment, record in replay.of(records):
        wrong += replay.wrongs(record)
        if record.kind != "Pod":
            continue
        if record.uid not in known:
            known[record.uid] = next((one for one in judges if lineage.is_of(record.uid, one.life)), None)
        found = known[record.uid]
        wrong += [] if found is None else found.look(moment, record, replay)
    return list(dict.fromkeys([*wrong, *(line for one in judges for line in one.end(until))]))


def _served(kubeconfig: Path) -> dict[str, str]:
    """Those kinds that the server has."""
    door = from_kubeconfig(kubeconfig)
    try:
        return {kind: path for kind, path in MAKERS.items() if door.get(path, limit=1).code != 404}
    finally:
        door.close()


@dataclass(slots=True)
class _Judge:
    """Of one life. ``half``: since when some of its pods have nodes, and too few."""

    life: Life
    lineage: Lineage
    window: float
    half: float | None = None
    _bound: set[str] = field(default_factory=set)
    _homes: set[tuple[str, ...]] = field(default_factory=set)
    _there: dict[str, bool] = field(default_factory=dict)  # pod uid -> whether it has a node and stays

    def look(self, moment: float, record: Record, replay: Replay) -> list[str]:
        pod, wrong = record.object, list[str]()
        leaving = record.gone or "deletionTimestamp" in pod["metadata"]
        if pod["spec"].get("nodeName") and record.uid not in self._bound:
            self._bound.add(record.uid)
            wrong += self._starts(record, replay)
        sent_away = leaving and self._there.get(record.uid) and moment < self.life.told
        if sent_away and (_cause(pod) or not self.lineage.was_adopted(record.uid)):
            cause = _cause(pod) or "it does not say why"
            wrong.append(f"{self.life}: pod {pod['metadata']['name']} was sent away: {cause}")
        self._there[record.uid] = not leaving and replay.is_bound(pod)
        count = sum(self._there.values())
        if 0 < count < self.life.whole and moment < self.life.told:
            self.half = moment if self.half is None else self.half
            return wrong
        wrong += self.end(moment)
        self.half = None
        return wrong

    def _starts(self, record: Record, replay: Replay) -> list[str]:
        """What is wrong with the node that a pod has just got."""
        wrong, name = list[str](), record.object["metadata"]["name"]
        orphaned = self.lineage.orphaned(record.uid, self.life)
        if self.lineage.was_adopted(record.uid):
            return []
        if self.life.never:
            wrong.append(f"{self.life}: pod {name} was bound, and the whole fits nowhere")
        if orphaned is not None and orphaned.version < record.version and record.at > orphaned.at + GRACE_SECONDS:
            late = record.at - orphaned.at
            wrong.append(f"{self.life}: pod {name} was bound {late:.1f} s after its {orphaned.kind} was deleted")
        labels = replay.nodes.get(record.object["spec"]["nodeName"], {"metadata": {}})["metadata"].get("labels", {})
        self._homes.add(tuple(labels.get(key, "") for key in self.life.path))
        if len(self._homes) > 1:
            wrong.append(f"{self.life}: over several domains: {sorted(self._homes)}")
        return wrong

    def end(self, moment: float) -> list[str]:
        """A complaint if it was half for longer than the window, up to this moment, or the end of its life."""
        lasted = 0.0 if self.half is None else min(moment, self.life.told) - self.half
        return [f"{self.life}: half of it bound for {lasted:.1f} s"] if lasted > self.window else []


def _cause(pod: Object) -> str:
    """Why a pod was evicted, as it says itself; empty where it does not."""
    conditions = pod.get("status", {}).get("conditions", [])
    said = [f"{one['reason']}: {one.get('message')}" for one in conditions if one["type"] == "DisruptionTarget"]
    return said[0] if said else ""
