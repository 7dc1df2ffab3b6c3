"""JobSets: whose pods start together, how close they must be, and what is refused."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx import Cluster
from phalanx.dialects import documents, workloads
from phalanx.dialects.outline import plain
from phalanx.dialects.reading import read
from phalanx.model.problems import Problem
from phalanx.model.request import Group, Ranks, Request
from tests.dialects.manifests import (
    AROUND,
    BLOCK,
    RACK,
    ZONE,
    Doc,
    gang,
    node,
    pod_spec,
    problem,
    request,
    requests,
    topology,
)

REQUIRED, PREFERRED, MODE = (
    "phalanx.dev/topology-required", "phalanx.dev/topology-preferred", "phalanx.dev/gang-mode",
)  # fmt: skip
KUEUE_REQUIRED, KUEUE_PREFERRED = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"
KUEUE_NONE, KUEUE_GROUP = "kueue.x-k8s.io/podset-unconstrained-topology", "kueue.x-k8s.io/podset-group-name"
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
MODE_PATH = "metadata.annotations['phalanx.dev/gang-mode']"
JOBS = "spec.replicatedJobs"


def rj(
    name: str = "workers",
    replicas: int | None = 2,
    pods: int = 4,
    mode: str | None = None,
    each: Doc | None = None,
    all_pods: Doc | None = None,
    job: Doc | None = None,
    pod: Doc | None = None,
    **more: Any,
) -> Doc:
    """A replicated job. ``each``: annotations of the Job template, ``all_pods``: of the pod template."""
    template = {"metadata": {"annotations": all_pods or {}}, "spec": pod_spec(**(pod or {}))}
    spec = {"parallelism": pods, "completions": pods, **(job or {}), "template": template}
    config = {} if mode is None else {"gangConfig": {"gangMode": mode}}
    return {
        "name": name, "replicas": replicas, **config, **more,
        "template": {"metadata": {"annotations": each or {}}, "spec": spec},
    }  # fmt: skip


def jobset(
    *jobs: Doc, mode: str | None = None, annotations: Doc | None = None, labels: Doc | None = None, **spec: Any
) -> Doc:
    config = {} if mode is None else {"gangConfig": {"gangMode": mode}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "sample", "annotations": annotations or {}, "labels": labels or {}},
        "spec": {**config, **spec, "replicatedJobs": list(jobs)},
    }  # fmt: skip


def notes(doc: Doc) -> list[Problem]:
    """Warnings about a manifest that must be good."""
    found = workloads.read(documents.sort([doc])[0], AROUND, None)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return list(next(iter(found.notes.values()), ()))


def normal(doc: Doc) -> Doc:
    """The normal form of a manifest that must be good, without templates."""
    found = workloads.read(documents.sort([doc])[0], AROUND, None)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    spec: Any = plain(found.outlines[0].spec)
    groups = [{key: value for key, value in entry.items() if key != "template"} for entry in spec["podGroups"]]
    return {**spec, "podGroups": groups}


def groups(doc: Doc) -> list[Doc]:
    listed: list[Doc] = normal(doc)["podGroups"]
    return listed


def units(doc: Doc) -> dict[str | None, tuple[int, int]]:
    """Pods wanted and pods that must start together, by unit."""
    return {one.unit: _pods(one) for one in requests(doc)}


def _pods(one: Request) -> tuple[int, int]:
    sets = list(one.root.pod_sets())
    return sum(pods.count for pods in sets), sum(pods.min_count for pods in sets)


def group(doc: Doc, name: str) -> Group:
    return next(g for one in requests(doc) for g in one.root.groups() if g.name == name)


def racks(*cpus: int, **more: Any) -> list[Doc]:
    """A cluster of one node per rack, two racks to a block; a pod takes one CPU."""
    tree = topology("topology/block", "topology/rack")
    return [
        tree,
        *(
            node(f"n{i}", {"topology/block": f"b{i // 2}", "topology/rack": f"r{i}"}, allocatable=_room(cpu))
            for i, cpu in enumerate(cpus)
        ),
    ]


def _room(cpu: int) -> Doc:
    return {"cpu": str(cpu), "memory": "16Gi", "pods": "110"}


def place(doc: Doc, *cpus: int) -> dict[str | None, tuple[str, int]]:
    """Status and pods placed by unit."""
    cluster = Cluster.from_manifests(racks(*cpus))
    placed = cluster.place([doc])
    return {one.unit: (one.status, sum(n for pods in one.pod_sets.values() for n in pods.values())) for one in placed}


# ----------------------------------------------------------------------------------------------------- three levels


def test_gang_on_the_jobset_makes_one_gang_of_all_its_pods() -> None:  # J-008, J-012, J-026, W-073, W-141, X-19, X-20
    doc = jobset(rj("a", 2, 4), rj("b", 1, 3), mode="Gang")
    assert units(doc) == {None: (11, 11)}
    assert [(g["name"], g["count"]) for g in groups(doc)] == [("a", 8), ("b", 3)]
    assert normal(doc)["policy"] == "Gang"


def test_all_pods_start_or_none() -> None:  # J-002, J-012
    doc = jobset(rj("a", 2, 4), rj("b", 2, 4), mode="Gang")
    assert place(doc, 8, 7) == {None: ("Waiting", 0)}
    assert place(doc, 8, 8) == {None: ("Placed", 16)}


def test_gang_on_a_replicated_job_makes_a_gang_of_its_pods() -> None:  # J-013, J-019, J-027, W-140, W-219
    doc = jobset(rj("a", 2, 4, "Gang"), rj("b", 1, 3, "Gang"))
    assert units(doc) == {"a": (8, 8), "b": (3, 3)}
    assert normal(doc)["policy"] == "Basic"
    assert place(doc, 4, 3) == {"a": ("Waiting", 0), "b": ("Placed", 3)}


def test_replicated_gang_makes_a_gang_of_each_job() -> None:  # J-014, J-019, J-028, J-044, X-31
    doc = jobset(rj("a", 2, 4, "ReplicatedGang"))
    assert units(doc) == {"a[0]": (4, 4), "a[1]": (4, 4)}
    (copies,) = groups(doc)
    assert (copies["replicas"], copies["count"]) == (2, 4)
    assert copies["replicaKey"] == "metadata.labels['jobset.sigs.k8s.io/job-index']"
    assert place(doc, 4, 3) == {"a[0]": ("Placed", 4), "a[1]": ("Waiting", 0)}


def test_one_job_is_a_copy_too_where_each_job_is_a_gang() -> None:  # J-044
    assert units(jobset(rj("a", 1, 4, "ReplicatedGang"))) == {"a[0]": (4, 4)}


def test_off_lets_pods_start_as_they_fit() -> None:  # J-019
    doc = jobset(rj("a", 2, 4, "Off"))
    assert units(doc) == {"a": (8, 1)}
    assert place(doc, 5) == {"a": ("Placed", 5)}


def test_modes_mix_replicated_job_by_replicated_job() -> None:  # J-041
    doc = jobset(rj("a", 2, 2, "Gang"), rj("b", 2, 3, "ReplicatedGang"), rj("c", 1, 2, "Off"), rj("d", 1, 2))
    assert units(doc) == {"a": (4, 4), "b[0]": (3, 3), "b[1]": (3, 3), "c": (2, 1), "d": (2, 1)}


@pytest.mark.parametrize("version", ["v1alpha2", "v1"])
def test_both_versions_are_read(version: str) -> None:  # X-36
    doc = {**jobset(rj(), mode="Gang"), "apiVersion": f"jobset.x-k8s.io/{version}"}
    assert request(doc).kind == "JobSet"


# ------------------------------------------------------------------------------------------------------------ rules


@pytest.mark.parametrize("mode", ["gang", "All", ""])
def test_a_mode_is_one_of_three(mode: str) -> None:  # J-016
    found = problem(jobset(rj(mode=mode)))
    assert (found.path, found.value) == (f"{JOBS}[0].gangConfig.gangMode", mode)
    assert found.allowed == ("Off", "Gang", "ReplicatedGang")


def test_a_bare_off_is_false_to_yaml_and_is_told_so() -> None:  # J-016
    doc = jobset(rj(), gangConfig={"gangMode": False})
    assert problem(doc).path == "spec.gangConfig.gangMode"
    assert 'write "Off"' in problem(doc).message
    assert problem(doc).allowed == ("Off", "Gang")


@pytest.mark.parametrize("where", ["jobset", "replicated job"])
def test_gang_config_has_one_field(where: str) -> None:  # J-017
    config: Doc = {"gangConfig": {"gangMode": "Off", "timeout": 3}}
    doc = jobset(rj(), **config) if where == "jobset" else jobset(rj(**config))
    place = "spec" if where == "jobset" else f"{JOBS}[0]"
    assert (problem(doc).path, problem(doc).allowed) == (f"{place}.gangConfig.timeout", ("gangMode",))


def test_each_job_a_gang_is_said_on_replicated_jobs_only() -> None:  # J-018
    found = problem(jobset(rj(), mode="ReplicatedGang"))
    assert (found.path, found.value, found.allowed) == ("spec.gangConfig.gangMode", "ReplicatedGang", ("Off", "Gang"))
    assert "replicated job" in found.message
    noted = problem(jobset(rj(), annotations={MODE: "ReplicatedGang"}))
    assert (noted.path, noted.allowed) == (MODE_PATH, ("Off", "Gang"))


@pytest.mark.parametrize("mode", ["Gang", "ReplicatedGang"])
def test_gangs_inside_a_gang_of_everything_are_refused(mode: str) -> None:  # J-020
    found = problem(jobset(rj("a"), rj("b", mode=mode), mode="Gang"))
    assert (found.path, found.value, found.allowed) == (f"{JOBS}[1].gangConfig.gangMode", mode, ("Off",))
    assert "spec.gangConfig.gangMode" in found.message


def test_off_on_the_jobset_leaves_the_replicated_jobs_their_modes() -> None:  # J-020
    assert units(jobset(rj("a", mode="Gang"), rj("b"), mode="Off")) == {"a": (8, 8), "b": (8, 1)}


def test_off_on_a_replicated_job_leaves_it_out_of_the_jobsets_gang() -> None:  # J-020
    doc = jobset(rj("a"), rj("b"), rj("c", mode="Off"), mode="Gang")
    assert units(doc) == {"gang": (16, 16), "c": (8, 1)}
    assert place(doc, 16, 1) == {"gang": ("Placed", 16), "c": ("Placed", 1)}
    assert place(doc, 9, 6) == {"gang": ("Waiting", 0), "c": ("Placed", 8)}


def test_the_group_of_such_a_gang_never_takes_the_name_of_a_replicated_job() -> None:
    assert list(units(jobset(rj("gang"), rj("c", mode="Off"), mode="Gang"))) == ["gang.", "c"]


def test_a_config_without_a_mode_means_off() -> None:  # J-024
    assert units(jobset(rj("a"), gangConfig={}, labels={KUEUE_QUEUE: "q"})) == {"a": (8, 1)}
    assert units(jobset(rj("a", gangConfig={}), rj("b", mode="Gang"))) == {"a": (8, 1), "b": (8, 8)}


ORDERS: list[tuple[str, Doc, Doc]] = [
    (f"{JOBS}[1].dependsOn", {}, {"dependsOn": [{"name": "a", "status": "Complete"}]}),
    ("spec.startupPolicy.startupPolicyOrder", {"startupPolicy": {"startupPolicyOrder": "InOrder"}}, {}),
]


@pytest.mark.parametrize(("reason", "spec", "second"), ORDERS)
def test_a_gang_of_all_that_start_in_turn_is_refused(reason: str, spec: Doc, second: Doc) -> None:  # J-025, X-18
    found = problem(jobset(rj("a"), rj("b", **second), mode="Gang", **spec))
    assert (found.path, found.value) == ("spec.gangConfig.gangMode", "Gang")
    assert "never be complete" in found.message
    assert reason in found.message


@pytest.mark.parametrize(("reason", "spec", "second"), ORDERS)
def test_gangs_of_replicated_jobs_that_start_in_turn_are_fine(reason: str, spec: Doc, second: Doc) -> None:
    # J-013, J-039, J-047, X-18
    doc = jobset(rj("a", 2, 4, "Gang"), rj("b", 1, 3, "ReplicatedGang", **second), **spec)
    assert units(doc) == {"a": (8, 8), "b[0]": (3, 3)}


@pytest.mark.parametrize(("reason", "spec", "second"), ORDERS)
def test_order_does_not_matter_to_a_gang_with_one_member(reason: str, spec: Doc, second: Doc) -> None:  # J-025
    assert units(jobset(rj("a"), rj("b", mode="Off", **second), mode="Gang", **spec)) == {"gang": (8, 8), "b": (8, 1)}


def test_a_replicated_job_depends_on_one_before_it() -> None:
    found = problem(jobset(rj("a"), rj("b", dependsOn=[{"name": "c", "status": "Ready"}]), rj("c"), mode="Off"))
    assert (found.path, found.value, found.allowed) == (f"{JOBS}[1].dependsOn[0].name", "c", ("a",))


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({"scheduleAtOnce": True}, "Gang"),
        ({"scheduleAtOncePerReplica": True}, "ReplicatedGang"),
        ({"scheduleAtOnce": False}, "Off"),
    ],
)
def test_the_early_spelling_is_answered_with_what_to_write(fields: Doc, mode: str) -> None:  # J-015, X-09
    found = problem(jobset(rj(**fields)))
    assert found.path == f"{JOBS}[0].{next(iter(fields))}"
    assert f"gangConfig.gangMode: {mode}" in found.message


def test_the_early_spelling_of_both_names_one_equivalent() -> None:  # X-09
    found = read([jobset(rj(scheduleAtOnce=True, scheduleAtOncePerReplica=True))]).invalid[0].problems
    assert [p.path for p in found] == [f"{JOBS}[0].scheduleAtOnce", f"{JOBS}[0].scheduleAtOncePerReplica"]
    assert all(p.message.endswith("gangConfig.gangMode: ReplicatedGang") for p in found)


def test_the_early_spelling_on_the_jobset() -> None:  # X-09
    found = problem(jobset(rj(), scheduleAtOnce=True))
    assert (found.path, found.allowed) == ("spec.scheduleAtOnce", ("gangConfig",))
    assert "gangConfig.gangMode: Gang" in found.message


@pytest.mark.parametrize("key", ["scheduling", "gangPolicy"])
def test_other_ways_to_ask_for_a_gang_are_named(key: str) -> None:
    found = problem(jobset(rj(), mode="Off", **{key: {"policy": "JobSetAsGang"}}))
    assert (found.path, found.allowed) == (f"spec.{key}", ("gangConfig",))


def test_what_is_not_followed_is_told() -> None:
    claims: Doc = {"volumeClaimPolicies": [{"templates": []}]}
    template = "scheduling.k8s.io/group-template-name"
    doc = jobset(rj(each={template: "workers"}), annotations={MODE: "Off"}, **claims)
    assert [note.path for note in notes(doc)] == [
        f"{JOBS}[0].template.metadata.annotations['{template}']", "spec.volumeClaimPolicies",
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------------ annotations


def test_the_annotation_says_what_the_field_says() -> None:  # J-008, J-018, J-019
    assert units(jobset(rj("a"), annotations={MODE: "Gang"})) == {None: (8, 8)}
    doc = jobset(rj("a", each={MODE: "Gang"}), rj("b", each={MODE: "ReplicatedGang"}), rj("c", each={MODE: "Off"}))
    assert units(doc) == {"a": (8, 8), "b[0]": (4, 4), "b[1]": (4, 4), "c": (8, 1)}


def test_the_field_is_warned_of_once_and_the_annotation_is_not() -> None:
    (only,) = notes(jobset(rj("a", mode="Gang"), rj("b", mode="Gang")))
    assert only.path == f"{JOBS}[0].gangConfig"
    assert f"{JOBS}[0].template.{MODE_PATH}" in only.message
    (top,) = notes(jobset(rj("a"), mode="Gang"))
    assert (top.path, MODE_PATH in top.message) == ("spec.gangConfig", True)
    assert notes(jobset(rj("a"), annotations={MODE: "Gang"})) == []


def test_field_and_annotation_may_agree() -> None:
    assert units(jobset(rj("a"), mode="Gang", annotations={MODE: "Gang"})) == {None: (8, 8)}


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (jobset(rj(), mode="Gang", annotations={MODE: "Off"}), MODE_PATH),
        (jobset(rj(mode="Gang", each={MODE: "ReplicatedGang"})), f"{JOBS}[0].template.{MODE_PATH}"),
    ],
)
def test_field_and_annotation_must_not_disagree(doc: Doc, path: str) -> None:
    assert (problem(doc).path, problem(doc).allowed) == (path, ("Gang",))


def test_the_mode_does_not_belong_on_a_pod_template() -> None:
    found = problem(jobset(rj(all_pods={MODE: "Gang"}), mode="Off"))
    assert found.path == f"{JOBS}[0].template.spec.template.{MODE_PATH}"


# ----------------------------------------------------------------------------------------------------- nothing said


def test_a_plain_jobset_is_no_gang_and_is_told_how_to_be_one() -> None:  # J-021
    doc = jobset(rj("a"), rj("b", 1, 3))
    assert units(doc) == {"a": (8, 1), "b": (3, 1)}
    (only,) = notes(doc)
    assert only.path == MODE_PATH
    assert "start as they fit; phalanx.dev/gang-mode: Gang starts them together" in only.message


def test_a_single_pod_is_not_told() -> None:
    assert notes(jobset(rj("a", 1, 1))) == []


ASKED: list[Doc] = [
    jobset(rj("a"), rj("b"), labels={KUEUE_QUEUE: "q"}),
    jobset(rj("a"), rj("b"), labels={"phalanx.dev/queue": "q"}),
    jobset(rj("a"), rj("b"), annotations={PREFERRED: "rack"}),
    jobset(rj("a", each={PREFERRED: "rack"}), rj("b")),
    jobset(rj("a", all_pods={PREFERRED: "rack"}), rj("b")),
    jobset(rj("a", all_pods={KUEUE_PREFERRED: "rack"}), rj("b", all_pods={KUEUE_NONE: "true"})),
    jobset(rj("a", each={EXCLUSIVE: "topology/rack"}), rj("b")),
    jobset(rj("a"), rj("b"), annotations={EXCLUSIVE: "topology/rack"}),
]


@pytest.mark.parametrize("doc", ASKED)
def test_a_wish_or_a_queue_asks_for_one_gang(doc: Doc) -> None:  # W-073
    assert units(doc) == {None: (16, 16)}


@pytest.mark.parametrize(("reason", "spec", "second"), ORDERS)
def test_in_turn_each_replicated_job_is_a_gang_and_that_is_said(reason: str, spec: Doc, second: Doc) -> None:
    # W-074, W-142, W-143, X-18
    doc = jobset(rj("a", 2, 4), rj("b", 1, 3, **second), labels={KUEUE_QUEUE: "q"}, **spec)
    assert units(doc) == {"a": (8, 8), "b": (3, 3)}
    (only,) = notes(doc)
    assert (only.path, "each of them is a gang" in only.message) == (reason, True)


@pytest.mark.parametrize(("reason", "spec", "second"), ORDERS)
def test_in_turn_and_not_asked_there_is_no_gang(reason: str, spec: Doc, second: Doc) -> None:  # W-142, W-143
    doc = jobset(rj("a", job={"completionMode": "NonIndexed"}), rj("b", **second), **spec)
    assert units(doc) == {"a": (8, 1), "b": (8, 1)}
    assert [note.path for note in notes(doc)] == [MODE_PATH]


# ----------------------------------------------------------------------------------------------- counts and numbers


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        ({"parallelism": 4, "completions": 2}, 2),
        ({"parallelism": 4, "completions": None}, 4),
        ({"parallelism": None}, 1),
    ],
)
def test_pods_of_a_job_are_those_that_run_at_once(job: Doc, pods: int) -> None:  # X-21
    assert units(jobset(rj("a", 3, job=job), mode="Gang")) == {None: (3 * pods, 3 * pods)}


def test_a_gang_of_pods_that_run_in_turns_is_warned_of() -> None:  # X-21
    doc = jobset(rj("a", job={"parallelism": 2}), annotations={MODE: "Gang"})
    assert [note.path for note in notes(doc)] == [f"{JOBS}[0].template.spec.parallelism"]
    assert notes(jobset(rj("a", job={"parallelism": 2}), annotations={MODE: "Off"})) == []


def test_one_job_is_the_default() -> None:
    assert units(jobset(rj("a", None), mode="Gang")) == {None: (4, 4)}


@pytest.mark.parametrize("empty", [rj("b", 0), rj("b", 2, 0)])
def test_a_replicated_job_without_pods_is_left_out_with_a_word(empty: Doc) -> None:
    doc = jobset(rj("a"), empty, annotations={MODE: "Gang"})
    assert units(doc) == {None: (8, 8)}
    assert [note.path for note in notes(doc)] == [f"{JOBS}[1]"]


@pytest.mark.parametrize("doc", [jobset(rj(replicas=0), mode="Off"), jobset(annotations={MODE: "Off"})])
def test_a_jobset_without_pods_gives_nothing_to_place(doc: Doc) -> None:
    assert requests(doc) == ()
    assert "wants no pods now" in notes(doc)[-1].message


def test_pods_of_a_single_job_have_the_jobs_ranks() -> None:
    (only,) = groups(jobset(rj("a", 1), mode="Gang"))
    assert only["rank"] == {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}


def test_pods_of_several_jobs_are_numbered_job_by_job() -> None:
    (only,) = groups(jobset(rj("a", 2), mode="Gang"))
    assert only["rank"] == {"order": "Consecutive"}
    assert group(jobset(rj("a", 2), mode="Gang"), "a").ranks == Ranks("Consecutive")


def test_pods_of_a_jobset_are_indexed_unless_they_say_otherwise() -> None:
    doc = jobset(rj("a", job={"completionMode": "NonIndexed"}), rj("b", job={"completionMode": "Indexed"}), mode="Gang")
    assert ["rank" in one for one in groups(doc)] == [False, True]


def test_each_copy_has_ranks_of_its_own() -> None:
    (only,) = groups(jobset(rj("a", 2, mode="ReplicatedGang")))
    assert only["rank"] == {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}


def test_pods_carry_the_labels_that_their_controllers_add() -> None:  # W-109, X-31
    doc = jobset(rj("one", 1), rj("two", 2), mode="Gang")
    one, two = (dict(pods.shape.labels) for pods in request(doc).root.pod_sets())
    own = {"jobset.sigs.k8s.io/jobset-name": "sample", "jobset.sigs.k8s.io/replicatedjob-name": "two"}
    assert two == own
    assert one["job-name"] == one["batch.kubernetes.io/job-name"] == "sample-one-0"
    assert one["jobset.sigs.k8s.io/replicatedjob-name"] == "one"


def test_a_suspended_jobset_is_kept_back_by_its_owner_but_not_in_a_queue() -> None:
    assert request(jobset(rj(), mode="Gang", suspend=True)).suspended
    assert not request(jobset(rj(), mode="Gang", suspend=True, labels={KUEUE_QUEUE: "q"})).suspended
    assert not request(jobset(rj(), mode="Gang")).suspended


def test_the_first_priority_class_counts_and_another_is_told() -> None:
    first = {"priorityClassName": "system-node-critical"}
    doc = jobset(rj("a", pod=first), rj("b"), rj("c", pod={"priorityClassName": "low"}), annotations={MODE: "Gang"})
    assert request(doc).priority == 2_000_001_000
    assert [note.path for note in notes(doc)] == [f"{JOBS}[2].template.spec.template.spec.priorityClassName"]


def test_what_happens_to_pods_later_is_not_read() -> None:
    more: Doc = {
        "coordinator": {"replicatedJob": "a"},
        "network": {"enableDNSHostnames": True},
        "failurePolicy": {"maxRestarts": 3},
    }
    assert notes(jobset(rj("a", groupName="g"), annotations={MODE: "Gang"}, **more)) == []


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
    assert "no other workload or replicated job is in it is not enforced" in only.message


def test_jobs_that_start_together_keep_apart() -> None:
    doc = jobset(rj("a", 2, 4), annotations={EXCLUSIVE: "topology/rack"})
    assert place(doc, 9, 3) == {None: ("Waiting", 0)}
    (decision,) = Cluster.from_manifests(racks(9, 4)).place([doc])
    assert sorted(decision.pod_sets.values(), key=str) == [{"n0": 4}, {"n1": 4}]


@pytest.mark.parametrize("mode", ["ReplicatedGang", "Off"])
def test_jobs_that_start_on_their_own_may_meet_and_that_is_said(mode: str) -> None:
    doc = jobset(rj("a", 2, 4, each={EXCLUSIVE: "topology/rack", MODE: mode}))
    assert group(doc, "a[1]").required == RACK
    assert ["nobody else" in note.message for note in notes(doc)] == [True]


def test_our_wish_goes_before_a_domain_per_job() -> None:
    doc = jobset(rj("a", each={EXCLUSIVE: "topology/rack", REQUIRED: "block"}), annotations={MODE: "Gang"})
    assert group(doc, "a[0]").required == BLOCK
    assert len(notes(doc)) == 1
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


# ------------------------------------------------------------------------------------------------- pods with a link


def linked(name: str) -> Doc:
    return {"workload": {"name": name, "podGroup": "pg"}}


def test_pods_that_name_their_gang_are_placed_with_it() -> None:  # J-004, J-022, J-049, X-08, X-43
    doc = jobset(rj("a", pod=linked("w")), rj("b", pod=linked("w")), mode="Gang")
    found = read([doc])
    assert (found.requests, found.invalid) == ((), ())
    assert any("belong to Workload default/w" in note.message for note in found.warnings)


def test_a_gang_learns_the_pods_of_a_jobset_that_names_it() -> None:  # J-022
    doc = jobset(rj("a", 2, 4, each={REQUIRED: "rack"}, all_pods={REQUIRED: "block"}), rj("b", 1, 3), mode="Gang")
    for one in doc["spec"]["replicatedJobs"]:
        one["template"]["spec"]["template"]["metadata"]["labels"] = {"phalanx.dev/gang": "mine"}
    mine = gang({"name": "g", "minCount": 11}, name="mine")
    mine["metadata"]["namespace"] = "default"
    found = read([doc, mine, *racks(8)])
    assert [(one.id, _pods(one)[0]) for one in found.requests] == [("default/mine", 11)]


def test_replicated_jobs_without_a_link_stay_the_jobsets() -> None:  # X-43
    doc = jobset(rj("a", pod=linked("w"), each={REQUIRED: "rack"}, all_pods={REQUIRED: "block"}), rj("b"), mode="Gang")
    found = read([doc, *racks(8)])
    assert [(one.id, _pods(one)) for one in found.requests] == [("default/sample", (8, 8))]


def test_a_mark_of_kueues_alone_changes_nothing() -> None:
    doc = jobset(rj("a", each={REQUIRED: "rack"}, all_pods={"kueue.x-k8s.io/workload": "w"}), mode="Gang")
    assert units(doc) == {None: (8, 8)}
    assert group(doc, "a[1]").required == RACK


# -------------------------------------------------------------------------------------------------------- mistakes


WRONG: list[tuple[Doc, str]] = [
    (jobset(rj(name="a"), rj(name="a"), mode="Off"), f"{JOBS}[1].name"),
    (jobset({"template": rj()["template"]}, mode="Off"), f"{JOBS}[0].name"),
    (jobset({"name": "a"}, mode="Off"), f"{JOBS}[0].template"),
    (jobset({"name": "a", "template": {}}, mode="Off"), f"{JOBS}[0].template.spec"),
    (jobset({"name": "a", "template": {"spec": {}}}, mode="Off"), f"{JOBS}[0].template.spec.template"),
    (jobset(rj(replicas=-1), mode="Off"), f"{JOBS}[0].replicas"),
    (jobset(rj(replicas=10_001), mode="Off"), f"{JOBS}[0].replicas"),
    (jobset(rj(pods=-1, job={"completions": None}), mode="Off"), f"{JOBS}[0].template.spec.parallelism"),
    (jobset(rj(job={"completionMode": "Indxed"}), mode="Off"), f"{JOBS}[0].template.spec.completionMode"),
    (jobset(rj(), mode="Off", startupPolicy={"startupPolicyOrder": "X"}), "spec.startupPolicy.startupPolicyOrder"),
    (jobset(rj(dependsOn=[{"name": "b"}]), mode="Off"), f"{JOBS}[0].dependsOn[0].name"),
    (jobset(rj(), mode="Off", suspend="yes"), "spec.suspend"),
    (jobset(rj(), gangConfig="Gang"), "spec.gangConfig"),
    (jobset(rj(), mode="Off", annotations={"phalanx.dev/x": "y"}), "metadata.annotations['phalanx.dev/x']"),
    (jobset("workers", mode="Off"), f"{JOBS}[0]"),  # type: ignore[arg-type]
    (jobset(rj(each={"phalanx.dev/x": "y"}), mode="Off"), f"{JOBS}[0].template.metadata.annotations['phalanx.dev/x']"),
]  # fmt: skip


@pytest.mark.parametrize(("doc", "path"), WRONG)
def test_a_mistake_is_named_by_its_path(doc: Doc, path: str) -> None:
    found = read([topology("topology/rack"), doc]).invalid[0].problems
    assert {one.path for one in found} == {path}


def test_a_misspelt_field_is_warned_of() -> None:
    doc = jobset(rj("a", replica=3), annotations={MODE: "Off"}, replicatedJob=[])
    assert [note.path for note in notes(doc)] == [f"{JOBS}[0].replica", "spec.replicatedJob"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.text(max_size=5) | st.sampled_from(["Gang", "Off", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "name", "replicas", "template", "spec", "metadata", "annotations", "labels", MODE, REQUIRED, KUEUE_GROUP,
        KUEUE_REQUIRED, EXCLUSIVE, "gangConfig", "gangMode", "replicatedJobs", "dependsOn", "startupPolicy",
        "startupPolicyOrder", "parallelism", "completions", "completionMode", "containers", "workload", "suspend",
    ]), inner, max_size=4),
    max_leaves=30,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(spec=JSON, metadata=JSON, first=JSON, job=JSON, template=JSON)
def test_whatever_is_in_it_a_jobset_is_read_or_refused(
    spec: Any, metadata: Any, first: Any, job: Any, template: Any
) -> None:
    inner = {"name": "a", **(first if isinstance(first, dict) else {"replicas": first})}
    held = {"name": "b", "template": {"metadata": metadata, "spec": job}}
    deep = {"name": "c", "template": {"spec": {"parallelism": 2, "template": template}}}
    whole = {**(spec if isinstance(spec, dict) else {"gangConfig": spec}), "replicatedJobs": [inner, held, deep]}
    for body in (spec, whole):
        doc = {"apiVersion": "jobset.x-k8s.io/v1", "kind": "JobSet", "metadata": metadata, "spec": body}
        found = read([topology("rack"), doc])
        assert all(isinstance(one, Request) for one in found.requests)
        assert len(found.invalid) <= 1
