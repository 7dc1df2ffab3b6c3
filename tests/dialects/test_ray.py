"""RayCluster, RayJob, RayService: a head and its worker groups as one gang."""

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

import phalanx
from phalanx.dialects.reading import read
from tests.dialects.manifests import RACK, Doc, node, paths, pod_spec, problem, request, requests, topology
from tests.dialects.shapes import broken, groups, normal, noted
from tests.dialects.test_hostile import check

REQUIRED, MODE = "phalanx.dev/topology-required", "phalanx.dev/gang-mode"
KUEUE_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
KAI_REQUIRED, KAI_NAME = "kai.scheduler/topology-required-placement", "kai.scheduler/topology"
SLICE_LEVEL, SLICE_SIZE = "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size"
SUBMITTER = "spec.submissionMode"


def pods(annotations: Doc | None = None, **spec: Any) -> Doc:
    return {"metadata": {"annotations": annotations or {}}, "spec": pod_spec(**spec)}


def workers(name: Any = "gpu", annotations: Doc | None = None, **fields: Any) -> Doc:
    return {"groupName": name, "template": pods(annotations), **fields}


def spec(*groups: Doc, head: Doc | None = None, **more: Any) -> Doc:
    return {"headGroupSpec": {"template": head or pods()}, "workerGroupSpecs": list(groups), **more}


def ray(kind: str, made: Doc, annotations: Doc | None = None) -> Doc:
    metadata = {"name": "ray", "annotations": annotations or {}}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": made}


def cluster(*groups: Doc, annotations: Doc | None = None, **more: Any) -> Doc:
    return ray("RayCluster", spec(*groups, **more), annotations)


def sets(doc: Doc) -> list[tuple[str, int, int]]:
    return [(one.name, one.count, one.min_count) for one in request(doc).root.pod_sets()]


# ----------------------------------------------------------------------------------------------------------- golden

GOLDEN = """
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: tune
  labels: {kai.scheduler/queue: research, ray.io/priority-class-name: high}
  annotations: {kai.scheduler/topology: cluster-topology, kai.scheduler/topology-required-placement: topology/block}
spec:
  rayVersion: 2.46.0
  headGroupSpec:
    rayStartParams: {dashboard-host: 0.0.0.0}
    template:
      spec:
        containers: [{name: ray-head, image: ray, resources: {requests: {cpu: 4}}}]
  workerGroupSpecs:
  - groupName: small
    replicas: 4
    minReplicas: 2
    maxReplicas: 8
    rayStartParams: {}
    template:
      metadata: {annotations: {phalanx.dev/topology-required: rack}}
      spec:
        containers: [{name: ray-worker, image: ray, resources: {requests: {cpu: 2}}}]
  - groupName: tpu
    replicas: 2
    minReplicas: 1
    maxReplicas: 3
    numOfHosts: 4
    template:
      spec:
        containers: [{name: ray-worker, image: ray, resources: {limits: {google.com/tpu: 4}}}]
"""


def test_the_golden_ray_cluster() -> None:  # K-094
    assert normal(yaml.safe_load(GOLDEN)) == {
        "queue": "research",
        "priorityClassName": "high",
        "topologyName": "cluster-topology",
        "topology": {"required": "topology/block"},
        "policy": "Gang",
        "podGroups": [
            {"name": "head", "count": 1},
            {"name": "small", "count": 4, "minCount": 2, "maxCount": 8, "topology": {"required": "rack"}},
            {"name": "all-tpu", "minGroups": 1},
            {
                "name": "tpu",
                "parent": "all-tpu",
                "replicas": 2,
                "replicaKey": "metadata.labels['ray.io/worker-group-replica-index']",
                "count": 4,
            },
        ],
    }


GOLDEN_JOB = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: sample, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  entrypoint: python sample.py
  suspend: true
  shutdownAfterJobFinishes: true
  submissionMode: HTTPMode
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: ray, resources: {requests: {cpu: 1}}}]}}
    workerGroupSpecs:
    - groupName: workers
      replicas: 3
      template: {spec: {containers: [{name: worker, image: ray, resources: {requests: {cpu: 1}}}]}}
