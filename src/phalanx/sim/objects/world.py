"""One world: its store and all who write to it, the watches, and what ``phalanx run`` thinks with."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from phalanx.decider import Change, Decider
from phalanx.dialects.following import Follower, Marks
from phalanx.engine.engine import Engine
from phalanx.engine.settings import Settings
from phalanx.minicluster.cluster import Cluster
from phalanx.minicluster.documents import controller_of, holds, is_leaving, key_of
from phalanx.minicluster.pace import Pace
from phalanx.minicluster.pods import has_ended
from phalanx.minicluster.store import DELETED, Event
from phalanx.model.effects import Bind, Effect, Evict, Prepare, Resume, Suspend, Ungate
from phalanx.model.events import BindAnswered
from phalanx.model.objects import ObjectKey
from phalanx.model.policy import Policy
from phalanx.model.rules import Rules
from phalanx.sim.agenda import Agenda
from phalanx.sim.chances import Chances
from phalanx.sim.objects import elsewhere
from phalanx.sim.objects.causes import EVERYBODY, Causes
from phalanx.sim.objects.drawn import Doc, Drawn
from phalanx.sim.objects.hands import Ends, Grip, Hands
from phalanx.sim.objects.journal import Journal
from phalanx.sim.objects.record import PodLife, Record
from phalanx.sim.objects.users import Users
from phalanx.sim.objects.watches import Lateness, Watches

_OVER = ("Complete", "Completed", "Failed", "Succeeded")
_CLUSTER = frozenset({"Node", "Topology", "Queue", "PriorityClass"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drawn of a world before it begins. ``things``: the cluster itself. ``coming``: workloads, with the time
    when they are submitted. ``occasions``: what happens, and when. ``until``: from then on nothing goes wrong."""

    seed: int
    things: tuple[Doc, ...]
    coming: tuple[tuple[float, Drawn], ...]
    occasions: tuple[tuple[float, str], ...] = ()
    pace: Pace = Pace()
    lateness: Lateness = field(default_factory=Lateness)
    grip: Grip = field(default_factory=Grip)
    rules: Rules = Rules(schedule=30.0, ready=60.0, recovery=40.0)
    settings: Settings = field(default_factory=lambda: Settings(backoff_most=10.0))
    until: float = 200.0


