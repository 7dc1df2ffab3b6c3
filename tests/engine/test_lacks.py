"""Pods that have no place while their gang runs: it is said why."""

from dataclasses import replace

import pytest

from phalanx.engine import views
from phalanx.engine.lifecycle import State
from phalanx.model.effects import Report
from phalanx.model.events import GangSeen, NodeSeen, QueuesSeen
from phalanx.model.nodes import PodShape
from phalanx.model.queues import Queue, Queues, Quota
from phalanx.model.reasons import FullQuota, Reason, Why
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU, snapshot
from tests.engine.casting import RACK, member, members, see
from tests.engine.stage import ONE, Stage, gang

ELASTIC = gang(count=4, least=2, required=RACK)


def lacking(stage: Stage) -> list[Report]:
    return [one for one in stage.effects if isinstance(one, Report) and one.reason and one.state != State.QUEUED]


def grown(stage: Stage) -> Stage:
    """A gang that runs with two, and two more pods of it."""
    stage.run(ELASTIC, pods=2)
    for rank in (2, 3):
        stage.pod(ELASTIC, rank)
    return stage


def test_late_pods_without_room_are_told_of_once_with_their_reason() -> None:
    stage = grown(Stage("b1: r1=2 r2=1"))
    view = views.of_all(stage.engine.book, ["default/g"])["default/g"]
    assert view.state is State.RUNNING and view.lack is not None and view.lack.type is Why.NO_ROOM
    assert [key.name for key in view.unplaced] == ["g-2", "g-3"]
    assert [one.reason for one in lacking(stage)] == [view.lack]


def test_late_pods_over_their_quota_say_so() -> None:
    stage = Stage("b1: r1=9")
    stage.step(QueuesSeen(Queues({"default": Queue("default", quotas=(Quota(None, GPU, 2 * NANO),))})))
    grown(stage)
    (told,) = [one.reason for one in lacking(stage) if one.reason]
    full = FullQuota("default", None, GPU, NANO, 2 * NANO, 2 * NANO, ("default/g",))
    assert (told.type, told.needed, told.quotas) == (Why.OVER_QUOTA, 1, (full,))


def test_when_they_have_a_place_nothing_is_lacking() -> None:
    stage = grown(Stage("b1: r1=2"))
    new = next(node for node in snapshot("b1: r1=2,2").nodes if node.name == "b1-r1-2")
    stage.nodes[new.name] = new
    stage.step(NodeSeen(new))
    stage.carry_out()
    view = views.of_all(stage.engine.book, ["default/g"])["default/g"]
    assert view.lack is None and view.unplaced == () and all(stage.where())


def two_of(name: str) -> Group:
    return Group(name, (PodSet(name, 2, 2, PodShape(ONE)),))


WAITING = {
    "a group that lacks a pod": (Group("root", (two_of("x"), two_of("y")), min_members=1), "y", 2),
    "a group that lacks another one": (
        Group("root", (two_of("x"), Group("w", (two_of("y"), two_of("z")))), min_members=1), "z", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("root", "lacks", "needed"), WAITING.values(), ids=WAITING)
def test_pods_of_a_group_that_cannot_begin_yet_are_seen_to_wait_and_nobody_is_told(
    root: Group, lacks: str, needed: int
) -> None:
    stage, request = Stage("b1: r1=9"), Request("Gang", "default", "g", root, "drawn")
    stage.step(GangSeen(request, 0))
    see(stage, *members(request, x=2))
    stage.carry_out()
    late = [member(request, "y", number) for number in range(1 if needed else 2)]
    see(stage, *late)
    view = views.of_all(stage.engine.book, ["default/g"])["default/g"]
    assert view.lack == Reason(Why.PODS_MISSING, lacks, "cluster", 2, pods_seen=needed // 2)
    assert [key.name for key in view.unplaced] == [pod.key.name for pod in late]
    assert lacking(stage) == []


def test_late_pods_that_wait_for_the_rest_of_their_set_are_seen_to() -> None:  # W-153
    stage, request = Stage("b1: r1=9"), replace(ELASTIC, rules=Rules(on_failure="None"))
    stage.run(request, pods=2)
    stage.pod(request, 2)
    view = views.of_all(stage.engine.book, ["default/g"])["default/g"]
    assert view.lack == Reason(Why.PODS_MISSING, "w", "cluster", 4, pods_seen=3)
    stage.pod(request, 3)
    stage.carry_out()
    assert all(stage.where()) and stage.engine.book.gangs["default/g"].lack is None
