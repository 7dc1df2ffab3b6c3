"""Keys that mean the same on every kind of workload: queue, preemptibility, node pool, minimum, group name."""

from collections.abc import Callable
from typing import Any

import pytest

import phalanx
from phalanx.dialects import outline
from phalanx.dialects.reading import read_workloads
from tests.dialects.manifests import AROUND, RACK, ZONE, Doc, node, paths, pod_spec, problem, request, requests
from tests.dialects.shapes import groups, normal, noted

KAI_QUEUE, KUEUE_QUEUE, OUR_QUEUE = "kai.scheduler/queue", "kueue.x-k8s.io/queue-name", "phalanx.dev/queue"
PREEMPTIBILITY, POOL = "kai.scheduler/preemptibility", "kai.scheduler/node-pool"
MIN_MEMBER, SHORT = "kai.scheduler/batch-min-member", "kai.scheduler/min-member"
PARTIAL = "kueue.x-k8s.io/job-min-parallelism"
KAI_NAME, KAI_REQUIRED = "kai.scheduler/topology", "kai.scheduler/topology-required-placement"
SEGMENT_SIZE, SEGMENT = "kai.scheduler/segment-size", "kai.scheduler/segment-topology-required-placement"
GROUP = "kueue.x-k8s.io/podset-group-name"
MODE = "phalanx.dev/gang-mode"

Maker = Callable[..., Doc]


def pods(labels: Doc | None = None, annotations: Doc | None = None, **spec: Any) -> Doc:
    return {"metadata": {"labels": labels or {}, "annotations": annotations or {}}, "spec": pod_spec(**spec)}


def made(api: str, kind: str, spec: Doc, labels: Doc | None = None, annotations: Doc | None = None) -> Doc:
    metadata = {"name": "w", "labels": labels or {}, "annotations": annotations or {}}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def job(template: Doc, parallelism: int = 4, completions: int = 4, **metadata: Doc) -> Doc:
    spec = {"parallelism": parallelism, "completions": completions, "template": template}
    return made("batch/v1", "Job", spec, **metadata)


def cronjob(template: Doc, **metadata: Doc) -> Doc:
    held = {"spec": {"parallelism": 4, "completions": 4, "template": template}}
    return made("batch/v1", "CronJob", {"schedule": "0 3 * * *", "jobTemplate": held}, **metadata)


def replicas(kind: str) -> Maker:
    def maker(template: Doc, policy: str | None = None, **metadata: Doc) -> Doc:
        spec = {"replicas": 4, "template": template, **({"podManagementPolicy": policy} if policy else {})}
        return made("apps/v1", kind, spec, **metadata)

    return maker


def lws(template: Doc, **metadata: Doc) -> Doc:
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template}}
    return made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, **metadata)


def pytorch(template: Doc, **metadata: Doc) -> Doc:
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": template}}}
    return made("kubeflow.org/v1", "PyTorchJob", spec, **metadata)


def mpi(template: Doc, **metadata: Doc) -> Doc:
    spec = {"mpiReplicaSpecs": {"Worker": {"replicas": 4, "template": template}}}
    return made("kubeflow.org/v2beta1", "MPIJob", spec, **metadata)


def ray(template: Doc, **metadata: Doc) -> Doc:
    return made("ray.io/v1", "RayCluster", {"headGroupSpec": {"template": template}}, **metadata)


statefulset, deployment, replicaset = (replicas(kind) for kind in ("StatefulSet", "Deployment", "ReplicaSet"))
KINDS: list[Maker] = [job, cronjob, statefulset, deployment, replicaset, lws, pytorch, mpi, ray]
every_kind = pytest.mark.parametrize("kind", KINDS)


def selectors(doc: Doc) -> list[Doc | None]:
    """The node selectors of all pod templates in the normal form."""
    found = read_workloads([doc], AROUND)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    plain: Any = outline.plain(found.outlines[0].spec)
    return [one["template"]["spec"].get("nodeSelector") for one in plain["podGroups"] if "template" in one]


# ------------------------------------------------------------------------------------------------------------ queues


@every_kind
@pytest.mark.parametrize("key", [KAI_QUEUE, KUEUE_QUEUE, OUR_QUEUE])
def test_a_queue_named_on_the_pod_template_counts_where_the_object_names_none(kind: Maker, key: str) -> None:
    assert request(kind(pods({key: "on-pods"}))).queue == "on-pods"


@every_kind
def test_the_objects_queue_goes_before_that_of_its_pods_and_the_other_is_told(kind: Maker) -> None:
    doc = kind(pods({OUR_QUEUE: "on-pods"}), labels={KAI_QUEUE: "on-object"})
    assert request(doc).queue == "on-object"
    (where,) = noted(doc)
    assert where.endswith(f"emplate.metadata.labels['{OUR_QUEUE}']")
    assert noted(kind(pods({KAI_QUEUE: "q"}), labels={KAI_QUEUE: "q"})) == []


