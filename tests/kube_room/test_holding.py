"""Our gate in the templates of an owner, and suspending it."""

from typing import Any

from phalanx.kube import holding


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
