"""Kueue's Workload: pod sets, topology requests in both forms, and the rules Kueue has for them."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phalanx
from phalanx.dialects import documents, outline, workloads
from phalanx.dialects.reading import read, read_workloads
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.problems import Problem
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice
from phalanx.model.topology import Topology
from tests.dialects.manifests import AROUND, BLOCK, HOST, LEVELS, RACK, Doc, job, node, pod_spec, topology

PREFIX = "kueue.x-k8s.io/podset-"
INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX, JOB_NAME = "jobset.sigs.k8s.io/job-index", "jobset.sigs.k8s.io/replicatedjob-name"


def podset(name: str | None = "main", count: int | None = 4, near: Doc | None = None, **more: Any) -> Doc:
    annotations = more.pop("annotations", {})
    template = {"metadata": {"annotations": annotations}, "spec": pod_spec()}
    fields = {"name": name, "count": count, "topologyRequest": near, "template": template, **more}
    return {key: value for key, value in fields.items() if value is not None}


def workload(*sets: Doc, version: str = "v1beta2", status: Doc | None = None, **spec: Any) -> Doc:
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}", "kind": "Workload", "metadata": {"name": "job-train"},
        "spec": {"podSets": list(sets), **spec}, "status": status or {},
    }  # fmt: skip


def found(*docs: Doc, around: Surroundings = AROUND) -> Request:
    reading = read_workloads(list(docs), around)
    assert not reading.invalid, [str(p) for p in reading.invalid[0].problems]
    (one,) = reading.requests
    return one


def wrong(*docs: Doc) -> tuple[Problem, ...]:
    (one,) = read_workloads(list(docs), AROUND).invalid
    return one.problems


def only(*docs: Doc) -> Problem:
    (one,) = wrong(*docs)
    return one


def told(*docs: Doc) -> dict[str, str]:
    """Warnings about a good Workload by path."""
    reading = read_workloads(list(docs), AROUND)
    assert not reading.invalid, [str(p) for p in reading.invalid[0].problems]
    return {note.path: note.message for notes in list(reading.notes.values())[:1] for note in notes}


def group(request: Request, name: str) -> Group:
    return next(one for one in request.root.groups() if one.name == name)


def pods(request: Request, name: str) -> PodSet:
    return next(one for one in request.root.pod_sets() if one.name == name)


def normal(doc: Doc) -> dict[str, Any]:
    sorted_docs, _ = documents.sort([doc])
    (one,) = workloads.read(sorted_docs, AROUND, None).outlines
    plain = outline.plain(one.spec)
    assert isinstance(plain, dict)
    return plain


# ---------------------------------------------------------------------------------------------------------- pod sets


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_workload_is_one_gang_of_its_pod_sets(version: str) -> None:  # K-112
    request = found(workload(podset("leader", 1), podset("workers", 4), version=version))
    assert (request.kind, request.id, request.root.min_members) == ("Workload", "default/job-train", None)
    assert [(one.name, one.min_count, one.count) for one in request.root.pod_sets()] == [
        ("leader", 1, 1), ("workers", 4, 4),
    ]  # fmt: skip


def test_a_pod_set_without_name_and_count_is_one_pod_called_main() -> None:
    assert (pods(found(workload(podset(None, None))), "main").count) == 1


def test_the_same_pods_as_a_job_and_as_its_workload_are_the_same_request() -> None:
    near = {f"{PREFIX}required-topology": "topology/rack"}
    as_job = found(job(None, near))
    as_workload = found(workload(podset(near={"required": "topology/rack"})))
    (one,), (other,) = as_job.root.pod_sets(), as_workload.root.pod_sets()
    assert (one.name, one.count, one.shape.requests) == (other.name, other.count, other.shape.requests)
    assert (as_job.root.required, as_job.root.preferred) == (as_workload.root.required, as_workload.root.preferred)


def test_min_count_is_partial_admission() -> None:
    one = pods(found(workload(podset(minCount=2))), "main")
    assert (one.min_count, one.count) == (2, 4)


def test_a_pod_set_that_wants_no_pods_is_left_out() -> None:
    doc = workload(podset("a", 0), podset("b", 2))
    assert [one.name for one in found(doc).root.pod_sets()] == ["b"]
    assert list(told(doc)) == ["spec.podSets[0].count"]
    assert read_workloads([workload(podset("a", 0))], AROUND).items == ()


def test_more_than_eight_pod_sets_are_told() -> None:
    assert list(told(workload(*(podset(f"s{i}") for i in range(9))))) == ["spec.podSets"]


# ----------------------------------------------------------------------------------------------- requests for levels


@pytest.mark.parametrize(
    ("near", "levels"),
    [
        ({"policy": "Required", "level": "topology/rack"}, (RACK, None)),  # K-041, K-042, K-043
        ({"policy": "Preferred", "level": "topology/block"}, (None, BLOCK)),
        ({"required": "topology/rack"}, (RACK, None)),
        ({"preferred": "rack"}, (None, RACK)),
        ({"unconstrained": True}, (None, None)),
        ({"unconstrained": False, "required": "topology/rack"}, (RACK, None)),
        ({}, (None, None)),
    ],
)
def test_a_topology_request_in_the_designs_form_and_in_todays(near: Doc, levels: tuple[int | None, ...]) -> None:
    one = group(found(workload(podset(near=near))), "main")
    assert (one.required, one.preferred) == levels


@pytest.mark.parametrize("policy", ["Required", "Preferred"])
def test_policy_and_level_keep_what_was_written(policy: str) -> None:  # K-042, K-043
    (entry,) = normal(workload(podset(near={"policy": policy, "level": "topology/rack"})))["podGroups"]
    assert entry["topology"] == {policy.lower(): "topology/rack"}


def test_annotations_of_the_template_count_where_the_field_says_nothing() -> None:  # K-031, K-032
    doc = workload(podset(annotations={f"{PREFIX}required-topology": "topology/rack"}, near={"podIndexLabel": INDEX}))
    assert group(found(doc), "main").required == RACK
    doc = workload(podset(annotations={f"{PREFIX}preferred-topology": "topology/rack"}))
    assert group(found(doc), "main").preferred == RACK


def test_the_field_wins_over_annotations_that_disagree() -> None:
    annotations = {f"{PREFIX}required-topology": "topology/block"}
    doc = workload(podset(annotations=annotations, near={"required": "topology/rack"}))
    assert group(found(doc), "main").required == RACK
    assert "spec.podSets[0].topologyRequest" in told(doc)["spec.podSets[0].template.metadata.annotations"]


def test_annotations_that_agree_are_no_matter() -> None:
    annotations = {f"{PREFIX}required-topology": "rack", f"{PREFIX}slice-required-topology": "topology/rack"}
    annotations[f"{PREFIX}slice-size"] = "2"
    near = {"required": "topology/rack", "podSetSliceRequiredTopology": "topology/rack", "podSetSliceSize": 2}
    assert told(workload(podset(annotations=annotations, near=near))) == {}


def test_our_annotations_around_the_whole_workload_are_read() -> None:
    doc = workload(podset("a"), podset("b"))
    doc["metadata"]["annotations"] = {"phalanx.dev/topology-required": "block"}
    assert found(doc).root.required == BLOCK


SLICES = {"podSetSliceRequiredTopology": "topology/rack", "podSetSliceSize": 2}
LAYERS = [{"topology": "topology/rack", "size": 4}, {"topology": "kubernetes.io/hostname", "size": 2}]


def test_slices_in_one_layer_and_in_several() -> None:
    assert pods(found(workload(podset(near=SLICES))), "main").slices == (Slice(RACK, 2),)
    layers = {"required": "topology/block", "podsetSliceRequiredTopologyConstraints": LAYERS}
    request = found(workload(podset(count=8, near=layers)))
    assert pods(request, "main").slices == (Slice(RACK, 4), Slice(HOST, 2))
    assert group(request, "main").required == BLOCK


def test_two_pod_sets_of_a_group_go_into_one_domain() -> None:
    near = {"required": "topology/rack", "podSetGroupName": "g"}
    request = found(
        workload(podset("leader", 1, near), podset("workers", 3, near), podset("x", 1, {"required": "rack"}))
    )
    outer = group(request, "g")
    assert outer.required == RACK
    assert [one.name for one in outer.members] == ["leader", "workers"]
    assert group(request, "workers").required is None


def test_a_group_may_be_called_like_one_of_its_pod_sets() -> None:
    near = {"preferred": "topology/rack", "podSetGroupName": "leader"}
    request = found(workload(podset("leader", 1, near), podset("workers", 3, near)))
    assert group(request, "leader.group").preferred == RACK


def test_a_group_of_pod_sets_by_annotations() -> None:
    near = {f"{PREFIX}required-topology": "topology/rack", f"{PREFIX}group-name": "g"}
    request = found(workload(podset("leader", 1, annotations=near), podset("workers", 3, annotations=near)))
    assert group(request, "g").required == RACK


def test_a_label_that_numbers_the_pods_ranks_them() -> None:
    request = found(workload(podset(near={"podIndexLabel": INDEX})))
    assert group(request, "main").ranks == Ranks("Consecutive")
    (entry,) = normal(workload(podset(near={"podIndexLabel": INDEX})))["podGroups"]
    assert entry["rank"] == {"fieldPath": f"metadata.labels['{INDEX}']"}


def test_numbers_that_start_anew_in_each_job_are_no_label_alone() -> None:
    near = {"podIndexLabel": INDEX, "subGroupIndexLabel": JOB_INDEX, "subGroupCount": 2}
    (entry,) = normal(workload(podset(near=near)))["podGroups"]
    assert (entry["rank"], entry["count"]) == ({"order": "Consecutive"}, 4)
    near["subGroupCount"] = 3
    assert list(told(workload(podset(near=near)))) == ["spec.podSets[0].topologyRequest.subGroupCount"]
    assert "rank" not in normal(workload(podset(near=near)))["podGroups"][0]


# ------------------------------------------------------------------------------------------------------------- rules

G = {"required": "topology/rack", "podSetGroupName": "g"}
R = "spec.podSets[0].topologyRequest"


def layered(*layers: Any, **more: Any) -> Doc:
    return workload(podset(count=8, near={"podsetSliceRequiredTopologyConstraints": list(layers), **more}))


def layer(level: str = "topology/rack", size: object = 4) -> Doc:
    return {"topology": level, "size": size}


@pytest.mark.parametrize(
    ("doc", "path", "word"),
    [
        (workload(), "spec.podSets", "at least one"),
        (workload(podset("a"), podset("a")), "spec.podSets[1].name", "two groups"),
        (workload(podset("a/b")), "spec.podSets[0].name", "not a name"),
        (workload(podset(count=-1)), "spec.podSets[0].count", "less than 0"),
        (workload(podset(minCount=0)), "spec.podSets[0].minCount", "less than 1"),
        (workload(podset(minCount=5)), "spec.podSets[0].minCount", "more than the 4"),
        (workload(podset("a", minCount=1), podset("b", minCount=1)), "spec.podSets[1].minCount", "another pod set"),
        (workload({"name": "main"}), "spec.podSets[0].template.spec.containers", "container"),
        # X-26
        (workload(podset(near={"required": "rack", "preferred": "rack"})), f"{R}.preferred", "one of"),
        (workload(podset(near={"required": "rack", "unconstrained": True})), f"{R}.unconstrained", "one of"),
        (workload(podset(near={"preferred": "rack", "unconstrained": True})), f"{R}.unconstrained", "one of"),
        (workload(podset(near={"unconstrained": "yes"})), f"{R}.unconstrained", "neither true nor false"),
        (workload(podset(near={"required": "x" * 64})), f"{R}.required", "63"),
        (workload(podset(near={"required": "no.such/level"})), f"{R}.required", "not a level"),  # K-036
        (workload(podset(near={"preferred": "no.such/level"})), f"{R}.preferred", "not a level"),  # K-037
        # K-042, K-043
        (workload(podset(near={"policy": "Maybe", "level": "rack"})), f"{R}.policy", "Required"),
        (workload(podset(near={"policy": "Required"})), f"{R}.level", "together"),
        (workload(podset(near={"level": "rack"})), f"{R}.policy", "together"),
        (workload(podset(near={"policy": "Required", "level": "rack", "required": "rack"})), f"{R}.required", "form"),
        # slices
        (workload(podset(near={"podSetSliceSize": 2})), f"{R}.podSetSliceRequiredTopology", "together"),
        (workload(podset(near={"podSetSliceRequiredTopology": "rack"})), f"{R}.podSetSliceSize", "together"),
        (workload(podset(near={**SLICES, "podSetSliceSize": 0})), f"{R}.podSetSliceSize", "less than 1"),
        (workload(podset(near={**SLICES, "podSetSliceSize": 5})), f"{R}.podSetSliceSize", "more than the 4"),
        (workload(podset(near={**SLICES, "podSetSliceSize": 3})), "spec.podSets[0].count", "multiple"),
        (layered(), f"{R}.podsetSliceRequiredTopologyConstraints", "1 to 3"),
        (layered(*[layer()] * 4), f"{R}.podsetSliceRequiredTopologyConstraints", "1 to 3"),
        (layered(layer(size=0)), f"{R}.podsetSliceRequiredTopologyConstraints[0].size", "less than 1"),
        (layered(layer(), layer(size=2)), f"{R}.podsetSliceRequiredTopologyConstraints[1].topology", "coarse to fine"),
        (
            layered(layer(), layer("kubernetes.io/hostname", 3)),
            f"{R}.podsetSliceRequiredTopologyConstraints[1].size", "divide",
        ),
        (layered(layer(), **SLICES), f"{R}.podSetSliceRequiredTopology", "one of the two forms"),
        (layered(layer(size=16)), f"{R}.podsetSliceRequiredTopologyConstraints[0].size", "more than the 8"),
        (layered({"size": 4}), f"{R}.podsetSliceRequiredTopologyConstraints[0].topology", "a level"),
        (layered({"topology": "rack"}), f"{R}.podsetSliceRequiredTopologyConstraints[0].size", "a size"),
        (
            layered({"topology": "rack", "sizes": [4, 2, 2]}),
            f"{R}.podsetSliceRequiredTopologyConstraints[0].sizes", "not supported yet",
        ),
        # groups
        (workload(podset(near={**G, "podSetGroupName": "7"}), podset("b", 1, {**G, "podSetGroupName": "7"})),
         f"{R}.podSetGroupName", "number"),
        (workload(podset("a", 1, {"podSetGroupName": "g"}), podset("b", 1, {"podSetGroupName": "g"})),
         f"{R}.podSetGroupName", "required or preferred"),
        (workload(podset("a", 1, G), podset("b", 4, {**G, **SLICES})),
         "spec.podSets[1].topologyRequest.podSetGroupName", "no slices"),
        (workload(podset("a", 1, G)), f"{R}.podSetGroupName", "exactly 2"),
        (workload(podset("a", 1, G), podset("b", 1, G), podset("c", 1, G)),
         "spec.podSets[2].topologyRequest.podSetGroupName", "exactly 2"),
        (workload(podset("a", 2, G), podset("b", 2, G)),
         "spec.podSets[1].topologyRequest.podSetGroupName", "single pod"),
        (workload(podset("a", 1, G), podset("b", 2, {**G, "required": "topology/block"})),
         "spec.podSets[1].topologyRequest.podSetGroupName", "same level"),
        # K-038
        (workload(podset("a", 1, {"required": "rack"}), podset("b")), "spec.podSets[1].topologyRequest", "'b'"),
        (workload(podset(near={"podIndexLabel": "a b"})), f"{R}.podIndexLabel", "key of a label"),
        # K-109
        (workload(podset(replicatedJobCount=3)), "spec.podSets[0].replicatedJobCount", "does not divide"),
        (workload(podset(replicatedJobCount=2, replicatedJobKeyLabel="a b")),
         "spec.podSets[0].replicatedJobKeyLabel", "key of a label"),
        (workload(podset(replicatedJobCount=0)), "spec.podSets[0].replicatedJobCount", "less than 1"),
        (workload(podset(replicatedJobLabelValue="1")), "spec.podSets[0].replicatedJobLabelValue", "KeyLabel"),
        (workload(podset(replicatedJobCount=2, replicatedJobKeyLabel=JOB_INDEX, replicatedJobLabelValue="1")),
         "spec.podSets[0].replicatedJobLabelValue", "tell 2 Jobs apart"),
        (workload(podset(replicatedJobCount=2, replicatedJobKeyLabel=JOB_INDEX, minCount=2)),
         "spec.podSets[0].minCount", "not supported"),
        (workload(podset(), maximumExecutionTimeSeconds=0), "spec.maximumExecutionTimeSeconds", "less than 1"),
        (workload(podset(), active="no"), "spec.active", "neither true nor false"),
        (workload(podset(), priorityClassRef={"group": "kueue.x-k8s.io", "kind": "PriorityClass", "name": "p"}),
         "spec.priorityClassRef.kind", "not a kind of"),
        (workload(podset(), priorityClassRef={"group": "kueue.x-k8s.io"}), "spec.priorityClassRef.name", "no class"),
    ],
)  # fmt: skip
def test_each_rule_is_broken_by_one_manifest(doc: Doc, path: str, word: str) -> None:
    matching = [one for one in wrong(doc) if one.path == path]
    assert matching, [str(one) for one in wrong(doc)]
    assert any(word in one.message for one in matching), [str(one) for one in matching]


def test_an_unknown_level_lists_the_good_ones() -> None:  # K-036
    assert {"block", "rack"} <= set(only(workload(podset(near={"required": "no.such/level"}))).allowed)


def test_a_level_that_is_corrected_is_good_again() -> None:  # K-039, K-040
    doc = workload(podset(near={"required": "topology/spine"}))
    assert wrong(doc)
    wider = Topology.of("cluster-topology", ["topology/spine", "topology/rack"])
    assert found(doc, around=Surroundings(topologies=(wider,))).root.required == 1


@pytest.mark.parametrize("near", [{"unconstrained": True}, SLICES, {"preferred": "topology/block"}])
def test_a_pod_set_that_says_anything_about_places_is_content_beside_a_bound_one(near: Doc) -> None:  # K-038
    request = found(workload(podset("a", 1, {"required": "topology/rack"}), podset("b", 4, near)))
    assert group(request, "a").required == RACK


# ------------------------------------------------------------------------------------------------ Jobs of a JobSet


def test_each_of_several_equal_jobs_is_placed_by_itself() -> None:  # K-109
    doc = workload(
        podset(count=8, near={"required": "topology/rack"}, replicatedJobCount=2, replicatedJobKeyLabel=JOB_INDEX)
    )
    request = found(doc)
    assert [(one.name, one.count) for one in request.root.pod_sets()] == [("main[0]", 4), ("main[1]", 4)]
    assert group(request, "main[1]").required == RACK
    assert told(doc) == {}
    (entry,) = normal(doc)["podGroups"]
    assert (entry["replicas"], entry["replicaKey"]) == (2, f"metadata.labels['{JOB_INDEX}']")


def test_the_name_of_the_replicated_job_tells_no_copies_apart() -> None:  # K-110, X-31
    doc = workload(podset(replicatedJobCount=2, replicatedJobKeyLabel=JOB_NAME))
    assert normal(doc)["podGroups"][0]["replicaKey"] == f"metadata.labels['{JOB_INDEX}']"
    assert JOB_INDEX in told(doc)["spec.podSets[0].replicatedJobKeyLabel"]


def test_a_key_that_is_not_written_is_the_jobs_index() -> None:  # K-110
    doc = workload(podset(replicatedJobCount=2))
    assert normal(doc)["podGroups"][0]["replicaKey"] == f"metadata.labels['{JOB_INDEX}']"
    assert list(told(doc)) == ["spec.podSets[0].replicatedJobKeyLabel"]


def test_one_job_of_a_replicated_job_is_a_plain_pod_set() -> None:  # K-109
    doc = workload(podset(replicatedJobCount=1, replicatedJobKeyLabel=JOB_INDEX, replicatedJobLabelValue="1"))
    assert [one.name for one in found(doc).root.pod_sets()] == ["main"]


def racks(*sizes: int) -> list[Doc]:
    """Nodes for one pod each, so many in each rack."""
    full = {"cpu": "1", "memory": "1Gi", "pods": "110"}
    labels = [(f"r{r}", i) for r, size in enumerate(sizes) for i in range(size)]
    levels = topology("topology/rack", "kubernetes.io/hostname", api="kueue.x-k8s.io/v1beta1", name="cluster-topology")
    return [levels, *(node(f"{rack}-{i}", {"topology/rack": rack}, allocatable=full) for rack, i in labels)]


def place(nodes: list[Doc], *docs: Doc) -> Any:
    (decision,) = phalanx.Cluster.from_manifests(nodes).place(list(docs))
    return decision


def test_two_jobs_of_four_go_to_two_racks_of_four() -> None:  # K-109, K-111
    near = {"policy": "Required", "level": "topology/rack"}
    doc = workload(podset(count=8, near=near, replicatedJobCount=2, replicatedJobKeyLabel=JOB_INDEX))
    decision = place(racks(4, 4), doc)
    assert {decision.domains["main[0]"], decision.domains["main[1]"]} == {("r0",), ("r1",)}
    assert place(racks(4, 3), doc).status == "Waiting"


def test_all_pod_sets_are_placed_or_none() -> None:  # K-112
    doc = workload(podset("a", 2), podset("b", 3))
    assert place(racks(5), doc).status == "Placed"
    assert place(racks(4), doc).status == "Waiting"


def test_partial_admission_takes_what_fits() -> None:
    assert sum(place(racks(3), workload(podset(minCount=2))).pod_sets["main"].values()) == 3


def test_a_leader_and_its_workers_share_a_rack() -> None:
    doc = workload(podset("leader", 1, G), podset("workers", 3, G))
    decision = place(racks(3, 4), doc)
    assert decision.status == "Placed"
    assert {name[:2] for those in decision.pod_sets.values() for name in those} == {"r1"}
    assert place(racks(3, 3), doc).status == "Waiting"


# ----------------------------------------------------------------------------------------------------- other fields


def test_the_queue_is_the_local_queue_it_names() -> None:  # K-017
    assert found(workload(podset(), queueName="user-queue")).queue == "user-queue"
    labelled = workload(podset(), queueName="")
    labelled["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "other"}
    assert found(labelled).queue == "other"


@pytest.mark.parametrize(
    "spec",
    [
        {"priority": 7},
        {"priority": 7, "priorityClassName": "unknown"},
        {"priorityClassName": "high"},
        {"priorityClassName": "high", "priorityClassSource": "scheduling.k8s.io/priorityclass"},
        {"priorityClassName": "kueues", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
        {"priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}},
        {"priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "kueues"}},
    ],
)
def test_priority_as_a_number_or_by_either_kind_of_class(spec: Doc) -> None:
    kueues = {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "kueues"},
        "value": 7,
    }  # fmt: skip
    around = Surroundings(topologies=(LEVELS,), priorities={"high": 7})
    request = found(workload(podset(), **spec), kueues, around=around)
    assert request.priority == 7


def test_a_class_of_kueue_is_not_taken_for_one_of_kubernetes() -> None:
    ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "x"}
    assert "priorityClassName" not in normal(workload(podset(), priority=1, priorityClassRef=ref))
    assert normal(workload(podset(), priority=1, priorityClassName="y"))["priorityClassName"] == "y"


def test_a_priority_class_of_kueue_that_is_not_there_is_told() -> None:
    doc = workload(podset(), priorityClassRef={"group": "kueue.x-k8s.io", "name": "x"})
    assert list(told(doc)) == ["spec.priorityClassRef.name"]
    assert found(doc).priority == 0


def test_a_deactivated_workload_is_suspended_and_told() -> None:  # X-40
    doc = workload(podset(), active=False)
    assert found(doc).suspended
    assert "deactivated" in told(doc)["spec.active"]
    assert not found(workload(podset(), active=True)).suspended


def test_the_longest_time_it_may_run_is_the_expected_one() -> None:
    assert normal(workload(podset(), maximumExecutionTimeSeconds=60))["expectedDurationSeconds"] == 60


def test_a_workload_that_kueue_has_placed_is_told_to_be() -> None:  # K-044
    status = {"admission": {"podSetAssignments": [{"name": "main", "topologyAssignment": {"levels": []}}]}}
    assert list(told(workload(podset(), status=status))) == ["status.admission"]
    assert told(workload(podset(), status={"admission": {"podSetAssignments": [{"name": "main"}]}})) == {}


def test_a_finished_workload_has_nothing_to_place() -> None:
    doc = workload(podset(), status={"conditions": [{"type": "Finished", "status": "True"}]})
    reading = read_workloads([doc], AROUND)
    assert reading.items == ()
    assert [note.path for note in reading.notes["default/job-train"]] == ["status.conditions"]


def linked(name: str, label: str) -> Doc:
    annotations, labels = {"kueue.x-k8s.io/workload": "job-train"}, {"kueue.x-k8s.io/podset": label}
    metadata = {"name": name, "annotations": annotations, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec()}


def test_pods_of_a_workload_are_its_own_work() -> None:  # K-049, K-050
    doc = workload(podset("a", 2), podset("b", 1))
    assert found(doc, linked("p", "a")) == found(doc)
    assert told(doc, linked("p", "a")) == {}


def test_a_pod_that_names_no_pod_set_of_its_workload_is_told() -> None:  # K-050
    message = next(iter(told(workload(podset("a"), podset("b")), linked("p", "x")).values()))
    assert message == "pod p names pod set 'x'; Workload job-train has: a, b"


# ----------------------------------------------------------------------------------------------------------- garbage

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["a", "g", "", "topology/rack", "Required", 10**70, -1, 0, 2**31, "\ud800", JOB_INDEX, JOB_NAME])
)  # fmt: skip
GARBAGE = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
LEVEL = st.sampled_from(["topology/rack", "topology/block", "x"]) | GARBAGE
SMALL = st.integers(-1, 8) | GARBAGE


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=fields)


REQUESTS = GARBAGE | some(
    policy=LEVEL, level=LEVEL, required=LEVEL, preferred=LEVEL, unconstrained=GARBAGE,
    podSetSliceRequiredTopology=LEVEL, podSetSliceSize=SMALL, podSetGroupName=st.just("g") | GARBAGE,
    podsetSliceRequiredTopologyConstraints=GARBAGE | st.lists(GARBAGE | some(topology=LEVEL, size=SMALL), max_size=4),
    podIndexLabel=st.just(INDEX) | GARBAGE, subGroupIndexLabel=GARBAGE, subGroupCount=SMALL,
)  # fmt: skip
TEMPLATES = GARBAGE | st.just(podset()["template"]) | some(metadata=GARBAGE, spec=GARBAGE)
SETS = st.lists(
    GARBAGE | some(
        name=st.sampled_from(["a", "b", "g"]) | GARBAGE, count=SMALL, minCount=SMALL, template=TEMPLATES,
        topologyRequest=REQUESTS, replicatedJobCount=SMALL, replicatedJobKeyLabel=GARBAGE,
        replicatedJobLabelValue=GARBAGE,
    ), max_size=4,
)  # fmt: skip
SPECS = GARBAGE | some(
    podSets=SETS | GARBAGE, queueName=GARBAGE, priorityClassName=GARBAGE, priorityClassSource=GARBAGE,
    priorityClassRef=GARBAGE | some(group=GARBAGE, kind=GARBAGE, name=GARBAGE), priority=GARBAGE, active=GARBAGE,
    maximumExecutionTimeSeconds=GARBAGE,
)  # fmt: skip


def check(docs: list[Doc]) -> None:
    for item in read(docs).items:
        assert isinstance(item, (Request, Invalid))
        assert not isinstance(item, Invalid) or item.problems
        if isinstance(item, Request):
            names = [one.name for one in item.root.groups()]
            assert len(set(names)) == len(names)
            assert all(0 < one.min_count <= one.count for one in item.root.pod_sets())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=SPECS, metadata=GARBAGE, status=GARBAGE)
def test_any_workload_becomes_requests_or_problems(spec: object, metadata: object, status: object) -> None:
    api = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload"}
    levels = topology("topology/block", "topology/rack", name="cluster-topology")
    check([levels, {**api, "metadata": {"name": "w"}, "spec": spec, "status": status}, linked("p", "a")])
    check([{**api, "metadata": metadata, "spec": spec}])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(near=REQUESTS, other=REQUESTS, count=st.integers(0, 8))
def test_any_topology_request_becomes_requests_or_problems(near: object, other: object, count: int) -> None:
    levels = topology("topology/block", "topology/rack", name="cluster-topology")
    one, two = podset("a", count), podset("b", 1)
    one["topologyRequest"], two["topologyRequest"] = near, other
    check([levels, workload(one, two)])
