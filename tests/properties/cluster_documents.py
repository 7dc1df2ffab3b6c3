"""Small random clusters as documents: nodes under up to three levels, some outside, tainted or partly taken."""

from dataclasses import dataclass
from random import Random
from typing import Any

from phalanx.model.topology import HOSTNAME

Document = dict[str, Any]

GPU = "nvidia.com/gpu"
LEVELS = ("zone", "block", "rack")
POWER, DISK = "example.com/power", "example.com/disk"  # labels that are no level
RUNNING = ("a0", "a1", "db")


@dataclass(frozen=True)
class Levels:
    """Names and labels of the levels above the node and, last, of the node. ``named``: there is a Topology."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    named: bool


def cluster(chance: Random, nodes: tuple[int, int]) -> tuple[list[Document], Levels]:
    """A Topology (mostly), nodes and running pods, and what the levels are called."""
    above = LEVELS[len(LEVELS) - chance.choice((0, 1, 2, 2, 2, 3)) :]
    named = bool(above) or chance.random() < 0.5
    labels = tuple(f"example.com/{name}" for name in above)
    levels = Levels((*above, "host"), (*labels, HOSTNAME), named)
    places = _places(chance, len(above), chance.randint(*nodes))
    names = [f"n{i:02}" for i in range(len(places))]
    chance.shuffle(names)
    found = [
        _node(chance, name, dict(zip(labels, place, strict=True))) for name, place in zip(names, places, strict=True)
    ]
    if named:
        found.insert(0, _topology(levels))
    for i, name in enumerate(names):
        if chance.random() < 0.45:
            found.append(_pod(chance, i, name, levels))
    return found, levels


def _places(chance: Random, depth: int, nodes: int) -> list[tuple[str, ...]]:
    """The domains of each node: every level splits in up to three; in half of the clusters labels repeat."""
    repeat = chance.random() < 0.5
    places: list[tuple[str, ...]] = []
    while len(places) < nodes:
        place: tuple[str, ...] = ()
        for level in range(depth):
            number = str(chance.randint(1, 2 if level < 2 else 3))
            place = (*place, f"{LEVELS[level][0]}{number}" if repeat else "-".join((*place[-1:], f"d{number}")))
        places.append(place)
    return places


def _topology(levels: Levels) -> Document:
    listed = [{"nodeLabel": label, "name": name} for label, name in zip(levels.labels, levels.names, strict=True)]
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology",
        "metadata": {"name": "main"}, "spec": {"levels": listed},
    }  # fmt: skip


def _node(chance: Random, name: str, place: dict[str, str]) -> Document:
    labels = {
        **place,
        HOSTNAME: name,
        POWER: chance.choice(("p1", "p2", "p3")),
        DISK: chance.choice(("ssd", "ssd", "hdd")),
    }
    if place and chance.random() < 0.06:
        del labels[chance.choice(sorted(place))]
    if chance.random() < 0.05:
        del labels[POWER]
    room = {
        "cpu": str(chance.choice((4, 8, 12, 16))), GPU: str(chance.choice((1, 2, 4, 8, 8))),
        "memory": "64Gi", "pods": str(chance.choice((3, 6, 20, 20, 20))),
    }  # fmt: skip
    taints = [{"key": "team", "value": "x", "effect": chance.choice(("NoSchedule", "PreferNoSchedule"))}]
    spec = {"taints": taints} if chance.random() < 0.12 else {}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": spec, "status": {"allocatable": room},
    }  # fmt: skip


def _pod(chance: Random, number: int, node: str, levels: Levels) -> Document:
    requests = {"cpu": chance.choice(("500m", "1", "2", "4")), GPU: chance.choice(("0", "0", "1", "2"))}
    container: Document = {"name": "main", "resources": {"requests": requests, "limits": {GPU: requests[GPU]}}}
    if chance.random() < 0.1:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    spec: Document = {"nodeName": node, "containers": [container]}
    if chance.random() < 0.1:
        key = chance.choice((POWER, *levels.labels))
        term = {"topologyKey": key, "labelSelector": selects(chance, ("a0", "a1", "a2"))}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    metadata = {
        "name": f"run-{number}", "namespace": chance.choice(("default", "default", "other")),
        "labels": {"app": chance.choice(RUNNING)},
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def selects(chance: Random, apps: tuple[str, ...]) -> Document:
    """A selector of pods: one app, two of them, or all pods."""
    form = chance.random()
    if form < 0.6:
        return {"matchLabels": {"app": chance.choice(apps)}}
    if form < 0.9:
        return {"matchExpressions": [{"key": "app", "operator": "In", "values": chance.sample(apps, 2)}]}
    return {}
