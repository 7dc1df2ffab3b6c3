"""Jobs and single pods, with wishes in annotations of ours, Kueue's and KAI's."""

import json
from typing import Any

import pytest

from phalanx.dialects.reading import read
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.request import Group, PodSet, Ranks, Slice
from phalanx.model.topology import Topology
from tests.dialects.manifests import (
    BLOCK,
    HOST,
    LEVELS,
    RACK,
    ZONE,
    Doc,
    job,
    paths,
    pod_spec,
    problem,
    request,
    requests,
    warnings,
)

REQUIRED, PREFERRED = "phalanx.dev/topology-required", "phalanx.dev/topology-preferred"
NAME, MODE = "phalanx.dev/topology-name", "phalanx.dev/gang-mode"
KUEUE_REQUIRED, KUEUE_PREFERRED = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"
KUEUE_NONE = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE_LEVEL, SLICE_SIZE = "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size"
SLICE_LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
KAI_REQUIRED, KAI_PREFERRED = "kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement"
KAI_NAME = "kai.scheduler/topology"


def main(doc: Doc) -> tuple[Group, PodSet]:
    """The group called main and the pod set in it."""
    group = next(g for g in request(doc).root.groups() if g.name == "main")
    (pods,) = group.pod_sets()
    return group, pods


# ---------------------------------------------------------------------------------------------------------- counts


def test_a_plain_job_is_a_gang_of_one_pod_set_called_main() -> None:
    found = request(job())
    assert (found.kind, found.id, found.topology, found.queue) == (
        "Job",
        "default/train",
        "cluster-topology",
        "default",
    )
    group, pods = main(job())
    assert found.root == group
    assert (group.required, group.preferred, group.ranks) == (None, None, None)
    assert (pods.name, pods.count, pods.min_count) == ("main", 4, 4)
    assert ("batch.kubernetes.io/job-name", "train") in pods.shape.labels


@pytest.mark.parametrize(
    ("parallelism", "completions", "pods"), [(None, None, 1), (8, None, 8), (8, 4, 4), (8, 8, 8), (None, 5, 1)]
)
def test_a_job_runs_parallelism_pods_but_no_more_than_completions(
    parallelism: int | None, completions: int | None, pods: int
) -> None:
    assert main(job(parallelism=parallelism, completions=completions))[1].count == pods


def test_a_bag_of_tasks_is_no_gang() -> None:  # W-139, X-21
    assert main(job(parallelism=50, completions=100))[1].min_count == 1
    assert main(job(parallelism=50, completions=50))[1].min_count == 50


@pytest.mark.parametrize("asking", [{MODE: "Gang"}, {REQUIRED: "rack"}])
def test_a_bag_of_tasks_that_is_asked_to_be_a_gang_is_one_with_a_warning(asking: Doc) -> None:  # W-139, X-21
    doc = job(asking, parallelism=2, completions=8)
    assert main(doc)[1].min_count == 2
    assert warnings(doc) == ["spec.parallelism"]


def test_pods_that_cannot_be_cut_into_slices_are_a_problem() -> None:
    annotations = {SLICE_LEVEL: "topology/rack", SLICE_SIZE: "3"}
    assert problem(job(None, annotations, parallelism=4)).path == "spec.parallelism"


def test_a_job_that_wants_no_pods_gives_nothing_to_place() -> None:
    assert requests(job(parallelism=0)) == ()
    assert warnings(job(parallelism=0)) == ["spec"]


def test_an_indexed_job_is_ranked() -> None:
    assert main(job(completionMode="Indexed"))[0].ranks == Ranks("Consecutive")


def test_without_a_gang_one_pod_is_enough_to_start() -> None:
    _, pods = main(job({MODE: "Off"}))
    assert (pods.count, pods.min_count) == (4, 1)
    assert main(job({MODE: "Gang"}))[1].min_count == 4


def test_kueues_partial_admission_is_a_minimum() -> None:
    assert main(job({"kueue.x-k8s.io/job-min-parallelism": "2"}))[1].min_count == 2
    assert paths(job({"kueue.x-k8s.io/job-min-parallelism": "5"})) == [
        "metadata.annotations['kueue.x-k8s.io/job-min-parallelism']"
    ]


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (job(parallelism="4"), "spec.parallelism"),
        (job(parallelism=-1), "spec.parallelism"),
        (job(parallelism=10**9), "spec.parallelism"),
        (job(completionMode="indexed"), "spec.completionMode"),
        (job(suspend="x"), "spec.suspend"),
        (job({MODE: "ReplicatedGang"}), f"metadata.annotations['{MODE}']"),
        (job({MODE: "off"}), f"metadata.annotations['{MODE}']"),
        ({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}, "spec.template"),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}},
            "spec.template.spec.containers",
        ),
        ({**job(), "metadata": {}}, "metadata.name"),
        ({**job(), "metadata": {"name": "a b"}}, "metadata.name"),
    ],
)
def test_a_wrong_job_is_a_problem(doc: Doc, path: str) -> None:
    assert paths(doc) == [path]


