"""The Workload that is made for a JobSet, and how its pods refer to it."""

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.jobset.gangconfig import changed
from phalanx.dialects.jobset.generated import Generated, generate
from phalanx.dialects.links import WORKLOAD, of
from phalanx.dialects.neighbours import Neighbours
from phalanx.dialects.reading import read
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from tests.dialects.jobset_manifests import JOBS, JSON, KUEUE_QUEUE, MODE, MODE_PATH, jobset, linked, rj
from tests.dialects.manifests import Doc, topology

GOLDEN = sorted((Path(__file__).parent / "golden").glob("jobset-*.yaml"))


def made(doc: Doc, around: Surroundings | None = None) -> Generated:
    """What is generated for a manifest that must be good, looked over (J-048)."""
    at = Field.of(copy.deepcopy(doc), Notes())
    found = generate(at, around or Surroundings())
    assert not at.notes.problems, at.notes.problems
    check(doc, found)
    return found


def check(doc: Doc, found: Generated) -> None:
    """Every link leads to a group of the one Workload, and the pods of each group are those it waits for."""
    pods: Counter[tuple[str | None, str | None]] = Counter()
    for job in found.jobs:
        spec = job["spec"]
        assert isinstance(spec, dict)
        link = of(Field.of(spec["template"]))
        if link is not None and link.carrier is WORKLOAD and found.workload is not None:
            assert link.name == found.workload["metadata"]["name"]  # type: ignore[index]
            pods[link.group, link.replica] += min(spec["parallelism"], spec.get("completions", spec["parallelism"]))
    assert (found.workload is None) == (not found.references)
    if found.workload is None:
        return
    spec = workload(found)["spec"]
    assert spec["controllerRef"] == {"name": doc["metadata"]["name"], "kind": "JobSet", "apiGroup": "jobset.x-k8s.io"}
    waited: dict[tuple[str | None, str | None], int] = {}
    for group in spec["podGroups"]:
        assert group["policy"]["kind"] == "Gang"
        for i in range(group["replicas"]):
            copies = any(replica is not None for name, replica in pods if name == group["name"])
            waited[group["name"], str(i) if copies else None] = group["policy"]["gang"]["minCount"]
    assert pods == waited


def workload(found: Generated) -> Any:
    assert found.workload is not None
    return found.workload


def pod_groups(doc: Doc) -> list[tuple[str, int, int]]:
    listed = workload(made(doc))["spec"]["podGroups"]
    return [(one["name"], one["replicas"], one["policy"]["gang"]["minCount"]) for one in listed]


def problems(doc: Doc, around: Surroundings | None = None) -> list[Problem]:
    at = Field.of(doc, Notes())
    assert generate(at, around or Surroundings()) == Generated()
    return at.notes.problems


# ------------------------------------------------------------------------------------------------ the translations


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_translations_of_the_design(path: Path) -> None:  # J-006, J-035 to J-041, J-043
    doc, expected, references = yaml.safe_load_all(path.read_text())
    found = made(doc)
    assert found.workload == expected
    assert found.references == references


def test_all_golden_files_are_there() -> None:
    assert [path.stem for path in GOLDEN] == [
        "jobset-gang", "jobset-mixed-modes", "jobset-replicated-gang", "jobset-replicatedjob-gang",
    ]  # fmt: skip


def test_a_gang_of_all_waits_for_the_sum_of_unequal_parts() -> None:  # J-009, J-026, X-20
    assert pod_groups(jobset(rj("a", 2, 4), rj("b", 1, 3), mode="Gang")) == [("pg-sample", 1, 11)]


def test_each_replicated_job_waits_for_its_own_pods() -> None:  # J-027
    assert pod_groups(jobset(rj("a", 2, 4, "Gang"), rj("b", 1, 3, "Gang"))) == [("pg-a", 1, 8), ("pg-b", 1, 3)]


def test_each_job_waits_for_its_own_pods() -> None:  # J-028, J-044
    assert pod_groups(jobset(rj("a", 2, 4, "ReplicatedGang"))) == [("pg-a", 2, 4)]
    assert pod_groups(jobset(rj("a", 1, 4, "ReplicatedGang"))) == [("pg-a", 1, 4)]


def test_pods_that_never_run_at_once_are_not_waited_for() -> None:  # X-21
    assert pod_groups(jobset(rj("a", 2, job={"parallelism": 8}), mode="Gang")) == [("pg-sample", 1, 8)]


