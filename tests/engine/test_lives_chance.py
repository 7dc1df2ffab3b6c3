"""Whatever happens to gangs, in whatever order: each cause that is raised stands in the table, the books are right."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from phalanx.engine.lifecycle import TABLE, State
from phalanx.model.effects import Bind, Effect, Evict, Report, Resume, Suspend, Ungate
from phalanx.model.events import (
    Answer,
    BindAnswered,
    Ending,
    Event,
    GangGone,
    GangSeen,
    GangSpoiled,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QueuesSeen,
    SuspendRefused,
)
from phalanx.model.makers import Maker
from phalanx.model.nodes import HostPort, PodShape
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Queue, Queues
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.rules import Rules
from phalanx.place.draft import ROWS_MAX
from tests.engine.casting import RACK, member
from tests.engine.stage import ONE, Stage
from tests.testing import named

PORTS = tuple(HostPort(1000 + i, "TCP", "") for i in range(ROWS_MAX + 1))  # more than any request may have
KINDS = ("Gan", "Pod", "Nod", "Que", "Bin", "Sus")


class Fate:
    """A stage on which things happen by chance: to gangs, their pods and nodes, and to what the engine wants done."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.stage = Stage("b1: r1=2,2 r2=2,1")
        self.nodes = dict(self.stage.nodes)
        self.wanted: list[Effect] = []
        self.lives = 0
        self.sent: dict[PodKey, str] = {}
        self.owners = {f"g{i}": self.chance.choice((None, named.owner(f"g{i}"))) for i in range(3)}
        self.makers = {name: Maker(owner) for name, owner in self.owners.items() if owner is not None}
        self.requests = {name: self.request(name) for name in self.owners}
        self.refusing = self.chance.random() < 0.2  # nodes that take nobody
        self.ways: tuple[tuple[Callable[[], list[Event]], int], ...] = (
            (self.gang_seen, 4), (self.gang_edited, 1), (self.gang_gone, 1), (self.gang_spoiled, 1),
            (self.queue_changes, 1), (self.pods_made, 6), (self.pod_changes, 3), (self.pod_gone, 2),
            (self.pods_share_a_fate, 2), (self.node_changes, 1), (self.done, 4), (self.all_done, 6),
            (self.time_passes, 4), (self.maker_changes, 1),
        )  # fmt: skip

    def live(self, steps: int) -> None:
        for _ in range(steps):
            ways = self.chance.choices([way for way, _ in self.ways], [often for _, often in self.ways], k=2)
            events = [event for way in ways for event in way()]
            turn = {kind: self.chance.random() for kind in KINDS}
            events.sort(key=lambda event: turn[type(event).__name__[:3]])  # of one kind they come in order (W-046)
            self.wanted += self.stage.step(*events)
            self.follow(events)

    def follow(self, events: list[Event]) -> None:
        """No pod is sent to a second node while it may still be bound to the first. One that was sent for a gang before
        that of its name is left alone for a while, and then is one of the new gang."""
        left_alone = self.stage.engine.book.predecessors
        refused = {e.key for e in events if isinstance(e, BindAnswered) and e.answer is Answer.REFUSED}
        known = self.stage.engine.states()
        self.sent = {
            key: node
            for key, node in self.sent.items()
            if key not in refused
            and key not in left_alone
            and key in self.stage.pods
            and self.stage.pods[key].gang in known
        }
        for effect in self.stage.last:
            if isinstance(effect, Bind):
                assert self.sent.setdefault(effect.key, effect.node) == effect.node

    # -- gangs ---------------------------------------------------------------------------------------------------

    def request(self, name: str) -> Request:
        pick = self.chance.choice
        rules = Rules(
            enforcement=pick(("Bind", "Gate")),
            on_failure=pick(("None", "ReplacePod", "RestartGang")),
            disruption=pick(("Pod", "Gang")),
        )
        sets = tuple(self.pod_set(one) for one in pick((("a",), ("a", "b"), ("b", "c"))))
        groups = tuple(Group(f"{pods.name}s", (pods,), pick((None, RACK))) for pods in sets)
        root = Group("root", groups, min_members=pick((None, None, 1)))
        return Request("Gang", "default", name, root, "drawn", rules=rules)

    def pod_set(self, name: str) -> PodSet:
        count = self.chance.randint(1, 3)
        return PodSet(name, count, self.chance.randint(1, count), PodShape(ONE))

    def gang_seen(self) -> list[Event]:
        name = self.chance.choice(list(self.requests))
        return [GangSeen(self.requests[name], self.chance.choice((0.0, self.stage.now)), self.owners[name])]

    def gang_edited(self) -> list[Event]:
        name = self.chance.choice(list(self.requests))
        before = self.requests[name]
        edits = (
            replace(before, suspended=not before.suspended),
            replace(self.request(name), rules=before.rules),
            replace(before, root=_with_ports(before.root, self.chance.choice(((), (), PORTS)))),
        )
        self.requests[name] = self.chance.choice(edits)
        return [self.gang_as_it_is(name)]

    def gang_as_it_is(self, name: str) -> Event:
        request, maker = self.requests[name], self.makers.get(name)
        makers = (maker,) if maker is not None and request.rules.enforcement == "Bind" else ()
        return GangSeen(request, 0.0, self.owners[name], makers=makers)

    def maker_changes(self) -> list[Event]:
        """Its user suspends what makes the pods of a gang, or lets it go, or takes our note off it."""
        if not self.makers:
            return []
        name = self.chance.choice(list(self.makers))
        before = self.makers[name]
        changes = (replace(before, suspended=not before.suspended), replace(before, marked=False))
        self.makers[name] = self.chance.choice(changes)
        return [self.gang_as_it_is(name)]

    def gang_gone(self) -> list[Event]:
        return [GangGone(self.chance.choice(list(self.requests.values())).id, self.chance.choice(list(Ending)))]

    def gang_spoiled(self) -> list[Event]:
        return [GangSpoiled(self.chance.choice(list(self.requests.values())).id)]

    def queue_changes(self) -> list[Event]:
        stopped = self.chance.choice(("None", "None", "None", "Hold", "HoldAndDrain"))
        return [QueuesSeen(Queues({"default": Queue("default", stop=stopped)}))]

    # -- pods ----------------------------------------------------------------------------------------------------

    def pods_made(self) -> list[Event]:
        request = self.chance.choice(list(self.requests.values()))
        made: list[Event] = []
        for pods in request.root.pod_sets():
            there = {pod.rank for pod in self.of(request) if pod.pod_set == pods.name and not pod.ended}
            for rank in [one for one in range(pods.count) if one not in there]:
                self.lives += 1
                gated = request.rules.enforcement == "Gate"
                pod = member(request, pods.name, rank, self.lives, gated)
                name = pod.key.uid  # as Jobs name their pods: no name is used twice
                running = replace(pod.running, name=name)
                made.append(self.see(replace(pod, key=replace(pod.key, name=name), running=running)))
        return made

    def pod_changes(self) -> list[Event]:
        if not self.stage.pods:
            return []
        pod = self.chance.choice(list(self.stage.pods.values()))
        if pod.ended:
            return [PodSeen(replace(pod, ready=not pod.ready))]
        node = pod.node or self.chance.choice(list(self.nodes))
        somewhere = replace(pod, running=replace(pod.running, node=node), phase="Running", gated=False)
        sent_late = pod.gated and not pod.node  # by a write of a scheduler before this one
        pinned = replace(pod, gated=False, pinned=node) if sent_late else pod
        changes = (
            pinned, replace(pod, leaving=True), replace(pod, ready=not pod.ready), replace(pod, phase="Unknown"),
            somewhere, replace(pod, phase="Failed"), replace(somewhere, phase="Failed"),
            replace(somewhere, phase="Succeeded"),
        )  # fmt: skip
        return [self.see(self.chance.choice(changes))]

    def pods_share_a_fate(self) -> list[Event]:
        """All pods of a gang succeed, are ready or go."""
        request = self.chance.choice(list(self.requests.values()))
        fate = self.chance.choice(("Succeeded", "Running", "gone"))
        if fate == "gone":
            return [self.go(pod.key) for pod in self.of(request)]
        return [
            self.see(replace(pod, phase=fate, ready=True)) for pod in self.of(request) if pod.node and not pod.ended
        ]

    def pod_gone(self) -> list[Event]:
        return [self.go(self.chance.choice(list(self.stage.pods)))] if self.stage.pods else []

    def of(self, request: Request) -> list[Pod]:
        return [pod for pod in self.stage.pods.values() if pod.gang == request.id]

    def see(self, pod: Pod) -> Event:
        self.stage.pods[pod.key] = pod
        return PodSeen(pod)

    def go(self, key: PodKey) -> Event:
        self.stage.pods.pop(key, None)
        return PodGone(key)

    # -- the world around ----------------------------------------------------------------------------------------

    def node_changes(self) -> list[Event]:
        node = self.chance.choice(list(self.nodes.values()))
        moved = replace(node, labels={**node.labels, "topology/rack": self.chance.choice(("r1", "r2"))})
        changes: tuple[Event, ...] = (NodeGone(node.name), NodeSeen(node), NodeSeen(node), NodeSeen(moved))
        return [self.chance.choice(changes)]

    def time_passes(self) -> list[Event]:
        self.stage.now += self.chance.choice((1, 5, 30, 70, 400, 700, -50))
        return []

    def maker_suspended(self, gang: str, name: str) -> list[Event]:
        """It deletes its pods, unless it may not be suspended."""
        if self.chance.random() < 0.2 or name not in self.makers:
            return [SuspendRefused(gang)]
        if not self.makers[name].suspended:
            self.makers[name] = replace(self.makers[name], suspended=True, marked=True)
        gone = [self.go(pod.key) for pod in list(self.stage.pods.values()) if pod.gang == gang]
        return [self.gang_as_it_is(name), *gone]

    def all_done(self) -> list[Event]:
        return [event for _ in range(len(self.wanted)) for event in self.done()]

    def done(self) -> list[Event]:
        """One thing that the engine wanted is done, or goes wrong."""
        if not self.wanted:
            return []
        effect = self.wanted.pop(self.chance.randrange(len(self.wanted)))
        name = getattr(effect, "gang", "").partition("/")[2]
        if isinstance(effect, Suspend) and self.requests[name].rules.enforcement == "Bind":
            return self.maker_suspended(effect.gang, name)
        if isinstance(effect, Resume) and not effect.gated:
            self.makers[name] = replace(self.makers[name], suspended=False, marked=False)
            return [self.gang_as_it_is(name)]
        if isinstance(effect, Suspend):
            return [self.go(pod.key) for pod in list(self.stage.pods.values()) if pod.gang == effect.gang]
        if not isinstance(effect, Bind | Ungate | Evict) or effect.key not in self.stage.pods:
            return []
        if isinstance(effect, Evict):
            pod = replace(self.stage.pods[effect.key], leaving=True)
            return [self.go(effect.key) if self.chance.random() < 0.5 else self.see(pod)]
        pod = self.stage.pods[effect.key]
        if isinstance(effect, Ungate):
            pinned = dict(effect.selector)["kubernetes.io/hostname"]
            return [self.see(replace(pod, gated=False, pinned=pinned))]
        usual = Answer.REFUSED if self.refusing else Answer.BOUND
        answer = self.chance.choice((*Answer, usual, usual, usual, usual, usual))
        events: list[Event] = [BindAnswered(effect.key, effect.node, answer)]
        if answer is Answer.BOUND and not pod.node and not pod.ended:
            on = replace(pod, running=replace(pod.running, node=effect.node), phase="Running")
            events.append(self.see(replace(on, ready=self.chance.random() < 0.7)))
        return events


def _with_ports(group: Group, ports: tuple[HostPort, ...]) -> Group:
    members = tuple(
        _with_ports(one, ports) if isinstance(one, Group) else replace(one, shape=replace(one.shape, ports=ports))
        for one in group.members
    )
    return replace(group, members=members)


@pytest.mark.parametrize("part", range(2))
def test_nothing_that_happens_stops_the_engine(part: int) -> None:
    for seed in range(part * 60, part * 60 + 60):
        Fate(seed).live(80)


def test_chance_leads_through_nearly_the_whole_table() -> None:
    seen: set[tuple[str, str]] = set()
    for seed in range(120, 240):
        fate = Fate(seed)
        fate.live(80)
        states: dict[str, str] = {}
        for effect in fate.stage.effects:
            if isinstance(effect, Report) and effect.cause:
                seen.add((states.get(effect.gang, State.QUEUED), effect.cause))
                states[effect.gang] = effect.state
    rows = {(state, cause.name) for state, row in TABLE.items() for cause in row}
    assert len(rows - seen) < len(rows) / 10, sorted(rows - seen)
