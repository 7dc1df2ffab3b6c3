"""What is written about gangs into objects."""

from dataclasses import replace
from functools import cache

import msgspec
import pytest

from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.views import Spot, View
from phalanx.kube import status
from phalanx.kube.crds.models.gangstatus import CONDITION_TYPES, GangStatus
from phalanx.model.mistakes import Mishap
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, Why
from tests.engine.stage import Stage, gang
from tests.kube_room.kinds import Doc, condition, view_of

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


@cache
def waiting(count: int = 10, drawing: str = "b1: r1=4 | b2: r1=7") -> View:
    stage = Stage(drawing)
    stage.submit(gang(count=count, required=2))
    return view_of(stage)


@cache
def running() -> View:
    stage = Stage("b1: r1=4 | b2: r1=7")
    stage.run(gang(count=4, required=2))
    return view_of(stage)


def statuses(found: Doc) -> dict[str, str]:
    return {one["type"]: one["status"] for one in found["conditions"]}


def test_a_gang_that_waits_has_its_reason_in_one_condition() -> None:  # W-014
    found = status.gang_status([waiting()], None, 3, NOW)
    scheduled = condition(found, "Scheduled")
    assert (scheduled["status"], scheduled["reason"]) == ("False", "TooLarge")
    assert scheduled["message"].startswith('waiting: group "w" needs 10 pods in one rack; best is b2/r1 with 7')
    assert (scheduled["observedGeneration"], scheduled["lastTransitionTime"]) == (3, NOW)
    assert (found["state"], found["pods"], found["observedGeneration"]) == ("Queued", "0/10", 3)


def test_every_condition_is_there_in_every_state() -> None:
    for view in (waiting(), running()):
        assert tuple(statuses(status.gang_status([view], None, 1, NOW))) == CONDITION_TYPES


def test_every_state_makes_a_status_that_the_schema_allows() -> None:
    for state in State:
        for cause in (None, *Cause):
            view = replace(running(), state=state, cause=cause)
            found = status.gang_status([view], None, 1, NOW)
            msgspec.convert(found, GangStatus, strict=True)
            assert all(one["reason"] for one in found["conditions"])


@pytest.mark.parametrize(
    ("state", "true"),
    [
        (State.RUNNING, {"Valid", "QuotaReserved", "PodsCreated", "Scheduled", "Ready"}),
        (State.DEGRADED, {"Valid", "QuotaReserved", "PodsCreated", "Scheduled", "Ready", "Degraded"}),
        (State.EVICTING, {"Valid", "QuotaReserved", "PodsCreated", "Scheduled", "DisruptionTarget"}),
        (State.FINISHED, {"Valid", "QuotaReserved", "PodsCreated", "Scheduled", "Finished"}),
        (State.INVALID, {"QuotaReserved", "PodsCreated", "Scheduled", "Ready"}),
    ],
)
def test_states_and_their_conditions(state: State, true: set[str]) -> None:
    found = statuses(status.gang_status([replace(running(), state=state)], None, 1, NOW))
    assert {kind for kind, value in found.items() if value == "True"} == true


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    before = status.gang_status([waiting()], None, 1, THEN)
    after = status.gang_status([waiting(9)], before, 2, NOW)
    assert condition(after, "Scheduled")["lastTransitionTime"] == THEN
    assert condition(after, "Scheduled")["message"] != condition(before, "Scheduled")["message"]
    started = status.gang_status([running()], after, 2, NOW)
    assert condition(started, "Scheduled")["lastTransitionTime"] == NOW
    assert condition(started, "Valid")["lastTransitionTime"] == THEN


def test_the_same_again_is_the_same_status() -> None:
    before = status.gang_status([running()], None, 1, THEN)
    assert status.gang_status([running()], before, 1, NOW) == before


def test_conditions_of_others_stay() -> None:
    other = {"type": "example.com/Paid", "status": "True", "reason": "Paid", "message": ""}
    found = status.gang_status([waiting()], {"conditions": [other]}, 1, NOW)
    assert condition(found, "example.com/Paid") == other


def test_missing_pods_are_counted_in_their_condition() -> None:  # W-019
    stage = Stage("b1: r1=20")
    stage.submit(gang(count=10), pods=8)
    stage.after(60.0)
    found = status.gang_status([view_of(stage)], None, 1, NOW)
    created = condition(found, "PodsCreated")
    assert (created["status"], created["reason"]) == ("False", "PodsMissing")
    assert "8 of 10 pods exist" in created["message"]


def test_groups_and_places_are_told() -> None:  # KA-017
    found = status.gang_status([running()], None, 1, NOW)
    counts = {"wanted": 4, "seen": 4, "reserved": 4, "bound": 4, "ready": 4}
    (only,) = found["groups"]
    assert {key: only[key] for key in counts} == counts
    assert only["domain"][:2] == ["b1", "r1"]
    assert found["placement"] == {
        "level": "rack", "groups": [{"name": "w", "domains": [{"domain": ["b1", "r1"], "pods": 4}]}]}  # fmt: skip