def test_a_scheduling_policys_queue_goes_before_that_of_the_pods() -> None:
    doc = pytorch(pods({KAI_QUEUE: "on-pods"}))
    doc["spec"]["runPolicy"] = {"schedulingPolicy": {"queue": "policy"}}
    assert request(doc).queue == "policy"


@pytest.mark.parametrize("key", [KAI_QUEUE, KUEUE_QUEUE, OUR_QUEUE])
def test_any_queue_asks_that_the_pods_of_a_bag_of_tasks_go_together(key: str) -> None:  # W-139
    assert normal(job(pods(), 2, 8, labels={key: "q"}))["podGroups"][0]["minCount"] == 2
    assert normal(job(pods({key: "q"}), 2, 8))["podGroups"][0]["minCount"] == 2
    assert normal(job(pods(), 2, 8))["podGroups"][0]["minCount"] == 1


# ----------------------------------------------------------------------------------------------------- KAI's minimum


@pytest.mark.parametrize("key", [MIN_MEMBER, SHORT])
@pytest.mark.parametrize("kind", [job, cronjob])
def test_kais_minimum_is_the_pods_of_a_job_that_start_together(kind: Maker, key: str) -> None:
    (found,) = requests(kind(pods(), annotations={key: "3"}))
    assert [(one.min_count, one.count) for one in found.root.pod_sets()] == [(3, 4)]


@pytest.mark.parametrize("text", ["5", "0", "-1", "two", "", 3])
def test_a_minimum_that_is_no_number_of_the_pods_is_a_problem(text: object) -> None:
    assert paths(job(pods(), annotations={MIN_MEMBER: text})) == [f"metadata.annotations['{MIN_MEMBER}']"]


def test_kueues_minimum_goes_before_kais_and_the_difference_is_told() -> None:
    doc = job(pods(), annotations={PARTIAL: "2", MIN_MEMBER: "3"})
    assert groups(doc)["main"]["minCount"] == 2
    assert noted(doc) == [f"metadata.annotations['{MIN_MEMBER}']"]
    assert noted(job(pods(), annotations={PARTIAL: "3", MIN_MEMBER: "3"})) == []


def test_a_minimum_makes_a_gang_of_a_bag_of_tasks_and_off_makes_none() -> None:  # W-139
    assert groups(job(pods(), 4, 8, annotations={MIN_MEMBER: "3"}))["main"]["minCount"] == 3
    assert groups(job(pods(), annotations={MIN_MEMBER: "3", MODE: "Off"}))["main"]["minCount"] == 1


def test_kais_minimum_counts_the_replicas_of_a_parallel_statefulset() -> None:  # W-135
    assert groups(statefulset(pods(), "Parallel", annotations={SHORT: "3"}))["main"]["minCount"] == 3
    assert paths(statefulset(pods(), "Parallel", annotations={SHORT: "5"})) == [f"metadata.annotations['{SHORT}']"]


@pytest.mark.parametrize("kind", [statefulset, deployment, replicaset])
def test_a_minimum_of_pods_that_start_as_they_fit_is_told(kind: Maker) -> None:  # W-136, W-182
    doc = kind(pods(), annotations={SHORT: "3"})
    assert groups(doc)["main"]["minCount"] == 1
    assert noted(doc) == [f"metadata.annotations['{SHORT}']"]


# ---------------------------------------------------------------------------------------------------- preemptibility


@every_kind
@pytest.mark.parametrize(("word", "expected"), [("preemptible", True), ("non-preemptible", False)])
def test_kais_label_says_who_may_be_evicted(kind: Maker, word: str, expected: bool) -> None:
    assert normal(kind(pods(), labels={PREEMPTIBILITY: word}))["preemptible"] is expected
    assert normal(kind(pods({PREEMPTIBILITY: word})))["preemptible"] is expected
    assert "preemptible" not in normal(kind(pods()))


@every_kind
def test_semi_preemptible_keeps_what_it_promises_and_says_what_is_not_considered(kind: Maker) -> None:
    doc = kind(pods(), labels={PREEMPTIBILITY: "semi-preemptible"})
    assert normal(doc)["preemptible"] is False
    assert noted(doc) == [f"metadata.labels['{PREEMPTIBILITY}']"]


@every_kind
def test_another_word_for_it_is_a_problem_that_names_those_there_are(kind: Maker) -> None:
    found = problem(kind(pods(), labels={PREEMPTIBILITY: "maybe"}))
    assert found.path == f"metadata.labels['{PREEMPTIBILITY}']"
    assert "semi-preemptible" in found.allowed


# -------------------------------------------------------------------------------------------------------- node pools


@every_kind
def test_a_node_pool_is_a_node_selector_beside_others(kind: Maker) -> None:
    for doc in (
        kind(pods(nodeSelector={"a": "b"}), labels={POOL: "gpus"}),
        kind(pods({POOL: "gpus"}, nodeSelector={"a": "b"})),
    ):
        assert selectors(doc) == [{"a": "b", POOL: "gpus"}]
    assert selectors(kind(pods())) == [None]