# ------------------------------------------------------------------------------------------------------ our wishes


def test_on_the_object_a_wish_bounds_the_workload() -> None:
    group, _ = main(job({REQUIRED: "block", PREFERRED: "rack"}))
    assert (group.required, group.preferred) == (BLOCK, RACK)


def test_wishes_of_object_and_template_nest() -> None:
    root = request(job({REQUIRED: "zone"}, {REQUIRED: "rack"})).root
    assert (root.name, root.required) == ("train", ZONE)
    (inner,) = root.members
    assert isinstance(inner, Group)
    assert (inner.name, inner.required) == ("main", RACK)


def test_an_inner_wish_wider_than_the_outer_is_dropped_with_a_warning() -> None:
    doc = job({REQUIRED: "rack"}, {KUEUE_PREFERRED: "topology/zone"})
    group, _ = main(doc)
    assert (group.required, group.preferred) == (RACK, None)
    assert warnings(doc) == [f"spec.template.metadata.annotations['{KUEUE_PREFERRED}']"]


def test_an_unknown_level_is_a_problem_with_the_levels_there_are() -> None:  # K-036, K-037
    found = problem(job({REQUIRED: "rak"}))
    assert (found.path, found.value, found.allowed) == (
        "metadata.annotations['phalanx.dev/topology-required']", "rak", ("zone", "block", "rack", "host"),
    )  # fmt: skip
    assert problem(job(None, {KUEUE_PREFERRED: "no.such/level"})).path == (
        f"spec.template.metadata.annotations['{KUEUE_PREFERRED}']"
    )


def test_required_inside_preferred_is_a_problem() -> None:
    assert paths(job({REQUIRED: "rack", PREFERRED: "zone"})) == [f"metadata.annotations['{REQUIRED}']"]


def test_a_key_of_ours_that_does_not_exist_is_a_problem_with_those_that_do() -> None:
    found = problem(job({"phalanx.dev/topology-require": "rack"}))
    assert found.path == "metadata.annotations['phalanx.dev/topology-require']"
    assert found.allowed == (REQUIRED, PREFERRED, NAME, MODE)
    assert paths(job(None, {MODE: "Gang"})) == [f"spec.template.metadata.annotations['{MODE}']"]
    labelled = job()
    labelled["metadata"]["labels"] = {REQUIRED: "rack"}
    assert "annotation" in problem(labelled).message
    assert "label" in problem(job({"phalanx.dev/queue": "q"})).message


def test_the_topology_is_named_on_the_object_or_the_template_and_only_one() -> None:
    around = Surroundings(topologies=(LEVELS, Topology.of("rails", ["rail"])))
    assert request(job({NAME: "rails", REQUIRED: "rail"}), around).topology == "rails"
    assert request(job(None, {NAME: "rails", REQUIRED: "rail"}), around).topology == "rails"
    assert request(job(), around).topology is None
    found = problem(job({REQUIRED: "rack"}), around)
    assert (found.path, found.allowed) == (f"metadata.annotations['{NAME}']", ("cluster-topology", "rails"))
    both = job({NAME: "rails"}, {NAME: "cluster-topology"})
    assert paths(both, around) == [f"spec.template.metadata.annotations['{NAME}']"]  # M-019


