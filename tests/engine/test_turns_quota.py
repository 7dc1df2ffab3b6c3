"""What counts in which queue and flavor, and who may start within what is left of it."""

from dataclasses import replace

import pytest

from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.model.events import GangSeen, NodeSeen, PodSeen, QueuesSeen, TopologiesSeen
from phalanx.model.nodes import PodShape
from phalanx.model.queues import Flavor, Queue, Queues, Quota
from phalanx.model.reasons import FullQuota, Reason, Why
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU
from tests.engine.casting import members, see
from tests.engine.stage import ONE, Stage
from tests.engine.test_engine import in_queue, limited, queued, reason

# -- queues ------------------------------------------------------------------------------------------------------


def test_a_gang_that_runs_and_moves_to_another_queue_makes_room_in_the_one_it_leaves() -> None:  # K-112
    stage = Stage("b1: r1=8")
    queued(stage, limited("q", 2), limited("r", 8))
    stage.run(in_queue("one", "q"))
    stage.submit(in_queue("two", "q"))
    assert reason(stage, "two") is Why.OVER_QUOTA
    stage.step(GangSeen(in_queue("one", "r"), 0))
    assert (stage.state("one"), stage.state("two")) == (State.RUNNING, State.BINDING)


def test_quota_of_a_gang_that_is_forgotten_is_for_others_in_the_same_step() -> None:
    """It was deleted while a bind was under way that nobody ever heard of."""
    stage = Stage("b1: r1=4")
    queued(stage, limited("q", 2))
    stage.submit(in_queue("one", "q"))
    stage.submit(in_queue("two", "q"))
    stage.after(20)
    stage.delete(in_queue("one", "q"))
    while stage.state("one") is not None:
        assert stage.engine.next_at is not None
        stage.now = max(stage.now, stage.engine.next_at)
        stage.step()
    assert stage.state("two") is State.BINDING


# -- what is told of it ------------------------------------------------------------------------------------------


def told(stage: Stage, name: str) -> Reason:
    found = stage.engine.book.gangs[f"default/{name}"].reason
    assert found is not None
    return found


def gpus(queue: str, asked: int, used: int, limit: int, *held_by: str) -> FullQuota:
    return FullQuota(queue, None, GPU, asked * NANO, used * NANO, limit * NANO, held_by)


def test_who_is_over_quota_is_told_the_figures_and_who_holds_most_of_it() -> None:  # K-060
    stage = Stage("b1: r1=32")
    queued(stage, limited("q", 12), limited("r", 9))
    stage.run(in_queue("elsewhere", "r", count=9))
    for name, count in (("c", 2), ("d", 1), ("a", 2), ("b", 5)):
        stage.run(in_queue(name, "q", count=count))
    stage.submit(in_queue("late", "q", count=4))
    assert told(stage, "late").quotas == (gpus("q", 4, 10, 12, "default/b", "default/a", "default/c"),)
    assert told(stage, "late").ends_with_others


def test_the_queue_above_is_named_where_it_is_that_one() -> None:
    stage = Stage("b1: r1=32")
    queued(stage, limited("all", 6), limited("q", 6, parent="all"), Queue("r", parent="all"))
    stage.run(in_queue("one", "r", count=4))
    stage.submit(in_queue("two", "q", count=4))
    assert told(stage, "two").quotas == (gpus("all", 4, 4, 6, "default/one"),)


def test_a_quota_that_is_too_small_whoever_leaves_is_told_first() -> None:
    stage = Stage("b1: r1=32")
    queued(stage, limited("all", 3), limited("q", 6, parent="all"))
    stage.run(in_queue("one", "q", count=3))
    stage.submit(in_queue("two", "q", count=4))
    full = told(stage, "two").quotas
    assert [(one.queue, one.is_too_small) for one in full] == [("all", True), ("q", False)]
    assert not told(stage, "two").ends_with_others


def test_who_can_do_without_some_is_told_of_the_least_it_needs() -> None:
    stage = Stage("b1: r1=32")
    queued(stage, Queue("q", quotas=(Quota(None, GPU, 5 * NANO), Quota(None, PODS, 5 * NANO))))
    stage.run(in_queue("one", "q", count=3))
    few = PodSet("few", 1, 1, PodShape(Resources.of({GPU: 4 * NANO, PODS: NANO})))
    root = Group("two", (few, PodSet("many", 4, 4, PodShape(Resources.of({PODS: NANO})))), min_members=1)
    request = Request("Gang", "default", "two", root, "drawn", queue="q")
    stage.step(GangSeen(request, 0))
    see(stage, *members(request))  # one needs too many pods, the other one too many GPUs
    (full,) = told(stage, "two").quotas
    assert (full.resource, full.asked, full.used, full.limit) == (PODS, 4 * NANO, 3 * NANO, 5 * NANO)
    assert told(stage, "two").ends_with_others


def test_the_figures_are_those_of_the_last_look() -> None:
    stage = Stage("b1: r1=32")
    queued(stage, limited("q", 6))
    (small,) = stage.run(in_queue("small", "q", count=1))
    stage.run(in_queue("one", "q", count=4))
    stage.submit(in_queue("two", "q", count=4))
    assert told(stage, "two").quotas == (gpus("q", 4, 5, 6, "default/one", "default/small"),)
    stage.succeed(small)
    assert told(stage, "two").quotas == (gpus("q", 4, 4, 6, "default/one"),)


