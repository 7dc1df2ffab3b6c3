"""Pods that ask for more than their template says: something was put into them when they were made."""

import pytest

from tests.live.test_made_again import pods_of
from tests.testing import live_objects as objects
from tests.testing.live_stage import LiveStage

NAMES = [f"train-{number}" for number in range(4)]


@pytest.mark.parametrize("one_by_one", [False, True], ids=["at once", "one by one"])
def test_no_node_is_filled_beyond_its_room_by_pods_that_are_larger_than_their_template(one_by_one: bool) -> None:
    """Two of 4 GPUs would fit a node of 8; of 6 only one does."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=2))
    job = objects.job("train", 4, 4, uid="train")
    pods = pods_of(job, 4, 6)
    stage.see(job)
    if one_by_one:
        stage.one_by_one(*pods)
    else:
        stage.see(*pods)
    assert not any(stage.where(*NAMES))
    told = stage.gang("default/train") or {}
    assert (told["state"], told["reason"]) == ("Queued", "TooLarge")
    stage.see(objects.node("n4", "b0", "r0"), objects.node("n5", "b0", "r0"))
    assert sorted(stage.where(*NAMES)) == ["n0", "n1", "n4", "n5"]
    assert stage.at_rest() == []


def test_a_gang_of_which_one_pod_is_larger_has_room_for_it() -> None:
    stage = LiveStage(*objects.cluster(racks=2, nodes=2))
    job = objects.job("train", 4, 3, uid="train")
    stage.see(job, *pods_of(job, 3, 3), objects.pod("train-3", 6, owner=job))
    assert not any(stage.where(*NAMES)), "every place is as large as the largest, for nobody knows who takes which"
    stage.see(*(objects.node(name, "b0", "r1") for name in ("n4", "n5")))
    assert all(stage.where(*NAMES))
    assert stage.at_rest() == []


def test_a_pod_that_comes_back_larger_is_bound_where_there_is_room_for_it() -> None:
    """The others stay where they are: their gang is not asked to be larger by it."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=3))
    job = objects.job("train", 4, 4, uid="train")
    stage.see(job, *pods_of(job, 4))
    before = stage.where(*NAMES)
    stage.see(gone=[stage.told["", "Pod", "default", "train-3"]])
    stage.see(objects.pod("train-3b", 6, owner=job))
    assert stage.where("train-3b") == ["n2"]
    assert stage.where(*NAMES[:3]) == before[:3]
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []


def test_one_that_takes_the_place_of_another_is_given_room_of_its_own_size() -> None:
    stage = LiveStage(*objects.cluster(racks=1, nodes=2, gpus=8))
    job, small = objects.job("train", 2, 4, uid="train"), objects.job("small", 1, 4, uid="small", required=None)
    pods = pods_of(job, 2)
    stage.see(job, *pods)
    stage.see(small, *pods_of(small, 1))
    stage.see(gone=[pods[1]])
    stage.see(objects.pod("train-2", 8, owner=job))
    assert stage.where("train-2") == [""]
    taken = {"n0": 0, "n1": 0}
    for name, gpus in (("train-0", 4), ("small-0", 4), ("train-2", 8)):
        for node in stage.where(name):
            taken[node] = taken.get(node, 0) + gpus
    assert all(taken[node] <= 8 for node in ("n0", "n1"))
