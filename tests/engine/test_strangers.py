"""Pods of nobody we know, on nodes of a topology that gangs use: told once for each node. (K-069)"""

from dataclasses import replace

from phalanx.model.effects import Notice, Topic
from phalanx.model.events import GangSeen, NodeGone, NodeSeen, PodGone, PodSeen, TopologiesSeen
from phalanx.model.nodes import RunningPod
from phalanx.model.pods import Pod, PodKey
from tests.engine.casting import RACK
from tests.engine.stage import ONE, Stage, gang
from tests.testing import named


def foreign(node: str = "b1-r1-1", name: str = "web", **more: bool) -> Pod:
    return Pod(PodKey("shop", name, name), RunningPod(name, "shop", node, ONE), phase="Running", **more)


def notices(stage: Stage) -> list[Notice]:
    return [effect for effect in stage.last if isinstance(effect, Notice)]


def in_use(drawing: str = "b1: r1=4,4") -> Stage:
    stage = Stage(drawing)
    stage.run(gang(count=1, required=RACK))
    return stage


def test_a_foreign_pod_on_a_node_of_a_topology_in_use_is_told_once() -> None:  # K-069
    stage = in_use()
    stage.step(PodSeen(foreign()))
    assert notices(stage) == [Notice(named.node("b1-r1-1"), Topic.FOREIGN_PODS, ("shop/web",))]
    stage.step(PodSeen(replace(foreign(), ready=True)))
    stage.step(PodSeen(foreign(name="more")))
    stage.after(1000)
    assert len([one for one in stage.effects if isinstance(one, Notice)]) == 1


def test_each_node_is_told_of_by_itself_with_all_its_pods() -> None:  # K-069
    stage = in_use()
    stage.step(*(PodSeen(foreign(node, f"{node}-{i}")) for node in ("b1-r1-1", "b1-r1-2") for i in range(2)))
    assert [(one.about, one.names) for one in notices(stage)] == [
        (named.node("b1-r1-1"), ("shop/b1-r1-1-0", "shop/b1-r1-1-1")),
        (named.node("b1-r1-2"), ("shop/b1-r1-2-0", "shop/b1-r1-2-1")),
    ]


def test_pods_that_are_made_for_their_node_are_at_home_there() -> None:  # K-069
    stage = in_use()
    stage.step(PodSeen(foreign(daemon=True)))
    assert notices(stage) == []


def test_pods_of_gangs_that_are_known_or_come_later_are_no_strangers() -> None:  # K-069
    stage = in_use()
    late = gang("late", 1)
    pod = stage.pod(late, 0)
    stage.step(PodSeen(stage._on(pod.key, "b1-r1-1")))
    assert notices(stage) == []


def test_pods_that_wait_or_have_ended_stand_nowhere() -> None:  # K-069
    stage = in_use()
    stage.step(PodSeen(foreign("")), PodSeen(replace(foreign(name="done"), phase="Succeeded")))
    assert notices(stage) == []


def test_nobody_is_told_while_no_gang_asks_for_a_level() -> None:  # K-069
    stage = Stage("b1: r1=4,4")
    stage.step(PodSeen(foreign()), PodSeen(foreign("b1-r1-2", "short")))
    stage.step(GangSeen(gang(), 0))
    assert notices(stage) == []
    stage.step(PodGone(foreign("b1-r1-2", "short").key))
    stage.step(GangSeen(gang("near", required=RACK), 0))
    assert [one.about for one in notices(stage)] == [named.node("b1-r1-1")]


def test_a_node_outside_the_topology_may_be_used_by_everybody() -> None:  # K-069
    stage = in_use()
    node = stage.nodes["b1-r1-2"]
    outside = replace(node, labels={key: value for key, value in node.labels.items() if key != "topology/rack"})
    stage.step(NodeSeen(outside))
    stage.step(PodSeen(foreign(node.name)))
    assert notices(stage) == []
    stage.step(NodeSeen(node))
    assert [one.about for one in notices(stage)] == [named.node(node.name)]


def test_a_topology_that_comes_later_than_its_gangs_is_looked_at_then() -> None:  # K-069
    stage = Stage("b1: r1=4")
    stage.step(TopologiesSeen(()))
    stage.step(GangSeen(gang(required=RACK), 0), PodSeen(foreign()))
    assert notices(stage) == []
    stage.step(TopologiesSeen(stage.topologies))
    assert len(notices(stage)) == 1


def test_another_node_of_the_same_name_is_told_of_again() -> None:  # K-069
    stage = in_use()
    stage.step(PodSeen(foreign()))
    stage.step(NodeGone("b1-r1-1"), PodGone(foreign().key), NodeSeen(stage.nodes["b1-r1-1"]))
    stage.step(PodSeen(foreign(name="next")))
    assert [one.names for one in notices(stage)] == [("shop/next",)]
