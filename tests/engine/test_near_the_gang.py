"""Pods that come late to a gang that runs: what is said is about the place where the gang runs."""

from typing import Any

import pytest

from phalanx.engine.lifecycle import State
from phalanx.explain import document
from phalanx.kube import status
from phalanx.testing import LiveScheduler
from tests.testing import live_objects as objects


def elastic(least: int = 1, required: str | None = "rack") -> dict[str, Any]:
    """A Gang of at least so many pods with four GPUs each, that grows pod by pod."""
    level = {} if required is None else {"topology": {"required": required}}
    container = {"name": "main", "resources": {"requests": {objects.GPU: "4"}}}
    group = {
        "name": "workers",
        "count": 6,
        "minCount": least,
        "template": {"spec": {"containers": [container]}},
        **level,
    }
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang",
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web"}, "spec": {"podGroups": [group]},
    }  # fmt: skip


def member(number: int) -> dict[str, Any]:
    return objects.pod(f"web-{number}", 4, labels={"phalanx.dev/gang": "web", "phalanx.dev/group": "workers"})


def grown(*others: dict[str, Any], gang: dict[str, Any] | None = None) -> LiveScheduler:
    """Four pods fill rack r0 of b0, and run; a fifth comes late. Rack r1 is empty."""
    scheduler = LiveScheduler()
    pods = [member(number) for number in range(5)]
    there = [*objects.cluster(blocks=2), gang or elastic(), *others]
    running = [objects.on(pod, f"n{number // 2}") for number, pod in enumerate(pods[: 4 - len(others)])]
    scheduler.step(seen=[*there, *running], now=1000.0)
    scheduler.step(seen=[pods[4]], now=1001.0)
    return scheduler


def told(scheduler: LiveScheduler) -> str:
    return next(one["message"] for one in scheduler.gangs() if one["id"] == "default/web")


def test_a_late_pod_in_a_full_rack_is_told_of_the_rack_its_gang_is_in_and_what_is_short_there() -> None:
    message = told(grown())
    assert "affinity" not in message
    assert 'group "workers" needs 1 pod in rack b0/r0, where the rest of it runs' in message
    assert "there is room for 0 (gpu short on 2 nodes)" in message


def test_programs_are_told_where_the_rest_runs() -> None:
    scheduler = grown()
    lack = scheduler._decider.engine.book.gangs["default/web"].lack
    assert lack is not None
    found = document.reason(lack)
    assert (found["beside"], found["level"], found["group"]) == (["b0", "r0"], "rack", "workers")
    assert found["causes"] == [{"kind": "resource", "name": objects.GPU, "nodes": 2}]


def test_an_affinity_that_the_user_wrote_is_told_as_ever() -> None:
    gang = elastic()
    spec = gang["spec"]["podGroups"][0]["template"]["spec"]
    rule = {"key": "disk", "operator": "In", "values": ["fast"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    late = member(4)
    late["spec"]["affinity"] = spec["affinity"]
    scheduler = LiveScheduler()
    running = [objects.on(member(number), f"n{number // 2}") for number in range(4)]
    scheduler.step(seen=[*objects.cluster(blocks=2), gang, *running], now=1000.0)
    scheduler.step(seen=[late], now=1001.0)
    assert "none of 2 nodes there admits them (affinity disk in (fast) not met on 2 nodes)" in told(scheduler)


def test_nodes_that_admit_none_of_them_are_those_where_the_gang_runs() -> None:
    scheduler = LiveScheduler()
    running = [objects.on(member(number), f"n{number // 2}") for number in range(2)]
    spec = {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}
    there = objects.cluster(blocks=2)
    cordoned = [{**one, "spec": spec} if one["metadata"]["name"] in ("n0", "n1") else one for one in there]
    scheduler.step(seen=[*cordoned, elastic(), *running], now=1000.0)
    scheduler.step(seen=[member(4)], now=1001.0)
    message = told(scheduler)
    assert "in rack b0/r0, where the rest of it runs" in message and "affinity" not in message
    assert "none of 2 nodes there admits them" in message and "unschedulable" in message


@pytest.mark.parametrize("gang", ["b", "b-2"])
def test_who_would_have_to_end_is_looked_for_where_the_gang_runs(gang: str) -> None:
    """A Job holds a place in the rack: when it ends, the late pod starts there."""
    job = objects.job(gang, 1, 8)
    taken = objects.on(objects.pod(f"{gang}-0", 8, owner=job), "n1")
    decider = grown(job, taken, gang=elastic())._decider
    view = None
    while decider.rest == 0.0:
        view = decider.advise() or view
    assert view is not None and view.state is State.RUNNING
    assert f"It starts when default/{gang} ends." in status.sentence(view)


def test_its_own_gang_is_none_that_would_have_to_end() -> None:
    """The rack is full of the gang itself."""
    decider = grown(gang=elastic())._decider
    told = [view.ways_out for _ in range(3) if (view := decider.advise()) is not None]
    assert told and all("default/web" not in one.change for ways in told for one in ways)
