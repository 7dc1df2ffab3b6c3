"""How the pods of each workload kind are told apart: group, replica, rank and class from their labels."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects import recognised
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.recognised import TABLE, Recognised
from phalanx.model.objects import ObjectKey
from tests.dialects.test_links import GARBAGE, changed, places

Doc = dict[str, Any]
INDEX = "batch.kubernetes.io/job-completion-index"
JOBSET, LWS, TRAINING = "jobset.sigs.k8s.io/", "leaderworkerset.sigs.k8s.io/", "training.kubeflow.org/"


def pod(labels: Doc | None = None, annotations: Doc | None = None, name: str = "p") -> Doc:
    return {"metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}}, "spec": {}}


def of_jobset(job: str, index: str, name: str = "workers") -> Doc:
    return pod({f"{JOBSET}replicatedjob-name": name, f"{JOBSET}job-index": job, INDEX: index})


def of_lws(group: str, worker: str) -> Doc:
    return pod({f"{LWS}name": "lws", f"{LWS}group-index": group, f"{LWS}worker-index": worker})


def of_training(role: str, index: str | None = None, key: str = "replica-type") -> Doc:
    return pod({TRAINING + key: role, **({} if index is None else {f"{TRAINING}replica-index": index})})


STARTS_AT_5 = {"spec": {"ordinals": {"start": 5}}}
JOBSET_4 = {
    "spec": {
        "replicatedJobs": [
            {"name": "driver", "template": {"spec": {}}},
            {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4, "completions": 4}}},
            {"name": "bag", "replicas": 2, "template": {"spec": {"parallelism": 8, "completions": 3}}},
        ]
    }
}
TWO_TEMPLATES = {"spec": {"leaderWorkerTemplate": {"leaderTemplate": {"spec": {}}, "workerTemplate": {"spec": {}}}}}
ONE_TEMPLATE = {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {}}}}}
WITH_MASTER = {"spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}}}
NO_MASTER = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}


def read(kind: str, doc: object, workload: object = None) -> tuple[Recognised, Notes, Notes]:
    at, around = Field.of(doc, Notes()), Field.of(workload, Notes())
    return recognised.recognise(kind, at, around), at.notes, around.notes


ROWS: list[tuple[str, Doc, Doc | None, Recognised]] = [
    ("Job", pod(annotations={INDEX: "3"}), None, Recognised("main", rank=3)),
    ("Job", pod({INDEX: "3"}), None, Recognised("main", rank=3)),
    ("Job", pod({INDEX: "4"}, {INDEX: "3"}), None, Recognised("main", rank=3)),
    ("Job", pod(), None, Recognised("main")),
    ("CronJob", pod(annotations={INDEX: "3"}), None, Recognised("main", rank=3)),
    ("StatefulSet", pod({"apps.kubernetes.io/pod-index": "7"}), {"spec": {}}, Recognised("main", rank=7)),
    ("StatefulSet", pod({"apps.kubernetes.io/pod-index": "7"}), STARTS_AT_5, Recognised("main", rank=2)),
    ("StatefulSet", pod(name="web-db-6"), STARTS_AT_5, Recognised("main", rank=1)),
    ("StatefulSet", pod(name="web-db-6"), None, Recognised("main", rank=6)),
    ("StatefulSet", pod(name="web"), None, Recognised("main")),
    ("StatefulSet", pod(name="7"), None, Recognised("main")),
    ("Deployment", pod({"pod-template-hash": "1"}, name="web-1-6"), None, Recognised("main")),
    ("ReplicaSet", pod(name="web-1-6"), None, Recognised("main")),
    ("Rollout", pod({"rollouts-pod-template-hash": "1"}), None, Recognised("main")),
    ("Pod", pod(name="web-1"), None, Recognised("main")),
    ("JobSet", of_jobset("0", "3"), JOBSET_4, Recognised("workers", "0", 3)),
    ("JobSet", of_jobset("1", "3"), JOBSET_4, Recognised("workers", "1", 7)),
    ("JobSet", of_jobset("1", "2", "bag"), JOBSET_4, Recognised("bag", "1", 5)),
    ("JobSet", of_jobset("1", "0", "driver"), JOBSET_4, Recognised("driver", "1", 1)),
    ("JobSet", of_jobset("0", "3"), None, Recognised("workers", "0", 3)),
    ("JobSet", of_jobset("1", "3"), None, Recognised("workers", "1")),
    ("JobSet", of_jobset("1", "3", "unheard-of"), JOBSET_4, Recognised("unheard-of", "1")),
    ("JobSet", pod({f"{JOBSET}replicatedjob-name": "a", f"{JOBSET}job-index": "0"}), JOBSET_4, Recognised("a", "0")),
    ("JobSet", pod(annotations={f"{JOBSET}replicatedjob-name": "a", f"{JOBSET}job-index": "0", INDEX: "1"}), None,
     Recognised("a", "0", 1)),
    ("TrainJob", of_jobset("0", "17", "node"), {"spec": {"trainer": {"numNodes": 18}}}, Recognised("node", "0", 17)),
    ("LeaderWorkerSet", of_lws("2", "0"), TWO_TEMPLATES, Recognised("main", "2", 0, "leader")),
    ("LeaderWorkerSet", of_lws("2", "3"), TWO_TEMPLATES, Recognised("main", "2", 3, "worker")),
    ("LeaderWorkerSet", of_lws("2", "0"), ONE_TEMPLATE, Recognised("main", "2", 0)),
    ("LeaderWorkerSet", of_lws("2", "0"), None, Recognised("main", "2", 0)),
    ("MPIJob", of_training("worker", "3"), None, Recognised("worker", rank=3)),
    ("MPIJob", of_training("launcher"), None, Recognised("launcher")),
    ("MPIJob", of_training("worker", "3", key="job-role"), None, Recognised("worker", rank=3)),
    ("PyTorchJob", of_training("master", "0"), WITH_MASTER, Recognised("master", rank=0)),
    ("PyTorchJob", of_training("worker", "0"), WITH_MASTER, Recognised("worker", rank=1)),
    ("PyTorchJob", of_training("worker", "2"), WITH_MASTER, Recognised("worker", rank=3)),
    ("PyTorchJob", of_training("worker", "2"), NO_MASTER, Recognised("worker", rank=2)),
    ("PyTorchJob", of_training("worker", "2"), None, Recognised("worker")),
    ("TFJob", of_training("Chief", "0"), None, Recognised("chief", rank=0)),
    ("TFJob", of_training("ps", "1"), None, Recognised("ps", rank=1)),
    ("XGBoostJob", of_training("master", "0"), None, Recognised("master", rank=0)),
    ("XGBoostJob", of_training("worker", "1"), None, Recognised("worker", rank=1)),
    ("PaddleJob", of_training("worker", "2"), None, Recognised("worker", rank=2)),
    ("JAXJob", of_training("worker", "1"), None, Recognised("worker", rank=1)),
    ("ReplicationController", pod(name="web-x6fbk"), None, Recognised("main")),
    ("RayCluster", pod({"ray.io/node-type": "head", "ray.io/group": "headgroup"}), None, Recognised("head")),
    ("RayCluster", pod({"ray.io/node-type": "worker", "ray.io/group": "gpu"}), None, Recognised("gpu")),
    ("RayJob", pod({"ray.io/node-type": "worker", "ray.io/group": "gpu"}), None, Recognised("gpu")),
    ("RayService", pod({"ray.io/node-type": "head"}), None, Recognised("head")),
    ("Widget", pod({INDEX: "3"}), None, Recognised()),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "doc", "workload", "expected"), ROWS)
def test_a_pod_is_recognised_by_what_its_controller_wrote(
    kind: str, doc: Doc, workload: Doc | None, expected: Recognised
) -> None:
    # W-017, W-109, W-110, W-173, X-21, X-23
    found, notes, around = read(kind, doc, workload)
    assert found == expected
    assert not notes.problems
    assert not notes.warnings
    assert not around.problems


def test_every_kind_of_the_table_is_shown() -> None:
    assert set(TABLE) <= {kind for kind, *_ in ROWS}


def test_the_pods_of_a_jobset_have_all_ranks_once() -> None:
    found = [read("JobSet", of_jobset(str(job), str(i)), JOBSET_4)[0].rank for job in range(2) for i in range(4)]
    assert found == list(range(8))


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "", "٣", "99999999999", 3, True, []])
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("Job", INDEX), ("StatefulSet", "apps.kubernetes.io/pod-index"), ("LeaderWorkerSet", f"{LWS}worker-index"),
        ("MPIJob", f"{TRAINING}replica-index"), ("PyTorchJob", f"{TRAINING}replica-index"),
    ],
)  # fmt: skip
def test_an_index_that_is_no_number_is_a_problem(kind: str, key: str, value: object) -> None:
    found, notes, _ = read(kind, pod({key: value}), {})
    assert found.rank is None
    assert {one.path for one in notes.problems} == {f"metadata.labels['{key}']"}


def test_an_ordinal_below_the_start_is_a_problem() -> None:
    found, notes, _ = read("StatefulSet", pod({"apps.kubernetes.io/pod-index": "4"}), STARTS_AT_5)
    assert found.rank is None
    (one,) = notes.problems
    assert "less than 5" in one.message


# ----------------------------------------------------------------------------------------------------- field paths


def ranks(path: object, *docs: Doc) -> tuple[tuple[int | None, ...], list[str]]:
    """The ranks of pods, and the Problems about them."""
    notes = Notes()
    at = Field.of({"fieldPath": path}, notes).at("fieldPath")
    found = recognised.ranks(
        [Field.of(doc, notes, ObjectKey("", "Pod", "default", doc["metadata"]["name"])) for doc in docs], at
    )
    return found, [str(one) for one in notes.problems]


@pytest.mark.parametrize("path", [f"metadata.labels['{INDEX}']", f"metadata.annotations['{INDEX}']"])
@pytest.mark.parametrize("doc", [pod({INDEX: "5"}), pod(annotations={INDEX: "5"})])
def test_a_rank_is_read_from_either_place_wherever_the_path_points(path: str, doc: Doc) -> None:
    # W-173, X-23
    assert ranks(path, doc) == ((5,), [])


def test_where_both_places_have_a_rank_the_path_decides() -> None:
    #
    doc = pod({INDEX: "1"}, {INDEX: "2"})
    assert ranks(f"metadata.labels['{INDEX}']", doc)[0] == (1,)
    assert ranks(f"metadata.annotations['{INDEX}']", doc)[0] == (2,)


def test_a_rank_that_is_absent_or_no_number_is_a_problem_of_that_pod() -> None:
    # W-173
    found, problems = ranks("metadata.labels['r']", pod({"r": "0"}, name="a"), pod({"r": "x"}, name="b"), pod(name="c"))
    assert found == (0, None, None)
    assert [one.split(":")[0] for one in problems] == ["Pod/b", "Pod/c"]
    assert "carries no rank" in problems[1]


@pytest.mark.parametrize(
    "path", ["metadata.name", "labels['r']", "metadata.labels[r]", "metadata.labels['']", "", 7, []]
)
def test_a_path_that_is_none_is_a_problem_at_the_path(path: object) -> None:
    found, problems = ranks(path, pod({"r": "0"}), pod({"r": "1"}))
    assert found == (None, None)
    assert len(problems) == 1
    assert problems[0].startswith("fieldPath")


def test_a_rank_that_two_pods_of_a_group_share_is_a_problem_that_names_both() -> None:
    #
    found, problems = ranks("metadata.labels['r']", *(pod({"r": r}, name=f"p{i}") for i, r in enumerate("0121")))
    assert found == (0, 1, 2, 1)
    (one,) = problems
    assert one.startswith("Pod/p3: metadata.labels.r")
    assert "pod p3 and pod p1 both have rank 1" in one


def test_a_group_without_a_path_has_no_ranks() -> None:
    assert ranks(None, pod({"r": "0"})) == ((None,), [])


# --------------------------------------------------------------------------------------------------------- hostile

ROW_PLACES = [(i, path) for i, (_, doc, _, _) in enumerate(ROWS) for path in places(doc)]
WORKLOAD_PLACES = [(i, path) for i, (_, _, doc, _) in enumerate(ROWS) for path in places(doc)]


def check(kind: str, doc: object, workload: object) -> None:
    found, *notes = read(kind, doc, workload)
    assert isinstance(found, Recognised)
    assert all(str(one).encode("utf-8") for each in notes for one in each.problems)


@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from([*TABLE, "Widget"]), doc=GARBAGE, workload=GARBAGE, path=GARBAGE)
def test_any_garbage_is_recognised_without_raising(kind: str, doc: object, workload: object, path: object) -> None:
    check(kind, doc, workload)
    recognised.ranks([Field.of(doc), Field.of(workload)], Field.of(path))


@settings(max_examples=300, deadline=None)
@given(place=st.sampled_from(ROW_PLACES), value=GARBAGE)
def test_one_wrong_value_in_a_pod_never_raises(place: tuple[int, tuple[Any, ...]], value: object) -> None:
    number, path = place
    kind, doc, workload, _ = ROWS[number]
    check(kind, changed(doc, path, value), workload)


@settings(max_examples=300, deadline=None)
@given(place=st.sampled_from(WORKLOAD_PLACES), value=GARBAGE)
def test_one_wrong_value_in_a_workload_never_raises(place: tuple[int, tuple[Any, ...]], value: object) -> None:
    number, path = place
    kind, doc, workload, _ = ROWS[number]
    assert workload is not None
    check(kind, doc, changed(workload, path, value))
