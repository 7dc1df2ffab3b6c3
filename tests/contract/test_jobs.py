"""Suspended Jobs: the template may be changed until the Job starts."""

from typing import Any

import pytest

from tests.contract.door import Answer, Doc
from tests.contract.objects import IMAGE, condition, job
from tests.contract.scope import Scope

NARROWED = {"nodeSelector": {"rack": "r1"}}


def change(space: Scope, spec: Doc | None = None, **metadata: Any) -> Answer:
    return space.merge("jobs", "a", {"spec": {"template": {"spec": spec or {}, "metadata": metadata}}})


def started_and_suspended_again(space: Scope, *conditions: Doc) -> None:
    """A Job with a history: as its controller would write it."""
    space.made("jobs", job("a", suspend=False))
    space.merge("jobs", "a", {"status": {"startTime": "2026-01-01T00:00:00Z"}}, "status").expect(200)
    space.merge("jobs", "a", {"spec": {"suspend": True}}).expect(200)
    if conditions:
        space.merge("jobs", "a", {"status": {"startTime": None, "conditions": list(conditions)}}, "status").expect(200)


PREFERRED = {"weight": 1, "preference": {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}}
DIRECTIVES = [
    {"nodeSelector": {"rack": "r1"}},
    {"tolerations": [{"key": "contract.example/spot", "operator": "Exists"}]},
    {"schedulingGates": [{"name": "contract.example/gate"}]},
    {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERRED]}}},
]


@pytest.mark.parametrize("spec", DIRECTIVES, ids=lambda spec: next(iter(spec)))
def test_the_template_of_a_suspended_job_is_steered(space: Scope, spec: Doc) -> None:
    space.made("jobs", job("a", suspend=True))
    ((key, wanted),) = spec.items()
    assert change(space, spec).expect(200)["spec"]["template"]["spec"][key] == wanted


def test_the_template_of_a_suspended_job_is_annotated_and_labelled(space: Scope) -> None:
    space.made("jobs", job("a", suspend=True))
    after = change(space, annotations={"rank": "1"}, labels={"rack": "r1"}).expect(200)
    metadata = after["spec"]["template"]["metadata"]
    assert metadata["annotations"] == {"rank": "1"} and metadata["labels"]["rack"] == "r1"


def test_steering_and_resuming_are_one_write(space: Scope) -> None:
    space.made("jobs", job("a", suspend=True))
    patch = {"spec": {"suspend": False, "template": {"spec": NARROWED}}}
    after = space.merge("jobs", "a", patch).expect(200)["spec"]
    assert after["suspend"] is False and after["template"]["spec"]["nodeSelector"] == {"rack": "r1"}


def test_a_suspended_jobs_node_selector_may_also_be_widened(space: Scope) -> None:
    """Unlike that of a gated pod: nothing was made from the template yet."""
    space.made("jobs", job("a", suspend=True))
    change(space, NARROWED).expect(200)
    after = change(space, {"nodeSelector": None}).expect(200)
    assert "nodeSelector" not in after["spec"]["template"]["spec"]


def test_the_containers_of_a_suspended_job_stay(space: Scope) -> None:
    space.made("jobs", job("a", suspend=True))
    answer = change(space, {"containers": [{"name": "main", "image": "another"}]})
    answer.refused(422, "Invalid")
    assert all(cause["field"].startswith("spec.template") for cause in answer.causes())


def test_the_scheduler_of_a_suspended_job_stays(space: Scope) -> None:
    """So a Job that is to be ours has to say so when it is created."""
    space.made("jobs", job("a", suspend=True))
    change(space, {"schedulerName": "another"}).refused(422, "Invalid")


def test_the_template_of_a_running_job_stays(space: Scope) -> None:
    space.made("jobs", job("a", suspend=False))
    answer = change(space, NARROWED)
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["spec.template"]


def test_suspending_and_steering_are_two_writes(space: Scope) -> None:
    space.made("jobs", job("a", suspend=False))
    patch = {"spec": {"suspend": True, "template": {"spec": NARROWED}}}
    space.merge("jobs", "a", patch).refused(422, "Invalid")


def test_the_template_of_a_job_that_once_ran_stays_while_it_winds_down(space: Scope) -> None:
    started_and_suspended_again(space)
    change(space, NARROWED).refused(422, "Invalid")


def test_the_template_of_a_job_that_once_ran_is_steered_when_it_says_suspended(space: Scope) -> None:
    """Since 1.36; before, a Job that once ran was closed for good."""
    started_and_suspended_again(space, {"type": "Suspended", "status": "True"})
    assert condition(space.read("jobs", "a"), "Suspended")["status"] == "True"
    change(space, NARROWED).expect(200)


def test_a_job_is_suspended_and_resumed_at_any_time(space: Scope) -> None:
    space.made("jobs", job("a"))
    for wanted in (True, False, True):
        assert space.merge("jobs", "a", {"spec": {"suspend": wanted}}).expect(200)["spec"]["suspend"] is wanted


def test_resources_of_a_suspended_job_may_change(space: Scope) -> None:
    """Since 1.36: so what we read of a suspended Job may be other resources when it resumes."""
    space.made("jobs", job("a", suspend=True))
    bigger = {"name": "main", "image": IMAGE, "resources": {"requests": {"cpu": "2"}}}
    patch = {"spec": {"template": {"spec": {"containers": [bigger]}}}}
    after = space.strategic("jobs", "a", patch).expect(200)
    assert after["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}


def test_a_job_labels_its_pods_with_its_name_and_uid(space: Scope) -> None:
    made = space.made("jobs", job("a", suspend=True))
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == "a"
    assert labels["batch.kubernetes.io/controller-uid"] == made["metadata"]["uid"]
