"""Whatever people write, the scheduler goes on: nothing they can write ends it, and no family stops another."""

import copy
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.dialects import workloads
from phalanx.dialects.following import Follower, Marks
from phalanx.engine.engine import Engine
from phalanx.model.events import GangSeen
from tests.dialects.following.living import follower, job, tell

EXAMPLES = Path(__file__).parents[3] / "examples"
WORLDS = 400
JUNK: list[Any] = [
    None, 0, -1, 10**30, 1.5, float("nan"), True, "", "x" * 300, "a/b/c", "[]", "rack", "-1", "1e400", "9" * 30, "\0",
    "é", [], [None], [[]], {}, {"": None}, {"a": {"b": [1]}}, [{}], ["x", 1],
]  # fmt: skip
NEW_KEYS = ("phalanx.dev/topology-required", "kueue.x-k8s.io/podset-slice-size", "phalanx.dev/gang", "replicas", "spec")
Place = tuple[Any, ...]


@cache
def samples() -> list[list[Any]]:
    files = sorted(EXAMPLES.glob("*/*.yaml"))
    return [[handed_over(doc) for doc in yaml.safe_load_all(file.read_text()) if doc] for file in files]


def handed_over(value: Any) -> Any:
    """A document whose pods are ours to place; those of others are not even read."""
    if isinstance(value, list):
        return [handed_over(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = {"schedulerName": "phalanx"} if "containers" in value else {}
    return {**{key: handed_over(one) for key, one in value.items()}, **named}


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Everything in a document that can be replaced; its kind stays, for that is what is tried."""
    if at and at not in (("kind",), ("apiVersion",)):
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*at, key))


def spoiled(doc: Any, chance: random.Random) -> Any:
    """A document in which a few things are gone, are something else, or are there that nobody asked for."""
    made = copy.deepcopy(doc)
    for _ in range(chance.randint(1, 3)):
        found = list(places(made))
        if not found:
            break
        *path, last = chance.choice(found)
        inside = made
        for key in path:
            inside = inside[key]
        what = chance.random()
        if what < 0.2:
            del inside[last]
        elif what < 0.35 and isinstance(inside, dict):
            inside[chance.choice(NEW_KEYS)] = copy.deepcopy(chance.choice(JUNK))
        else:
            inside[last] = copy.deepcopy(chance.choice(JUNK))
    return made


@pytest.mark.parametrize("seed", range(WORLDS))
def test_spoiled_objects_are_told_and_stop_nothing(seed: int) -> None:
    """No reader trips either: what the guard around them would catch is refused as a mistake of ours."""
    chance = random.Random(seed)
    one, engine = Follower(Marks()), Engine()
    refused: list[str] = []

    def step(now: float) -> None:
        told = one.tell()
        refused.extend(str(problem) for _, invalid in told.refused for problem in invalid.problems)
        engine.step(told.events, now)

    for doc in [*chance.choice(samples()), *chance.choice(samples())]:
        one.seen(spoiled(doc, chance) if chance.random() < 0.5 else doc)
        if chance.random() < 0.3:
            step(1.0)
    step(2.0)
    assert not [line for line in refused if "a mistake of Phalanx" in line]
    assert [one for one in tell(one, job("fresh", 1)).events if isinstance(one, GangSeen)], "it still hears"


def test_a_reader_that_trips_over_one_workload_reads_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    read = workloads.read

    def trip(docs: Any, *rest: Any) -> Any:
        if any(doc.name == "poison" for doc in docs):
            raise KeyError("replicas")
        return read(docs, *rest)

    monkeypatch.setattr(workloads, "read", trip)
    told = tell(follower(), job("poison", 1), job("train", 1))
    assert [event.request.name for event in told.events if isinstance(event, GangSeen)] == ["train"]
    ((subject, invalid),) = told.refused
    assert subject.key[3] == "poison"
    assert "a mistake of Phalanx: KeyError: 'replicas'; all else goes on" in str(invalid.problems[0])
    (aside,) = told.set_aside
    assert aside.subject == subject and aside.mishap is not None
    assert "in trip" in aside.mishap.trace
