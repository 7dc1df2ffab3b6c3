"""Whatever is written into a manifest, the door answers with decisions and problems, never with an exception."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phalanx import Cluster
from phalanx.cli import files
from phalanx.model.policy import Policy

EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples").iterdir() if path.is_dir())
JUNK: list[Any] = [
    None, 0, -1, 1, 2, 10**18, -(10**30), 1.5, float("nan"), True, "", "x", "rack", "host", "auto", "1e3", "100GB",
    "\x1b[31m", "a" * 300, [], {}, [[]], {"a": 1}, ["x"],
]  # fmt: skip
SMALL = Policy(budget=1_000_000)


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*above, key)
        yield from paths(inner, (*above, key))


def spoil(docs: list[Any], chance: random.Random) -> None:
    """One value somewhere replaced or taken away; workloads, which come last, more often than nodes."""
    doc = chance.choice(docs[-3:] if chance.random() < 0.7 else docs)
    *above, key = chance.choice(list(paths(doc)))
    for step in above:
        doc = doc[step]
    if isinstance(doc, dict) and chance.random() < 0.2:
        del doc[key]
    else:
        doc[key] = copy.deepcopy(chance.choice(JUNK))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_spoiled_manifests_are_answered(folder: Path) -> None:
    whole = files.load([str(folder)])
    for seed in range(60):
        chance = random.Random(seed)
        docs = copy.deepcopy(whole)
        for _ in range(chance.randint(1, 4)):
            spoil(docs, chance)
        cluster = Cluster.from_manifests(docs, SMALL)
        decisions = cluster.place(docs)
        json.dumps([decision.to_dict() for decision in decisions])
        assert all(decision.explain() and decision.message for decision in decisions)
        cluster.commit(decisions)
