"""What the cases of ``verify`` are made of: a cluster, short spellings for requests, and the verdict in one line.

The cluster of all cases, with 4 cpu on each node. Label values of racks repeat: r1 of b1 is not r1 of b2.

    b1( r1[n1 n2] r2[n3] )  b2( r1[n4] )  outside: x1 x2 (no rack)
"""

from typing import Any

from phalanx.model.nodes import (
    LabelSelector,
    Node,
    PodShape,
    Requirement,
    RunningPod,
    Taint,
)
from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.place.verify import verify

BLOCK, RACK, HOST = 1, 2, 3
PLACES = {
    "n1": ("b1", "r1"),
    "n2": ("b1", "r1"),
    "n3": ("b1", "r2"),
    "n4": ("b2", "r1"),
    "x1": ("b2", ""),
    "x2": ("b2", ""),
}

Where = dict[str, dict[str, int]]


def node(name: str, taints: tuple[Taint, ...] = (), **labels: str) -> Node:
    block, rack = PLACES[name]
    placed = {"block": block, HOSTNAME: name} | ({"rack": rack} if rack else {})
    return Node(name, placed | labels, Resources.of({"cpu": 4 * NANO}), taints)


def cluster(*changed: Node, running: tuple[RunningPod, ...] = ()) -> Snapshot:
    nodes = {name: node(name) for name in PLACES} | {other.name: other for other in changed}
    return Snapshot(tuple(nodes.values()), (Topology.of("t", ("block", "rack")),), running)


def shape(cpu: int = NANO, app: str = "a", **more: Any) -> PodShape:
    return PodShape(Resources.of({"cpu": cpu}), labels=(("app", app),), **more)


def pods(name: str = "p", count: int = 2, least: int | None = None, of: PodShape | None = None, **more: Any) -> PodSet:
    return PodSet(name, count, count if least is None else least, of or shape(), **more)


def root(*members: Group | PodSet, **more: Any) -> Request:
    return Request("Gang", "default", "test", Group("w", members, **more), topology="t")


def group(name: str, *members: Group | PodSet, **more: Any) -> Group:
    return Group(name, members, **more)


def running(name: str, at: str, app: str = "b", cpu: int = 0, namespace: str = "default", **more: Any) -> RunningPod:
    return RunningPod(name, namespace, at, Resources.of({"cpu": cpu}), {"app": app}, **more)


def judged(request: Request, where: Where, snapshot: Snapshot | None = None, **more: Any) -> str:
    """The broken rules in one line; empty when there are none."""
    placement = Placement({name: tuple(spots.items()) for name, spots in where.items()}, **more)
    return "; ".join(verify(snapshot or cluster(), request, placement))


def app(*names: str) -> LabelSelector:
    return LabelSelector(requirements=(Requirement("app", "In", names),))
