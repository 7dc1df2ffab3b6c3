"""What others do may help one that waits in more ways than by leaving: it is looked at again then."""

from dataclasses import replace
from typing import Any

import pytest

from phalanx.engine.lifecycle import State
from phalanx.model.events import GangSeen, PodSeen
from phalanx.model.nodes import LabelSelector, PodTerm, RunningPod, SpreadRule
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU
from phalanx.model.topology import HOSTNAME
from tests.engine.casting import RACK
from tests.engine.stage import ONE, Stage, gang

DB = LabelSelector((("app", "db"),))


def shaped(request: Request, **more: Any) -> Request:
    (pods,) = request.root.pod_sets()
    return replace(request, root=replace(request.root, members=(replace(pods, shape=replace(pods.shape, **more)),)))


def stranger(node: str, app: str = "", requests: Resources = ONE, **more: Any) -> PodSeen:
    running = RunningPod("x", "default", node, requests, {"app": app}, **more)
    return PodSeen(Pod(PodKey("default", "x", "x"), running, phase="Running"))


def test_a_pod_of_others_that_one_wants_to_be_near_wakes_it_when_it_comes() -> None:
    stage = Stage("b1: r1=4")
    (node,) = stage.nodes
    stage.submit(shaped(gang(count=2), affinity=(PodTerm(HOSTNAME, DB, None),)))
    assert stage.state() is State.QUEUED
    stage.step(stranger(node, "db"))
    assert stage.state() is State.BINDING


def test_a_gang_that_is_found_running_wakes_those_who_want_to_be_near_it() -> None:
    stage = Stage("b1: r1=4")
    (node,) = stage.nodes
    stage.submit(shaped(gang(count=2), affinity=(PodTerm(HOSTNAME, DB, None),)))
    found = gang("db", count=1)
    stage.step(GangSeen(found, 0.0))
    stage.step(PodSeen(replace(stranger(node, "db").pod, gang=found.id, pod_set="w")))
    assert stage.state() is State.BINDING


def test_a_pod_of_others_that_takes_the_labels_one_wants_to_be_near_wakes_it() -> None:
    stage = Stage("b1: r1=4")
    (node,) = stage.nodes
    stage.step(stranger(node, "web"))
    stage.submit(shaped(gang(count=2), affinity=(PodTerm(HOSTNAME, DB, None),)))
    assert stage.state() is State.QUEUED
    stage.step(stranger(node, "db"))
    assert stage.state() is State.BINDING


def test_a_pod_of_others_that_loses_the_labels_one_keeps_away_from_wakes_it() -> None:
    stage = Stage("b1: r1=4")
    (node,) = stage.nodes
    stage.step(stranger(node, "db"))
    stage.submit(shaped(gang(count=2), anti_affinity=(PodTerm(HOSTNAME, DB, None),)))
    assert stage.state() is State.QUEUED
    stage.step(stranger(node, "web"))
    assert stage.state() is State.BINDING


def test_a_pod_of_others_that_becomes_smaller_in_place_makes_room() -> None:
    stage = Stage("b1: r1=4")
    (node,) = stage.nodes
    stage.step(stranger(node, requests=Resources.of({GPU: 4 * NANO, PODS: NANO})))
    stage.submit(gang(count=2))
    assert stage.state() is State.QUEUED
    stage.step(stranger(node))
    assert stage.state() is State.BINDING


def test_a_pod_of_a_gang_that_becomes_smaller_in_place_makes_room() -> None:
    stage = Stage("b1: r1=4")
    big = shaped(gang("big", count=1), requests=Resources.of({GPU: 4 * NANO, PODS: NANO}))
    (pod,) = stage.run(big)
    stage.submit(gang(count=2))
    assert stage.state() is State.QUEUED
    stage.see(replace(pod, running=replace(pod.running, requests=ONE)))
    assert stage.state() is State.BINDING


@pytest.mark.parametrize("labels", [{"app": "web"}, {}])
def test_a_pod_of_a_gang_that_loses_the_labels_one_keeps_away_from_wakes_it(labels: dict[str, str]) -> None:
    stage = Stage("b1: r1=4")
    (pod,) = stage.run(gang("other", count=1))
    stage.see(replace(pod, running=replace(pod.running, labels={"app": "db"})))
    stage.submit(shaped(gang(count=2), anti_affinity=(PodTerm(HOSTNAME, DB, None),)))
    assert stage.state() is State.QUEUED
    stage.see(replace(stage.pods[pod.key], running=replace(pod.running, labels=labels)))
    assert stage.state() is State.BINDING


def test_a_domain_that_kept_others_from_being_even_wakes_them_when_its_node_goes() -> None:
    stage = Stage("b1: r1=4 r2=4 r3=1")
    *_, full = stage.nodes
    stage.step(stranger(full, "web"))
    spread = (SpreadRule("topology/rack", 1, DB),)
    stage.submit(shaped(gang(count=4), labels=(("app", "db"),), spread=spread))
    assert stage.state() is State.QUEUED
    stage.lose_node(full)
    assert stage.state() is State.BINDING


def test_a_pod_of_others_that_changes_nothing_for_anybody_wakes_nobody() -> None:
    stage = Stage("b1: r1=4")
    (node,) = stage.nodes
    stage.step(stranger(node, requests=Resources.of({GPU: 3 * NANO, PODS: NANO})))
    for number in range(5):
        stage.submit(gang(f"g{number}", count=2))
    before = stage.engine.turns.looked
    seen = stranger(node, requests=Resources.of({GPU: 3 * NANO, PODS: NANO})).pod
    stage.step(PodSeen(replace(seen, ready=True)))
    assert stage.engine.turns.looked == before


def test_a_gang_that_asks_for_more_than_it_did_is_told_the_reason_of_that() -> None:
    stage = Stage("b1: r1=2 r2=2")
    stage.submit(gang(count=3, required=RACK))
    larger = gang(count=4, required=RACK)
    one_more = Pod(PodKey("default", "g-3", "g-3.0"), RunningPod("g-3", "default", "", ONE), "default/g", "w", 3)
    stage.step(GangSeen(larger, 0.0), PodSeen(one_more))
    reason = stage.engine.book.gangs["default/g"].reason
    assert reason is not None and reason.needed == 4
