"""``phalanx.testing.LiveScheduler``: the public way to test manifests against what ``phalanx run`` thinks."""

import pytest

from phalanx.testing import LiveScheduler
from tests.testing import live_objects as objects


def test_pods_that_come_one_by_one_are_bound_together_once_the_last_is_there() -> None:
    scheduler = LiveScheduler()
    job = objects.job("train", 4, 4)
    assert scheduler.step(seen=[*objects.cluster(), job], now=1000.0)[0].kind == "Report"
    for number in range(3):
        pod = objects.pod(f"train-{number}", 4, owner=job)
        assert not [one for one in scheduler.step(seen=[pod], now=1001.0) if one.kind == "Bind"]
    assert scheduler.gangs()[0]["reason"] == "PodsMissing"
    effects = scheduler.step(seen=[objects.pod("train-3", 4, owner=job)], now=1002.0)
    binds = {one.name: one for one in effects if one.kind == "Bind"}
    assert sorted(binds) == ["train-0", "train-1", "train-2", "train-3"]
    assert {one.node for one in binds.values()} == {"n0", "n1"}
    assert (binds["train-0"].gang, binds["train-0"].uid) == ("default/train", "uid-train-0")
    assert scheduler.next_at is not None
    (told,) = scheduler.gangs()
    assert (told["id"], told["state"], told["bound"], told["wanted"]) == ("default/train", "Binding", 0, 4)


def test_answers_are_words_and_a_wrong_one_is_named() -> None:
    with pytest.raises(ValueError, match="'perhaps' is not one of bound"):
        LiveScheduler().step(answers=[("default", "p", "u", "n0", "perhaps")], now=1.0)


def test_a_manifest_that_is_wrong_is_shown_as_invalid_until_it_is_corrected_or_deleted() -> None:
    scheduler = LiveScheduler()
    wrong = objects.job("train", 2, 4)
    wrong["metadata"]["annotations"] = {"phalanx.dev/topology-requird": "rack"}
    scheduler.step(seen=[*objects.cluster(), wrong], now=1000.0)
    (told,) = scheduler.gangs()
    assert (told["id"], told["state"], told["reason"], told["bound"]) == ("default/train", "Invalid", None, 0)
    assert "phalanx.dev/topology-requird" in told["message"]
    scheduler.step(seen=[objects.job("train", 2, 4)], now=1001.0)
    assert [(one["id"], one["state"]) for one in scheduler.gangs()] == [("default/train", "Queued")]
    scheduler.step(seen=[wrong], now=1002.0)
    assert [one["state"] for one in scheduler.gangs()] == ["Invalid"]
    scheduler.step(gone=[("batch", "Job", "default", "train")], now=1003.0)
    assert scheduler.gangs() == []


def test_a_gang_that_runs_is_shown_as_running_though_its_manifest_has_become_wrong() -> None:
    scheduler = LiveScheduler()
    job = objects.job("train", 1, 4)
    pod = objects.pod("train-0", 4, owner=job)
    (bind,) = [one for one in scheduler.step(seen=[*objects.cluster(), job, pod], now=1000.0) if one.kind == "Bind"]
    bound = objects.on(pod, bind.node)
    scheduler.step(seen=[bound], answers=[("default", bind.name, bind.uid, bind.node, "bound")], now=1001.0)
    job["metadata"]["annotations"] = {"phalanx.dev/topology-requird": "rack"}
    scheduler.step(seen=[job], now=1002.0)
    assert [(one["id"], one["state"], one["bound"]) for one in scheduler.gangs()] == [("default/train", "Running", 1)]


def test_a_gang_for_which_nothing_can_be_placed_says_what_of_its_manifest_is_in_the_way() -> None:
    pod = objects.pod("p", 1)
    pod["spec"]["containers"][0]["resources"]["requests"] |= {f"example.com/{i}": "1" for i in range(600)}
    scheduler = LiveScheduler()
    scheduler.step(seen=[*objects.cluster(), pod], now=1000.0)
    (told,) = scheduler.gangs()
    assert (told["state"], told["wanted"]) == ("Invalid", 1)
    assert "more than 512 different resources and host ports are in play" in told["message"]
