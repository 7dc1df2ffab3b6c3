"""How a pod says which gang it belongs to: six carriers, one order, disagreements told."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects import links
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.links import KAI, KUEUE, OURS, SCHEDULING_GROUP, WORKLOAD, WORKLOAD_REF, Carrier, Link

Doc = dict[str, Any]
GANG, GROUP, REPLICA = "phalanx.dev/gang", "phalanx.dev/group", "phalanx.dev/replica"
LONG = "a-very-long-name-" * 5  # 85 characters


def pod(labels: Doc | None = None, annotations: Doc | None = None, **spec: Any) -> Doc:
    return {"metadata": {"name": "p", "labels": labels or {}, "annotations": annotations or {}}, "spec": spec}


def read(doc: object) -> tuple[Link | None, Notes]:
    at = Field.of(doc, Notes())
    return links.of(at), at.notes


def good(doc: Doc) -> Link | None:
    """The link of a pod about which there is nothing to say."""
    link, notes = read(doc)
    assert not notes.problems, [str(one) for one in notes.problems]
    assert not notes.warnings, [str(one) for one in notes.warnings]
    return link


def problem(doc: Doc) -> tuple[str, str]:
    """Path and message of the one Problem of a pod."""
    _, notes = read(doc)
    (one,) = notes.problems
    return one.path, one.message


def warning(doc: Doc) -> tuple[str, str]:
    """Path and message of the one warning about a pod that is good."""
    _, notes = read(doc)
    assert not notes.problems, [str(one) for one in notes.problems]
    (one,) = notes.warnings
    return one.path, one.message


# -------------------------------------------------------------------------------------------------------- carriers

# Each carrier alone, in the order in which they are read.
CARRIERS: list[tuple[Carrier, Doc, Link]] = [
    (OURS, pod({GANG: "llm", GROUP: "decode", REPLICA: "1"}), Link(OURS, "llm", "decode", "1")),
    (SCHEDULING_GROUP, pod(schedulingGroup={"podGroupName": "pg-1"}), Link(SCHEDULING_GROUP, "pg-1")),
    (WORKLOAD_REF, pod(workloadRef={"name": "w", "podGroup": "pg", "podGroupReplicaKey": "key-1"}),
     Link(WORKLOAD_REF, "w", "pg", "key-1")),
    (WORKLOAD, pod(workload={"name": "v", "podGroup": "pg", "podGroupReplicaIndex": 1}),
     Link(WORKLOAD, "v", "pg", "1")),
    (KAI, pod({"kai.scheduler/subgroup-name": "prefill"}, {"pod-group-name": "sample2"}),
     Link(KAI, "sample2", "prefill")),
    (KUEUE, pod({"kueue.x-k8s.io/podset": "main"}, {"kueue.x-k8s.io/workload": "job-train"}),
     Link(KUEUE, "job-train", "main")),
]  # fmt: skip


@pytest.mark.parametrize(("carrier", "doc", "link"), CARRIERS, ids=[c.place for c, _, _ in CARRIERS])
def test_every_carrier_names_a_gang_and_its_part(carrier: Carrier, doc: Doc, link: Link) -> None:
    # W-097, W-104, W-106, W-109, M-020, M-021
    assert good(doc) == link
    assert good({"spec": {}, **doc}) == link  # a template is read as a pod is


@pytest.mark.parametrize(
    ("carrier", "kind"),
    [
        (OURS, ("phalanx.dev", "Gang")),
        (SCHEDULING_GROUP, ("scheduling.k8s.io", "PodGroup")),
        (WORKLOAD_REF, ("scheduling.k8s.io", "Workload")),
        (WORKLOAD, ("scheduling.k8s.io", "Workload")),
        (KAI, ("scheduling.run.ai", "PodGroup")),
        (KUEUE, ("kueue.x-k8s.io", "Workload")),
    ],
)
def test_a_carrier_says_what_kind_of_object_it_names(carrier: Carrier, kind: tuple[str, str]) -> None:
    #
    assert (carrier.api_group, carrier.kind) == kind


def test_a_pod_without_any_carrier_has_no_link() -> None:
    # W-101, M-020
    assert good(pod({"app": "x"}, {"note": "y"}, containers=[])) is None
    assert good(pod(schedulingGroup=None, workload=None, workloadRef=None)) is None


def test_a_pod_of_a_single_group_needs_no_part() -> None:
    # W-108
    assert good(pod({GANG: "llm"})) == Link(OURS, "llm")
    assert good(pod(workload={"name": "w"})) == Link(WORKLOAD, "w")
    assert good(pod(workloadRef={"name": "w"})) == Link(WORKLOAD_REF, "w")
    assert good(pod(annotations={"pod-group-name": "pg"})) == Link(KAI, "pg")
    assert good(pod(annotations={"kueue.x-k8s.io/workload": "w"})) == Link(KUEUE, "w")


def test_a_link_remembers_where_it_stands() -> None:
    link = good(pod(workload={"name": "w"}))
    assert link is not None
    assert link.at.path == "spec.workload.name"


# ------------------------------------------------------------------------------------------------------ precedence


def merged(one: Doc, other: Doc) -> Doc:
    metadata = {part: {**one["metadata"][part], **other["metadata"][part]} for part in ("labels", "annotations")}
    return {"metadata": metadata, "spec": {**one["spec"], **other["spec"]}}


PAIRS = [(i, j) for i in range(len(CARRIERS)) for j in range(i + 1, len(CARRIERS))]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_earlier_carrier_wins_and_the_other_is_named_beside_it(first: int, second: int) -> None:
    # X-08, W-031, W-072
    (carrier, doc, link), (other, other_doc, other_link) = CARRIERS[first], CARRIERS[second]
    both = merged(other_doc, doc)
    assert read(both)[0] == link
    _, message = warning(both)
    assert f"{other.place} names {other_link}" in message
    assert f"{carrier.place} names {link}" in message


def test_carriers_that_name_the_same_are_no_disagreement() -> None:
    #
    doc = pod({GANG: "llm", GROUP: "a"}, {"pod-group-name": "llm"}, workload={"name": "llm", "podGroupReplicaIndex": 2})
    assert good(doc) == Link(OURS, "llm", "a")


@pytest.mark.parametrize("part", [{"podGroup": "b"}, {"podGroup": "a", "podGroupReplicaIndex": 2}])
def test_the_same_gang_with_another_part_is_a_disagreement(part: Doc) -> None:
    #
    doc = pod({GANG: "llm", GROUP: "a", REPLICA: "1"}, workload={"name": "llm", **part})
    path, message = warning(doc)
    assert path == "spec.workload.name"
    assert "Gang.phalanx.dev llm, group a, replica 1" in message


# ------------------------------------------------------------------------------------------------------------ ours


def test_a_name_too_long_for_a_label_is_an_annotation() -> None:
    # public-api section 2
    assert good(pod({GROUP: "a"}, {GANG: LONG})) == Link(OURS, LONG, "a")


def test_the_shortened_label_beside_a_long_name_is_no_disagreement() -> None:
    assert good(pod({GANG: LONG[:54] + "-1a2b3c4d"}, {GANG: LONG})) == Link(OURS, LONG)


def test_a_label_that_is_not_short_for_the_annotation_is_followed_and_told() -> None:
    link, _ = read(pod({GANG: "other"}, {GANG: LONG}))
    assert link == Link(OURS, "other")
    assert warning(pod({GANG: "other"}, {GANG: LONG}))[0] == f"metadata.annotations['{GANG}']"
    assert warning(pod({GANG: LONG[:50] + "-a"}, {GANG: LONG[:50] + "-b"}))[0] == f"metadata.annotations['{GANG}']"
    assert warning(pod({GANG: "one"}, {GANG: "two"}))[0] == f"metadata.annotations['{GANG}']"
    assert good(pod({GANG: "one"}, {GANG: "one"})) == Link(OURS, "one")


def test_a_label_longer_than_labels_are_is_a_problem() -> None:
    path, message = problem(pod({GANG: LONG}))
    assert path == f"metadata.labels['{GANG}']"
    assert "write a longer name as annotation" in message


@pytest.mark.parametrize("key", [GROUP, REPLICA])
def test_a_part_without_a_gang_is_told(key: str) -> None:
    path, message = warning(pod({key: "a"}))
    assert path == f"metadata.labels['{key}']"
    assert GANG in message


def test_a_subgroup_without_a_pod_group_is_told_but_a_pod_set_alone_is_usual() -> None:
    # M-021, M-023; Kueue labels all its pods
    assert warning(pod({"kai.scheduler/subgroup-name": "a"}))[0] == "metadata.labels['kai.scheduler/subgroup-name']"
    assert good(pod({"kueue.x-k8s.io/podset": "main"})) is None


# ----------------------------------------------------------------------------------------------------- spec fields


@pytest.mark.parametrize("field", ["workload", "workloadRef"])
def test_a_reference_into_another_namespace_is_refused(field: str) -> None:
    # W-098
    path, message = problem(pod(**{field: {"name": "w", "namespace": "other"}}))
    assert path == f"spec.{field}.namespace"
    assert "own namespace" in message


@pytest.mark.parametrize("group", [{}, {"podGroupName": None}, {"compositePodGroupName": "c"}])
def test_a_scheduling_group_that_names_no_group_is_a_problem(group: Doc) -> None:
    # V19
    _, notes = read(pod(schedulingGroup=group))
    (one,) = notes.problems
    assert (one.path, one.allowed) == ("spec.schedulingGroup", ("podGroupName",))


@pytest.mark.parametrize("field", ["workload", "workloadRef"])
def test_a_reference_without_a_name_is_a_problem(field: str) -> None:
    # W-097
    assert problem(pod(**{field: {"podGroup": "a"}}))[0] == f"spec.{field}.name"
    assert problem(pod(**{field: "w"}))[0] == f"spec.{field}"


@pytest.mark.parametrize("field", ["workload", "workloadRef"])
@pytest.mark.parametrize("spelling", ["podGroupReplicaIndex", "podGroupReplicaKey"])
@pytest.mark.parametrize(("written", "key"), [(0, "0"), (3, "3"), (-1, "-1"), ("3", "3"), ("blue", "blue")])
def test_a_replica_is_an_opaque_key_whichever_way_it_is_written(
    field: str, spelling: str, written: object, key: str
) -> None:
    # X-10, J-032
    link = good(pod(**{field: {"name": "w", "podGroup": "pg", spelling: written}}))
    assert link is not None
    assert link.replica == key


@pytest.mark.parametrize("written", [True, 1.5, [], {}, "", "a b", pytest.param(10**5000, id="huge")])
def test_a_replica_that_is_neither_text_nor_number_is_a_problem(written: object) -> None:
    #
    doc = pod(workload={"name": "w", "podGroupReplicaIndex": written})
    assert problem(doc)[0] == "spec.workload.podGroupReplicaIndex"


def test_a_replica_is_written_once() -> None:
    doc = pod(workloadRef={"name": "w", "podGroupReplicaKey": "1", "podGroupReplicaIndex": 1})
    assert problem(doc)[0] == "spec.workloadRef.podGroupReplicaIndex"


def test_the_three_levels_of_a_jobset_differ_by_group_and_replica() -> None:
    # J-030, J-031, J-032
    whole = {good(pod(workload={"name": "w-js", "podGroup": "pg-js"})) for _ in ("job-1", "job-2")}
    jobs = {good(pod(workload={"name": "w-js", "podGroup": f"pg-{job}"})) for job in ("job-1", "job-2")}
    replicas = {
        good(pod(workload={"name": "w-js", "podGroup": f"pg-{job}", "podGroupReplicaIndex": i}))
        for job, count in (("job-1", 2), ("job-2", 3))
        for i in range(count)
    }
    assert [len(whole), len(jobs), len(replicas)] == [1, 2, 5]
    assert {link.replica for link in whole | jobs if link} == {None}


def test_a_slip_in_a_reference_is_told() -> None:
    assert warning(pod(workload={"name": "w", "podgroup": "a"}))[0] == "spec.workload.podgroup"


@pytest.mark.parametrize(
    "doc",
    [
        pod({GANG: "other/llm"}), pod({GANG: ""}), pod({GANG: 7}), pod(annotations={"pod-group-name": "a b"}),
        pod(annotations={"kueue.x-k8s.io/workload": ["w"]}), pod(schedulingGroup={"podGroupName": "a/b"}),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_one_is_a_problem_and_no_link(doc: Doc) -> None:
    # W-098
    link, notes = read(doc)
    assert link is None
    assert len(notes.problems) == 1


# --------------------------------------------------------------------------------------------------------- hostile

FULL = merged(merged(CARRIERS[0][1], CARRIERS[4][1]), merged(CARRIERS[5][1], pod(
    schedulingGroup={"podGroupName": "pg"}, workloadRef={"name": "w", "podGroup": "g", "podGroupReplicaKey": "1"},
    workload={"name": "w", "podGroup": "g", "podGroupReplicaIndex": 1},
)))  # fmt: skip

GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["", "w", "x" * 300, "\ud800", "0", "-1", 10**70, 2**31, b"x", ()]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4) | st.sampled_from(["metadata", "spec", "name", 7]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, itself excluded."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in below for found in ((*path, key), *places(inner, (*path, key)))]


def changed(doc: Doc, path: tuple[Any, ...], value: object) -> Doc:
    fresh = copy.deepcopy(doc)
    here: Any = fresh
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return fresh


@settings(max_examples=200, deadline=None)
@given(doc=GARBAGE)
def test_any_garbage_is_read_without_raising(doc: object) -> None:
    read(doc)


@settings(max_examples=400, deadline=None)
@given(place=st.sampled_from(places(FULL)), value=GARBAGE)
def test_one_wrong_value_anywhere_is_read_without_raising(place: tuple[Any, ...], value: object) -> None:
    link, notes = read(changed(FULL, place, value))
    assert link is None or isinstance(link, Link)
    for note in (*notes.problems, *notes.warnings):
        str(note).encode("utf-8")