def test_one_who_stays_out_of_the_gang_is_not_waited_for() -> None:  # J-020
    found = made(jobset(rj("a", 2, 4), rj("b", 1, 3, "Off"), mode="Gang"))
    assert list(found.references) == ["a"]
    assert pod_groups(jobset(rj("a", 2, 4), rj("b", 1, 3, "Off"), mode="Gang")) == [("pg-sample", 1, 8)]


@pytest.mark.parametrize("empty", [rj("b", 0), rj("b", 2, 0)])
def test_nobody_waits_for_pods_that_are_not_wanted(empty: Doc) -> None:
    assert pod_groups(jobset(rj("a", mode="Gang"), {**empty, "gangConfig": {"gangMode": "Gang"}})) == [("pg-a", 1, 8)]


def test_nothing_is_generated_where_nothing_is_said() -> None:  # J-021
    found = made(jobset(rj("a"), rj("b")))
    assert (found.workload, found.references, len(found.jobs)) == (None, {}, 4)


def test_a_queue_asks_as_it_does_when_the_jobset_is_read() -> None:  # J-003, W-073, W-074
    assert pod_groups(jobset(rj("a"), labels={KUEUE_QUEUE: "q"})) == [("pg-sample", 1, 8)]
    after = rj("b", dependsOn=[{"name": "a", "status": "Ready"}])
    assert pod_groups(jobset(rj("a"), after, labels={KUEUE_QUEUE: "q"})) == [("pg-a", 1, 8), ("pg-b", 1, 8)]


def test_the_annotation_generates_what_the_field_does() -> None:
    by_field, by_note = made(jobset(rj("a"), mode="Gang")), made(jobset(rj("a"), annotations={MODE: "Gang"}))
    assert (by_field.workload, by_field.references) == (by_note.workload, by_note.references)


# --------------------------------------------------------------------------------------------------- names, owners


def test_the_workload_belongs_to_the_jobset_and_goes_with_it() -> None:  # J-005, J-034, J-036, W-083
    doc = jobset(rj(), mode="Gang")
    doc["metadata"] |= {"uid": "u-1", "namespace": "ml"}
    metadata = workload(made(doc))["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("w-sample", "ml")
    assert metadata["ownerReferences"] == [
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "sample", "uid": "u-1", "controller": True,
         "blockOwnerDeletion": True},
    ]  # fmt: skip


def test_long_names_are_cut_and_still_differ() -> None:  # J-035
    def named(end: str) -> tuple[str, str]:
        doc = jobset(rj("a" * 70 + end, mode="Gang"))
        doc["metadata"]["name"] = "s" * 70 + end
        made_of = workload(made(doc))
        return made_of["metadata"]["name"], made_of["spec"]["podGroups"][0]["name"]

    one, other = named("1"), named("2")
    assert one == named("1")
    assert {len(name) for name in (*one, *other)} == {63}
    assert len({*one, *other}) == 4
    assert one[0].startswith("w-sss")
    assert one[1].startswith("pg-aaa")


def test_a_name_that_just_fits_is_not_cut() -> None:  # J-035
    doc = jobset(rj(), mode="Gang")
    doc["metadata"]["name"] = "s" * 61
    assert workload(made(doc))["metadata"]["name"] == "w-" + "s" * 61


def test_the_same_comes_out_however_often_it_is_made() -> None:  # J-029, J-046
    doc = jobset(rj("a", mode="Gang"), rj("b", mode="ReplicatedGang"))
    first = made(doc)
    restarted = {**doc, "status": {"restarts": 3}}
    assert len({json.dumps(workload(made(one))) for one in [doc] * 100 + [restarted]}) == 1
    assert made(restarted) == first


def test_suspended_or_not_the_workload_is_there() -> None:  # W-091
    assert made(jobset(rj(), mode="Gang", suspend=True)).workload == made(jobset(rj(), mode="Gang")).workload


# ------------------------------------------------------------------------------------------------------ references


