"""Jobs that an eviction of their whole gang would end for good are told so, where it is true."""

from typing import Any

import pytest

from phalanx.dialects.following import limits
from phalanx.model.problems import Problem
from tests.dialects.following.living import Object, follower, job, pod, tell

IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
COUNTS = {"rules": [{"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
OTHER = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "False"}]}]}


def made_by(kind: str, pods: int = 8, **spec: Any) -> Object:
    """A Job that something else made, and may resume."""
    api = "batch/v1" if kind == "CronJob" else "example.com/v1"
    owner = {"apiVersion": api, "kind": kind, "metadata": {"name": "above", "uid": "above"}}
    found = job("train", pods, owner)
    found["spec"].update(spec)
    return found


def doubts(*docs: Object) -> list[Problem]:
    told = tell(follower(), *docs)
    return [one for notes in told.notes.values() for one in notes if one.field in limits.FIELDS]


def test_a_job_that_is_not_suspended_and_has_more_pods_than_it_may_lose_is_told_so() -> None:
    (doubt,) = doubts(made_by("Pipeline"))
    assert (doubt.path, doubt.value, doubt.allowed) == ("spec.backoffLimit", 6, (">= 8",))
    assert "8 pods" in doubt.message and "Pipeline above made Job train" in doubt.message
    assert "podFailurePolicy" in doubt.message and "DisruptionTarget" in doubt.message


def test_its_own_limit_is_what_is_told() -> None:
    (doubt,) = doubts(made_by("Pipeline", backoffLimit=2))
    assert doubt.value == 2


@pytest.mark.parametrize(
    ("pods", "spec"),
    [
        (6, {}),
        (8, {"backoffLimit": 8}),
        (8, {"podFailurePolicy": IGNORES}),
        (8, {"backoffLimitPerIndex": 1}),
        (8, {"podFailurePolicy": {"rules": ["x", {"action": "Ignore", "onPodConditions": 3}, IGNORES["rules"][0]]}}),
    ],
)
def test_nothing_is_told_of_one_that_would_survive(pods: int, spec: dict[str, Any]) -> None:
    assert not doubts(made_by("Pipeline", pods, **spec))


@pytest.mark.parametrize("policy", [COUNTS, OTHER, {"rules": []}, {}, "Ignore"])
def test_a_policy_that_does_not_ignore_our_condition_does_not_help(policy: object) -> None:
    assert doubts(made_by("Pipeline", podFailurePolicy=policy))


def test_a_limit_of_each_index_is_exceeded_where_it_is_none() -> None:
    (doubt,) = doubts(made_by("Pipeline", backoffLimitPerIndex=0))
    assert (doubt.path, doubt.value, doubt.allowed) == ("spec.backoffLimitPerIndex", 0, (">= 1",))


def test_nothing_is_told_of_a_job_that_is_suspended_meanwhile() -> None:
    assert not doubts(job("train", 100))
    assert not doubts(made_by("CronJob", 100))


def test_a_job_whose_gang_has_other_pods_too_is_told_so_on_the_gang() -> None:
    labels = {"phalanx.dev/gang": "crew", "phalanx.dev/group": "workers"}
    train = job("train", 8)
    train["spec"]["template"]["metadata"] = {"labels": labels}
    gang = {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "crew", "namespace": "default", "uid": "crew"},
        "spec": {"podGroups": [{"name": "workers", "count": 9}]},
    }
    assert not doubts(gang, train)
    (doubt,) = doubts(gang, train, pod("bare", labels=labels))
    assert doubt.path == "Job/train: spec.backoffLimit" and "Pod bare cannot be suspended" in doubt.message