def test_queue_and_suspension() -> None:  # K-017
    doc = job(suspend=True)
    assert request(doc).suspended
    doc["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "user-queue"}
    assert (request(doc).queue, request(doc).suspended) == ("user-queue", False)
    doc["metadata"]["labels"]["phalanx.dev/queue"] = "ours"
    assert request(doc).queue == "ours"


def test_priority_comes_from_the_class_of_the_template() -> None:
    doc = job()
    doc["spec"]["template"]["spec"]["priorityClassName"] = "high"
    assert request(doc, Surroundings(priorities={"high": 9})).priority == 9


# ----------------------------------------------------------------------------------------------------------- Kueue


def test_kueues_annotations_on_the_template() -> None:  # K-008, K-014, K-031, K-032
    assert main(job(None, {KUEUE_REQUIRED: "topology/rack"}))[0].required == RACK
    assert main(job(None, {KUEUE_PREFERRED: "topology/rack"}))[0].preferred == RACK
    group, _ = main(job(None, {KUEUE_NONE: "true"}))
    assert (group.required, group.preferred) == (None, None)


def test_kueues_slices() -> None:
    _, pods = main(job(None, {KUEUE_REQUIRED: "topology/block", SLICE_LEVEL: "topology/rack", SLICE_SIZE: "2"}))
    assert pods.slices == (Slice(RACK, 2),)
    layers = json.dumps([{"topology": "topology/rack", "size": 4}, {"topology": "kubernetes.io/hostname", "size": 2}])
    assert main(job(None, {SLICE_LAYERS: layers}))[1].slices == (Slice(RACK, 4), Slice(HOST, 2))


def layers(*entries: Any) -> Doc:
    return {SLICE_LAYERS: json.dumps(entries)}


@pytest.mark.parametrize(
    ("annotations", "key"),
    [
        ({KUEUE_REQUIRED: "topology/rack", KUEUE_PREFERRED: "topology/rack"}, KUEUE_PREFERRED),
        ({KUEUE_REQUIRED: "topology/rack", KUEUE_NONE: "true"}, KUEUE_NONE),
        ({KUEUE_NONE: "yes"}, KUEUE_NONE),
        ({KUEUE_REQUIRED: 3}, KUEUE_REQUIRED),
        ({SLICE_LEVEL: "topology/rack"}, SLICE_SIZE),
        ({SLICE_SIZE: "2"}, SLICE_LEVEL),
                ({SLICE_LEVEL: "topology/rack", SLICE_SIZE: "0"}, SLICE_SIZE),
        ({SLICE_LEVEL: "topology/rack", SLICE_SIZE: 2}, SLICE_SIZE),
        ({KUEUE_REQUIRED: "topology/rack", SLICE_LEVEL: "topology/zone", SLICE_SIZE: "2"}, SLICE_LEVEL),
        ({SLICE_LAYERS: "[[[["}, SLICE_LAYERS),
        ({SLICE_LAYERS: "[" * 4000}, SLICE_LAYERS),
        ({SLICE_LAYERS: "{}"}, SLICE_LAYERS),
        (layers(), SLICE_LAYERS),
        (layers(*[{"topology": "topology/rack", "size": 1}] * 4), SLICE_LAYERS),
        ({**layers({"topology": "rack", "size": 2}), SLICE_LEVEL: "rack", SLICE_SIZE: "2"}, SLICE_LAYERS),
        ({"kueue.x-k8s.io/podset-group-name": "g"}, "kueue.x-k8s.io/podset-group-name"),
    ],
)  # fmt: skip
def test_wrong_kueue_annotations_are_a_problem(annotations: Doc, key: str) -> None:
    assert paths(job(None, annotations)) == [f"spec.template.metadata.annotations['{key}']"]


@pytest.mark.parametrize(
    "entries",
    [
        [{"topology": "topology/rack", "size": 2}, {"topology": "topology/block", "size": 1}],
        [{"topology": "topology/rack", "size": 4}, {"topology": "kubernetes.io/hostname", "size": 3}],
        [{"topology": "topology/rack"}],
        [{"topology": "topology/rack", "size": "2"}],
        [7],
    ],
)
def test_wrong_layers_of_slices_are_a_problem(entries: list[Any]) -> None:
    found = paths(job(None, layers(*entries)))
    assert all(path.startswith(f"spec.template.metadata.annotations['{SLICE_LAYERS}']") for path in found)


def test_kueues_annotations_on_the_job_itself_are_a_problem_that_says_where_they_belong() -> None:
    found = problem(job({KUEUE_REQUIRED: "topology/rack"}))
    assert found.path == f"metadata.annotations['{KUEUE_REQUIRED}']"
    assert "spec.template.metadata.annotations" in found.message


def test_ours_win_over_kueues_on_one_object_with_a_warning() -> None:
    doc = job(None, {REQUIRED: "rack", KUEUE_REQUIRED: "topology/block"})
    assert main(doc)[0].required == RACK
    assert warnings(doc) == [f"spec.template.metadata.annotations['{KUEUE_REQUIRED}']"]
    assert warnings(job(None, {REQUIRED: "rack", KUEUE_REQUIRED: "topology/rack"})) == []


# ------------------------------------------------------------------------------------------------------------- KAI


def test_kais_annotations_on_the_job() -> None:  # KA-019, KA-020, KA-021, KA-023, KA-009, KA-014, KA-022
    group, _ = main(job({KAI_REQUIRED: "zone", KAI_PREFERRED: "rack", KAI_NAME: "cluster-topology"}))
    assert (group.required, group.preferred) == (ZONE, RACK)


def test_kai_names_the_topology_always() -> None:  # KA-022
    assert paths(job({KAI_REQUIRED: "zone"})) == [f"metadata.annotations['{KAI_NAME}']"]
    assert paths(job({KAI_REQUIRED: "zone", KAI_NAME: "network"})) == [f"metadata.annotations['{KAI_NAME}']"]


def test_kais_annotations_on_the_template_are_a_problem() -> None:
    assert paths(job(None, {KAI_REQUIRED: "zone"})) == [f"spec.template.metadata.annotations['{KAI_REQUIRED}']"]


# ------------------------------------------------------------------------------------------------------------ pods


def pod(annotations: Doc | None = None, **spec: Any) -> Doc:
    metadata = {"name": "p", "annotations": annotations or {}, "labels": {"phalanx.dev/queue": "q"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(**spec)}


def test_a_pod_without_a_node_is_a_gang_of_one() -> None:
    found = request(pod())
    assert (found.kind, found.id, found.queue, found.root.name) == ("Pod", "default/p", "q", "main")
    (pods,) = found.root.pod_sets()
    assert (pods.name, pods.count, pods.min_count) == ("main", 1, 1)


def test_a_pod_may_carry_wishes_of_every_dialect() -> None:  # KA-060, KA-006
    assert request(pod({REQUIRED: "rack"})).root.required == RACK
    assert request(pod({KUEUE_PREFERRED: "topology/rack"})).root.preferred == RACK
    assert request(pod({KAI_REQUIRED: "zone", KAI_NAME: "cluster-topology"})).root.required == ZONE


def test_scheduling_gates_do_not_matter_and_a_written_priority_does() -> None:
    found = request(pod(schedulingGates=[{"name": "x"}], priority=77, priorityClassName="unknown"))
    assert found.priority == 77


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (pod(containers=[]), "spec.containers"),
        (pod({"phalanx.dev/rak": "x"}), "metadata.annotations['phalanx.dev/rak']"),
        (pod(resourceClaims=[{}]), "spec.resourceClaims"),
    ],
)
def test_a_wrong_pod_is_a_problem(doc: Doc, path: str) -> None:
    assert paths(doc) == [path]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("paralelism", "parallelism"), ("complitions", "completions"), ("paralellism", "parallelism")],
)
def test_a_slip_of_the_finger_in_a_job_is_told(wrong: str, meant: str) -> None:
    doc = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {wrong: 8, "template": {"spec": {"containers": [{"name": "c"}]}}},
    }
    found = read([doc])
    said = [note.message for notes in found.notes.values() for note in notes]
    assert any(f"did you mean {meant}?" in message for message in said)