def test_references_are_in_the_jobs_before_any_pod_exists() -> None:  # J-030 to J-033
    found = made(jobset(rj("a", 2, 4, "ReplicatedGang"), rj("b", 1, 3, "Gang"), rj("c", 1, 1, "Off")))
    links = {job["metadata"]["name"]: job["spec"]["template"]["spec"].get("workload") for job in found.jobs}  # type: ignore[index]
    assert links == {
        "sample-a-0": {"name": "w-sample", "podGroup": "pg-a", "podGroupReplicaIndex": 0},
        "sample-a-1": {"name": "w-sample", "podGroup": "pg-a", "podGroupReplicaIndex": 1},
        "sample-b-0": {"name": "w-sample", "podGroup": "pg-b"},
        "sample-c-0": None,
    }


def test_a_job_is_its_template_with_the_labels_that_tell_it_apart() -> None:
    doc = jobset(rj("a", 2, 4, "Gang", each={"x": "y"}, all_pods={"z": "w"}))
    _, job = made(doc).jobs
    spec, metadata = job["spec"], job["metadata"]
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "sample", "jobset.sigs.k8s.io/replicatedjob-name": "a",
        "jobset.sigs.k8s.io/job-index": "1",
    }  # fmt: skip
    assert isinstance(spec, dict)
    assert isinstance(metadata, dict)
    assert (metadata["labels"], metadata["annotations"]) == (labels, {"x": "y"})
    assert metadata["ownerReferences"][0]["name"] == "sample"
    assert (spec["parallelism"], spec["completions"], spec["completionMode"]) == (4, 4, "Indexed")
    assert spec["template"]["metadata"] == {"annotations": {"z": "w"}, "labels": labels}
    assert spec["template"]["spec"]["containers"]


def test_the_manifest_itself_is_not_touched() -> None:
    doc = jobset(rj("a", mode="ReplicatedGang"))
    before = copy.deepcopy(doc)
    generate(Field.of(doc, Notes()))
    assert doc == before


def test_a_job_with_a_reference_is_no_gang_of_its_own() -> None:  # J-010, W-114
    found = read(list(made(jobset(rj("a", 1), mode="Gang")).jobs))
    assert found.requests == () and {one.kind for one in found.invalid} == {"Job"}
    assert all("names Workload w-sample" in problem.message for one in found.invalid for problem in one.problems)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_workload_read_back_describes_the_same_gangs(path: Path) -> None:  # J-001
    doc = next(yaml.safe_load_all(path.read_text()))
    generated = made(doc)
    found = read([workload(generated), *generated.jobs])
    assert not found.invalid, found.invalid
    alone = [
        name for name in (job["name"] for job in doc["spec"]["replicatedJobs"]) if name not in generated.references
    ]
    own = [one for one in read([doc]).requests if one.unit not in alone]
    assert gangs(r for r in found.requests if r.kind == "Workload") == gangs(own)


def gangs(requests: Any) -> list[tuple[int, int]]:
    """Pods wanted and pods waited for of every gang."""
    sets = [list(one.root.pod_sets()) for one in requests if isinstance(one, Request)]
    return sorted((sum(s.count for s in those), sum(s.min_count for s in those)) for those in sets)


# --------------------------------------------------------------------------------------------------- users' objects


def test_a_workload_of_the_user_is_respected() -> None:  # J-004, J-022, X-43
    found = made(
        jobset(rj("a", pod=linked("w-sample")), rj("b", pod=linked("w-sample")), mode="Gang"), given_workload()
    )
    assert (found.workload, found.references) == (None, {})
    pods = [job["spec"]["template"]["spec"]["workload"] for job in found.jobs]  # type: ignore[index]
    assert pods == [{"name": "w-sample", "podGroup": "pg"}] * 4


def test_those_without_a_link_of_their_own_still_get_one() -> None:  # X-43
    found = made(jobset(rj("a", mode="Gang", pod={"schedulingGroup": {"podGroupName": "x"}}), rj("b", mode="Gang")))
    assert list(found.references) == ["b"]


def given_workload(**metadata: Any) -> Surroundings:
    """Surroundings with a Workload w-sample."""
    doc = {"apiVersion": "scheduling/v1alpha1", "kind": "Workload", "metadata": {"name": "w-sample", **metadata}}
    return Surroundings(
        neighbours=Neighbours({("scheduling.k8s.io", "Workload", "default", "w-sample"): Field.of(doc)})
    )


