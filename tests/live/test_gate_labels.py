"""Nodes change all the time. A gang that is being started cares for what its own pods ask of them, and no more."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.testing import live_objects as objects
from tests.testing.live_jobs import JobStage
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage

Change = Callable[[Doc], None]


def gated(name: str, pods: int, gpus: int, **spec: Any) -> Doc:
    """A Job that we resume once it has its places, and whose pods the default scheduler binds."""
    found = objects.job(name, pods, gpus, suspend=True)
    del found["spec"]["template"]["spec"]["schedulerName"]
    found["spec"]["template"]["spec"].update(spec)
    found["metadata"]["labels"] = {"phalanx.dev/queue": "default"}
    return found


def label(name: str, value: str | None) -> Change:
    def change(node: Doc) -> None:
        node["metadata"]["labels"].pop(name, None)
        if value is not None:
            node["metadata"]["labels"][name] = value

    return change


def taint(effect: str) -> Change:
    return lambda node: node["spec"].update(taints=[{"key": "away", "effect": effect}])


def amount(name: str, value: str) -> Change:
    return lambda node: node["status"]["allocatable"].update({name: value})


def annotation(node: Doc) -> None:
    node["metadata"]["annotations"] = {"seen": "now"}


def cordoned(node: Doc) -> None:
    node["spec"]["unschedulable"] = True


INDIFFERENT: dict[str, Change] = {
    "a label": label("nvidia.com/gfd.timestamp", "1"),
    "a soft taint": taint("PreferNoSchedule"),
    "an annotation": annotation,
    "amounts nobody asked for": amount("ephemeral-storage", "1Gi"),
    "more of what it asked for": amount(objects.GPU, "16"),
    "less of what is left over": amount(objects.GPU, "6"),
    "a value that it selects as well": label("pool", "b"),
    "a taint that it tolerates": lambda node: node["spec"].update(taints=[{"key": "ours", "effect": "NoSchedule"}]),
}
MATTERS: dict[str, Change] = {
    "another rack": label("topology/rack", "r9"),
    "no rack": label("topology/rack", None),
    "another name": label("kubernetes.io/hostname", "else"),
    "no label that it selects": label("pool", None),
    "a taint": taint("NoSchedule"),
    "a taint that drives away": taint("NoExecute"),
    "cordoned": cordoned,
    "less than it takes": amount(objects.GPU, "3"),
}
POOLS = {"key": "pool", "operator": "In", "values": ["a", "b"]}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchExpressions": [POOLS]}]}}}  # fmt: skip
SPEC = {"affinity": AFFINITY, "tolerations": [{"key": "ours", "operator": "Exists"}]}


def nodes() -> list[Doc]:
    found = objects.cluster(racks=2, nodes=2)
    for one in found[1:]:
        one["metadata"]["labels"]["pool"] = "a"
    return found


def starting() -> tuple[JobStage, Doc]:
    """A gated Job whose pods are on their way, and a node that some of them go to."""
    stage = JobStage(*nodes(), scheduled=0)
    stage.see(gated("train", 3, 4, **SPEC))
    assert stage.kinds().count("Ungate") == 3
    assert stage.state("default/train") == "Binding"
    held = [one.node for one in stage.effects if one.kind == "Ungate"]
    alone = min(held, key=held.count)  # there one pod goes, and half of the node is left
    return stage, deepcopy(stage.told["", "Node", "", alone])


@pytest.mark.parametrize("what", INDIFFERENT)
def test_a_gated_gang_that_is_starting_does_not_care_for(what: str) -> None:
    stage, node = starting()
    INDIFFERENT[what](node)
    stage.see(node)
    assert "Suspend" not in stage.kinds()
    stage.scheduled = None
    stage.after(1)
    assert stage.state("default/train") in ("Starting", "Running")


@pytest.mark.parametrize("what", MATTERS)
def test_a_gated_gang_that_is_starting_starts_over_for(what: str) -> None:
    stage, node = starting()
    MATTERS[what](node)
    stage.see(node)
    assert "Suspend" in stage.kinds()
    assert "NODE_LOST" in [one.cause for one in stage.effects if one.kind == "Report"]


def test_a_gated_gang_that_is_starting_starts_over_when_a_node_is_gone() -> None:
    stage, node = starting()
    stage.see(gone=[node])
    assert "Suspend" in stage.kinds()


def test_a_label_that_changed_and_is_back_within_a_step_is_no_change() -> None:
    stage, node = starting()
    other = deepcopy(node)
    label("topology/rack", "r9")(other)
    stage.scheduler.step(seen=[other, node], now=stage.now)
    assert "Suspend" not in stage.kinds()
    assert stage.state("default/train") == "Binding"


def test_a_job_of_a_thousand_pods_starts_while_a_node_gets_another_label_each_second() -> None:
    cluster = objects.cluster(blocks=1, racks=1, nodes=125)
    stage = JobStage(*cluster, scheduled=0)
    stage.see(gated("train", 1000, 1))
    assert stage.state("default/train") == "Binding"
    for second in range(25):
        stage.scheduled = 40
        node = deepcopy(cluster[1 + second * 5])
        label("nvidia.com/gfd.timestamp", str(second))(node)
        stage.after(1, node)
        stage.scheduled = 0
    stage.scheduled = None
    stage.after(1)
    assert "Suspend" not in stage.kinds()
    assert stage.state("default/train") == "Running"


# -- pods that we bind ourselves ---------------------------------------------------------------------------------------


def binding() -> tuple[LiveStage, Doc]:
    """A Job whose binds were asked for, and not answered."""
    stage = LiveStage(*nodes())
    job = objects.job("train", 3, 4)
    job["spec"]["template"]["spec"].update(SPEC)
    pods = [objects.pod(f"train-{number}", 4, owner=job) for number in range(3)]
    for one in pods:
        one["spec"].update(SPEC)
    stage.see(job, *pods, carry_out=False)
    held = [one.node for one in stage.effects if one.kind == "Bind"]
    return stage, deepcopy(stage.told["", "Node", "", min(held, key=held.count)])


@pytest.mark.parametrize("what", INDIFFERENT)
def test_a_pod_that_is_being_bound_stays_on_its_way_for(what: str) -> None:
    stage, node = binding()
    INDIFFERENT[what](node)
    stage.see(node, carry_out=False)
    stage.now += 6
    assert {one.kind for one in stage.see(carry_out=False)} == {"Bind"}


@pytest.mark.parametrize("what", sorted(MATTERS.keys() - {"another name"}))
def test_a_pod_that_is_being_bound_is_called_back_for(what: str) -> None:
    stage, node = binding()
    MATTERS[what](node)
    stage.see(node, carry_out=False)
    stage.now += 6
    assert "Evict" in {one.kind for one in stage.see(carry_out=False)}
