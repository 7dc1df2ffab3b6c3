"""Pods that a scheduler which was killed sent elsewhere, by writes that arrive after its successor has begun."""

from dataclasses import replace

import pytest

from phalanx.engine.lifecycle import State
from phalanx.model.effects import Evict, Ungate
from phalanx.model.nodes import PodShape
from phalanx.model.pods import Pod
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.rules import Rules
from tests.engine.casting import RACK, free
from tests.engine.stage import ONE, Stage, gang

GATE = Rules(enforcement="Gate")
TWO_RACKS = "b1: r1=2,2 r2=2,2"


def gated(stage: Stage, request: Request, count: int) -> list[Pod]:
    """A gang whose pods were all told where to go, and of which none has a node yet."""
    stage.submit(request, pods=0)
    return [stage.pod(request, rank, gated=True) for rank in range(count)]


def chosen(stage: Stage, pod: Pod) -> str:
    """The node that it was told to take."""
    sent = [one for one in stage.effects if isinstance(one, Ungate) and one.key == pod.key]
    return sent[-1].node


def arrive(stage: Stage, pod: Pod, node: str) -> None:
    """A write of another scheduler has pinned it to this node."""
    stage.see(replace(stage.pods[pod.key], gated=False, pinned=node))


def bind(stage: Stage, pod: Pod, node: str) -> None:
    there = replace(stage.pods[pod.key].running, node=node)
    stage.see(replace(stage.pods[pod.key], gated=False, pinned=node, running=there, phase="Running", ready=True))


def called_back(stage: Stage) -> list[str]:
    return [one.key.name for one in stage.effects if isinstance(one, Evict)]


def beside(stage: Stage, node: str) -> str:
    """The other node of its rack."""
    label = next(label for label in stage.nodes[node].labels if "rack" in label)
    return next(
        name
        for name, one in stage.nodes.items()
        if name != node and one.labels[label] == stage.nodes[node].labels[label]
    )


def test_a_place_follows_a_pod_that_was_pinned_elsewhere_in_its_rack() -> None:
    stage = Stage(TWO_RACKS)
    pods = gated(stage, gang(count=2, required=RACK, rules=GATE), 2)
    planned = [chosen(stage, pod) for pod in pods]
    arrive(stage, pods[0], beside(stage, planned[0]))
    held = free(stage)
    assert held[beside(stage, planned[0])] == 2 - 1 - planned.count(beside(stage, planned[0]))
    assert called_back(stage) == []


def test_a_pod_that_was_pinned_outside_the_rack_of_its_gang_is_called_back() -> None:
    stage = Stage(TWO_RACKS)
    pods = gated(stage, gang(count=4, required=RACK, rules=GATE), 4)
    inside = {chosen(stage, pod) for pod in pods}
    outside = next(name for name in stage.nodes if name not in inside)
    arrive(stage, pods[0], outside)
    assert called_back(stage) == [pods[0].key.name]


@pytest.mark.parametrize(
    "group",
    [
        Group("g", (PodSet("w", 2, 2, PodShape(ONE), slices=(Slice(3, 1),)),)),
        Group("g", (PodSet("w", 2, 2, PodShape(ONE)),), ranks=Ranks()),
        Group("g", (PodSet("w", 2, 2, PodShape(ONE)),), spread=Spread(3, max_per_domain=1)),
    ],
    ids=["slice-on-a-node", "ranked", "spread"],
)
def test_a_pod_that_was_pinned_where_its_own_rule_does_not_want_it_is_called_back(group: Group) -> None:
    stage = Stage(TWO_RACKS)
    pods = gated(stage, Request("Gang", "default", "g", group, "drawn", rules=GATE), 2)
    used = {chosen(stage, pod) for pod in pods}
    arrive(stage, pods[0], next(name for name in sorted(stage.nodes) if name not in used))
    assert called_back(stage) == [pods[0].key.name]


def test_pods_that_were_pinned_to_one_node_for_which_it_has_no_room_are_called_back_when_nobody_binds_them() -> None:
    stage = Stage("b1: r1=2,2,2")
    pods = gated(stage, gang(count=5, required=RACK, rules=GATE), 5)
    first = chosen(stage, pods[0])
    alike = [pod for pod in pods if chosen(stage, pod) == first]
    (stray, *_) = [pod for pod in pods if chosen(stage, pod) != first]
    for pod in pods:
        arrive(stage, pod, first if pod is stray else chosen(stage, pod))
    for pod in [*alike, *(pod for pod in pods if pod not in (*alike, stray))]:
        bind(stage, pod, chosen(stage, pod))
    assert called_back(stage) == []
    stage.after(stage.engine.settings.bind_again)
    assert called_back(stage) == [stray.key.name]
    stage.lose(stray)
    made = stage.pod(gang(count=5, required=RACK, rules=GATE), stray.rank or 0, life=1, gated=True)
    assert chosen(stage, made) != first
    bind(stage, made, chosen(stage, made))
    assert stage.state() is State.RUNNING
