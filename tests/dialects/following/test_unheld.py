"""Workloads of another scheduler that nothing holds back, or that are held for good: each is told what it takes."""

import pytest

from phalanx.dialects.following import Told
from tests.dialects.following.living import Object, follower, job, tell

IN_A_RACK = {"phalanx.dev/topology-required": "host"}
QUEUED = {"phalanx.dev/queue": "default"}


def theirs(suspend: bool, labels: dict[str, str] | None = None, **template: object) -> Object:
    made = job("train", 2, annotations=IN_A_RACK, labels=labels or {})
    made["spec"] |= {"suspend": suspend}
    made["spec"]["template"]["spec"] |= {"schedulerName": "default-scheduler", **template}
    return made


def noted(told: Told) -> list[str]:
    return [str(problem) for problem in told.notes.get("default/train", ())]


def test_one_that_runs_free_is_told_all_that_it_takes_to_be_held() -> None:
    ((_, invalid),) = tell(follower(), theirs(suspend=False)).refused
    (problem,) = invalid.problems
    assert "suspend: true and label phalanx.dev/queue" in problem.message
    assert "schedulerName: phalanx in its pod template" in problem.message
    ((_, invalid),) = tell(follower(), theirs(suspend=False, labels=QUEUED)).refused
    assert "phalanx.dev/queue" not in invalid.problems[0].message, "it has that already"


def test_one_that_is_suspended_in_no_queue_is_told_that_nobody_resumes_it() -> None:
    one = follower()
    told = tell(one, theirs(suspend=True))
    (said,) = noted(told)
    assert said.startswith("metadata.labels") and "give it label phalanx.dev/queue" in said
    assert "schedulerName: phalanx" in said
    assert not noted(tell(one, theirs(suspend=True, labels=QUEUED)))
    assert len(noted(tell(follower(queues=()), theirs(suspend=True)))) == 1, "whatever labels hand a workload to us"


@pytest.mark.parametrize(
    "template", [{"schedulingGates": [{"name": "phalanx.dev/topology"}]}, {"schedulerName": "phalanx"}]
)
def test_one_whose_pods_wait_for_us_when_its_user_resumes_it_is_told_nothing(template: dict[str, object]) -> None:
    assert not noted(tell(follower(), theirs(suspend=True, **template)))
