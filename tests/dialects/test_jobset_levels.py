"""JobSets: how close their pods must be, by our annotations, Kueue's and JobSet's own."""

import pytest

from phalanx import Cluster
from phalanx.dialects.reading import read
from tests.dialects.jobset_manifests import (
    EXCLUSIVE,
    JOBS,
    KUEUE_GROUP,
    KUEUE_NONE,
    KUEUE_PREFERRED,
    KUEUE_QUEUE,
    KUEUE_REQUIRED,
    MODE,
    PREFERRED,
    REQUIRED,
    group,
    groups,
    jobset,
    notes,
    place,
    racks,
    rj,
    units,
)
from tests.dialects.manifests import BLOCK, RACK, ZONE, Doc, problem, request, topology

# ---------------------------------------------------------------------------------------------------------- wishes


def test_wishes_nest_by_where_they_stand() -> None:  # X-29, X-48
    doc = jobset(
        rj("a", 2, 4, each={REQUIRED: "rack"}, all_pods={REQUIRED: "block"}),
        rj("b", 1, 1),
        annotations={REQUIRED: "zone"},
    )
    found = request(doc)
    assert (found.root.required, group(doc, "all-a").required) == (ZONE, BLOCK)
    assert [group(doc, f"a[{i}]").required for i in (0, 1)] == [RACK, RACK]
    assert group(doc, "b").required is None


def test_each_job_in_a_rack_of_its_own() -> None:  # K-011
    doc = jobset(rj("workers", 2, 4, each={REQUIRED: "rack"}))
    assert units(doc) == {None: (8, 8)}
    (decision,) = Cluster.from_manifests(racks(4, 3, 4)).place([doc])
    assert decision.pod_sets in (
        {"workers[0]": {"n0": 4}, "workers[1]": {"n2": 4}},
        {"workers[0]": {"n2": 4}, "workers[1]": {"n0": 4}},
    )


def test_workers_in_a_rack_and_everything_in_a_block() -> None:  # K-012
    leader, workers = rj("leader", 1, 1), rj("workers", 2, 2, all_pods={KUEUE_REQUIRED: "rack"})
    doc = jobset(leader, workers, annotations={REQUIRED: "block"})
    (decision,) = Cluster.from_manifests(racks(4, 0, 3, 2, 4, 1)).place([doc])
    assert decision.pod_sets == {"leader": {"n5": 1}, "workers": {"n4": 4}}


def test_the_wish_of_a_pod_template_is_for_all_jobs_as_in_kueue() -> None:  # K-013, K-015
    leader = rj("leader", 1, 1, all_pods={KUEUE_REQUIRED: "topology/rack"})
    workers = rj("workers", 2, 2, all_pods={KUEUE_PREFERRED: "topology/rack"})
    (decision,) = Cluster.from_manifests(racks(3, 3)).place([jobset(leader, workers, labels={KUEUE_QUEUE: "q"})])
    assert decision.status == "Placed"
    assert sum(decision.pod_sets["workers"].values()) == 4
    assert decision.domains["workers"] == ("b0",)
    assert decision.level_reached["workers"] == "block"


def test_a_replicated_job_that_is_a_gang_holds_its_jobs_together() -> None:
    doc = jobset(rj("a", 2, 4, "Gang", each={REQUIRED: "rack"}, all_pods={REQUIRED: "block"}), rj("b", mode="Off"))
    assert units(doc) == {"all-a": (8, 8), "b": (8, 1)}
    assert groups(doc)[0] == {"name": "all-a", "policy": "Gang", "topology": {"required": "block"}}
    assert (group(doc, "all-a").required, group(doc, "a[1]").required) == (BLOCK, RACK)
    assert place(doc, 4, 3, 0, 0) == {"all-a": ("Waiting", 0), "b": ("Placed", 7)}


def test_jobs_with_levels_of_their_own_still_start_together() -> None:
    doc = jobset(rj("a", 2, 4, "Gang", each={REQUIRED: "rack"}))
    assert units(doc) == {"all-a": (8, 8)}
    assert place(doc, 4, 3) == {"all-a": ("Waiting", 0)}


def test_jobs_that_are_gangs_can_share_a_bound() -> None:
    doc = jobset(rj("a", 2, 4, "ReplicatedGang", all_pods={REQUIRED: "block"}))
    assert groups(doc)[0] == {"name": "all-a", "policy": "Basic", "topology": {"required": "block"}}
    assert place(doc, 4, 3, 4, 0) == {"all-a": ("Placed", 4)}


