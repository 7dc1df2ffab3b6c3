"""What is raised while one gang is reacted to or decided stays with it: the others go on, and nothing is half done."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from phalanx.engine import decide, views
from phalanx.engine.book import Unbooked
from phalanx.engine.border import AGAIN_SECONDS
from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.engine.mending import Mending
from phalanx.engine.reactions import Reactions
from phalanx.engine.turns import Turns
from phalanx.model.effects import Bind, Evict, Report
from phalanx.model.events import BindUnderWay, Event, GangSeen, NodeSeen, PodSeen, TopologiesSeen
from phalanx.model.nodes import RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Request
from phalanx.place import verify
from tests.engine.stage import Stage, gang

STARTS = {  # where something is raised, before or after what is done there was done
    "Engine._take_stock": Engine, "Engine._look": Engine, "Engine._start": Engine, "Engine.decide": Engine,
    "Engine.rebook": Engine, "Reactions.react": Reactions, "Reactions.release": Reactions, "Reactions._tidy": Reactions,
    "Turns.book_use": Turns, "Turns.ways": Turns,
}  # fmt: skip
PLACES = {**STARTS, "Mending.mend": Mending}


class Trap:
    """Raises where it is set, as often as it is asked about the gang ``poison``."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.is_set, self.sprung = True, 0

    def at(self, place: str, late: bool) -> None:
        owner, name = PLACES[place], place.partition(".")[2]
        real: Callable[..., Any] = getattr(owner, name)

        def trapped(*given: Any) -> Any:
            if self.is_set and _is_poison(given[1]) and not late:
                self._spring()
            done = real(*given)
            if self.is_set and _is_poison(given[1]) and late:
                self._spring()
            return done

        self._patch.setattr(owner, name, trapped)

    def _spring(self) -> None:
        self.sprung += 1
        raise KeyError("planted")


def _is_poison(asked: Any) -> bool:
    return bool(asked.id == "default/poison")


def pods(request: Request, count: int) -> list[Pod]:
    (pod_set,) = request.root.pod_sets()
    found = []
    for rank in range(count):
        name = f"{request.name}-{rank}"
        running = RunningPod(name, "default", "", pod_set.shape.requests)
        found.append(Pod(PodKey("default", name, f"{name}.0"), running, request.id, pod_set.name, rank))
    return found


def told(stage: Stage, request: Request, count: int) -> list[Event]:
    """A gang and its pods, as they come in one step."""
    found = pods(request, count)
    stage.pods |= {pod.key: pod for pod in found}
    return [GangSeen(request, stage.now), *(PodSeen(pod) for pod in found)]


