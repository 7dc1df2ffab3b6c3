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
