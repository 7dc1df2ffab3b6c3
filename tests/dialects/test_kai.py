"""KAI's PodGroup with its pods, and KAI's annotations on the top owner of pods."""

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
from phalanx.model.request import Group, Missing, Request
from phalanx.model.topology import HOSTNAME, Topology
from tests.dialects.manifests import AROUND, BLOCK, LEVELS, RACK, ZONE, Doc, job, node, pod_spec, topology

SUBGROUP = "kai.scheduler/subgroup-name"
REQUIRED, PREFERRED = "kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement"
NAME = "kai.scheduler/topology"
RACK_OF = {"topology": "cluster-topology", "requiredTopologyLevel": "topology/rack"}
BLOCK_OF = {"topology": "cluster-topology", "requiredTopologyLevel": "topology/block"}
ZONE_OF = {"topology": "cluster-topology", "requiredTopologyLevel": "topology/zone"}
OTHER = Topology.of("other", ["topology/zone", "topology/rack", HOSTNAME])
TWO = Surroundings(topologies=(LEVELS, OTHER))


def podgroup(*subgroups: Doc, name: str = "sample", **spec: Any) -> Doc:
    listed = {"subGroups": list(subgroups)} if subgroups else {}
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": name},
        "spec": {**spec, **listed},
    }  # fmt: skip


def sub(name: str, least: int | None = None, parent: str | None = None, near: Doc | None = None, **more: Any) -> Doc:
    fields = {"minMember": least, "parent": parent, "topologyConstraint": near, **more}
    return {"name": name, **{key: value for key, value in fields.items() if value is not None}}


