"""Documents of all kinds together."""

from typing import Any

import pytest

from phalanx.dialects.documents import WORKLOAD_KINDS
from phalanx.dialects.reading import read, read_cluster, read_workloads
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.request import Request
from tests.dialects.manifests import AROUND, Doc, gang, job, node, pod_spec, template, topology

WORKERS = {"name": "w", "count": 2, "template": template()}


def named(doc: Doc, name: str, namespace: str = "default", **more: Any) -> Doc:
    return {**doc, "metadata": {**doc["metadata"], "name": name, "namespace": namespace, **more}}


def pod(name: str, node: str | None = None, **metadata: Any) -> Doc:
    spec = pod_spec(nodeName=node) if node else pod_spec()
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def other(kind: str, api: str = "v1") -> Doc:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}}


def test_one_pile_of_documents_gives_cluster_and_workloads() -> None:
    found = read([job(), node(), topology("rack"), gang(WORKERS), pod("runs", "n1"), pod("waits")])
    assert [n.name for n in found.snapshot.nodes] == ["n1"]
    assert [t.name for t in found.snapshot.topologies] == ["t"]
    assert [p.name for p in found.snapshot.pods] == ["runs"]
    assert [r.id for r in found.requests] == ["default/train", "serving/llm", "default/waits"]
    assert (found.invalid, found.problems, found.warnings, dict(found.notes)) == ((), (), (), {})


def test_the_order_of_documents_does_not_matter_for_what_they_refer_to() -> None:
    wish = job({"phalanx.dev/topology-required": "rack"})
    assert len(read([wish, topology("rack")]).requests) == len(read([topology("rack"), wish]).requests) == 1


def test_cluster_and_workloads_can_be_read_apart_from_the_same_documents() -> None:
    docs = [node(), topology("rack"), job(), pod("runs", "n1")]
    cluster = read_cluster(docs)
    work = read_workloads(docs, cluster.surroundings, cluster.snapshot)
    assert (len(cluster.snapshot.nodes), len(cluster.snapshot.pods), len(work.requests)) == (1, 1, 1)
    assert (cluster.problems, cluster.warnings, work.problems, work.warnings) == ((), (), (), ())
    assert work.items == read(docs).items


def test_a_workload_may_bring_its_volumes_and_priority_class_along() -> None:
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"volumeName": "pv"},
    }  # fmt: skip
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}]}}},
    }  # fmt: skip
    high = {**other("PriorityClass", "scheduling.k8s.io/v1"), "metadata": {"name": "high"}, "value": 5}
    doc = job()
    doc["spec"]["template"]["spec"].update(
        volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}], priorityClassName="high"
    )
    found = read_workloads([doc, claim, volume, high], Surroundings())
    (request,) = found.requests
    assert request.priority == 5
    assert len(next(request.root.pod_sets()).shape.filter.required) == 1
    assert dict(found.notes) == {}


def test_one_bad_document_does_not_spoil_the_others() -> None:
    bad = named(job({"phalanx.dev/topology-required": "rak"}), "bad")
    found = read([named(job(), "a"), bad, 7, named(job(), "b"), {"kind": 3}, node("n1", labels={"x": 1}), node("n2")])
    assert [type(item) for item in found.items] == [Request, Invalid, Request]
    assert [p.path for p in found.problems] == ["documents[2]", "documents[4].kind", "Node/n1: metadata.labels.x"]
    assert [n.name for n in found.snapshot.nodes] == ["n2"]


def test_an_invalid_workload_keeps_its_kind_name_problems_and_warnings() -> None:
    doc = gang(WORKERS, priorityClassName="nobody", policy="gang")
    (found,) = read([doc]).invalid
    assert (found.kind, found.namespace, found.name) == ("Gang", "serving", "llm")
    assert [p.path for p in found.problems] == ["spec.policy"]