def test_units_are_one_status_with_the_worst_first() -> None:
    good, bad = replace(running(), id="d/x#a", unit="a"), replace(waiting(), id="d/x#b", unit="b")
    found = status.gang_status([good, bad], None, 1, NOW)
    assert (found["state"], found["pods"]) == ("Queued", "4/14")
    assert condition(found, "Scheduled")["message"].startswith("b: waiting")
    assert condition(found, "Queued")["status"] == "True"
    assert [one["name"] for one in found["groups"]] == ["w", "b/w"]
    msgspec.convert(found, GangStatus, strict=True)


def test_all_units_finished_is_finished() -> None:
    done = replace(running(), state=State.FINISHED, id="d/x#a", unit="a")
    more = replace(running(), id="d/x#b", unit="b")
    assert statuses(status.gang_status([done, more], None, 1, NOW))["Finished"] == "False"
    assert statuses(status.gang_status([done, done], None, 1, NOW))["Finished"] == "True"


def test_many_units_list_no_more_domains_than_one() -> None:
    spots = tuple(Spot("w", ("b", f"r{i}"), 1) for i in range(32))
    units = [replace(running(), id=f"d/x#{i}", unit=str(i), spots=spots, more=(("w", 8),)) for i in range(4)]
    (group,) = status.gang_status(units, None, 1, NOW)["placement"]["groups"]
    assert len(group["domains"]) == 32
    assert group["more"] == 3 * 32 + 4 * 8


def test_a_message_is_bounded() -> None:
    reason = Reason(Why.NO_ROOM, "x" * 5_000, "cluster", 3)
    view = replace(waiting(), reason=reason)
    assert len(status.sentence(view)) <= status.MESSAGE_MAX
    found = status.pod_condition(view, None, NOW)
    assert found is not None
    assert len(found["message"]) <= status.POINTER_MAX


def test_who_backs_off_says_when_it_is_tried_again() -> None:
    view = replace(waiting(), reason=Reason(Why.BACKING_OFF, "w", "cluster", 0), not_before=60.0)
    assert status.sentence(view).endswith("Next try at 1970-01-01T00:01:00Z.")
    assert "needs 10 pods" in status.sentence(view)


def test_what_does_not_agree_with_the_pods_is_told() -> None:  # W-103
    notes = [Problem("Pod/p: metadata.labels", "x", ("w",), "there is no group 'x'; there are w")]
    found = condition(status.gang_status([waiting()], None, 1, NOW, notes), "Valid")
    assert (found["status"], found["reason"]) == ("True", "Inconsistent")
    assert "there is no group 'x'; there are w" in found["message"]


# -- Kubernetes' own groups --------------------------------------------------------------------------------------


def test_a_pod_group_that_waits_is_unschedulable() -> None:
    (found,) = status.group_conditions("PodGroup", waiting(), "", None, 2, NOW)
    assert (found["type"], found["status"], found["reason"]) == (
        "PodGroupInitiallyScheduled", "False", "Unschedulable")  # fmt: skip
    assert found["observedGeneration"] == 2


def test_a_pod_group_lists_the_names_its_pods_could_have_used() -> None:  # M-023
    notes = [Problem("Pod/p", "x", ("w",), "there is no group 'x'; there are w")]
    (found,) = status.group_conditions("PodGroup", waiting(), "", None, 2, NOW, notes)
    assert "there are w" in found["message"]


def test_a_group_that_was_scheduled_stays_so() -> None:
    (done,) = status.group_conditions("CompositePodGroup", running(), "", None, 1, NOW)
    assert (done["type"], done["status"], done["reason"]) == (
        "CompositePodGroupInitiallyScheduled", "True", "Scheduled")  # fmt: skip
    assert status.group_conditions("CompositePodGroup", waiting(), "", {"conditions": [done]}, 1, NOW) == []


def test_a_group_that_leaves_is_a_disruption_target_until_it_has_left() -> None:
    leaving = replace(running(), state=State.EVICTING, cause=Cause.READY_TIMEOUT)
    done, target = status.group_conditions("PodGroup", leaving, "", None, 1, THEN)
    assert (target["type"], target["status"], target["reason"]) == ("DisruptionTarget", "True", "ReadyTimeout")
    (over,) = status.group_conditions("PodGroup", waiting(), "", {"conditions": [done, target]}, 1, NOW)
    assert (over["type"], over["status"], over["lastTransitionTime"]) == ("DisruptionTarget", "False", NOW)


# -- pods --------------------------------------------------------------------------------------------------------


