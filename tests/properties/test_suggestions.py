"""Every suggestion is true: made in the manifests by other means than ours, it starts the workload; asking for less of
its kind does not."""

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from phalanx import Cluster
from phalanx.model.reasons import Edit, Remedy, WayOut
from tests.properties import asked_in_dialects as asking
from tests.properties.asked_in_dialects import DIALECTS, Doc
from tests.properties.drawn_gangs import MANNERS, documents

DRAWN = 40  # of each dialect
EVERYTHING = 60  # of each manner


def status(cluster: list[Doc], docs: list[Doc]) -> str:
    (decision,) = Cluster.from_manifests(cluster).place(docs, ways_out=False)
    return decision.status


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_suggestion_made_in_the_manifest_starts_the_workload_and_less_does_not(dialect: str) -> None:
    chance, kinds = Random(dialect), set()
    for number in range(DRAWN):
        cluster, docs = asking.cluster(chance), DIALECTS[dialect](asking.wish(chance))
        before = deepcopy(docs)
        (decision,) = Cluster.from_manifests(cluster).place(docs)
        assert decision.status in ("Placed", "Waiting"), (number, decision.message)
        for way in decision.ways_out:
            kinds.add(way.kind)
            assert status(*applied(cluster, docs, way)) == "Placed", (number, way)
            for less in lesser(cluster, way):
                assert status(*applied(cluster, docs, less)) != "Placed", (number, way, less)
        assert docs == before
    assert {Remedy.NODES, Remedy.PODS} & kinds


@pytest.mark.parametrize("manner", MANNERS)
def test_suggestions_for_gangs_that_ask_for_everything_are_true(manner: str) -> None:
    """Units of one Gang take room from each other, so of these only Gangs that are decided as one."""
    tried = 0
    for seed in range(EVERYTHING):
        cluster, gang = documents(seed, manner)
        found = Cluster.from_manifests(cluster).place([gang])
        for way in found[0].ways_out if len(found) == 1 else ():
            tried += 1
            assert status(*applied(cluster, [gang], way)) == "Placed", (seed, way)
    assert tried > 3


def applied(cluster: list[Doc], docs: list[Doc], way: WayOut) -> tuple[list[Doc], list[Doc]]:
    """The same with a way out taken."""
    if way.kind is Remedy.NODES:
        like = next(one for one in cluster if one["kind"] == "Node" and one["metadata"]["name"] == way.subject)
        return [*cluster, *(another(like, i) for i in range(int(way.value)))], docs
    if way.kind is Remedy.END:
        name = way.subject.partition("/")[2]
        return [one for one in cluster if one["metadata"].get("labels", {}).get("phalanx.dev/gang") != name], docs
    assert way.edits, way
    return cluster, [with_edits(one, way.edits) for one in docs]


def another(node: Doc, number: int) -> Doc:
    made = deepcopy(node)
    made["metadata"]["name"] = made["metadata"]["labels"]["kubernetes.io/hostname"] = f"new-{number}"
    return made


def with_edits(doc: Doc, edits: tuple[Edit, ...]) -> Doc:
    """The document as JSON, where no two places are one, with the changes that are about it."""
    made: Any = json.loads(json.dumps(doc))
    for edit in (one for one in edits if (one.object.kind, one.object.name) == (doc["kind"], doc["metadata"]["name"])):
        at, (*above, last) = made, edit.keys
        for key in above:
            at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
        if edit.value is None:
            del at[last]
        else:
            at[last] = edit.value
    return dict(made)


def lesser(cluster: list[Doc], way: WayOut) -> Iterator[WayOut]:
    """Smaller changes of the same kind: one node less, whichever it is; one pod more."""
    if way.kind is Remedy.NODES and way.value != "1":
        for node in (one["metadata"]["name"] for one in cluster if one["kind"] == "Node"):
            yield WayOut("", kind=way.kind, subject=node, value=str(int(way.value) - 1))
    if way.kind is Remedy.PODS:
        more = (Edit(one.object, one.keys, one.path, one.value + 1) for one in way.edits if isinstance(one.value, int))
        yield WayOut("", kind=way.kind, edits=tuple(more))