def test_warnings_belong_to_the_request_they_are_about() -> None:
    doc = gang({**WORKERS, "name": "a"}, {**WORKERS, "name": "b"}, priorityClassName="nobody", policy="Basic")
    found = read([doc, job()])
    assert set(found.notes) == {"serving/llm#a", "serving/llm#b"}
    assert [w.path for w in found.notes["serving/llm#b"]] == ["spec.priorityClassName"]


# ----------------------------------------------------------------------------------------------------------- lists


def test_lists_are_opened_and_their_items_know_their_kind() -> None:
    plain = {"apiVersion": "v1", "kind": "List", "items": [node(), {"kind": "List", "items": [job()]}]}
    bare = {key: value for key, value in node("n2").items() if key not in ("kind", "apiVersion")}
    nodes = {"apiVersion": "v1", "kind": "NodeList", "items": [bare]}
    found = read([plain, None, nodes])
    assert ([n.name for n in found.snapshot.nodes], len(found.requests)) == (["n1", "n2"], 1)
    assert found.problems == ()


def test_one_document_alone_is_read_like_a_list_of_one() -> None:
    assert len(read(job()).requests) == 1


@pytest.mark.parametrize("docs", [None, 5, "kind: Node", b"x"])
def test_what_is_no_pile_of_documents_is_a_problem(docs: object) -> None:
    assert len(read(docs).problems) == 1


def test_a_list_that_contains_itself_ends_in_a_problem() -> None:
    items: list[object] = []
    endless = {"apiVersion": "v1", "kind": "List", "items": items}
    items += [endless, job()]
    found = read([endless])
    assert len(found.problems) == 1
    assert found.requests


# ----------------------------------------------------------------------------------------------------- other kinds


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        ("SparkApplication", "sparkoperator.k8s.io/v1beta2"),
        ("PodGroup", "scheduling.volcano.sh/v1beta1"),
        ("Gangg", "phalanx.dev/v1alpha1"),
        ("Job", "batch.volcano.sh/v1alpha1"),
    ],
)
def test_a_workload_of_a_kind_that_is_not_read_is_invalid_and_says_so(kind: str, api: str) -> None:
    (found,) = read([other(kind, api)]).invalid
    (problem,) = found.problems
    assert (problem.path, problem.value, problem.allowed) == ("kind", kind, WORKLOAD_KINDS)


def test_a_kind_that_nobody_reads_is_placed_with_the_gang_its_pods_name() -> None:  # W-017, W-044
    linked = {"metadata": {"labels": {"phalanx.dev/gang": "llm", "phalanx.dev/group": "w"}}, "spec": pod_spec()}
    doc = {**named(other("MyTraining", "example.com/v1"), "train", "serving"), "spec": {"template": linked}}
    found = read([gang(WORKERS), doc])
    assert [r.id for r in found.requests] == ["serving/llm"]
    assert [w.path for w in found.warnings] == ["MyTraining/train"]


def test_an_unheard_of_kind_with_a_pod_template_is_a_workload_too() -> None:
    doc = {**other("MyTraining", "example.com/v1"), "spec": {"template": template()}}
    assert [i.kind for i in read([doc]).invalid] == ["MyTraining"]


@pytest.mark.parametrize(
    ("doc", "allowed"),
    [
        (other("Job", "batch/v1beta1"), ("batch/v1",)),
        (other("Gang", "phalanx.dev/v1"), ("phalanx.dev/v1alpha1",)),
        ({**other("Job"), "apiVersion": None}, ("batch/v1",)),
    ],
)
def test_a_version_that_is_not_read_is_a_problem(doc: Doc, allowed: tuple[str, ...]) -> None:
    (found,) = read([doc]).invalid
    assert [(p.path, p.allowed) for p in found.problems] == [("apiVersion", allowed)]


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        ("WorkloadPriorityClass", "kueue.x-k8s.io/v1beta1"),
        ("ConfigMap", "v1"),
        ("Service", "v1"),
        ("DaemonSet", "apps/v1"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    ],
)
def test_kinds_that_change_no_placement_are_a_warning(kind: str, api: str) -> None:
    found = read([other(kind, api)])
    assert (found.items, found.problems, [w.path for w in found.warnings]) == ((), (), [f"{kind}/x"])


