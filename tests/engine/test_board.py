"""The board: several topologies, gangs that come and go, and nothing forgotten."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.model import sketch
from phalanx.model.decision import Placed, Waiting
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import HostPort, LabelSelector, PodTerm, RunningPod
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.place.draft import Draft
from tests.engine.asking import BLOCK, HOST, RACK, board, gang, group, pods, shape, workers

POWER = Topology.of("power", ["power"], ["feed"])


def two_trees() -> Board:
    """b1 and b2 with two racks each; feed A has the first rack of both, feed B the second."""
    picture = sketch.snapshot("b1: r1=4 r2=4 | b2: r1=4 r2=4")
    nodes = tuple(
        replace(node, labels={**node.labels, "power": "A" if "-r1-" in node.name else "B"}) for node in picture.nodes
    )
    return Board.of(replace(picture, nodes=nodes, topologies=(*picture.topologies, POWER)))


def placed(on: Board, *args: object, **more: object) -> Placed:
    decision = decide(on, gang(*args, **more))  # type: ignore[arg-type]
    assert isinstance(decision, Placed)
    return decision


def _where(draft: Draft) -> list[int]:
    """The nodes of the running pods, one entry per pod."""
    return sorted(at for at in draft.pods.positions.tolist() if at >= 0)


def test_what_one_topology_placed_is_taken_in_every_other() -> None:
    on = two_trees()
    on.draft("power")
    on.commit(placed(on, workers(8, BLOCK)))
    for name in ("sketch", "power", None):
        assert sum(on.draft(name).free_nano(sketch.GPU)) == 8 * NANO
    by_feed = replace(gang(group("w", pods("w", 5), required=1), "other"), topology="power")
    assert isinstance(decide(on, by_feed), Waiting)


def test_a_pod_that_asks_for_something_else_by_now_is_booked_anew() -> None:
    """The places of a gang that is described by its pods alone ask for less once there are none."""
    on = two_trees()
    node = on.snapshot().nodes[0].name
    before = on.free([node])
    large = RunningPod("a", "default", node, Resources.of({sketch.GPU: NANO, PODS: NANO}), gang="g")
    on.hold("g", (large,))
    on.hold("g", (replace(large, requests=Resources.of({PODS: NANO})),))
    assert on.free(before)[node][sketch.GPU] == before[node][sketch.GPU]
    on.hold("g", ())
    assert on.free(before) == before


def test_a_released_gang_leaves_no_trace() -> None:
    on = two_trees()
    on.draft("power")
    before = on.free([node.name for node in on.snapshot().nodes])
    decision = placed(on, workers(8, BLOCK))
    on.commit(decision)
    assert on.running().keys() == {"default/train"}
    on.release("default/train")
    assert on.free(before) == before and not on.running() and not on.snapshot().pods
    assert decide(on, decision.request) == decision
    assert all(sum(on.draft(name).free_nano(sketch.GPU)) == 16 * NANO for name in ("sketch", "power", None))


def test_a_gang_is_not_committed_twice() -> None:
    on = board("r1=4")
    decision = placed(on, workers(2))
    on.commit(decision)
    with pytest.raises(Mistake, match="on the board already"):
        on.commit(decision)


def test_running_gangs_of_the_picture_are_known_by_their_id_and_can_be_released() -> None:
    picture = sketch.snapshot("r1=4")
    held = RunningPod("p", "default", "r1-1", Resources.of({sketch.GPU: 3 * NANO, PODS: NANO}), gang="default/old")
    on = Board.of(replace(picture, pods=(held, replace(held, name="q", gang=None, requests=Resources()))))
    assert on.running() == {"default/old": {"r1-1": held.requests}}
    assert isinstance(decide(on, gang(workers(2))), Waiting)
    on.release("default/old")
    assert isinstance(decide(on, gang(workers(2))), Placed)
    assert [pod.name for pod in on.snapshot().pods] == ["q"]


def test_committed_pods_keep_others_away_by_anti_affinity_and_come_back_when_released() -> None:
    apart = PodTerm(HOSTNAME, LabelSelector((("app", "db"),)), None)
    db = group("db", pods("db", 2, labels=(("app", "db"),), anti_affinity=(apart,)))
    on = board("r1=4,4 | r2=4")
    first = placed(on, db, "first")
    assert len(first.placement.pod_sets["db"]) == 2
    on.commit(first)
    assert isinstance(decide(on, gang(db, "second")), Waiting)
    on.release("default/first")
    assert isinstance(decide(on, gang(db, "second")), Placed)


def test_host_ports_of_committed_pods_are_taken_whatever_address_is_asked_later() -> None:
    """A wildcard is committed before the single address is ever heard of; releasing it frees that address too."""
    everywhere = group("a", pods("a", 1, ports=(HostPort(80),)))
    single = group("b", pods("b", 1, ports=(HostPort(80, ip="10.0.0.1"),)))
    on = board("r1=4")
    on.commit(placed(on, everywhere, "first"))
    assert isinstance(decide(on, gang(single, "second")), Waiting)
    on.release("default/first")
    on.commit(placed(on, single, "second"))
    assert isinstance(decide(on, gang(everywhere, "third")), Waiting)
    on.release("default/second")
    assert isinstance(decide(on, gang(everywhere, "third")), Placed)


def test_odd_amounts_come_and_go_exactly() -> None:
    on = board("r1=4")
    odd = replace(pods("w", 1), shape=replace(shape(), requests=Resources.of({sketch.GPU: 333_333_333, PODS: NANO})))
    decision = placed(on, group("w", odd), "odd")
    on.commit(decision)
    assert on.draft("sketch").free_nano(sketch.GPU) == [4 * NANO - 333_333_333]
    assert isinstance(decide(on, gang(workers(4))), Waiting)
    on.release("default/odd")
    assert isinstance(decide(on, gang(workers(4))), Placed)


def test_a_board_with_a_random_history_equals_one_made_from_its_picture() -> None:
    """Every draft, old or new, agrees with a draft made from nothing."""
    chance = Random(7)
    on = two_trees()
    for step in range(60):
        live = list(on.running())
        if live and chance.random() < 0.45:
            on.release(chance.choice(live))
            continue
        level = chance.choice([None, BLOCK, RACK, HOST])
        request = gang(workers(chance.randint(1, 5), level, gpu=chance.randint(1, 2)), f"g{step}")
        if level in (None, BLOCK) and chance.random() < 0.4:
            request = replace(request, topology=chance.choice(["power", None] if level is None else ["power"]))
        decision = decide(on, request)
        if isinstance(decision, Placed):
            on.commit(decision)
    assert len(on.running()) > 1
    for name in ("sketch", "power", None):
        fresh, kept = Draft.of(on.snapshot(), name), on.draft(name)
        for resource in (sketch.GPU, PODS):
            assert kept.free_nano(resource) == fresh.free_nano(resource)
        assert _where(kept) == _where(fresh)
    used = Counter(pod.node for pod in on.snapshot().pods)
    assert all(on.free([node])[node][PODS] == (10_000 - count) * NANO for node, count in used.items())