def pod(name: str, group: str | None = None, gang: str = "sample", cpu: str = "1", **annotations: str) -> Doc:
    labels = {} if group is None else {SUBGROUP: group}
    spec = {"containers": [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]}
    metadata = {"name": name, "labels": labels, "annotations": {"pod-group-name": gang, **annotations}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pods(group: str | None, count: int, **more: Any) -> list[Doc]:
    return [pod(f"pod-{group}-{i}", group, **more) for i in range(count)]


SAMPLE1 = podgroup(
    sub("subgroup-a", 2, near=RACK_OF), sub("subgroup-b", 3, near=RACK_OF), queue="test", priorityClassName="inference"
)
SAMPLE2 = podgroup(
    sub("api-server", 1), sub("workers", near=BLOCK_OF), sub("prefill", 3, "workers", RACK_OF),
    sub("decode", 5, "workers", RACK_OF), name="sample2", topologyConstraint=ZONE_OF,
)  # fmt: skip
PODS1 = [*pods("subgroup-a", 2), *pods("subgroup-b", 3)]
PODS2 = [
    pod for group, count in {"api-server": 1, "prefill": 3, "decode": 5}.items()
    for pod in pods(group, count, gang="sample2")
]  # fmt: skip


def found(*docs: Doc, around: Surroundings = AROUND) -> Request:
    """The one Request of documents that must be good."""
    reading = read_workloads(list(docs), around)
    assert not reading.invalid, [str(p) for p in reading.invalid[0].problems]
    (one,) = reading.requests
    return one


def wrong(*docs: Doc, around: Surroundings = AROUND) -> tuple[Problem, ...]:
    (one,) = read_workloads(list(docs), around).invalid
    return one.problems


def only(*docs: Doc, around: Surroundings = AROUND) -> Problem:
    (one,) = wrong(*docs, around=around)
    return one


def told(*docs: Doc, around: Surroundings = AROUND) -> dict[str, str]:
    """Warnings about a good PodGroup by path."""
    reading = read_workloads(list(docs), around)
    assert not reading.invalid, [str(p) for p in reading.invalid[0].problems]
    return {note.path: note.message for notes in list(reading.notes.values())[:1] for note in notes}


def group(request: Request, name: str) -> Group:
    return next(one for one in request.root.groups() if one.name == name)


def counts(request: Request) -> dict[str, tuple[int, int]]:
    return {one.name: (one.min_count, one.count) for one in request.root.pod_sets()}


def normal(*docs: Doc) -> dict[str, Any]:
    """The normal form of the one workload, as JSON would have it."""
    sorted_docs, _ = documents.sort(list(docs))
    (one,) = workloads.read(sorted_docs, AROUND, None).outlines
    plain = outline.plain(one.spec)
    assert isinstance(plain, dict)
    return plain


# ------------------------------------------------------------------------------------------------- without subgroups


def test_min_member_pods_start_together_and_the_rest_as_they_fit() -> None:  # M-004, M-025
    request = found(podgroup(minMember=4), *pods(None, 6))
    assert (request.kind, request.id, request.missing) == ("PodGroup", "default/sample", ())
    assert counts(request) == {"sample": (4, 6)}


def test_a_constraint_of_the_podgroup_holds_all_its_pods() -> None:  # M-005, M-010, KA-024, KA-026
    request = found(podgroup(minMember=2, topologyConstraint=RACK_OF), *pods(None, 2))
    assert (request.root.required, request.root.preferred, request.topology) == (RACK, None, "cluster-topology")


def test_required_and_preferred_stand_together() -> None:  # KA-022, KA-027, M-026
    near = {**ZONE_OF, "preferredTopologyLevel": "topology/rack"}
    root = found(podgroup(minMember=2, topologyConstraint=near), *pods(None, 2)).root
    assert (root.required, root.preferred) == (ZONE, RACK)


def test_min_member_0_is_no_gang() -> None:
    assert counts(found(podgroup(minMember=0), *pods(None, 3))) == {"sample": (1, 3)}


def test_a_podgroup_that_needs_no_pods_and_has_none_places_nothing() -> None:
    reading = read_workloads([podgroup(minMember=0)], AROUND)
    assert reading.items == ()
    assert [note.path for note in reading.notes["default/sample"]] == ["spec"]


def test_min_member_that_is_not_written_is_one_and_is_told() -> None:
    assert counts(found(podgroup(queue="q"), *pods(None, 3))) == {"sample": (1, 3)}
    assert "one pod is enough" in told(podgroup(queue="q"), *pods(None, 3))["spec.minMember"]


def test_a_podgroup_without_pods_waits_for_them() -> None:  # M-022
    request = found(podgroup(minMember=4))
    assert request.missing == (Missing("sample", 4, 0),)
    assert counts(request) == {"sample": (4, 4)}


def test_fewer_pods_than_the_minimum_are_missing() -> None:  # M-022
    assert found(podgroup(minMember=4), *pods(None, 3)).missing == (Missing("sample", 4, 3),)


def test_a_pod_that_names_no_podgroup_stays_alone() -> None:  # M-020
    lonely = pod("alone")
    del lonely["metadata"]["annotations"]["pod-group-name"]
    reading = read_workloads([podgroup(minMember=1), pod("one"), lonely], AROUND)
    assert [(one.kind, one.name) for one in reading.requests] == [("PodGroup", "sample"), ("Pod", "alone")]


def test_a_pod_that_names_a_subgroup_of_a_podgroup_without_any_is_told_so() -> None:  # M-023
    problem = only(podgroup(minMember=1), pod("one", "x"))
    assert problem.message == "pod one names subgroup 'x'; PodGroup sample has no subgroups"
    assert problem.value == "x"


def test_pods_of_two_shapes_are_two_classes_of_one_group() -> None:  # KA-028, X-16
    request = found(podgroup(minMember=3), *pods(None, 2), pod("big", cpu="4"))
    assert counts(request) == {"sample/pod-None-0": (2, 2), "sample/big": (1, 1)}


def test_a_leader_of_equal_size_counts_like_a_worker() -> None:  # KA-029
    assert counts(found(podgroup(minMember=3), pod("leader"), *pods(None, 2))) == {"sample": (3, 3)}


def test_the_order_of_pods_does_not_matter() -> None:  # KA-030
    there = [*PODS1]
    assert found(SAMPLE1, *there) == found(SAMPLE1, *reversed(there))
    assert all(one.ranks is None for one in found(SAMPLE1, *there).root.groups())


# ------------------------------------------------------------------------------------------------------- subgroups


def test_subgroups_are_one_gang_each_with_its_own_constraint() -> None:  # M-001, M-002, M-012, X-14, X-50
    request = found(SAMPLE1, *PODS1)
    assert request.root.min_members is None
    assert [one.name for one in request.root.members] == ["subgroup-a", "subgroup-b"]
    assert (group(request, "subgroup-a").required, group(request, "subgroup-b").required) == (RACK, RACK)
    assert counts(request) == {"subgroup-a": (2, 2), "subgroup-b": (3, 3)}


def test_subgroups_nest_by_the_names_of_their_parents() -> None:  # M-003, M-008, M-009, M-014, M-015, M-017
    request = found(SAMPLE2, *PODS2)
    assert request.root.required == ZONE
    workers = group(request, "workers")
    assert workers.required == BLOCK
    assert [(one.name, one.required) for one in workers.members if isinstance(one, Group)] == [
        ("prefill", RACK), ("decode", RACK),
    ]  # fmt: skip
    assert group(request, "api-server").required is None


def test_the_normal_form_of_the_nested_sample() -> None:  # M-014
    form = normal(SAMPLE2, *PODS2)
    assert form["topology"] == {"required": "topology/zone"}
    assert form["topologyName"] == "cluster-topology"
    assert [(g["name"], g.get("parent"), g.get("minCount"), g.get("count")) for g in form["podGroups"]] == [
        ("api-server", None, 1, 1), ("workers", None, None, None), ("prefill", "workers", 3, 3),
        ("decode", "workers", 5, 5),
    ]  # fmt: skip


def test_spine_and_rack_of_the_prose() -> None:  # M-011, M-016, X-17
    levels = Topology.of("network", ["region", "zone", "spine", "rack", HOSTNAME])
    near = {level: {"topology": "network", "requiredTopologyLevel": level} for level in ("zone", "spine", "rack")}
    doc = podgroup(
        sub("a-and-b", near=near["spine"]), sub("a", 1, "a-and-b", near["rack"]), sub("b", 1, "a-and-b", near["rack"]),
        sub("c", 1, near=near["rack"]), topologyConstraint=near["zone"],
    )  # fmt: skip
    there = [pod(f"pod-{name}", name) for name in "abc"]
    request = found(doc, *there, around=Surroundings(topologies=(levels,)))
    assert [(one.name, one.required) for one in request.root.groups()] == [
        ("sample", 2), ("a-and-b", 3), ("a", 4), ("b", 4), ("c", 4),
    ]  # fmt: skip


def test_the_spelling_of_the_design_is_read_with_a_hint() -> None:  # M-006, X-06
    doc = podgroup(minMember=None, subgroups=SAMPLE1["spec"]["subGroups"])
    assert found(doc, *PODS1).root == found(podgroup(*SAMPLE1["spec"]["subGroups"]), *PODS1).root
    assert "subGroups" in told(doc, *PODS1)["spec.subgroups"]
    assert told(podgroup(*SAMPLE1["spec"]["subGroups"]), *PODS1) == {}


def test_both_spellings_at_once_are_refused() -> None:
    assert only(podgroup(sub("a", 1), subgroups=[]), pod("one", "a")).path == "spec.subgroups"


@pytest.mark.parametrize("where", ["top", "subgroup"])
def test_the_plural_of_topology_constraint_is_read_with_a_warning(where: str) -> None:  # KA-025, X-04
    if where == "top":
        doc = podgroup(sub("a", 1), topologyConstraints=RACK_OF)
        assert found(doc, pod("one", "a")).root.required == RACK
        assert "topologyConstraint" in told(doc, pod("one", "a"))["spec.topologyConstraints"]
    else:
        doc = podgroup(sub("a", 1, topologyConstraints=RACK_OF))
        assert group(found(doc, pod("one", "a")), "a").required == RACK
        assert list(told(doc, pod("one", "a"))) == ["spec.subGroups[0].topologyConstraints"]


def test_singular_and_plural_at_once_are_refused() -> None:
    doc = podgroup(minMember=1, topologyConstraint=RACK_OF, topologyConstraints=RACK_OF)
    assert only(doc, pod("one")).path == "spec.topologyConstraints"


@pytest.mark.parametrize("level", ["topology/rack", "rack"])
def test_a_level_is_named_by_its_label_or_by_what_follows_the_slash(level: str) -> None:
    near = {"topology": "cluster-topology", "requiredTopologyLevel": level}
    assert found(podgroup(minMember=1, topologyConstraint=near), pod("one")).root.required == RACK


def test_a_level_is_named_by_its_alias_in_kais_topology() -> None:
    levels = topology(
        {"nodeLabel": "topology/zone"}, {"nodeLabel": "topology/rack", "alias": "cabinet"},
        api="kai.scheduler/v1alpha1", name="network",
    )  # fmt: skip
    near = {"topology": "network", "requiredTopologyLevel": "cabinet"}
    (request,) = read([levels, podgroup(minMember=1, topologyConstraint=near), pod("one")]).requests
    assert request.root.required == 2


def test_an_unknown_level_is_a_problem_that_lists_the_good_ones() -> None:  # KA-058, X-05
    near = {"topology": "cluster-topology", "requiredTopologyLevel": "rak"}
    problem = only(podgroup(sub("a", 1, near=near)), pod("one", "a"))
    assert problem.path == "spec.subGroups[0].topologyConstraint.requiredTopologyLevel"
    assert "rack" in problem.allowed


def test_empty_texts_are_nothing_as_go_writes_them() -> None:
    near = {"topology": "", "requiredTopologyLevel": "", "preferredTopologyLevel": ""}
    doc = podgroup(
        sub("a", 1, "", near), queue="", priorityClassName="", preemptibility="", topologyConstraint={},
        stalenessGracePeriod="",
    )  # fmt: skip
    assert found(doc, pod("one", "a")).root.required is None
    assert told(doc, pod("one", "a")) == {}


# ----------------------------------------------------------------------------------------------- minimum of subgroups


def test_min_sub_group_is_how_many_must_start() -> None:
    request = found(podgroup(sub("a", 1), sub("b", 1), minSubGroup=1), pod("pa", "a"), pod("pb", "b"))
    assert request.root.min_members == 1


def test_min_sub_group_of_an_inner_subgroup_counts_its_children() -> None:
    doc = podgroup(sub("w", minSubGroup=1), sub("a", 1, "w"), sub("b", 1, "w"), sub("c", 1))
    request = found(doc, pod("pa", "a"), pod("pb", "b"), pod("pc", "c"))
    assert group(request, "w").min_members == 1
    assert request.root.min_members is None


def test_a_subgroup_that_others_do_without_is_not_waited_for() -> None:
    doc = podgroup(sub("a", 1), sub("b", 3), minSubGroup=1)
    request = found(doc, pod("pa", "a"), pod("pb", "b"))
    assert (counts(request), request.missing) == ({"a": (1, 1)}, ())
    assert "has 1 of 3 pods" in told(doc, pod("pa", "a"), pod("pb", "b"))["spec.subGroups[1]"]


def test_with_too_few_subgroups_that_could_start_all_are_waited_for() -> None:
    request = found(podgroup(sub("a", 2), sub("b", 3), sub("c", 1), minSubGroup=2), pod("pa", "a"), pod("pc", "c"))
    assert request.missing == (Missing("a", 2, 1), Missing("b", 3, 0))


def test_min_sub_group_0_lets_each_subgroup_start_alone() -> None:
    reading = read_workloads([podgroup(sub("a", 1), sub("b", 2), minSubGroup=0), pod("pa", "a")], AROUND)
    assert [(one.unit, one.missing) for one in reading.requests] == [("a", ()), ("b", (Missing("b", 2, 0),))]


def test_subgroups_that_start_alone_are_not_held_together() -> None:
    doc = podgroup(sub("a", 1), sub("b", 1), minSubGroup=0, topologyConstraint=RACK_OF)
    assert only(doc, pod("pa", "a"), pod("pb", "b")).path == "spec.minSubGroup"


def test_a_subgroup_that_needs_no_pods_is_not_waited_for() -> None:
    request = found(podgroup(sub("a", 2), sub("extra", 0)), *pods("a", 2), *pods("extra", 3))
    assert counts(request) == {"a": (2, 2), "extra": (1, 3)}
    assert group(request, "extra.elastic").min_members == 0


def test_a_subgroup_that_needs_no_pods_and_has_none_is_left_out() -> None:
    doc = podgroup(sub("a", 2), sub("w"), sub("extra", 0, "w"))
    assert counts(found(doc, *pods("a", 2))) == {"a": (2, 2)}
    assert list(told(doc, *pods("a", 2))) == ["spec.subGroups[2]"]


def test_a_subgroup_that_needs_no_pods_counts_as_started() -> None:
    doc = podgroup(sub("a", 1), sub("b", 1), sub("extra", 0), minSubGroup=2)
    assert found(doc, pod("pa", "a"), pod("pb", "b")).root.min_members == 1


def test_a_subgroup_that_needs_no_pods_is_a_unit_where_each_starts_alone() -> None:
    docs = [podgroup(sub("a", 1), sub("extra", 0), minSubGroup=0), pod("pa", "a"), pod("pe", "extra")]
    assert [one.unit for one in read_workloads(docs, AROUND).requests] == ["a", "extra"]


def test_a_name_used_twice_is_told_though_neither_would_be_placed() -> None:  # M-009
    assert {one.path for one in wrong(podgroup(sub("a", 0), sub("a", 0)))} >= {"spec.subGroups[1].name"}


@pytest.mark.parametrize(
    ("doc", "path", "word"),
    [
        (podgroup(sub("w", 1), sub("a", 1, "w")), "spec.subGroups[0].minMember", "minSubGroup"),  # M-007, X-15
        (podgroup(sub("a", 1, minSubGroup=1)), "spec.subGroups[0].minSubGroup", "minMember"),
        (podgroup(sub("a", 1), minSubGroup=2), "spec.minSubGroup", "directly below, 1"),
        (podgroup(sub("w", minSubGroup=2), sub("a", 1, "w")), "spec.subGroups[0].minSubGroup", "directly below, 1"),
        (podgroup(sub("a", 1), minMember=1, minSubGroup=1), "spec.minMember", "exclude"),
        (podgroup(sub("a", 1), minMember=2), "spec.minMember", "together, 1"),
        (podgroup(sub("a", 1), sub("a", 1)), "spec.subGroups[1].name", "two groups"),  # M-009
        (podgroup(sub("a", 1, "b")), "spec.subGroups[0].parent", "not a group"),  # M-009
        (podgroup(sub("a", 1), {"minMember": 1}), "spec.subGroups[1].name", "needs a name"),
        (podgroup(sub("a", -1)), "spec.subGroups[0].minMember", "less than 0"),
        (podgroup(sub("a", 1), preemptibility="maybe"), "spec.preemptibility", "preemptible"),
        (podgroup(sub("a", 1), stalenessGracePeriod="soon"), "spec.stalenessGracePeriod", "duration"),
    ],
)
def test_each_rule_is_broken_by_one_manifest(doc: Doc, path: str, word: str) -> None:
    problem = only(doc, pod("one", "a"))
    assert problem.path == path
    assert word in problem.message


def test_min_sub_group_without_subgroups_is_refused() -> None:
    assert only(podgroup(minMember=1, minSubGroup=1), pod("one")).path == "spec.minSubGroup"


def test_parents_in_a_circle_are_refused() -> None:  # M-009
    problems = wrong(podgroup(sub("a", parent="b"), sub("b", parent="a"), sub("c", 1)), pod("one", "c"))
    assert {one.path for one in problems} == {"spec.subGroups[0].parent", "spec.subGroups[1].parent"}
    assert all("circle" in one.message for one in problems)


def test_circles_of_names_that_are_used_again_and_again_end() -> None:
    names = ["a", "b", "c"] * 8
    circle = [sub(name, parent=names[i - 1], minSubGroup=1) for i, name in enumerate(names)]
    assert wrong(podgroup(*circle, minSubGroup=0), pod("one", "a"))


def test_a_minimum_of_the_podgroup_below_that_of_its_subgroups_is_told() -> None:
    assert "3 in all" in told(podgroup(sub("a", 3), minMember=2), *pods("a", 3))["spec.minMember"]
    assert told(podgroup(sub("a", 3), minMember=3), *pods("a", 3)) == {}


# -------------------------------------------------------------------------------------------------------- topologies


def test_a_child_wider_than_what_is_around_it_is_a_warning() -> None:  # M-018
    doc = podgroup(sub("w", near=RACK_OF), sub("a", 1, "w", ZONE_OF))
    assert list(told(doc, pod("one", "a"))) == ["spec.subGroups[1].topologyConstraint.requiredTopologyLevel"]


def test_subgroups_of_two_topologies_are_refused() -> None:  # M-019
    doc = podgroup(sub("a", 1, near=RACK_OF), sub("b", 1, near={**RACK_OF, "topology": "other"}))
    problem = only(doc, pod("pa", "a"), pod("pb", "b"), around=TWO)
    assert problem.path == "spec.subGroups[1].topologyConstraint.topology"
    assert "cluster-topology" in problem.message


def test_each_podgroup_has_a_topology_of_its_own() -> None:  # KA-021
    near = {"topology": "other", "requiredTopologyLevel": "topology/rack"}
    request = found(podgroup(minMember=1, topologyConstraint=near), pod("one"), around=TWO)
    assert (request.topology, request.root.required) == ("other", 2)


def test_a_level_needs_the_name_of_a_topology_unless_there_is_one() -> None:  # KA-022, X-39
    doc = podgroup(minMember=1, topologyConstraint={"requiredTopologyLevel": "topology/rack"})
    assert found(doc, pod("one")).root.required == RACK
    problem = only(doc, pod("one"), around=TWO)
    assert (problem.path, problem.allowed) == ("spec.topologyConstraint.topology", ("cluster-topology", "other"))


def test_with_several_topologies_each_level_has_the_name_beside_it() -> None:  # KA-022
    doc = podgroup(sub("a", 1, near={"requiredTopologyLevel": "topology/rack"}), topologyConstraint=ZONE_OF)
    assert found(doc, pod("one", "a")).root.required == ZONE
    assert only(doc, pod("one", "a"), around=TWO).path == "spec.subGroups[0].topologyConstraint.topology"


def test_a_topology_that_is_not_there_is_a_problem() -> None:
    near = {"topology": "none", "requiredTopologyLevel": "topology/rack"}
    assert "no Topology 'none'" in only(podgroup(minMember=1, topologyConstraint=near), pod("one")).message


def test_a_topology_without_a_level_asks_for_nothing_and_is_told() -> None:
    doc = podgroup(minMember=1, topologyConstraint={"topology": "cluster-topology"})
    assert "no level" in told(doc, pod("one"))["spec.topologyConstraint"]


# -------------------------------------------------------------------------------------------------------------- pods


def test_a_gang_waits_until_each_subgroup_has_its_pods() -> None:  # M-022
    there = [one for one in PODS2 if one["metadata"]["name"] != "pod-decode-4"]
    assert found(SAMPLE2, *there).missing == (Missing("decode", 5, 4),)
    assert found(SAMPLE2, *PODS2).missing == ()
    assert [one.group for one in found(SAMPLE2).missing] == ["api-server", "prefill", "decode"]


def test_pods_beyond_the_minimum_are_elastic_under_the_same_constraint() -> None:  # M-025
    request = found(SAMPLE2, *PODS2, pod("pod-prefill-3", "prefill", "sample2"))
    assert counts(request)["prefill"] == (3, 4)
    assert group(request, "prefill").required == RACK


def test_a_label_puts_a_pod_into_its_subgroup() -> None:  # M-020, M-021
    request = found(podgroup(sub("a", 1), sub("b", 1)), pod("one", "a", cpu="1"), pod("two", "b", cpu="2"))
    cpu = {one.name: dict(one.shape.requests)["cpu"] for one in request.root.pod_sets()}
    assert cpu["b"] == 2 * cpu["a"]


def test_the_designs_own_labels_are_told_pod_by_pod() -> None:  # M-023, X-07
    there = [pod(f"pod-{letter}1", f"subgroup-{letter}", "sample2") for letter in "abc"]
    problems = wrong(SAMPLE2, *there)
    assert [one.value for one in problems] == ["subgroup-a", "subgroup-b", "subgroup-c"]
    assert problems[0].message == (
        "pod pod-a1 names subgroup 'subgroup-a'; PodGroup sample2 has: api-server, prefill, decode"
    )
    assert problems[0].allowed == ("api-server", "prefill", "decode")


def test_a_pod_that_names_an_inner_subgroup_is_told() -> None:  # M-007, M-023
    assert only(SAMPLE2, *PODS2, pod("lost", "workers", "sample2")).value == "workers"


def test_a_pod_without_a_subgroup_is_told_where_there_are_several() -> None:  # M-024
    problem = only(SAMPLE1, *PODS1, pod("lost"))
    assert problem.message.startswith("pod lost names no subgroup of PodGroup sample")
    assert counts(found(podgroup(sub("a", 1)), pod("one"))) == {"a": (1, 1)}


def test_wishes_on_the_pods_of_a_podgroup_are_told_to_have_no_say() -> None:
    near = {NAME: "cluster-topology", REQUIRED: "rack"}
    assert "Pod/one" in told(podgroup(minMember=1), pod("one", None, "sample", "1", **near))[""]


def test_a_job_whose_template_names_a_podgroup_brings_its_pods() -> None:  # M-020
    doc = job(None, {"pod-group-name": "sample"})
    request = found(podgroup(minMember=4, topologyConstraint=RACK_OF), doc)
    assert (counts(request), request.root.required) == ({"sample": (4, 4)}, RACK)


# ------------------------------------------------------------------------------------------------------ other fields


def test_queue_and_priority_of_a_podgroup() -> None:  # M-013
    around = Surroundings(topologies=(LEVELS,), priorities={"inference": 125})
    request = found(SAMPLE1, *PODS1, around=around)
    assert (request.queue, request.priority) == ("test", 125)
    labelled = podgroup(minMember=1)
    labelled["metadata"]["labels"] = {"kai.scheduler/queue": "q"}
    assert found(labelled, pod("one")).queue == "q"


@pytest.mark.parametrize(
    ("said", "priority", "expected"),
    [("preemptible", 125, True), ("non-preemptible", 50, False), (None, 50, True), (None, 100, False), ("", 99, True)],
)
def test_who_may_be_evicted_is_said_or_follows_from_the_priority(
    said: str | None, priority: int, expected: bool
) -> None:
    around = Surroundings(topologies=(LEVELS,), priorities={"c": priority})
    doc = podgroup(minMember=1, preemptibility=said, priorityClassName="c")
    sorted_docs, _ = documents.sort([doc])
    (one,) = workloads.read(sorted_docs, around, None).outlines
    plain = outline.plain(one.spec)
    assert isinstance(plain, dict)
    assert plain["preemptible"] is expected


def test_a_semi_preemptible_podgroup_is_not_evicted_and_what_that_leaves_out_is_told() -> None:
    doc = podgroup(sub("a", 1), preemptibility="semi-preemptible", minNonPreemptible=1)
    assert normal(doc)["preemptible"] is False
    notes = told(doc, pod("one", "a"))
    assert set(notes) == {"spec.preemptibility", "spec.minNonPreemptible"}
    assert "beyond the minimum" in notes["spec.preemptibility"]


def test_the_label_says_who_may_be_evicted_where_the_field_does_not() -> None:
    doc = podgroup(minMember=1)
    doc["metadata"]["labels"] = {"kai.scheduler/preemptibility": "non-preemptible"}
    assert normal(doc)["preemptible"] is False
    doc["spec"]["preemptibility"] = "preemptible"
    assert normal(doc)["preemptible"] is True


def test_the_pods_of_a_podgroup_keep_to_its_node_pool() -> None:
    doc = podgroup(minMember=2)
    doc["metadata"]["labels"] = {"kai.scheduler/node-pool": "gpus"}
    nodes = [node("free"), node("pooled", {"kai.scheduler/node-pool": "gpus"})]
    (decision,) = phalanx.Cluster.from_manifests(nodes).place([doc, *pods(None, 2)])
    assert decision.pod_sets == {"sample": {"pooled": 2}}


def test_a_delay_that_is_annotated_is_told_not_to_be_considered() -> None:
    doc = podgroup(minMember=1)
    doc["metadata"]["annotations"] = {"kai.scheduler/preemption-delay": "2m"}
    assert list(told(doc, pod("one"))) == ["metadata.annotations['kai.scheduler/preemption-delay']"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1m30s", 90), ("1h", 3600), ("1500ms", 2), ("1.5m", 90), ("3µs", 1)]
)
def test_a_grace_period_is_the_time_to_recover(text: str, seconds: int) -> None:
    assert normal(podgroup(minMember=1, stalenessGracePeriod=text))["recoveryTimeoutSeconds"] == seconds


@pytest.mark.parametrize("text", ["-1s", "0s"])
def test_a_grace_period_without_end_is_told_not_to_be_considered(text: str) -> None:
    doc = podgroup(minMember=1, stalenessGracePeriod=text)
    assert "recoveryTimeoutSeconds" not in normal(doc)
    assert list(told(doc, pod("one"))) == ["spec.stalenessGracePeriod"]


@pytest.mark.parametrize("name", ["markUnschedulable", "schedulingBackoff", "preemptionDelay", "minNonPreemptible"])
def test_fields_that_are_not_considered_are_told(name: str) -> None:
    doc = podgroup(minMember=1)
    doc["spec"][name] = 1
    assert told(doc, pod("one")) == {f"spec.{name}": "is not considered"}


def test_annotations_that_a_podgroup_does_not_read_are_told() -> None:
    doc = podgroup(minMember=1)
    doc["metadata"]["annotations"] = {REQUIRED: "rack", "phalanx.dev/queue": "q", "other": "x"}
    assert set(told(doc, pod("one"))) == {
        f"metadata.annotations['{REQUIRED}']", "metadata.annotations['phalanx.dev/queue']",
    }  # fmt: skip
    doc["spec"]["topologyConstraint"] = RACK_OF  # as KAI itself writes it, with the owner's annotations copied
    assert list(told(doc, pod("one"))) == ["metadata.annotations['phalanx.dev/queue']"]


# --------------------------------------------------------------------------------------------------------- placement


def racks(sizes: dict[str, int]) -> list[Doc]:
    """Nodes for one pod each, so many in each ``zone/block/rack``."""
    keys = ("topology/zone", "topology/block", "topology/rack")
    full = {"cpu": "1", "memory": "1Gi", "pods": "110"}
    return [
        node(f"{path.replace('/', '-')}-{i}", dict(zip(keys, path.split("/"), strict=True)), allocatable=full)
        for path, size in sizes.items() for i in range(size)
    ]  # fmt: skip


def place(sizes: dict[str, int], *docs: Doc) -> Any:
    levels = topology(*keys_of(LEVELS), api="kai.scheduler/v1alpha1", name="cluster-topology")
    (decision,) = phalanx.Cluster.from_manifests([levels, *racks(sizes)]).place(list(docs))
    return decision


def keys_of(levels: Topology) -> list[str]:
    return [level.label for level in levels.levels]


def test_independent_subgroups_may_sit_in_different_racks() -> None:  # M-012, KA-026
    decision = place({"z/b/r1": 2, "z/b/r2": 3}, SAMPLE1, *PODS1)
    assert decision.status == "Placed"
    assert decision.domains["subgroup-a"] == ("z", "b", "r1")
    assert decision.domains["subgroup-b"] == ("z", "b", "r2")


def test_a_subgroup_without_room_keeps_the_other_back() -> None:  # M-004, M-012, X-14
    assert place({"z/b/r1": 2, "z/b/r2": 2}, SAMPLE1, *PODS1).status == "Waiting"


def test_the_only_combination_of_zone_block_and_rack_is_found() -> None:  # M-014, M-017
    sizes = {"z1/b1/r1": 5, "z1/b1/r2": 2, "z1/b2/r1": 3, "z2/b1/r1": 1, "z2/b2/r1": 3, "z2/b2/r2": 5}
    decision = place(sizes, SAMPLE2, *PODS2)
    assert decision.status == "Placed"
    assert decision.domains["workers"] == ("z2", "b2")
    assert decision.pod_sets["api-server"] == {"z2-b1-r1-0": 1}


def test_a_gang_with_pods_missing_waits_and_says_for_whom() -> None:  # M-022
    decision = place({"z/b/r1": 9, "z/b/r2": 9}, SAMPLE2, *PODS2[:-1])
    assert (decision.status, decision.to_dict()["reason"]["type"]) == ("Waiting", "PodsMissing")
    assert "decode" in decision.explain()


def test_elastic_pods_do_not_hold_back_their_gang() -> None:  # M-025
    decision = place({"z/b/r1": 3, "z/b/r2": 1}, podgroup(minMember=3, topologyConstraint=RACK_OF), *pods(None, 4))
    assert decision.status == "Placed"
    assert sum(decision.pod_sets["sample"].values()) == 3


def test_a_preferred_level_that_is_full_falls_back_inside_the_required_one() -> None:  # M-026, KA-027
    near = {**BLOCK_OF, "preferredTopologyLevel": "topology/rack"}
    doc = podgroup(minMember=3, topologyConstraint=near)
    assert place({"z/b1/r1": 3, "z/b2/r1": 9}, doc, *pods(None, 3)).domains["sample"][:2] == ("z", "b1")
    decision = place({"z/b1/r1": 2, "z/b1/r2": 1, "z/b2/r1": 2}, doc, *pods(None, 3))
    assert decision.domains["sample"] == ("z", "b1")


# ------------------------------------------------------------------------------------- annotations on the top owner

GOLDEN = {PREFERRED: "rack", REQUIRED: "zone", NAME: "network"}
NETWORK = Surroundings(topologies=(Topology.of("network", ["zone", "rack", HOSTNAME]), OTHER))
JOBSET: Doc = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js", "annotations": GOLDEN},
    "spec": {"replicatedJobs": [
        {"name": "w", "replicas": 2, "template": {"spec": {
            "parallelism": 2, "completions": 2, "template": {"spec": pod_spec()}}}}]},
}  # fmt: skip
MPIJOB: Doc = {
    "apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "mpi", "annotations": GOLDEN},
    "spec": {"mpiReplicaSpecs": {
        "Launcher": {"replicas": 1, "template": {"spec": pod_spec()}},
        "Worker": {"replicas": 2, "template": {"spec": pod_spec()}}}},
}  # fmt: skip
BARE: Doc = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": GOLDEN}, "spec": pod_spec(),
}  # fmt: skip
OWNERS = [job(GOLDEN), JOBSET, MPIJOB, BARE]


