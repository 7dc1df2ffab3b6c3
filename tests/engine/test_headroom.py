"""Room for the pods of DaemonSets, before they exist and while they change. (K-074, K-097)"""

from dataclasses import replace

from phalanx.engine.lifecycle import State
from phalanx.model.daemons import DaemonSet
from phalanx.model.events import DaemonSetsSeen, NodeGone, NodeSeen, PodGone, PodSeen
from phalanx.model.nodes import HostPort, NodeFilter, PodShape, RunningPod, Taint, Toleration
from phalanx.model.pods import Pod, PodKey
from phalanx.model.sketch import snapshot
from tests.engine.casting import free
from tests.engine.stage import ONE, Stage, gang

AGENT = DaemonSet("kube-system", "agent", PodShape(ONE, namespace="kube-system"))


def pod(node: str, life: int = 0, of: DaemonSet = AGENT) -> Pod:
    running = RunningPod(f"{of.name}-{life}", of.namespace, node, of.shape.requests)
    key = PodKey(of.namespace, f"{of.name}-{life}", f"{of.name}.{life}")
    return Pod(key, running, phase="Running", ready=True, daemon=True, daemon_set=of.id)


def following(drawing: str, *daemon_sets: DaemonSet) -> Stage:
    stage = Stage(drawing)
    stage.step(DaemonSetsSeen(daemon_sets))
    return stage


def only(**labels: str) -> DaemonSet:
    return replace(AGENT, shape=replace(AGENT.shape, filter=NodeFilter(selector=tuple(labels.items()))))


def test_a_new_node_has_less_room_before_its_daemon_exists() -> None:  # K-074
    stage = following("b1: r1=4", AGENT)
    assert free(stage) == {"b1-r1-1": 3}
    new = next(node for node in snapshot("b1: r1=4,4").nodes if node.name == "b1-r1-2")
    stage.nodes[new.name] = new
    stage.step(NodeSeen(new))
    assert free(stage) == {"b1-r1-1": 3, "b1-r1-2": 3}
    stage.submit(gang(count=7))
    assert stage.state() is State.QUEUED
    stage.step(DaemonSetsSeen(()))
    assert stage.state() is State.BINDING


def test_a_daemon_that_comes_is_counted_once() -> None:  # K-097
    stage = following("b1: r1=4", AGENT)
    stage.step(PodSeen(pod("")))  # made, and not bound yet
    assert free(stage) == {"b1-r1-1": 3}
    stage.step(PodSeen(pod("b1-r1-1")))
    assert free(stage) == {"b1-r1-1": 3}
    stage.step(PodSeen(pod("b1-r1-1")))
    assert free(stage) == {"b1-r1-1": 3}


def test_a_daemon_that_is_seen_before_its_daemonset_is_counted_once() -> None:  # K-097
    stage = Stage("b1: r1=4")
    stage.step(PodSeen(pod("b1-r1-1")))
    stage.step(DaemonSetsSeen((AGENT,)))
    assert free(stage) == {"b1-r1-1": 3}


def test_the_room_of_a_daemon_is_kept_while_it_is_replaced() -> None:  # K-097
    stage = following("b1: r1=4", AGENT)
    old, new = pod("b1-r1-1"), pod("b1-r1-1", life=1)
    stage.step(PodSeen(old))
    stage.step(PodSeen(replace(old, leaving=True)))
    assert free(stage) == {"b1-r1-1": 3}
    stage.step(PodSeen(replace(old, phase="Failed")))
    assert free(stage) == {"b1-r1-1": 3}
    stage.step(PodGone(old.key))
    assert free(stage) == {"b1-r1-1": 3}
    stage.step(PodSeen(new))
    assert free(stage) == {"b1-r1-1": 3}


def test_the_room_of_a_daemon_is_kept_when_it_is_gone_from_one_moment_to_the_next() -> None:  # K-097
    stage = following("b1: r1=4", AGENT)
    stage.step(PodSeen(pod("b1-r1-1")))
    stage.step(PodGone(pod("b1-r1-1").key))
    assert free(stage) == {"b1-r1-1": 3}


