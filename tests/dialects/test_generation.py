"""What is generated for a workload, what is left alone, and that a second look intends nothing."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects import documents, workloads
from phalanx.dialects.generation import Generation, for_run, generate, linked, refreshed
from phalanx.dialects.generation import is_gang as outline_is_gang
from phalanx.dialects.links import of as link_of
from phalanx.dialects.outline import Outline
from phalanx.dialects.reading import read_workloads
from phalanx.model.request import Request
from tests.dialects.manifests import AROUND, Doc, field, pod_spec, request
from tests.dialects.test_links import GARBAGE, changed, places
from tests.dialects.test_trainjob import runtime, trainjob

GANG_LABEL, GROUP_LABEL, MODE = "phalanx.dev/gang", "phalanx.dev/group", "phalanx.dev/gang-mode"


# -- manifests ---------------------------------------------------------------------------------------------------


def pods(labels: Doc | None = None, **spec: Any) -> Doc:
    """A pod template, with labels where they are given."""
    metadata = {"metadata": {"labels": labels}} if labels else {}
    return {**metadata, "spec": pod_spec(**spec)}


def thing(api: str, kind: str, name: str, spec: Doc, **metadata: Any) -> Doc:
    known = {"name": name, "namespace": "ml", "uid": f"{kind}-{name}", **metadata}
    return {"apiVersion": api, "kind": kind, "metadata": known, "spec": spec}


def job(template: Doc | None = None, metadata: Doc | None = None, name: str = "train", **spec: Any) -> Doc:
    whole = {"parallelism": 8, "completions": 8, "completionMode": "Indexed", "template": template or pods(), **spec}
    return thing("batch/v1", "Job", name, whole, **(metadata or {}))


def cronjob(template: Doc | None = None, metadata: Doc | None = None, **spec: Any) -> Doc:
    run = {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": template or pods()}
    whole = {"schedule": "0 3 * * *", "jobTemplate": {"spec": run}, **spec}
    return thing("batch/v1", "CronJob", "nightly", whole, **(metadata or {}))


def statefulset(template: Doc | None = None, metadata: Doc | None = None, **spec: Any) -> Doc:
    whole = {"replicas": 4, "podManagementPolicy": "Parallel", "template": template or pods(), **spec}
    return thing("apps/v1", "StatefulSet", "web", whole, **(metadata or {}))


def deployment(metadata: Doc | None = None, **spec: Any) -> Doc:
    return thing("apps/v1", "Deployment", "api", {"replicas": 3, "template": pods(), **spec}, **(metadata or {}))


def lws(template: Doc | None = None, metadata: Doc | None = None, **spec: Any) -> Doc:
    inner = {"size": 3, "workerTemplate": template or pods(), **spec}
    whole = {"replicas": 2, "leaderWorkerTemplate": inner}
    return thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve", whole, **(metadata or {}))


def mpijob(template: Doc | None = None, metadata: Doc | None = None, **policy: Any) -> Doc:
    def role(replicas: int) -> Doc:
        return {"replicas": replicas, "template": template or pods()}

    whole = {"runPolicy": policy, "mpiReplicaSpecs": {"Launcher": role(1), "Worker": role(4)}}
    return thing("kubeflow.org/v2beta1", "MPIJob", "mpi", whole, **(metadata or {}))


def pytorchjob(metadata: Doc | None = None) -> Doc:
    roles = {"Master": {"template": pods()}, "Worker": {"replicas": 3, "template": pods()}}
    return thing("kubeflow.org/v1", "PyTorchJob", "torch", {"pytorchReplicaSpecs": roles}, **(metadata or {}))


def jobset(template: Doc | None = None, metadata: Doc | None = None, **spec: Any) -> Doc:
    def replicated(name: str, replicas: int, parallelism: int) -> Doc:
        inner = {"parallelism": parallelism, "completions": parallelism, "template": template or pods()}
        return {"name": name, "replicas": replicas, "template": {"spec": inner}}

    whole = {"replicatedJobs": [replicated("driver", 1, 3), replicated("workers", 2, 4)], **spec}
    return thing("jobset.x-k8s.io/v1alpha2", "JobSet", "big", whole, **(metadata or {}))


def raycluster(name: str = "small", scaled: bool = False, **group: Any) -> Doc:
    workers = {"groupName": name, "replicas": 3, "minReplicas": 3, "template": pods(), **group}
    whole = {"headGroupSpec": {"template": pods()}, "workerGroupSpecs": [workers], "enableInTreeAutoscaling": scaled}
    return thing("ray.io/v1", "RayCluster", "ray", whole)


def user_gang(name: str = "mine", **spec: Any) -> Doc:
    whole = {"podGroups": [{"name": "main", "count": 8, "template": pods()}], **spec}
    return thing("phalanx.dev/v1alpha1", "Gang", name, whole)


def sliced(size: int) -> Doc:
    slices = {"kueue.x-k8s.io/podset-slice-required-topology": "rack", "kueue.x-k8s.io/podset-slice-size": str(size)}
    return {**pods(), "metadata": {"annotations": slices}}


def lws_that_leads() -> Doc:
    """Workers are made when their leader is ready, and the two ask for different levels."""

    def near(level: str) -> Doc:
        return {**pods(), "metadata": {"annotations": {"phalanx.dev/topology-required": level}}}

    doc = lws(near("rack"), leaderTemplate=near("block"))
    doc["spec"]["startupPolicy"] = "LeaderReady"
    return doc


def asking(**annotations: str) -> Doc:
    return {"annotations": {MODE: "Gang", **annotations}}


TO_MINE = {GANG_LABEL: "mine", GROUP_LABEL: "main"}


def made(*docs: Doc) -> Generation:
    """What is generated, where nothing may be wrong."""
    found = generate(list(docs), AROUND)
    assert not found.problems, [str(one) for one in found.problems]
    return found


def one_made(*docs: Doc) -> Doc:
    (only,) = made(*docs).objects
    return only


def group(gang: Doc, name: str = "main") -> Doc:
    (found,) = [one for one in gang["spec"]["podGroups"] if one["name"] == name]
    return dict(found)


def applied(docs: list[Doc], intended: Generation) -> list[Doc]:
    """The documents as they are when everything intended has been written."""
    names = {(one["kind"], one["metadata"]["name"]) for one in intended.objects}
    kept = [doc for doc in docs if (doc["kind"], doc["metadata"]["name"]) not in names]
    whole = [*kept, *copy.deepcopy(intended.objects)]
    made_anew = []
    for doc in whole:
        mine = [t for t in intended.templates if (t.owner[1], t.owner[3]) == (doc["kind"], doc["metadata"]["name"])]
        doc = linked(doc, mine)
        added = [dict(a.reference) for a in intended.adoptions if (a.of[1], a.of[3]) == _name(doc)]
        metadata = {"uid": f"{doc['kind']}-{doc['metadata']['name']}", **doc["metadata"]}
        known = [*metadata.get("ownerReferences", []), *added]
        made_anew.append({**doc, "metadata": {**metadata, **({"ownerReferences": known} if known else {})}})
    return made_anew


def _name(doc: Doc) -> tuple[str, str]:
    return doc["kind"], doc["metadata"]["name"]


# -- default-created ---------------------------------------------------------------------------------------------


def test_an_indexed_job_gets_a_gang_of_all_its_pods() -> None:
    # W-087, W-113, W-137, W-034
    gang = one_made(job())
    assert (gang["kind"], gang["metadata"]["name"], gang["metadata"]["namespace"]) == ("Gang", "train", "ml")
    assert group(gang)["count"] == 8
    assert "minCount" not in group(gang)  # all of them
    assert gang["spec"]["controllerRef"] == {"apiGroup": "batch", "kind": "Job", "name": "train"}


def test_what_is_generated_is_owned_by_its_workload() -> None:
    # W-083, W-121
    assert one_made(job())["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "Job-train",
            "controller": True, "blockOwnerDeletion": True,
        }
    ]  # fmt: skip


def test_an_owner_whose_uid_is_not_known_is_named_without_one_until_it_is() -> None:
    unborn = job(metadata={"uid": None})
    gang = one_made(unborn)
    assert "uid" not in gang["metadata"]["ownerReferences"][0]
    assert one_made(job(), gang)["metadata"]["ownerReferences"][0]["uid"] == "Job-train"


def test_every_pod_template_learns_the_gang_and_its_group() -> None:
    # W-084, W-090, W-113
    (link,) = made(job()).templates
    assert (link.owner, link.path) == (("batch", "Job", "ml", "train"), "spec.template")
    assert link.metadata == {"labels": {GANG_LABEL: "train", GROUP_LABEL: "main"}}
    roles = {one.path: one.metadata["labels"][GROUP_LABEL] for one in made(mpijob()).templates}
    assert roles == {
        "spec.mpiReplicaSpecs.Launcher.template": "launcher",
        "spec.mpiReplicaSpecs.Worker.template": "worker",
    }


def test_all_templates_of_a_workload_name_one_gang() -> None:
    # W-086, W-031
    for doc in (job(), statefulset(), lws(leaderTemplate=pods()), mpijob(), pytorchjob()):
        found = made(doc)
        assert found.templates
        assert len(found.objects) == 1
        assert {one.metadata["labels"][GANG_LABEL] for one in found.templates} == {doc["metadata"]["name"]}


def test_labels_that_a_template_has_stay_when_it_is_linked() -> None:
    doc = job(pods({"app": "x"}))
    (link,) = made(doc).templates
    labels = linked(doc, [link])["spec"]["template"]["metadata"]["labels"]
    assert labels == {"app": "x", GANG_LABEL: "train", GROUP_LABEL: "main"}
    assert doc["spec"]["template"]["metadata"]["labels"] == {"app": "x"}  # the given document is not changed


def test_a_name_too_long_for_a_label_goes_into_an_annotation_beside_a_shortened_label() -> None:
    name = "n" * 100
    doc = job(name=name)
    (link,) = made(doc).templates
    assert len(link.metadata["labels"][GANG_LABEL]) == 63
    assert link.metadata["annotations"] == {GANG_LABEL: name}
    template = field(linked(doc, [link])["spec"]["template"])
    found = link_of(template)
    assert found is not None
    assert found.name == name
    assert not template.notes.warnings
    assert one_made(doc)["metadata"]["name"] == name
    assert made(linked(doc, [link]), one_made(doc)) == Generation()


def test_the_replicas_of_a_leaderworkerset_are_told_apart_by_the_key_their_pods_carry() -> None:
    # W-127: no label of ours is needed for the replica
    found = made(lws())
    entry = group(found.objects[0])
    assert (entry["replicas"], entry["count"]) == (2, 3)
    assert entry["replicaKey"] == "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']"
    assert found.objects[0]["spec"]["policy"] == "Basic"
    assert all("phalanx.dev/replica" not in one.metadata["labels"] for one in found.templates)


def test_a_parallel_statefulset_gets_a_gang_and_an_ordered_one_none() -> None:
    # W-088, W-117, W-124
    assert group(one_made(statefulset()))["count"] == 4
    assert made(statefulset(podManagementPolicy="OrderedReady")) == Generation()


@pytest.mark.parametrize("doc", [mpijob(), pytorchjob()], ids=["MPIJob", "PyTorchJob"])
def test_training_jobs_get_a_gang_with_a_group_per_role(doc: Doc) -> None:
    # W-129
    assert len(one_made(doc)["spec"]["podGroups"]) == 2


@pytest.mark.parametrize(
    "doc",
    [
        job(completionMode="NonIndexed"),
        job(parallelism=2),
        job(metadata={"annotations": {MODE: "Off"}}),
        job(parallelism=1, completions=1),
        job(parallelism=0),
        deployment(),
        jobset(),
        lws(metadata={"annotations": {MODE: "Off"}}),
        mpijob(metadata={"annotations": {MODE: "Off"}}),
        deployment(template=sliced(3)),
        lws_that_leads(),
        raycluster(minReplicas=0, scaled=True),
        thing("v1", "Pod", "one", pod_spec()),
        thing("apps/v1", "DaemonSet", "agent", {"template": pods()}),
    ],
    ids=["NonIndexed", "in turns", "Off", "one pod", "no pods", "Deployment", "JobSet", "LWS off", "MPI off", "slices",
         "LeaderReady", "only the head", "Pod",
         "DaemonSet"],
)  # fmt: skip
def test_what_is_no_gang_by_default_gets_nothing(doc: Doc) -> None:
    # W-117, W-139, J-021
    assert made(doc) == Generation()


def test_a_group_that_waits_for_none_of_its_members_makes_no_gang() -> None:
    def gang(policy: str) -> bool:
        groups = [{"name": "outer", "policy": policy}, {"name": "a", "parent": "outer", "count": 4}]
        return outline_is_gang(Outline("X", "ml", "x", {"podGroups": [*groups, {"name": "head", "count": 1}]}))

    assert gang("Gang")
    assert not gang("Basic")


@pytest.mark.parametrize(
    "doc",
    [
        job(completionMode="NonIndexed", metadata=asking()),
        job(completionMode="NonIndexed", metadata={"labels": {"phalanx.dev/queue": "research"}}),
        job(parallelism=2, metadata=asking()),
        deployment(metadata=asking()),
        lws(metadata=asking()),
    ],
    ids=["NonIndexed", "NonIndexed in a queue", "in turns", "Deployment", "all replicas"],
)
def test_who_asks_for_a_gang_gets_one(doc: Doc) -> None:
    # W-035, W-078
    assert one_made(doc)["metadata"]["name"] == doc["metadata"]["name"]


def test_an_off_job_with_slices_waits_for_a_slice_and_is_no_gang_all_the_same() -> None:
    assert made(job(sliced(4), {"annotations": {MODE: "Off"}})) == Generation()


def test_suspended_workloads_get_their_gang_too() -> None:
    # W-091, W-123, W-015
    gang = one_made(job(suspend=True))
    assert gang["spec"]["suspend"] is True
    assert group(gang)["template"]["spec"] == pod_spec()
    assert made(mpijob(suspend=True)).objects


def test_wishes_of_the_workload_stand_in_its_gang() -> None:
    # W-022, W-035
    top = {"annotations": {"phalanx.dev/topology-required": "block"}, "labels": {"phalanx.dev/queue": "research"}}
    gang = one_made(job(metadata=top))
    assert gang["spec"]["topology"] == {"required": "block"}
    assert gang["spec"]["queue"] == "research"


@pytest.mark.parametrize(
    "doc",
    [
        job(),
        statefulset(),
        lws(),
        lws(leaderTemplate=pods()),
        mpijob(),
        pytorchjob(),
        deployment(metadata=asking()),
        raycluster(),
    ],
    ids=["Job", "StatefulSet", "LWS", "LWS with leader", "MPIJob", "PyTorchJob", "Deployment", "RayCluster"],
)
def test_the_gang_means_what_the_workload_means(doc: Doc) -> None:
    # W-022: who wrote it makes no difference
    def requests(of: Doc) -> list[Request]:
        found = read_workloads([of], AROUND)
        assert not found.invalid, [str(one) for one in found.invalid[0].problems]
        return [replace(one, kind="") for one in found.requests]

    assert requests(one_made(doc)) == requests(doc)


@pytest.mark.parametrize(
    "doc", [job(), mpijob(), lws(), jobset(metadata=asking())], ids=["Job", "MPIJob", "LWS", "JobSet"]
)
def test_a_workload_beside_what_was_generated_for_it_is_placed_once(doc: Doc) -> None:
    # W-031
    def units(docs: list[Doc]) -> list[tuple[str, str | None]]:
        return [(one.id, one.unit) for one in read_workloads(docs, AROUND).requests]

    alone = units([doc])
    assert alone
    assert units(applied([doc], made(doc))) == alone
    assert units([doc, *made(doc).objects]) == alone


def test_the_cluster_s_policy_fills_what_nobody_says() -> None:
    # W-080
    usual = {"scheduleTimeoutSeconds": 300}
    (gang,) = generate([job()], AROUND, usual).objects
    assert gang["spec"]["scheduleTimeoutSeconds"] == 300
    timed = mpijob(schedulingPolicy={"scheduleTimeoutSeconds": 60})
    assert generate([timed], AROUND, usual).objects[0]["spec"]["scheduleTimeoutSeconds"] == 60
    again = generate([job(), one_made(job())], AROUND, usual)  # a policy that came later
    assert (again.objects, again.defaults) == ((gang,), ())
    found = generate([user_gang("a"), user_gang("b", scheduleTimeoutSeconds=10)], AROUND, usual).defaults
    assert [(one.of[3], one.path, one.value) for one in found] == [("a", "spec.scheduleTimeoutSeconds", 300)]


# -- one object per stack ----------------------------------------------------------------------------------------


def owned_by(doc: Doc, owner: Doc) -> Doc:
    kind, name = _name(owner)
    reference = {"apiVersion": owner["apiVersion"], "kind": kind, "name": name, "controller": True}
    return {**doc, "metadata": {**doc["metadata"], "ownerReferences": [reference]}}


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (job(name="big-workers-0"), jobset(metadata=asking())),
        (job(name="mpi-launcher"), mpijob()),
        (statefulset(), lws()),
    ],
    ids=["JobSet", "MPIJob", "LeaderWorkerSet"],
)
def test_a_child_gets_nothing_of_its_own(child: Doc, parent: Doc) -> None:
    # W-114, J-010, W-085
    below = owned_by(child, parent)
    assert made(below, parent).objects == made(parent).objects
    assert all(one.owner[1] == parent["kind"] for one in made(below, parent).templates)
    assert made(below).objects == ()  # the parent is not given, and speaks for it all the same


def test_a_job_of_a_kind_that_nobody_knows_stands_for_itself() -> None:
    workflow = thing("argoproj.io/v1alpha1", "Workflow", "flow", {})
    assert one_made(owned_by(job(), workflow), workflow)["metadata"]["name"] == "train"


def test_a_job_that_its_parent_has_linked_is_left_alone() -> None:
    # W-114, J-010
    template = pods()
    template["spec"]["workload"] = {"name": "w-big", "podGroup": "pg-big"}
    assert made(job(template)) == Generation()


def test_two_controllers_are_a_problem() -> None:
    both = job(metadata={"ownerReferences": [
        {"apiVersion": "v1", "kind": "A", "name": "a", "controller": True},
        {"apiVersion": "v1", "kind": "B", "name": "b", "controller": True},
    ]})  # fmt: skip
    found = generate([both], AROUND)
    assert found.objects == ()
    assert [one.path for one in found.problems] == ["Job/train: metadata.ownerReferences[1].controller"]


def test_of_two_documents_of_one_workload_the_first_counts() -> None:
    # W-085
    assert group(one_made(job(), job(parallelism=2, completions=2)))["count"] == 8


def test_what_cannot_be_read_is_told() -> None:
    found = generate([{"name": "what is this"}, {**job(), "apiVersion": "batch/v7"}], AROUND)
    assert found.objects == ()
    assert [one.path for one in found.problems] == ["documents[0].kind", "Job/train: apiVersion"]


# -- a user's object ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [[user_gang()], []], ids=["given", "not given"])
def test_templates_that_name_an_object_leave_no_room_for_another(beside: list[Doc]) -> None:
    # W-078, W-082, W-119, J-004, X-43
    assert made(job(pods(TO_MINE)), *beside) == Generation()


def test_a_user_s_object_is_never_written_whatever_stands_in_it() -> None:
    # W-036, W-082
    mine = user_gang(podGroups=[{"name": "main", "count": 8, "minCount": 3, "fromTheFuture": 1, "template": pods()}])
    docs = [job(pods(TO_MINE)), mine]
    for _ in range(10):
        found = made(*docs)
        assert found.objects == ()
        docs = applied(docs, found)
    assert mine in docs


def test_a_default_is_switched_off_by_an_object_that_says_so() -> None:
    # W-118
    workload = {"apiVersion": "scheduling/v1alpha1", "kind": "Workload", "metadata": {"name": "off", "namespace": "ml"}}
    workload["spec"] = {"gangGroups": [{"name": "main", "minCount": 0}]}
    template = pods()
    template["spec"]["workload"] = {"name": "off", "podGroup": "main"}
    assert made(job(template), workload) == Generation()


def test_a_jobset_whose_templates_name_an_object_gets_no_workload() -> None:
    # J-022, X-43
    template = pods()
    template["spec"]["workload"] = {"name": "mine", "podGroup": "pg"}
    assert made(jobset(template, asking())).objects == ()


def test_templates_some_of_which_name_an_object_get_nothing_and_a_word() -> None:
    # W-086
    doc = mpijob()
    doc["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = pods(TO_MINE)
    found = made(doc)
    assert (found.objects, found.templates) == ((), ())
    assert "spec.mpiReplicaSpecs.Launcher.template" in found.warnings[0].message


def test_a_generated_gang_that_some_templates_still_name_is_not_called_useless() -> None:
    docs = applied([mpijob()], made(mpijob()))
    docs[0]["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = pods(TO_MINE)
    assert made(*docs) == Generation()


def test_an_object_for_a_workload_that_does_not_name_it_is_told_how_it_would() -> None:
    # W-068, W-082
    mine = user_gang(controllerRef={"apiGroup": "batch", "kind": "Job", "name": "train"})
    found = made(job(), mine)
    assert found.objects == ()
    assert found.templates == ()
    assert "phalanx.dev/gang: mine" in found.warnings[0].message


def test_a_gang_of_that_name_that_is_somebody_else_s_is_a_problem() -> None:
    # J-052
    found = generate([job(), user_gang("train")], AROUND)
    assert found.objects == ()
    assert found.templates == ()
    (problem,) = found.problems
    assert (problem.path, problem.value) == ("Job/train: metadata.name", "train")
    assert "does not belong to it" in problem.message


def test_a_gang_of_an_earlier_workload_of_that_name_is_not_taken_over() -> None:
    # J-052: it goes with the one it belonged to
    old = one_made(job(metadata={"uid": "before"}))
    assert generate([job(), old], AROUND).objects == ()
    assert generate([job(), old], AROUND).problems


def test_a_gang_in_another_namespace_is_no_clash() -> None:
    other = user_gang("train")
    other["metadata"]["namespace"] = "elsewhere"
    assert one_made(job(), other)["metadata"]["namespace"] == "ml"


def test_two_workloads_of_one_name_cannot_both_have_a_gang_called_so() -> None:
    # J-052
    twin = statefulset()
    twin["metadata"]["name"] = "train"
    found = generate([job(), twin], AROUND)
    assert [_owner(one) for one in found.objects] == ["Job"]
    assert "made for Job/train already" in found.problems[0].message


def _owner(doc: Doc) -> str:
    return str(doc["metadata"]["ownerReferences"][0]["kind"])


def test_kueue_s_note_on_a_pod_is_no_link_while_its_object_is_not_given() -> None:
    template = {**pods(), "metadata": {"annotations": {"kueue.x-k8s.io/workload": "job-train-1"}}}
    assert one_made(job(template))["metadata"]["name"] == "train"


def test_a_workload_without_a_name_waits_for_it() -> None:
    nameless = job(metadata={"generateName": "train-"})
    del nameless["metadata"]["name"]
    found = made(nameless)
    assert found.objects == ()
    assert "no name yet" in found.warnings[0].message


def test_an_invalid_workload_gets_nothing_and_its_problems_are_told() -> None:
    found = generate([job(metadata={"annotations": {"phalanx.dev/topology-required": "rak"}})], AROUND)
    assert (found.objects, found.templates) == ((), ())
    assert [one.path for one in found.problems] == ["Job/train: metadata.annotations['phalanx.dev/topology-required']"]


def test_a_group_whose_name_is_no_label_is_not_linked_and_a_word_says_so() -> None:
    found = made(raycluster("w" * 64))
    assert len(found.objects) == 1
    assert found.templates == ()
    assert "known by their owner" in found.warnings[0].message


def test_templates_that_a_runtime_holds_for_many_are_not_linked_and_a_word_says_so() -> None:
    found = made(trainjob(), runtime())
    assert [one["metadata"]["name"] for one in found.objects] == ["tune"]
    assert found.templates == ()
    assert "known by their owner" in found.warnings[0].message
    assert made(trainjob(), runtime(), *found.objects).objects == ()


def test_a_template_that_makes_pods_of_several_groups_is_not_linked_and_a_word_says_so() -> None:
    level = {"annotations": {"leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology": "topology/rack"}}
    doc = lws(metadata=level, size=5, subGroupPolicy={"subGroupSize": 2}, leaderTemplate=pods())
    found = made(doc)
    assert len(found.objects) == 1
    assert found.templates == ()
    assert "known by their owner" in found.warnings[0].message


# -- again -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "doc",
    [job(), statefulset(), lws(), mpijob(), jobset(metadata=asking()), deployment(metadata=asking())],
    ids=["Job", "StatefulSet", "LWS", "MPIJob", "JobSet", "Deployment"],
)
def test_what_was_generated_is_not_generated_again(doc: Doc) -> None:
    # W-085, J-029
    docs = [doc]
    writes = 0
    for _ in range(100):
        found = made(*docs)
        writes += found != Generation()
        docs = applied(docs, found)
    assert writes == 1
    assert len(docs) == 2


def test_the_same_input_gives_the_same_bytes() -> None:
    # J-029
    docs = [job(), mpijob(), jobset(metadata=asking()), user_gang()]
    texts = {json.dumps(generate(docs, AROUND).objects) for _ in range(3)}
    assert len(texts) == 1
    backwards = generate(docs[::-1], AROUND).objects
    assert sorted(map(json.dumps, backwards)) == sorted(map(json.dumps, generate(docs, AROUND).objects))


def test_an_existing_gang_whose_workload_is_not_linked_yet_leads_to_links_only() -> None:
    found = made(job(), one_made(job()))
    assert found.objects == ()
    assert [one.path for one in found.templates] == ["spec.template"]


def test_the_copied_part_follows_the_workload_and_the_decoration_stays() -> None:
    # W-023, W-036
    gang = one_made(job(suspend=True))
    gang["spec"] |= {"queue": "research", "scheduleTimeoutSeconds": 60, "fromTheFuture": {"a": 1}}
    gang["spec"]["podGroups"][0]["topology"] = {"required": "rack"}
    gang["metadata"]["labels"] = {"team": "ml"}
    gang["status"] = {"observedGeneration": 3}
    larger = job(pods(priorityClassName="high"), parallelism=12, completions=12)
    (now,) = made(larger, gang).objects
    assert group(now)["count"] == 12
    assert group(now)["template"]["spec"]["priorityClassName"] == "high"
    assert "suspend" not in now["spec"]
    assert now["spec"]["queue"] == "research"
    assert now["spec"]["scheduleTimeoutSeconds"] == 60
    assert now["spec"]["fromTheFuture"] == {"a": 1}
    assert group(now)["topology"] == {"required": "rack"}
    assert now["metadata"]["labels"] == {"team": "ml"}
    assert now["status"] == {"observedGeneration": 3}
    assert made(larger, now).objects == ()


def test_a_gang_is_refreshed_from_the_normal_form_alone() -> None:
    # W-023
    (outline,) = workloads.read(documents.sort([job(parallelism=5, completions=5)])[0], AROUND, None).outlines
    gang = one_made(job())
    gang["spec"]["readyTimeoutSeconds"] = 9
    now = refreshed(gang, outline)
    assert group(now)["count"] == 5
    assert now["spec"]["readyTimeoutSeconds"] == 9
    assert now["spec"]["controllerRef"] == gang["spec"]["controllerRef"]
    assert now["metadata"] == gang["metadata"]
    assert outline_is_gang(outline)


def test_a_decoration_that_contradicts_the_workload_stays_and_is_told() -> None:
    # W-023: nothing is overwritten, and nothing is ignored in silence
    gang = one_made(job(metadata={"labels": {"phalanx.dev/queue": "research"}}))
    found = made(job(metadata={"labels": {"phalanx.dev/queue": "other"}}), gang)
    assert found.objects == ()
    assert "spec.queue" in found.warnings[0].message


def test_a_gang_that_is_not_needed_any_more_is_told() -> None:
    found = made(job(metadata={"annotations": {MODE: "Off"}}), one_made(job()))
    assert found.objects == ()
    assert "not needed any more" in found.warnings[0].message


# -- values that users leave out ---------------------------------------------------------------------------------

OF_TRAIN = {"apiGroup": "batch", "kind": "Job", "name": "train"}
OUTER = {"name": "outer", "topology": {"required": "rack"}}
CLASSES = {"name": "main", "podClasses": [{"name": "a", "count": 8, "template": pods()}]}


def switched_off(mode: Doc) -> Doc:
    spec = {"controllerRef": OF_TRAIN, "gangGroups": [{"name": "main", **mode}]}
    return thing("scheduling/v1alpha1", "Workload", "off", spec)


def test_a_minimum_left_out_is_that_of_the_job_named_as_controller() -> None:
    # W-071
    mine = user_gang(controllerRef=OF_TRAIN, podGroups=[{"name": "main"}])
    (found,) = made(job(pods(TO_MINE)), mine).defaults
    assert (found.of, found.path, found.value) == (
        ("phalanx.dev", "Gang", "ml", "mine"),
        "spec.podGroups[0].minCount",
        8,
    )


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"gangGroups": [{"name": "gg"}]}, "spec.gangGroups[0].minCount"),
        ({"podGroups": [{"name": "pg", "policy": {"kind": "Gang"}}]}, "spec.podGroups[0].policy.gang.minCount"),
    ],
    ids=["gangGroups", "podGroups"],
)
def test_a_workload_of_the_designs_gets_the_same_default(spec: Doc, path: str) -> None:
    # W-071
    workload = thing("scheduling/v1alpha1", "Workload", "mine", {"controllerRef": OF_TRAIN, **spec})
    template = pods()
    template["spec"]["workload"] = {"name": "mine"}
    (found,) = made(job(template), workload).defaults
    assert (found.path, found.value) == (path, 8)


@pytest.mark.parametrize(
    ("mine", "of"),
    [
        (user_gang(controllerRef=OF_TRAIN, podGroups=[{"name": "main", "minCount": 2}]), job(pods(TO_MINE))),
        (user_gang(controllerRef=OF_TRAIN, podGroups=[{"name": "main", "count": 4}]), job(pods(TO_MINE))),
        (user_gang(controllerRef=OF_TRAIN, podGroups=[{"name": "main"}]), job(pods(TO_MINE), parallelism=2)),
        (user_gang(podGroups=[{"name": "main"}]), job(pods(TO_MINE))),
        (user_gang(controllerRef=OF_TRAIN, podGroups=[OUTER, {**CLASSES, "parent": "outer"}]), job(pods(TO_MINE))),
        (switched_off({"gangMode": "Off"}), job(pods(TO_MINE))),
        (switched_off({"policy": {"basic": {}}}), job(pods(TO_MINE))),
    ],
    ids=["written", "wants fewer", "no gang", "no controllerRef", "classes", "Off", "basic"],
)
def test_a_minimum_is_not_made_up_where_it_is_written_or_unknown(mine: Doc, of: Doc) -> None:
    # W-082
    assert made(of, mine).defaults == ()


# -- JobSet ------------------------------------------------------------------------------------------------------


def test_a_jobset_gets_the_workload_of_its_design_and_nothing_else() -> None:
    # J-003, J-026, J-034, J-035, J-036, X-20
    found = made(jobset(metadata=asking()))
    (workload,) = found.objects
    assert (workload["kind"], workload["metadata"]["name"]) == ("Workload", "w-big")
    assert workload["spec"]["podGroups"] == [
        {"name": "pg-big", "replicas": 1, "policy": {"kind": "Gang", "gang": {"minCount": 11}}}
    ]
    assert workload["spec"]["controllerRef"] == {"name": "big", "kind": "JobSet", "apiGroup": "jobset.x-k8s.io"}
    assert workload["metadata"]["ownerReferences"][0]["controller"] is True
    assert found.templates == ()


def in_modes(driver: str, workers: str) -> Doc:
    doc = jobset()
    for one, mode in zip(doc["spec"]["replicatedJobs"], (driver, workers), strict=True):
        one["template"]["metadata"] = {"annotations": {MODE: mode}}
    return doc


def test_replicated_jobs_that_are_gangs_are_groups_of_one_workload() -> None:
    # J-027, J-028, J-041
    def groups(doc: Doc) -> list[tuple[str, int, int]]:
        listed = one_made(doc)["spec"]["podGroups"]
        return [(one["name"], one["replicas"], one["policy"]["gang"]["minCount"]) for one in listed]

    assert groups(in_modes("Gang", "Gang")) == [("pg-driver", 1, 3), ("pg-workers", 1, 8)]
    assert groups(in_modes("Gang", "ReplicatedGang")) == [("pg-driver", 1, 3), ("pg-workers", 2, 4)]
    assert groups(in_modes("Off", "ReplicatedGang")) == [("pg-workers", 2, 4)]


def test_the_workload_of_a_jobset_follows_it_and_keeps_what_was_added() -> None:
    # J-029, W-023
    workload = one_made(jobset(metadata=asking()))
    workload["spec"]["podGroups"][0]["policy"]["gang"]["scheduleTimeoutSeconds"] = 60
    larger = jobset(metadata=asking())
    larger["spec"]["replicatedJobs"][1]["replicas"] = 3
    gang = one_made(larger, workload)["spec"]["podGroups"][0]["policy"]["gang"]
    assert gang == {"minCount": 15, "scheduleTimeoutSeconds": 60}
    assert made(jobset(metadata=asking()), workload).objects == ()


def test_a_foreign_workload_of_that_name_is_a_problem() -> None:
    # J-052
    foreign = thing("scheduling/v1alpha1", "Workload", "w-big", {"podGroups": [{"name": "a"}]})
    found = generate([jobset(metadata=asking()), foreign], AROUND)
    assert found.objects == ()
    assert [one.path for one in found.problems] == ["JobSet/big: metadata.name"]


def test_a_suspended_jobset_gets_its_workload() -> None:
    # W-091
    assert made(jobset(metadata=asking(), suspend=True)).objects


# -- runs of a CronJob -------------------------------------------------------------------------------------------


def test_each_run_of_a_cronjob_gets_a_gang_of_its_own() -> None:
    # W-075, W-122, W-126
    runs = [for_run(cronjob(), f"nightly-{i}", f"u{i}", around=AROUND) for i in (1, 2)]
    gangs = [run.objects[0] for run in runs]
    assert [gang["metadata"]["name"] for gang in gangs] == ["nightly-1", "nightly-2"]
    assert [gang["metadata"]["ownerReferences"][0]["uid"] for gang in gangs] == ["u1", "u2"]
    assert gangs[0]["spec"]["controllerRef"] == {"apiGroup": "batch", "kind": "Job", "name": "nightly-1"}
    assert group(gangs[0])["template"]["metadata"]["labels"]["job-name"] == "nightly-1"
    (link,) = runs[0].templates
    assert (link.owner[3], link.path) == ("nightly-1", "spec.template")
    assert link.metadata["labels"][GANG_LABEL] == "nightly-1"


def test_the_cronjob_itself_gets_nothing() -> None:
    # W-126
    assert made(cronjob()) == Generation()


def test_a_run_among_the_documents_gets_what_a_run_gets() -> None:
    # W-075: what stands on the CronJob counts for its runs
    top = {"annotations": {"phalanx.dev/topology-required": "rack"}}
    whole = cronjob(metadata=top)
    run = owned_by(job(name="nightly-1", **whole["spec"]["jobTemplate"]["spec"]), whole)
    run["metadata"]["uid"] = "u1"
    (gang,) = made(whole, run).objects
    assert gang["spec"]["topology"] == {"required": "rack"}
    assert (gang,) == for_run(whole, "nightly-1", "u1", around=AROUND).objects


def test_a_run_is_made_once() -> None:
    # W-085
    first = for_run(cronjob(), "nightly-1", "u1", around=AROUND)
    again = for_run(cronjob(), "nightly-1", "u1", first.objects, AROUND)
    assert again.objects == ()


def test_a_cronjob_that_is_held_back_does_not_hold_a_run_that_exists() -> None:
    assert "suspend" not in for_run(cronjob(suspend=True), "nightly-1", around=AROUND).objects[0]["spec"]


def test_a_gang_mode_on_the_cronjob_holds_for_its_runs() -> None:
    off = cronjob(metadata={"annotations": {MODE: "Off"}})
    assert for_run(off, "nightly-1", around=AROUND) == Generation()


def test_a_cronjob_can_ask_for_gangs_that_its_jobs_are_not_by_default() -> None:
    doc = cronjob(metadata=asking())
    doc["spec"]["jobTemplate"]["spec"]["completionMode"] = "NonIndexed"
    assert for_run(doc, "nightly-1", around=AROUND).objects


def test_a_run_is_asked_about_alone_and_as_its_template_makes_it() -> None:
    other = job(name="nightly-1", parallelism=2, completions=2)
    found = for_run(cronjob(), "nightly-1", "u1", [other, statefulset()], AROUND)
    assert [group(one)["count"] for one in found.objects] == [4]


def test_runs_that_share_an_object_are_told() -> None:
    # W-119
    found = made(cronjob(pods(TO_MINE)), user_gang())
    assert found.objects == ()
    assert "all its runs share Gang mine" in found.warnings[0].message


# -- hostile input -----------------------------------------------------------------------------------------------


def test_a_document_that_aliases_make_endless_is_a_problem() -> None:
    bomb: Any = ["x"] * 10
    for _ in range(12):
        bomb = [bomb] * 10
    found = generate([job(pods(volumes=bomb))], AROUND)
    assert found.objects == ()
    assert "too large" in found.problems[0].message


def test_a_document_that_holds_itself_is_a_problem() -> None:
    doc = job()
    doc["spec"]["template"]["spec"]["more"] = doc
    assert generate([doc], AROUND).objects == ()
    assert generate([doc], AROUND).problems


WHOLE = [
    job(metadata=asking()), cronjob(), statefulset(), lws(leaderTemplate=pods()), mpijob(ttlSecondsAfterFinished=9),
    jobset(metadata=asking()), user_gang(controllerRef=OF_TRAIN), one_made(job()),
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_document_makes_it_raise(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(WHOLE))
    where = data.draw(st.sampled_from(places(whole)))
    broken = changed(whole, where, data.draw(GARBAGE))
    found = generate([broken, job(pods(TO_MINE), ttlSecondsAfterFinished=1), user_gang()], AROUND, {"suspend": True})
    assert isinstance(found, Generation)
    if isinstance(broken, dict):
        for_run(broken, "run", None, [user_gang()], AROUND)


def test_the_makers_of_these_tests_are_valid() -> None:
    for doc in (job(), statefulset(), mpijob(), pytorchjob(), user_gang()):
        assert request(doc)