def test_the_group_around_copies_never_takes_the_name_of_a_replicated_job() -> None:
    near: Doc = {"each": {REQUIRED: "rack"}, "all_pods": {REQUIRED: "block"}}
    doc = jobset(rj("a", **near), rj("all-a", **near))
    assert [one["name"] for one in groups(doc)] == ["all-a.", "a", "all-all-a", "all-a"]


def test_jobs_without_a_gang_still_keep_their_levels() -> None:
    doc = jobset(rj("a", 2, 4, "Off", each={REQUIRED: "rack"}))
    assert units(doc) == {"a[0]": (4, 1), "a[1]": (4, 1)}
    assert group(doc, "a[1]").required == RACK


def test_a_bound_around_parts_that_start_on_their_own_is_refused() -> None:
    found = problem(jobset(rj("a", mode="Gang"), rj("b", mode="Gang"), annotations={REQUIRED: "block"}))
    assert (found.path, found.value) == ("metadata.annotations['phalanx.dev/topology-required']", "block")
    assert "start in parts" in found.message
    assert units(jobset(rj("a", mode="Gang"), annotations={REQUIRED: "block"})) == {"a": (8, 8)}
    assert len(units(jobset(rj("a", mode="Gang"), rj("b"), annotations={PREFERRED: "block"}))) == 2


def test_a_wish_in_the_wrong_words_names_where_it_is_written() -> None:
    found = problem(jobset(rj("a"), rj("b", each={REQUIRED: "rak"})))
    assert (found.path, found.value) == (f"{JOBS}[1].template.metadata.annotations['{REQUIRED}']", "rak")
    pods = problem(jobset(rj("a", all_pods={REQUIRED: "rak"})))
    assert pods.path == f"{JOBS}[0].template.spec.template.metadata.annotations['{REQUIRED}']"
    kueue = problem(jobset(rj("a", each={KUEUE_REQUIRED: "rack"})))
    assert kueue.path == f"{JOBS}[0].template.metadata.annotations['{KUEUE_REQUIRED}']"


@pytest.mark.parametrize("where", ["jobset", "Job template"])
def test_a_domain_per_job_is_kept_and_what_is_not_is_said(where: str) -> None:
    own, each = ({EXCLUSIVE: "topology/rack"}, {}) if where == "jobset" else ({}, {EXCLUSIVE: "topology/rack"})
    doc = jobset(rj("a", 2, 4, each=each), annotations={MODE: "Gang", **own})
    assert [group(doc, f"a[{i}]").required for i in (0, 1)] == [RACK, RACK]
    (only,) = notes(doc)
    path = "" if where == "jobset" else f"{JOBS}[0].template."
    assert only.path == f"{path}metadata.annotations['{EXCLUSIVE}']"
    assert "pods of other Jobs of JobSets are kept out of it, those of other workloads are not" in only.message


def test_jobs_that_start_together_keep_apart() -> None:
    doc = jobset(rj("a", 2, 4), annotations={EXCLUSIVE: "topology/rack"})
    assert place(doc, 9, 3) == {None: ("Waiting", 0)}
    (decision,) = Cluster.from_manifests(racks(9, 4)).place([doc])
    assert sorted(decision.pod_sets.values(), key=str) == [{"n0": 4}, {"n1": 4}]


@pytest.mark.parametrize("mode", ["ReplicatedGang", "Off"])
def test_jobs_that_start_on_their_own_keep_apart_too(mode: str) -> None:
    doc = jobset(rj("a", 2, 4, each={EXCLUSIVE: "topology/rack", MODE: mode}))
    assert group(doc, "a[1]").required == RACK
    assert ["kept out" in note.message for note in notes(doc)] == [True]
    assert place(doc, 9, 3) == {"a[0]": ("Placed", 4), "a[1]": ("Waiting", 0) if mode != "Off" else ("Placed", 3)}


def test_another_level_for_each_job_beside_a_domain_per_job_is_refused() -> None:
    """JobSet's webhook holds the pods of a Job in the domain of its own level, whatever we were asked for."""
    doc = jobset(rj("a", each={EXCLUSIVE: "topology/rack", REQUIRED: "block"}), annotations={MODE: "Gang"})
    found = problem(doc)
    assert found.path == f"{JOBS}[0].template.metadata.annotations['{EXCLUSIVE}']"
    assert f"{JOBS}[0].template.metadata.annotations['{REQUIRED}']" in found.message
    both = jobset(rj("a", each={EXCLUSIVE: "topology/block", PREFERRED: "rack"}), annotations={MODE: "Gang"})
    assert (group(both, "a[0]").required, group(both, "a[0]").preferred) == (BLOCK, RACK)


