"""What is counted for the metrics, and when."""

from typing import cast

from phalanx.decider import Outcome
from phalanx.dialects.following import Told
from phalanx.kube.journal import COUNT_SECONDS, Journal, reserved_idle
from phalanx.kube.logs import GangLog
from phalanx.kube.metrics import Metrics
from tests.engine.stage import Stage, gang

NOTHING = Outcome((), Told(), (), {}, None, 0.0)


def test_places_that_no_pod_uses_yet_are_counted() -> None:  # W-164
    stage = Stage("b1: r1=4")
    stage.submit(gang(count=3))
    waiting = reserved_idle(stage.engine.book.gangs.values())
    assert waiting == {"nvidia.com/gpu": 3.0, "pods": 3.0}


def test_nothing_is_idle_once_all_pods_are_bound() -> None:
    stage = Stage("b1: r1=4")
    stage.run(gang(count=3))
    assert reserved_idle(stage.engine.book.gangs.values()) == {}


# -- when --------------------------------------------------------------------------------------------------------


class Counted:
    """A journal of the gangs of a stage, and the clock it goes by."""

    def __init__(self) -> None:
        self.stage, self.now = Stage("b1: r1=4"), 0.0
        self.figures = Metrics("1", lambda: (), lambda: self.now)
        gangs = self.stage.engine.book.gangs.values
        self.journal = Journal(cast("GangLog", None), self.figures, gangs, lambda: self.now)

    def gangs(self, state: str) -> float | None:
        return self.figures.registry.get_sample_value("phalanx_gangs", {"state": state, "reason": ""})

    def step(self, seconds: float) -> None:
        self.now += seconds
        self.journal.note(NOTHING)


def test_the_last_change_of_a_burst_is_counted_when_nothing_else_happens() -> None:
    counted = Counted()
    counted.stage.submit(gang(count=3))
    counted.step(0.0)
    assert counted.gangs("Running") == 0
    counted.stage.run(gang("other", count=1))
    counted.step(0.25)
    assert counted.gangs("Running") == 0
    assert counted.journal.settle() == COUNT_SECONDS - 0.25, "no sooner: there may be very many"
    counted.now = COUNT_SECONDS
    assert counted.journal.settle() is None
    assert counted.gangs("Running") == 1


def test_what_was_counted_is_not_counted_again_until_the_next_step() -> None:
    counted = Counted()
    counted.step(0.0)
    counted.now = 3600.0
    counted.stage.run(gang(count=1))
    assert counted.journal.settle() is None
    assert counted.gangs("Running") == 0
    counted.step(0.0)
    assert counted.gangs("Running") == 1