OWNER = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "sample", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    "owners",
    [
        [],
        [{**OWNER, "name": "other"}],
        [{**OWNER, "kind": "Job", "apiVersion": "batch/v1"}],
        [{**OWNER, "controller": False}],
        [{**OWNER, "uid": "of one that is gone"}],
    ],
)
def test_a_workload_of_that_name_that_is_not_ours_is_not_taken_over(owners: list[Doc]) -> None:  # J-052
    doc = jobset(rj(), mode="Gang")
    doc["metadata"]["uid"] = "u"
    (only,) = problems(doc, given_workload(ownerReferences=owners))
    assert (only.path, only.value) == ("metadata.name", "sample")
    assert "Workload default/w-sample" in only.message


def test_our_own_workload_is_made_again() -> None:  # J-029, J-052
    doc = jobset(rj(), mode="Gang")
    assert workload(made(doc, given_workload(ownerReferences=[OWNER])))["metadata"]["name"] == "w-sample"


def test_a_workload_of_that_name_does_not_matter_where_none_is_made() -> None:  # J-052
    assert made(jobset(rj(), mode="Off"), given_workload()).workload is None


def test_nothing_comes_of_a_jobset_that_is_wrong() -> None:
    (only,) = problems(jobset(rj(), mode="All"))
    assert only.path == "spec.gangConfig.gangMode"


def test_there_is_a_limit_to_how_many_jobs_are_made() -> None:
    (only,) = problems(jobset(rj("a", 6_000, 1), rj("b", 6_000, 1), mode="Gang"))
    assert only.path == JOBS


# ---------------------------------------------------------------------------------------------------------- change


CHANGES: list[tuple[Doc, Doc, str, object]] = [
    (jobset(rj(), mode="Gang"), jobset(rj(), mode="Off"), "spec.gangConfig.gangMode", "Off"),
    (jobset(rj(), mode="Gang"), jobset(rj()), "spec.gangConfig.gangMode", None),
    (jobset(rj()), jobset(rj(), mode="Gang"), "spec.gangConfig.gangMode", "Gang"),
    (jobset(rj(mode="Gang")), jobset(rj(mode="ReplicatedGang")), f"{JOBS}[0].gangConfig.gangMode", "ReplicatedGang"),
    (jobset(rj(mode="Gang")), jobset(rj(each={MODE: "Off"})), f"{JOBS}[0].template.{MODE_PATH}", "Off"),
]


@pytest.mark.parametrize(("old", "new", "path", "value"), CHANGES)
def test_a_mode_is_not_changed(old: Doc, new: Doc, path: str, value: object) -> None:  # J-023
    (only,) = changed(Field.of(old), Field.of(new))
    assert (only.path, only.value) == (path, value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (jobset(rj(), mode="Gang"), jobset(rj(replicas=5), mode="Gang", suspend=True)),
        (jobset(rj(), mode="Gang"), jobset(rj(), annotations={MODE: "Gang"})),
        (jobset(rj(), gangConfig={}), jobset(rj(), mode="Off")),
        (jobset(rj(mode="Gang")), jobset(rj(mode="Gang"), rj("b", mode="Off"))),
    ],
)
def test_anything_else_may_be(old: Doc, new: Doc) -> None:  # J-023, J-024
    assert changed(Field.of(old), Field.of(new)) == ()


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(spec=JSON, metadata=JSON, first=JSON, template=JSON)
def test_whatever_is_in_it_generating_ends(spec: Any, metadata: Any, first: Any, template: Any) -> None:
    held = {"name": "a", **(first if isinstance(first, dict) else {"gangConfig": {"gangMode": "ReplicatedGang"}})}
    deep = {"name": "b", "gangConfig": {"gangMode": "Gang"}, "template": {"metadata": metadata, "spec": template}}
    whole = {**(spec if isinstance(spec, dict) else {}), "replicatedJobs": [held, deep]}
    named = {"name": "x", **metadata} if isinstance(metadata, dict) else metadata
    doc = {"apiVersion": "jobset.x-k8s.io/v1", "kind": "JobSet", "metadata": named, "spec": whole}
    at = Field.of(doc, Notes())
    found = generate(at)
    assert not at.notes.problems or found == Generated()
    assert all(isinstance(one, Problem) for one in changed(Field.of(doc), Field.of({**doc, "spec": spec})))


def test_topologies_play_no_part() -> None:  # J-007, X-48
    doc = jobset(rj("a", each={"phalanx.dev/topology-required": "rack"}), mode="Gang")
    assert pod_groups(doc) == [("pg-sample", 1, 8)]
    assert not read([topology("rack"), doc]).invalid
