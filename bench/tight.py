"""256 nodes with next to no slack: every verdict against CP-SAT."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from phalanx.model.nodes import Node, PodShape, RunningPod
from phalanx.model.request import Group, PodSet, Request, Slice
from phalanx.model.resources import NANO, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.place import solve
from phalanx.place.draft import Draft
from phalanx.place.verify import verify
from phalanx.testing import oracle

BLOCK, RACK, HOST = 1, 2, 3
TREE = Topology.of("bench", ["topology/block", "topology/rack"])
ROOM = {"cpu": 16, "memory": 16, "gpu": 8, "pods": 20}
SHAPES = [(2, 2, 1), (4, 4, 2), (8, 8, 4), (3, 1, 1), (2, 6, 1), (6, 3, 2), (2, 1, 0), (1, 3, 0), (5, 5, 3)]


@dataclass(frozen=True)
class Verdicts:
    """One family: how many agreed, which did not, and the milliseconds of both sides."""

    family: str
    agreed: int
    wrong: tuple[str, ...]
    undecided: int
    unknown: int
    ours: tuple[float, ...]
    theirs: tuple[float, ...]


def shape(chance: Random) -> PodShape:
    cpu, memory, gpu = chance.choice(SHAPES)
    return PodShape(Resources.of({"cpu": cpu * NANO, "memory": memory * NANO, "gpu": gpu * NANO, "pods": NANO}))


def leaf(name: str, count: int, pod: PodShape, required: int | None = None, slices: tuple[Slice, ...] = ()) -> Group:
    return Group(name, (PodSet(name, count, count, pod, slices),), required=required)


def one_shape(chance: Random) -> Group:
    pod = shape(chance)
    return Group("w", tuple(leaf(f"g{i}", chance.randint(4, 20), pod, RACK) for i in range(10)))


def three_shapes(chance: Random) -> Group:
    pods = [shape(chance) for _ in range(3)]
    return Group("w", tuple(leaf(f"g{i}", chance.randint(4, 14), pods[i % 3], RACK) for i in range(6)))


def leaders(chance: Random) -> Group:
    lead, work = shape(chance), shape(chance)
    copies = [
        Group(f"r{i}", (leaf(f"l{i}", 1, lead), leaf(f"w{i}", chance.randint(4, 14), work)), required=RACK)
        for i in range(6)
    ]
    return Group("w", tuple(copies))


def mixed_block(chance: Random) -> Group:
    return Group("w", tuple(leaf(f"g{i}", chance.randint(20, 60), shape(chance)) for i in range(3)), required=BLOCK)


def sliced(chance: Random) -> Group:
    size = chance.choice((2, 3, 4))
    cut = leaf("s", size * chance.randint(6, 12), shape(chance), None, (Slice(RACK, size),))
    return Group("w", (cut, leaf("g", chance.randint(4, 12), shape(chance), RACK), leaf("z", 8, shape(chance))))


FAMILIES: dict[str, Callable[[Random], Group]] = {
    "10 groups of one shape, a rack each": one_shape,
    "6 groups, 3 shapes, a rack each": three_shapes,
    "6 x (leader + workers)": leaders,
    "3 shapes in one block": mixed_block,
    "slices + group + loose": sliced,
}


def run(instances: int, seconds: float) -> list[Verdicts]:
    return [_family(name, make, instances, seconds) for name, make in FAMILIES.items()]


def _family(name: str, make: Callable[[Random], Group], instances: int, seconds: float) -> Verdicts:
    agreed, undecided, unknown = 0, 0, 0
    wrong, ours, theirs = [], [], []
    for seed in range(instances):
        for more in (False, True):
            snapshot, request = instance(name, make, seed, more)
            start = time.thread_time()
            answer = solve.place(Draft.of(snapshot, "bench"), request)
            ours.append((time.thread_time() - start) * 1e3)
            start = time.thread_time()
            truth = oracle.feasible(snapshot, request, seconds=seconds)
            theirs.append((time.thread_time() - start) * 1e3)
            valid = answer.placement is not None and not verify(snapshot, request, answer.placement)
            if answer.status == "undecided":
                undecided += 1
            elif isinstance(truth, oracle.Unknown) and not valid:
                unknown += 1
            elif valid if answer.status == "placed" else truth is None:
                agreed += 1
            else:
                wrong.append(f"{name}, seed {seed}, one pod more: {more}: {answer.status}")
    return Verdicts(name, agreed, tuple(wrong), undecided, unknown, tuple(ours), tuple(theirs))


def instance(name: str, make: Callable[[Random], Group], seed: int, more: bool) -> tuple[Snapshot, Request]:
    """A hidden placement, everything else taken up to a unit of slack; ``more``: one pod more than was hidden."""
    chance = Random(f"{name}:{seed}")
    names = [f"b{b}-r{r}-n{n}" for b in range(4) for r in range(8) for n in range(8)]
    while True:
        root = make(chance)
        used = {node: dict.fromkeys(ROOM, 0) for node in names}
        if _hide(chance, root, names, used):
            break
    nodes, pods = [], []
    for node in names:
        block, rack, _ = node.split("-")
        labels = {"topology/block": block, "topology/rack": rack, HOSTNAME: node}
        nodes.append(Node(node, labels, Resources.of({key: amount * NANO for key, amount in ROOM.items()})))
        spare = {key: chance.randint(0, 1) if any(used[node].values()) else 1 for key in ROOM} | {"pods": 5}
        held = {key: max(ROOM[key] - used[node][key] - spare[key], 0) * NANO for key in ROOM}
        pods.append(RunningPod(f"p-{node}", "default", node, Resources.of(held)))
    request = Request("Gang", "bench", "tight", _one_more(root) if more else root, topology="bench")
    return Snapshot(tuple(nodes), (TREE,), tuple(pods)), request


def _hide(chance: Random, group: Group, nodes: list[str], used: dict[str, dict[str, int]]) -> bool:
    if group.required:
        nodes = _one_domain(chance, nodes, group.required)
    for member in group.members:
        if isinstance(member, Group):
            if not _hide(chance, member, nodes, used):
                return False
            continue
        cut = member.slices[0] if member.slices else None
        for _ in range(member.count // (cut.size if cut else 1)):
            here = _one_domain(chance, nodes, cut.level) if cut else nodes
            if not all(_put(chance, member.shape, here, used) for _ in range(cut.size if cut else 1)):
                return False
    return True


def _one_domain(chance: Random, nodes: list[str], level: int) -> list[str]:
    prefix = "-".join(chance.choice(nodes).split("-")[:level]) + "-"
    return [node for node in nodes if node.startswith(prefix)]


def _put(chance: Random, pod: PodShape, nodes: list[str], used: dict[str, dict[str, int]]) -> bool:
    need = {name: amount // NANO for name, amount in pod.requests}
    fitting = [n for n in nodes if all(used[n][key] + amount <= ROOM[key] for key, amount in need.items())]
    if not fitting:
        return False
    node = chance.choice(fitting)
    for key, amount in need.items():
        used[node][key] += amount
    return True


def _one_more(root: Group) -> Group:
    """One pod (or slice) more in the first group."""
    first, *rest = root.members
    return Group(root.name, (_larger(first), *rest), root.required)


def _larger(member: Group | PodSet) -> Group | PodSet:
    if isinstance(member, PodSet):
        count = member.count + (member.slices[0].size if member.slices else 1)
        return PodSet(member.name, count, count, member.shape, member.slices)
    *others, last = member.members
    return Group(member.name, (*others, _larger(last)), member.required)
