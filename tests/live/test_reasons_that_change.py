"""What a gang is said to wait for is what it waits for, also when nodes change and it cannot start all the same."""

from tests.live.test_several_shapes import linked, pod_group
from tests.testing import live_objects as objects
from tests.testing.live_stage import LiveStage


def test_a_gang_for_which_no_node_was_open_says_what_else_it_lacks_once_one_is() -> None:
    nodes = objects.cluster(racks=1, nodes=2, gpus=4)
    closed = [one if one["kind"] == "Topology" else {**one, "spec": {"unschedulable": True}} for one in nodes]
    stage = LiveStage(*closed, *pod_group(), *(linked("podgroup", f"p{i}", 3) for i in range(4)))
    assert reason(stage) == "NoMatchingNodes"
    stage.after(1, nodes[1])
    assert reason(stage) == "TooLarge"
    stage.after(1, nodes[2])
    assert reason(stage) == "TooLarge"
    assert "Bind" not in stage.kinds()


def reason(stage: LiveStage) -> object:
    (told,) = stage.scheduler.gangs()
    return told["reason"]


def test_a_scheduler_that_finds_the_minimum_of_a_gang_done_says_at_once_why_the_others_wait() -> None:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "g"}, "spec": {"minMember": 1},
    }  # fmt: skip
    done, waits = (objects.pod(name, gpus, annotations={"pod-group-name": "g"}) for name, gpus in (("a", 1), ("b", 9)))
    stage = LiveStage(*objects.cluster(), group, objects.on(done, "n0", phase="Succeeded"), waits)
    told = stage.gang("default/g") or {}
    assert told["state"] == "Running"
    assert "1 more pod waits" in told["message"]
