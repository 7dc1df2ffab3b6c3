"""A small world for tests of the engine: it does at once what it is told, and nothing by itself."""

from dataclasses import replace

from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.engine.settings import Settings
from phalanx.model.effects import Bind, Effect, Evict, Ungate
from phalanx.model.events import (
    Answer,
    BindAnswered,
    Event,
    GangGone,
    GangSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    TopologiesSeen,
)
from phalanx.model.nodes import PodShape, RunningPod
from phalanx.model.objects import Incarnation
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Group, PodSet, Ranks, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU, snapshot

ONE = Resources.of({GPU: NANO, PODS: NANO})


def gang(
    name: str = "g",
    count: int = 2,
    least: int | None = None,
    required: int | None = None,
    ranked: bool = False,
    rules: Rules = Rules(),
    priority: int = 0,
) -> Request:
    pods = PodSet("w", count, count if least is None else least, PodShape(ONE))
    root = Group("w", (pods,), required, ranks=Ranks() if ranked else None)
    return Request("Gang", "default", name, root, "drawn", rules=rules, priority=priority)


class Stage:
    """An engine and what is true: pods by key. ``effects``: all there were; ``last``: those of the last step."""

    def __init__(self, drawing: str, settings: Settings = Settings()) -> None:
        picture = snapshot(drawing)
        self.engine = Engine(settings=settings)
        self.now = 0.0
        self.pods: dict[PodKey, Pod] = {}
        self.effects: list[Effect] = []
        self.last: tuple[Effect, ...] = ()
        self.nodes = {node.name: node for node in picture.nodes}
        self.topologies = tuple(replace(one, name="drawn") for one in picture.topologies)
        self.step(TopologiesSeen(self.topologies), *(NodeSeen(node) for node in picture.nodes))

    def step(self, *events: Event) -> tuple[Effect, ...]:
        self.last = self.engine.step(events, self.now)
        self.effects += self.last
        assert self.engine.book.audit() == []
        return self.last

    def after(self, seconds: float) -> tuple[Effect, ...]:
        self.now += seconds
        return self.step()

    def submit(self, request: Request, pods: int | None = None, owner: Incarnation | None = None) -> list[Pod]:
        """The gang, and so many of its pods."""
        self.step(GangSeen(request, self.now, owner))
        (pod_set,) = request.root.pod_sets()
        count = pod_set.count if pods is None else pods
        return [self.pod(request, rank) for rank in range(count)]

    def pod(self, request: Request, rank: int, life: int = 0, gated: bool = False) -> Pod:
        (pod_set,) = request.root.pod_sets()
        name = f"{request.name}-{rank}"
        running = RunningPod(name, "default", "", pod_set.shape.requests)
        made = Pod(PodKey("default", name, f"{name}.{life}"), running, request.id, pod_set.name, rank, gated=gated)
        self.see(made)
        return made

    def see(self, pod: Pod) -> tuple[Effect, ...]:
        self.pods[pod.key] = pod
        return self.step(PodSeen(pod))

    def carry_out(self) -> None:
        """Does what the last step wanted, until nothing more comes of it."""
        waiting = list(self.last)
        while waiting:
            events = [event for effect in waiting for event in self._done(effect)]
            waiting = list(self.step(*events)) if events else []

    def _done(self, effect: Effect) -> list[Event]:
        if isinstance(effect, Bind):
            return self.bound(effect)
        if isinstance(effect, Ungate):
            node = dict(effect.selector)["kubernetes.io/hostname"]
            return [self._told(replace(self._on(effect.key, node), gated=False))]
        if isinstance(effect, Evict):
            self.pods.pop(effect.key)
            return [PodGone(effect.key)]
        return []

    def bound(self, effect: Bind) -> list[Event]:
        if effect.key not in self.pods:
            return [BindAnswered(effect.key, effect.node, Answer.CONFLICT)]
        return [BindAnswered(effect.key, effect.node, Answer.BOUND), self._told(self._on(effect.key, effect.node))]

    def _on(self, key: PodKey, node: str) -> Pod:
        pod = self.pods[key]
        return replace(pod, running=replace(pod.running, node=node), phase="Running", ready=True)

    def _told(self, pod: Pod) -> Event:
        self.pods[pod.key] = pod
        return PodSeen(pod)

    def fail(self, pod: Pod) -> tuple[Effect, ...]:
        return self.see(replace(self.pods[pod.key], phase="Failed", ready=False))

    def succeed(self, pod: Pod) -> tuple[Effect, ...]:
        return self.see(replace(self.pods[pod.key], phase="Succeeded", ready=False))

    def lose(self, pod: Pod) -> tuple[Effect, ...]:
        self.pods.pop(pod.key, None)
        return self.step(PodGone(pod.key))

    def lose_node(self, name: str) -> tuple[Effect, ...]:
        self.nodes.pop(name)
        return self.step(NodeGone(name))

    def delete(self, request: Request) -> tuple[Effect, ...]:
        return self.step(GangGone(request.id))

    def state(self, name: str = "g") -> State | None:
        return self.engine.states().get(f"default/{name}")

    def where(self, name: str = "g") -> list[str]:
        """Nodes of the pods of a gang, by rank; empty texts for those without."""
        own = [pod for pod in self.pods.values() if pod.gang == f"default/{name}" and not pod.ended]
        return [pod.node for pod in sorted(own, key=lambda pod: pod.rank or 0)]

    def run(self, request: Request, pods: int | None = None) -> list[Pod]:
        """A gang that runs."""
        found = self.submit(request, pods)
        self.carry_out()
        return [self.pods[pod.key] for pod in found]
