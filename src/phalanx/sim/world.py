"""A simulated cluster: the truth, those who change it, and what an engine is told of it.

It shares no code with the engine, only the values both speak of. Everything that happens follows from the submissions,
the faults and the seed.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import cast

from phalanx.model.effects import Effect
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
    QueuesSeen,
    TopologiesSeen,
)
from phalanx.model.nodes import Pairs, PodShape
from phalanx.model.pods import PodKey
from phalanx.model.snapshot import Snapshot
from phalanx.sim.agenda import Agenda
from phalanx.sim.chances import Chances
from phalanx.sim.controllers import Controllers
from phalanx.sim.faults import CALM, Faults
from phalanx.sim.hands import Hands
from phalanx.sim.submission import Submission
from phalanx.sim.truth import Gang, Kind, Truth
from phalanx.sim.watches import Watch

GATE = "Gate"


class World:
    """One world. ``inbox``: what the engine is told at this instant; ``ahead``: how far its clock is ahead of ours."""

    def __init__(
        self, cluster: Snapshot, submissions: Iterable[Submission] = (), faults: Faults = CALM, seed: int = 0
    ) -> None:
        self.seed, self.faults = seed, faults
        self.chances = Chances(seed)
        self.agenda = Agenda()
        self.truth = Truth(cluster.nodes, cluster.topologies, cluster.queues)
        self.inbox: list[Event] = []
        self.ahead = 0.0
        self.started_at = 0.0  # since when the present engine listens
        self.last_fault = 0.0
        self.leader_lost = False
        self.controllers = Controllers(self.truth, self.agenda, faults, self.chances.of("controllers"))
        self.watches = {kind: self._watch(kind) for kind in Kind}
        self.hands = Hands(
            self.truth, self.controllers, self.agenda, faults, self.chances.of("effects"),
            self._answered, self.told_labels,
        )  # fmt: skip
        self.truth.listeners.append(self._changed)
        for pod in cluster.pods:
            shape = PodShape(pod.requests, namespace=pod.namespace)
            self.truth.make_pod(None, pod.name, shape, None, None, node=pod.node)
        self.expected = 0
        for submission in submissions:
            self.expected += 1
            self.agenda.at(submission.at, self._submitting(submission))
        self.start_anew()

    # ----------------------------------------------------------------------------------------- submissions

    def _submitting(self, submission: Submission) -> Callable[[], None]:
        return lambda: self._submit(submission)

    def _submit(self, submission: Submission) -> None:
        request = submission.request
        gated = request.rules.enforcement == GATE
        owner = f"{request.kind}/{request.id}" if gated else ""
        gang = Gang(request, self.agenda.now, submission.duration, owner, held=gated or request.suspended)
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

    def _set_suspended(self, name: str, suspended: bool) -> None:
        gang = self.truth.gangs[name]
        gang.request = replace(gang.request, suspended=suspended)
        self.truth.put_gang(gang)

    # --------------------------------------------------------------------------------------------- telling

    def _watch(self, kind: Kind) -> Watch:
        see = {Kind.NODE: self._see_node, Kind.GANG: self._see_gang, Kind.POD: self._see_pod}[kind]
        gone = {Kind.NODE: NodeGone, Kind.GANG: GangGone, Kind.POD: PodGone}[kind]
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

    def told_labels(self, node: str) -> Pairs:
        told = self.watches[Kind.NODE].told.get(node)
        return tuple(sorted(told.node.labels.items())) if isinstance(told, NodeSeen) else ()

    def told_gangs(self) -> list[str]:
        """Gangs that the engine was told of and not yet told to be gone."""
        return [cast("str", key) for key in self.watches[Kind.GANG].told]

    def start_anew(self) -> None:
        """An engine that knows nothing is told all there is, kind by kind in no certain order."""
        self.inbox.clear()
        self.started_at = self.agenda.now
        tellers: list[Callable[[], None]] = [
            lambda: self.inbox_add(TopologiesSeen(tuple(self.truth.topologies.values()))),
            lambda: self.inbox_add(QueuesSeen(self.truth.queues)),
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
        self.hands.carry_out(effects, step)

    @property
    def over(self) -> bool:
        """Whether every gang was submitted and has ended."""
        return len(self.controllers.finished) == self.expected
