"""Gangs of which only the first pods are made at once, and the others when those have nodes."""

from dataclasses import replace

from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind, Resume, Ungate
from phalanx.model.events import GangSeen
from phalanx.model.nodes import PodShape
from phalanx.model.reasons import Why
from phalanx.model.request import Group, PodSet, Ranks, Request
from phalanx.model.rules import Rules
from tests.engine.casting import RACK, domains, free, member, members, nodes_of, see, state_of
from tests.engine.stage import ONE, Stage, gang
from tests.testing import named

BOTH = {"w[0]": 1, "w[1]": 1}  # the leaders


def jobs(pods: int = 3, rules: Rules = Rules()) -> Request:
    """Two Jobs, each in a rack, whose pods but the first are made when that one has a node."""
    each = tuple(
        Group(f"w[{i}].", (PodSet(f"w[{i}]", pods, pods, PodShape(ONE), first=1),), RACK, ranks=Ranks()) for i in (0, 1)
    )
    return Request("JobSet", "default", "train", Group("root", each), "drawn", rules=rules)


def followers(request: Request) -> list[tuple[str, int]]:
    return [(pods.name, number) for pods in request.root.pod_sets() for number in range(1, pods.count)]


def test_the_first_pods_start_when_there_is_room_for_all_and_the_others_follow_into_it() -> None:
    stage, train = Stage("b1: r1=4 r2=4"), jobs()
    stage.step(GangSeen(train, 0))
    see(stage, member(train, "w[0]", 0))
    assert stage.engine.book.gangs[train.id].reason.type is Why.PODS_MISSING  # type: ignore[union-attr]
    see(stage, member(train, "w[1]", 0))
    stage.carry_out()
    assert state_of(stage, train) is State.BINDING
    assert sum(free(stage).values()) == 8 - 6
    see(stage, *(member(train, name, number) for name, number in followers(train)))
    stage.carry_out()
    assert state_of(stage, train) is State.RUNNING
    for name in BOTH:
        assert len(domains(stage, nodes_of(stage, train, name), "rack")) == 1


def test_the_first_pods_wait_where_the_others_would_find_no_room() -> None:
    stage, train = Stage("b1: r1=4 r2=2"), jobs()
    stage.step(GangSeen(train, 0))
    effects = see(stage, *members(train, **BOTH))
    assert not [one for one in effects if isinstance(one, Bind)]
    assert stage.engine.book.gangs[train.id].reason.type is not Why.PODS_MISSING  # type: ignore[union-attr]


def test_the_room_of_those_who_are_to_come_is_taken() -> None:
    stage, train = Stage("b1: r1=3 r2=3"), jobs()
    stage.step(GangSeen(train, 0))
    see(stage, *members(train, **BOTH))
    stage.carry_out()
    other = gang("other", 2)
    stage.step(GangSeen(other, 1))
    see(stage, *members(other))
    assert state_of(stage, other) is State.QUEUED


def test_a_gang_whose_others_never_come_leaves_whole() -> None:
    stage, train = Stage("b1: r1=4 r2=4"), jobs()
    stage.step(GangSeen(train, 0))
    see(stage, *members(train, **BOTH))
    stage.carry_out()
    stage.now = train.rules.schedule + 1
    stage.step()
    assert state_of(stage, train) is State.EVICTING


def test_gates_come_off_the_first_pods_that_a_resumed_owner_makes() -> None:
    stage, train = Stage("b1: r1=4 r2=4"), jobs(rules=Rules(enforcement="Gate"))
    effects = stage.step(GangSeen(train, 0, named.owner("train", "JobSet")))
    assert [one for one in effects if isinstance(one, Resume)]
    effects = see(stage, *(replace(one, gated=True) for one in members(train, **BOTH)))
    assert sorted(one.key.name for one in effects if isinstance(one, Ungate)) == ["train--w[0]-0", "train--w[1]-0"]


def test_after_a_restart_the_others_find_places_near_the_first() -> None:
    stage, train = Stage("b1: r1=4 r2=4"), jobs()
    nodes = {"w[0]": "r1", "w[1]": "r2"}
    there = [
        replace(one, running=replace(one.running, node=home(stage, nodes[one.pod_set or ""])))
        for one in members(train, **BOTH)
    ]
    stage.step(GangSeen(train, 0))
    see(stage, *there)
    see(stage, *(member(train, name, number) for name, number in followers(train)))
    stage.carry_out()
    for name, rack in nodes.items():
        assert {rack for (rack,) in domains(stage, nodes_of(stage, train, name), "rack")} == {rack}
        assert len([node for node in nodes_of(stage, train, name) if node]) == 3


def home(stage: Stage, rack: str) -> str:
    return next(name for name, node in stage.nodes.items() if node.labels["topology/rack"] == rack)
