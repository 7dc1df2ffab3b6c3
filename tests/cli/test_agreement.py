"""All commands give one answer to one question: of the same files, how each workload stands, and why."""

from pathlib import Path
from typing import Any

import pytest

from phalanx.cli import files
from tests.cli import agreeing
from tests.cli.agreeing import Answer, Captured
from tests.cluster import docs as small
from tests.cluster.docs import Doc

EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples").iterdir() if path.is_dir())


def handed_over(value: Any) -> Any:
    """The documents with our scheduler's name in every pod and pod template."""
    if isinstance(value, list):
        return [handed_over(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: handed_over(one) for key, one in value.items()}
    is_pod_spec = isinstance(found.get("containers"), list) and "nodeName" not in found
    return {"schedulerName": "phalanx", **found} if is_pod_spec else found


def queues(docs: list[Any]) -> list[Any]:
    """Those that are named and not there: ``place`` counts no quota and asks for no queue, the scheduler does."""
    there = {doc["metadata"]["name"] for doc in docs if doc["kind"] in ("Queue", "LocalQueue")}
    labels = [doc["metadata"].get("labels", {}) for doc in docs]
    keys = ("kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "phalanx.dev/queue")
    named = {one[key] for one in labels for key in keys if key in one} - there
    head = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "spec": {}}
    return [{**head, "metadata": {"name": name}} for name in sorted(named)]


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_every_command_says_the_same_of_an_example(folder: Path, write: Any, capsys: Captured) -> None:
    docs = handed_over(files.load([str(folder)]))
    agree(capsys, "-f", write(*docs, *queues(docs)))


def agree(capsys: Captured, *given: str) -> None:
    """Place, check, explain, tree, get and queue of the same files: status, reason, pods and exit code."""
    code, placed = agreeing.placed(capsys, *given)
    assert placed, "nothing was decided"
    assert agreeing.checked(capsys, *given) == (code, without_counts(placed))
    explained = agreeing.explained(capsys, placed, *given)
    assert explained[:2] == (code, placed)
    for name, one in placed.items():
        assert one.where == explained[1][name].where
    assert agreeing.drawn(capsys, placed, *given) == code
    handed = {name: one for name, one in placed.items() if name in explained[2]}
    listed = agreeing.listed(capsys, *given)
    assert set(listed) == set(handed)
    queued = agreeing.queued(capsys, *given)
    assert set(queued) == {name for name, one in handed.items() if one.status != "Placed" or one.left_out}
    for name, one in handed.items():
        assert (listed[name].status, listed[name].wanted) == (one.status, one.wanted)
        told = [listed[name], *([queued[name]] if name in queued else [])]
        assert {other.reason for other in told} == {one.reason if one.status == "Waiting" else None}
        assert name not in queued or one.status != "Placed" or queued[name].left_out == one.left_out


def without_counts(answers: agreeing.Answers) -> agreeing.Answers:
    """Of what is wrong nobody knows how many pods it wants."""
    return {name: Answer("Invalid", one.reason) if one.status == "Invalid" else one for name, one in answers.items()}


# -- which pods there are, and who goes first --------------------------------------------------------------------


def linked_job(name: str, pods: int, gang: str, gpus: int = 8) -> Doc:
    made = small.job(name, pods)
    made["metadata"]["namespace"] = "serving"
    labels = {"phalanx.dev/gang": gang}
    made["spec"]["template"] = {"metadata": {"labels": labels}, **handed_over(small.template(gpus))}
    return made


def learning(name: str, **group: Any) -> Doc:
    """A Gang whose pods are told by whoever names it."""
    return small.gang(name, {"name": "workers", **group})


def statuses(capsys: Captured, *given: str) -> dict[str, tuple[str, Any]]:
    """What all commands say, by name."""
    agree(capsys, *given)
    return {name[2]: (one.status, one.reason) for name, one in agreeing.placed(capsys, *given)[1].items()}


def test_pods_that_nobody_would_make_are_missing_in_every_command(write: Any, capsys: Captured) -> None:
    given = ("-f", write(*small.cluster(), learning("llm", minCount=3), linked_job("train", 1, "llm")))
    assert statuses(capsys, *given) == {"llm": ("Waiting", "PodsMissing")}


def test_a_pod_that_is_given_beside_its_template_is_one_of_its_pods_in_every_command(
    write: Any, capsys: Captured
) -> None:
    gang, job = learning("llm", minCount=3), linked_job("train", 3, "llm")
    metadata = {"name": "p0", "namespace": "serving", **job["spec"]["template"]["metadata"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": job["spec"]["template"]["spec"]}
    given = ("-f", write(*small.cluster(), gang, job, pod))
    assert statuses(capsys, *given) == {"llm": ("Placed", None)}


@pytest.mark.parametrize("first", ["llm", "other"])
def test_who_is_given_first_goes_first_in_every_command(first: str, write: Any, capsys: Captured) -> None:
    """Whoever else of its family comes before it: the cluster has room for one of the two."""
    gangs = [learning("llm", minCount=6), handed_over(small.gang("other", small.workers(6, required="host", gpus=4)))]
    del gangs[1]["spec"]["podGroups"][0]["topology"]
    gangs[1]["spec"]["podGroups"][0]["template"] = handed_over(small.template(8))
    given = gangs if first == "llm" else gangs[::-1]
    found = statuses(capsys, "-f", write(*small.cluster(), linked_job("train", 6, "llm"), *given))
    assert {name: status for name, (status, _) in found.items()} == {
        first: "Placed", ({"llm", "other"} - {first}).pop(): "Waiting"
    }  # fmt: skip


# -- names of what is not there ----------------------------------------------------------------------------------

LINKS: dict[str, tuple[Doc, Doc, str]] = {  # metadata and spec of a pod, and what of it names something
    "our label": ({"labels": {"phalanx.dev/gang": "gone"}}, {}, "metadata.labels['phalanx.dev/gang']"),
    "our annotation": ({"annotations": {"phalanx.dev/gang": "gone"}}, {}, "metadata.annotations['phalanx.dev/gang']"),
    "schedulingGroup": ({}, {"schedulingGroup": {"podGroupName": "gone"}}, "spec.schedulingGroup.podGroupName"),
    "workloadRef": ({}, {"workloadRef": {"name": "gone", "podGroup": "g"}}, "spec.workloadRef.name"),
    "workload": ({}, {"workload": {"name": "gone", "podGroup": "g"}}, "spec.workload.name"),
    "KAI's annotation": ({"annotations": {"pod-group-name": "gone"}}, {}, "metadata.annotations.pod-group-name"),
}
CONTAINERS = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}


def naming(link: str) -> Doc:
    """A pod template with that link."""
    metadata, spec, _ = LINKS[link]
    return {"metadata": metadata, "spec": {"schedulerName": "phalanx", **CONTAINERS, **spec}}


def bare_pod(link: str, name: str = "p0") -> Doc:
    made = naming(link)
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {**made["metadata"], "name": name}}


def job(link: str) -> Doc:
    made = small.job()
    return {**made, "spec": {**made["spec"], "template": naming(link)}}


def deployment(link: str) -> Doc:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": naming(link)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def jobset(link: str) -> Doc:
    """One of two replicated jobs names what is not there; the other is placed."""
    jobs = [
        {"name": name, "template": {"spec": {"parallelism": 1, "completions": 1, "template": template}}}
        for name, template in (("a", {"spec": {"schedulerName": "phalanx", **CONTAINERS}}), ("b", naming(link)))
    ]
    made = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js"}}
    return {**made, "spec": {"replicatedJobs": jobs}}


def unread(link: str) -> Doc:
    """Of a kind that nobody reads: its pods name what they belong to, and that is all it takes. (W-017)"""
    made = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "spark"}}
    return {**made, "spec": {"template": naming(link)}}