# ------------------------------------------------------------------------------------------- one thing, two documents


def test_two_workloads_of_one_kind_and_name_are_one_too_many() -> None:
    found = read([gang(WORKERS), gang(WORKERS)])
    assert [type(item) for item in found.items] == [Request, Invalid]
    assert [p.path for p in found.invalid[0].problems] == ["metadata.name"]


def test_a_job_whose_pods_name_a_gang_is_placed_with_it() -> None:  # W-068
    doc = named(job(), "train", "serving")
    doc["spec"]["template"]["metadata"]["labels"] = {"phalanx.dev/gang": "llm", "phalanx.dev/group": "w"}
    found = read([gang(WORKERS), doc])
    assert [r.id for r in found.requests] == ["serving/llm"]
    assert [(w.path, w.message) for w in found.warnings] == [
        ("Job/train", "its pods belong to Gang serving/llm and are placed with it")
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"job-name": "train"}},
        {"ownerReferences": [{"kind": "ReplicaSet", "name": "web-1", "controller": True}]},
    ],
)
def test_a_waiting_pod_that_belongs_to_something_is_placed_with_it(metadata: Doc) -> None:
    found = read([pod("p", **metadata)])
    assert (found.items, [w.path for w in found.warnings]) == ((), ["Pod/p"])


def test_a_pod_that_is_over_is_passed_over() -> None:
    found = read([{**pod("p"), "status": {"phase": "Succeeded"}}])
    assert (found.items, found.problems, found.warnings) == ((), (), ())


def test_a_workload_whose_pods_run_already_is_told_so() -> None:
    found = read([node(), pod("train-0", "n1", labels={"job-name": "train"}), job()])
    assert ["1 of its pods run already" in w.message for w in found.notes["default/train"]] == [True]
    assert read_workloads([job()], AROUND).notes == {}


# ------------------------------------------------------------------------------------- queues, flavors, topologies


def kueue(kind: str, name: str, spec: Doc, **metadata: Any) -> Doc:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec
    }  # fmt: skip


