"""Advice: what would help a gang that waits is looked for once, and told for as long as it is true."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from phalanx.decider.advice import AGAIN_SECONDS, Advice
from phalanx.engine import views
from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.kube import status
from phalanx.model.effects import Effect
from phalanx.model.events import Event, GangSeen, NodeSeen, PodSeen
from phalanx.model.nodes import RunningPod
from phalanx.model.pods import Pod, PodKey
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU
from phalanx.sim import scenarios
from phalanx.sim.run import run
from tests.engine.casting import RACK
from tests.engine.stage import Stage, gang


@dataclass
class Adviser:
    """An Advice on a stage, on a clock that moves by itself a second at every look."""

    stage: Stage
    now: float = 0.0
    looks: float = 0.0
    advice: Advice = field(init=False)

    def __post_init__(self) -> None:
        self.advice = Advice(self.stage.engine, self._clock)

    def _clock(self) -> float:
        self.now += self.looks
        return self.now

    def follow(self, *names: str) -> dict[str, View]:
        """As a decider does after a step that these were concerned in."""
        engine, ids = self.stage.engine, [f"default/{name}" for name in names]
        return self.advice.follow(ids, views.of_all(engine.book, ids), engine.decisions)


def changes(view: View | None) -> list[str]:
    return [] if view is None else [out.change for out in view.ways_out]


def waiting(drawing: str = "b1: r1=2 r2=2", count: int = 4) -> Adviser:
    """A gang that wants one rack, where only a block has the room."""
    adviser = Adviser(Stage(drawing))
    adviser.stage.submit(gang(count=count, required=RACK))
    adviser.follow("g")
    return adviser


def stranger(name: str, node: str, gpus: int, *, daemon: bool = False) -> Pod:
    requests = Resources.of({GPU: gpus * NANO, PODS: NANO})
    return Pod(PodKey("other", name, f"{name}.0"), RunningPod(name, "other", node, requests), daemon=daemon)


def test_a_gang_that_waits_for_room_is_told_once_what_would_help() -> None:
    adviser = waiting()
    assert adviser.advice.rest == 0.0
    view = adviser.advice.give()
    assert view is not None and changes(view)[0] == "w.topology.required: block"
    assert status.sentence(view).endswith(" would hold 4: requiring the block instead of the rack starts it now.")
    assert adviser.advice.rest == AGAIN_SECONDS


def test_it_is_seen_with_its_advice_for_as_long_as_its_reason_is_the_same() -> None:
    adviser = waiting()
    told = adviser.advice.give()
    assert changes(adviser.follow("g")["default/g"]) == changes(told)


def test_another_reason_asks_for_other_advice() -> None:
    adviser = waiting("b1: r1=2 r2=2 | b2: r1=2", count=4)
    assert "w.topology.required: block" in changes(adviser.advice.give())
    larger = gang(count=6, required=RACK)
    adviser.stage.step(GangSeen(larger, 0.0), *(PodSeen(adviser.stage.pod(larger, rank)) for rank in (4, 5)))
    assert changes(adviser.follow("g")["default/g"]) == []
    adviser.now += AGAIN_SECONDS
    assert "w.topology.required: block" not in changes(adviser.advice.give())


def test_what_was_found_is_looked_at_again_and_taken_back_where_it_is_not_true_any_more() -> None:
    adviser = waiting("b1: r1=2 r2=2 | b2: r1=1", count=4)
    assert changes(adviser.advice.give())[0] == "w.topology.required: block"
    adviser.stage.step(PodSeen(stranger("p", "b1-r2-1", 1)))  # the best rack is as good as it was
    assert changes(adviser.follow("g")["default/g"])
    assert adviser.advice.give() is None
    adviser.now += AGAIN_SECONDS
    assert "w.topology.required: block" not in changes(adviser.advice.give())


def test_a_gang_that_is_gone_is_not_advised() -> None:
    for is_known in (False, True):
        adviser = waiting()
        assert not is_known or adviser.advice.give() is not None
        adviser.stage.delete(gang(count=4, required=RACK))
        adviser.follow("g")
        assert adviser.advice.rest is None and adviser.advice.give() is None


def test_a_gang_that_starts_is_not_advised() -> None:
    adviser = waiting()
    node = adviser.stage.nodes["b1-r1-1"]
    room = Resources.of({GPU: 4 * NANO, PODS: 100 * NANO})
    adviser.stage.step(NodeSeen(replace(node, allocatable=room)))
    assert adviser.follow("g")["default/g"].state is State.BINDING
    assert adviser.advice.rest is None


def test_nobody_is_advised_who_waits_for_something_else_than_room() -> None:
    adviser = Adviser(Stage("b1: r1=2"))
    adviser.stage.submit(gang(count=4), pods=1)
    adviser.follow("g")
    assert adviser.advice.rest is None


def test_advice_takes_a_tenth_of_the_time_at_most() -> None:
    adviser = Adviser(Stage("b1: r1=2 r2=2"))
    for name in ("g", "h"):
        adviser.stage.submit(gang(name, count=4, required=RACK))
        adviser.follow(name)
    adviser.looks = 1.0
    assert adviser.advice.give() is not None
    adviser.looks = 0.0
    rest = adviser.advice.rest
    assert rest is not None and rest >= 8.0
    assert adviser.advice.give() is None
    adviser.now += rest
    assert adviser.advice.give() is not None


def test_a_pod_of_nobody_is_waited_for_by_its_name() -> None:
    adviser = Adviser(Stage("b1: r1=2"))
    adviser.stage.step(PodSeen(stranger("p", "b1-r1-1", 1)))
    adviser.stage.submit(gang(count=2))
    adviser.follow("g")
    assert "wait for other/p" in changes(adviser.advice.give())


def test_a_pod_that_was_made_for_its_node_is_not_waited_for() -> None:
    adviser = Adviser(Stage("b1: r1=2"))
    adviser.stage.step(PodSeen(stranger("p", "b1-r1-1", 1, daemon=True)))
    adviser.stage.submit(gang(count=2))
    adviser.follow("g")
    assert not [change for change in changes(adviser.advice.give()) if change.startswith("wait for")]


class Advised(Engine):
    """An engine that is asked after every step what would help those who wait."""

    def step(self, events: Iterable[Event], now: float, jitter: float = 0.0) -> tuple[Effect, ...]:
        effects = super().step(events, now, jitter)
        advice, ids = Advice(self, lambda: 0.0), list(self.book.gangs)
        advice.follow(ids, views.of_all(self.book, ids), self.decisions)
        before = self.book.board.free(self.book.nodes)
        while advice.rest == 0.0:
            advice.give()
        assert self.book.board.free(self.book.nodes) == before
        return effects


@pytest.mark.parametrize("seed", range(3))
def test_advice_changes_nothing_in_any_world(seed: int) -> None:
    plain, advised = (run(scenarios.drawn(seed), make) for make in (Engine, Advised))
    assert (advised.steps, advised.effects, advised.ended) == (plain.steps, plain.effects, plain.ended)
