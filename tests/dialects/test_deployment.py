"""Deployments and ReplicaSets: pods that start as they fit, one group through rollouts and scaling."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phalanx
from phalanx.dialects import documents, outline, workloads
from phalanx.dialects.reading import read, read_workloads
from phalanx.model.request import Group, PodSet, Slice
from tests.dialects.manifests import (
    AROUND,
    BLOCK,
    RACK,
    Doc,
    node,
    paths,
    pod_spec,
    problem,
    request,
    requests,
    topology,
    warnings,
)

MODE, REQUIRED, NAME = "phalanx.dev/gang-mode", "phalanx.dev/topology-required", "phalanx.dev/topology-name"
KUEUE_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
SLICE_LEVEL, SLICE_SIZE = "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size"
KAI_REQUIRED, KAI_NAME = "kai.scheduler/topology-required-placement", "kai.scheduler/topology"
KINDS = ("Deployment", "ReplicaSet")


def workload(kind: str, annotations: Doc | None = None, template_annotations: Doc | None = None, **spec: Any) -> Doc:
    return {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "annotations": annotations or {}},
        "spec": {
            "replicas": 4, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": template_annotations or {}}, "spec": pod_spec()
            },
            **spec,
        },
    }  # fmt: skip


def deployment(annotations: Doc | None = None, template_annotations: Doc | None = None, **spec: Any) -> Doc:
    return workload("Deployment", annotations, template_annotations, **spec)


def replicaset(name: str, owner: str | None = None, kind: str = "Deployment", **spec: Any) -> Doc:
    doc = workload("ReplicaSet", **spec)
    api = "argoproj.io/v1alpha1" if kind == "Rollout" else "apps/v1"
    reference = {"apiVersion": api, "kind": kind, "name": owner, "controller": True}
    doc["metadata"] = {"name": name, **({"ownerReferences": [reference]} if owner else {})}
    return doc


def autoscaler(name: str = "web", target: Doc | None = None, api: str = "autoscaling/v2", **spec: Any) -> Doc:
    aimed = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", **(target or {})}
    return {
        "apiVersion": api, "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
        "spec": {"scaleTargetRef": aimed, "minReplicas": 1, "maxReplicas": 5, **spec},
    }  # fmt: skip


def main(doc: Doc) -> tuple[Group, PodSet]:
    """The group called main and the pod set in it."""
    group = next(g for g in request(doc).root.groups() if g.name == "main")
    (pods,) = group.pod_sets()
    return group, pods


def numbers(*docs: Doc) -> tuple[Any, Any, Any]:
    """count, minCount and maxCount of the only group of the only workload."""
    found, _ = documents.sort(list(docs))
    (one,) = workloads.read(found, AROUND, None).outlines
    form: Any = outline.plain(one.spec)
    (group,) = form["podGroups"]
    return group["count"], group["minCount"], group.get("maxCount")


def notes(*docs: Doc) -> list[tuple[str, str]]:
    found = read_workloads(list(docs), AROUND)
    assert not found.invalid
    return [(note.path, note.message) for those in found.notes.values() for note in those]


# ------------------------------------------------------------------------------------------------- gang or no gang


@pytest.mark.parametrize("kind", KINDS)
def test_its_pods_start_as_they_fit(kind: str) -> None:  # W-182
    found = request(workload(kind))
    assert (found.kind, found.id, found.unit) == (kind, "default/web", None)
    group, pods = main(workload(kind))
    assert (pods.name, pods.count, pods.min_count) == ("main", 4, 1)
    assert (group.ranks, pods.shape.labels) == (None, (("app", "web"),))


@pytest.mark.parametrize("kind", KINDS)
def test_gang_mode_makes_all_replicas_one_gang(kind: str) -> None:
    assert main(workload(kind, {MODE: "Gang"}))[1].min_count == 4
    assert main(workload(kind, {MODE: "Off"}))[1].min_count == 1
    assert problem(workload(kind, {MODE: "ReplicatedGang"})).allowed == ("Gang", "Off")


def test_one_pod_starts_where_only_one_has_room_and_a_gang_waits() -> None:  # W-139, W-182
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {
        "containers": [{"name": "a", "resources": {"requests": {"cpu": "8"}}}],
    }}  # fmt: skip
    cluster = phalanx.Cluster.from_manifests([node("n1")])
    (free,) = cluster.place([deployment(template=template)])
    (gang,) = cluster.place([deployment({MODE: "Gang"}, template=template)])
    assert (free.status, free.pod_sets) == ("Placed", {"main": {"n1": 1}})
    assert gang.status == "Waiting"


@pytest.mark.parametrize("kind", KINDS)
def test_neither_wishes_nor_a_queue_make_it_a_gang(kind: str) -> None:
    doc = workload(kind, {REQUIRED: "block"}, {KUEUE_REQUIRED: "rack"})
    doc["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    found = request(doc)
    assert (found.queue, found.root.required) == ("team-a", BLOCK)
    group, pods = main(doc)
    assert (group.required, pods.min_count) == (RACK, 1)


def test_a_required_level_holds_for_those_that_are_placed() -> None:
    nodes = [node(f"n{i}", {"topology/rack": f"r{i // 2}"}) for i in range(4)]
    cluster = phalanx.Cluster.from_manifests([topology("topology/rack"), *nodes])
    spec = {"containers": [{"name": "a", "resources": {"requests": {"cpu": "8"}}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    (near,) = cluster.place([deployment({REQUIRED: "topology/rack"}, template=template)])
    (anywhere,) = cluster.place([deployment(template=template)])
    assert (near.status, sum(near.pod_sets["main"].values())) == ("Placed", 2)
    assert len({name[1] in "01" for name in near.pod_sets["main"]}) == 1
    assert sum(anywhere.pod_sets["main"].values()) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_kais_wish_stands_on_the_object(kind: str) -> None:
    assert main(workload(kind, {KAI_REQUIRED: "rack", KAI_NAME: "cluster-topology"}))[0].required == RACK
    assert paths(workload(kind, None, {KAI_REQUIRED: "rack"})) == [
        f"spec.template.metadata.annotations['{KAI_REQUIRED}']"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_topology_is_named_on_the_object_or_on_its_template(kind: str) -> None:
    both = [topology("rack", name="a"), topology("rack", name="b")]
    assert read([*both, workload(kind, {NAME: "b"})]).requests[0].topology == "b"
    assert read([*both, workload(kind, None, {NAME: "b"})]).requests[0].topology == "b"


@pytest.mark.parametrize("kind", KINDS)
def test_slices_start_one_by_one(kind: str) -> None:
    sliced = {SLICE_LEVEL: "rack", SLICE_SIZE: "2"}
    pods = main(workload(kind, None, sliced))[1]
    assert (pods.min_count, pods.slices) == (2, (Slice(RACK, 2),))
    assert main(workload(kind, {MODE: "Gang"}, sliced))[1].min_count == 4
    assert paths(workload(kind, None, sliced, replicas=5)) == ["spec.replicas"]


@pytest.mark.parametrize("kind", KINDS)
def test_priority_is_read_from_the_template(kind: str) -> None:
    doc = workload(kind)
    doc["spec"]["template"]["spec"]["priorityClassName"] = "system-node-critical"
    assert request(doc).priority == 2_000_001_000


@pytest.mark.parametrize("kind", KINDS)
def test_no_replicas_are_nothing_to_place_and_a_warning(kind: str) -> None:
    assert requests(workload(kind, replicas=0)) == ()
    assert warnings(workload(kind, replicas=0)) == ["spec.replicas"]


# -------------------------------------------------------------------------------------------------------- rollouts


def test_a_deployment_and_its_replicasets_are_one_group_across_a_rollout() -> None:  # W-026
    docs = [deployment(), replicaset("web-1", "web"), replicaset("web-2", "web")]
    found = read_workloads(docs, AROUND)
    assert [(one.kind, one.id) for one in found.requests] == [("Deployment", "default/web")]
    assert [note.path for note in found.warnings] == ["ReplicaSet/web-1", "ReplicaSet/web-2"]


@pytest.mark.parametrize("kind", ["Deployment", "Rollout"])
def test_a_replicaset_whose_owner_is_not_read_stands_alone_and_says_so(kind: str) -> None:  # W-026, W-027
    ((path, message),) = notes(replicaset("web-1", "web", kind))
    assert path == "metadata.ownerReferences"
    assert f"{kind} web" in message
    assert notes(replicaset("web-1")) == []


@pytest.mark.parametrize(
    ("strategy", "most"),
    [
        (None, 5),  # a quarter of four
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3}}, 7),
        ({"rollingUpdate": {"maxSurge": 0}}, 4),
        ({"rollingUpdate": {"maxSurge": "30%"}}, 6),  # 1.2, rounded up
        ({"type": "Recreate"}, 4),
    ],
)
def test_a_rollout_makes_the_group_larger_for_a_while(strategy: Doc | None, most: int) -> None:  # W-026, W-207
    assert numbers(deployment(strategy=strategy)) == (4, 1, most)


def test_a_replicaset_has_no_surge() -> None:
    assert numbers(workload("ReplicaSet")) == (4, 1, None)


# --------------------------------------------------------------------------------------------------------- scaling


@pytest.mark.parametrize("api", ["autoscaling/v1", "autoscaling/v2"])
def test_an_autoscaler_says_how_far_a_deployment_may_grow(api: str) -> None:  # W-228
    assert numbers(autoscaler(api=api), deployment()) == (4, 1, 5)
    assert numbers(deployment(), autoscaler(api=api)) == (4, 1, 5)


def test_without_replicas_there_are_as_many_as_the_autoscaler_wants_at_least() -> None:  # W-228
    assert numbers(deployment(replicas=None), autoscaler(minReplicas=2)) == (2, 1, 5)
    assert numbers(deployment(replicas=None), autoscaler(minReplicas=None)) == (1, 1, 5)
    assert numbers(deployment(replicas=None), autoscaler(minReplicas=0)) == (1, 1, 5)


def test_a_scaled_gang_is_all_that_is_wanted_now() -> None:
    assert numbers(deployment({MODE: "Gang"}), autoscaler()) == (4, 4, 5)


@pytest.mark.parametrize(("replicas", "count"), [(9, 5), (1, 2)])
def test_replicas_outside_the_bounds_are_brought_inside_with_a_warning(replicas: int, count: int) -> None:
    docs = deployment(replicas=replicas), autoscaler(minReplicas=2)
    assert numbers(*docs) == (count, 1, 5)
    ((path, message),) = notes(*docs)
    assert path == "spec.replicas"
    assert "HorizontalPodAutoscaler web keeps it between 2 and 5" in message


def test_an_autoscaler_leaves_a_deployment_of_no_pods_alone() -> None:
    assert read_workloads([deployment(replicas=0), autoscaler(minReplicas=2)], AROUND).requests == ()


def test_a_replicaset_is_scaled_as_well() -> None:
    assert numbers(workload("ReplicaSet"), autoscaler(target={"kind": "ReplicaSet"})) == (4, 1, 5)


@pytest.mark.parametrize(
    "target", [{"name": "api"}, {"kind": "StatefulSet"}, {"apiVersion": "argoproj.io/v1alpha1"}, {"name": None}]
)
def test_an_autoscaler_of_something_else_changes_nothing(target: Doc) -> None:
    docs = deployment(), autoscaler(target=target, maxReplicas=50)
    assert numbers(*docs) == (4, 1, 5)
    assert notes(*docs) == []


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"maxReplicas": None}, "spec.maxReplicas"),
        ({"maxReplicas": "5"}, "spec.maxReplicas"),
        ({"minReplicas": 9}, "spec.minReplicas"),
        ({"minReplicas": -1}, "spec.minReplicas"),
    ],
)
def test_a_wrong_autoscaler_is_not_followed_and_that_is_said(spec: Doc, path: str) -> None:
    docs = deployment(strategy={"type": "Recreate"}), autoscaler(**spec)
    assert numbers(*docs) == (4, 1, 4)
    ((where, message),) = notes(*docs)
    assert where == "spec.replicas"
    assert message.startswith(f"HorizontalPodAutoscaler web is not followed: {path}: ")


def test_of_two_autoscalers_the_first_by_name_is_followed_and_that_is_said() -> None:
    docs = deployment(), autoscaler("b", maxReplicas=9), autoscaler("a", maxReplicas=7)
    assert numbers(*docs) == (4, 1, 7)
    ((_, message),) = notes(*docs)
    assert message == "is scaled by HorizontalPodAutoscaler a, which is followed, and by HorizontalPodAutoscaler b"


# ----------------------------------------------------------------------------------------------------- wrong input


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"replicas": -1}, "spec.replicas"),
        ({"replicas": True}, "spec.replicas"),
        ({"template": None}, "spec.template"),
        ({"template": []}, "spec.template"),
        ({"template": {"spec": {}}}, "spec.template.spec.containers"),
        ({"selector": {"matchLabels": ["app"]}}, "spec.selector.matchLabels"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(kind: str, spec: Doc, path: str) -> None:
    assert paths(workload(kind, **{"selector": None, **spec})) == [path]


@pytest.mark.parametrize("kind", KINDS)
def test_a_spec_that_is_none_is_told_so(kind: str) -> None:
    assert paths({**workload(kind), "spec": "four pods"}) == ["spec", "spec.template"]


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_ours_that_mean_nothing_here_are_problems(kind: str) -> None:
    assert paths(workload(kind, {"phalanx.dev/topolgy": "x"})) == ["metadata.annotations['phalanx.dev/topolgy']"]
    assert paths(workload(kind, None, {MODE: "Gang"})) == [f"spec.template.metadata.annotations['{MODE}']"]


@pytest.mark.parametrize(
    ("strategy", "path"),
    [
        ("Recreate", "spec.strategy"),
        ({"type": "Rolling"}, "spec.strategy.type"),
        ({"rollingUpdate": 1}, "spec.strategy.rollingUpdate"),
        ({"rollingUpdate": {"maxSurge": -1}}, "spec.strategy.rollingUpdate.maxSurge"),
        ({"rollingUpdate": {"maxSurge": "a lot"}}, "spec.strategy.rollingUpdate.maxSurge"),
        ({"rollingUpdate": {"maxSurge": 0.5}}, "spec.strategy.rollingUpdate.maxSurge"),
    ],
)
def test_a_wrong_strategy_is_named_by_its_path(strategy: object, path: str) -> None:
    assert paths(deployment(strategy=strategy)) == [path]
    assert paths(deployment(strategy=strategy, replicas=0)) == [path]


def test_a_selector_that_misses_its_own_pods_is_a_warning() -> None:
    assert warnings(deployment(selector={"matchLabels": {"app": "api"}})) == ["spec.selector.matchLabels.app"]
    assert warnings(deployment()) == []


def test_slips_of_the_finger_are_warnings() -> None:
    assert warnings(deployment(replica=3)) == ["spec.replica"]
    assert warnings(deployment(strategy={"rollingUpdate": {"maxsurge": 3}})) == ["spec.strategy.rollingUpdate.maxsurge"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("replicas", "selector", "template", "strategy")
SCALES = ("scaleTargetRef", "minReplicas", "maxReplicas")


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    spec=st.dictionaries(st.sampled_from(FIELDS), JSON),
    scaling=st.dictionaries(st.sampled_from(SCALES), JSON),
    whole=JSON,
    annotations=JSON,
)
def test_anything_at_all_in_a_deployment_is_a_request_or_a_problem(
    kind: str, spec: Doc, scaling: Doc, whole: object, annotations: object
) -> None:
    doc = workload(kind, **spec)
    doc["metadata"]["annotations"] = annotations
    scaler = autoscaler(target={"kind": kind})
    scaled = {**scaler, "spec": {**scaler["spec"], **scaling}}
    for one in (doc, {**doc, "spec": whole}):
        found = read_workloads([one, scaled], AROUND)
        assert len(found.items) == 1 or found.notes
    read_workloads([workload(kind), {**scaler, "spec": whole}], AROUND)
