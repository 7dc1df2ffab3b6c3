"""The part of a request that can start with what exists."""

from dataclasses import replace

from phalanx.engine import sizing
from phalanx.engine.sizing import Seen
from phalanx.model.request import Missing, Request
from tests.engine.asking import gang, workers

ALL_THERE = {"workers": Seen(alive=4)}


def test_pods_that_came_since_are_missing_no_more() -> None:
    found = sizing.sized(replace(gang(workers(4)), missing=(Missing("workers", 4, 3),)), ALL_THERE)
    assert isinstance(found, Request) and found.missing == ()


def test_a_group_that_does_not_exist_is_missing_whatever_pods_there_are() -> None:
    lacking = Missing("tree", 2, 1, groups=True)
    assert sizing.sized(replace(gang(workers(4)), missing=(lacking,)), ALL_THERE) == lacking
