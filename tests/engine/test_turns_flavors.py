"""Flavors that are not there, that come late, and that only others need."""

from dataclasses import replace

import pytest

from phalanx.engine.lifecycle import State
from phalanx.model.events import GangSeen, NodeSeen
from phalanx.model.nodes import PodShape
from phalanx.model.queues import Flavor, Queue, Quota
from phalanx.model.reasons import Closed, ClosedQueue, Why
from phalanx.model.request import Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU
from tests.engine.casting import member, members, see
from tests.engine.stage import Stage
from tests.engine.test_closed_queues import told
from tests.engine.test_engine import binds, in_queue, queued, reason


def of(*flavors: str, **more: bool) -> Queue:
    return Queue("q", quotas=tuple(Quota(name, GPU, 9 * NANO) for name in flavors), **more)  # type: ignore[arg-type]


# -- not there ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("only_listed", [False, True])
def test_a_gang_in_a_queue_whose_flavor_is_not_there_waits_and_names_it(only_listed: bool) -> None:  # K-017
    stage = Stage("b1: r1=2")
    queue = of("h100", only_listed=only_listed)
    queued(stage, queue)
    stage.submit(in_queue("g", "q", count=1))
    assert (stage.state(), reason(stage)) == (State.QUEUED, Why.OVER_QUOTA)
    assert told(stage).queue == ClosedQueue("q", Closed.NO_FLAVOR, ("h100",))
    queued(stage, queue, h100=Flavor("h100"))
    assert len(binds(stage)) == 1


def test_a_gang_waits_when_the_flavor_of_its_queue_goes_and_those_who_run_stay() -> None:  # K-017
    stage = Stage("b1: r1=4")
    queued(stage, of("h100"), h100=Flavor("h100"))
    stage.run(in_queue("before", "q", count=1))
    stage.submit(in_queue("g", "q", count=4))
    assert reason(stage) is Why.NO_ROOM
    queued(stage, of("h100"))
    assert told(stage).queue == ClosedQueue("q", Closed.NO_FLAVOR, ("h100",))
    assert stage.state("before") is State.RUNNING


def test_one_flavor_that_is_there_is_enough() -> None:
    stage = Stage("b1: r1=2")
    queued(stage, of("a", "b"), b=Flavor("b"))
    stage.submit(in_queue("g", "q", count=1))
    assert len(binds(stage)) == 1


# -- of others ---------------------------------------------------------------------------------------------------


def on_cpus(name: str, count: int) -> Request:
    request = in_queue(name, "q", count=count)
    (pods,) = request.root.pod_sets()
    shape = PodShape(Resources.of({"cpu": NANO, PODS: NANO}))
    return replace(request, root=replace(request.root, members=(replace(pods, shape=shape),)))


def test_who_needs_no_flavor_of_a_group_of_resources_is_woken_without_it() -> None:  # K-112
    stage = Stage("b1: r1=2 r2=2")
    for pool, node in zip(("cpu", "gpu"), list(stage.nodes.values()), strict=True):
        amounts = Resources.of({"cpu": 2 * NANO, GPU: 2 * NANO, PODS: 100 * NANO})
        stage.step(NodeSeen(replace(node, labels={**node.labels, "pool": pool}, allocatable=amounts)))
    quotas = (Quota("cpus", "cpu", 100 * NANO), Quota("h100", GPU, 100 * NANO))
    flavors = {"cpus": Flavor("cpus", (("pool", "cpu"),)), "h100": Flavor("h100", (("pool", "gpu"),))}
    queued(stage, Queue("q", only_listed=True, quotas=quotas), **flavors)
    before = stage.run(on_cpus("a", 2))
    stage.submit(on_cpus("b", 2))
    assert (stage.state("a"), reason(stage, "b")) == (State.RUNNING, Why.NO_ROOM)
    for pod in before:
        stage.succeed(pod)
        stage.carry_out()
    assert stage.state("b") is State.RUNNING


# -- gone while a gang runs --------------------------------------------------------------------------------------


def test_a_gang_that_runs_gets_no_places_elsewhere_while_its_flavor_is_not_there() -> None:  # K-060
    stage = Stage("b1: r1=4 r2=4")
    for color, (name, node) in zip(("red", "blue"), list(stage.nodes.items()), strict=True):
        stage.nodes[name] = replace(node, labels={**node.labels, "color": color})
        stage.step(NodeSeen(stage.nodes[name]))
    flavors = {color: Flavor(color, (("color", color),)) for color in ("red", "blue")}
    queued(stage, of("red", "blue"), **flavors)
    request = in_queue("g", "q", count=4, least=3)
    first, *_ = stage.run(request, 3)
    queued(stage, of("red", "blue"), blue=flavors["blue"])
    stage.pod(request, 3)
    assert binds(stage) == []
    queued(stage, of("red", "blue"), **flavors)
    assert binds(stage) == [first.node]


def test_a_gang_found_running_on_a_flavor_that_is_not_there_does_not_grow_on_another() -> None:  # K-060
    """An engine that starts anew while the flavor is away cannot know which one the gang was given."""
    stage = Stage("b1: r1=3 r2=4")
    colors = dict(zip(stage.nodes, ("red", "blue"), strict=True))
    for name, node in list(stage.nodes.items()):
        stage.step(NodeSeen(replace(node, labels={**node.labels, "color": colors[name]})))
    flavors = {color: Flavor(color, (("color", color),)) for color in ("red", "blue")}
    queued(stage, of("red", "blue"), blue=flavors["blue"])
    request = in_queue("g", "q", count=4, least=3)
    stage.step(GangSeen(request, 0.0))
    red, _ = stage.nodes
    see(stage, *(replace(one, running=replace(one.running, node=red)) for one in members(request, w=3)))
    see(stage, member(request, "w", 3))
    assert binds(stage) == []
    queued(stage, of("red", "blue"), **flavors)
    assert stage.engine.book.gangs[request.id].flavor == "red"