def test_the_flavor_of_what_is_short_is_told() -> None:
    stage = pooled()
    queued(stage, FLAVORED, fa=FA)
    stage.run(in_queue("one", "q", count=2))
    stage.submit(in_queue("two", "q", count=1))
    (full,) = told(stage, "two").quotas
    assert (full.flavor, full.asked, full.used, full.held_by) == ("fa", NANO, 2 * NANO, ("default/one",))


def test_of_two_flavors_the_one_that_may_come_free_is_told_first() -> None:
    stage = pooled()
    quotas = (Quota("fa", GPU, 3 * NANO), Quota("fb", GPU, 1 * NANO))
    queued(stage, Queue("q", quotas=quotas), fa=FA, fb=Flavor("fb", (("pool", "b"),)))
    stage.run(in_queue("one", "q", count=2))
    stage.submit(in_queue("two", "q", count=2))
    full = told(stage, "two").quotas
    assert [(one.flavor, one.is_too_small) for one in full] == [("fa", False), ("fb", True)]
    assert told(stage, "two").ends_with_others


# -- flavors -----------------------------------------------------------------------------------------------------

FLAVORED = Queue("q", quotas=(Quota("fa", GPU, 2 * NANO),))
FA = Flavor("fa", (("pool", "a"),))


def pooled() -> Stage:
    stage = Stage("b1: r1=8")
    for name, node in list(stage.nodes.items()):
        stage.nodes[name] = replace(node, labels={**node.labels, "pool": "a"})
        stage.step(NodeSeen(stage.nodes[name]))
    return stage


def test_who_runs_when_a_flavor_gets_a_quota_counts_in_it() -> None:  # K-060
    stage = pooled()
    queued(stage, Queue("q"))
    stage.run(in_queue("one", "q"))
    queued(stage, FLAVORED, fa=FA)
    stage.submit(in_queue("two", "q"))
    assert (stage.state("one"), reason(stage, "two")) == (State.RUNNING, Why.OVER_QUOTA)


def test_who_runs_and_moves_to_a_queue_with_flavors_counts_in_the_one_it_is_on() -> None:  # K-060
    stage = pooled()
    queued(stage, Queue("p"), FLAVORED, fa=FA)
    stage.run(in_queue("one", "p"))
    stage.step(GangSeen(in_queue("one", "q"), 0))
    stage.submit(in_queue("two", "q"))
    assert (stage.state("one"), reason(stage, "two")) == (State.RUNNING, Why.OVER_QUOTA)


def test_it_does_not_matter_whether_queues_or_gangs_are_told_first() -> None:
    stage, request = pooled(), in_queue("one", "q")
    queued(stage, FLAVORED, fa=FA)
    stage.run(request)
    again = Engine()
    nodes = [NodeSeen(node) for node in stage.nodes.values()]
    pods = [PodSeen(pod) for pod in stage.pods.values()]
    again.step([TopologiesSeen(stage.topologies), *nodes, GangSeen(request, 0), *pods], 0.0)
    again.step([QueuesSeen(Queues({"q": FLAVORED}, {"fa": FA}))], 0.0)
    assert dict(again.turns.usage) == dict(stage.engine.turns.usage)


# -- members that may stay out -----------------------------------------------------------------------------------


def groups(least: int, **sizes: int) -> Request:
    """A gang of groups, of which so many have to start."""
    parts = tuple(Group(f"{name}s", (PodSet(name, size, size, PodShape(ONE)),)) for name, size in sizes.items())
    return Request("Gang", "default", "g", Group("root", parts, min_members=least), "drawn", queue="q")


def started(stage: Stage) -> dict[str, int]:
    return {name: len(listed) for name, listed in stage.engine.book.gangs["default/g"].slots.items() if listed}


@pytest.mark.parametrize(
    ("gpus", "least", "sizes", "start"),
    [
        (2, 1, {"x": 2, "y": 2}, {"x": 2}),
        (4, 1, {"x": 2, "y": 2}, {"x": 2, "y": 2}),
        (4, 1, {"x": 2, "y": 2, "z": 2}, {"x": 2, "y": 2}),
        (2, 2, {"x": 1, "y": 2, "z": 1}, {"x": 1, "z": 1}),
        (3, 1, {"x": 4, "y": 2, "z": 1}, {"y": 2, "z": 1}),
    ],
)
def test_groups_that_may_stay_out_do_where_there_is_quota_for_the_others(
    gpus: int, least: int, sizes: dict[str, int], start: dict[str, int]
) -> None:
    stage, request = Stage("b1: r1=9"), groups(least, **sizes)
    queued(stage, limited("q", gpus))
    stage.step(GangSeen(request, 0))
    see(stage, *members(request))
    assert (stage.state(), started(stage)) == (State.BINDING, start)


def test_a_group_that_stayed_out_for_want_of_quota_starts_when_there_is_some() -> None:
    stage, request = Stage("b1: r1=9"), groups(1, x=2, y=2)
    queued(stage, limited("q", 2))
    stage.step(GangSeen(request, 0))
    see(stage, *members(request))
    stage.carry_out()
    assert (stage.state(), started(stage)) == (State.RUNNING, {"x": 2})
    queued(stage, limited("q", 4))
    stage.carry_out()
    assert started(stage) == {"x": 2, "y": 2}


def test_a_gang_with_quota_for_none_of_its_groups_waits() -> None:
    stage, request = Stage("b1: r1=9"), groups(1, x=2, y=2)
    queued(stage, limited("q", 1))
    stage.step(GangSeen(request, 0))
    see(stage, *members(request))
    assert (stage.state(), reason(stage)) == (State.QUEUED, Why.OVER_QUOTA)
