"""A sample of ``examples/`` as a real server takes it, and what became of its pods there.

What a server does not take is said another way, and nothing else is changed:

* every object goes into one namespace; nodes get their hostname label, containers an image;
* ``gangConfig`` of a JobSet, which no release has, becomes the annotation that says the same;
* a Workload of group ``scheduling``, which no server can serve, becomes the Gang that ``phalanx convert`` makes of it,
  and ``spec.workload`` in templates the labels that name that Gang;
* ``subgroups`` of KAI's design are ``subGroups`` in its releases;
* a queue that is named and not there is made;
* pods of a Gang, or of a kind whose controller is not here, are made as their templates describe them.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from phalanx.dialects import writing
from tests.kube.site import Object

EXAMPLES = Path(__file__).parents[2] / "examples"
SET = "sample/set"  # annotation of a pod: the pod set that it is of, where copies are not told apart
MAKERS = ("Job", "StatefulSet", "Deployment", "JobSet", "LeaderWorkerSet")
_COPY = ("jobset.sigs.k8s.io/job-index", "leaderworkerset.sigs.k8s.io/group-index", "phalanx.dev/replica")
_GATE = "phalanx.dev/topology"
_KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
_IMAGE = "registry.example/none:1"


class Sample:
    """``gated``: its pods are for the default scheduler and wait behind our gate, else they name our scheduler."""

    def __init__(self, folder: Path, gated: bool = False) -> None:
        self.folder, self.gated = folder, gated
        self.expected: list[Object] = json.loads((folder / "expected.json").read_text())["decisions"]
        self._given = _docs(folder / "workload.yaml")
        self._cluster = [_homeless(doc) for doc in _docs(folder / "cluster.yaml")]

    # -- what is created -----------------------------------------------------------------------------------------

    def created(self) -> list[Object]:
        """Nodes, and the pods that are there already: with what a kubelet says of them."""
        return [_node(doc) if doc["kind"] == "Node" else _pod(doc) for doc in self._of_kinds("Node", "Pod")]

    def surroundings(self) -> list[Object]:
        """Topologies, queues and the like."""
        given = [_homeless(doc) for doc in self._given if doc["kind"] == "PriorityClass"]
        return [doc for doc in self._cluster if doc["kind"] not in ("Node", "Pod")] + given + self._queues()

    def _queues(self) -> list[Object]:
        """Queues that a workload names and the sample leaves out: without a cluster nobody asks for quota."""
        labels = [doc["metadata"].get("labels", {}) for doc in self._given]
        named = {one[_KUEUE_QUEUE] for one in labels if _KUEUE_QUEUE in one}
        missing = sorted(named - {doc["metadata"]["name"] for doc in self._of_kinds("LocalQueue")})
        head = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "spec": {}}
        return [{**head, "metadata": {"name": name}} for name in missing]

    def _of_kinds(self, *kinds: str) -> Iterator[Object]:
        return (doc for doc in self._cluster if doc["kind"] in kinds)

    @property
    def node_names(self) -> list[str]:
        return [doc["metadata"]["name"] for doc in self._of_kinds("Node")]

    def workload(self) -> list[Object]:
        """What is to be placed."""
        docs = [_homeless(deepcopy(doc)) for doc in self._given]
        gangs = _converted(self.folder) if any(doc["apiVersion"].startswith("scheduling/") for doc in docs) else []
        gangs += [doc for doc in docs if doc["kind"] == "Gang"]
        kept = [doc for doc in docs if _is_kept(doc)]
        made = [] if any(doc["kind"] in MAKERS for doc in kept) else [pod for gang in gangs for pod in _pods(gang)]
        for doc in kept:
            _told_apart(doc)
            _spelled_as_released(doc)
        return gangs + [self._handed(doc, bool(gangs)) for doc in [*kept, *made]]

    def _handed(self, doc: Object, gathered: bool) -> Object:
        """An object whose pods are for us: they name us, or are held back, by themselves where a Gang gathers them."""
        held = doc["kind"] in ("Job", "JobSet") and not gathered
        for template in templates(doc):
            spec = template["spec"]
            reference = spec.pop("workload", None)
            if reference:
                labels = template.setdefault("metadata", {}).setdefault("labels", {})
                labels |= {"phalanx.dev/gang": reference["name"]}
                labels |= {"phalanx.dev/group": reference["podGroup"]} if "podGroup" in reference else {}
            _completed(spec)
            if not self.gated:
                spec["schedulerName"] = "phalanx"
            elif not held:
                spec["schedulingGates"] = [{"name": _GATE}]
        if self.gated and held:
            doc["spec"]["suspend"] = True
            labels = doc["metadata"].setdefault("labels", {})
            labels |= {} if _KUEUE_QUEUE in labels else {"phalanx.dev/queue": "default"}
        return doc

    @property
    def can_be_gated(self) -> bool:
        """Whether its pods can be held back: their owner can be suspended, or they are pods in their own right."""
        makers = [doc["kind"] for doc in self.workload() if doc["kind"] in MAKERS]
        return all(kind in ("Job", "JobSet") for kind in makers)

    @property
    def is_made_by_hand(self) -> bool:
        """Whether no controller makes its pods."""
        return not any(doc["kind"] in MAKERS for doc in self.workload())

    # -- what became of it ---------------------------------------------------------------------------------------

    def wanted(self) -> int:
        """How many pods have a node in the end."""
        return sum(sum(_totals(one).values()) for one in self.expected if one["status"] == "Placed")

    def told(self, decision: Object, pods: Iterable[Object], nodes: Iterable[Object]) -> Object:
        """What the bound pods say of the keys that the sample expects something of."""
        view = _View(self, list(pods), {one["metadata"]["name"]: one for one in nodes})
        own = view.of(decision)
        used = Counter(one["spec"]["nodeName"] for one in own)
        answers: dict[str, Callable[[], Any]] = {
            "status": lambda: "Placed" if own else "Waiting",
            "podSets": lambda: {name: view.counts(name, own) for name in decision["podSets"]},
            "pods": lambda: {name: sum(view.counts(name, own).values()) for name in decision["pods"]},
            "nodes": lambda: dict(used),
            "nodesUnused": lambda: [name for name in decision["nodesUnused"] if name not in used],
            "domains": lambda: {name: view.domain(name, own) for name in decision["domains"]},
            "levelReached": lambda: {name: view.level(name, own) for name in decision["levelReached"]},
            "ranks": lambda: {name: view.ranks(name, own) for name in decision["ranks"]},
        }
        return {key: answer() for key, answer in answers.items() if key in decision}

    @property
    def levels(self) -> list[Object]:
        """Of the topology that is used: the one that a workload names, else the first."""
        found = {doc["metadata"]["name"]: doc["spec"]["levels"] for doc in self._of_kinds("Topology")}
        named = [name for name in found if f'"{name}"' in json.dumps(self._given)]
        return list(found[named[0] if named else next(iter(found))])

    @property
    def parents(self) -> dict[str, str]:
        """The group that a group stands in."""
        specs = [doc.get("spec", {}) for doc in self._given]
        groups = [one for spec in specs for key in ("podGroups", "subgroups") for one in spec.get(key, ())]
        return {one["name"]: one["parent"] for one in groups if "parent" in one}


class _View:
    """Bound pods by the names that decisions give their pod sets."""

    def __init__(self, sample: Sample, pods: list[Object], nodes: dict[str, Object]) -> None:
        self._sample, self._nodes = sample, nodes
        parts = ("podSets", "pods", "domains", "levelReached")
        self._known = {name for one in sample.expected for part in parts for name in one.get(part, ())}
        self._known |= {one["unit"] for one in sample.expected if one.get("unit")}
        self._pods = [pod for pod in pods if pod["spec"].get("nodeName") and SET in pod["metadata"]["annotations"]]

    def of(self, decision: Object) -> list[Object]:
        """Its pods: all of its unit, or of its object."""
        unit, name = decision.get("unit"), decision["name"]
        own = [pod for pod in self._pods if pod["metadata"]["labels"].get("phalanx.dev/gang", name) == name]
        return own if not unit else [pod for pod in own if self._is_in(pod, unit)]

    def _is_in(self, pod: Object, group: str) -> bool:
        here: str | None = self.name(pod)
        while here is not None:
            if here == group or here.startswith((f"{group}/", f"{group}[")):
                return True
            here = self._sample.parents.get(here)
        return False

    def name(self, pod: Object) -> str:
        """The pod set of a pod: copies are told apart where the sample does."""
        said = pod["metadata"]["annotations"][SET]
        group, _, rest = said.partition("/")
        labels = pod["metadata"].get("labels", {})
        copy = next((labels[key] for key in _COPY if key in labels), "")
        tail = f"/{rest}" if rest else ""
        names = (f"{group}[{copy}]{tail}", f"{group}{tail}", f"{group}[{copy}]", group)
        return next((name for name in names if name in self._known), said)

    def counts(self, name: str, own: list[Object]) -> dict[str, int]:
        return dict(Counter(pod["spec"]["nodeName"] for pod in own if self._is_in(pod, name)))

    def domain(self, name: str, own: list[Object]) -> list[str]:
        """The deepest domain that holds the pods of a group, by the labels of their nodes."""
        paths = [self._path(pod["spec"]["nodeName"]) for pod in own if self._is_in(pod, name)]
        found: list[str] = []
        for values in zip(*paths, strict=True):
            if len(set(values)) > 1:
                break
            found.append(values[0])
        return found

    def _path(self, node: str) -> list[str]:
        labels = self._nodes[node]["metadata"]["labels"]
        return [labels[level["nodeLabel"]] for level in self._sample.levels]

    def level(self, name: str, own: list[Object]) -> str:
        depth = len(self.domain(name, own))
        level = self._sample.levels[depth - 1]
        host = level["nodeLabel"] == "kubernetes.io/hostname"
        return str(level.get("name") or ("host" if host else level["nodeLabel"].rpartition("/")[2])) if depth else ""

    def ranks(self, name: str, own: list[Object]) -> list[str]:
        """The node of rank i, as the pods were told it."""
        ranked = {
            int(pod["metadata"]["annotations"]["phalanx.dev/rank"]): pod["spec"]["nodeName"]
            for pod in own
            if self._is_in(pod, name)
        }
        return [ranked[rank] for rank in sorted(ranked)]


def _totals(decision: Object) -> dict[str, int]:
    if "pods" in decision:
        return dict(decision["pods"])
    if "podSets" in decision:
        return {name: sum(counts.values()) for name, counts in decision["podSets"].items()}
    return dict(decision["nodes"])


# -- objects as a server takes them ----------------------------------------------------------------------------------


def _docs(path: Path) -> list[Object]:
    return [doc for doc in yaml.safe_load_all(path.read_text()) if doc]


def _converted(folder: Path) -> list[Object]:
    docs = _docs(folder / "cluster.yaml") + _docs(folder / "workload.yaml")
    gangs = [_homeless(doc) for doc in writing.convert(docs, "gang").documents]
    for template in (one for gang in gangs for one in templates(gang)):
        template["spec"].pop("workload", None)
    return gangs


def _is_kept(doc: Object) -> bool:
    """Whether an object is created as it is: kinds without a server or a controller here are not."""
    unserved = doc["apiVersion"].startswith(("scheduling/", "trainer.kubeflow.org/"))
    return not unserved and doc["kind"] not in ("Gang", "PriorityClass")


def _homeless(doc: Object) -> Object:
    metadata = {key: value for key, value in doc["metadata"].items() if key != "namespace"}
    return {**doc, "metadata": metadata}


def _node(doc: Object) -> Object:
    name, amounts = doc["metadata"]["name"], doc["status"]["allocatable"]
    labels = {"kubernetes.io/hostname": name, **doc["metadata"].get("labels", {})}
    ready = {"capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    kwok = {"kwok.x-k8s.io/node": "fake"}
    return {
        **doc,
        "metadata": {**doc["metadata"], "labels": labels, "annotations": kwok},
        "status": {**doc["status"], **ready},
    }


def _pod(doc: Object) -> Object:
    _completed(doc["spec"])
    return {key: value for key, value in doc.items() if key != "status"}


def _completed(spec: Object) -> None:
    """An image, and limits where a server wants them: an amount that cannot be overcommitted has both."""
    for container in [*spec["containers"], *spec.get("initContainers", ())]:
        container.setdefault("image", _IMAGE)
        resources = container.get("resources", {})
        strict = {key: value for key, value in resources.get("requests", {}).items() if "/" in key}
        if strict:
            resources["limits"] = {**strict, **resources.get("limits", {})}


def templates(doc: Object) -> list[Object]:
    """The pod templates of an object, or the pod itself."""
    if doc["kind"] == "Pod":
        return [doc]
    found: list[Object] = []
    line: list[Any] = [doc.get("spec", {})]
    while line:
        one = line.pop()
        if isinstance(one, dict) and "containers" in (one.get("spec") or {}):
            found.append(one)
        elif isinstance(one, dict | list):
            line.extend(one.values() if isinstance(one, dict) else one)
    return found


def _told_apart(doc: Object) -> None:
    """The pod set of each template as an annotation of its pods, and gangConfig as the annotation it became."""
    if doc["kind"] == "JobSet":
        _moded(doc["spec"], doc)
        for job in doc["spec"]["replicatedJobs"]:
            _moded(job, job["template"])
            template = job["template"]["spec"]["template"]
            reference = template["spec"].get("workload", {})
            group = f"{reference.get('podGroup', 'gg')}/" if reference else ""
            _annotate(template, SET, f"{group}{job['name']}")
        return
    if doc["kind"] == "Pod":
        _annotate(doc, SET, doc["metadata"].get("labels", {}).get("kai.scheduler/subgroup-name", "main"))
        return
    for template in templates(doc):
        reference = template["spec"].get("workload")
        role = template.get("metadata", {}).get("labels", {}).get("role", "worker")
        group = "gg" if reference else "main"
        _annotate(template, SET, f"{group}/{role}" if doc["kind"] == "LeaderWorkerSet" else group)


def _spelled_as_released(doc: Object) -> None:
    if doc["apiVersion"].startswith("scheduling.run.ai/") and "subgroups" in doc["spec"]:
        doc["spec"]["subGroups"] = doc["spec"].pop("subgroups")


def _moded(holder: Object, target: Object) -> None:
    config = holder.pop("gangConfig", None)
    if config:
        _annotate(target, "phalanx.dev/gang-mode", config["gangMode"])


def _annotate(target: Object, key: str, value: str) -> None:
    target.setdefault("metadata", {}).setdefault("annotations", {})[key] = value


def _pods(gang: Object) -> Iterator[Object]:
    for group in gang["spec"]["podGroups"]:
        classes = group.get("podClasses", [group] if "template" in group else [])
        for copy in range(group.get("replicas", 1)):
            for one in classes:
                name = group["name"] if one is group else f"{group['name']}/{one['name']}"
                for number in range(one.get("count", one.get("minCount", 1))):
                    yield _made(gang, group, one["template"], name, f"{copy}-{number}", copy)


def _made(gang: Object, group: Object, template: Object, name: str, number: str, copy: int) -> Object:
    called = f"{gang['metadata']['name']}-{name.replace('/', '-')}-{number}"
    labels = {"phalanx.dev/gang": gang["metadata"]["name"], "phalanx.dev/group": group["name"]}
    labels |= {"phalanx.dev/replica": str(copy)} if "replicas" in group else {}
    own = template.get("metadata", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": called,
            "labels": {**own.get("labels", {}), **labels},
            "annotations": {**own.get("annotations", {}), SET: name},
        },
        "spec": deepcopy(template["spec"]),
    }