def test_pods_that_more_nodes_would_help_are_unschedulable() -> None:
    found = status.pod_condition(waiting(), None, NOW)
    assert found is not None
    assert (found["type"], found["status"], found["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert "needs 10 pods in one rack" in found["message"]


def test_nobody_buys_nodes_for_pods_over_quota() -> None:
    view = replace(waiting(), reason=Reason(Why.OVER_QUOTA, "w", "cluster", 10))
    found = status.pod_condition(view, None, NOW)
    assert found is not None
    assert found["reason"] == "OverQuota"


@pytest.mark.parametrize(("value", "reason"), [("True", ""), ("False", "Unschedulable")])
def test_a_pod_that_has_a_node_or_knows_is_left_alone(value: str, reason: str) -> None:
    before = {"conditions": [{"type": "PodScheduled", "status": value, "reason": reason}]}
    assert status.pod_condition(waiting(), before, NOW) is None


def test_pods_of_a_gang_that_runs_are_told_nothing() -> None:
    assert status.pod_condition(running(), None, NOW) is None


# -- refused -----------------------------------------------------------------------------------------------------


def test_a_refused_object_names_the_fields() -> None:
    problems = [Problem(f"spec.podGroups[{i}].count", 0, ("1 or more",), "must be 1 or more") for i in range(20)]
    found = status.invalid_status("Gang", problems, (), None, 4, NOW)
    valid = condition(found, "Valid")
    assert (valid["status"], valid["reason"], found["state"]) == ("False", "Invalid", "Invalid")
    assert valid["message"].startswith("spec.podGroups[0].count: must be 1 or more; spec.podGroups[1]")
    assert valid["message"].endswith("; and 12 more")
    msgspec.convert(found, GangStatus, strict=True)


def test_a_refused_gang_says_why_where_people_look_first() -> None:
    """The columns Reason and Message of ``kubectl get gangs`` show the condition Scheduled."""
    wrong = [Problem("spec.podGroups[0].topology.required", "rak", ("rack",), "there is no level 'rak'")]
    found = condition(status.invalid_status("Gang", wrong, (), None, 4, NOW), "Scheduled")
    assert (found["status"], found["reason"], found["message"]) == ("False", "Invalid", str(wrong[0]))
    before = status.gang_status([running()], None, 1, THEN)
    again = condition(status.invalid_status("Gang", wrong, (), before, 2, NOW), "Scheduled")
    assert (again["status"], again["reason"], again["lastTransitionTime"]) == ("True", "Invalid", THEN)
    assert [one["type"] for one in status.invalid_status("Queue", wrong, (), None, 1, NOW)["conditions"]] == ["Valid"]


def test_a_refused_gang_that_is_good_again_says_nothing_of_it_any_more() -> None:
    before = status.invalid_status("Gang", [Problem("spec", None, (), "is empty")], (), None, 1, THEN)
    after = status.gang_status([running()], before, 2, NOW)
    assert not [one for one in after["conditions"] if one["reason"] == "Invalid"] and after["state"] == "Running"


def test_problems_without_end_still_fit() -> None:
    problems = [Problem("spec.x" * 500, 0, (), "is wrong")] * 9
    found = condition(status.invalid_status("Queue", problems, (), None, 4, NOW), "Valid")["message"]
    assert len(found) <= status.MESSAGE_MAX
    assert found.endswith("; and 1 more")


def test_what_is_good_again_says_so() -> None:
    before = status.invalid_status("Topology", [Problem("spec.levels", None, (), "is empty")], (), None, 1, THEN)
    assert "state" not in before
    valid = condition(status.valid_status(before, 2, NOW), "Valid")
    assert (valid["status"], valid["lastTransitionTime"], valid["observedGeneration"]) == ("True", NOW, 2)


def test_a_gang_that_runs_while_its_manifest_is_wrong_is_told_as_it_is() -> None:
    stage = Stage("b1: r1=2")
    stage.run(gang())
    wrong = [Problem("spec", None, (), "is empty")]
    before = status.gang_status([view_of(stage)], None, 1, THEN)
    stage.lose(next(iter(stage.pods.values())))
    found = status.invalid_status("Gang", wrong, [view_of(stage)], before, 2, NOW)
    assert (found["state"], found["pods"]) == ("Degraded", "1/2")
    assert condition(found, "Valid")["status"] == "False" and condition(found, "Degraded")["status"] == "True"


def test_pods_that_came_late_and_have_no_place_say_why() -> None:
    stage = Stage("b1: r1=2")
    request = gang(count=3, least=2)
    stage.run(request, pods=2)
    stage.pod(request, 2)
    view = view_of(stage)
    assert " 1 more pod waits: " in status.sentence(view)
    assert status.pod_reason(view) == "Unschedulable"
    assert [key.name for key in view.unplaced] == ["g-2"]


def test_a_gang_that_is_set_aside_says_that_it_is_our_mistake_and_whom_to_tell() -> None:
    stage = Stage("b1: r1=2")
    stage.submit(gang(count=4))
    mishap = Mishap("KeyError: 'x'", "the traceback")
    view = replace(view_of(stage), mishap=mishap)
    told = status.gang_status([view], None, 1, "2026-11-16T06:43:03Z")
    valid = next(one for one in told["conditions"] if one["type"] == "Valid")
    assert (valid["status"], valid["reason"]) == ("False", "InternalError")
    assert "set aside: it cannot be decided, and that is a mistake of Phalanx: KeyError: 'x'" in valid["message"]
    assert "please report it" in valid["message"]
    assert status.sentence(view) == valid["message"]
