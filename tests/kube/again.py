"""Workloads that are deleted and made again under their names, without a pause, side by side.

Each is deleted at a moment of its own: at once, when its pods exist, while they are bound, when all are bound or run.
One in a few is too huge for every rack; of those nothing may ever be bound. What is made last is left alone, and must
start. Who is left alone until it is bound, and is not, is a lost start.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.contract.door import STRATEGIC
from tests.kube.clerk import Clerk
from tests.kube.lives import Life, Witness
from tests.kube.manifests import Object
from tests.kube.site import PATIENCE, Site
from tests.kube.workloads import KINDS, NAMING, NODE_CPU, ONE_BY_ONE, PODS, RACK, SLOWLY, Manifests, Order

MOMENTS = ("at once", "made", "binding", "bound", "running")
LINGER_SECONDS = 3.0  # so long a pod that ends slowly takes at most
NUDGE_SECONDS = 2.0
FORGOTTEN_SECONDS = 20.0
FORGOTTEN_MOST = 3  # so often each may be forgotten by the Job controller
_BACKING_OFF = (("StatefulSet", "apps/v1", "statefulsets"), ("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets"))


@dataclass(slots=True)
class Again:
    """One workload that is made ``times`` times. ``kind``: of ``KINDS``."""

    stage: "Stage"
    kind: str
    several: bool
    times: int
    life: Life | None = None
    _missing: list[Object] = field(default_factory=list)  # what is still to be created
    _uids: dict[str, str] = field(default_factory=dict)  # of what was created, by name
    _made: Manifests | None = None
    _moment: str = ""
    _since: float = 0.0
    _nudged: float = 0.0
    _forgotten: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind}-{'several' if self.several else 'one'}"

    @property
    def is_over(self) -> bool:
        """Whether its last life has begun, and all of that runs."""
        return self.times == 0 and self.life is not None and not self._missing and self._has_come("running")

    def act(self) -> None:
        if self.life is None:
            self.begin()
        if self._missing:
            self._create()
        if self.times and self._may_go():
            self.end()
            self.begin()
        if self.kind in NAMING:
            self._nudge()
        if self._forgotten < FORGOTTEN_MOST and self._is_forgotten():
            self._forgotten += 1
            self.times += 1
            self.end()
            self.begin()
        late = time.monotonic() > self._since + PATIENCE
        assert not late or self.is_over, f"{self.life}: not {self._moment or 'running'} in time\n{self.stage.story()}"

    def begin(self) -> None:
        """Another life, of which nothing is there yet."""
        chance = self.stage.chance
        self.times -= 1
        huge = self.times > 0 and self.kind not in ONE_BY_ONE and chance.random() < 0.25
        order = Order(self.stage.site.namespace, self.name, self.several, huge, self.stage.slow)
        self._made = KINDS[self.kind](order)
        self._moment = "" if not self.times else chance.choice(MOMENTS[:2] if huge else MOMENTS)
        self._since = time.monotonic()
        path = tuple(f"{self.stage.site.namespace}/{level}" for level in ("block", "rack"))
        self.life = self.stage.witness.life(self.name, 1 if self.kind in ONE_BY_ONE else PODS, path, huge)
        pods = chance.sample(self._made.pods, len(self._made.pods))
        first = self.kind == "gang" and chance.random() < 0.5
        self._missing = [*pods, *self._made.makers] if first else [*self._made.makers, *pods]

    def _create(self) -> None:
        """Whatever can be created now: a name is free again when who had it has ended.

        A PodGroup does not end before the pods that name it, old or new; pods of a Gang may come before it.
        """
        assert self.life is not None
        left = list[Object]()
        for doc in self._missing:
            for reference in doc["metadata"].get("ownerReferences", ()):
                reference |= {"uid": self._uids[reference["name"]], "controller": True}
            waits = self.kind != "gang" and any(one["kind"] != "Pod" for one in left)
            done = None if waits else self.stage.clerk.try_to_create(doc)
            if done is None:
                left.append(doc)
            else:
                self.life.uids.add(done["metadata"]["uid"])
                self._uids[doc["metadata"]["name"]] = done["metadata"]["uid"]
        self._missing = left

    def _may_go(self) -> bool:
        return bool(self._moment == "at once" or (not self._missing and self._has_come(self._moment)))

    def _has_come(self, moment: str) -> bool:
        assert self.life is not None
        pods = self.stage.witness.lineage.pods_of(self.life)
        homes = sum(1 for one in pods if one["spec"].get("nodeName"))
        running = sum(1 for one in pods if one.get("status", {}).get("phase") == "Running")
        come = {"made": len(pods) == PODS, "binding": homes > 0, "bound": homes == PODS}
        return come.get(moment, running == PODS)

    def _nudge(self) -> None:
        """A controller whose names were taken asks again after 5 ms, 10 ms and so on, soon after minutes: a StatefulSet
        for its pods, a JobSet for its Jobs."""
        if time.monotonic() < self._nudged + NUDGE_SECONDS or self._has_come("made"):
            return
        self._nudged = time.monotonic()
        change = {"metadata": {"annotations": {"tests.phalanx.dev/nudged": str(self._nudged)}}}
        for kind, version, path in _BACKING_OFF:
            for one in self.stage.site.read(f"apis/{version}/namespaces/{self.stage.site.namespace}/{path}"):
                if one["metadata"]["name"].startswith(self.name):
                    self.stage.clerk.patch({"apiVersion": version, "kind": kind, **one}, change)

    def _is_forgotten(self) -> bool:
        """Whether the Job controller makes no pods for a Job that nobody suspends. Where a Job is made again before it
        has seen the first one go, it may wait for pods of that one, and for five minutes."""
        if time.monotonic() < self._since + FORGOTTEN_SECONDS or self._missing or self._has_come("made"):
            return False
        jobs = self.stage.site.read(f"apis/batch/v1/namespaces/{self.stage.site.namespace}/jobs")
        mine = [one for one in jobs if one["metadata"]["name"].startswith(self.name)]
        return any(not one["spec"].get("suspend") and not one.get("status", {}).get("active") for one in mine)

    def end(self) -> None:
        """Deletes it from the top, or from the pods; a controller's pods are the collector's business."""
        if self.life is None or self._made is None:
            return
        self.life.told = time.monotonic()
        policy = self.stage.chance.choice(("Background", "Background", "Foreground"))
        docs = [*self._made.makers, *self._made.pods]
        for doc in docs if self.stage.chance.random() < 0.5 else reversed(docs):
            if doc not in self._missing:
                self.stage.clerk.delete(doc, policy)


class Stage:
    """A site with room for ``count`` of them and little more, all that happens there, and chance."""

    def __init__(self, site: Site, count: int, seed: int, slow: bool) -> None:
        self.site, self.slow = site, slow
        self.chance = random.Random(seed)
        self.clerk = Clerk(site.bed.admin_kubeconfig, site.namespace)
        self.witness = Witness(site.bed.admin_kubeconfig)
        self.mine: list[Again] = []
        self._ends: dict[str, float] = {}  # when a pod that ends slowly may go
        site.topology()
        site.nodes(" ".join(RACK.format(i) for i in range(count)), cpu=NODE_CPU)

    def add(self, kind: str, several: bool, times: int) -> None:
        self.mine.append(Again(self, kind, several, times))

    def run(self) -> None:
        """Until the last life of each has begun and all of it runs."""
        while not all(one.is_over for one in self.mine):
            for one in self.mine:
                if not one.is_over:
                    one.act()
            self.let_go()
            for process in self.site.running:
                assert not process.has_died(), self.story()
            time.sleep(0.02)  # between two looks; nothing hangs on its length

    def let_go(self, at_once: bool = False) -> None:
        """Pods that have been ending for long enough are gone, as whatever their kubelet says of them."""
        now = time.monotonic()
        for uid, pod in list(self.witness.lineage.pods.items()):
            metadata = pod["metadata"]
            if "deletionTimestamp" not in metadata or SLOWLY not in metadata.get("finalizers", ()):
                continue
            if metadata["namespace"] != self.site.namespace:
                continue
            end = self._ends.setdefault(uid, now + self.chance.uniform(0, LINGER_SECONDS))
            if at_once or now > end:
                self._let_go(pod)

    def _let_go(self, pod: Object) -> None:
        """This pod, and never one that has its name by now: what was seen of it may be late."""
        doc = {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]}
        that = {"uid": pod["metadata"]["uid"]}
        if pod["spec"].get("nodeName") and self.chance.random() < 0.5:
            phase = self.chance.choice(("Succeeded", "Failed"))
            self.clerk.patch(doc, {"metadata": that, "status": {"phase": phase}}, part="status")
        self.clerk.patch(doc, {"metadata": {**that, "$deleteFromPrimitiveList/finalizers": [SLOWLY]}}, STRATEGIC)

    def story(self) -> str:
        return f"{[f'{one.name}: {one.times} to come, {one.life}' for one in self.mine]}\n{self.site.story()}"

    def clear(self) -> None:
        """Everything is deleted, and all pods are gone."""
        for one in self.mine:
            one.end()

        def is_empty() -> bool:
            self.let_go(at_once=True)
            return not self.site.pods()

        self.site.until(is_empty, "all pods are gone")


@contextmanager
def staged(site: Site, **more: Any) -> Iterator[Stage]:
    stage = Stage(site, **more)
    with stage.witness:
        try:
            yield stage
        finally:
            stage.clear()
            stage.clerk.close()
