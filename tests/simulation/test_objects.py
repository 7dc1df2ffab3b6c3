"""Worlds that speak manifests: everything drawn from a seed, judged after every step, and once more at rest.

A failure names its seed, how to run it alone (``python -m phalanx.sim.soak --objects --only --seed N``), and what
happened last. Mistakes that were in the product once are planted again (``object_mutants``), and each is caught.
"""

from random import Random

import pytest

from phalanx.minicluster import Cluster
from phalanx.minicluster.documents import key_of
from phalanx.model.objects import ObjectKey
from phalanx.sim.agenda import Agenda
from phalanx.sim.objects import patches, plan, run
from phalanx.sim.objects.drawn import Doc, Drawn, Role
from phalanx.sim.objects.kinds.table import ROWS
from phalanx.sim.objects.watches import Lateness, Watches
from phalanx.sim.objects.world import World
from tests.simulation.object_mutants import PLANTED

WORLDS, CHUNK = 500, 20
CAUGHT_WITHIN = 60  # worlds


@pytest.mark.parametrize("first", range(0, WORLDS, CHUNK))
def test_no_world_of_objects_breaks_a_rule(first: int) -> None:
    # W-046, W-111, W-131, W-134
    results = [run.one(seed) for seed in range(first, first + CHUNK)]
    assert sum(result.rested for result in results) >= CHUNK - 2


@pytest.mark.parametrize("name", list(PLANTED))
def test_a_planted_mistake_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    planted.plant(monkeypatch)
    assert any(_is_broken(planted.world(seed)) for seed in range(CAUGHT_WITHIN))


def _is_broken(drawn: plan.Plan) -> bool:
    try:
        run.run(drawn)
    except run.Broken:
        return True
    return False


# -- the worlds themselves -------------------------------------------------------------------------------------------


def test_the_same_seed_is_the_same_world_byte_by_byte() -> None:
    journals = []
    for _ in range(2):
        world = World(plan.drawn(7))
        while (at := world.next_time()) is not None and at < 1100:
            world.advance(at)
            if world.wants_step:
                world.carry_out(world.step())
        journals.append(world.journal.lines(10_000))
    assert journals[0] == journals[1]
    assert len(journals[0]) > 50


def test_every_way_of_writing_a_workload_is_drawn() -> None:
    kinds = {drawn.kind for seed in range(300) for _, drawn in plan.drawn(seed).coming}
    assert kinds == ROWS.keys()


def test_a_failure_tells_how_to_run_it_again_and_what_happened() -> None:
    broken = run.Broken(7, "n1 has 9 GPUs taken", ["  1.00 <- Node/n1"])
    assert "python -m phalanx.sim.soak --objects --only --seed 7" in str(broken)
    assert "<- Node/n1" in str(broken)


# -- watches ---------------------------------------------------------------------------------------------------------


class Listener:
    def __init__(self, lateness: Lateness) -> None:
        self.cluster, self.agenda = Cluster(1), Agenda()
        self.heard: list[tuple[str, str | None]] = []
        self.watches = Watches(self.cluster.store, self.agenda, Random(1), lateness, self._hear)

    def _hear(self, key: ObjectKey, doc: Doc | None) -> None:
        self.heard.append((key.name, None if doc is None else doc["metadata"]["uid"]))

    def make(self, kind: str, name: str) -> str:
        doc = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": {}, "status": {}}
        return str(self.cluster.store.create(doc, self.agenda.now)["metadata"]["uid"])

    def drop(self, kind: str, name: str) -> None:
        self.cluster.store.delete(ObjectKey("", kind, "default", name), self.agenda.now)


def test_within_a_kind_nothing_comes_out_of_order_however_late_it_is() -> None:
    listener = Listener(Lateness(most=3.0, tick=0.1, twice=0.5))
    for number in range(20):
        listener.make("Node", f"n{number:02}")
        listener.watches.pull()
        listener.agenda.advance(listener.agenda.now + 0.05)
    listener.agenda.advance(10.0)
    names = list(dict.fromkeys(name for name, _ in listener.heard))
    assert names == sorted(names) and len(names) == 20
    assert len(listener.heard) > 20


def test_a_watch_that_was_away_tells_of_another_object_and_not_that_the_first_one_went() -> None:
    listener = Listener(Lateness(most=0.0, tick=0.0))
    first = listener.make("Node", "n1")
    listener.make("Node", "n2")
    listener.watches.pull()
    listener.agenda.advance(1.0)
    listener.watches.break_off(("", "Node"), 5.0)
    listener.drop("Node", "n1")
    listener.drop("Node", "n2")
    second = listener.make("Node", "n1")
    listener.watches.pull()
    listener.agenda.advance(2.0)
    assert listener.heard[2:] == []
    listener.agenda.advance(10.0)
    assert listener.heard[2:] == [("n2", None), ("n1", second)]
    assert first != second


# -- what is written -------------------------------------------------------------------------------------------------


def test_a_patch_does_what_a_server_does_with_it() -> None:
    held = {"spec": {"gates": [{"name": "a"}, {"name": "b"}]}, "metadata": {"labels": {"x/y": "1"}}}
    changed = patches.patched(held, [
        {"op": "test", "path": "/metadata/labels/x~1y", "value": "1"},
        {"op": "remove", "path": "/spec/gates/0"},
        {"op": "add", "path": "/spec/gates/-", "value": {"name": "c"}},
    ])  # fmt: skip
    assert [one["name"] for one in changed["spec"]["gates"]] == ["b", "c"]
    assert [one["name"] for one in held["spec"]["gates"]] == ["a", "b"]
    with pytest.raises(patches.TestFailed):
        patches.patched(held, [{"op": "test", "path": "/metadata/labels/x~1y", "value": "2"}])
    assert patches.merged({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}) == {"a": {"c": 2}}


def test_a_drawn_workload_knows_when_it_is_whole_without_being_read() -> None:
    roles = (Role("a", 2, 1), Role("b", 3, 1, least=1))
    drawn = Drawn("w", "Gang", roles)
    assert drawn.is_whole({"a": 2, "b": 1})
    assert not drawn.is_whole({"a": 1, "b": 3})
    assert Drawn("w", "PodGroup", roles, any_of=4).is_whole({"a": 1, "b": 3})


@pytest.mark.parametrize("kind", list(ROWS))
def test_pods_of_every_kind_say_which_workload_and_role_they_were_made_for(kind: str) -> None:
    """Alone in a cluster with room for everybody, all of its pods come, run and are told apart by role."""
    row = ROWS[kind]
    fields = {"level": None, **row.drawn(Random(3))}
    drawn = Drawn("w0", kind, **{**fields, "pods": {}})
    things = tuple(doc for doc in plan.drawn(3).things if doc["kind"] != "PriorityClass")
    world = World(plan.Plan(3, things, ((0.0, drawn),), until=100.0))
    while (at := world.next_time()) is not None and at < 1100:
        world.advance(at)
        if world.wants_step:
            world.carry_out(world.step())
    lives = list(world.record.here.values())
    assert lives and all(life.unit is not None and life.unit[0] == "w0.1" for life in lives)
    assert {life.role for life in lives} == {role.name for role in drawn.roles}
    assert all(key_of(doc) for doc in world.store.of_kind("", "Pod"))
