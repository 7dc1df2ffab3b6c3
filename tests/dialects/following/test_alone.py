"""Pods that nothing gathers and nobody we read has made: each is a gang of one, whenever it is first seen."""

import pytest

from phalanx.dialects.following import Told
from phalanx.engine.engine import Engine
from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind
from phalanx.model.events import GangGone, GangSeen, PodSeen
from phalanx.model.objects import ObjectKey
from phalanx.model.reasons import Why
from tests.dialects.following.living import Object, bound, follower, job, jobs_pod, node, pod, tell

OPERATOR = {"apiVersion": "example.com/v1", "kind": "Flock", "metadata": {"name": "own", "uid": "f"}}
STORE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "uid": "c"}}
SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "own", "uid": "d"}}


def gangs(told: Told) -> list[str]:
    return [event.request.id for event in told.events if isinstance(event, GangSeen)]


def members(told: Told) -> dict[str, str | None]:
    return {event.pod.key.name: event.pod.gang for event in told.events if isinstance(event, PodSeen)}


def ended(one: Object) -> Object:
    return {**one, "status": {"phase": "Succeeded"}}


@pytest.mark.parametrize("owner", [OPERATOR, STORE])
def test_the_pods_of_a_kind_that_nobody_reads_are_gangs_of_one(owner: Object) -> None:  # W-017, W-049
    told = tell(follower(), pod("a", owner), pod("b", owner))
    assert gangs(told) == ["default/a", "default/b"]
    assert members(told) == {"a": "default/a", "b": "default/b"}


def test_the_queue_of_such_a_pod_is_its_own() -> None:
    one = pod("a", OPERATOR, labels={"phalanx.dev/queue": "tiny"})
    assert [e.request.queue for e in tell(follower(), one).events if isinstance(e, GangSeen)] == ["tiny"]


def test_pods_that_a_pod_made_stand_for_themselves() -> None:
    driver = pod("driver")
    told = tell(follower(), driver, pod("exec-1", driver), pod("exec-2", driver))
    assert members(told) == {"driver": "default/driver", "exec-1": "default/exec-1", "exec-2": "default/exec-2"}


def test_a_pod_whose_job_is_told_a_moment_later_waits_for_it() -> None:
    train = job("train", 2)
    one = follower()
    assert gangs(tell(one, jobs_pod(train, 0), jobs_pod(train, 1))) == []
    assert gangs(tell(one, train)) == ["default/train"]


def test_a_pod_of_a_daemon_set_is_no_gang() -> None:
    assert gangs(tell(follower(), pod("a", SET))) == []


# -- found running ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("owner", [None, OPERATOR])
def test_a_pod_that_has_a_node_when_it_is_first_seen_is_a_gang_that_runs(owner: Object | None) -> None:
    one = pod("solo", owner, labels={"phalanx.dev/queue": "tiny"})
    told = tell(follower(), bound(one, "n1"))
    assert gangs(told) == ["default/solo"] and members(told) == {"solo": "default/solo"}


def test_what_a_pod_asks_for_does_not_depend_on_when_it_was_first_seen() -> None:
    early, late = (
        [event for one in docs for event in tell(one_follower, one).events if isinstance(event, GangSeen)]
        for one_follower, docs in (
            (follower(), [pod("solo"), bound(pod("solo"), "n1")]),
            (follower(), [bound(pod("solo"), "n1")]),
        )
    )
    assert early == late


def test_a_pod_that_had_ended_when_it_was_first_seen_is_no_gang() -> None:
    assert gangs(tell(follower(), ended(bound(pod("solo"), "n1")))) == []


def test_a_pod_of_others_on_a_node_is_no_gang() -> None:
    other = pod("other", OPERATOR)
    other["spec"]["schedulerName"] = "default-scheduler"
    told = tell(follower(), bound(other, "n1"))
    assert gangs(told) == [] and members(told) == {"other": None}


def test_the_gang_of_a_pod_goes_with_it() -> None:
    one = follower()
    tell(one, bound(pod("solo", OPERATOR), "n1"))
    one.gone(ObjectKey("", "Pod", "default", "solo"))
    assert [event.id for event in one.tell().events if isinstance(event, GangGone)] == ["default/solo"]


def test_a_pod_that_is_found_running_holds_the_quota_of_its_queue() -> None:
    tiny = {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": "tiny", "uid": "q"},
        "spec": {"quota": [{"resources": [{"name": "cpu", "nominal": "1"}]}]},
    }
    queued = {"phalanx.dev/queue": "tiny"}
    told = tell(follower(), node("n1"), tiny, bound(pod("old", labels=queued), "n1"), pod("new", labels=queued))
    engine = Engine()
    assert not [effect for effect in engine.step(told.events, 1e9) if isinstance(effect, Bind)]
    waits = engine.book.gangs["default/new"].reason
    assert waits is not None and waits.type == Why.OVER_QUOTA
    assert engine.book.gangs["default/old"].state in (State.STARTING, State.RUNNING)
