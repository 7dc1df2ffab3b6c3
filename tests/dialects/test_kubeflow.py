"""MPIJob, PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob: roles become pod sets of one gang."""

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

import phalanx
from phalanx.dialects.reading import read
from tests.dialects.manifests import BLOCK, RACK, Doc, node, paths, pod_spec, problem, request, requests, topology
from tests.dialects.shapes import broken, groups, normal, noted
from tests.dialects.test_hostile import check

REQUIRED, MODE = "phalanx.dev/topology-required", "phalanx.dev/gang-mode"
KUEUE_REQUIRED, GROUP = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-group-name"
INDEX = "metadata.labels['training.kubeflow.org/replica-index']"


def role(replicas: Any = None, annotations: Doc | None = None, **spec: Any) -> Doc:
    number = {} if replicas is None else {"replicas": replicas}
    return {**number, "template": {"metadata": {"annotations": annotations or {}}, "spec": pod_spec(**spec)}}


def job(
    kind: str, specs: str, roles: Doc, annotations: Doc | None = None, api: str = "kubeflow.org/v1", **spec: Any
) -> Doc:
    metadata = {"name": "train", "annotations": annotations or {}}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": {**spec, specs: roles}}


def pytorch(workers: Doc | None = None, annotations: Doc | None = None, **spec: Any) -> Doc:
    roles = {"Master": role(), "Worker": workers or role(7)}
    return job("PyTorchJob", "pytorchReplicaSpecs", roles, annotations, **spec)


def mpi(workers: Doc | None = None, launcher: Doc | None = None, annotations: Doc | None = None, **spec: Any) -> Doc:
    roles = {"Worker": workers or role(7), "Launcher": launcher or role()}
    return job("MPIJob", "mpiReplicaSpecs", roles, annotations, "kubeflow.org/v2beta1", **spec)


def available(number: Any, **more: Any) -> Doc:
    return {"schedulingPolicy": {"minAvailable": number, **more}}


# ------------------------------------------------------------------------------------------------------------ roles

GOLDEN = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: llama
  namespace: team-a
  labels: {kueue.x-k8s.io/queue-name: research}
  annotations: {phalanx.dev/topology-required: block}