def test_an_old_and_a_new_daemon_side_by_side_both_count() -> None:  # K-097
    stage = following("b1: r1=4", AGENT)
    stage.step(PodSeen(pod("b1-r1-1")))
    stage.step(PodSeen(pod("b1-r1-1", life=1)))
    assert free(stage) == {"b1-r1-1": 2}
    stage.step(PodGone(pod("b1-r1-1").key))
    assert free(stage) == {"b1-r1-1": 3}


def test_room_is_kept_on_the_nodes_that_a_daemonset_may_use() -> None:  # K-074
    stage = following("b1: r1=4,4,4", only(gpu="yes"))
    assert set(free(stage).values()) == {4}
    labelled, tainted = stage.nodes["b1-r1-1"], stage.nodes["b1-r1-2"]
    closed = Taint("maintenance", "", "NoSchedule")
    stage.step(NodeSeen(replace(labelled, labels={**labelled.labels, "gpu": "yes"})))
    stage.step(NodeSeen(replace(tainted, labels={**tainted.labels, "gpu": "yes"}, taints=(closed,))))
    assert free(stage) == {"b1-r1-1": 3, "b1-r1-2": 4, "b1-r1-3": 4}
    tolerant = NodeFilter((("gpu", "yes"),), tolerations=(Toleration("", "Exists", "", ""),))
    stage.step(DaemonSetsSeen((replace(AGENT, shape=replace(AGENT.shape, filter=tolerant)),)))
    assert free(stage) == {"b1-r1-1": 3, "b1-r1-2": 3, "b1-r1-3": 4}
    stage.step(NodeSeen(labelled))
    assert free(stage) == {"b1-r1-1": 4, "b1-r1-2": 3, "b1-r1-3": 4}


def test_no_room_is_kept_for_a_daemon_larger_than_the_node() -> None:  # K-074
    large = replace(AGENT, shape=replace(AGENT.shape, requests=ONE.times(5)))
    assert free(following("b1: r1=4,8", large)) == {"b1-r1-1": 4, "b1-r1-2": 3}


def test_room_for_several_daemonsets_is_kept_side_by_side() -> None:  # K-074
    stage = following("b1: r1=4", AGENT, replace(AGENT, name="other"))
    assert free(stage) == {"b1-r1-1": 2}
    stage.step(PodSeen(pod("b1-r1-1")))
    assert free(stage) == {"b1-r1-1": 2}


def test_a_daemon_of_an_unknown_daemonset_takes_its_room_and_keeps_none() -> None:  # K-055
    stage = following("b1: r1=4")
    stage.step(PodSeen(pod("b1-r1-1")))
    assert free(stage) == {"b1-r1-1": 3}
    stage.step(PodGone(pod("b1-r1-1").key))
    assert free(stage) == {"b1-r1-1": 4}


def test_the_port_of_a_coming_daemon_is_taken() -> None:  # K-074
    port = HostPort(9100)
    stage = following("b1: r1=4", replace(AGENT, shape=replace(AGENT.shape, ports=(port,))))
    request = gang(count=1)
    (pods,) = request.root.pod_sets()
    shape = replace(pods.shape, ports=(port,))
    stage.submit(replace(request, root=replace(request.root, members=(replace(pods, shape=shape),))))
    assert stage.state() is State.QUEUED


def test_a_node_that_goes_takes_its_kept_room_along() -> None:  # K-074
    stage = following("b1: r1=4,4", AGENT)
    node = stage.nodes["b1-r1-2"]
    stage.step(NodeGone(node.name))
    assert free(stage) == {"b1-r1-1": 3}
    stage.step(PodSeen(pod(node.name)))
    stage.step(NodeSeen(node))
    assert free(stage) == {"b1-r1-1": 3, "b1-r1-2": 3}
