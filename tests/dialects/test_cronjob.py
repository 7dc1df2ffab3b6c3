"""CronJobs: the Job of one run, with wishes on the CronJob, on its Job and on the pod template."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects.reading import read, read_workloads
from phalanx.model.request import Group, PodSet, Ranks, Slice
from tests.dialects.manifests import (
    AROUND,
    BLOCK,
    RACK,
    ZONE,
    Doc,
    job,
    paths,
    pod_spec,
    problem,
    request,
    requests,
    topology,
    warnings,
)

MODE, REQUIRED, PREFERRED = "phalanx.dev/gang-mode", "phalanx.dev/topology-required", "phalanx.dev/topology-preferred"
NAME, QUEUE = "phalanx.dev/topology-name", "phalanx.dev/queue"
KUEUE_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
SLICE_LEVEL, SLICE_SIZE = "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size"
KAI_REQUIRED, KAI_NAME = "kai.scheduler/topology-required-placement", "kai.scheduler/topology"
JOB = "spec.jobTemplate.metadata"
BAG = {"parallelism": 2, "completions": 8}


def cronjob(
    annotations: Doc | None = None,
    job_annotations: Doc | None = None,
    template_annotations: Doc | None = None,
    job_spec: Doc | None = None,
    **spec: Any,
) -> Doc:
    pods = {"metadata": {"annotations": template_annotations or {}}, "spec": pod_spec()}
    held = {"parallelism": 4, "completions": 4, "template": pods, **(job_spec or {})}
    return {
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "annotations": annotations or {}},
        "spec": {
            "schedule": "0 3 * * *", "jobTemplate": {"metadata": {"annotations": job_annotations or {}}, "spec": held},
            **spec,
        },
    }  # fmt: skip


def labelled(own: Doc, of_job: Doc, **spec: Any) -> Doc:
    doc = cronjob(**spec)
    doc["metadata"]["labels"] = own
    doc["spec"]["jobTemplate"]["metadata"]["labels"] = of_job
    return doc


def main(doc: Doc) -> tuple[Group, PodSet]:
    """The group called main and the pod set in it."""
    group = next(g for g in request(doc).root.groups() if g.name == "main")
    (pods,) = group.pod_sets()
    return group, pods


def required(doc: Doc) -> list[tuple[str, int | None]]:
    """Names and required levels of the groups, outermost first."""
    return [(group.name, group.required) for group in request(doc).root.groups()]


# ---------------------------------------------------------------------------------------------------------- one run


def test_a_cronjob_is_the_job_of_one_run_under_its_own_name() -> None:  # W-025, W-126
    found = request(cronjob())
    assert (found.kind, found.id, found.suspended) == ("CronJob", "default/nightly", False)
    group, pods = main(cronjob())
    assert found.root == group
    assert (pods.name, pods.count, pods.min_count) == ("main", 4, 4)


def test_an_indexed_job_keeps_its_ranks() -> None:
    assert main(cronjob(job_spec={"completionMode": "Indexed"}))[0].ranks == Ranks("Consecutive")


def test_runs_that_overlap_are_two_workloads() -> None:  # W-025, W-075
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    runs = [{**job(), "metadata": {"name": name, "ownerReferences": [owner]}} for name in ("nightly-1", "nightly-2")]
    assert [(one.kind, one.name) for one in read_workloads(runs, AROUND).requests] == [
        ("Job", "nightly-1"),
        ("Job", "nightly-2"),
    ]


def test_a_bag_of_tasks_is_no_gang_in_a_cronjob_either() -> None:  # W-139
    assert main(cronjob(job_spec=BAG))[1].min_count == 1


def test_a_run_without_pods_is_nothing_to_place_and_a_warning() -> None:
    assert requests(cronjob(job_spec={"parallelism": 0})) == ()
    assert warnings(cronjob(job_spec={"parallelism": 0})) == ["spec.jobTemplate.spec"]


@pytest.mark.parametrize(
    ("stopped", "job_stopped", "expected"), [(True, False, True), (False, True, True), (None, None, False)]
)
def test_a_cronjob_is_suspended_by_itself_or_through_its_job(stopped: Any, job_stopped: Any, expected: bool) -> None:
    assert request(cronjob(suspend=stopped, job_spec={"suspend": job_stopped})).suspended is expected


def test_what_suspends_a_job_in_a_queue_is_the_queue_but_a_cronjob_stops_for_its_own_reasons() -> None:
    held = {"suspend": True}
    assert request(labelled({}, {QUEUE: "a"}, job_spec=held)).suspended is False
    assert request(labelled({QUEUE: "a"}, {}, job_spec=held)).suspended is False
    assert request(labelled({}, {QUEUE: "a"}, job_spec=held, suspend=True)).suspended is True


def test_a_generated_name_will_do() -> None:
    doc = cronjob()
    doc["metadata"] = {"generateName": "nightly-", "namespace": "ml"}
    assert request(doc).id == "ml/nightly-"


# ---------------------------------------------------------------------------------------------------------- wishes


def test_a_wish_alone_bounds_the_run_wherever_it_stands() -> None:  # X-29
    assert required(cronjob({REQUIRED: "rack"})) == [("main", RACK)]
    assert required(cronjob(None, {REQUIRED: "rack"})) == [("main", RACK)]
    assert required(cronjob(None, None, {KUEUE_REQUIRED: "rack"})) == [("main", RACK)]
    assert required(cronjob({KAI_REQUIRED: "rack", KAI_NAME: "cluster-topology"})) == [("main", RACK)]
    assert required(cronjob(None, {KAI_REQUIRED: "rack", KAI_NAME: "cluster-topology"})) == [("main", RACK)]


def test_wishes_nest_from_the_cronjob_over_its_job_to_the_pods() -> None:  # X-29
    outer = {REQUIRED: "zone"}
    assert required(cronjob(outer, {REQUIRED: "block"})) == [("nightly", ZONE), ("main", BLOCK)]
    assert required(cronjob(None, outer, {REQUIRED: "rack"})) == [("nightly", ZONE), ("main", RACK)]
    assert required(cronjob(outer, None, {REQUIRED: "rack"})) == [("nightly", ZONE), ("main", RACK)]
    assert required(cronjob(outer, {REQUIRED: "block"}, {REQUIRED: "rack"})) == [
        ("nightly", ZONE),
        ("job", BLOCK),
        ("main", RACK),
    ]


def test_a_wider_level_inside_changes_nothing_and_is_a_warning() -> None:  # X-29
    doc = cronjob({REQUIRED: "rack"}, {REQUIRED: "block"})
    assert main(doc)[0].required in (None, RACK)
    assert request(doc).root.required == RACK
    assert warnings(doc) == [f"{JOB}.annotations['{REQUIRED}']"]


def test_slices_of_the_pod_template_are_kept() -> None:
    pods = main(cronjob({REQUIRED: "block"}, {PREFERRED: "rack"}, {SLICE_LEVEL: "rack", SLICE_SIZE: "2"}))[1]
    assert pods.slices == (Slice(RACK, 2),)


def test_a_wrong_level_is_named_where_it_was_written() -> None:
    assert paths(cronjob({REQUIRED: "rak"})) == [f"metadata.annotations['{REQUIRED}']"]
    assert paths(cronjob(None, {REQUIRED: "rak"})) == [f"{JOB}.annotations['{REQUIRED}']"]
    inner = f"spec.jobTemplate.spec.template.metadata.annotations['{REQUIRED}']"
    assert paths(cronjob(None, None, {REQUIRED: "rak"})) == [inner]


def test_keys_that_belong_elsewhere_are_problems_where_they_stand() -> None:
    assert paths(cronjob({KUEUE_REQUIRED: "rack"})) == [f"metadata.annotations['{KUEUE_REQUIRED}']"]
    assert paths(cronjob(None, {KUEUE_REQUIRED: "rack"})) == [f"{JOB}.annotations['{KUEUE_REQUIRED}']"]
    assert paths(cronjob({"phalanx.dev/topolgy": "x"})) == ["metadata.annotations['phalanx.dev/topolgy']"]
    assert paths(cronjob(None, {"phalanx.dev/topolgy": "x"})) == [f"{JOB}.annotations['phalanx.dev/topolgy']"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_topology_may_be_named_at_any_of_the_three_places(place: int) -> None:
    named: list[Doc | None] = [None, None, None]
    named[place] = {NAME: "b"}
    docs = [topology("rack", name="a"), topology("rack", name="b"), cronjob(*named)]
    assert read(docs).requests[0].topology == "b"


def test_two_names_of_a_topology_are_one_too_many() -> None:
    docs = [topology("rack", name="a"), topology("rack", name="b"), cronjob({NAME: "a"}, {NAME: "b"})]
    assert [one.path for one in read(docs).invalid[0].problems] == [f"{JOB}.annotations['{NAME}']"]


# ------------------------------------------------------------------------------------------------------------ modes


def test_a_gang_mode_counts_on_the_cronjob_and_first_on_its_job() -> None:
    assert main(cronjob({MODE: "Off"}))[1].min_count == 1
    assert main(cronjob(None, {MODE: "Off"}))[1].min_count == 1
    assert main(cronjob({MODE: "Off"}, {MODE: "Gang"}))[1].min_count == 4
    assert warnings(cronjob({MODE: "Off"}, {MODE: "Gang"})) == [f"metadata.annotations['{MODE}']"]
    assert warnings(cronjob({MODE: "Off"}, {MODE: "Off"})) == []


def test_a_wish_on_the_cronjob_makes_a_gang_of_a_bag_of_tasks_as_it_does_on_a_job() -> None:  # W-139
    assert main(cronjob({REQUIRED: "rack"}, job_spec=BAG))[1].min_count == 2
    assert main(cronjob({REQUIRED: "rack"}, {MODE: "Off"}, job_spec=BAG))[1].min_count == 1
    assert main(cronjob({REQUIRED: "rack", MODE: "Off"}, job_spec=BAG))[1].min_count == 1


def test_a_wrong_gang_mode_is_named_where_it_was_written() -> None:
    assert paths(cronjob({MODE: "gang"})) == [f"metadata.annotations['{MODE}']"]
    assert paths(cronjob({MODE: "ReplicatedGang"})) == [f"metadata.annotations['{MODE}']"]
    assert paths(cronjob(None, {MODE: "gang"})) == [f"{JOB}.annotations['{MODE}']"]


def test_a_queue_counts_on_the_cronjob_and_first_on_its_job() -> None:
    assert request(labelled({QUEUE: "a"}, {})).queue == "a"
    assert request(labelled({}, {QUEUE: "b"})).queue == "b"
    assert request(labelled({QUEUE: "a"}, {QUEUE: "b"})).queue == "b"
    assert warnings(labelled({QUEUE: "a"}, {QUEUE: "b"})) == [f"metadata.labels['{QUEUE}']"]


# ------------------------------------------------------------------------------------------------------ wrong input


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"concurrencyPolicy": "Never"}, "spec.concurrencyPolicy"),
        ({"suspend": "yes"}, "spec.suspend"),
        ({"jobTemplate": None}, "spec.jobTemplate"),
        ({"jobTemplate": "train"}, "spec.jobTemplate"),
        ({"jobTemplate": {"spec": {}}}, "spec.jobTemplate.spec.template"),
        ({"job_spec": {"parallelism": -1}}, "spec.jobTemplate.spec.parallelism"),
        ({"job_spec": {"completionMode": "Sorted"}}, "spec.jobTemplate.spec.completionMode"),
        ({"job_spec": {"template": {"spec": {}}}}, "spec.jobTemplate.spec.template.spec.containers"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(spec: Doc, path: str) -> None:
    assert paths(cronjob(**spec)) == [path]


def test_a_spec_or_metadata_that_is_none_is_told_so() -> None:
    assert paths({**cronjob(), "spec": "nightly"}) == ["spec", "spec.jobTemplate"]
    doc = cronjob()
    doc["spec"]["jobTemplate"]["metadata"] = "train"
    assert paths(doc) == [JOB]


def test_a_wrong_policy_is_answered_with_those_that_exist() -> None:
    assert problem(cronjob(concurrencyPolicy="Never")).allowed == ("Allow", "Forbid", "Replace")


def test_a_cronjob_without_a_name_is_told_so_once() -> None:
    doc = cronjob()
    del doc["metadata"]["name"]
    assert paths(doc) == ["metadata.name"]


def test_slips_of_the_finger_are_warnings() -> None:
    assert warnings(cronjob(concurencyPolicy="Forbid")) == ["spec.concurencyPolicy"]
    assert warnings(cronjob(job_spec={"paralellism": 3})) == ["spec.jobTemplate.spec.paralellism"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("schedule", "suspend", "concurrencyPolicy", "jobTemplate")
HELD = ("parallelism", "completions", "completionMode", "suspend", "template")


@settings(max_examples=150, deadline=None)
@given(
    spec=st.dictionaries(st.sampled_from(FIELDS), JSON),
    held=st.dictionaries(st.sampled_from(HELD), JSON),
    metadata=JSON,
    annotations=JSON,
)
def test_anything_at_all_in_a_cronjob_is_a_request_or_a_problem(
    spec: Doc, held: Doc, metadata: object, annotations: object
) -> None:
    doc = cronjob(job_spec=held)
    doc["metadata"]["annotations"] = annotations
    doc["spec"]["jobTemplate"]["metadata"] = metadata
    for one in (doc, cronjob(**spec), {**doc, "spec": metadata}):
        found = read_workloads([one], AROUND)
        assert len(found.items) == 1 or found.notes
