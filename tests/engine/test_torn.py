"""A node of a running gang gets other labels: which required level is not kept any more is told, while it is so."""

from typing import Any

from phalanx.engine import views
from phalanx.kube import notices, status
from phalanx.model.effects import Report
from phalanx.testing import LiveScheduler
from tests.testing import live_objects as objects


def running() -> LiveScheduler:
    """A Job of four pods in rack r0: two on n0, two on n1."""
    scheduler, job = LiveScheduler(), objects.job("train", 4, 4)
    pods = [objects.on(objects.pod(f"train-{i}", 4, owner=job), f"n{i // 2}") for i in range(4)]
    scheduler.step(seen=[*objects.cluster(), job, *pods], now=1000.0)
    return scheduler


def message(scheduler: LiveScheduler) -> str:
    (told,) = scheduler.gangs()
    return str(told["message"])


def view(scheduler: LiveScheduler) -> views.View:
    return views.of_all(scheduler._decider.engine.book, ["default/train"])["default/train"]


def relabelled() -> dict[str, Any]:
    return objects.node("n1", "b0", "r1")


def test_which_node_left_which_level_is_told_for_as_long_as_it_is_so() -> None:
    scheduler = running()
    assert "not kept" not in message(scheduler)
    told = scheduler.step(seen=[relabelled()], now=1010.0)
    assert [one.gang for one in told if one.kind == "Report"] == ["default/train"]
    expected = 'The rack that group "main" requires is not kept: node n1 is in b0/r1 by now, the rest in b0/r0.'
    assert expected in message(scheduler)
    assert not [one for one in scheduler.step(now=1011.0) if one.kind == "Report"]  # told once
    assert expected in message(scheduler)
    scheduler.step(seen=[objects.node("n1", "b0", "r0")], now=1020.0)
    assert "not kept" not in message(scheduler)


def test_a_node_that_is_in_no_domain_any_more_is_said_to_be() -> None:
    scheduler, node = running(), relabelled()
    del node["metadata"]["labels"]["topology/rack"]
    scheduler.step(seen=[node], now=1010.0)
    assert "node n1 is in no rack by now, the rest in b0/r0" in message(scheduler)


def test_a_scheduler_that_starts_later_sees_it_as_well() -> None:
    scheduler, job = LiveScheduler(), objects.job("train", 4, 4)
    pods = [objects.on(objects.pod(f"train-{i}", 4, owner=job), f"n{max(i - 2, 0)}") for i in range(4)]
    there = [one for one in objects.cluster() if one["metadata"]["name"] != "n1"]
    scheduler.step(seen=[*there, relabelled(), job, *pods], now=1000.0)
    assert "node n1 is in b0/r1 by now, the rest in b0/r0" in message(scheduler)


def test_it_is_one_event_and_a_condition_that_says_since_when() -> None:
    scheduler = running()
    before = status.gang_status([view(scheduler)], None, 1, "T0")
    assert "LevelBroken" not in {one["type"] for one in before["conditions"]}
    (report,) = [one.effect for one in scheduler.step(seen=[relabelled()], now=1010.0) if one.kind == "Report"]
    assert isinstance(report, Report)
    said = notices.of_report(report, view(scheduler))
    assert said is not None and (said.type, said.reason) == ("Warning", "LevelBroken") and "node n1" in said.note
    broken = status.gang_status([view(scheduler)], before, 1, "T1")
    (condition,) = [one for one in broken["conditions"] if one["type"] == "LevelBroken"]
    assert (condition["status"], condition["lastTransitionTime"]) == ("True", "T1")
    assert "node n1" in condition["message"]
    assert status.gang_status([view(scheduler)], broken, 1, "T2")["conditions"][-1]["lastTransitionTime"] != "T2"
    scheduler.step(seen=[objects.node("n1", "b0", "r0")], now=1020.0)
    healed = status.gang_status([view(scheduler)], broken, 1, "T3")
    (condition,) = [one for one in healed["conditions"] if one["type"] == "LevelBroken"]
    assert (condition["status"], condition["lastTransitionTime"]) == ("False", "T3")
