"""A manifest that is wrong by now: what runs goes on, and nothing new is placed."""

from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind, Evict
from phalanx.model.events import GangGone, GangSeen, GangSpoiled, QueuesSeen, TopologiesSeen
from phalanx.model.queues import Queue, Queues, Quota
from phalanx.model.resources import NANO
from phalanx.model.sketch import GPU
from tests.engine.casting import RACK, free
from tests.engine.stage import Stage, gang

SPOILED = GangSpoiled("default/g")


def test_a_gang_that_runs_goes_on_and_takes_the_place_of_what_it_loses() -> None:
    stage = Stage("b1: r1=2 r2=2")
    first, _ = stage.run(gang(required=RACK))
    stage.step(SPOILED)
    assert stage.state() is State.RUNNING and not [one for one in stage.effects if isinstance(one, Evict)]
    stage.lose(first)
    assert stage.state() is State.DEGRADED
    stage.pod(gang(required=RACK), 0, life=1)
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_it_keeps_its_quota() -> None:
    stage = Stage("b1: r1=4")
    stage.step(QueuesSeen(Queues({"default": Queue("default", quotas=(Quota(None, GPU, 2 * NANO),))})))
    stage.run(gang())
    stage.step(SPOILED)
    stage.submit(gang("h"))
    assert stage.state("h") is State.QUEUED and free(stage) == {"b1-r1-1": 2}


def test_a_gang_that_waits_is_invalid_and_starts_when_its_manifest_is_right_again() -> None:
    stage = Stage("b1: r1=2")
    stage.submit(gang(), pods=1)
    stage.step(SPOILED)
    assert stage.state() is State.INVALID
    stage.pod(gang(), 1)
    assert stage.state() is State.INVALID and not [one for one in stage.effects if isinstance(one, Bind)]
    stage.step(GangSeen(gang(), 0.0))
    assert stage.state() is State.BINDING


def test_a_gang_that_has_to_leave_does_not_come_back_before_its_manifest_is_right() -> None:
    stage = Stage("b1: r1=2")
    first, _ = stage.run(gang())
    stage.step(SPOILED)
    stage.lose(first)
    stage.after(gang().rules.recovery)
    stage.carry_out()
    stage.after(1e6)
    assert stage.state() is State.INVALID
    stage.step(GangSeen(gang(), 0.0))
    assert stage.state() is State.QUEUED


def test_it_can_be_deleted() -> None:
    stage = Stage("b1: r1=2")
    stage.submit(gang(), pods=1)
    stage.step(SPOILED)
    stage.step(GangGone("default/g"))
    assert stage.state() is None


def test_a_gang_whose_topology_is_deleted_while_it_binds_is_bound_whole_or_leaves_whole() -> None:
    stage = Stage("b1: r1=4")
    stage.submit(gang(count=4, required=RACK))
    first, *_ = (effect for effect in stage.last if isinstance(effect, Bind))
    stage.step(*stage.bound(first))
    stage.step(TopologiesSeen(()), SPOILED)
    stage.after(stage.engine.settings.bind_again)
    stage.carry_out()
    assert all(stage.where()) and stage.state() is State.RUNNING
    stage.lose_node("b1-r1-1")
    stage.pod(gang(count=4, required=RACK), 0, life=1)
    assert stage.state() is State.DEGRADED
    stage.after(gang().rules.recovery)
    stage.carry_out()
    stage.after(1e6)
    assert stage.state() is State.INVALID
