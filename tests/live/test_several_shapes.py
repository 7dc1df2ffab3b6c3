"""Gangs whose pods differ in size, made pod by pod as every controller and every person makes them. (issue: shapes)"""

import itertools
from typing import Any

import pytest

from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage

SIZES = (5, 5, 3, 3)
NAMES = ("p0", "p1", "p2", "p3")


def pod_group() -> list[Doc]:
    constraint = {"topology": [{"key": "topology/rack"}]}
    spec = {"schedulingPolicy": {"gang": {"minCount": 4}}, "schedulingConstraints": constraint}
    return [meta("scheduling.k8s.io/v1beta1", "PodGroup", "g", spec)]


def composite() -> list[Doc]:
    ref = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
    constraint = {"topology": [{"key": "topology/rack"}]}
    top = {"schedulingPolicy": {"gang": {"minGroupCount": 1}}, "schedulingConstraints": constraint, **ref}
    child = {"schedulingPolicy": {"gang": {"minCount": 4}}, "parentCompositePodGroupName": "top", **ref}
    return [
        meta("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "top", top),
        meta("scheduling.k8s.io/v1alpha3", "PodGroup", "g", child),
    ]


def kai(subgroups: bool) -> list[Doc]:
    spec: Doc = {"minMember": 4, "topologyConstraint": {"requiredTopologyLevel": "topology/rack", "topology": "topo"}}
    if subgroups:
        spec = {"subGroups": [{"name": "all", "minMember": 4}], **spec}
    return [meta("scheduling.run.ai/v2alpha2", "PodGroup", "g", spec)]


def gang() -> list[Doc]:
    spec = {"podGroups": [{"name": "all", "count": 4, "topology": {"required": "rack"}}]}
    return [meta("phalanx.dev/v1alpha1", "Gang", "g", spec)]


def meta(version: str, kind: str, name: str, spec: Doc) -> Doc:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{kind}-{name}"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def linked(kind: str, name: str, gpus: int, uid: str = "") -> Doc:
    """A pod of ``g`` as each dialect links it."""
    extra: dict[str, Any] = {}
    if kind == "kai":
        extra["annotations"] = {"pod-group-name": "g"}
    elif kind == "kai-subgroups":
        extra = {"annotations": {"pod-group-name": "g"}, "labels": {"kai.scheduler/subgroup-name": "all"}}
    elif kind == "gang":
        extra["labels"] = {"phalanx.dev/gang": "g", "phalanx.dev/group": "all"}
    elif kind == "kueue":
        extra["labels"] = {"kueue.x-k8s.io/pod-group-name": "g"}
        extra["annotations"] = {
            "kueue.x-k8s.io/pod-group-total-count": "4", "kueue.x-k8s.io/podset-required-topology": "topology/rack",
        }  # fmt: skip
    pod = objects.pod(name, gpus, uid, **extra)
    if kind in ("podgroup", "composite"):
        pod["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    return pod


GROUPS: dict[str, list[Doc]] = {
    "podgroup": pod_group(), "composite": composite(), "kai": kai(False), "kai-subgroups": kai(True), "gang": gang(),
    "kueue": [],
}  # fmt: skip


@pytest.mark.parametrize("kind", list(GROUPS))
@pytest.mark.parametrize("group_first", [True, False])
def test_a_gang_of_two_shapes_starts_whole_in_one_rack_when_its_pods_come_one_by_one(
    kind: str, group_first: bool
) -> None:
    pods = [linked(kind, name, gpus) for name, gpus in zip(NAMES, SIZES, strict=True)]
    stage = LiveStage(*objects.cluster())
    stage.one_by_one(*([*GROUPS[kind], *pods] if group_first else [*pods, *GROUPS[kind]]))
    assert all(stage.where(*NAMES)), stage.scheduler.gangs()
    assert set(stage.where(*NAMES)) in ({"n0", "n1"}, {"n2", "n3"})
    (told,) = stage.scheduler.gangs()
    assert (told["state"], told["bound"], told["wanted"]) == ("Running", 4, 4)
    assert stage.at_rest() == []


@pytest.mark.parametrize("kind", list(GROUPS))
def test_all_at_once_starts_it_too(kind: str) -> None:
    pods = [linked(kind, name, gpus) for name, gpus in zip(NAMES, SIZES, strict=True)]
    stage = LiveStage(*objects.cluster(), *GROUPS[kind], *pods)
    assert all(stage.where(*NAMES)), stage.scheduler.gangs()


@pytest.mark.parametrize("kind", list(GROUPS))
def test_the_order_in_which_pods_come_makes_no_difference_to_where_they_go(kind: str) -> None:
    found = set()
    for order in itertools.permutations(range(4)):
        stage = LiveStage(*objects.cluster(), *GROUPS[kind])
        stage.one_by_one(*(linked(kind, NAMES[i], SIZES[i]) for i in order))
        found.add(tuple(stage.where(*NAMES)))
    assert len(found) == 1, found
    assert all(next(iter(found)))


@pytest.mark.parametrize("kind", [one for one in GROUPS if one != "kueue"])
def test_a_pod_of_another_shape_that_comes_late_joins_the_gang_that_runs(kind: str) -> None:
    pods = [linked(kind, name, 3) for name in NAMES]
    stage = LiveStage(*objects.cluster(), *GROUPS[kind])
    stage.one_by_one(*pods)
    stage.after(1, linked(kind, "a-late-one", 2))
    if kind == "gang":
        assert stage.where("a-late-one") == [""]  # beyond its count
    else:
        assert stage.where("a-late-one")[0] in ("n0", "n1")
    assert not {"Evict", "Suspend"} & set(stage.kinds())
    assert stage.state(stage.scheduler.gangs()[0]["id"]) == "Running"


@pytest.mark.parametrize("kind", [one for one in GROUPS if one != "kueue"])
@pytest.mark.parametrize("lost", range(4))
def test_one_that_is_lost_is_missed_and_replaced_whatever_its_shape(kind: str, lost: int) -> None:
    pods = [linked(kind, name, gpus) for name, gpus in zip(NAMES, SIZES, strict=True)]
    stage = LiveStage(*objects.cluster(), *GROUPS[kind])
    stage.one_by_one(*pods)
    before = stage.where(*NAMES)
    stage.after(5, gone=[pods[lost]])
    (told,) = stage.scheduler.gangs()
    assert (told["state"], told["bound"]) == ("Degraded", 3)
    stage.after(5, linked(kind, "replacement", SIZES[lost], "uid-again"))
    assert stage.where("replacement") == [before[lost]]
    (told,) = stage.scheduler.gangs()
    assert (told["state"], told["bound"]) == ("Running", 4)
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []


@pytest.mark.parametrize("kind", list(GROUPS))
def test_a_pod_that_has_succeeded_goes_on_telling_what_its_gang_is_like(kind: str) -> None:
    pods = [linked(kind, name, gpus) for name, gpus in zip(NAMES, SIZES, strict=True)]
    for one in pods:
        one["spec"]["restartPolicy"] = "Never"
    stage = LiveStage(*objects.cluster(), *GROUPS[kind])
    stage.one_by_one(*pods)
    for number, name in enumerate(NAMES):
        done = objects.on(pods[number], stage.where(name)[0], ready=False, phase="Succeeded")
        stage.after(1, done)
        assert "Evict" not in stage.kinds()
        assert stage.at_rest() == []
        (told,) = stage.scheduler.gangs()
        assert told["state"] == ("Finished" if number == 3 else "Running")


def test_a_gang_that_started_with_any_two_pods_runs_on_when_one_of_another_shape_comes() -> None:
    """Two pods are enough. How that is shared out among shapes changes with the pods that are there."""
    (group,) = pod_group()
    group["spec"]["schedulingPolicy"] = {"gang": {"minCount": 2}}
    stage = LiveStage(*objects.cluster(racks=1, nodes=1, gpus=4), group)
    stage.see(linked("podgroup", "p1", 1), linked("podgroup", "p2", 3))
    assert all(stage.where("p1", "p2"))
    stage.after(1, linked("podgroup", "p0", 1))
    stage.after(400)
    assert stage.state("default/g") == "Running"
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []


@pytest.mark.parametrize("kind", list(GROUPS))
@pytest.mark.parametrize("together", [True, False])
def test_a_gang_is_not_whole_without_all_pods_of_one_of_its_shapes(kind: str, together: bool) -> None:
    """As when they are drained, and nobody makes them again: the others alone are half a gang."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=2))
    pods = [linked(kind, name, gpus) for name, gpus in zip(NAMES, SIZES, strict=True)]
    stage.see(*GROUPS[kind], *pods)
    assert all(stage.where(*NAMES))
    lost = [stage.told["", "Pod", "default", name] for name in ("p2", "p3")]
    for gone in [lost] if together else [[one] for one in lost]:
        stage.see(gone=gone)
    assert [one["state"] for one in stage.scheduler.gangs()] == ["Degraded"]


@pytest.mark.parametrize("kind", [one for one in GROUPS if one != "kueue"])
@pytest.mark.parametrize("lost", range(5))
def test_a_gang_that_needs_any_four_of_its_pods_runs_on_when_one_of_five_is_lost(kind: str, lost: int) -> None:
    """Whichever shape is short: pods count together, also while the lost one is still there. Two are too many."""
    # W-111
    stage = LiveStage(*objects.cluster(racks=1, nodes=5, gpus=5), *at_least_four(kind))
    names = [f"p{number}" for number in range(5)]
    stage.see(*(linked(kind, name, gpus) for name, gpus in zip(names, (5, 5, 3, 3, 3), strict=True)))
    assert len(set(stage.where(*names)) - {""}) == 5
    pod = stage.told["", "Pod", "default", names.pop(lost)]
    stage.after(5, gone=[stage.told["", "Node", "", pod["spec"]["nodeName"]]])
    stage.after(400)
    assert [one["state"] for one in stage.scheduler.gangs()] == ["Running"]
    stage.after(5, gone=[pod])
    assert [one["state"] for one in stage.scheduler.gangs()] == ["Running"]
    assert not {"Evict", "Suspend"} & set(stage.kinds())
    assert stage.at_rest() == []
    stage.after(5, gone=[stage.told["", "Pod", "default", names[-1]]])
    assert [one["state"] for one in stage.scheduler.gangs()] == ["Degraded"]


def at_least_four(kind: str) -> list[Doc]:
    """The groups of a kind; a Gang says that a fifth pod may come."""
    if kind != "gang":
        return GROUPS[kind]
    spec = {"podGroups": [{"name": "all", "count": 5, "minCount": 4, "topology": {"required": "rack"}}]}
    return [meta("phalanx.dev/v1alpha1", "Gang", "g", spec)]


@pytest.mark.parametrize("kind", [one for one in GROUPS if one != "kueue"])
def test_a_late_pod_of_a_shape_that_is_new_to_a_running_gang_needs_no_others_of_its_shape(kind: str) -> None:
    """It has the minimum that the gang has by now, and begins nothing of its own."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=3), *at_least_four(kind))
    stage.see(*(linked(kind, name, 3) for name in NAMES))
    assert all(stage.where(*NAMES))
    stage.after(1, linked(kind, "other", 5))
    assert all(stage.where("other"))
    assert stage.at_rest() == []


@pytest.mark.parametrize("first", [3, 5], ids=["the smaller", "the larger"])
def test_late_pods_of_several_shapes_that_a_gang_can_do_without_say_what_they_wait_for(first: int) -> None:
    """Also where each of its shapes may have none."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    }  # fmt: skip
    pods = [linked("podgroup", f"p{i}", gpus) for i, gpus in enumerate((first, 3, 5, 5, 3))]
    running = objects.on(pods[0], "n0")
    stage = LiveStage(*objects.cluster(racks=1, nodes=1, gpus=5), group, running, *pods[1:])
    told = stage.gang("default/g") or {}
    assert (told["state"], told["bound"]) == ("Running", 1)
    assert "4 more pods wait" in told["message"] and "gpu short" in told["message"]