def test_pods_of_a_node_pool_keep_to_its_nodes() -> None:
    nodes = [node("free"), node("pooled", {POOL: "gpus"})]
    doc = job(pods(), 2, 2, labels={POOL: "gpus"})
    (decision,) = phalanx.Cluster.from_manifests(nodes).place([doc])
    assert decision.pod_sets == {"main": {"pooled": 2}}
    (nowhere,) = phalanx.Cluster.from_manifests(nodes[:1]).place([doc])
    assert nowhere.status == "Waiting"


def test_the_classes_of_a_group_keep_to_the_pool_too() -> None:
    doc = lws(pods(), labels={POOL: "gpus"})
    doc["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = pods()
    shapes = [one.shape for one in request(doc).root.pod_sets()]
    assert len(shapes) == 2
    (decision,) = phalanx.Cluster.from_manifests([node("free"), node("pooled", {POOL: "gpus"})]).place([doc])
    assert {name for placed in decision.pod_sets.values() for name in placed} == {"pooled"}


def test_the_workloads_pool_goes_before_that_of_its_pods() -> None:
    doc = job(pods({POOL: "other"}), labels={POOL: "gpus"})
    assert selectors(doc) == [{POOL: "gpus"}]
    assert noted(doc) == [f"spec.template.metadata.labels['{POOL}']"]


def test_a_selector_for_another_pool_is_a_problem() -> None:
    doc = job(pods(nodeSelector={POOL: "other"}), labels={POOL: "gpus"})
    assert paths(doc) == [f"spec.template.spec.nodeSelector['{POOL}']"]
    assert paths(job(pods(), labels={POOL: 7})) == [f"metadata.labels['{POOL}']"]


def test_a_pod_has_a_pool_of_its_own() -> None:
    doc = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {POOL: "gpus"}}, "spec": pod_spec()}
    assert selectors(doc) == [{POOL: "gpus"}]


# ---------------------------------------------------------------------------------------------------------- topology


def test_kais_topology_may_be_named_on_the_pod_template_for_its_segments() -> None:
    doc = pytorch(pods(None, {KAI_NAME: "cluster-topology", SEGMENT_SIZE: "2", SEGMENT: "topology/rack"}))
    assert normal(doc)["topologyName"] == "cluster-topology"
    assert groups(doc)["worker"]["slices"] == [{"level": "topology/rack", "size": 2}]


def test_segments_of_a_leaderworkerset_name_their_topology_too() -> None:
    doc = lws(pods(None, {KAI_NAME: "cluster-topology", SEGMENT: "topology/rack"}))
    doc["spec"]["leaderWorkerTemplate"] |= {"size": 5, "leaderTemplate": pods(), "subGroupPolicy": {"subGroupSize": 2}}
    assert normal(doc)["topologyName"] == "cluster-topology"
    assert {one.required for one in request(doc).root.groups() if one.name.partition("[")[0] in ("first", "rest")} == {
        RACK
    }


@every_kind
def test_a_workload_names_one_topology_wherever_it_names_it(kind: Maker) -> None:
    found = paths(kind(pods(None, {KAI_NAME: "other"}), annotations={KAI_NAME: "cluster-topology"}))
    assert len(set(found)) == 1
    assert found[0].endswith(f"emplate.metadata.annotations['{KAI_NAME}']")


def test_kais_levels_stay_on_the_object_and_on_the_jobs_of_a_jobset() -> None:  # K-011
    level = {KAI_REQUIRED: "topology/rack", KAI_NAME: "cluster-topology"}
    assert paths(job(pods(None, level))) == [f"spec.template.metadata.annotations['{KAI_REQUIRED}']"]
    of_jobs = {"metadata": {"annotations": level}, "spec": {"parallelism": 2, "completions": 2, "template": pods()}}
    spec = {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": of_jobs}]}
    zone = {KAI_REQUIRED: "topology/zone", KAI_NAME: "cluster-topology"}
    root = request(made("jobset.x-k8s.io/v1alpha2", "JobSet", spec, annotations=zone)).root
    assert root.required == ZONE
    assert [one.required for one in root.groups() if one.name.startswith("workers[")] == [RACK, RACK]


# -------------------------------------------------------------------------------------------------------- other keys


@every_kind
@pytest.mark.parametrize(
    "key",
    ["kueue.x-k8s.io/elastic-job", "kai.scheduler/preemption-delay", "kai.scheduler/staleness-grace-period"],
)
def test_keys_that_are_not_considered_are_told(kind: Maker, key: str) -> None:
    assert noted(kind(pods(), annotations={key: "1m"})) == [f"metadata.annotations['{key}']"]


@every_kind
def test_a_priority_for_kueues_queues_is_told_not_to_be_considered(kind: Maker) -> None:
    key = "kueue.x-k8s.io/priority-class"
    assert noted(kind(pods(), labels={key: "high"})) == [f"metadata.labels['{key}']"]


@every_kind
def test_a_single_pod_set_has_no_other_to_share_a_domain_with(kind: Maker) -> None:
    found = paths(kind(pods(None, {GROUP: "together"})))
    assert [path.endswith(f"metadata.annotations['{GROUP}']") for path in found] == [True]