class World:
    """``advance`` to a time; ``step`` when ``wants_step``."""

    def __init__(self, plan: Plan, begin: float = 1000.0) -> None:
        self.plan, self.chances, self.begin = plan, Chances(plan.seed), begin
        self.agenda, self.cluster = Agenda(), Cluster(plan.seed, plan.pace)
        self.agenda.now = begin
        self.store = self.cluster.store
        self.causes, self.journal = Causes(), Journal()
        self.users = Users(self.store, self.agenda, self.chances.of("users"), self.causes, self.journal)
        self.record = Record(self.store, self.users.copy_of)
        self.watches = Watches(self.store, self.agenda, self.chances.of("watches"), plan.lateness, self._heard)
        ends = Ends(self._answered, self._read, self._refused, self._lost)
        self.hands = Hands(self.store, self.agenda, self.chances.of("hands"), plan.grip, ends)
        self.inbox: dict[ObjectKey, Doc | None] = {}
        self.answers: list[BindAnswered] = []
        self.told: dict[ObjectKey, str] = {}  # uids of what the scheduler was told of, as the inbox has it
        self.told_gone: set[str] = set()  # uids of what it was told to be gone or going
        self.started_at = begin
        self.steps = 0
        self._things: dict[ObjectKey, object] = {}
        self.mistakes: list[str] = []  # what the scheduler tripped over in its last step
        self.crowded: dict[str, float] = {}  # nodes that pods of others are on, and when that was seen last
        self.strangers = 0  # pods of others that came
        self.moved: set[str] = set()  # nodes that were moved
        self.decider = self.fresh()
        self._jitter: Random = self.chances.of("jitter")
        self._populate()

    def fresh(self) -> Decider:
        """A scheduler that knows nothing yet."""
        return Decider(Follower(Marks(rules=self.plan.rules)), Engine(Policy(), self.plan.settings), lambda: 0.0)

    def _populate(self) -> None:
        for doc in self.plan.things:
            self.store.create(doc, self.begin)
        for at, drawn in self.plan.coming:
            self.agenda.at(self.begin + at, partial(self.users.submit, drawn))
        self.follow()
        self.watches.start_anew(self.chances.of("watches"))

    def was_moved(self, node: str) -> bool:
        return node in self.moved

    def is_over(self, lives: list[PodLife]) -> bool:
        """Whether a workload says that its work is done, or has failed, or holds its pods back."""
        owners = {owner for life in lives for owner in self.record.chain(life)}
        for key, uid in owners:
            doc = self.store.get(key)
            if doc is None or doc["metadata"]["uid"] != uid or is_leaving(doc) or doc.get("spec", {}).get("suspend"):
                return True
            if any(holds(doc, word) for word in _OVER):
                return True
        return False

    # -- time ------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self.agenda.now

    def next_time(self) -> float | None:
        """When something happens next."""
        if self.inbox or self.answers:
            return self.now
        clock = self.decider.engine.next_at
        found = (self.cluster.next_due(), self.agenda.next_time, None if clock is None else max(clock, self.now))
        return min((at for at in found if at is not None), default=None)

    def advance(self, time: float) -> None:
        """All that happens until then, but for the scheduler itself."""
        while True:
            due = [at for at in (self.cluster.next_due(), self.agenda.next_time) if at is not None and at <= time]
            if not due:
                break
            self.agenda.advance(min(due))
            self.cluster.tick(min(due))
            self.follow()
        self.agenda.advance(time)

    def follow(self) -> None:
        """Everybody sees what was written."""
        for event in self.record.follow():
            self.journal.event(event)
            if event.document["kind"] in _CLUSTER and self._is_news(event):
                self.causes.note(EVERYBODY, str(event.document["kind"]), self.now)
            if event.type == DELETED and event.document["kind"] == "Pod" and controller_of(event.document) is None:
                self.users.make_again(self.record.pods[event.document["metadata"]["uid"]])
            if event.document["kind"] == "Pod":
                self._elsewhere(event)
            if event.document["kind"] == "Pod" and event.type != DELETED:
                self._crowd(event.document)
        for life in self.record.lost:
            self._note(life, f"lost {life.key.name}")
        self.record.lost.clear()
        self.watches.pull()

    def _elsewhere(self, event: Event) -> None:
        """The other scheduler looks soon: at a pod that it would bind, and at all that wait once one left a node."""
        spec = event.document["spec"]
        left = event.type == DELETED or has_ended(event.document)
        waits = not (spec.get("nodeName") or spec.get("schedulingGates") or spec.get("schedulerName") == "phalanx")
        if (waits and not left) or (left and spec.get("nodeName")):
            self.agenda.after(0.2, lambda: elsewhere.bind_who_waits(self.store, self.now))

    def _is_news(self, event: Event) -> bool:
        """Whether a thing of the cluster came, went, or became something else."""
        key = key_of(event.document)
        before, now = self._things.get(key), None if event.type == DELETED else _matters(event.document)
        self._things[key] = now
        return before != now and self.now > self.begin

    def _crowd(self, pod: Doc) -> None:
        """A pod of others may come to a node before we hear of it."""
        node = pod["spec"].get("nodeName")
        if not node or self.record.pods[pod["metadata"]["uid"]].unit is not None:
            return
        self.crowded[node] = max(self.crowded.get(node, self.now), self.now)
        for life in self.record.here.values():
            if life.promised == node and not life.node:
                self._note(life, f"others came to {node}")

    def _note(self, life: PodLife, what: str) -> None:
        if life.unit is not None:
            self.causes.note(life.unit[0], what, self.now)

    # -- the scheduler ---------------------------------------------------------------------------------------------

    @property
    def wants_step(self) -> bool:
        clock = self.decider.engine.next_at
        return bool(self.inbox or self.answers) or (clock is not None and clock <= self.now)

    def step(self) -> tuple[Effect, ...]:
        """One step of the scheduler; its effects are begun by ``carry_out``."""
        changes, answers = self.inbox, self.answers
        self.inbox, self.answers = {}, []
        self.steps += 1
        self.journal.step(self.now, changes, answers)
        given = [(key, None if doc is None else as_it_is(doc)) for key, doc in changes.items()]
        outcome = self.decider.step(given, answers, self.now, self._jitter.random())
        self.mistakes = [f"{who}: {mishap}" for who, mishap in outcome.mishaps.items()]
        self.mistakes += [f"{count} of {kind} are left alone" for kind, count in outcome.aside.items() if count]
        for effect in outcome.effects:
            self.journal.effect(self.now, effect)
        return outcome.effects

    def carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Evict) and effect.key.uid in self.record.pods:
                life = self.record.pods[effect.key.uid]
                life.evicted = life.evicted or not life.lost
                self._note(life, "evicted")
            elif isinstance(effect, Suspend):
                self._note_owner(effect.owner.uid, "suspended by us")
            elif isinstance(effect, Bind) and effect.key.uid in self.record.pods:
                self.record.pods[effect.key.uid].ours = True
            elif isinstance(effect, Ungate) and effect.key.uid in self.record.pods:
                self._promise(self.record.pods[effect.key.uid], effect.node)
        self.hands.carry_out(effects)

    def _promise(self, life: PodLife, node: str) -> None:
        """Another scheduler will bind it there, if there is room then. Pods of others may be there already."""
        life.promised = node
        if node in self.crowded:
            self._note(life, f"others came to {node}")

    def restart(self) -> None:
        """The scheduler is lost with all it knew, and another one begins."""
        self.journal.note(self.now, "** the scheduler is started anew")
        self.hands.drop()
        self.follow()
        self.inbox.clear()
        self.answers.clear()
        self.decider = self.fresh()
        self.started_at = self.now
        self.watches.start_anew(self.chances.of("watches"))

    # -- what it hears ---------------------------------------------------------------------------------------------

    def _heard(self, key: ObjectKey, doc: Doc | None) -> None:
        self.inbox[key] = doc
        before = self.told.pop(key, None)
        uid = None if doc is None else str(doc["metadata"]["uid"])
        if before is not None and before != uid:
            self.told_gone.add(before)
        if uid is not None and doc is not None:
            self.told[key] = uid
            if "deletionTimestamp" in doc["metadata"]:
                self.told_gone.add(uid)

    def _answered(self, answer: BindAnswered) -> None:
        self.answers.append(answer)

    def _read(self, work: Bind | Evict) -> None:
        self.watches.read(work.key.object, work.key.uid)

    def _refused(self, work: Bind) -> None:
        life = self.record.pods.get(work.key.uid)
        if life is not None:
            self._note(life, "bind refused")

    def _lost(self, effect: Effect) -> None:
        self.journal.note(self.now, f"   lost on its way: {type(effect).__name__}")
        if isinstance(effect, Prepare | Resume | Suspend):
            self._note_owner(effect.owner.uid, "a write was lost")
        elif isinstance(effect, Ungate | Evict) and effect.key.uid in self.record.pods:
            self._note(self.record.pods[effect.key.uid], "a write was lost")

    def _note_owner(self, uid: str, what: str) -> None:
        for one in self.users.entries.values():
            if uid in one.uids.values():
                self.causes.note(one.made, what, self.now)

    @property
    def told_within(self) -> float:
        return self.plan.lateness.told_within

    @property
    def done_within(self) -> float:
        """How long after an effect it is carried out at the latest, asked for again where it got lost."""
        return 4 * self.plan.settings.bind_again + 4 * self.plan.grip.seconds


def _matters(doc: Doc) -> object:
    """What of a thing of the cluster may be a cause for anything."""
    if doc["kind"] != "Node":
        return doc.get("spec"), doc.get("value")
    spec, labels = doc["spec"], doc["metadata"]["labels"]
    hard = [one for one in spec.get("taints") or () if one["effect"] != "PreferNoSchedule"]
    levels = {key: value for key, value in labels.items() if not key.startswith("nvidia.com/")}
    ready = [one["status"] for one in doc["status"].get("conditions") or () if one["type"] == "Ready"]
    return levels, spec.get("unschedulable"), hard, doc["status"].get("allocatable"), ready


def as_it_is(doc: Doc) -> Change:
    """An object as the scheduler is handed it."""
    return lambda: doc