MAKERS = {
    bare_pod: "", job: "spec.template.", deployment: "spec.template.", unread: "spec.template.",
    jobset: "spec.replicatedJobs[1].template.spec.template.",
}  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("link", LINKS)
def test_who_names_what_is_not_there_is_invalid_in_every_command(
    link: str, maker: Any, write: Any, capsys: Captured
) -> None:  # W-093, W-102
    doc = maker(link)
    given = ("-f", write(*small.cluster(), doc, small.gang()))
    agree(capsys, *given)
    code, found = agreeing.asked(capsys, "place", *given)
    assert code == 4
    (wrong,) = [one for one in found["decisions"] if one["status"] == "Invalid"]
    assert (wrong["kind"], wrong["name"], wrong["wanted"]) == (doc["kind"], doc["metadata"]["name"], None)
    (problem,) = wrong["problems"]
    assert (problem["path"], problem["value"]) == (MAKERS[maker] + LINKS[link][2], "gone")
    assert "gone" in problem["message"] and "does not exist" in problem["message"]
    assert [one["status"] for one in found["decisions"] if one["name"] == "llm"] == ["Placed"], "others are unharmed"


@pytest.mark.parametrize("link", LINKS)
def test_of_pods_that_name_the_same_one_speaks_for_all(link: str, write: Any, capsys: Captured) -> None:
    given = ("-f", write(*small.cluster(), *(bare_pod(link, f"p{i}") for i in range(3))))
    agree(capsys, *given)
    _, found = agreeing.asked(capsys, "explain", "p0", *given)
    for other in ("p1", "pod/p2"):
        code, told = agreeing.asked(capsys, "explain", other, *given)
        name = other.removeprefix("pod/")
        assert code == 4
        assert told["decisions"][0].pop("via") == f"Pod default/{name} waits for the same as Pod default/p0"
        assert told["decisions"] == [{key: one for key, one in found["decisions"][0].items() if key != "via"}]


