"""Pods that take the place of one that was lost: in a full cluster, after restarts, and after a node was away."""

from tests.live.test_several_shapes import linked
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage


def pods_of(job: Doc, *numbers: int) -> list[Doc]:
    return [objects.pod(f"{job['metadata']['name']}-{number}", 8, owner=job) for number in numbers]


def test_a_lost_pod_is_replaced_in_a_full_cluster_also_after_a_restart() -> None:
    """Its place takes no room from the pod that comes for it."""
    job = objects.job("train", 2, 8)
    stage = LiveStage(*objects.cluster(racks=1, nodes=2), job, *pods_of(job, 0, 1))
    again = stage.fresh()
    for one in (stage, again):
        node = one.where("train-1")
        one.after(1, gone=[one.told["", "Pod", "default", "train-1"]])
        one.after(1, *pods_of(job, 2))
        assert one.where("train-2") == node
        assert one.at_rest() == []


def test_a_lost_pod_is_replaced_on_its_node_once_that_takes_pods_again() -> None:
    job = objects.job("train", 2, 8)
    stage = LiveStage(*objects.cluster(racks=1, nodes=2), job, *pods_of(job, 0, 1))
    lost = stage.told["", "Pod", "default", "train-1"]
    node = stage.told["", "Node", "", lost["spec"]["nodeName"]]
    stage.after(1, {**node, "spec": {"unschedulable": True}}, gone=[lost])
    stage.after(1, *pods_of(job, 2))
    assert stage.where("train-2") == [""]
    stage.after(1, node)
    assert stage.where("train-2") == [node["metadata"]["name"]]
    assert stage.at_rest() == []


def test_a_lost_pod_is_replaced_also_when_all_others_have_done_their_work() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "g"}, "spec": {"schedulingPolicy": {"basic": {}}},
    }  # fmt: skip
    pods = [linked("podgroup", f"p{number}", 3) for number in range(3)]
    for pod in pods:
        pod["spec"]["restartPolicy"] = "Never"
    stage = LiveStage(*objects.cluster(racks=1, nodes=1), group)
    stage.one_by_one(*pods[:2])
    first, second = (stage.told["", "Pod", "default", name] for name in ("p0", "p1"))
    node = stage.told["", "Node", "", "n0"]
    stage.after(1, {**node, "spec": {"unschedulable": True}}, gone=[second])
    stage.after(1, pods[2])
    stage.after(1, {**first, "status": {"phase": "Succeeded"}})
    stage.after(1, node)
    assert stage.where("p2") == ["n0"]
    assert stage.at_rest() == []


def test_of_several_lost_pods_that_a_group_can_do_without_as_many_come_back_as_there_is_room_for() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "g"}, "spec": {"schedulingPolicy": {"basic": {}}},
    }  # fmt: skip
    stage = LiveStage(*objects.cluster(racks=1, nodes=3, gpus=4), group)
    stage.one_by_one(*(linked("podgroup", f"p{number}", 4) for number in range(3)))
    lost = [stage.told["", "Pod", "default", name] for name in ("p0", "p1")]
    nodes = [stage.told["", "Node", "", name] for name in ("n0", "n1")]
    stage.after(1, *({**node, "spec": {"unschedulable": True}} for node in nodes), gone=lost)
    stage.one_by_one(*(linked("podgroup", f"again{number}", 4) for number in range(2)))
    stage.after(1, nodes[0])
    assert sorted(stage.where("again0", "again1")) == ["", "n0"]
    assert stage.at_rest() == []
    stage.after(1, nodes[1])
    assert sorted(stage.where("again0", "again1")) == ["n0", "n1"]