spec:
  nprocPerNode: "8"
  elasticPolicy: {rdzvBackend: c10d, minReplicas: 4, maxReplicas: 12}
  runPolicy:
    cleanPodPolicy: None
    suspend: true
    schedulingPolicy: {scheduleTimeoutSeconds: 90, priorityClass: high}
  pytorchReplicaSpecs:
    Master:
      restartPolicy: OnFailure
      template:
        spec:
          containers: [{name: pytorch, image: llama, resources: {limits: {nvidia.com/gpu: 8}}}]
    Worker:
      replicas: 8
      restartPolicy: OnFailure
      template:
        metadata: {annotations: {phalanx.dev/topology-required: rack}}
        spec:
          containers: [{name: pytorch, image: llama, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_the_golden_pytorch_job() -> None:  # K-094, W-138
    assert normal(yaml.safe_load(GOLDEN)) == {
        "queue": "research",
        "priorityClassName": "high",
        "suspend": False,
        "scheduleTimeoutSeconds": 90,
        "topology": {"required": "block"},
        "policy": "Gang",
        "podGroups": [
            {"name": "master", "count": 1, "rank": {"fieldPath": INDEX}},
            {
                "name": "worker",
                "count": 8,
                "minCount": 4,
                "maxCount": 12,
                "topology": {"required": "rack"},
                "rank": {"fieldPath": INDEX},
            },
        ],
    }


@pytest.mark.parametrize(
    ("kind", "specs", "roles", "sets"),
    [
        ("TFJob", "tfReplicaSpecs", {"Worker": 4, "PS": 2, "Chief": 1, "Evaluator": 1},
         {"chief": 1, "ps": 2, "worker": 4, "evaluator": 1}),
        ("XGBoostJob", "xgbReplicaSpecs", {"Master": 1, "Worker": 3}, {"master": 1, "worker": 3}),
        ("PaddleJob", "paddleReplicaSpecs", {"Worker": 3}, {"worker": 3}),
        ("JAXJob", "jaxReplicaSpecs", {"Worker": 2}, {"worker": 2}),
        ("MPIJob", "mpiReplicaSpecs", {"Launcher": 1, "Worker": 7}, {"launcher": 1, "worker": 7}),
    ],
)  # fmt: skip
def test_every_role_is_a_pod_set_of_one_gang(kind: str, specs: str, roles: Doc, sets: dict[str, int]) -> None:
    # K-094, W-138
    found = request(job(kind, specs, {name: role(count) for name, count in roles.items()}))
    assert (found.kind, found.unit) == (kind, None)
    assert [(one.name, one.count, one.min_count) for one in found.root.pod_sets()] == [
        (name, count, count) for name, count in sets.items()
    ]


def test_one_launcher_and_seven_workers_are_a_gang_of_eight() -> None:  # W-138
    found = request(mpi())
    assert sum(one.min_count for one in found.root.pod_sets()) == 8


def test_a_role_without_a_number_is_one_pod_but_mpi_workers_are_none() -> None:
    assert groups(pytorch(role()))["worker"]["count"] == 1
    assert list(groups(mpi(role()))) == ["launcher"]
    v1 = job("MPIJob", "mpiReplicaSpecs", {"Launcher": role(), "Worker": role()})
    assert groups(v1)["worker"]["count"] == 1


def test_a_job_without_pods_gives_nothing_to_place() -> None:
    doc = job("JAXJob", "jaxReplicaSpecs", {"Worker": role(0)})
    assert requests(doc) == ()
    assert "spec" in noted(doc)


def test_pods_carry_the_labels_of_the_operator() -> None:
    worker = next(one for one in request(pytorch()).root.pod_sets() if one.name == "worker")
    assert ("training.kubeflow.org/replica-type", "worker") in worker.shape.labels
    assert ("training.kubeflow.org/job-name", "train") in worker.shape.labels


def test_roles_are_read_in_any_case() -> None:
    doc = job("PyTorchJob", "pytorchReplicaSpecs", {"master": role(), "WORKER": role(2)})
    assert list(groups(doc)) == ["master", "worker"]


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (job("TFJob", "tfReplicaSpecs", {"Boss": role()}), "spec.tfReplicaSpecs.Boss"),
        (job("TFJob", "tfReplicaSpecs", {}), "spec.tfReplicaSpecs"),
        (job("TFJob", "wrongSpecs", {"Worker": role()}), "spec.tfReplicaSpecs"),
        (job("TFJob", "tfReplicaSpecs", {"Worker": None}), "spec.tfReplicaSpecs.Worker"),
        (job("TFJob", "tfReplicaSpecs", {"Worker": role(), "worker": role()}), "spec.tfReplicaSpecs.worker"),
        (job("TFJob", "tfReplicaSpecs", {"Worker": role("2")}), "spec.tfReplicaSpecs.Worker.replicas"),
        (job("TFJob", "tfReplicaSpecs", {"Worker": role(-1)}), "spec.tfReplicaSpecs.Worker.replicas"),
        (job("TFJob", "tfReplicaSpecs", {"Worker": {"replicas": 1}}), "spec.tfReplicaSpecs.Worker.template"),
        (
            job("TFJob", "tfReplicaSpecs", {"Worker": role(1, containers=[])}),
            "spec.tfReplicaSpecs.Worker.template.spec.containers",
        ),
        (pytorch(runPolicy={"suspend": "no"}), "spec.runPolicy.suspend"),
        (pytorch(runPolicy=available("4")), "spec.runPolicy.schedulingPolicy.minAvailable"),
        (pytorch(annotations={MODE: "ReplicatedGang"}), f"metadata.annotations['{MODE}']"),
        (pytorch(annotations={REQUIRED: "rak"}), f"metadata.annotations['{REQUIRED}']"),
        (
            pytorch(role(4, {REQUIRED: "rak"})),
            f"spec.pytorchReplicaSpecs.Worker.template.metadata.annotations['{REQUIRED}']",
        ),
        (mpi(launcherCreationPolicy="Later"), "spec.launcherCreationPolicy"),
        (mpi(runLauncherAsWorker="yes"), "spec.runLauncherAsWorker"),
    ],
)
def test_a_wrong_job_is_a_problem_with_its_path(doc: Doc, path: str) -> None:
    assert paths(doc) == [path]