REFERENCE = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
PARENTS: dict[str, list[Doc]] = {
    "PodGroup": [{
        "apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "PodGroup", "metadata": {"name": "leaf"},
        "spec": {**REFERENCE, "parentCompositePodGroupName": "gone", "schedulingPolicy": {"gang": {"minCount": 1}}},
    }, {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p0"},
        "spec": {"schedulerName": "phalanx", **CONTAINERS, "schedulingGroup": {"podGroupName": "leaf"}},
    }],
    "KAI subgroup": [{
        "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "kai"},
        "spec": {"subGroups": [{"name": "a", "minMember": 1, "parent": "gone"}]},
    }, {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "p0", "annotations": {"pod-group-name": "kai"}, "labels": {"kai.scheduler/subgroup-name": "a"},
        },
        "spec": {"schedulerName": "phalanx", **CONTAINERS},
    }],
    "group of a Gang": [small.gang("llm", small.workers(parent="gone"))],
    "group that a pod names": [
        small.gang(), {**bare_pod("our label"), "metadata": {
            "name": "p0", "namespace": "serving", "labels": {"phalanx.dev/gang": "llm", "phalanx.dev/group": "gone"},
        }},
    ],
    "group of the same rank": [
        small.gang("llm", small.workers(rank={"order": "Consecutive", "withSameRankOf": "gone", "level": "rack"})),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", PARENTS)
def test_a_parent_or_group_that_is_not_there_is_invalid_in_every_command(
    case: str, write: Any, capsys: Captured
) -> None:
    given = ("-f", write(*small.cluster(), *PARENTS[case]))
    agree(capsys, *given)
    code, placed = agreeing.placed(capsys, *given)
    assert code == 4
    ((_, answer),) = placed.items()
    assert answer.status == "Invalid" and "gone" in str(answer.reason)


def test_kueues_own_link_and_group_need_no_object(write: Any, capsys: Captured) -> None:
    """Kueue writes the one into every Job it has seen; of the other there is no object at all. (K-094)"""
    pod = bare_pod("our label")
    copied = {**pod, "metadata": {"name": "copied", "annotations": {"kueue.x-k8s.io/workload": "gone"}}}
    labels = {"labels": {"kueue.x-k8s.io/pod-group-name": "group"}}
    of_two = {"annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}
    grouped = {**pod, "metadata": {"name": "grouped", **labels, **of_two}}
    given = ("-f", write(*small.cluster(), copied, grouped))
    agree(capsys, *given)
    code, placed = agreeing.placed(capsys, *given)
    statuses = {name[2]: one.status for name, one in placed.items()}
    assert (code, statuses) == (3, {"copied": "Placed", "group": "Waiting"})


def test_a_job_whose_template_is_in_a_group_of_pods_is_placed_as_that_group(write: Any, capsys: Captured) -> None:
    made = small.job()
    metadata = {
        "labels": {"kueue.x-k8s.io/pod-group-name": "group"},
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2", "kueue.x-k8s.io/podset-required-topology": "rack"},
    }
    made["spec"]["template"] = {"metadata": metadata, "spec": {"schedulerName": "phalanx", **CONTAINERS}}
    given = ("-f", write(*small.cluster(), made))
    agree(capsys, *given)
    _, placed = agreeing.placed(capsys, *given)
    assert {name[:3]: (one.status, one.wanted) for name, one in placed.items()} == {
        ("PodGroup", "default", "group"): ("Placed", 2)
    }
