"""The walk from a pod through its owners to the object whose pods are a gang."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects import owners
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.owners import DEPTH_MAX, Owner, Walk
from phalanx.model.objects import ObjectKey
from tests.dialects.test_links import GARBAGE, changed, places

Doc = dict[str, Any]
APIS = {
    "Pod": "v1", "Node": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Rollout": "argoproj.io/v1alpha1",
    "JobSet": "jobset.x-k8s.io/v1alpha2", "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "MPIJob": "kubeflow.org/v2beta1", "PyTorchJob": "kubeflow.org/v1", "TFJob": "kubeflow.org/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1", "RayCluster": "ray.io/v1", "RayJob": "ray.io/v1",
    "RayService": "ray.io/v1", "Workflow": "argoproj.io/v1alpha1", "AppWrapper": "workload.codeflare.dev/v1beta2",
}  # fmt: skip


def reference(owner: str, controls: bool = True, **more: Any) -> Doc:
    """An ownerReference to an object written ``Kind/name``."""
    kind, name = owner.split("/")
    return {"apiVersion": APIS[kind], "kind": kind, "name": name, "controller": controls, **more}


def owned(this: str, *references: Doc, **metadata: Any) -> Doc:
    kind, name = this.split("/")
    return {
        "apiVersion": APIS[kind], "kind": kind,
        "metadata": {"name": name, "namespace": "ml", "ownerReferences": list(references), **metadata},
    }  # fmt: skip


def stack(*names: str) -> list[Doc]:
    """Documents each of which is controlled by the next."""
    above = [[reference(owner)] for owner in names[1:]]
    return [owned(this, *refs) for this, refs in zip(names, [*above, []], strict=True)]


def walked(pod: Doc, *others: Doc) -> Walk:
    known = {(doc["kind"], doc["metadata"]["namespace"], doc["metadata"]["name"]): doc for doc in others}

    def find(kind: str, namespace: str, name: str) -> Field | None:
        doc = known.get((kind, namespace, name))
        return None if doc is None else Field.of(doc, Notes(), ObjectKey("", kind, "default", name))

    return owners.walk(Field.of(pod, Notes()), find)


def climbed(*names: str) -> list[str]:
    """The owners on the way up a stack, as they are called."""
    found = walked(*stack(*names))
    assert found.problem is None
    assert found.missing is None
    return [f"{owner.kind}/{owner.name}" for owner in found.chain]


# ----------------------------------------------------------------------------------------------------- controllers


def controller(*references: Doc) -> Owner | None:
    at = Field.of(owned("Pod/p", *references), Notes())
    found = owners.controller(at)
    assert not at.notes.problems
    return found


def test_the_controller_is_the_owner_that_is_marked_so() -> None:
    # W-030
    plain = reference("CronJob/other", controls=False)
    assert controller(plain, reference("Job/train", uid="u-1")) == Owner("batch", "Job", "train", "u-1")


def test_a_single_owner_that_is_not_marked_does_not_control() -> None:
    assert controller(reference("Job/train", controls=False)) is None
    assert controller({"apiVersion": "batch/v1", "kind": "Job", "name": "train"}) is None
    assert controller() is None


def test_a_core_kind_has_no_api_group_and_a_missing_version_is_filled_in() -> None:
    assert controller(reference("Node/n1")) == Owner("", "Node", "n1")
    assert controller({"kind": "Job", "name": "train", "controller": True}) == Owner("batch", "Job", "train")


def test_several_controllers_are_a_problem_that_names_them() -> None:
    # W-030
    at = Field.of(owned("Pod/p", reference("Job/a"), reference("Job/b")), Notes())
    assert owners.controller(at) is None
    (one,) = at.notes.problems
    assert one.path == "metadata.ownerReferences[1].controller"
    assert "Job a and Job b" in one.message


@pytest.mark.parametrize(
    "broken", [{"controller": True}, {"controller": True, "kind": "Job"}, {"controller": 1}, "Job/a"]
)
def test_a_broken_reference_is_a_problem(broken: Any) -> None:
    at = Field.of({"metadata": {"ownerReferences": [broken]}}, Notes())
    assert owners.controller(at) is None
    assert at.notes.problems


# ---------------------------------------------------------------------------------------------------------- stacks


@pytest.mark.parametrize(
    "ends",
    [
        ("Pod/p", "Job/j"),
        ("Pod/p", "Job/js-workers-0", "JobSet/js"),  # W-024
        ("Pod/p", "Job/j", "JobSet/t", "TrainJob/t"),
        ("Pod/p", "ReplicaSet/rs"),
        ("Pod/p", "ReplicaSet/rs", "Deployment/d"),  # W-026
        ("Pod/p", "ReplicaSet/rs", "Deployment/d", "Rollout/r"),  # W-027
        ("Pod/p", "ReplicaSet/rs", "Rollout/r"),  # W-027
        ("Pod/p", "StatefulSet/s"),  # W-028
        ("Pod/lws-0", "StatefulSet/lws", "LeaderWorkerSet/lws"),  # W-029
        ("Pod/lws-0-1", "StatefulSet/lws-0", "Pod/lws-0", "StatefulSet/lws", "LeaderWorkerSet/lws"),  # W-029
        ("Pod/p", "MPIJob/m"),
        ("Pod/p", "Job/m-launcher", "MPIJob/m"),
        ("Pod/p", "PyTorchJob/t"),
        ("Pod/p", "TFJob/t"),
        ("Pod/p", "RayCluster/c"),
        ("Pod/p", "RayCluster/c", "RayJob/r"),
        ("Pod/p", "RayCluster/c", "RayService/r"),
        ("Pod/p", "Job/r-submitter", "RayJob/r"),
        ("Pod/p", "Workflow/w"),  # W-017: a kind nobody told us about
    ],
    ids=" ".join,
)
def test_a_stack_ends_at_its_top(ends: tuple[str, ...]) -> None:
    assert climbed(*ends) == list(ends[1:])
    top = walked(*stack(*ends)).top
    assert top is not None
    assert f"{top.kind}/{top.name}" == ends[-1]


@pytest.mark.parametrize(
    ("stacked", "end"),
    [
        (("Pod/p", "Job/run-1", "CronJob/nightly"), "Job/run-1"),  # W-025, W-075
        (("Pod/p", "Job/j", "JobSet/js", "AppWrapper/a"), "JobSet/js"),  # W-076
        (("Pod/p", "Job/j", "Workflow/w"), "Job/j"),
        (("Pod/p", "Workflow/w", "JobSet/js"), "Workflow/w"),
        (("Pod/executor", "Pod/driver", "StatefulSet/notebook"), "Pod/driver"),
        (("Pod/p", "Deployment/d", "LeaderWorkerSet/l"), "Deployment/d"),
    ],
)
def test_an_owner_that_is_not_part_of_the_workload_stands_above_the_end(stacked: tuple[str, ...], end: str) -> None:
    assert climbed(*stacked)[-1] == end


def test_two_runs_of_a_cronjob_are_two_workloads() -> None:
    # W-025, W-075
    tops = [walked(*stack(f"Pod/p{i}", f"Job/run-{i}", "CronJob/nightly")).top for i in (1, 2)]
    assert [str(top) for top in tops] == ["Job run-1", "Job run-2"]


def test_the_replicasets_of_a_rollout_lead_to_one_deployment() -> None:
    # W-026
    tops = {walked(*stack(f"Pod/p{i}", f"ReplicaSet/rs-{i}", "Deployment/d")).top for i in (1, 2)}
    assert len(tops) == 1


@pytest.mark.parametrize("owner", ["Node/n1", "DaemonSet/agent"])
def test_a_node_or_a_daemonset_makes_no_gang(owner: str) -> None:
    found = walked(*stack("Pod/p", owner))
    assert [str(one) for one in found.chain] == [owner.replace("/", " ")]
    assert found.top is None
    assert found.problem is None


def test_a_pod_without_an_owner_has_no_top() -> None:
    assert walked(owned("Pod/p")) == Walk()
    assert Walk().top is None


def test_kinds_of_other_groups_that_share_a_name_are_not_taken_for_ours() -> None:
    #
    volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "v", "controller": True}
    job = owned("Job/v", reference("JobSet/js"))
    assert walked(owned("Pod/p", volcano), job).chain == (Owner("batch.volcano.sh", "Job", "v"),)
    other = {**job, "apiVersion": "batch.volcano.sh/v1alpha1"}
    assert walked(owned("Pod/p", reference("Job/v")), other).missing == Owner("batch", "Job", "v")


# ----------------------------------------------------------------------------------------------- what is not given


def test_the_walk_ends_at_an_owner_that_is_not_given_and_says_so() -> None:
    found = walked(owned("Pod/p", reference("Job/j")))
    assert found.chain == (Owner("batch", "Job", "j"),)
    assert found.missing == found.top == Owner("batch", "Job", "j")


def test_nothing_is_missing_above_an_owner_where_stacks_end_anyway() -> None:
    assert walked(owned("Pod/p", reference("PyTorchJob/t"))).missing is None


def test_a_later_object_of_the_same_name_is_not_the_owner() -> None:
    pod = owned("Pod/p", reference("Job/j", uid="old"))
    job = owned("Job/j", reference("JobSet/js"), uid="new")
    assert walked(pod, job).missing == Owner("batch", "Job", "j", "old")
    assert len(walked(pod, {**job, "metadata": {**job["metadata"], "uid": "old"}}).chain) == 2


def test_owners_are_looked_for_in_the_namespace_of_the_pod() -> None:
    elsewhere = owned("Job/j", reference("JobSet/js"), namespace="other")
    assert walked(owned("Pod/p", reference("Job/j")), elsewhere).missing is not None


# -------------------------------------------------------------------------------------------------------- bad data


@pytest.mark.parametrize(
    "ring",
    [
        ("Pod/a", "StatefulSet/s", "Pod/a"),
        ("Pod/a", "Job/j", "Job/j"),
        ("Pod/a", "ReplicaSet/r", "Deployment/d", "ReplicaSet/r"),
        ("Pod/a", "Pod/a"),
    ],
)
def test_a_cycle_is_a_problem_that_names_it(ring: tuple[str, ...]) -> None:
    # W-030
    docs = stack(*ring)[:-1]
    found = walked(*docs)
    assert found.problem is not None
    assert ring[-1].replace("/", " ") + " owns itself" in found.problem.message
    assert found.top is None


def test_an_endless_stack_is_a_problem() -> None:
    # W-030
    names = [f"{'Pod' if i % 2 == 0 else 'StatefulSet'}/x{i}" for i in range(40)]
    found = walked(*stack(*names))
    assert len(found.chain) == DEPTH_MAX
    assert found.problem is not None
    assert str(DEPTH_MAX) in found.problem.message


def test_several_controllers_higher_up_are_a_problem_at_that_object() -> None:
    # W-030
    found = walked(owned("Pod/p", reference("Job/j")), owned("Job/j", reference("JobSet/a"), reference("JobSet/b")))
    assert found.problem is not None
    assert found.problem.path == "Job/j: metadata.ownerReferences[1].controller"
    assert found.top is None


def test_a_walk_leaves_no_notes_behind() -> None:
    twice = (reference("JobSet/a"), reference("JobSet/b"))
    pod, job = Field.of(owned("Pod/p", *twice), Notes()), Field.of(owned("Job/j", *twice), Notes())
    assert owners.walk(pod, lambda *_: None).problem is not None
    assert owners.walk(Field.of(owned("Pod/q", reference("Job/j"))), lambda *_: job).problem is not None
    assert not pod.notes.problems
    assert not job.notes.problems


STACK = stack("Pod/lws-0-1", "StatefulSet/lws-0", "Pod/lws-0", "StatefulSet/lws", "LeaderWorkerSet/lws")
PLACES = [(i, path) for i, doc in enumerate(STACK) for path in places(doc)]


@settings(max_examples=200, deadline=None)
@given(pod=GARBAGE, owner=GARBAGE)
def test_any_garbage_is_walked_without_raising(pod: object, owner: object) -> None:
    owners.walk(Field.of(pod, Notes()), lambda *_: Field.of(owner, Notes()))
    owners.controller(Field.of({"metadata": {"ownerReferences": pod}}, Notes()))


@settings(max_examples=400, deadline=None)
@given(place=st.sampled_from(PLACES), value=GARBAGE)
def test_one_wrong_value_anywhere_is_walked_without_raising(place: tuple[int, tuple[Any, ...]], value: object) -> None:
    number, path = place
    docs = [changed(doc, path, value) if i == number else doc for i, doc in enumerate(STACK)]
    known = {(doc["kind"], doc["metadata"]["name"]): docs[i] for i, doc in enumerate(STACK)}
    found = owners.walk(
        Field.of(docs[0], Notes()), lambda kind, _, name: Field.of(known[kind, name]) if (kind, name) in known else None
    )
    assert len(found.chain) <= DEPTH_MAX
    assert found.problem is None or str(found.problem).encode("utf-8")
