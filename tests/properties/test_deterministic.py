"""The same question gets the same bytes back, whatever order it was asked in and however strings are hashed."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest

from phalanx.model.policy import Policy
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.place import solve
from phalanx.place.draft import Draft
from tests.properties.instances import FAMILIES, instance

SEEDS = range(6)
BRIEF = Policy(budget=2_000_000)  # giving up is as deterministic as everything else
HASH_SEEDS = ("0", "1", "2", "77", "4294967295")
HASHED_SEEDS = range(1000, 1002)  # in the other processes: fewer, so that five of them stay cheap


def spelled(snapshot: Snapshot, request: Request) -> str:
    """All that an answer says, as text; entries of a mapping in the order they come."""
    answer = solve.place(Draft.of(snapshot, request.topology), request, BRIEF)
    entries = [(entry.nodes.tolist(), entry.counts.tolist()) for entry in answer.entries]
    return repr((answer.status, answer.work, answer.tier, answer.problem, answer.placement, entries))


def shuffled(snapshot: Snapshot, chance: Random) -> Snapshot:
    """The same cluster told in another order: nodes, pods, and the labels of each."""
    nodes = [replace(node, labels=dict(_mixed(list(node.labels.items()), chance))) for node in snapshot.nodes]
    return replace(snapshot, nodes=tuple(_mixed(nodes, chance)), pods=tuple(_mixed(list(snapshot.pods), chance)))


def _mixed(items: list, chance: Random) -> list:
    chance.shuffle(items)
    return items


@pytest.mark.parametrize("family", FAMILIES)
def test_the_order_of_nodes_and_pods_changes_nothing(family: str) -> None:  # KA-030
    for seed in SEEDS:
        snapshot, request = instance(seed, family, tight=seed % 2 == 1)
        expected = spelled(snapshot, request)
        for turn in range(3):
            other = shuffled(snapshot, Random(f"{family}:{seed}:{turn}"))
            assert spelled(other, request) == expected, f"instance({seed}, {family!r}, {seed % 2 == 1}), turn {turn}"


@pytest.mark.parametrize("family", FAMILIES)
def test_asking_twice_gives_the_same_and_leaves_the_draft_as_it_was(family: str) -> None:
    for seed in SEEDS:
        snapshot, request = instance(seed, family, tight=seed % 2 == 0)
        draft = Draft.of(snapshot, request.topology)
        first = solve.place(draft, request, BRIEF)
        free = draft.free.copy()
        second = solve.place(draft, request, BRIEF)
        assert repr((second.status, second.placement, second.work)) == repr((first.status, first.placement, first.work))
        assert (draft.free == free).all() and not draft.journal


def digest() -> str:
    """One line for all families."""
    total = hashlib.sha256()
    for family in FAMILIES:
        for seed in HASHED_SEEDS:
            total.update(spelled(*instance(seed, family, tight=bool(seed % 2))).encode())
    return total.hexdigest()


def test_five_hash_seeds_give_the_same_bytes() -> None:
    command = [sys.executable, "-c", "from tests.properties.test_deterministic import digest; print(digest())"]
    runs = [
        subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True)
        for seed in HASH_SEEDS
    ]
    printed = [run.communicate(timeout=120)[0].strip() for run in runs]
    assert all(run.returncode == 0 for run in runs)
    assert len(printed[0]) == 64 and set(printed) == {printed[0]}