@pytest.mark.parametrize("doc", OWNERS, ids=[doc["kind"] for doc in OWNERS])
def test_annotations_on_the_top_owner_bound_all_its_pods(doc: Doc) -> None:  # KA-019..KA-023, KA-057, KA-060
    request = found(doc, around=NETWORK)
    assert (request.topology, request.root.required, request.root.preferred) == ("network", 1, 2)


@pytest.mark.parametrize("doc", OWNERS, ids=[doc["kind"] for doc in OWNERS])
def test_a_bad_level_in_an_annotation_is_told_where_it_stands(doc: Doc) -> None:  # KA-058
    bad = {**doc, "metadata": {**doc["metadata"], "annotations": {**GOLDEN, REQUIRED: "rak"}}}
    problem = only(bad, around=NETWORK)
    assert problem.path == f"metadata.annotations['{REQUIRED}']"
    assert "zone" in problem.allowed


def test_an_annotation_with_a_level_needs_the_name_of_a_topology() -> None:  # KA-022
    assert f"metadata.annotations['{NAME}']" in [one.path for one in wrong(job({REQUIRED: "zone"}), around=NETWORK)]


# ----------------------------------------------------------------------------------------------------------- garbage

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["a", "b", "w", "", "topology/rack", "cluster-topology", 10**70, -1, 0, 2**31, "\ud800", "1h"])
)  # fmt: skip
GARBAGE = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
NAMES = st.sampled_from(["a", "b", "w", "x"])
SUBGROUPS = st.lists(
    GARBAGE | st.fixed_dictionaries({}, optional={
        "name": NAMES | GARBAGE, "parent": NAMES | GARBAGE, "minMember": st.integers(-1, 4) | GARBAGE,
        "minSubGroup": st.integers(-1, 3) | GARBAGE, "topologyConstraint": st.just(RACK_OF) | GARBAGE,
        "topologyConstraints": GARBAGE,
    }), max_size=6,
)  # fmt: skip
SPECS = GARBAGE | st.fixed_dictionaries({}, optional={
    "minMember": st.integers(-1, 4) | GARBAGE, "minSubGroup": st.integers(-1, 3) | GARBAGE,
    "subGroups": SUBGROUPS | GARBAGE, "subgroups": SUBGROUPS | GARBAGE, "topologyConstraint": GARBAGE,
    "topologyConstraints": GARBAGE, "queue": GARBAGE, "priorityClassName": GARBAGE, "preemptibility": GARBAGE,
    "stalenessGracePeriod": GARBAGE, "preemptionDelay": GARBAGE,
})  # fmt: skip
MEMBERS = st.lists(st.tuples(NAMES | st.none(), st.sampled_from(["1", "2"])), max_size=5)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=SPECS, metadata=GARBAGE, belonging=MEMBERS)
def test_any_podgroup_becomes_requests_or_problems(
    spec: object, metadata: object, belonging: list[tuple[str | None, str]]
) -> None:
    api = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"}
    there = [pod(f"pod-{i}", name, cpu=cpu) for i, (name, cpu) in enumerate(belonging)]
    levels = topology(*keys_of(LEVELS), name="cluster-topology")
    reading = read([levels, {**api, "metadata": {"name": "sample"}, "spec": spec}, *there])
    for item in (*reading.items, *read([{**api, "metadata": metadata, "spec": spec}]).items):
        assert isinstance(item, (Request, Invalid))
        assert not isinstance(item, Invalid) or item.problems
        if isinstance(item, Request):
            assert all(0 <= one.min_count <= one.count for one in item.root.pod_sets())
            assert any(one.min_count for one in item.root.pod_sets())
            names = [one.name for one in item.root.groups()]
            assert len(set(names)) == len(names)
