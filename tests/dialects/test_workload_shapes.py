"""The five shapes of workloads, and a Workload written out in full."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.workload.shapes import Shape, classify, expand
from tests.dialects.manifests import Doc, pod_spec
from tests.dialects.workload_manifests import found, job, jobset, linked, lws, statefulset, workload


def shape_of(doc: Doc) -> Shape:
    return classify(Field.of(doc))


def kind(name: str, **spec: Any) -> Doc:
    return {"kind": name, "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("doc", "shape"),
    [
        (kind("Deployment", replicas=3), Shape.REPLICATED_PODS),  # W-182
        (kind("ReplicaSet", replicas=3), Shape.REPLICATED_PODS),
        (job(50, pod_spec(), 100), Shape.REPLICATED_PODS),
        (statefulset(3, pod_spec(), "OrderedReady"), Shape.ORDERED_PODS),  # W-183
        (kind("StatefulSet", replicas=3), Shape.ORDERED_PODS),
        (statefulset(4, pod_spec()), Shape.SINGLE_GANG),  # W-184
        (job(8, pod_spec(), completionMode="Indexed"), Shape.SINGLE_GANG),
        (kind("CronJob", jobTemplate={"spec": {"completionMode": "Indexed"}}), Shape.SINGLE_GANG),
        (jobset(a=(1, 4, pod_spec())), Shape.SINGLE_GANG),
        (kind("MPIJob"), Shape.SINGLE_GANG),
        (kind("JobSet", replicatedJobs=[{"gangConfig": {"gangMode": "ReplicatedGang"}}]), Shape.REPLICATED_GANGS),
        (lws(2, 2, pod_spec()), Shape.REPLICATED_GANGS),  # W-185
        (kind("Workflow", templates=[]), Shape.UNSPECIFIED),  # W-186
        (workload(), Shape.UNSPECIFIED),
        (workload({"name": "gg", "minCount": 4}), Shape.SINGLE_GANG),
        (workload({"name": "gg", "gangMode": "Off"}, replicaMode="ReplicatedPods"), Shape.REPLICATED_PODS),
        (workload({"name": "gg", "minCount": 2}, replicaMode="ReplicatedGangs"), Shape.REPLICATED_GANGS),
        (workload({"name": "gg", "minCount": 2, "replicas": 3}), Shape.REPLICATED_GANGS),
        ({}, Shape.UNSPECIFIED),
    ],
)
def test_a_workload_has_the_shape_of_its_kind(doc: Doc, shape: Shape) -> None:
    assert shape_of(doc) is shape


WRITTEN_OUT = {
    "replicaMode": "Unreplicated",
    "gangGroups": [
        {
            "name": "gg", "gangMode": "Gang", "minCount": 4,
            "rankedGroups": [{"name": "gg", "rankMode": "Off", "eqGroups": [{"name": "gg"}]}],
        }
    ],
}  # fmt: skip


def full(doc: Doc) -> dict[str, object]:
    notes = Notes()
    made = expand(Field.of(doc, notes))
    assert not notes.problems, notes.problems
    return made


@pytest.mark.parametrize(
    "group",
    [
        {"minCount": 4}, {"minCount": 4, "gangMode": "Gang"},
        {"policy": {"kind": "Gang", "gang": {"minCount": 4}}, "replicas": 1},
        {"minCount": 4, "rankMode": "Off", "eqGroups": [{"name": "gg"}]},
        {"minCount": 4, "rankedGroups": [{"name": "gg", "rankMode": "Off"}]},
    ],
)  # fmt: skip
def test_every_spelling_of_a_gang_is_written_out_the_same(group: Doc) -> None:
    # W-187
    assert full(workload({"name": "gg", **group})) == WRITTEN_OUT


def test_a_count_is_both_bounds() -> None:
    # X-42
    (group,) = full(workload({"name": "gg", "count": 4}))["gangGroups"]  # type: ignore[misc]
    assert (group["minCount"], group["maxCount"]) == (4, 4)


RICH = workload(
    {
        "name": "gg", "topologyRequest": {"required": "rack"}, "scheduleTimeoutSeconds": 60,
        "reschedulingPolicy": "TerminateAll",
        "rankedGroups": [{
            "name": "rg", "podRank": {"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['rank']"}}},
            "topologyRequest": {"preferred": "host"},
            "eqGroups": [{"name": "leader", "count": 1, "template": {"spec": pod_spec()}},
                         {"name": "worker", "minCount": 3, "maxCount": 3, "template": {"spec": pod_spec()}}],
        }],
    },
    {"name": "plain", "minCount": 0},
    controllerRef={"kind": "Job", "name": "j"},
)  # fmt: skip


def test_what_is_written_out_is_complete() -> None:
    assert full({**RICH, "spec": full(RICH)}) == full(RICH)


@pytest.mark.parametrize("doc", [RICH, workload({"name": "gg", "minCount": 4}), workload({"name": "gg", "count": 4})])
def test_what_is_written_out_means_the_same(doc: Doc) -> None:
    # W-187, W-006
    members = job(4, linked("gg"))
    assert found(members, {**doc, "spec": full(doc)}).requests == found(members, doc).requests


FIELDS = [
    "kind",
    "spec",
    "gangGroups",
    "podGroups",
    "rankedGroups",
    "eqGroups",
    "replicatedJobs",
    "jobTemplate",
    "name",
]
WORDS = st.sampled_from(["Workload", "Job", "JobSet", "CronJob", "StatefulSet", "a"])
ANYTHING = st.recursive(
    st.none() | st.integers(-1, 3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
)


@given(WORDS, ANYTHING)
def test_anything_has_a_shape_and_can_be_written_out(kind_: str, spec: object) -> None:
    doc = {"kind": kind_, "spec": spec}
    assert shape_of(doc) in Shape
    assert "gangGroups" in expand(Field.of(doc))
