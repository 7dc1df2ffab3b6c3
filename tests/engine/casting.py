"""Gangs of several sets and their pods, for the cases that play the rules of the designs."""

from dataclasses import replace

from phalanx.dialects.reading import read_workloads
from phalanx.engine.lifecycle import State
from phalanx.model.effects import Effect
from phalanx.model.events import NodeSeen, PodSeen, TopologiesSeen
from phalanx.model.nodes import RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU
from tests.dialects.manifests import AROUND, LEVELS, Doc
from tests.engine.stage import Stage

BLOCK, RACK = 1, 2  # of drawings with two levels


def member(request: Request, pod_set: str, number: int, life: int = 0, gated: bool = False) -> Pod:
    shape = next(one.shape for one in request.root.pod_sets() if one.name == pod_set)
    name = f"{request.name}-{request.unit or ''}-{pod_set}-{number}"
    running = RunningPod(name, request.namespace, "", shape.requests)
    return Pod(PodKey(request.namespace, name, f"{name}.{life}"), running, request.id, pod_set, number, gated=gated)


def members(request: Request, **counts: int) -> list[Pod]:
    """All pods of a request, or so many of each set."""
    sets = counts or {one.name: one.count for one in request.root.pod_sets()}
    return [member(request, name, number) for name, count in sets.items() for number in range(count)]


def see(stage: Stage, *pods: Pod) -> tuple[Effect, ...]:
    stage.pods |= {pod.key: pod for pod in pods}
    return stage.step(*(PodSeen(pod) for pod in pods))


def nodes_of(stage: Stage, request: Request, pod_set: str | None = None) -> list[str]:
    own = [pod for pod in stage.pods.values() if pod.gang == request.id and pod_set in (None, pod.pod_set)]
    return [pod.node for pod in sorted(own, key=lambda pod: (pod.pod_set or "", pod.rank or 0)) if not pod.ended]


def domains(stage: Stage, nodes: list[str], *labels: str) -> set[tuple[str, ...]]:
    return {tuple(stage.nodes[node].labels[f"topology/{label}"] for label in labels) for node in nodes}


def free(stage: Stage) -> dict[str, int]:
    """GPUs left on every node, as the engine's board has it."""
    board = stage.engine.book.board.free(stage.nodes)
    return {name: amounts[GPU] // NANO for name, amounts in board.items()}


def state_of(stage: Stage, request: Request) -> State:
    return stage.engine.states()[request.id]


def carry_out(stage: Stage, pending: list[Effect]) -> None:
    stage.last = tuple(pending)
    pending.clear()
    stage.carry_out()


def of_cpus(drawing: str) -> Stage:
    """A drawing whose units are CPUs, with the topology that the manifests of the dialects' tests name."""
    stage = Stage(drawing)
    for node in stage.nodes.values():
        amounts = Resources.of({"cpu": dict(node.allocatable)[GPU], "memory": 2**50 * NANO, PODS: 1000 * NANO})
        stage.step(NodeSeen(replace(node, allocatable=amounts)))
    stage.step(TopologiesSeen((*stage.topologies, LEVELS)))
    return stage


def requests_of(*docs: Doc) -> tuple[Request, ...]:
    found = read_workloads(list(docs), AROUND)
    assert not found.invalid, found.invalid
    return found.requests
