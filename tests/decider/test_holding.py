"""Our gate in the templates of an owner, and suspending it."""

from typing import Any

from phalanx.decider import holding


def job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c"}], **spec}}
    return {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"suspend": True, "template": template}}


def jobset() -> dict[str, Any]:
    inner = {"template": {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}, "name": "workers"}
    return {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"suspend": True, "replicatedJobs": [inner]}}


def test_the_gate_goes_into_the_template_of_a_job() -> None:  # K-061, K-080
    change = holding.gated(job())
    assert change is not None
    assert change["spec"]["template"]["spec"]["schedulingGates"] == [{"name": "phalanx.dev/topology"}]
    assert change["metadata"] == {"resourceVersion": "7"}, "refused when somebody else wrote meanwhile"
    assert "suspend" not in change["spec"]


def test_the_gate_goes_into_every_template_of_a_jobset() -> None:  # K-016
    change = holding.gated(jobset())
    assert change is not None
    (inner,) = change["spec"]["replicatedJobs"]
    assert inner["template"]["spec"]["template"]["spec"]["schedulingGates"] == [{"name": "phalanx.dev/topology"}]
    assert inner["name"] == "workers"


def test_putting_it_in_twice_changes_nothing() -> None:
    assert holding.gated(job(schedulingGates=[{"name": "phalanx.dev/topology"}])) is None


def test_taking_it_out_leaves_gates_of_others() -> None:  # K-068
    both = [{"name": "phalanx.dev/topology"}, {"name": "other"}]
    change = holding.ungated(job(schedulingGates=both))
    assert change is not None
    assert change["spec"]["template"]["spec"]["schedulingGates"] == [{"name": "other"}]
    assert holding.ungated(job()) is None


def test_suspending_is_refused_for_anything_but_the_owner_that_was_read_and_is_done_once() -> None:
    assert holding.suspended(job(), False) == {"metadata": {"resourceVersion": "7"}, "spec": {"suspend": False}}
    assert holding.suspended(job(), True) is None


# -- our note of it ------------------------------------------------------------------------------------------------

NOTE = "phalanx.dev/suspended"
POLICY = ("spec", "runPolicy", "suspend")


def running(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"uid": "u", "resourceVersion": "7", **metadata}, "spec": {"suspend": False}}


def test_what_we_suspend_carries_our_note_in_the_same_write() -> None:
    change = holding.suspended(running(), True, "for gang g: DRAINED")
    assert change == {
        "metadata": {"resourceVersion": "7", "annotations": {NOTE: "for gang g: DRAINED"}},
        "spec": {"suspend": True},
    }


def test_what_its_user_suspended_gets_no_note() -> None:
    assert holding.suspended(job(), True, "for gang g: DRAINED") is None


def test_the_note_goes_when_it_is_resumed() -> None:
    held = job()
    held["metadata"]["annotations"] = {NOTE: "for gang g: DRAINED", "other": "stays"}
    wanted = {"metadata": {"resourceVersion": "7", "annotations": {NOTE: None}}, "spec": {"suspend": False}}
    assert holding.suspended(held, False) == holding.let_go(held) == wanted


def test_what_carries_no_note_of_ours_is_not_let_go() -> None:
    assert holding.let_go(job()) is None
    assert holding.let_go(running()) is None


def test_of_what_its_user_resumed_only_the_note_is_taken_off() -> None:
    found = running(annotations={NOTE: "for gang g: DRAINED"})
    assert holding.let_go(found) == {"metadata": {"resourceVersion": "7", "annotations": {NOTE: None}}}


def test_a_kind_that_says_it_elsewhere_is_suspended_there() -> None:
    training = {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"runPolicy": {"cleanPodPolicy": "None"}}}
    change = holding.suspended(training, True, "for gang g: DRAINED", POLICY)
    assert change is not None and change["spec"] == {"runPolicy": {"suspend": True}}
    training["spec"]["runPolicy"]["suspend"] = True
    assert holding.is_held(training, POLICY) and not holding.is_held(training)
    assert holding.suspended(training, True, "again", POLICY) is None
