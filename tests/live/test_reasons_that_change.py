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
