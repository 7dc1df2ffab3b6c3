"""Documents that no reader reads, versions that are not read, and workloads that share a name."""

from typing import Any

import pytest

from phalanx.dialects import documents
from phalanx.dialects.documents import Role
from phalanx.dialects.reading import read
from phalanx.model.problems import Problem
from tests.dialects.manifests import Doc, gang, job, pod_spec, template

WORKERS = {"name": "w", "count": 2, "template": template()}


def thing(kind: str, api: str, spec: Doc | None = None, name: str = "x") -> Doc:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec or {}}


def role(doc: Doc) -> Role:
    (found,), _ = documents.sort([doc])
    return found.role


def refused(*docs: Doc) -> Problem:
    (invalid,) = read(list(docs)).invalid
    (problem,) = invalid.problems
    return problem


def said(*docs: Doc) -> list[tuple[str, str]]:
    return [(one.path, one.message) for one in read(list(docs)).warnings]


def replicated(kind: str, api: str = "apps/v1", name: str = "web", **spec: Any) -> Doc:
    spec = {"replicas": 2, "template": {"spec": pod_spec()}, **spec}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


# -- kinds that make pods ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "doc",
    [
        thing("MyJob", "example.com/v1", {"template": {"spec": pod_spec()}}),
        thing("DisaggregatedSet", "disaggregatedset.x-k8s.io/v1alpha1", {"roles": []}),
        thing("MXJob", "kubeflow.org/v1", {"mxReplicaSpecs": {"Worker": {"template": {"spec": pod_spec()}}}}),
        thing("Roles", "example.com/v1", {"roles": [{"group": {"worker": {"template": {"spec": pod_spec()}}}}]}),
        thing("Workflow", "argoproj.io/v1alpha1", {"templates": [{"container": {"image": "a"}}]}),
        thing("PipelineRun", "tekton.dev/v1", {"pipelineRef": {"name": "a"}}),
    ],
)
def test_a_kind_that_makes_pods_wherever_it_keeps_their_template_is_refused_with_a_way_out(doc: Doc) -> None:  # W-017
    problem = refused(doc)
    assert (problem.path, problem.value, problem.allowed) == ("kind", doc["kind"], documents.WORKLOAD_KINDS)
    assert "a Gang whose name its pods carry" in problem.message


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": {"type": "array"}},
        {"containers": ["a"]},
        {"containers": []},
        {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"containers": [{}]}}}}}}}}},
    ],
)
def test_what_only_looks_like_pods_or_lies_too_deep_makes_none(spec: Doc) -> None:
    assert role(thing("Thing", "example.com/v1", spec)) is Role.UNKNOWN


def test_a_template_is_looked_for_with_an_end() -> None:
    endless: Doc = {}
    endless["again"] = [endless] * 50
    wide = {"list": [{"a": 1}] * 100_000, "z": {"containers": [{}]}}
    assert role(thing("Thing", "example.com/v1", endless)) is Role.UNKNOWN
    assert role(thing("Thing", "example.com/v1", wide)) is Role.UNREAD  # nearer the top than where the work ends


# -- kinds that do not -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        ("Service", "v1"),
        ("ConfigMap", "v1"),
        ("ServiceAccount", "v1"),
        ("ClusterRoleBinding", "rbac.authorization.k8s.io/v1"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
        ("NetworkPolicy", "networking.k8s.io/v1"),
        ("PodDisruptionBudget", "policy/v1"),
        ("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1"),
    ],
)
def test_what_everybody_has_is_said_to_have_nothing_to_do_with_placement(kind: str, api: str) -> None:
    assert said(thing(kind, api)) == [(f"{kind}/x", f"{kind} has nothing to do with placement and is ignored")]


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        ("ResourceClaimTemplate", "resource.k8s.io/v1"),
        ("ResourceClaim", "resource.k8s.io/v1beta1"),
        ("DeviceClass", "resource.k8s.io/v1"),
        ("WorkloadPriorityClass", "kueue.x-k8s.io/v1beta1"),
        ("MultiKueueConfig", "kueue.x-k8s.io/v1beta1"),
    ],
)
def test_what_will_matter_one_day_is_said_to_be_known(kind: str, api: str) -> None:
    assert said(thing(kind, api)) == [(f"{kind}/x", f"{kind} is known but not used yet")]


def test_what_nobody_knows_is_said_not_to_be_known() -> None:
    assert said(thing("Widget", "example.com/v1")) == [
        ("Widget/x", "Widget (example.com) is not known and is ignored"),
    ]


def test_a_daemonset_is_not_said_to_have_nothing_to_do_with_placement() -> None:
    ((path, message),) = said(replicated("DaemonSet"))
    assert path == "DaemonSet/web"
    assert "every node runs its pods" in message


# -- slips of the finger -----------------------------------------------------------------------------------------


def test_a_misspelt_kind_with_pods_is_refused_with_the_right_one() -> None:
    problem = refused({**job(), "kind": "Jobb"})
    assert "kind Jobb (batch) is not read; did you mean Job?" in problem.message


def test_a_misspelt_kind_without_pods_is_passed_over_with_the_right_one() -> None:
    doc = thing("LocalQueu", "kueue.x-k8s.io/v1beta1")
    (warning,) = read([doc]).warnings
    assert warning.allowed == ("LocalQueue",)
    assert warning.message.endswith("is ignored; did you mean LocalQueue?")


def test_a_known_kind_of_another_api_group_says_where_it_is_read() -> None:
    assert "Job is read as batch/v1;" in refused({**job(), "apiVersion": "bacth/v1"}).message


def test_a_wrong_version_is_answered_with_those_of_the_same_api_group() -> None:
    doc = thing("Workload", "kueue.x-k8s.io/v1")
    assert refused(doc).allowed == ("kueue.x-k8s.io/v1alpha1", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2")
    assert refused(thing("PodGroup", "scheduling.run.ai/v1")).allowed == ("scheduling.run.ai/v2alpha2",)


def test_without_any_apiversion_all_that_are_read_are_named() -> None:
    doc = thing("PodGroup", "")
    assert set(refused(doc).allowed) >= {"scheduling.run.ai/v2alpha2", "scheduling.k8s.io/v1beta1"}


# -- who is placed with whom -------------------------------------------------------------------------------------


def linked(doc: Doc) -> Doc:
    doc["metadata"]["namespace"] = "serving"
    doc["spec"]["template"]["metadata"] = {"labels": {"phalanx.dev/gang": "llm", "phalanx.dev/group": "w"}}
    return doc


def test_pods_of_a_gang_that_is_refused_are_told_so() -> None:
    good = "its pods belong to Gang serving/llm and are placed with it"
    assert said(gang(WORKERS), linked(job())) == [("Job/train", good)]
    bad = gang({**WORKERS, "count": 0})
    assert said(bad, linked(job())) == [("Job/train", f"{good}, but Gang llm is refused")]


def test_what_a_refused_workload_made_is_told_so() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True, "uid": "1"}
    made = replicated("ReplicaSet", name="web-1")
    made["metadata"]["ownerReferences"] = [owner]
    ((_, message),) = said(replicated("Deployment", replicas=-1), made)
    assert message == "is made by Deployment web and is placed with it, but Deployment web is refused"


# -- workloads that share a name ---------------------------------------------------------------------------------


def test_workloads_of_two_kinds_may_have_one_name() -> None:
    found = read([replicated("Deployment"), replicated("StatefulSet"), replicated("ReplicaSet")])
    assert [one.id for one in found.requests] == ["default/web", "StatefulSet/default/web", "ReplicaSet/default/web"]
    assert {name: [str(note) for note in notes] for name, notes in found.notes.items()} == {
        f"{kind}/default/web": [
            f"metadata.name: a Deployment has the same name; this {kind} goes by {kind}/default/web"
        ]
        for kind in ("StatefulSet", "ReplicaSet")
    }


def test_kinds_of_one_name_in_two_api_groups_are_told_apart_too() -> None:
    kai = thing("PodGroup", "scheduling.run.ai/v2alpha2", {"minMember": 1}, "llm")
    other = thing("PodGroup", "scheduling.k8s.io/v1beta1", {"schedulingPolicy": {"gang": {"minCount": 1}}}, "llm")
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": {"pod-group-name": "llm"}},
         "spec": pod_spec()},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"},
         "spec": pod_spec(schedulingGroup={"podGroupName": "llm"})},
    ]  # fmt: skip
    found = read([job(), kai, other, *pods, {**job(), "metadata": {"name": "llm"}}])
    assert not found.invalid, found.invalid
    assert [one.id for one in found.requests] == [
        "default/train", "default/llm", "PodGroup/default/llm", "Job/default/llm",
    ]  # fmt: skip


def test_one_kind_and_name_twice_is_one_too_many_even_behind_another_kind() -> None:
    found = read([replicated("Deployment"), replicated("StatefulSet"), replicated("StatefulSet")])
    (invalid,) = found.invalid
    assert [problem.path for problem in invalid.problems] == ["metadata.name"]
    assert len(found.requests) == 2


@pytest.mark.parametrize("first", [True, False])
def test_a_workload_that_wants_nothing_keeps_its_remarks_to_itself(first: bool) -> None:
    idle, busy = replicated("StatefulSet", replicas=0), replicated("Deployment")
    found = read([idle, busy] if first else [busy, idle])
    assert [one.id for one in found.requests] == ["default/web"]
    assert list(found.notes) == ["StatefulSet/default/web"]


# -- ReplicationControllers --------------------------------------------------------------------------------------


def test_a_replicationcontroller_is_read_like_a_replicaset() -> None:
    doc = replicated("ReplicationController", "v1", selector={"app": "web"})
    found = read([doc])
    (request,) = found.requests
    (pods,) = request.root.pod_sets()
    assert (request.kind, pods.name, pods.count, pods.min_count) == ("ReplicationController", "main", 2, 1)
    assert dict(found.notes) == {}
