"""Whatever stands in an object, of ours and of others: no step fails, nothing is a mistake of ours, and a healthy gang
beside it starts in the same step as without it.

PHALANX_FUZZ=20000 draws so many worlds instead of a few hundred.
"""

import os
import random

import msgspec
import pytest

from phalanx.decider import Outcome
from phalanx.testing import LiveScheduler
from phalanx.testing.live import Effect
from phalanx.wire import shapes
from phalanx.wire.resources import Resource
from tests.testing import live_objects as objects
from tests.testing import noise
from tests.testing.live_objects import Doc

WORLDS = int(os.environ.get("PHALANX_FUZZ", "400"))
PIECES = 8
LARGEST = 14  # objects of noise in one world
GANG = "default/healthy"
PODS = [f"healthy-{number}" for number in range(4)]


def healthy() -> tuple[list[Doc], list[Doc]]:
    """Nodes that only this gang may use, and the gang: what is beside it may take all the rest."""
    pool, taint = {"pool": "healthy"}, {"key": "only", "value": "healthy", "effect": "NoSchedule"}
    nodes = [objects.node(f"healthy-{i}", "healthy", "healthy", 8, pool, taints=[taint]) for i in range(2)]
    job = objects.job("healthy", len(PODS), 4)
    job["metadata"]["annotations"]["phalanx.dev/topology-name"] = "topo"
    pods = [objects.pod(name, 4, owner=job) for name in PODS]
    for spec in (job["spec"]["template"]["spec"], *(pod["spec"] for pod in pods)):
        spec |= {"nodeSelector": pool, "tolerations": [{"key": "only", "operator": "Exists"}]}
    return nodes, [job, *pods]


class World:
    """A scheduler, with what it said of itself in every step."""

    def __init__(self) -> None:
        self.scheduler = LiveScheduler()
        self.mishaps: list[str] = []
        step = self.scheduler._decider.step

        def noted(*given: object, **heard: object) -> Outcome:
            outcome = step(*given, **heard)  # type: ignore[arg-type]
            self._note(outcome)
            return outcome

        self.scheduler._decider.step = noted  # type: ignore[method-assign]

    def _note(self, outcome: Outcome) -> None:
        own = {one.subject.key.title: one.mishap for one in outcome.told.set_aside if one.mishap is not None}
        for about, mishap in {**own, **outcome.mishaps}.items():
            self.mishaps.append(f"{about}: {mishap.line}\n{mishap.trace}")

    def step(self, docs: list[Doc], now: float) -> tuple[Effect, ...]:
        return self.scheduler.step(seen=docs, now=now)


def drawn(seed: int) -> tuple[World, list[str]]:
    """One world; and which pods of the healthy gang were bound in the step in which they came."""
    chance, world = random.Random(seed), World()
    nodes, gang = healthy()
    docs = [doc for _ in range(2) for doc in chance.choice(noise.samples())][:LARGEST]
    noisy = [noise.spoiled(doc, chance) if chance.random() < 0.6 else doc for doc in docs]
    if chance.random() < 0.3:
        noisy = [read for doc in noisy if (read := through_the_wire(doc)) is not None]
    world.step([*objects.cluster(), *nodes], 1000.0)
    together = [*noisy, *gang]
    if chance.random() < 0.5:
        chance.shuffle(together)
    effects = world.step(together, 1001.0)
    for second in range(2):
        world.step([noise.spoiled(doc, chance) for doc in docs if chance.random() < 0.7], 1002.0 + second)
    world.step(noisy, 1010.0)
    return world, sorted(one.name for one in effects if one.kind == "Bind" and one.gang == GANG)


def through_the_wire(doc: Doc) -> Doc | None:
    """An object as a mirror has it; None: no server can send it, or nobody could read it, and the mirror goes on."""
    if not isinstance(doc["apiVersion"], str) or not isinstance(doc["kind"], str):
        return None
    group, _, version = doc["apiVersion"].rpartition("/")
    resource = Resource(group, version, doc["kind"].lower() + "s", doc["kind"])
    try:
        raw = msgspec.json.encode(doc)
        kept = shapes.decode_pod(raw, resource) if doc["kind"] == "Pod" else shapes.decode_whole(raw, resource)
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError):
        return None
    return kept.document()


@pytest.mark.parametrize("piece", range(PIECES))
def test_whatever_stands_in_objects_no_step_fails_and_a_healthy_gang_starts_at_once(piece: int) -> None:
    for seed in range(piece, WORLDS, PIECES):
        world, bound = drawn(seed)
        assert bound == PODS, f"seed {seed}: {[one for one in world.scheduler.gangs() if one['id'] == GANG]}"
        assert world.mishaps == [], f"seed {seed}"


def test_every_key_that_is_read_is_drawn() -> None:
    known = {
        "phalanx.dev/tolerated", "phalanx.dev/pinned", "phalanx.dev/gang", "phalanx.dev/least",
        "kueue.x-k8s.io/pod-group-name", "kai.scheduler/subgroup-name", "pod-group-name", "phalanx.dev/queue",
    }  # fmt: skip
    assert known <= set(noise.keys()) and len(noise.keys()) > 100
    assert {"parentCompositePodGroupName", "schedulingGroup", "minCount", "nominatedNodeName"} <= set(noise.words())


def test_every_kind_that_is_followed_is_drawn() -> None:
    from phalanx.dialects import kindtable

    kinds = {(doc["apiVersion"].rpartition("/")[0], doc["kind"]) for docs in noise.samples() for doc in docs}
    assert {row.key for row in kindtable.FOLLOWED} <= kinds


# -- what was found --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["phalanx", "default-scheduler"])
@pytest.mark.parametrize("note", ["[" * 2000, '{"a":' * 2000, '"\\ud800"', "\ud800", "{}", "nonsense"])
def test_a_spoiled_note_of_tolerations_ends_nothing(scheduler: str, note: str) -> None:
    world, (nodes, gang) = World(), healthy()
    pod = objects.pod("odd", 1, annotations={"phalanx.dev/tolerated": note, "phalanx.dev/pinned": "a,b"})
    pod["spec"] |= {"schedulerName": scheduler, "tolerations": [{"key": "a"}], "nodeSelector": {"b": "c"}}
    effects = world.step([*objects.cluster(), *nodes, pod, *gang], 1000.0)
    assert sorted(one.name for one in effects if one.gang == GANG and one.kind == "Bind") == PODS
    assert world.mishaps == []


def test_a_node_that_has_more_than_there_is_makes_no_gang_wrong() -> None:
    world, (nodes, gang) = World(), healthy()
    vast = objects.node("vast", "b0", "r0", 2**63 - 1)
    vast["status"]["allocatable"] |= {"pods": str(10**30), "cpu": "1e30"}
    effects = world.step([*objects.cluster(), *nodes, vast, *gang], 1000.0)
    assert sorted(one.name for one in effects if one.gang == GANG and one.kind == "Bind") == PODS


@pytest.mark.parametrize("name", [None, "", "a/b", 7, ["x"]])
def test_objects_that_have_no_name_are_passed_over_and_never_taken_for_each_other(name: object) -> None:
    world, (nodes, gang) = World(), healthy()
    nameless = [objects.on(objects.pod("x", 1, uid=f"uid-{number}"), "n0") for number in range(2)]
    for pod in nameless:
        pod["metadata"]["name"] = name
    effects = world.step([*objects.cluster(), *nodes, *nameless, *gang], 1000.0)
    assert sorted(one.name for one in effects if one.gang == GANG and one.kind == "Bind") == PODS
    assert world.mishaps == []