def test_an_unknown_role_names_the_known_ones() -> None:
    found = problem(job("PyTorchJob", "pytorchReplicaSpecs", {"Chief": role()}))
    assert found.allowed == ("Master", "Worker")


# ---------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(("number", "least"), [(8, 7), (5, 4), (2, 1), (1, 1)])
def test_min_available_lowers_the_workers_and_never_the_master(number: int, least: int) -> None:
    sets = {one.name: one.min_count for one in request(pytorch(runPolicy=available(number))).root.pod_sets()}
    assert sets == {"master": 1, "worker": least}


def test_min_available_that_spares_every_worker_is_a_warning() -> None:
    assert noted(pytorch(runPolicy=available(1))) == ["spec.runPolicy.schedulingPolicy.minAvailable"]


def test_min_available_beyond_all_pods_is_a_problem() -> None:
    found = problem(pytorch(runPolicy=available(9)))
    assert (found.path, found.value) == ("spec.runPolicy.schedulingPolicy.minAvailable", 9)


def test_without_workers_all_pods_are_waited_for() -> None:
    doc = job("TFJob", "tfReplicaSpecs", {"Chief": role(), "PS": role(3)}, runPolicy=available(2))
    assert [one.min_count for one in request(doc).root.pod_sets()] == [1, 3]
    assert noted(doc) == ["spec.runPolicy.schedulingPolicy.minAvailable"]


def test_elastic_limits_count_workers() -> None:
    found = groups(pytorch(role(4), elasticPolicy={"minReplicas": 2, "maxReplicas": 6}))["worker"]
    assert (found["count"], found["minCount"], found["maxCount"]) == (4, 2, 6)


def test_min_available_goes_before_elastic_limits() -> None:
    doc = pytorch(role(4), elasticPolicy={"minReplicas": 2}, runPolicy=available(4))
    assert groups(doc)["worker"]["minCount"] == 3


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ({"minReplicas": 5}, "spec.elasticPolicy.minReplicas"),
        ({"maxReplicas": 3}, "spec.elasticPolicy.maxReplicas"),
        ({"minReplicas": 0}, "spec.elasticPolicy.minReplicas"),
        ([], "spec.elasticPolicy"),
    ],
)
def test_elastic_limits_that_leave_out_what_is_wanted_are_a_problem(policy: object, path: str) -> None:
    assert paths(pytorch(role(4), elasticPolicy=policy)) == [path]


def test_elastic_limits_without_workers_are_a_warning() -> None:
    doc = job("PyTorchJob", "pytorchReplicaSpecs", {"Master": role()}, elasticPolicy={"minReplicas": 1})
    assert noted(doc) == ["spec.elasticPolicy"]


def test_minimal_resources_are_named_as_not_read() -> None:
    doc = pytorch(runPolicy={"schedulingPolicy": {"minResources": {"cpu": 1}}})
    assert noted(doc) == ["spec.runPolicy.schedulingPolicy.minResources"]


# ----------------------------------------------------------------------------------------- queue, priority, suspend


def test_the_label_names_the_queue_and_else_the_scheduling_policy() -> None:
    doc = pytorch(runPolicy={"schedulingPolicy": {"queue": "volcano"}})
    assert request(doc).queue == "volcano"
    doc["metadata"]["labels"] = {"phalanx.dev/queue": "ours"}
    assert request(doc).queue == "ours"


def test_the_priority_class_is_the_policys_else_that_of_the_first_role() -> None:
    doc = pytorch(role(2, priorityClassName="workers"))
    assert normal(doc)["priorityClassName"] == "workers"
    doc["spec"]["pytorchReplicaSpecs"]["Master"] = role(priorityClassName="master")
    assert normal(doc)["priorityClassName"] == "master"
    doc["spec"]["runPolicy"] = {"schedulingPolicy": {"priorityClass": "policy"}}
    assert normal(doc)["priorityClassName"] == "policy"


