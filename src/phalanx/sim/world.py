"""A simulated cluster: the truth, those who change it, and what an engine is told of it.

It shares no code with the engine, only the values both speak of. Everything that happens follows from the submissions,
the faults and the seed.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import cast

from phalanx.model.daemons import DaemonSet
from phalanx.model.effects import Effect, Report
from phalanx.model.events import (
    Answer,
    BindAnswered,
    DaemonSetsSeen,
    Event,
    GangGone,
    GangSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QueuesSeen,
    TopologiesSeen,
)
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import Node, PodShape
from phalanx.model.objects import Incarnation, ObjectKey
from phalanx.model.pods import PodKey
from phalanx.model.queues import Queues
from phalanx.model.request import PodSet
from phalanx.model.snapshot import Snapshot
from phalanx.sim import queueing
from phalanx.sim.agenda import Agenda
from phalanx.sim.chances import Chances
from phalanx.sim.controllers import Controllers
from phalanx.sim.faults import CALM, Faults
from phalanx.sim.hands import Hands
from phalanx.sim.submission import Submission
from phalanx.sim.truth import Gang, Kind, Start, Truth
from phalanx.sim.watches import Watch

GATE = "Gate"
_STARTS = ("PLACED", "PLACED_AHEAD")  # causes by which the engine reports that a gang was given its places


class World:
    """One world. ``inbox``: what the engine is told at this instant; ``ahead``: how far its clock is ahead of ours."""

    def __init__(
        self, cluster: Snapshot, submissions: Iterable[Submission] = (), faults: Faults = CALM, seed: int = 0,
        daemon_sets: tuple[DaemonSet, ...] = (),
    ) -> None:  # fmt: skip
        self.seed, self.faults = seed, faults
        given = list(submissions)
        self.chances = Chances(seed)
        self.agenda = Agenda()
        self.truth = Truth(cluster.nodes, cluster.topologies, queueing.for_all(cluster.queues, given))
        self.truth.daemon_sets = daemon_sets
        self.inbox: list[Event] = []
        self.ahead = 0.0
        self.started_at = 0.0  # since when the present engine listens
        self.last_fault = 0.0
        self.leader_lost = False
        self.controllers = Controllers(self.truth, self.agenda, faults, self.chances.of("controllers"))
        self.watches = {kind: self._watch(kind) for kind in Kind}
        self.hands = Hands(
            self.truth, self.controllers, self.agenda, faults, self.chances.of("effects"),
            self._answered, self.told_of,
        )  # fmt: skip
        self.truth.listeners.append(self._changed)
        for pod in cluster.pods:
            shape = PodShape(pod.requests, namespace=pod.namespace)
            self.truth.make_pod(None, pod.name, shape, None, None, node=pod.node)
        for node in cluster.nodes:
            self.controllers.make_daemons(node.name)
        self.expected = len(given)
        for submission in given:
            self.agenda.at(submission.at, self._submitting(submission))
        self.start_anew()

    # ----------------------------------------------------------------------------------------- submissions

    def _submitting(self, submission: Submission) -> Callable[[], None]:
        return lambda: self._submit(submission)

    def _submit(self, submission: Submission) -> None:
        request = submission.request
        gated = request.rules.enforcement == GATE
        owner = Incarnation(ObjectKey("batch", "Job", request.namespace, request.name)) if gated else None
        gang = Gang(request, self.agenda.now, submission.duration, owner, held=gated or request.suspended)
        gang.staggered = submission.staggered
        self.controllers.submit(gang)

    def hold_back(self, gang: str) -> None:
        """Its user suspends it: the pods go, and the request says so until it is let go."""
        self._set_suspended(gang, True)
        self.controllers.hold(gang)

    def let_go(self, gang: str) -> None:
        """Its user is done with that. Where pods come only after a Resume, they still wait for it."""
        if self.truth.gangs[gang].ended:
            return
        self._set_suspended(gang, False)
        if not self.truth.gangs[gang].owner:
            self.controllers.let_go(gang)

    def resize(self, name: str, count: int) -> None:
        """Its user wants another number of pods, not below the minimum. For gangs of one pod set."""
        gang = self.truth.gangs[name]
        (pods,) = gang.request.root.members
        if not isinstance(pods, PodSet):
            raise Mistake("only gangs of one pod set are resized")
        root = replace(gang.request.root, members=(replace(pods, count=max(count, pods.min_count)),))
        gang.request = replace(gang.request, root=root)
        self.truth.put_gang(gang)
        self.controllers.follow_size(name)

    def promote(self, name: str, priority: int) -> None:
        """Its user gives it another priority."""
        gang = self.truth.gangs[name]
        gang.request = replace(gang.request, priority=priority)
        self.truth.put_gang(gang)

    def _set_suspended(self, name: str, suspended: bool) -> None:
        gang = self.truth.gangs[name]
        gang.request = replace(gang.request, suspended=suspended)
        self.truth.put_gang(gang)

    # --------------------------------------------------------------------------------------------- telling

    def _watch(self, kind: Kind) -> Watch:
        see = {
            Kind.NODE: self._see_node, Kind.GANG: self._see_gang, Kind.POD: self._see_pod,
            Kind.QUEUES: lambda _: QueuesSeen(self.truth.queues),
        }[kind]  # fmt: skip
        gone = {
            Kind.NODE: NodeGone, Kind.GANG: GangGone, Kind.POD: PodGone, Kind.QUEUES: lambda _: QueuesSeen(Queues()),
        }[kind]  # fmt: skip
        chance = self.chances.of(f"watch {kind.value}")
        return Watch(self.agenda, self.faults, chance, see, cast("Callable[[Hashable], Event]", gone), self.inbox_add)

    def inbox_add(self, event: Event) -> None:
        self.inbox.append(event)

    def _see_node(self, key: Hashable) -> Event | None:
        node = self.truth.nodes.get(cast("str", key))
        return None if node is None else NodeSeen(node)

    def _see_gang(self, key: Hashable) -> Event | None:
        gang = self.truth.gangs.get(cast("str", key))
        return None if gang is None or gang.ended else GangSeen(gang.request, gang.since, gang.owner)

    def _see_pod(self, key: Hashable) -> Event | None:
        pod = self.truth.pods.get(cast("PodKey", key))
        return None if pod is None else PodSeen(pod)

    def _changed(self, kind: Kind, key: object) -> None:
        self.watches[kind].changed(key)

    def _answered(self, event: BindAnswered) -> None:
        self.inbox.append(event)
        if event.answer is Answer.UNKNOWN:
            self.watches[Kind.POD].read(event.key)

    def told_of(self, node: str) -> tuple[Node | None, frozenset[PodKey]]:
        """What the engine was last told of a node, and which of the pods of no gang that are on it."""
        told = self.watches[Kind.NODE].told.get(node)
        strangers = frozenset(key for key in self.truth.strangers(node) if self._is_told(key, node))
        return told.node if isinstance(told, NodeSeen) else None, strangers

    def _is_told(self, key: PodKey, node: str) -> bool:
        told = self.watches[Kind.POD].told.get(key)
        return isinstance(told, PodSeen) and told.pod.node == node

    def _told_nodes(self) -> tuple[Node, ...]:
        return tuple(told.node for told in self.watches[Kind.NODE].told.values() if isinstance(told, NodeSeen))

    def _told_queues(self) -> Queues:
        told = self.watches[Kind.QUEUES].told.get(Kind.QUEUES.value)
        return told.queues if isinstance(told, QueuesSeen) else Queues()

    def told_gangs(self) -> list[str]:
        """Gangs that the engine was told of and not yet told to be gone."""
        return [cast("str", key) for key in self.watches[Kind.GANG].told]

    def start_anew(self) -> None:
        """An engine that knows nothing is told all there is, kind by kind in no certain order."""
        self.inbox.clear()
        self.started_at = self.agenda.now
        tellers: list[Callable[[], None]] = [
            lambda: self.inbox_add(TopologiesSeen(tuple(self.truth.topologies.values()))),
            lambda: self.inbox_add(DaemonSetsSeen(self.truth.daemon_sets)),
            lambda: self.watches[Kind.QUEUES].start_anew([Kind.QUEUES.value]),
            lambda: self.watches[Kind.NODE].start_anew(self.truth.nodes),
            lambda: self.watches[Kind.GANG].start_anew(self.truth.gangs),
            lambda: self.watches[Kind.POD].start_anew(self.truth.pods),
        ]
        self.chances.of("leader").shuffle(tellers)
        for tell in tellers:
            tell()

    def new_leader(self) -> None:
        """The engine is lost. What it had under way is done or not before the next one looks."""
        self.hands.new_leader()
        self.start_anew()
        self.leader_lost = True
        self.last_fault = self.agenda.now

    # ------------------------------------------------------------------------------------------------ time

    @property
    def now(self) -> float:
        """What the engine's clock shows."""
        return self.agenda.now + self.ahead

    def advance(self, to: float) -> None:
        self.agenda.advance(to)

    def take_inbox(self) -> list[Event]:
        told, self.inbox[:] = list(self.inbox), []
        return told

    def carry_out(self, effects: Iterable[Effect], step: int) -> None:
        asked = list(effects)
        for effect in asked:
            if isinstance(effect, Report) and effect.cause in _STARTS and effect.gang in self.truth.gangs:
                self.truth.gangs[effect.gang].start = Start(step, self._told_nodes(), self._told_queues())
        self.hands.carry_out(asked, step)

    @property
    def over(self) -> bool:
        """Whether every gang was submitted and has ended."""
        return len(self.controllers.finished) == self.expected