def flavored(name: str, flavor: str, topology_name: str) -> list[Doc]:
    """A LocalQueue ``NAME-local``, its ClusterQueue, its flavor, and the flavor's topology."""
    covered = {"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": [QUOTA]}]}
    return [
        kueue("LocalQueue", f"{name}-local", {"clusterQueue": name}, namespace="default"),
        kueue("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [covered]}),
        kueue("ResourceFlavor", flavor, {"nodeLabels": {"group": flavor}, "topologyName": topology_name}),
        topology("topology/block", f"{topology_name}/rack", name=topology_name, api="kueue.x-k8s.io/v1beta2"),
    ]


QUOTA = {"name": "cpu", "nominalQuota": "9"}


def queued(name: str, **annotations: str) -> Doc:
    doc = job(None, annotations)
    doc["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": name}
    return doc


def test_a_local_queue_stands_for_its_cluster_queue() -> None:  # K-017, K-112
    (found,) = read([*flavored("research", "h100", "net"), queued("research-local")]).requests
    assert (found.queue, found.local_queue) == ("research", "research-local")
    (found,) = read([*flavored("research", "h100", "net"), queued("research")]).requests
    assert (found.queue, found.local_queue) == ("research", None)


def test_a_queue_that_is_not_given_is_a_warning_with_those_there_are() -> None:  # K-017
    found = read([*flavored("research", "h100", "net"), queued("reserch")])
    (note,) = found.notes["default/train"]
    assert (note.value, note.allowed) == ("reserch", ("research", "research-local"))


def test_without_any_queue_nobody_is_warned_of_one() -> None:
    assert read([queued("somewhere")]).notes == {}


def test_of_several_topologies_that_of_the_queues_flavor_is_meant() -> None:  # K-007, X-39
    docs = [*flavored("research", "h100", "net"), *flavored("serving", "l40", "lan")]
    rack = {"kueue.x-k8s.io/podset-required-topology": "lan/rack"}
    (found,) = read([*docs, queued("serving-local", **rack)]).requests
    assert (found.topology, found.root.required) == ("lan", 2)


def test_of_several_topologies_the_one_marked_as_default_is_meant() -> None:
    first, second = topology("a/rack", name="a"), topology("b/rack", name="b")
    second["metadata"]["annotations"] = {"phalanx.dev/default-topology": "true"}
    (found,) = read([first, second, job({"phalanx.dev/topology-required": "b/rack"})]).requests
    assert found.topology == "b"


def test_two_defaults_are_one_too_many() -> None:
    docs = [topology(f"{name}/rack", name=name) for name in "ab"]
    for doc in docs:
        doc["metadata"]["annotations"] = {"phalanx.dev/default-topology": "true"}
    assert [p.path for p in read(docs).problems] == ["Topology/b: metadata.annotations"]


def test_a_flavor_whose_topology_is_not_there_is_inactive_until_it_is() -> None:  # K-026
    *flavor, its_topology = flavored("research", "h100", "net")
    assert any("TopologyNotFound" in w.message for w in read(flavor).warnings)
    assert read([*flavor, its_topology]).warnings == ()


def test_a_topology_of_more_levels_than_the_design_has_is_a_warning_for_kueue_alone() -> None:  # K-021, X-27
    six = [f"t/l{i}" for i in range(6)]
    kueues = topology(*six, api="kueue.x-k8s.io/v1beta2")
    assert [w.path for w in read([kueues]).warnings] == ["Topology/t: spec.levels"]
    assert read([topology(*six)]).warnings == ()


def test_kais_aliases_name_levels() -> None:
    kais = topology({"nodeLabel": "cloud/topology-rack", "alias": "rack"}, api="kai.scheduler/v1alpha1")
    (found,) = read([kais, job({"phalanx.dev/topology-required": "rack"})]).requests
    assert found.root.required == 1


def test_a_topology_of_one_level_is_enough() -> None:  # K-087
    (found,) = read([topology("topology/rack"), job({"phalanx.dev/topology-required": "rack"})]).requests
    assert found.root.required == 1


def test_a_job_of_a_cronjob_is_a_gang_of_its_own() -> None:  # W-025, W-075
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    cron = {
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": job()["spec"]}},
    }  # fmt: skip
    runs = [named(job(), f"nightly-{i}", ownerReferences=[owner]) for i in (1, 2)]
    assert [r.id for r in read([cron, *runs]).requests] == ["default/nightly", "default/nightly-1", "default/nightly-2"]


def test_a_group_all_of_whose_members_have_gone_elsewhere_goes_too() -> None:
    levels = {key: f"phalanx.dev/topology-{key}" for key in ("required", "preferred")}
    doc = {
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": "c", "annotations": {levels["required"]: "z"}},
        "spec": {
            "schedule": "@daily",
            "jobTemplate": {
                "metadata": {"annotations": {levels["required"]: "b"}},
                "spec": job(None, {levels["preferred"]: "r"})["spec"],
            },
        },
    }  # fmt: skip
    pods = doc["spec"]["jobTemplate"]["spec"]["template"]["metadata"]
    pods["labels"] = {"phalanx.dev/gang": "llm", "phalanx.dev/group": "w"}
    found = read([topology("t/z", "t/b", "t/r"), named(gang(WORKERS), "llm"), doc])
    assert ([r.id for r in found.requests], found.invalid) == (["default/llm"], ())


def test_a_level_in_a_queue_without_a_topology_is_told() -> None:  # K-035
    queue, cluster_queue, flavor, its_topology = flavored("research", "h100", "net")
    del flavor["spec"]["topologyName"]
    rack = {"kueue.x-k8s.io/podset-required-topology": "net/rack"}
    found = read([queue, cluster_queue, flavor, its_topology, queued("research-local", **rack)])
    assert any(
        "no flavor of queue 'research' names a topology" in note.message for note in found.notes["default/train"]
    )
    assert not read([queue, cluster_queue, flavor, its_topology, queued("research-local")]).notes
