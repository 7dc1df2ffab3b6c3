"""TrainJobs with their TrainingRuntime: the JobSet they make, read as one gang."""

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

import phalanx
from phalanx.dialects.reading import read, read_workloads
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from tests.dialects.manifests import AROUND, BLOCK, RACK, Doc, node, pod_spec, topology
from tests.dialects.shapes import broken, groups, normal, noted, notes
from tests.dialects.test_hostile import check

REQUIRED, MODE = "phalanx.dev/topology-required", "phalanx.dev/gang-mode"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
API = "trainer.kubeflow.org/v1alpha1"
TITLE = "ClusterTrainingRuntime/torch"


def replicated(name: str, step: str | None = "trainer", annotations: Doc | None = None, **more: Any) -> Doc:
    labels = {STEP: step} if step else {}
    pods = {"metadata": {"annotations": annotations or {}}, "spec": pod_spec()}
    pods["spec"]["containers"][0]["name"] = "node"
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}, **more}


def runtime(*jobs: Doc, kind: str = "ClusterTrainingRuntime", policy: Doc | None = None, **spec: Any) -> Doc:
    template = {"spec": {"replicatedJobs": list(jobs or (replicated("node"),))}}
    metadata = {"name": "torch", **({"namespace": "team"} if kind == "TrainingRuntime" else {})}
    made = {"mlPolicy": policy or {"numNodes": 4, "torch": {}}, "template": template, **spec}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": made}


def trainjob(annotations: Doc | None = None, namespace: str = "team", **spec: Any) -> Doc:
    metadata = {"name": "tune", "namespace": namespace, "annotations": annotations or {}}
    return {"apiVersion": API, "kind": "TrainJob", "metadata": metadata,
            "spec": {"runtimeRef": {"name": "torch"}, **spec}}  # fmt: skip


INITIALIZER = replicated("dataset-initializer", "dataset-initializer")
AFTER = [{"name": "dataset-initializer", "status": "Complete"}]


def mpi(**policy: Any) -> Doc:
    jobs = (INITIALIZER, replicated("launcher", dependsOn=AFTER), replicated("node", None, dependsOn=AFTER))
    return runtime(*jobs, policy={"numNodes": 10, "mpi": policy})


def requests(*docs: Doc) -> tuple[Request, ...]:
    found = read_workloads(list(docs), AROUND)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return found.requests


def problems(*docs: Doc) -> list[Problem]:
    (one,) = read_workloads(list(docs), AROUND).invalid
    return list(one.problems)


def paths(*docs: Doc) -> list[str]:
    return [problem.path for problem in problems(*docs)]


def sets(one: Request) -> list[tuple[str, int, int]]:
    return [(pods.name, pods.count, pods.min_count) for pods in one.root.pod_sets()]


# ----------------------------------------------------------------------------------------------------------- golden

GOLDEN = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: example, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  suspend: true
  runtimeRef: {apiGroup: trainer.kubeflow.org, name: torch-distributed, kind: ClusterTrainingRuntime}
  trainer:
    numNodes: 18
    image: tuned
    resourcesPerNode: {requests: {cpu: 3}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {numProcPerNode: auto}}
  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 100}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers: [{name: node, image: torch}]
