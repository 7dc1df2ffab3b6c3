"""Pods and templates that name something that is not there: it is said, once for each workload."""

import pytest

from phalanx.dialects.following import Told
from tests.dialects.following.living import Object, bound, follower, grouped, job, jobs_pod, pod, pod_group, tell

LABELS = {"phalanx.dev/gang": "crew", "phalanx.dev/group": "workers"}


def gang(pods: int = 2) -> Object:
    metadata = {"name": "crew", "namespace": "default", "uid": "crew"}
    spec = {"podGroups": [{"name": "workers", "count": pods}]}
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": metadata, "spec": spec}


def named(name: str = "train") -> Object:
    """A Job whose template names the Gang."""
    made = job(name, 2)
    made["spec"]["template"]["metadata"] = {"labels": LABELS}
    return made


def told_on(told: Told) -> dict[tuple[str, str], list[str]]:
    return {(one.kind, one.name): [str(problem) for problem in one.problems] for _, one in told.refused}


def test_a_job_whose_gang_does_not_exist_is_told_which_and_where_it_names_it() -> None:
    one, train = follower(), named()
    told = tell(one, train, *(jobs_pod(train, index, **LABELS) for index in range(2)))
    ((who, (said,)),) = told_on(told).items()
    assert who == ("Job", "train")
    assert said.startswith("spec.template.metadata.labels['phalanx.dev/gang']: ")
    assert "names Gang crew (phalanx.dev), which does not exist" in said
    assert not tell(one, jobs_pod(train, 0, again="", **LABELS)).refused, "once"
    told = tell(one, gang())
    assert [subject.key[3] for subject in told.accepted] == ["train"] and not told.refused


@pytest.mark.parametrize(
    ("pods", "path", "what"),
    [
        ([pod(f"p{i}", labels=LABELS) for i in range(3)], "metadata.labels['phalanx.dev/gang']", "Gang crew"),
        ([grouped(f"p{i}", "pg") for i in range(3)], "spec.schedulingGroup.podGroupName", "PodGroup pg"),
    ],
)
def test_of_pods_that_nobody_made_the_first_is_told(pods: list[Object], path: str, what: str) -> None:
    one = follower()
    ((who, (said,)),) = told_on(tell(one, *pods[1:])).items()
    assert who == ("Pod", "p1") and said.startswith(path) and f"names {what}" in said
    younger = pods[0]
    younger["metadata"]["creationTimestamp"] = "2026-11-16T08:00:01Z"
    assert not tell(one, younger).refused
    there = gang(3) if what == "Gang crew" else pod_group("pg", 3)
    assert [subject.key[3] for subject in tell(one, there).accepted if subject.key[1] == "Pod"] == ["p1"]


def test_what_is_there_is_not_missed() -> None:
    assert not tell(follower(), pod("p", labels=LABELS), gang(1)).refused
    assert not tell(follower(), pod_group("pg", 1), grouped("p", "pg")).refused


def test_who_runs_or_is_none_of_ours_is_told_nothing() -> None:
    running = bound(pod("p", labels=LABELS), "n1")
    assert not tell(follower(), running).refused
    train = named()
    assert not tell(follower(), train, bound(jobs_pod(train, 0, **LABELS), "n1")).refused
    theirs = grouped("p", "pg")
    theirs["spec"]["schedulerName"] = "default-scheduler"
    assert not tell(follower(), theirs).refused
    in_kueue = pod("q", labels={"kueue.x-k8s.io/pod-group-name": "g"}, annotations={"kueue.x-k8s.io/workload": "w"})
    assert not tell(follower(), in_kueue).refused
