"""StatefulSets: a gang when their pods start at once, none when they start in order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phalanx
from phalanx.dialects import documents, outline, workloads
from phalanx.dialects.reading import read, read_workloads
from phalanx.model.request import Group, PodSet, Ranks, Slice
from tests.dialects.manifests import (
    AROUND,
    BLOCK,
    HOST,
    RACK,
    Doc,
    node,
    paths,
    pod_spec,
    problem,
    request,
    requests,
    warnings,
)

MODE, REQUIRED = "phalanx.dev/gang-mode", "phalanx.dev/topology-required"
KUEUE_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
SLICE_LEVEL, SLICE_SIZE = "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size"
KAI_REQUIRED, KAI_NAME = "kai.scheduler/topology-required-placement", "kai.scheduler/topology"
MODE_PATH = "metadata.annotations['phalanx.dev/gang-mode']"
HOST_LABEL = "kubernetes.io/hostname"


def statefulset(
    annotations: Doc | None = None, template_annotations: Doc | None = None, labels: Doc | None = None, **spec: Any
) -> Doc:
    return {
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "ss", "annotations": annotations or {}, "labels": labels or {}},
        "spec": {
            "replicas": 4, "serviceName": "ss", "selector": {"matchLabels": {"app": "ss"}},
            "template": {
                "metadata": {"labels": {"app": "ss"}, "annotations": template_annotations or {}}, "spec": pod_spec()
            },
            **spec,
        },
    }  # fmt: skip


def parallel(annotations: Doc | None = None, template_annotations: Doc | None = None, **spec: Any) -> Doc:
    return statefulset(annotations, template_annotations, podManagementPolicy="Parallel", **spec)


def main(doc: Doc) -> tuple[Group, PodSet]:
    """The group called main and the pod set in it."""
    group = next(g for g in request(doc).root.groups() if g.name == "main")
    (pods,) = group.pod_sets()
    return group, pods


def normal_form(*docs: Doc) -> Any:
    found, _ = documents.sort(list(docs))
    (one,) = workloads.read(found, AROUND, None).outlines
    return outline.plain(one.spec)


def autoscaler(least: int, most: int) -> Doc:
    target = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ss"}
    return {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "ss"},
        "spec": {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most},
    }  # fmt: skip


# -------------------------------------------------------------------------------------------------------- parallel


def test_a_parallel_statefulset_is_a_gang_of_its_replicas() -> None:  # W-088, W-117, W-124, W-135, W-184
    found = request(parallel())
    assert (found.kind, found.id, found.unit) == ("StatefulSet", "default/ss", None)
    group, pods = main(parallel())
    assert found.root == group
    assert (pods.name, pods.count, pods.min_count) == ("main", 4, 4)


def test_its_ranks_are_read_from_the_label_with_the_index_of_the_pod() -> None:  # W-223, X2 of the seeds' slips
    (group,) = normal_form(parallel())["podGroups"]
    assert group["rank"] == {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}
    assert main(parallel())[0].ranks == Ranks("Consecutive")


def test_four_parallel_pods_start_together_or_not_at_all() -> None:  # W-135, W-223
    doc = parallel(template={"metadata": {"labels": {"app": "ss"}}, "spec": {
        "containers": [{"name": "a", "resources": {"requests": {"cpu": "8"}}}],
    }})  # fmt: skip
    nodes = [node(f"n{i}") for i in range(4)]
    (placed,) = phalanx.Cluster.from_manifests(nodes).place([doc])
    assert placed.status == "Placed"
    assert sorted(placed.ranks["main"]) == ["n0", "n1", "n2", "n3"]
    (waiting,) = phalanx.Cluster.from_manifests(nodes[:3]).place([doc])
    assert waiting.status == "Waiting"


def test_gang_mode_off_lets_a_parallel_statefulset_start_as_it_fits() -> None:
    assert main(parallel({MODE: "Off"}))[1].min_count == 1
    assert main(parallel({MODE: "Gang"}))[1].min_count == 4


def test_a_statefulset_has_no_replicas_of_a_gang() -> None:
    found = problem(parallel({MODE: "ReplicatedGang"}))
    assert (found.path, found.allowed) == (MODE_PATH, ("Gang", "Off"))


def test_one_replica_is_the_default() -> None:
    assert main(parallel(replicas=None))[1].count == 1


# --------------------------------------------------------------------------------------------------------- ordered


@pytest.mark.parametrize("spec", [{}, {"podManagementPolicy": None}, {"podManagementPolicy": "OrderedReady"}])
def test_pods_that_start_in_order_are_no_gang(spec: Doc) -> None:  # W-088, W-117, W-136, W-183, W-224
    group, pods = main(statefulset(**spec))
    assert (pods.count, pods.min_count) == (4, 1)
    assert group.ranks is None


def test_a_database_of_three_starts_where_only_two_have_room() -> None:  # W-136, W-224
    doc = statefulset(replicas=3, template={"metadata": {"labels": {"app": "ss"}}, "spec": {
        "containers": [{"name": "a", "resources": {"requests": {"cpu": "8"}}}],
    }})  # fmt: skip
    (placed,) = phalanx.Cluster.from_manifests([node("n1"), node("n2")]).place([doc])
    assert (placed.status, placed.pod_sets) == ("Placed", {"main": {"n1": 1, "n2": 1}})


def test_a_gang_of_pods_that_start_in_order_is_refused_because_it_would_wait_for_ever() -> None:  # W-136
    found = problem(statefulset({MODE: "Gang"}))
    assert (found.path, found.value, found.allowed) == (MODE_PATH, "Gang", ("Off",))
    assert "for ever" in found.message
    assert "Parallel" in found.message
    assert main(statefulset({MODE: "Off"}))[1].min_count == 1
    assert paths(statefulset({MODE: "ReplicatedGang"})) == [MODE_PATH]


def test_slices_of_pods_that_start_in_order_are_refused_for_the_same_reason() -> None:  # W-136
    found = problem(statefulset(None, {SLICE_LEVEL: "rack", SLICE_SIZE: "2"}))
    assert found.path == f"spec.template.metadata.annotations['{SLICE_SIZE}']"
    assert "OrderedReady" in found.message
    assert main(statefulset(None, {SLICE_LEVEL: "rack", SLICE_SIZE: "1"}))[1].min_count == 1


def test_the_policy_of_the_design_is_answered_with_those_that_exist() -> None:  # X-47, X2 of the seeds' slips
    found = problem(statefulset({MODE: "Gang"}, podManagementPolicy="InOrder"))
    assert (found.path, found.value) == ("spec.podManagementPolicy", "InOrder")
    assert found.allowed == ("OrderedReady", "Parallel")


# ---------------------------------------------------------------------------------------------------------- wishes


@pytest.mark.parametrize("make", [parallel, statefulset])
def test_wishes_stand_on_the_object_and_on_the_pod_template(make: Any) -> None:  # W-136, X-29
    assert main(make({REQUIRED: "rack"}))[0].required == RACK
    assert main(make({KAI_REQUIRED: "rack", KAI_NAME: "cluster-topology"}))[0].required == RACK
    assert main(make(None, {KUEUE_REQUIRED: "rack"}))[0].required == RACK
    root = request(make({REQUIRED: "block"}, {REQUIRED: "rack"})).root
    assert (root.required, [group.required for group in root.groups()]) == (BLOCK, [BLOCK, RACK])


def test_slices_of_a_parallel_statefulset_are_kept() -> None:
    notes = {SLICE_LEVEL: HOST_LABEL, SLICE_SIZE: "2"}
    assert main(parallel(None, notes))[1].slices == (Slice(HOST, 2),)
    assert main(parallel(None, notes))[1].min_count == 4
    assert main(parallel({MODE: "Off"}, notes))[1].min_count == 2


def test_queue_and_priority_are_read_where_kubernetes_has_them() -> None:
    doc = statefulset(labels={"kueue.x-k8s.io/queue-name": "team-a"})
    doc["spec"]["template"]["spec"]["priorityClassName"] = "system-node-critical"
    found = request(doc)
    assert (found.queue, found.priority) == ("team-a", 2_000_001_000)
    assert main(doc)[1].min_count == 1


# ----------------------------------------------------------------------------------------------------- other fields


def test_no_replicas_are_nothing_to_place_and_a_warning() -> None:
    assert requests(parallel(replicas=0)) == ()
    assert warnings(parallel(replicas=0)) == ["spec.replicas"]


def test_labels_that_differ_from_pod_to_pod_are_left_out() -> None:
    assert main(parallel())[1].shape.labels == (("app", "ss"),)


def test_an_autoscaler_says_how_far_a_statefulset_may_grow() -> None:  # W-207
    (group,) = normal_form(parallel(), autoscaler(2, 6))["podGroups"]
    assert (group["count"], group["minCount"], group["maxCount"]) == (4, 4, 6)


def test_claim_templates_are_named_in_a_warning() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {}}, {"metadata": {"name": "logs"}, "spec": {}}]
    found = read_workloads([parallel(volumeClaimTemplates=claims)], AROUND)
    (note,) = found.notes["default/ss"]
    assert note.path == "spec.volumeClaimTemplates"
    assert "data, logs" in note.message
    assert len(found.requests) == 1


def test_a_claim_that_is_bound_already_gets_a_warning_of_its_own() -> None:
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-ss-1"},
        "spec": {"volumeName": "pv-1"},
    }  # fmt: skip
    other = {**claim, "metadata": {"name": "data-other-1"}}
    doc = parallel(volumeClaimTemplates=[{"metadata": {"name": "data"}}])
    assert len(read([other, doc]).notes["default/ss"]) == 1
    assert "data-ss-1" in read([claim, other, doc]).notes["default/ss"][1].message


def test_ordinals_may_start_anywhere_but_below_zero() -> None:
    assert main(parallel(ordinals={"start": 5}))[1].count == 4
    assert paths(parallel(ordinals={"start": -1})) == ["spec.ordinals.start"]
    assert paths(parallel(ordinals=5)) == ["spec.ordinals"]


def test_a_selector_that_misses_its_own_pods_is_a_warning() -> None:
    assert warnings(parallel(selector={"matchLabels": {"app": "ss-1"}})) == ["spec.selector.matchLabels.app"]
    assert warnings(parallel()) == []


# ----------------------------------------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"replicas": -1}, "spec.replicas"),
        ({"replicas": "4"}, "spec.replicas"),
        ({"template": None}, "spec.template"),
        ({"template": "pods"}, "spec.template"),
        ({"template": {"spec": {}}}, "spec.template.spec.containers"),
        ({"selector": "app"}, "spec.selector"),
        ({"volumeClaimTemplates": [{}]}, "spec.volumeClaimTemplates[0].metadata.name"),
        ({"volumeClaimTemplates": {}}, "spec.volumeClaimTemplates"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(spec: Doc, path: str) -> None:
    doc = parallel(**{"selector": None, **spec})
    assert paths(doc) == [path]


def test_a_slip_of_the_finger_is_a_warning() -> None:
    assert warnings(parallel(podManagmentPolicy="Parallel")) == ["spec.podManagmentPolicy"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("replicas", "podManagementPolicy", "ordinals", "selector", "template", "volumeClaimTemplates")


@settings(max_examples=150, deadline=None)
@given(spec=st.dictionaries(st.sampled_from(FIELDS), JSON), whole=st.none() | JSON, notes=JSON)
def test_anything_at_all_in_a_statefulset_is_a_request_or_a_problem(spec: Doc, whole: object, notes: object) -> None:
    doc = statefulset(**spec)
    doc["metadata"]["annotations"] = notes
    for one in (doc, {**doc, "spec": whole}):
        found = read_workloads([one], AROUND)
        assert len(found.items) == 1 or found.notes
