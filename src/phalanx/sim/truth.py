"""The truth of a simulated world: what is, whoever knows of it, and the rules by which an API server lets it change.

A pod is bound once. Nobody but the scheduler minds the room on a node: a node takes every pod it is given.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from phalanx.model.daemons import DaemonSet
from phalanx.model.events import Answer
from phalanx.model.nodes import Node, Pairs, PodShape, RunningPod
from phalanx.model.objects import Incarnation
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queues
from phalanx.model.request import Request
from phalanx.model.topology import HOSTNAME, Topology


class Kind(Enum):
    """What can be watched."""

    NODE = "node"
    GANG = "gang"
    POD = "pod"
    QUEUES = "queues"  # one thing: all of them


Told = Callable[[Kind, object], None]  # something of a kind, by its key, is not what it was


@dataclass(slots=True)
class Gang:
    """A gang that was submitted. ``owner``: what makes its pods, None where nobody can hold it back.

    ``held``: its owner is suspended and makes no pods. ``prepared``: the pods it makes are gated.
    """

    request: Request
    since: float
    duration: float
    owner: Incarnation | None = None
    held: bool = False
    prepared: bool = False
    ended: str = ""  # finished | deleted; empty while it is to run
    pods: dict[PodKey, None] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)  # when it lost a bound pod by no doing of the engine
    version: int = 0  # counts the changes to it and to its pods
    staggered: float = 0.0
    start: "Start | None" = None  # its present one, by the word of the engine


@dataclass(frozen=True, slots=True)
class Start:
    """A gang was given its places: by which step, and what the engine had last been told of nodes and queues then."""

    step: int
    nodes: tuple[Node, ...]
    queues: Queues


@dataclass(frozen=True, slots=True)
class Bound:
    """How a pod came to its node: when, by which step of the engine, with which rank, and what the engine had last been
    told when it chose: the node, and the pods of no gang that stood there. ``moves``: of the node, until then."""

    at: float
    step: int
    rank: int | None
    told: Node | None = None
    strangers: frozenset[PodKey] = frozenset()
    moves: int = 0


class Truth:
    """Nodes, gangs and pods by their keys, in the order they were made. ``version`` counts all changes,
    ``nodes_version`` those of nodes."""

    def __init__(self, nodes: tuple[Node, ...], topologies: tuple[Topology, ...], queues: Queues) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.moves: dict[str, int] = {}  # how often the labels of a node changed
        self.topologies = {topology.name: topology for topology in topologies}
        self.queues = queues
        self.daemon_sets: tuple[DaemonSet, ...] = ()
        self.gangs: dict[str, Gang] = {}
        self.pods: dict[PodKey, Pod] = {}
        self.bound: dict[PodKey, Bound] = {}
        self.pinned: dict[PodKey, Pairs] = {}
        self.version = 0
        self.nodes_version = 0
        self.listeners: list[Told] = []
        self._uids = 0

    def _changed(self, kind: Kind, key: object, gang: str | None = None) -> None:
        self.version += 1
        self.nodes_version += kind is Kind.NODE
        if gang is not None:
            self.gangs[gang].version += 1
        for listener in self.listeners:
            listener(kind, key)

    # ------------------------------------------------------------------------------------------------ nodes

    def put_node(self, node: Node) -> None:
        before = self.nodes.get(node.name)
        if before is not None and before.labels != node.labels:
            self.moves[node.name] = self.moves.get(node.name, 0) + 1
        self.nodes[node.name] = node
        self._changed(Kind.NODE, node.name)

    def drop_node(self, name: str) -> None:
        del self.nodes[name]
        self._changed(Kind.NODE, name)

    def on_node(self, name: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.node == name]

    def strangers(self, node: str) -> frozenset[PodKey]:
        """The pods of no gang that hold room on a node."""
        return frozenset(pod.key for pod in self.on_node(node) if pod.gang is None and pod.holds)

    def is_overfull(self, node: str) -> bool:
        left = dict(self.nodes[node].allocatable.items) if node in self.nodes else {}
        for pod in self.on_node(node):
            for resource, amount in pod.requests if pod.holds else ():
                left[resource] = left.get(resource, 0) - amount
        return any(amount < 0 for amount in left.values())

    # ----------------------------------------------------------------------------------------------- queues

    def put_queues(self, queues: Queues) -> None:
        self.queues = queues
        self._changed(Kind.QUEUES, Kind.QUEUES.value)

    # ------------------------------------------------------------------------------------------------ gangs

    def put_gang(self, gang: Gang) -> None:
        self.gangs[gang.request.id] = gang
        self._changed(Kind.GANG, gang.request.id, gang.request.id)

    def end_gang(self, name: str, how: str) -> None:
        """It is over; watchers see it gone."""
        self.gangs[name].ended = how
        self._changed(Kind.GANG, name, name)

    def active(self) -> Iterator[tuple[str, Gang]]:
        return ((name, gang) for name, gang in self.gangs.items() if not gang.ended)

    def members(self, name: str) -> list[Pod]:
        """The pods of a gang, in the order they were made."""
        return [self.pods[key] for key in self.gangs[name].pods]

    # ------------------------------------------------------------------------------------------------- pods

    def make_pod(
        self, gang: str | None, name: str, shape: PodShape, pod_set: str | None, rank: int | None, node: str = "",
        daemon_set: str = "",
    ) -> PodKey:  # fmt: skip
        """A new pod with a uid of its own; on a node from the start where another made it run there."""
        self._uids += 1
        key = PodKey(shape.namespace, name, str(self._uids))
        runs = RunningPod(
            name, shape.namespace, node, shape.requests, dict(shape.labels), shape.ports, shape.anti_affinity, gang
        )
        gated = gang is not None and self.gangs[gang].prepared
        phase = "Running" if node else "Pending"
        self.pods[key] = Pod(
            key, runs, gang, pod_set, rank, phase=phase, gated=gated, daemon=bool(daemon_set), daemon_set=daemon_set
        )
        if gang is not None:
            self.gangs[gang].pods[key] = None
        self._changed(Kind.POD, key, gang)
        return key

    def change_pod(self, key: PodKey, **fields: object) -> None:
        self.pods[key] = replace(self.pods[key], **fields)  # type: ignore[arg-type]
        self._changed(Kind.POD, key, self.pods[key].gang)

    def drop_pod(self, key: PodKey) -> Pod:
        """The pod is gone; what it was."""
        pod = self.pods.pop(key)
        self.bound.pop(key, None)
        self.pinned.pop(key, None)
        if pod.gang is not None:
            del self.gangs[pod.gang].pods[key]
        self._changed(Kind.POD, key, pod.gang)
        return pod

    def bind(self, key: PodKey, node: str, how: Bound) -> Answer:
        """What an API server does with a binding. It does not count what the node has left."""
        pod = self.pods.get(key)
        if pod is None or pod.leaving or pod.ended or (pod.node and pod.node != node):
            return Answer.CONFLICT
        if pod.node:
            return Answer.HERE
        if node not in self.nodes or pod.gated:
            return Answer.REFUSED
        self.bound[key] = replace(how, moves=self.moves.get(node, 0))
        self.change_pod(key, running=replace(pod.running, node=node))
        return Answer.BOUND

    def ungate(self, key: PodKey, node: str, selector: Pairs) -> bool:
        """Takes the gate off and pins the pod; False if that was done before, or there is no such pod."""
        pod = self.pods.get(key)
        if pod is None or not pod.gated:
            return False
        self.pinned[key] = selector
        self.change_pod(key, gated=False, pinned=node)
        return True

    def pinned_node(self, key: PodKey) -> str | None:
        """The node that a pinned pod may use, if it is there and has all the labels."""
        selector = self.pinned.get(key, ())
        node = self.nodes.get(dict(selector).get(HOSTNAME, ""))
        if node is None:
            return None
        labels = {**node.labels, HOSTNAME: node.name}
        return node.name if all(labels.get(name) == value for name, value in selector) else None
