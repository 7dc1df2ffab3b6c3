"""A small cluster in memory, and what tests do to it."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

from phalanx.minicluster import Cluster
from phalanx.minicluster.pace import Pace
from phalanx.model.objects import ObjectKey
from tests.testing import live_objects as objects

Doc = dict[str, Any]
ANNOTATED = "minicluster.phalanx.dev/"


def bare(doc: Doc) -> Doc:
    """As a user writes it: without what a server fills in."""
    given = ("uid", "ownerReferences")
    return {**doc, "metadata": {key: value for key, value in doc["metadata"].items() if key not in given}}


def template(gpus: int = 1, **annotations: str) -> Doc:
    """``annotations``: of this room, with lines in place of hyphens."""
    said = {ANNOTATED + name.replace("_", "-"): value for name, value in annotations.items()}
    containers = [{"name": "main", "resources": {"requests": {objects.GPU: str(gpus)}}}]
    spec = {"schedulerName": "phalanx", "containers": containers}
    return {"metadata": {"labels": {"app": "x"}, "annotations": said}, "spec": spec}


def made(api: str, kind: str, name: str, spec: Doc, **metadata: Any) -> Doc:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": spec,
    }


def job(name: str = "train", pods: int = 2, gpus: int = 1, pod: Doc | None = None, **spec: Any) -> Doc:
    """An Indexed Job whose pods do not restart by themselves."""
    own = pod or template(gpus)
    own = {**own, "spec": {**own["spec"], "restartPolicy": "Never"}}
    said = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": own, **spec}
    return made("batch/v1", "Job", name, said)


class Site:
    """``nodes``: how many, each with 8 GPUs. ``bind`` gives one to whoever waits, one node after the other."""

    def __init__(self, pace: Pace = Pace(), nodes: int = 4, seed: int = 1) -> None:
        self.cluster, self.now = Cluster(seed, pace), 0.0
        self.store = self.cluster.store
        self.nodes = [f"n{number}" for number in range(nodes)]
        self.turns = cycle(self.nodes)
        for number, name in enumerate(self.nodes):
            self.add(objects.node(name, "b0", f"r{number // 2}"))

    def add(self, *docs: Doc) -> Doc:
        """The last of them as it is stored."""
        stored = [self.store.create(bare(doc), self.now) for doc in docs]
        self.run(0)
        return stored[-1]

    def run(self, seconds: float) -> None:
        self.now += seconds
        self.cluster.tick(self.now)

    def get(self, group: str, kind: str, name: str) -> Doc | None:
        return self.store.get(ObjectKey(group, kind, "default", name))

    def there(self, group: str, kind: str, name: str) -> Doc:
        found = self.get(group, kind, name)
        assert found is not None, f"there is no {kind} {name}"
        return found

    def pods(self, **labels: str) -> list[Doc]:
        listed = self.store.of_kind("", "Pod")
        return [pod for pod in listed if labels.items() <= (pod["metadata"].get("labels") or {}).items()]

    def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods()]

    def bind(self, seconds: float = 0.0) -> list[Doc]:
        """Gives a node to all pods that wait for one; afterwards so much time goes by."""
        waiting = [pod for pod in self.pods() if not pod["spec"].get("nodeName") and not is_leaving(pod)]
        for pod in waiting:
            meta = pod["metadata"]
            self.store.bind("default", meta["name"], meta["uid"], next(self.turns), self.now)
        self.run(seconds)
        return waiting

    def change(self, doc: Doc, write: Callable[[Doc], Doc]) -> Doc:
        meta = doc["metadata"]
        group = doc["apiVersion"].rpartition("/")[0]
        key = ObjectKey(group, doc["kind"], meta.get("namespace", "default"), meta["name"])
        found = self.store.change(key, write, self.now)
        self.run(0)
        return found

    def set(self, doc: Doc, **spec: Any) -> Doc:
        return self.change(doc, lambda found: {**found, "spec": {**found["spec"], **spec}})

    def annotate(self, doc: Doc, **said: str) -> Doc:
        more = {ANNOTATED + name.replace("_", "-"): value for name, value in said.items()}

        def write(found: Doc) -> Doc:
            meta = found["metadata"]
            return {**found, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **more}}}

        return self.change(doc, write)

    def delete(self, doc: Doc, propagation: str = "Background", grace: float | None = None) -> None:
        meta = doc["metadata"]
        group = doc["apiVersion"].rpartition("/")[0]
        key = ObjectKey(group, doc["kind"], meta.get("namespace", "default"), meta["name"])
        self.store.delete(key, self.now, propagation=propagation, grace=grace)
        self.run(0)


def is_leaving(doc: Doc) -> bool:
    return "deletionTimestamp" in doc["metadata"]


def phases(pods: list[Doc]) -> list[str]:
    return [pod["status"]["phase"] for pod in pods]


def is_true(doc: Doc, condition: str) -> bool:
    found = doc.get("status", {}).get("conditions", [])
    return any(each["type"] == condition and each["status"] == "True" for each in found)


def nodes_of(pods: list[Doc]) -> list[str]:
    return [pod["spec"].get("nodeName", "") for pod in pods]
