"""Clusters and requests of the benchmark, from seeds."""

import numpy as np

from phalanx.model.nodes import Node, PodShape, RunningPod
from phalanx.model.request import Group, PodSet, Request, Slice
from phalanx.model.resources import NANO, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology

GPU = "nvidia.com/gpu"
GIB = 2**30 * NANO
FANS = {  # domains per level, widest first; the last number is nodes per rack
    (640, 3): (1, 10, 64),
    (640, 4): (1, 4, 10, 16),
    (847, 4): (1, 7, 11, 11),
    (5_120, 4): (4, 5, 16, 16),
    (20_480, 4): (4, 20, 16, 16),
    (102_400, 3): (400, 16, 16),
    (102_400, 4): (5, 80, 16, 16),
    (102_400, 5): (5, 20, 16, 4, 16),
}
NODE = Resources.of({"cpu": 96 * NANO, "memory": 1024 * GIB, GPU: 8 * NANO, "pods": 110 * NANO})


def shape(gpus: int, cpu: int, memory_gib: int) -> PodShape:
    return PodShape(Resources.of({GPU: gpus * NANO, "cpu": cpu * NANO, "memory": memory_gib * GIB, "pods": NANO}))


ONE, TWO, WHOLE, LIGHT = shape(1, 11, 120), shape(2, 20, 200), shape(8, 88, 960), shape(0, 4, 16)


def topology(levels: int) -> Topology:
    names = ["zone", "block", "subblock", "rack"][4 - (levels - 1) :] if levels > 3 else ["block", "rack"]
    if levels == 4:
        names = ["zone", "block", "rack"]
    return Topology.of("bench", [f"topology/{name}" for name in names])


def cluster(nodes: int, levels: int, seed: int, full: float = 0.6) -> Snapshot:
    """Racks full, empty or ragged: a random share of every rack's GPUs is taken by running pods."""
    fan = FANS[nodes, levels]
    rng = np.random.default_rng(seed)
    tree = topology(levels)
    numbers = np.arange(nodes)
    columns = []
    size = nodes
    for width in fan[:-1]:
        size //= width
        columns.append(numbers // size)
    racks = int(columns[-1].max()) + 1
    share = rng.beta(0.7, 0.7 * (1 - full) / full, size=racks)[columns[-1]]
    used = rng.binomial(8, share)
    made, pods = [], []
    for i in range(nodes):
        name = f"n{i:06d}"
        labels = {level.label: f"d{column[i]:05d}" for level, column in zip(tree.levels, columns, strict=False)}
        made.append(Node(name, {**labels, HOSTNAME: name}, NODE))
        if used[i]:
            held = {GPU: NANO, "cpu": 11 * NANO, "memory": 120 * GIB, "pods": NANO}
            amounts = {key: amount * int(used[i]) for key, amount in held.items()}
            pods.append(RunningPod(f"p{i}", "default", name, Resources.of(amounts)))
    return Snapshot(tuple(made), (tree,), tuple(pods))


def request(kind: str, tree: Topology, name: str) -> Request:
    """One of the benchmark's workloads; levels are the narrowest ones of the tree."""
    rack, block = tree.host - 1, tree.host - 2
    root = {
        "a1": lambda: _single(32, ONE, required=rack),
        "a2": lambda: _single(300, ONE, preferred=rack),
        "a3": lambda: _single(64, ONE, required=block),
        "b1": lambda: _single(128, ONE, required=block, slices=(Slice(rack, 16),)),
        "b2": lambda: _single(128, ONE, required=block, slices=(Slice(rack, 16), Slice(tree.host, 4))),
        "c1": lambda: _nested(rack, block),
        "c2": lambda: _leaders(rack, block),
        "d": lambda: _mixed(block),
        "small": lambda: _single(8, ONE, required=rack),
        "loose": lambda: _single(24, ONE, preferred=rack),
        "sliced": lambda: _single(32, ONE, required=block, slices=(Slice(rack, 8),)),
    }[kind]()
    return Request("Gang", "bench", name, root, topology=tree.name)


def _single(
    count: int, pod: PodShape, required: int | None = None, preferred: int | None = None, slices: tuple[Slice, ...] = ()
) -> Group:
    inner = Group("main", (PodSet("main", count, count, pod, slices),), required=required, preferred=preferred)
    return Group("job", (inner,))


def _leaf(name: str, count: int, pod: PodShape, required: int | None = None) -> Group:
    return Group(name, (PodSet(name, count, count, pod),), required=required)


def _nested(rack: int, block: int) -> Group:
    """Seed 004's serving gang: an API server beside prefill and decode, each in a rack, both in a block."""
    workers = Group("workers", (_leaf("prefill", 6, TWO, rack), _leaf("decode", 10, ONE, rack)), required=block)
    return Group("llm", (_leaf("api", 1, LIGHT), workers), required=max(block - 1, 0) or None)


def _leaders(rack: int, block: int) -> Group:
    replicas = tuple(
        Group(f"r{i}", (_leaf(f"leader{i}", 1, LIGHT), _leaf(f"worker{i}", 8, ONE)), required=rack) for i in range(4)
    )
    return Group("lws", replicas, required=block)


def _mixed(block: int) -> Group:
    return Group("mix", (_leaf("whole", 16, WHOLE), _leaf("two", 8, TWO), _leaf("light", 8, LIGHT)), required=block)