"""


def test_the_golden_ray_job() -> None:  # K-094
    doc = yaml.safe_load(GOLDEN_JOB)
    assert normal(doc) == {
        "queue": "team",
        "suspend": False,
        "policy": "Gang",
        "podGroups": [{"name": "head", "count": 1}, {"name": "workers", "count": 3, "minCount": 3}],
    }
    assert (request(doc).kind, request(doc).id) == ("RayJob", "default/sample")


def test_a_ray_service_is_its_cluster() -> None:  # K-094
    doc = ray("RayService", {"serveConfigV2": "", "rayClusterConfig": spec(workers(replicas=2))})
    assert request(doc).kind == "RayService"
    assert sets(doc) == [("head", 1, 1), ("gpu", 2, 2)]


# ---------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("fields", "scaled", "count", "least", "most"),
    [
        ({"replicas": 4}, False, 4, 4, None),
        ({"replicas": 4, "minReplicas": 0, "maxReplicas": 2147483647}, False, 4, 4, None),
        ({"replicas": 4, "minReplicas": 2, "maxReplicas": 6}, False, 4, 2, 6),
        ({"replicas": 4, "minReplicas": 2, "maxReplicas": 6}, True, 4, 2, 6),
        ({"minReplicas": 3, "maxReplicas": 6}, False, 3, 3, 6),
    ],
)
def test_worker_groups_are_as_large_as_their_replicas_say(
    fields: Doc, scaled: bool, count: int, least: int, most: int | None
) -> None:
    found = groups(cluster(workers(**fields), enableInTreeAutoscaling=scaled))["gpu"]
    assert (found["count"], found["minCount"], found.get("maxCount")) == (count, least, most)


@pytest.mark.parametrize(("replicas", "count"), [(1, 2), (9, 6)])
def test_replicas_outside_their_bounds_are_brought_inside_with_a_warning(replicas: int, count: int) -> None:
    doc = cluster(workers(replicas=replicas, minReplicas=2, maxReplicas=6))
    assert groups(doc)["gpu"]["count"] == count
    assert noted(doc) == ["spec.workerGroupSpecs[0].replicas"]


def test_an_autoscaled_group_without_a_minimum_is_not_waited_for() -> None:
    doc = cluster(workers(replicas=20, maxReplicas=30), enableInTreeAutoscaling=True)
    found = groups(doc)
    assert found["later-gpu"] == {"name": "later-gpu", "policy": "Basic"}
    assert found["gpu"]["parent"] == "later-gpu"
    (decision,) = phalanx.Cluster.from_manifests([node()]).place([doc])
    assert decision.status == "Placed"
    assert sum(decision.pod_sets["head"].values()) == 1


def test_groups_without_pods_are_passed_over_with_a_warning() -> None:
    doc = cluster(workers("a", replicas=0), workers("b", replicas=2, suspend=True), workers("c"))
    assert sets(doc) == [("head", 1, 1)]
    assert noted(doc) == [
        "spec.workerGroupSpecs[0].replicas",
        "spec.workerGroupSpecs[1].suspend",
        "spec.workerGroupSpecs[2].replicas",
    ]


def test_the_hosts_of_one_worker_start_together() -> None:
    doc = cluster(workers(replicas=3, minReplicas=2, numOfHosts=4))
    group = next(one for one in request(doc).root.groups() if one.name == "all-gpu")
    assert group.min_members == 2
    assert [(one.name, one.count, one.min_count) for one in group.pod_sets()] == [
        (f"gpu[{i}]", 4, 4) for i in range(3)
    ]  # fmt: skip
    (decision,) = phalanx.Cluster.from_manifests([node("n1"), node("n2")]).place(
        [cluster(workers(replicas=4, minReplicas=1, numOfHosts=4))]
    )
    placed = {name: sum(where.values()) for name, where in decision.pod_sets.items() if where}
    assert placed == {"head": 1, "gpu[0]": 4, "gpu[1]": 4, "gpu[2]": 4}  # 15 of 16 cpu: no half worker


def test_slices_of_workers_with_several_hosts_make_one_pod_set() -> None:
    doc = cluster(workers("gpu", {SLICE_LEVEL: "rack", SLICE_SIZE: "4"}, replicas=3, numOfHosts=4), head=pods(
        {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
    ))  # fmt: skip
    found = groups(doc)["gpu"]
    assert (found["count"], found["slices"]) == (12, [{"level": "rack", "size": 4}])


def test_the_autoscaler_is_counted_in_the_head() -> None:
    def cpu(doc: Doc) -> object:
        return dict(next(request(doc).root.pod_sets()).shape.requests)["cpu"]

    plain, scaled = cluster(), cluster(enableInTreeAutoscaling=True)
    own = cluster(enableInTreeAutoscaling=True, autoscalerOptions={"resources": {"requests": {"cpu": "2"}}})
    assert [cpu(doc) for doc in (plain, scaled, own)] == [10**9, 15 * 10**8, 3 * 10**9]


# ---------------------------------------------------------------------------------------------------------- RayJobs


def test_a_ray_job_on_a_cluster_that_is_there_has_nothing_to_place() -> None:
    doc = ray("RayJob", {"clusterSelector": {"ray.io/cluster": "other"}})
    assert requests(doc) == ()
    assert noted(doc) == ["spec.clusterSelector"]


@pytest.mark.parametrize(
    ("mode", "told"), [(None, 1), ("K8sJobMode", 1), ("SidecarMode", 1), ("HTTPMode", 0), ("InteractiveMode", 0)]
)
def test_the_pod_that_submits_is_named_as_not_counted(mode: str | None, told: int) -> None:
    doc = ray("RayJob", {"rayClusterSpec": spec(), **({"submissionMode": mode} if mode else {})})
    assert noted(doc) == [SUBMITTER] * told


def test_a_ray_job_is_suspended_by_itself_or_by_its_cluster() -> None:
    assert request(ray("RayJob", {"suspend": True, "rayClusterSpec": spec()})).suspended
    assert request(ray("RayJob", {"rayClusterSpec": spec(suspend=True)})).suspended
    assert request(cluster(suspend=True)).suspended
    assert not request(ray("RayJob", {"suspend": False, "rayClusterSpec": spec()})).suspended


# ----------------------------------------------------------------------------------------------------- levels, modes


def test_kais_levels_are_read_from_the_templates_of_groups() -> None:
    doc = cluster(workers("gpu", {KAI_REQUIRED: "topology/rack", KAI_NAME: "cluster-topology"}, replicas=2))
    assert normal(doc)["topologyName"] == "cluster-topology"
    group = next(one for one in request(doc).root.groups() if one.name == "gpu")
    assert group.required == RACK


def test_of_kueues_levels_every_template_needs_one() -> None:  # K-038
    doc = cluster(workers("gpu", {KUEUE_REQUIRED: "topology/rack"}, replicas=2))
    assert paths(doc) == [f"spec.headGroupSpec.template.metadata.annotations['{KUEUE_REQUIRED}']"]


def test_without_a_gang_groups_start_on_their_own() -> None:
    doc = cluster(workers(replicas=3), workers("tpu", replicas=2, numOfHosts=2), annotations={MODE: "Off"})
    found = requests(doc)
    assert [one.unit for one in found] == ["head", "gpu", "all-tpu"]
    assert [one.min_count for one in found[1].root.pod_sets()] == [1]


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (ray("RayCluster", {"workerGroupSpecs": []}), "spec.headGroupSpec"),
        (ray("RayCluster", {"headGroupSpec": {}}), "spec.headGroupSpec.template"),
        (ray("RayJob", {"entrypoint": "x"}), "spec.rayClusterSpec"),
        (ray("RayService", {}), "spec.rayClusterConfig"),
        (ray("RayJob", {"rayClusterSpec": spec(), "submissionMode": "Mail"}), "spec.submissionMode"),
        (cluster({"template": pods(), "replicas": 1}), "spec.workerGroupSpecs[0].groupName"),
        (cluster(workers("head", replicas=1)), "spec.workerGroupSpecs[0].groupName"),
        (cluster({"groupName": "a", "replicas": 1}), "spec.workerGroupSpecs[0].template"),
        (cluster(workers(replicas="4")), "spec.workerGroupSpecs[0].replicas"),
        (cluster(workers(replicas=1, numOfHosts=0)), "spec.workerGroupSpecs[0].numOfHosts"),
        (cluster(workers(replicas=3, minReplicas=4, maxReplicas=2)), "spec.workerGroupSpecs[0].minReplicas"),
        (cluster(enableInTreeAutoscaling="yes"), "spec.enableInTreeAutoscaling"),
        (cluster(annotations={MODE: "ReplicatedGang"}), f"metadata.annotations['{MODE}']"),
        (cluster(annotations={REQUIRED: "rak"}), f"metadata.annotations['{REQUIRED}']"),
    ],
)
def test_a_wrong_ray_object_is_a_problem_with_its_path(doc: Doc, path: str) -> None:
    assert paths(doc) == [path]


def test_a_missing_cluster_says_so() -> None:
    assert "no Ray cluster" in problem(ray("RayJob", {})).message


# ---------------------------------------------------------------------------------------------------------- garbage

RICH = [
    yaml.safe_load(GOLDEN),
    yaml.safe_load(GOLDEN_JOB),
    ray("RayService", {"rayClusterConfig": spec(
        workers("a", replicas=20, maxReplicas=30), workers("b", replicas=2, suspend=True),
        enableInTreeAutoscaling=True, autoscalerOptions={"resources": {"requests": {"cpu": "2"}}},
    )}),
    topology("topology/block", "topology/rack", name="cluster-topology"),
]  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(docs=broken(RICH))
def test_one_wrong_value_anywhere_never_raises(docs: list[Doc]) -> None:
    check(read(docs))