def bound(stage: Stage) -> list[str]:
    return sorted(one.key.name for one in stage.last if isinstance(one, Bind))


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("place", STARTS)
def test_what_is_raised_about_one_gang_that_starts_harms_no_other(
    place: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap, stage = Trap(monkeypatch), Stage("b1: r1=4,4 r2=4,4")
    trap.at(place, late)
    poison, good = gang("poison", 4, required=2), gang("good", 4, required=2)
    stage.step(*told(stage, poison, 4), *told(stage, good, 4))
    assert bound(stage) == [f"good-{rank}" for rank in range(4)]
    assert stage.engine.tripped()["default/poison"].line == "KeyError: 'planted'"
    assert "planted" in stage.engine.tripped()["default/poison"].trace
    assert not [one for one in stage.effects if isinstance(one, Report) and one.gang == "default/poison"]
    stage.carry_out()
    assert stage.state("good") is State.RUNNING
    sprung = trap.sprung
    stage.after(60)
    stage.after(60)
    assert trap.sprung == sprung, "it is left alone until something happens to it"
    trap.is_set = False
    stage.see(replace(stage.pods[pods(poison, 1)[0].key], phase="Pending", gated=True))
    stage.see(replace(stage.pods[pods(poison, 1)[0].key], phase="Pending", gated=False))
    stage.carry_out()
    stage.after(31)  # for what had been asked for, and was not sent
    stage.carry_out()
    assert stage.engine.tripped() == {}
    assert stage.state("poison") is State.RUNNING
    assert all(stage.where("poison"))
    assert not [one for one in stage.effects if isinstance(one, Evict)]
    assert stage.engine.turns.usage.audit(stage.engine.turns.held()) == ()


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("place", ["Reactions.react", "Reactions._tidy", "Mending.mend"])
def test_what_is_raised_about_a_gang_that_runs_leaves_it_where_it_is(
    place: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage("b1: r1=4,4")
    poison = gang("poison", 4)
    mine = stage.run(poison)
    trap = Trap(monkeypatch)
    trap.at(place, late)
    stage.fail(mine[0])
    assert trap.sprung == 1 and stage.engine.tripped()
    stage.lose(mine[0])
    assert trap.sprung == 2, "it is tried again when something happens to it"
    assert stage.state("poison") is State.RUNNING, "nobody moved it"
    others = stage.run(gang("good", 4))
    assert all(pod.node for pod in others)
    trap.is_set = False
    stage.after(AGAIN_SECONDS)
    assert stage.engine.tripped() == {}
    assert stage.state("poison") is State.DEGRADED
    stage.pod(poison, 0, life=1)
    stage.carry_out()
    assert stage.state("poison") is State.RUNNING
    assert not [one for one in stage.effects if isinstance(one, Evict)]


def test_a_placement_that_breaks_a_rule_is_used_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    real = verify.quick

    def judge(*given: Any) -> list[str]:
        return ["node n is over its capacity"] if given[2].name == "poison" else real(*given)

    monkeypatch.setattr(decide.verify, "quick", judge)
    stage = Stage("b1: r1=4,4")
    stage.step(*told(stage, gang("poison", 2), 2), *told(stage, gang("good", 2), 2))
    assert bound(stage) == ["good-0", "good-1"]
    assert stage.engine.tripped()["default/poison"].line == "BrokenRule: node n is over its capacity"


def test_what_was_raised_is_seen_on_the_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    trap, stage = Trap(monkeypatch), Stage("b1: r1=4")
    trap.at("Engine._look", late=False)
    stage.step(*told(stage, gang("poison", 2), 2))
    seen = views.of_all(stage.engine.book, ["default/poison"])["default/poison"]
    assert seen.mishap is not None and seen.mishap.line == "KeyError: 'planted'"
    assert stage.engine.border.changed == {"default/poison"}
    assert stage.engine.next_at == stage.now + AGAIN_SECONDS


def test_a_gang_that_is_set_aside_can_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    trap, stage = Trap(monkeypatch), Stage("b1: r1=4")
    trap.at("Engine._look", late=False)
    poison = gang("poison", 2)
    stage.step(*told(stage, poison, 2))
    stage.delete(poison)
    assert stage.engine.states() == {} and stage.engine.tripped() == {}


def test_an_error_that_is_of_no_gang_goes_on_and_names_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    def trip(*_: object) -> None:
        raise ValueError("planted")

    stage = Stage("b1: r1=4")
    monkeypatch.setattr(stage.engine.book, "_take_in", trip)
    event = PodSeen(pods(gang("g", 1), 1)[0])
    with pytest.raises(Unbooked, match="PodSeen could not be applied") as caught:
        stage.step(event)
    assert caught.value.event == event


def test_a_board_that_cannot_be_made_is_no_fault_of_one_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    def trip(*_: object) -> None:
        raise ValueError("planted")

    stage = Stage("b1: r1=4")
    monkeypatch.setattr(type(stage.engine.book.board), "draft", trip)
    with pytest.raises(ValueError, match="planted"):
        stage.step(*told(stage, gang("g", 1), 1))


# -- binds that were asked for before --------------------------------------------------------------------------------


def test_an_engine_that_begins_anew_goes_on_with_binds_under_way() -> None:
    stage = Stage("b1: r1=2 r2=2 r3=2")
    request = gang("g", 2, required=2)
    found = stage.submit(request)
    before = {one.key: one.node for one in stage.effects if isinstance(one, Bind)}
    on_their_way = stage.engine.under_way()
    assert {one.key: one.node for one in on_their_way} == before and len(before) == 2
    stage.engine = stage.engine.anew()
    nodes = [NodeSeen(node) for node in reversed(stage.nodes.values())]
    everything = [TopologiesSeen(stage.topologies), *nodes, GangSeen(request, 0.0), *(PodSeen(pod) for pod in found)]
    stage.step(*everything, *on_their_way)
    assert stage.state() is State.BINDING
    assert bound(stage) == [], "they may be bound any moment"
    assert stage.engine.next_at == 5.0
    stage.after(5)
    assert {one.key: one.node for one in stage.last if isinstance(one, Bind)} == before, "asked for again, the same"
    stage.carry_out()
    assert stage.state() is State.RUNNING
    assert not [one for one in stage.effects if isinstance(one, Evict)]


def test_a_bind_under_way_of_a_pod_that_is_gone_or_has_its_node_means_nothing() -> None:
    stage = Stage("b1: r1=2")
    request = gang("g", 1)
    (pod,) = stage.run(request)
    stage.step(BindUnderWay(pod.key, "elsewhere", 0.0), BindUnderWay(PodKey("default", "gone", "x"), "r1", 0.0))
    assert stage.state() is State.RUNNING and stage.engine.under_way() == []


def test_a_pod_that_names_another_gang_by_now_is_left_alone_when_the_one_it_was_sent_for_is_made_anew() -> None:
    """It was sent to a node for the first, and is no member of the other one until it is known what becomes of it."""
    stage = Stage("b1: r1=2,2")
    first, other = gang("g", 2), gang("other", 2)
    stage.step(GangSeen(first, 0.0, uid="a"), GangSeen(other, 0.0, uid="o"))
    sent = [stage.pod(first, rank) for rank in range(2)]
    assert len(stage.engine.under_way()) == 2
    for pod in sent:
        stage.see(replace(pod, gang=other.id))
    stage.step(GangSeen(first, 0.0, uid="b"))
    assert stage.engine.tripped() == {} and stage.engine.book.audit() == []
    stage.after(1)
    assert stage.engine.tripped() == {}
    assert stage.state("other") is State.QUEUED
    stage.after(30)
    stage.carry_out()
    assert stage.engine.tripped() == {} and stage.state("other") is State.RUNNING
