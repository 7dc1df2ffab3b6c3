"""A Topology, Queue or PriorityClass that is deleted and made again under gangs that run, are bound, or wait."""

import pytest

from tests.live.test_made_again import pods_of
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage

NAMES = [f"first-{number}" for number in range(4)]


def again(doc: Doc) -> Doc:
    return {**doc, "metadata": {**doc["metadata"], "uid": f"{doc['metadata'].get('uid')}-again"}}


def fewer_levels() -> Doc:
    made = again(objects.topology())
    return {**made, "spec": {"levels": made["spec"]["levels"][1:]}}  # racks are the widest now


@pytest.mark.parametrize("after", [again(objects.topology()), fewer_levels()], ids=["the same", "fewer levels"])
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "seen to be away"])
@pytest.mark.parametrize("bound", [4, 2], ids=["running", "binding"])
def test_a_gang_stays_where_it_is_while_its_topology_is_made_again(bound: int, at_once: bool, after: Doc) -> None:
    stage = LiveStage(*objects.cluster(racks=1, nodes=2))
    first, second = objects.job("first", 4, 4, uid="first"), objects.job("second", 4, 4, uid="second")
    effects = stage.see(first, *pods_of(first, 4), carry_out=False)
    homes = {one.name: one.node for one in effects if one.kind == "Bind"}
    stage.see(*(objects.on(stage.told["", "Pod", "default", name], homes[name]) for name in NAMES[:bound]))
    stage.see(second, *pods_of(second, 4))
    if not at_once:
        stage.see(gone=[objects.topology()])
        stage.after(3)
        assert "Evict" not in stage.kinds()
        assert (stage.gang("default/second") or {})["state"] == "Invalid", "nobody knows what a rack is"
    stage.after(0.1, after)
    assert (stage.gang("default/second") or {})["reason"] == "NoRoom"
    stage.after(20)
    assert all(stage.where(*NAMES))
    stage.see(objects.node("n2", "b0", "r1"), objects.node("n3", "b0", "r1"))
    assert all(stage.where(*(f"second-{number}" for number in range(4))))
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []
