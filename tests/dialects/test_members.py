"""Objects that say how many pods belong together, and learn from others how large they are."""

from typing import Any

from phalanx.dialects.reading import read
from phalanx.model.decision import Invalid
from phalanx.model.request import Missing, PodSet, Request
from phalanx.model.resources import NANO
from tests.dialects.manifests import Doc, gang, job, pod_spec

LINK = {"phalanx.dev/gang": "llm", "phalanx.dev/group": "w"}


def linked(doc: Doc, **labels: str) -> Doc:
    """A Job whose pods name the Gang ``llm`` in its namespace."""
    doc["metadata"]["namespace"] = "serving"
    doc["spec"]["template"]["metadata"]["labels"] = labels or LINK
    return doc


def pod(name: str, group: str | None = "w", cpu: str = "1", **spec: Any) -> Doc:
    containers = [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]
    labels = {"phalanx.dev/gang": "llm", **({"phalanx.dev/group": group} if group else {})}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "serving", "labels": labels},
        "spec": {**pod_spec(**spec), "containers": containers},
    }  # fmt: skip


def one(*docs: Doc) -> Request:
    found = read(list(docs))
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    (only,) = found.requests
    return only


def sets(request: Request) -> list[tuple[str, int, int, int]]:
    """Name, minimum, count and CPUs of each pod set."""
    return [(s.name, s.min_count, s.count, _cpus(s)) for s in request.root.pod_sets()]


def _cpus(pods: PodSet) -> int:
    return pods.shape.requests.get("cpu") // NANO


def test_a_gang_without_templates_learns_them_from_the_job_that_names_it() -> None:  # W-017, W-068
    assert sets(one(gang({"name": "w", "minCount": 3}), linked(job()))) == [("w", 3, 4, 1)]


def test_a_gang_without_templates_learns_them_from_its_pods() -> None:  # W-077
    pods = [pod(f"p{i}", cpu="2") for i in range(3)]
    assert sets(one(gang({"name": "w", "minCount": 3}), *pods)) == [("w", 3, 3, 2)]


def test_pods_of_different_size_are_classes_named_after_their_first() -> None:  # W-211, KA-028
    pods = [pod("lead", cpu="4"), pod("p1"), pod("p2")]
    found = one(gang({"name": "w", "minCount": 3}), *pods)
    assert sets(found) == [("w/lead", 1, 1, 4), ("w/p1", 2, 2, 1)]


def test_pods_that_differ_in_labels_alone_are_equal() -> None:  # W-213
    pods = [pod(f"p{i}") for i in range(2)]
    pods[0]["metadata"]["labels"]["index"] = "0"
    assert len(sets(one(gang({"name": "w", "minCount": 2}), *pods))) == 1


def test_the_template_of_a_gang_counts_more_than_its_members() -> None:
    own = {"name": "w", "count": 2, "template": {"spec": pod_spec()}}
    assert sets(one(gang(own), pod("p0", cpu="7"))) == [("w", 2, 2, 1)]


def test_too_few_pods_are_missing() -> None:  # W-019, W-133
    found = one(gang({"name": "w", "minCount": 10}), *[pod(f"p{i}") for i in range(8)])
    assert found.missing == (Missing("w", 10, 8),)
    assert sets(found) == [("w", 10, 10, 1)]


def test_pods_beyond_the_minimum_are_extra() -> None:  # M-025
    found = one(gang({"name": "w", "minCount": 2}), *[pod(f"p{i}") for i in range(3)])
    assert (sets(found), found.missing) == ([("w", 2, 3, 1)], ())


def test_a_pod_that_names_no_group_is_in_the_only_one() -> None:  # W-108
    assert sets(one(gang({"name": "w", "minCount": 1}), pod("p", group=None))) == [("w", 1, 1, 1)]


def test_a_pod_that_names_an_unknown_group_is_told_by_name_with_the_groups_there_are() -> None:  # W-103, X-07
    (found,) = read([gang({"name": "w", "minCount": 1}), pod("p0"), pod("p1", group="v")]).invalid
    (problem,) = found.problems
    assert problem.path == "Pod/p1: metadata.labels['phalanx.dev/group']"
    assert (problem.value, problem.allowed) == ("v", ("w",))
    assert problem.message == "pod p1 names group 'v'; Gang llm has: w"


def test_a_pod_that_names_no_group_of_several_is_told() -> None:  # M-024
    groups = [{"name": name, "minCount": 1, "template": {"spec": pod_spec()}} for name in ("a", "b")]
    (found,) = read([gang(*groups), pod("p", group=None)]).invalid
    assert [p.allowed for p in found.problems] == [("a", "b")]


def test_a_pod_that_runs_is_a_member_too() -> None:
    found = one(gang({"name": "w", "minCount": 2}), pod("p0", nodeName="n1"), pod("p1"))
    assert (sets(found), found.missing) == ([("w", 2, 2, 1)], ())


def test_a_pod_whose_gang_is_not_given_waits_for_it_and_is_told_so() -> None:  # W-093, W-102
    found = read([pod("p0"), pod("p1"), pod("p2")])
    (wrong,) = found.items
    assert isinstance(wrong, Invalid) and (wrong.kind, wrong.name) == ("Pod", "p0")
    ((problem,), (other,)) = wrong.problems, found.warnings
    assert (problem.path, problem.value) == ("metadata.labels['phalanx.dev/gang']", "llm")
    assert "names Gang llm (phalanx.dev), which does not exist" in problem.message
    assert other.value == "p1" and other.message.endswith("they wait for it (and 1 more pod alike)")


def test_who_waits_for_a_gang_stands_among_the_others_where_it_was_given() -> None:
    lost = linked(job(), **{"phalanx.dev/gang": "gone"})
    alone = {**job(), "metadata": {"name": "alone"}}
    found = read([lost, alone, pod("p0"), gang({"name": "w", "minCount": 1})])
    assert [(one.kind, one.name, isinstance(one, Request)) for one in found.items] == [
        ("Job", "train", False), ("Job", "alone", True), ("Gang", "llm", True)
    ]  # fmt: skip


def test_a_workload_of_which_pods_run_is_past_waiting_for_its_gang() -> None:
    made = {**linked(job())["metadata"], "uid": "u"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": made["name"], "uid": "u", "controller": True}
    runs = pod("p0", nodeName="n1")
    runs["metadata"]["ownerReferences"] = [owner]
    assert read([{**linked(job()), "metadata": made}, runs]).invalid == ()
    assert read([{**linked(job()), "metadata": made}]).invalid != ()


def test_what_is_wrong_with_a_member_is_wrong_with_its_gang() -> None:
    (found,) = read([gang({"name": "w", "minCount": 1}), pod("p0", cpu="100GB")]).invalid
    assert [p.path for p in found.problems] == ["Pod/p0: spec.containers[0].resources.requests.cpu"]
    assert found.kind == "Gang"


def test_an_object_made_by_a_job_does_not_gather_that_job() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    doc = job()
    doc["spec"]["template"]["metadata"]["annotations"] = {"kueue.x-k8s.io/workload": "job-train"}
    made = {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": "job-train", "ownerReferences": [owner]},
        "spec": {"podSets": [{"name": "main", "count": 4, "template": {"spec": pod_spec()}}]},
    }  # fmt: skip
    assert [r.id for r in read([doc, made]).requests] == ["default/train"]


def test_a_parent_that_is_no_text_is_a_problem_and_nothing_worse() -> None:
    entry = {"name": "w", "minCount": 1, "parent": []}
    (found,) = read([gang(entry), pod("p0")]).invalid
    assert "spec.podGroups[0].parent" in [p.path for p in found.problems]


def test_a_gang_whose_job_is_suspended_waits_with_it() -> None:
    found = one(gang({"name": "w", "minCount": 3}), linked(job(suspend=True)))
    assert found.suspended


def test_a_gang_without_a_queue_is_in_that_of_its_job() -> None:
    doc = linked(job())
    doc["metadata"]["labels"] = {"phalanx.dev/queue": "research"}
    assert one(gang({"name": "w", "minCount": 3}), doc).queue == "research"
    assert one(gang({"name": "w", "minCount": 3}, queue="other"), doc).queue == "other"


def test_a_level_on_a_job_whose_pods_belong_to_a_gang_is_told_not_to_be_followed() -> None:
    doc = linked(job({"phalanx.dev/topology-required": "rack"}))
    found = read([gang({"name": "w", "minCount": 3}), doc])
    assert found.requests[0].root.required is None
    assert any("ask for levels there" in w.message and w.path.startswith("Job/train: ") for w in found.warnings)


def test_a_gang_that_its_own_job_names_is_the_one_that_counts() -> None:  # W-023
    doc = linked(job())
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    made = gang({"name": "w", "minCount": 3}, queue="by-hand")
    made["metadata"]["ownerReferences"] = [owner]
    assert (one(made, doc).id, one(made, doc).queue) == ("serving/llm", "by-hand")


def test_a_field_that_nobody_knows_makes_pods_different() -> None:  # W-214
    pods = [pod("p0"), pod("p1", futureField={"slots": 2})]
    assert len(sets(one(gang({"name": "w", "minCount": 2}), *pods))) == 2


def test_command_env_and_mounted_configuration_leave_pods_equal() -> None:  # W-213
    pods = [pod("p0"), pod("p1"), pod("p2", volumes=[{"name": "c", "configMap": {"name": "c"}}])]
    pods[1]["spec"]["containers"][0] |= {"command": ["a"], "env": [{"name": "RANK", "value": "1"}]}
    assert len(sets(one(gang({"name": "w", "minCount": 3}), *pods))) == 1


def test_a_gang_of_which_no_pod_is_known_waits_for_its_pods() -> None:
    found = one(gang({"name": "w", "count": 4}))
    assert found.missing == (Missing("w", 4, 0),)
    assert one(gang({"name": "w", "count": 4, "minCount": 3})).missing == (Missing("w", 3, 0),)
    assert one(gang({"name": "w", "count": 2, "replicas": 2})).missing == (Missing("w", 2, 0),)


def test_a_group_that_nobody_names_is_waited_for_beside_one_that_is() -> None:
    found = one(gang({"name": "w", "count": 1}, {"name": "v", "count": 2}), pod("p"))
    assert found.missing == (Missing("v", 2, 0),)


def test_a_group_that_says_what_its_pods_are_like_needs_nobody_to_name_it() -> None:
    assert one(gang({"name": "w", "count": 2, "template": {"spec": pod_spec()}})).missing == ()
    classes = [{"name": "a", "count": 2, "template": {"spec": pod_spec()}}]
    assert one(gang({"name": "w", "podClasses": classes})).missing == ()


def test_a_group_that_the_gang_can_do_without_is_not_waited_for() -> None:
    groups = [{"name": "w", "count": 1}, {"name": "v", "count": 2}]
    assert one(gang(*groups, minGroups=1), pod("p")).missing == ()
