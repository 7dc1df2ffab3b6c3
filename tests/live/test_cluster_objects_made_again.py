"""Topologies, Queues and PriorityClasses that are deleted and made again under gangs that run or wait."""

import pytest

from tests.live.test_several_shapes import GROUPS, NAMES, linked
from tests.testing import live_objects as objects
from tests.testing.live_stage import LiveStage


@pytest.mark.parametrize("kind", [one for one in GROUPS if one != "kueue"])
def test_a_gang_in_one_rack_runs_on_while_its_topology_is_deleted_and_made_again(kind: str) -> None:
    topology = objects.topology()
    pods = [linked(kind, name, 3) for name in NAMES]
    stage = LiveStage(*objects.cluster(), *GROUPS[kind], *pods)
    assert set(stage.where(*NAMES)) in ({"n0", "n1"}, {"n2", "n3"})
    stage.after(1, gone=[topology])
    assert [one["state"] for one in stage.scheduler.gangs()] == ["Running"]
    stage.after(5, gone=pods[:1])
    stage.after(1, linked(kind, "late", 3))
    assert stage.where("late") == [""]  # nobody knows which nodes are in the rack
    stage.after(1, {**topology, "metadata": {**topology["metadata"], "uid": "again"}})
    assert {*stage.where("late", *NAMES[1:])} in ({"n0", "n1"}, {"n2", "n3"})
    assert [one["state"] for one in stage.scheduler.gangs()] == ["Running"]
    assert not {"Evict", "Suspend"} & set(stage.kinds())
    assert stage.at_rest() == []
