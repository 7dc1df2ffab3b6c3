"""The cluster itself: nodes with their levels, a Topology, queues, priorities."""

from random import Random
from typing import Any

from phalanx.sim.objects.drawn import Doc
from phalanx.sim.objects.templates import GPU

LEVELS = {"block": "topology/block", "rack": "topology/rack", "hostname": "kubernetes.io/hostname"}
TOPOLOGY = "topo"


def topology() -> Doc:
    levels = [{"nodeLabel": label} for label in LEVELS.values()]
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology", "metadata": {"name": TOPOLOGY},
        "spec": {"levels": levels},
    }  # fmt: skip


def node(name: str, block: str, rack: str, gpus: int) -> Doc:
    labels = {LEVELS["block"]: block, LEVELS["rack"]: rack, LEVELS["hostname"]: name}
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus)}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {},
        "status": {
            "capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}],
        },
    }  # fmt: skip


def drawn_nodes(chance: Random) -> list[Doc]:
    """Four to sixteen nodes: one or two blocks of two racks or more."""
    blocks, racks, hosts = chance.choice((1, 1, 2)), chance.choice((2, 2, 3)), chance.choice((2, 2, 3))
    gpus = chance.choice((4, 8))
    found = []
    for block in range(blocks):
        for rack in range(racks):
            found += [node(f"n{block}{rack}{host}", f"b{block}", f"r{block}{rack}", gpus) for host in range(hosts)]
    return found[:16]


def queue(name: str, gpus: int | None, **spec: Any) -> Doc:
    quotas = [] if gpus is None else [{"resource": GPU, "nominal": str(gpus)}]
    own: Doc = {"namespaceSelector": {}, **spec}
    own |= {"quotas": quotas} if quotas else {}
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": own}


def priority_class(name: str, value: int) -> Doc:
    return {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
    }  # fmt: skip


def namespace() -> Doc:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {}}}
