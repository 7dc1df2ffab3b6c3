"""Small random clusters: at most 12 nodes under blocks and racks, ragged, in no particular order."""

from dataclasses import dataclass, field
from random import Random

from phalanx.model.nodes import Node, RunningPod, Taint
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology

BLOCK, RACK, HOST = 1, 2, 3
BLOCK_LABEL, RACK_LABEL = "example.com/block", "example.com/rack"
POWER, DISK, GENERATION = "example.com/power", "example.com/disk", "example.com/generation"  # labels that are no level
CPU, MEMORY, GPU = "cpu", "memory", "example.com/gpu"

GIB, MEGA = 2**30 * NANO, 10**6 * NANO
TOPOLOGY = Topology.of("main", (BLOCK_LABEL, RACK_LABEL))

WHOLE_NODE = {CPU: 16 * NANO, MEMORY: 16 * GIB, GPU: 8 * NANO, PODS: 20 * NANO}


@dataclass
class Spot:
    """A node under construction."""

    name: str
    labels: dict[str, str]
    allocatable: dict[str, int]
    taints: tuple[Taint, ...] = ()
    keys: tuple[str, ...] = (BLOCK_LABEL, RACK_LABEL)  # the levels above the node that the request knows

    @property
    def path(self) -> tuple[str, ...] | None:
        if any(key not in self.labels for key in self.keys):
            return None
        return (*(self.labels[key] for key in self.keys), self.name)


@dataclass
class World:
    spots: list[Spot]
    running: list[RunningPod] = field(default_factory=list)
    topology: str | None = TOPOLOGY.name

    @property
    def host(self) -> int:
        """The number of the node's level."""
        return 1 if self.topology is None else HOST

    def forget_topology(self) -> None:
        """From now on the request knows no levels but the cluster and the node."""
        self.topology = None
        for spot in self.spots:
            spot.keys = ()

    def snapshot(self) -> Snapshot:
        nodes = tuple(Node(s.name, dict(s.labels), Resources.of(s.allocatable), s.taints) for s in self.spots)
        return Snapshot(nodes, (TOPOLOGY,), tuple(self.running))

    def free(self) -> dict[str, dict[str, int]]:
        left = {spot.name: dict(spot.allocatable) for spot in self.spots}
        for pod in self.running:
            for resource, amount in pod.requests:
                left[pod.node][resource] = left[pod.node].get(resource, 0) - amount
        return left

    def run(self, node: str, amounts: dict[str, int], **more: object) -> None:
        """One more running pod, named after its turn."""
        name = f"run-{len(self.running)}"
        pod = RunningPod(name, str(more.pop("namespace", "other")), node, Resources.of(amounts), **more)  # type: ignore[arg-type]
        self.running.append(pod)


def world(chance: Random, whole: dict[str, int] | None = None, most: int = 12) -> World:
    """An empty cluster of 4 to ``most`` nodes: 1-2 blocks, up to 3 racks each, up to 3 nodes each.

    Rack labels repeat from block to block in half of them: r1 of b1 and r1 of b2 are two domains, yet one value.
    """
    while True:
        repeat = chance.random() < 0.5
        places: list[tuple[str, str]] = []
        for block in range(chance.randint(1, 2)):
            for rack in range(chance.randint(2 if most > 6 else 1, 3)):
                value = f"r{rack}" if repeat else f"r{block}{rack}"
                places += [(f"b{block}", value)] * chance.randint(1, 3)
        if 4 <= len(places) <= most:
            break
    names = [f"n{i:02}" for i in range(len(places))]
    chance.shuffle(names)
    spots = [_spot(chance, name, *place, whole or WHOLE_NODE) for name, place in zip(names, places, strict=True)]
    chance.shuffle(spots)
    return World(spots)


def _spot(chance: Random, name: str, block: str, rack: str, whole: dict[str, int]) -> Spot:
    labels = {
        BLOCK_LABEL: block,
        RACK_LABEL: rack,
        HOSTNAME: name,
        POWER: chance.choice(("p1", "p2", "p3")),
        DISK: chance.choice(("ssd", "ssd", "hdd")),
        GENERATION: str(chance.randint(1, 12)),
    }
    return Spot(name, labels, dict(whole))


def fill(chance: Random, place: World) -> None:
    """Running pods that take up a random part of every node: GPUs mostly in pairs, more CPU and memory than that."""
    free = place.free()
    for spot in place.spots:
        left, whole = free[spot.name], spot.allocatable
        eighths = 2 * chance.randint(0, 3) + chance.randint(0, 1)
        amounts = {
            GPU: eighths * whole[GPU] // (8 * NANO) * NANO,
            CPU: (eighths + chance.randint(0, 6)) * (whole[CPU] // 16),
            MEMORY: (eighths + chance.randint(0, 6)) * (whole[MEMORY] // 16),
            PODS: NANO,
        }
        take(place, spot.name, {name: min(amount, left[name]) for name, amount in amounts.items()})


def take(place: World, node: str, amounts: dict[str, int]) -> None:
    """A running pod without labels that holds these amounts, if there is anything to hold."""
    amounts = {name: amount for name, amount in amounts.items() if amount > 0}
    if amounts:
        place.run(node, amounts)