def test_fields_of_kubernetes_that_are_not_read_are_not_taken_for_slips() -> None:
    spec = {
        "containers": [{"name": "c", "image": "i", "command": ["x"], "env": [], "volumeMounts": []}],
        "restartPolicy": "Never", "serviceAccountName": "s", "runtimeClassName": "r", "hostPID": False,
        "terminationGracePeriodSeconds": 1, "dnsPolicy": "Default", "schedulerName": "phalanx", "subdomain": "d",
        "enableServiceLinks": False, "imagePullSecrets": [], "securityContext": {}, "preemptionPolicy": "Never",
        "shareProcessNamespace": False, "automountServiceAccountToken": False, "hostUsers": True,
    }  # fmt: skip
    job = {
        "parallelism": 1, "completions": 1, "backoffLimit": 1, "ttlSecondsAfterFinished": 1, "podFailurePolicy": {},
        "activeDeadlineSeconds": 1, "manualSelector": False, "template": {"spec": spec},
    }  # fmt: skip
    found = read([{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "u"}, "spec": job}])
    said = [note.message for notes in found.notes.values() for note in notes]
    assert not any("did you mean" in message for message in said)


def test_a_job_that_another_controller_manages_is_placed_with_a_word_about_it() -> None:
    found = read([job(managedBy="kueue.x-k8s.io/multikueue")])
    (note,) = found.notes["default/train"]
    assert note.path == "spec.managedBy"
    assert "kueue.x-k8s.io/multikueue makes its pods, perhaps elsewhere" in note.message
    assert len(found.requests) == 1
    assert not read([job(managedBy="kubernetes.io/job-controller")]).notes


# ----------------------------------------------------------------------------------------- spec.scheduling of 1.37


def test_a_jobs_own_scheduling_says_gang_minimum_and_level() -> None:
    scheduling = {
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": {"topology": [{"key": "topology/rack"}]},
    }
    group, pods = main(job(scheduling=scheduling))
    assert (pods.min_count, group.required) == (3, RACK)


def test_a_jobs_own_scheduling_without_a_policy_is_no_gang() -> None:
    assert main(job(scheduling={}))[1].min_count == 1


def test_a_minimum_above_parallelism_is_a_problem_where_it_stands() -> None:
    found = problem(job(scheduling={"schedulingPolicy": {"gang": {"minCount": 9}}}))
    assert found.path.startswith("spec.scheduling.schedulingPolicy.gang.minCount")