def test_a_suspended_job_waits_unless_a_queue_suspends_it() -> None:
    doc = pytorch(runPolicy={"suspend": True})
    assert request(doc).suspended
    doc["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    assert not request(doc).suspended


def test_without_a_gang_every_role_starts_on_its_own() -> None:
    found = requests(pytorch(annotations={MODE: "Off"}))
    assert [(one.unit, next(one.root.pod_sets()).min_count) for one in found] == [("master", 1), ("worker", 1)]


def test_a_minimum_beside_off_is_a_warning() -> None:
    doc = pytorch(annotations={MODE: "Off"}, runPolicy=available(4))
    assert noted(doc) == ["spec.runPolicy.schedulingPolicy.minAvailable"]


# ----------------------------------------------------------------------------------------------------------- levels


def racks() -> list[Doc]:
    """Two blocks of two racks of two nodes with room for 8 pods each: 16 workers fill a rack, and whoever is with
    them has to go to the other rack of the block."""
    return [
        node(f"{block}-{rack}-{i}", {"topology/block": block, "topology/rack": rack})
        for block in ("b1", "b2") for rack in ("r1", "r2") for i in (1, 2)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["MPIJob", "TFJob", "PyTorchJob"])
def test_workers_share_a_rack_and_everybody_a_block(kind: str) -> None:  # K-012, Story 3, X-29
    specs, first = {
        "MPIJob": ("mpiReplicaSpecs", "Launcher"),
        "TFJob": ("tfReplicaSpecs", "Chief"),
        "PyTorchJob": ("pytorchReplicaSpecs", "Master"),
    }[kind]
    doc = job(kind, specs, {first: role(), "Worker": role(16, {REQUIRED: "rack"})}, {REQUIRED: "block"})
    root = request(doc).root
    assert root.required == BLOCK
    assert [(one.name, one.required) for one in root.groups()][1:] == [(first.lower(), None), ("worker", RACK)]
    cluster = phalanx.Cluster.from_manifests([topology("topology/block", "topology/rack"), *racks()])
    (decision,) = cluster.place([doc])
    assert decision.status == "Placed"
    block, rack = decision.domains["worker"]
    assert sum(decision.pod_sets["worker"].values()) == 16
    assert all(name.startswith(f"{block}-{rack}") for name in decision.pod_sets["worker"])
    assert all(name.startswith(f"{block}-") for name in decision.pod_sets[first.lower()])


def test_of_kueues_levels_every_template_needs_one() -> None:  # K-038
    found = problem(pytorch(role(4, {KUEUE_REQUIRED: "topology/rack"})))
    assert found.path == f"spec.pytorchReplicaSpecs.Master.template.metadata.annotations['{KUEUE_REQUIRED}']"
    assert KUEUE_REQUIRED in found.allowed


def test_pod_sets_of_one_kueue_group_share_a_domain() -> None:
    notes = {KUEUE_REQUIRED: "topology/rack", GROUP: "near"}
    found = groups(mpi(role(4, notes), role(1, notes)))
    assert found["near"] == {"name": "near", "topology": {"required": "topology/rack"}}
    assert [found[name].get("parent") for name in ("launcher", "worker")] == ["near", "near"]
    assert "topology" not in found["worker"]


@pytest.mark.parametrize(
    ("launcher", "worker", "path"),
    [
        ({KUEUE_REQUIRED: "topology/rack"}, {KUEUE_REQUIRED: "topology/rack", GROUP: "g"}, "Worker"),
        ({KUEUE_REQUIRED: "topology/block", GROUP: "g"}, {KUEUE_REQUIRED: "topology/rack", GROUP: "g"}, "Worker"),
    ],
)
def test_a_kueue_group_takes_two_that_ask_for_the_same(launcher: Doc, worker: Doc, path: str) -> None:
    expected = f"spec.mpiReplicaSpecs.{path}.template.metadata.annotations['{GROUP}']"
    assert paths(mpi(role(4, worker), role(1, launcher))) == [expected]


def test_kais_segments_are_slices_of_the_workers() -> None:
    size, level = "kai.scheduler/segment-size", "kai.scheduler/segment-topology-required-placement"
    assert groups(pytorch(role(8, {size: "4", level: "rack"})))["worker"]["slices"] == [{"level": "rack", "size": 4}]
    where = "spec.pytorchReplicaSpecs.Worker.template.metadata.annotations"
    assert paths(pytorch(role(8, {level: "rack"}))) == [f"{where}['{size}']"]
    assert paths(pytorch(role(8, {level: "rack", size: "0"})))[0] == f"{where}['{size}']"
    assert noted(pytorch(role(8, {size: "4"}))) == [f"{where}['{size}']"]
    preferred = "kai.scheduler/segment-topology-preferred-placement"
    assert noted(pytorch(role(8, {size: "4", preferred: "rack"}))) == [f"{where}['{preferred}']"]


# -------------------------------------------------------------------------------------------------------------- MPI

GOLDEN_MPI = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  slotsPerWorker: 1
  runPolicy: {cleanPodPolicy: Running, schedulingPolicy: {minAvailable: 3, queue: hpc}}
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers: [{name: mpi-launcher, image: pi, resources: {requests: {cpu: 1}}}]
    Worker:
      replicas: 4
      template:
        spec:
          containers: [{name: mpi-worker, image: pi, resources: {requests: {cpu: 2}}}]
"""


def test_the_golden_mpi_job() -> None:  # K-094, W-138
    assert normal(yaml.safe_load(GOLDEN_MPI)) == {
        "queue": "hpc",
        "policy": "Gang",
        "podGroups": [
            {"name": "launcher", "count": 1},
            {"name": "worker", "count": 4, "minCount": 2, "rank": {"fieldPath": INDEX}},
        ],
    }


def test_a_launcher_that_waits_for_its_workers_is_no_part_of_their_gang() -> None:
    doc = mpi(launcherCreationPolicy="WaitForWorkersReady")
    assert [(one.unit, [s.min_count for s in one.root.pod_sets()]) for one in requests(doc)] == [
        ("worker", [7]),
        ("launcher", [1]),
    ]
    assert noted(doc) == ["spec.launcherCreationPolicy"]


def test_a_waiting_launcher_is_not_counted_in_min_available() -> None:
    doc = mpi(launcherCreationPolicy="WaitForWorkersReady", runPolicy=available(5))
    assert groups(doc)["worker"]["minCount"] == 5
    over = mpi(launcherCreationPolicy="WaitForWorkersReady", runPolicy=available(8))
    assert paths(over) == ["spec.runPolicy.schedulingPolicy.minAvailable"]


def test_a_launcher_that_works_is_rank_0_of_one_numbering() -> None:
    doc = mpi(runLauncherAsWorker=True, runPolicy=available(5))
    (group,) = request(doc).root.groups()
    assert [(one.name, one.count, one.min_count) for one in group.pod_sets()] == [
        ("worker/launcher", 1, 1),
        ("worker/worker", 7, 4),
    ]
    assert group.ranks is not None


def test_a_working_launcher_that_asks_for_something_else_stays_a_pod_set() -> None:
    doc = mpi(role(7, {REQUIRED: "rack"}), runLauncherAsWorker=True)
    assert list(groups(doc)) == ["launcher", "worker"]


# --------------------------------------------------------------------------------------------------------- garbage

RICH = [
    yaml.safe_load(GOLDEN),
    mpi(
        role(4, {KUEUE_REQUIRED: "topology/rack", GROUP: "g"}), role(1, {KUEUE_REQUIRED: "topology/rack", GROUP: "g"}),
        runLauncherAsWorker=True, launcherCreationPolicy="AtStartup", runPolicy=available(4, queue="q"),
    ) | {"metadata": {"name": "other"}},
    topology("topology/block", "topology/rack"),
]  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(docs=broken(RICH))
def test_one_wrong_value_anywhere_never_raises(docs: list[Doc]) -> None:
    check(read(docs))
