"""JobSets: whose pods start together, and what is refused."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from phalanx.dialects.reading import read
from phalanx.model.request import Ranks, Request
from tests.dialects.jobset_manifests import (
    EXCLUSIVE,
    JOBS,
    JSON,
    KUEUE_NONE,
    KUEUE_PREFERRED,
    KUEUE_QUEUE,
    MODE,
    MODE_PATH,
    PREFERRED,
    REQUIRED,
    group,
    groups,
    jobset,
    linked,
    normal,
    notes,
    place,
    pods,
    racks,
    rj,
    units,
)
from tests.dialects.manifests import RACK, Doc, gang, problem, request, requests, topology

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


def test_another_way_to_ask_for_a_gang_is_answered_with_the_annotations_that_are_read() -> None:
    found = problem(jobset(rj(), mode="Off", gangPolicy={"policy": "JobSetAsGang"}))
    assert (found.path, found.allowed) == ("spec.gangPolicy", ("scheduling", "gangConfig"))
    assert MODE in found.message and REQUIRED in found.message


def test_what_is_not_followed_is_told() -> None:
    claims: Doc = {"volumeClaimPolicies": [{"templates": []}]}
    template = "scheduling.k8s.io/group-template-name"
    own: Doc = {"scheduling": {"schedulingPolicy": {"gang": {}}}}
    doc = jobset(rj(each={template: "workers"}, job=own), annotations={MODE: "Off"}, **claims)
    assert [note.path for note in notes(doc)] == [
        f"{JOBS}[0].template.spec.scheduling", f"{JOBS}[0].template.metadata.annotations['{template}']",
        "spec.volumeClaimPolicies",
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
    in_turn, gangs = notes(doc)
    assert (gangs.path, "each of them is a gang" in gangs.message) == (reason, True)
    assert (in_turn.path, "the answer is for all of them at once" in in_turn.message) == (reason, True)


@pytest.mark.parametrize(("reason", "spec", "second"), ORDERS)
def test_in_turn_and_not_asked_there_is_no_gang(reason: str, spec: Doc, second: Doc) -> None:  # W-142, W-143
    doc = jobset(rj("a", job={"completionMode": "NonIndexed"}), rj("b", **second), **spec)
    assert units(doc) == {"a": (8, 1), "b": (8, 1)}
    in_turn, fit = notes(doc)
    assert (in_turn.path, fit.path) == (reason, MODE_PATH)
    assert fit.message.endswith("Gang on a Job template starts the pods made from it together")  # of all: J-025
    assert "each is decided by itself, in the order of the list, and the answer is for all" in in_turn.message


def test_who_waits_for_the_end_of_another_needs_no_room_at_the_same_time_and_that_is_said() -> None:
    def after(status: str) -> list[str]:
        second = rj("b", 1, 1, dependsOn=[{"name": "a", "status": status}])
        return [note.message for note in notes(jobset(rj("a", 1, 1), second, annotations={MODE: "Off"}))]

    (ended,), (ready,) = after("Complete"), after("Ready")
    assert ended.startswith("b starts when a has ended, and does not need room at the same time; each is decided")
    assert ready.startswith("b starts when a is ready; each is decided")


def test_units_that_start_in_turn_are_decided_in_the_order_of_the_list() -> None:
    second = rj("b", 1, 3, dependsOn=[{"name": "a", "status": "Complete"}])
    assert place(jobset(rj("a", 1, 4), second), 5) == {"a": ("Placed", 4), "b": ("Placed", 1)}
    assert list(units(jobset(rj("z", 1, 4), rj("a", 1, 1)))) == ["z", "a"]


def test_a_gang_that_is_refused_is_not_explained_beside_it() -> None:
    second = rj("b", dependsOn=[{"name": "a", "status": "Complete"}])
    (refused,) = read([jobset(rj("a"), second, annotations={MODE: "Gang"})]).invalid
    assert (len(refused.problems), refused.warnings) == (1, ())


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


def test_fewer_pods_of_each_job_will_do_where_kai_is_told_so() -> None:
    few = {"kai.scheduler/batch-min-member": "3"}
    assert units(jobset(rj("a", 1, 4, each=few), mode="Gang")) == {None: (4, 3)}
    assert units(jobset(rj("a", 2, 4, each=few), mode="Gang")) == {None: (8, 6)}
    assert units(jobset(rj("a", 2, 4, "ReplicatedGang", each=few))) == {"a[0]": (4, 3), "a[1]": (4, 3)}
    assert place(jobset(rj("a", 2, 4, each=few), mode="Gang"), 3, 3) == {None: ("Placed", 6)}
    assert "more than the 4 pods of a Job" in problem(jobset(rj("a", each={next(iter(few)): "5"}), mode="Gang")).message


def test_fewer_replicated_jobs_will_do_where_kai_is_told_so() -> None:
    few = {"kai.scheduler/batch-min-member": "1"}
    assert normal(jobset(rj("a"), rj("b"), annotations=few))["minGroups"] == 1
    assert place(jobset(rj("a"), rj("b"), annotations=few), 8) == {None: ("Placed", 8)}
    apart = jobset(rj("a", each={MODE: "Gang"}), rj("b"), annotations=few)
    assert ["do not start together" in note.message for note in notes(apart)] == [True]


def test_queue_and_node_pool_are_found_on_the_pods_too() -> None:
    doc = jobset(rj("a"), rj("b"))
    for one in doc["spec"]["replicatedJobs"]:
        one["template"]["spec"]["template"]["metadata"]["labels"] = {
            "kai.scheduler/queue": "team", "kai.scheduler/node-pool": "blue",
        }  # fmt: skip
    assert normal(doc)["queue"] == "team"
    assert units(doc) == {None: (16, 16)}
    assert place(doc, 16) == {None: ("Waiting", 0)}


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


# ------------------------------------------------------------------------------------------------- pods with a link


def test_pods_that_name_their_gang_are_placed_with_it() -> None:  # J-004, J-022, J-049, X-08, X-43
    doc = jobset(rj("a", pod=linked("w")), rj("b", pod=linked("w")), mode="Gang")
    found = read([doc])
    ((problem,),) = [one.problems for one in found.invalid]
    assert found.requests == () and "names Workload w (scheduling.k8s.io), which does not exist" in problem.message


def test_a_gang_learns_the_pods_of_a_jobset_that_names_it() -> None:  # J-022
    doc = jobset(rj("a", 2, 4, each={REQUIRED: "rack"}, all_pods={REQUIRED: "block"}), rj("b", 1, 3), mode="Gang")
    for one in doc["spec"]["replicatedJobs"]:
        one["template"]["spec"]["template"]["metadata"]["labels"] = {"phalanx.dev/gang": "mine"}
    mine = gang({"name": "g", "minCount": 11}, name="mine")
    mine["metadata"]["namespace"] = "default"
    found = read([doc, mine, *racks(8)])
    assert [(one.id, pods(one)[0]) for one in found.requests] == [("default/mine", 11)]


def test_pods_that_name_their_gang_are_not_said_to_start_as_they_fit() -> None:
    all_linked = read([jobset(rj("a", pod=linked("w")), rj("b", pod=linked("w")))])
    assert [note.message for note in all_linked.warnings if "as they fit" in note.message] == []
    one_pod_left = read([jobset(rj("a", pod=linked("w")), rj("b", 1, 1))])
    assert one_pod_left.notes == {}
    some_left = read([jobset(rj("a", pod=linked("w")), rj("b"))])
    assert [note.path for notes in some_left.notes.values() for note in notes] == [MODE_PATH]


def test_levels_of_pods_that_belong_elsewhere_are_said_to_be_in_vain() -> None:
    first = rj("a", 2, 4, all_pods={REQUIRED: "block"}, pod=linked("w"))
    second = rj("b", 2, 4, each={PREFERRED: "rack"}, pod=linked("w"))
    mine = {
        "apiVersion": "scheduling/v1alpha1", "kind": "Workload", "metadata": {"name": "w"},
        "spec": {"podGroups": [{"name": "pg", "policy": {"kind": "Gang", "gang": {"minCount": 16}}}]},
    }  # fmt: skip
    found = read([*racks(8), jobset(first, second), mine])
    assert found.invalid == ()
    assert [note.path for note in found.warnings if "is not followed" in note.message] == [
        f"JobSet/sample: {JOBS}[0].template.spec.template.metadata.annotations['{REQUIRED}']",
        f"JobSet/sample: {JOBS}[1].template.metadata.annotations['{PREFERRED}']",
    ]


def test_replicated_jobs_without_a_link_stay_the_jobsets() -> None:  # X-43
    doc = jobset(rj("a", pod=linked("w"), each={REQUIRED: "rack"}, all_pods={REQUIRED: "block"}), rj("b"), mode="Gang")
    found = read([doc, *racks(8)])
    assert [(one.id, pods(one)) for one in found.requests] == [("default/sample", (8, 8))]


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
