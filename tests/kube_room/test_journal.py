"""What is counted for the metrics."""

from phalanx.kube.journal import reserved_idle
from tests.engine.stage import Stage, gang


def test_places_that_no_pod_uses_yet_are_counted() -> None:  # W-164
    stage = Stage("b1: r1=4")
    stage.submit(gang(count=3))
    waiting = reserved_idle(stage.engine.book.gangs.values())
    assert waiting == {"nvidia.com/gpu": 3.0, "pods": 3.0}


def test_nothing_is_idle_once_all_pods_are_bound() -> None:
    stage = Stage("b1: r1=4")
    stage.run(gang(count=3))
    assert reserved_idle(stage.engine.book.gangs.values()) == {}