def test_a_domain_per_job_needs_a_level_that_exists() -> None:
    found = problem(jobset(rj("a", each={EXCLUSIVE: "cloud/nodepool"}), mode="Gang"))
    assert (found.path, found.value) == (f"{JOBS}[0].template.metadata.annotations['{EXCLUSIVE}']", "cloud/nodepool")


# ----------------------------------------------------------------------------------------------------------- Kueue


def test_one_level_of_kueues_wants_one_on_every_pod_template() -> None:  # K-038
    found = problem(jobset(rj("leader", all_pods={KUEUE_REQUIRED: "rack"}), rj("workers")))
    assert found.path == f"{JOBS}[1].template.spec.template.metadata.annotations"
    assert "replicated job workers" in found.message
    assert found.allowed == (KUEUE_REQUIRED, KUEUE_PREFERRED)


@pytest.mark.parametrize("other", [{KUEUE_PREFERRED: "rack"}, {KUEUE_NONE: "true"}, {REQUIRED: "rack"}])
def test_any_word_about_places_will_do(other: Doc) -> None:  # K-038
    assert units(jobset(rj("a", all_pods={KUEUE_REQUIRED: "rack"}), rj("b", all_pods=other))) == {None: (16, 16)}


def test_a_bound_around_all_is_one_for_every_pod_template() -> None:  # K-012, K-038
    doc = jobset(rj("a", all_pods={KUEUE_REQUIRED: "rack"}), rj("b"), annotations={REQUIRED: "block"})
    assert units(doc) == {None: (16, 16)}


def test_pod_templates_of_one_group_share_a_domain() -> None:
    near = {KUEUE_REQUIRED: "rack", KUEUE_GROUP: "pair"}
    doc = jobset(rj("leader", 1, 1, all_pods=near), rj("workers", 2, 2, all_pods=near))
    assert groups(doc)[0] == {"name": "group-pair", "policy": "Gang", "topology": {"required": "rack"}}
    assert [(one["name"], one["parent"], one.get("topology")) for one in groups(doc)[1:]] == [
        ("leader", "group-pair", None), ("workers", "group-pair", None),
    ]  # fmt: skip
    assert place(doc, 4, 4) == {None: ("Waiting", 0)}
    assert place(doc, 4, 5) == {None: ("Placed", 5)}


def test_jobs_of_a_group_can_have_levels_of_their_own() -> None:
    near = {KUEUE_REQUIRED: "block", KUEUE_GROUP: "pair"}
    doc = jobset(rj("leader", 1, 1, all_pods=near), rj("workers", 2, 2, all_pods=near, each={REQUIRED: "rack"}))
    assert [(one["name"], one.get("parent")) for one in groups(doc)] == [
        ("group-pair", None), ("leader", "group-pair"), ("workers", "group-pair"),
    ]  # fmt: skip
    assert group(doc, "workers[1]").required == RACK


@pytest.mark.parametrize(
    ("doc", "where", "what"),
    [
        (jobset(rj("a", all_pods={KUEUE_REQUIRED: "rack", KUEUE_GROUP: "g"})), 0, "no other pod template"),
        (
            jobset(
                rj("a", all_pods={KUEUE_REQUIRED: "rack", KUEUE_GROUP: "g"}),
                rj("b", all_pods={KUEUE_REQUIRED: "block", KUEUE_GROUP: "g"}),
            ),
            1,
            "the same level",
        ),
    ],
)
def test_a_group_of_pod_templates_has_members_and_one_level(doc: Doc, where: int, what: str) -> None:
    found = problem(doc)
    assert found.path == f"{JOBS}[{where}].template.spec.template.metadata.annotations['{KUEUE_GROUP}']"
    assert what in found.message


def test_a_group_of_pod_templates_names_a_level() -> None:
    doc = jobset(rj("a", all_pods={KUEUE_GROUP: "g"}), rj("b", all_pods={KUEUE_GROUP: "g"}), mode="Gang")
    assert [("the same level" in p.message) for p in read([doc]).invalid[0].problems] == [True, True]


def test_a_group_of_pod_templates_starts_together() -> None:
    near = {KUEUE_REQUIRED: "rack", KUEUE_GROUP: "g"}
    found = read([topology("rack"), jobset(rj("a", all_pods=near, mode="Gang"), rj("b", all_pods=near, mode="Gang"))])
    assert [("start together" in p.message) for p in found.invalid[0].problems] == [True, True]
