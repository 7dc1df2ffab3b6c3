"""Time in which nothing can be heard: nobody is evicted for what could not be told, and clocks go on afterwards."""

from typing import Any

import pytest

from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage

READY, RECOVERY, SCHEDULE = 600.0, 300.0, 60.0  # the rules of a gang that says nothing


TRAIN: Doc = {
    "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang",
    "metadata": {"name": "train", "namespace": "default", "uid": "train"},
    "spec": {"podGroups": [{"name": "main", "count": 4}]},
}  # fmt: skip


def pods_of(*names: str) -> list[Doc]:
    return [objects.pod(name, 4, labels={"phalanx.dev/gang": "train"}) for name in names]


class Training(LiveStage):
    """A Gang of four pods that has its nodes. ``placed``: its pods as they are then, not ready yet."""

    def __init__(self) -> None:
        super().__init__(*objects.cluster())
        pods = pods_of("train-0", "train-1", "train-2", "train-3")
        self.see(TRAIN, *pods, carry_out=False)
        self.binds = [one for one in self.effects if one.kind == "Bind"]
        homes = {one.name: one.node for one in self.binds}
        self.placed = [objects.on(pod, homes[pod["metadata"]["name"]], ready=False) for pod in pods]

    def starting(self) -> "Training":
        self.see(*self.placed)
        assert self.state("default/train") == "Starting"
        return self

    def running(self) -> "Training":
        self.starting().see(*self.ready())
        assert self.state("default/train") == "Running"
        return self

    def degraded(self) -> "Training":
        self.running().see(gone=self.placed[:1])
        assert self.state("default/train") == "Degraded"
        return self

    def ready(self) -> list[Doc]:
        return [objects.on(pod, pod["spec"]["nodeName"]) for pod in self.placed]

    def silent_for(self, seconds: float, *docs: Doc, **told: Any) -> list[str]:
        """One step after so long, and the kinds of what was wanted then, without what is only told."""
        self.now += seconds
        effects = self.scheduler.step(seen=docs, now=self.now, **told)
        self.told.update({("", "Pod", "default", one["metadata"]["name"]): one for one in docs})
        return sorted({one.kind for one in effects} - {"Report", "Notice"})


def test_pods_that_were_ready_long_ago_and_could_not_tell_are_not_evicted() -> None:
    stage = Training().starting()
    assert stage.silent_for(READY + 1) == []
    assert stage.silent_for(1, *stage.ready()) == []
    assert stage.state("default/train") == "Running"


def test_what_is_heard_with_the_first_step_after_a_silence_counts_before_the_clock_does() -> None:
    stage = Training().starting()
    assert stage.silent_for(READY + 1, *stage.ready()) == []
    assert stage.state("default/train") == "Running"


@pytest.mark.parametrize("late", [0.0, 0.1])
def test_readiness_that_is_heard_in_the_step_in_which_the_clock_runs_out_counts(late: float) -> None:
    stage = Training().starting()
    stage.after(READY - 30)
    assert stage.silent_for(30 + late, *stage.ready()) == []
    assert stage.state("default/train") == "Running"


def test_replacements_that_are_heard_of_with_the_end_of_the_recovery_clock_count() -> None:
    stage = Training().degraded()
    stage.after(RECOVERY - 30)
    (home,) = {pod["spec"]["nodeName"] for pod in stage.placed[:1]}
    assert stage.silent_for(30, objects.on(pods_of("train-4")[0], home)) == []
    assert stage.state("default/train") == "Running"


def test_a_gang_that_does_not_get_ready_while_it_is_seen_still_leaves_in_time() -> None:
    stage = Training().starting()
    stage.after(READY - 1)
    assert stage.state("default/train") == "Starting"
    stage.after(1)
    assert [one.cause for one in stage.effects if one.kind == "Evict"] == ["READY_TIMEOUT"] * 4


@pytest.mark.parametrize("begin", ["starting", "degraded"])
def test_after_a_silence_a_clock_has_as_much_left_as_before_it(begin: str) -> None:
    stage = getattr(Training(), begin)()
    left = (READY if begin == "starting" else RECOVERY) - 100
    stage.after(100)
    assert stage.silent_for(10_000) == []
    stage.after(left - 1)
    assert "Evict" not in stage.kinds()
    stage.after(1)
    assert "Evict" in stage.kinds()


def test_half_a_gang_whose_binds_could_not_be_seen_is_not_taken_back() -> None:  # W-134
    stage = Training()
    stage.see(stage.placed[0], carry_out=False)
    assert "Evict" not in stage.silent_for(SCHEDULE + 1)
    stage.see(*stage.ready())
    assert stage.state("default/train") == "Running"


def test_a_silence_may_be_told_though_steps_went_on() -> None:
    """As where only the watch of pods is away: others bring things, and the scheduler is stepped for them."""
    stage = Training().starting()
    for _ in range(70):
        assert stage.silent_for(10, unheard=10.0) == []
    assert stage.silent_for(0, *stage.ready()) == []
    assert stage.state("default/train") == "Running"
    again = Training().starting()
    assert [again.silent_for(10) for _ in range(61)][-1] == ["Evict"]


def test_places_that_nobody_took_during_a_silence_are_kept() -> None:
    stage = LiveStage(*objects.cluster())
    gang: Doc = {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang",
        "metadata": {"name": "train", "namespace": "default", "uid": "train"},
        "spec": {"podGroups": [{"name": "main", "count": 3, "minCount": 2}]},
    }  # fmt: skip
    pods = [objects.pod(f"p{number}", 8, labels={"phalanx.dev/gang": "train"}) for number in range(3)]
    stage.see(gang, *pods)
    home = stage.where("p2")[0]
    stage.see(gone=pods[2:])
    stage.now += RECOVERY + 1
    stage.see()  # cut off meanwhile
    other = objects.job("other", 2, 8, required=None)
    stage.see(other, *[objects.pod(f"other-{number}", 8, owner=other) for number in range(2)])
    assert stage.state("default/other") == "Queued"
    stage.see(objects.pod("p3", 8, labels={"phalanx.dev/gang": "train"}))
    assert stage.where("p3") == [home]


def test_what_backs_off_is_tried_again_after_a_silence_as_after_any_wait() -> None:
    """What gives something to a gang does not wait for longer than it must."""
    stage = Training().starting()
    stage.after(READY)
    assert stage.state("default/train") == "Queued"
    stage.see(*pods_of("again-0", "again-1", "again-2", "again-3"))
    assert stage.state("default/train") == "Queued"
    assert stage.silent_for(1000) == ["Bind"]