"""


def test_the_golden_train_job_is_a_gang_of_its_nodes() -> None:  # K-094, W-138, W-144, W-225, X-23
    docs = list(yaml.safe_load_all(GOLDEN))
    assert normal(*docs) == {
        "queue": "research",
        "suspend": False,
        "policy": "Gang",
        "scheduleTimeoutSeconds": 100,
        "podGroups": [
            {
                "name": "node",
                "count": 18,
                "rank": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"},
            }
        ],
    }
    (one,) = requests(*docs)
    assert (one.kind, one.id, sets(one)) == ("TrainJob", "default/example", [("node", 18, 18)])
    assert dict(next(one.root.pod_sets()).shape.requests)["cpu"] == 3 * 10**9


# ---------------------------------------------------------------------------------------------------------- numbers


def test_the_number_of_nodes_is_the_train_jobs_else_the_runtimes_else_one() -> None:
    assert sets(requests(trainjob(trainer={"numNodes": 6}), runtime())[0]) == [("node", 6, 6)]
    assert sets(requests(trainjob(), runtime())[0]) == [("node", 4, 4)]
    assert sets(requests(trainjob(), runtime(policy={"torch": {}}))[0]) == [("node", 1, 1)]


def test_a_launcher_that_is_a_node_is_one_of_them() -> None:  # W-227
    found = {one.unit: sets(one) for one in requests(trainjob(), mpi(runLauncherAsNode=True))}
    assert found["trainer"] == [("launcher", 1, 1), ("node", 9, 9)]
    alone = {one.unit: sets(one) for one in requests(trainjob(), mpi())}
    assert alone["trainer"] == [("launcher", 1, 1), ("node", 10, 10)]


def test_an_elastic_policy_bounds_the_nodes() -> None:
    policy = {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 6}}}
    found = groups(trainjob(), runtime(policy=policy))["node"]
    assert (found["count"], found["minCount"], found["maxCount"]) == (2, 2, 6)
    more = groups(trainjob(trainer={"numNodes": 4}), runtime(policy=policy))["node"]
    assert (more["count"], more["minCount"], more["maxCount"]) == (4, 2, 6)
    assert paths(trainjob(trainer={"numNodes": 8}), runtime(policy=policy)) == [
        f"{TITLE}: spec.mlPolicy.torch.elasticPolicy.maxNodes"
    ]
    assert paths(trainjob(trainer={"numNodes": 1}), runtime(policy=policy)) == [
        f"{TITLE}: spec.mlPolicy.torch.elasticPolicy.minNodes"
    ]


@pytest.mark.parametrize("plugin", ["coscheduling", "coreWorkload"])
def test_the_time_out_is_copied_from_the_runtime(plugin: str) -> None:  # W-225
    found = normal(trainjob(), runtime(podGroupPolicy={plugin: {"scheduleTimeoutSeconds": 60}}))
    assert found["scheduleTimeoutSeconds"] == 60


def test_a_time_out_of_0_is_none() -> None:
    policy = {"coscheduling": {"scheduleTimeoutSeconds": 0}}
    assert "scheduleTimeoutSeconds" not in normal(trainjob(), runtime(podGroupPolicy=policy))


# ----------------------------------------------------------------------------------------------------------- gangs


def test_initializers_are_units_of_their_own_and_come_first() -> None:  # W-227
    assert [(one.unit, sets(one)) for one in requests(trainjob(), mpi(runLauncherAsNode=True))] == [
        ("dataset-initializer", [("dataset-initializer", 1, 1)]),
        ("trainer", [("launcher", 1, 1), ("node", 9, 9)]),
    ]


def test_the_trainers_gang_does_not_wait_for_an_initializer_without_room() -> None:  # W-227
    cluster = phalanx.Cluster.from_manifests([node("n1"), node("n2")])
    docs = [trainjob(), mpi(runLauncherAsNode=True)]
    docs[1]["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {
        "disk": "large"
    }
    assert {one.unit: one.status for one in cluster.place(docs)} == {
        "dataset-initializer": "Waiting",
        "trainer": "Placed",
    }


def test_mpi_without_initializers_is_one_gang() -> None:
    (one,) = requests(trainjob(), runtime(replicated("launcher"), replicated("node", None)))
    assert (one.unit, sets(one)) == (None, [("launcher", 1, 1), ("node", 4, 4)])


def test_who_waits_for_one_of_the_trainers_is_no_part_of_the_gang() -> None:
    later = replicated("launcher", dependsOn=[{"name": "node", "status": "Ready"}])
    docs = (trainjob(), runtime(replicated("node", None), later))
    assert {one.unit: sets(one) for one in requests(*docs)} == {
        "launcher": [("launcher", 1, 1)],
        "trainer": [("node", 4, 4)],
    }
    waits = f"{TITLE}: spec.template.spec.replicatedJobs[1].dependsOn"
    assert noted(*docs) == [f"{waits}[0].name", waits]


def test_jobs_that_start_in_order_are_gangs_by_themselves() -> None:
    docs = [trainjob(), runtime(INITIALIZER, replicated("node"))]
    docs[1]["spec"]["template"]["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    assert [(one.unit, sets(one)[0][2]) for one in requests(*docs)] == [("dataset-initializer", 1), ("node", 4)]
    assert set(noted(*docs)) == {f"{TITLE}: spec.template.spec.startupPolicy.startupPolicyOrder"}


def test_in_mode_off_every_pod_starts_as_it_fits() -> None:
    (one,) = requests(trainjob({MODE: "Off"}), runtime())
    assert sets(one) == [("node", 4, 1)]


def test_a_level_on_the_train_job_bounds_the_trainers_gang() -> None:  # K-012, X-29
    found = {one.unit: one.root for one in requests(trainjob({REQUIRED: "block"}), mpi())}
    assert (found["dataset-initializer"].required, found["trainer"].required) == (None, BLOCK)
    (alone,) = requests(trainjob({REQUIRED: "block"}), runtime())
    assert alone.root.required == BLOCK


def test_levels_of_train_job_and_runtime_nest() -> None:  # X-29
    (one,) = requests(trainjob({REQUIRED: "block"}), runtime(replicated("node", annotations={REQUIRED: "rack"})))
    assert [group.required for group in one.root.groups()] == [BLOCK, RACK]


def test_annotations_of_the_runtimes_jobset_are_read_under_the_train_jobs() -> None:
    held = runtime()
    held["spec"]["template"]["metadata"] = {"annotations": {REQUIRED: "rack"}}
    assert requests(trainjob(), held)[0].root.required == RACK
    assert requests(trainjob({REQUIRED: "block"}), held)[0].root.required == BLOCK


# --------------------------------------------------------------------------------------------------------- changes


def selector(doc: Doc, *others: Doc) -> dict[str, object]:
    """For each pod set the node selector and tolerations after all changes."""
    found = read_workloads([doc, *others], AROUND)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return {
        pods.name: (str(pods.shape.filter), dict(pods.shape.labels).get("tier"))
        for one in found.requests
        for pods in one.root.pod_sets()
    }


CHANGE = {"nodeSelector": {"gpu": "h100"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
NODES = [{"name": "node"}]
SPELLINGS = [
    {"podTemplateOverrides": [{"targetJobs": NODES, "metadata": {"labels": {"tier": "a"}}, "spec": CHANGE}]},
    {"podSpecOverrides": [{"targetJobs": NODES, "metadata": {"labels": {"tier": "a"}}, **CHANGE}]},
    {"runtimePatches": [{"manager": "me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {
            "metadata": {"labels": {"tier": "a"}}, "spec": CHANGE}}}}]}}}}]},
]  # fmt: skip


@pytest.mark.parametrize("spec", SPELLINGS)
def test_changes_reach_the_pods_they_name_in_every_spelling(spec: Doc) -> None:
    plain, changed = selector(trainjob(), mpi()), selector(trainjob(**spec), mpi())
    assert "h100" in changed["node"][0]
    assert "Exists" in changed["node"][0] or "gpu" in changed["node"][0]
    assert changed["node"][1] == "a"
    assert [changed[name] for name in ("launcher", "dataset-initializer")] == [
        plain[name] for name in ("launcher", "dataset-initializer")
    ]


def test_a_changed_node_selector_decides_where_pods_go() -> None:
    nodes = [node("a"), node("b", {"gpu": "h100"}, {"taints": [{"key": "gpu", "effect": "NoSchedule"}]})]
    cluster = phalanx.Cluster.from_manifests(nodes)
    (found,) = cluster.place([trainjob(podTemplateOverrides=[{"spec": CHANGE}]), runtime()])
    assert found.pod_sets["node"] == {"b": 4}


def test_a_change_without_targets_is_for_all_jobs() -> None:
    found = selector(trainjob(podTemplateOverrides=[{"spec": CHANGE}]), mpi())
    assert all("h100" in text for text, _ in found.values())


@pytest.mark.parametrize("name", ["podTemplateOverrides", "podSpecOverrides", "runtimePatches"])
def test_a_change_below_the_trainer_is_said_to_belong_elsewhere(name: str) -> None:
    doc = trainjob(trainer={name: [{"targetJobs": [{"name": "node"}], "spec": {"nodeSelector": {"a": "b"}}}]})
    (only,) = notes(doc, runtime())
    assert (only.path, only.allowed) == (f"spec.trainer.{name}", (f"spec.{name}",))
    assert only.message == f"is not read here; it belongs to spec.{name}"


def test_scheduling_of_the_runtimes_jobset_is_not_followed_and_that_is_said() -> None:
    given = runtime()
    given["spec"]["template"]["spec"]["scheduling"] = {"schedulingPolicy": {"basic": {}}}
    (one,) = requests(trainjob(), given)
    assert sets(one) == [("node", 4, 4)]
    assert noted(trainjob(), given) == [f"{TITLE}: spec.template.spec.scheduling"]


def test_a_change_to_a_job_that_is_not_there_is_a_problem() -> None:
    (found,) = problems(trainjob(podTemplateOverrides=[{"targetJobs": [{"name": "nodes"}], "spec": {}}]), runtime())
    assert (found.path, found.value) == ("spec.podTemplateOverrides[0].targetJobs[0].name", "nodes")
    assert found.allowed == ("node",)


def test_resources_without_a_container_for_them_are_a_warning() -> None:
    held = runtime()
    job = held["spec"]["template"]["spec"]["replicatedJobs"][0]
    job["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "other"
    doc = trainjob(trainer={"resourcesPerNode": {"requests": {"cpu": 1}}})
    assert noted(doc, held) == ["spec.trainer.resourcesPerNode"]


# ------------------------------------------------------------------------------------------------------- the runtime


def test_a_runtime_of_the_namespace_is_found_there() -> None:
    ref = {"name": "torch", "kind": "TrainingRuntime"}
    assert requests(trainjob(runtimeRef=ref), runtime(kind="TrainingRuntime"))
    assert paths(trainjob(namespace="other", runtimeRef=ref), runtime(kind="TrainingRuntime")) == [
        "spec.runtimeRef.name"
    ]


def test_a_runtime_that_is_not_given_is_a_problem_that_names_it() -> None:
    (found,) = problems(trainjob(trainer={"numNodes": 4}))
    assert (found.path, found.value) == ("spec.runtimeRef.name", "torch")
    assert "ClusterTrainingRuntime torch is not among the documents" in found.message


def test_what_is_wrong_with_the_runtime_is_told_of_the_train_job() -> None:
    held = runtime()
    where = "spec.template.spec.replicatedJobs[0].template.spec.template.spec"
    pods = held["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pods["containers"][0]["resources"] = {"requests": {"cpu": "much"}}
    assert paths(trainjob(), held) == [f"{TITLE}: {where}.containers[0].resources.requests.cpu"]


@pytest.mark.parametrize(
    ("docs", "path"),
    [
        ((trainjob(runtimeRef={}), runtime()), "spec.runtimeRef.name"),
        ((trainjob(runtimeRef={"name": "torch", "kind": "Runtime"}), runtime()), "spec.runtimeRef.kind"),
        ((trainjob(runtimeRef={"name": "torch", "apiGroup": "x"}), runtime()), "spec.runtimeRef.apiGroup"),
        ((trainjob(trainer={"numNodes": "4"}), runtime()), "spec.trainer.numNodes"),
        ((trainjob(trainer={"numNodes": 0}), runtime()), "spec.trainer.numNodes"),
        ((trainjob({MODE: "ReplicatedGang"}), runtime()), f"metadata.annotations['{MODE}']"),
        ((trainjob({REQUIRED: "rak"}), runtime()), f"metadata.annotations['{REQUIRED}']"),
        ((trainjob(suspend="no"), runtime()), "spec.suspend"),
        (
            (trainjob(), runtime(podGroupPolicy={"volcano": {"networkTopology": {"mode": "hard"}}})),
            f"{TITLE}: spec.podGroupPolicy.volcano.networkTopology",
        ),
    ],
)
def test_a_wrong_train_job_is_a_problem_with_its_path(docs: tuple[Doc, ...], path: str) -> None:
    assert paths(*docs) == [path]


def test_a_runtime_without_jobs_is_a_problem() -> None:
    held = runtime()
    held["spec"]["template"]["spec"]["replicatedJobs"] = []
    assert paths(trainjob(), held) == [f"{TITLE}: spec.template.spec.replicatedJobs"]


# --------------------------------------------------------------------------------------------------------- garbage

RICH = [
    trainjob({REQUIRED: "block"}, trainer={"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": 3}}},
             **SPELLINGS[0], **SPELLINGS[1], **SPELLINGS[2], labels={"a": "b"}, suspend=True),
    mpi(runLauncherAsNode=True),
    topology("topology/block", "topology/rack"),
]  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(docs=broken(RICH))
def test_one_wrong_value_anywhere_never_raises(docs: list[Doc]) -> None:
    check(read(docs))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(docs=broken(list(yaml.safe_load_all(GOLDEN))))
def test_one_wrong_value_in_the_golden_pair_never_raises(docs: list[Doc]) -> None:
    check(read(docs))
