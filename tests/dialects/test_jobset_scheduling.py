"""``spec.scheduling`` of a JobSet, by which it asks Kubernetes for PodGroups: read as what the annotations say."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from phalanx.dialects.fields import Field
from phalanx.dialects.jobset.generated import generate
from phalanx.dialects.reading import read
from phalanx.model.request import Request
from tests.dialects.jobset_manifests import (
    EXCLUSIVE,
    JOBS,
    JSON,
    MODE,
    MODE_PATH,
    REQUIRED,
    group,
    groups,
    jobset,
    normal,
    notes,
    place,
    rj,
    units,
)
from tests.dialects.manifests import BLOCK, RACK, Doc, paths, problem, request, topology

SPEC = "spec.scheduling"
IN_RACK: Doc = {"schedulingConstraints": {"topology": [{"key": "topology/rack"}]}}
TOGETHER: Doc = {"disruptionMode": {"all": {}}}
BASIC: Doc = {"schedulingPolicy": {"basic": {}}}


def as_gang(**least: int) -> Doc:
    return {"schedulingPolicy": {"gang": dict(least)}}


def of(*targets: str, **more: Any) -> Doc:
    return {"targetReplicatedJobs": list(targets), **more}


def asking(*jobs: Doc, each: list[Doc] | None = None, annotations: Doc | None = None, **scheduling: Any) -> Doc:
    """A JobSet with ``spec.scheduling``; ``each``: its entries for replicated jobs."""
    listed = {} if each is None else {"replicatedJobs": each}
    return jobset(*jobs, scheduling={**scheduling, **listed}, annotations=annotations)


# --------------------------------------------------------------------------------------------------- the whole JobSet


@pytest.mark.parametrize("asked", [{}, as_gang(), as_gang(minCount=11)])
def test_a_gang_is_what_it_asks_for_unless_it_says_basic(asked: Doc) -> None:
    doc = asking(rj("a", 2, 4), rj("b", 1, 3), **asked)
    assert units(doc) == {None: (11, 11)}
    assert notes(doc) == []
    assert place(doc, 10) == {None: ("Waiting", 0)}


def test_basic_lets_pods_start_as_they_fit() -> None:
    assert units(asking(rj("a", 2, 4), rj("b", 1, 3), **BASIC)) == {"a": (8, 1), "b": (3, 1)}


def test_the_key_of_a_node_label_is_the_level_that_holds_all_pods() -> None:
    assert request(asking(rj("a"), rj("b"), **as_gang(), **IN_RACK)).root.required == RACK
    wrong = problem(asking(rj("a"), schedulingConstraints={"topology": [{"key": "cloud/nodepool"}]}))
    assert (wrong.path, wrong.value) == (f"{SPEC}.schedulingConstraints.topology[0].key", "cloud/nodepool")


def test_all_pods_go_together_where_it_says_so() -> None:
    assert normal(asking(rj("a"), rj("b"), **TOGETHER))["disruption"] == "Gang"
    assert normal(asking(rj("a"), rj("b"), disruptionMode={"single": {}}))["disruption"] == "Pod"
    assert "disruption" not in normal(asking(rj("a")))


def test_fewer_pods_than_all_will_do_of_a_single_job() -> None:
    assert units(asking(rj("a", 1, 4), **as_gang(minCount=3))) == {None: (4, 3)}
    wrong = problem(asking(rj("a", 2, 4), **as_gang(minCount=3)))
    assert (wrong.path, wrong.allowed) == (f"{SPEC}.schedulingPolicy.gang.minCount", ("8",))


ORDERS: list[tuple[Doc, Doc, str]] = [
    ({"dependsOn": [{"name": "a", "status": "Ready"}]}, {}, f"{JOBS}[1].dependsOn"),
    ({}, {"startupPolicy": {"startupPolicyOrder": "InOrder"}}, "spec.startupPolicy.startupPolicyOrder"),
]


@pytest.mark.parametrize(("second", "spec", "reason"), ORDERS)
def test_in_turn_each_replicated_job_is_asked(second: Doc, spec: Doc, reason: str) -> None:
    doc = jobset(rj("a", 2, 4), rj("b", 1, 3, **second), scheduling=IN_RACK, **spec)
    assert units(doc) == {"a": (8, 8), "b": (3, 3)}
    assert [group(doc, name).required for name in ("a", "b")] == [RACK, RACK]
    assert [note.path for note in notes(doc)] == [reason]


@pytest.mark.parametrize(("second", "spec", "reason"), ORDERS)
def test_in_turn_there_is_no_number_for_all(second: Doc, spec: Doc, reason: str) -> None:
    found = problem(jobset(rj("a", 2, 4), rj("b", 1, 3, **second), scheduling=as_gang(minCount=11), **spec))
    assert (found.path, reason in found.message) == (f"{SPEC}.schedulingPolicy.gang.minCount", True)


# --------------------------------------------------------------------------------------------------- replicated jobs


def test_each_replicated_job_is_asked_by_the_entry_that_names_it() -> None:
    doc = asking(rj("driver", 1, 1), rj("workers", 2, 2), each=[of("driver", **BASIC), of("workers", **as_gang())])
    assert units(doc) == {"driver": (1, 1), "workers": (4, 4)}
    bounded = asking(rj("a", 2, 4), rj("b"), each=[of("a", **IN_RACK), of("b", **BASIC)])
    assert (group(bounded, "a").required, group(bounded, "b").required) == (RACK, None)
    assert units(bounded) == {"a": (8, 8), "b": (8, 1)}


def test_each_job_is_a_gang_where_the_entry_speaks_of_jobs() -> None:
    doc = asking(rj("a", 2, 4), each=[of("a", job={**as_gang(minCount=3), **IN_RACK})])
    assert units(doc) == {"a[0]": (4, 3), "a[1]": (4, 3)}
    assert group(doc, "a[1]").required == RACK
    assert units(asking(rj("a", 2, 4), each=[of("a", job=BASIC)])) == {"a": (8, 1)}


def test_several_targets_are_one_gang() -> None:
    both = asking(rj("a"), rj("b"), each=[of("a", "b", **as_gang(), **IN_RACK)])
    assert units(both) == {None: (16, 16)}
    assert request(both).root.required == RACK
    rest = asking(rj("a"), rj("b"), rj("c"), each=[of("a", "b", **as_gang()), of("c", **BASIC)])
    assert units(rest) == {"gang": (16, 16), "c": (8, 1)}


def test_who_goes_together_is_said_once_for_all() -> None:
    same = asking(rj("a"), rj("b"), each=[of("a", **TOGETHER), of("b", job=TOGETHER)])
    assert normal(same)["disruption"] == "Group"
    mixed = asking(rj("a"), rj("b"), each=[of("a", **TOGETHER), of("b", **BASIC)])
    assert normal(mixed)["disruption"] == "Group"
    assert [note.path for note in notes(mixed)] == [f"{SPEC}.replicatedJobs"]


WRONG: list[tuple[Doc, str]] = [
    (asking(rj("a"), each=[of("a", "b")]), f"{SPEC}.replicatedJobs[0].targetReplicatedJobs[1]"),
    (asking(rj("a"), each=[of("a"), of("a")]), f"{SPEC}.replicatedJobs[1].targetReplicatedJobs[0]"),
    (asking(rj("a"), rj("b"), each=[of("a")]), f"{SPEC}.replicatedJobs"),
    (asking(rj("a"), each=[of("a")], **as_gang()), f"{SPEC}.schedulingPolicy"),
    (asking(rj("a"), each=[of("a", **as_gang(), job={**as_gang()})]), f"{SPEC}.replicatedJobs[0].schedulingPolicy"),
    (
        asking(rj("a"), rj("b"), rj("c"), each=[of("a", "b"), of("c")]),
        f"{SPEC}.replicatedJobs[0].targetReplicatedJobs",
    ),
    (asking(rj("a"), replicatedJobPolicies=[]), f"{SPEC}.replicatedJobPolicies"),
    (asking(rj("a"), schedulingPolicy={"gang": {}, "basic": {}}), f"{SPEC}.schedulingPolicy"),
    (asking(rj("a"), **as_gang(minCount=9)), f"{SPEC}.schedulingPolicy.gang.minCount"),
    (asking(rj("a"), **as_gang(minCount=0)), f"{SPEC}.schedulingPolicy.gang.minCount"),
    (asking(rj("a"), **BASIC, **TOGETHER), f"{SPEC}.disruptionMode"),
    (asking(rj("a"), resourceClaims=[{"name": "x", "resourceClaimName": "y"}]), f"{SPEC}.resourceClaims"),
    (asking(rj("a"), annotations={MODE: "Off"}, **as_gang()), MODE_PATH),
    (jobset(rj("a"), scheduling="Gang"), SPEC),
]  # fmt: skip


@pytest.mark.parametrize(("doc", "path"), WRONG)
def test_what_cannot_be_asked_for_is_named_by_its_path(doc: Doc, path: str) -> None:
    found = read([topology("topology/rack"), doc]).invalid[0].problems
    assert {one.path for one in found} == {path}


# ---------------------------------------------------------------------------------------------- beside other carriers


def test_the_names_of_the_design_are_read_with_a_warning() -> None:
    doc = asking(rj("a"), rj("b"), policy={"gang": {}}, constraints={"topology": [{"key": "topology/block"}]})
    assert request(doc).root.required == BLOCK
    assert [(note.path, note.allowed) for note in notes(doc)] == [
        (f"{SPEC}.policy", ("schedulingPolicy",)), (f"{SPEC}.constraints", ("schedulingConstraints",)),
    ]  # fmt: skip


def test_an_annotation_may_agree_and_its_level_goes_first() -> None:
    doc = asking(rj("a"), annotations={MODE: "Gang", REQUIRED: "block"}, **as_gang(), **IN_RACK)
    assert request(doc).root.required == BLOCK
    assert [note.path for note in notes(doc)] == [f"{SPEC}.schedulingConstraints.topology[0].key"]


def test_jobs_may_still_ask_for_a_domain_each() -> None:
    doc = asking(rj("a", 2, 4, each={EXCLUSIVE: "topology/rack"}), **as_gang())
    assert [one["name"] for one in groups(doc)] == ["all-a", "a"]


def test_the_workload_made_for_it_is_the_same_as_for_the_annotation() -> None:
    field = generate(Field.of(asking(rj("a"), rj("b"), **as_gang())))
    note = generate(Field.of(jobset(rj("a"), rj("b"), annotations={MODE: "Gang"})))
    assert field.workload == note.workload is not None


def test_a_problem_elsewhere_keeps_its_path() -> None:
    assert paths(asking(rj("a", 2, -1), **as_gang())) == [
        f"{JOBS}[0].template.spec.parallelism", f"{JOBS}[0].template.spec.completions",
    ]  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(scheduling=JSON, entry=JSON, metadata=JSON)
def test_whatever_is_in_it_is_read_or_refused(scheduling: Any, entry: Any, metadata: Any) -> None:
    inner = {"targetReplicatedJobs": ["a"], **(entry if isinstance(entry, dict) else {"job": entry})}
    for asked in (scheduling, {"replicatedJobs": [inner, entry]}, {"schedulingPolicy": scheduling, "job": entry}):
        doc = {**jobset(rj("a"), scheduling=asked), "metadata": metadata}
        found = read([topology("rack"), doc])
        assert all(isinstance(one, Request) for one in found.requests)
