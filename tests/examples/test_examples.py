"""Every example gives the decisions that stand beside it.

After a change that is meant to change them: ``python -m tests.examples.test_examples`` writes them again.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from phalanx import Cluster
from phalanx.cli import files, placing
from phalanx.place import verify

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
WHOLE = [folder for folder in FOLDERS if folder.name < "20"]  # the others say only what their design says
WORDING = ("message",)  # sentences may be improved without anyone's decision changing


def decided(folder: Path) -> dict[str, Any]:
    docs = files.load([str(folder)])
    return placing.as_document(Cluster.from_manifests(docs).place(docs))


def told(decision: dict[str, Any], expected: dict[str, Any], nodes: set[str]) -> dict[str, Any]:
    """What a decision says of the keys that an example expects something of: an example says what matters to it.

    ``pods`` are totals per pod set, ``nodes`` per node, ``nodesUnused`` some of those without any of its pods.
    """
    used = Counter[str]()
    for counts in decision["podSets"].values():
        used.update(counts)
    totals = {name: sum(counts.values()) for name, counts in decision["podSets"].items()}
    unused = [name for name in expected.get("nodesUnused", ()) if name in nodes and name not in used]
    whole = {**decision, "pods": totals, "nodes": dict(used), "nodesUnused": unused}
    return {key: part(whole[key], value) for key, value in expected.items() if key not in WORDING}


def part(found: Any, expected: Any) -> Any:
    """What is found of the keys that are expected, and all of anything else; sentences are only looked into."""
    if isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        return [part(one, wish) for one, wish in zip(found, expected, strict=True)]
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return found
    told = {key: part(found[key], value) for key, value in expected.items() if key in found}
    if "mentions" in expected:
        told["mentions"] = [word for word in expected["mentions"] if word in found["message"]]
    return told


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_decides_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())["decisions"]
    docs = files.load([str(folder)])
    nodes = {doc["metadata"]["name"] for doc in docs if doc["kind"] == "Node"}
    found = decided(folder)["decisions"]
    assert len(found) == len(expected), found
    shown = [told(one, wish, nodes) for one, wish in zip(found, expected, strict=True)]
    assert shown == [{key: value for key, value in wish.items() if key not in WORDING} for wish in expected]
    if folder in WHOLE:
        assert [set(one) for one in found] == [set(wish) for wish in expected]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_is_placed_by_the_rules(folder: Path) -> None:
    docs = files.load([str(folder)])
    cluster = Cluster.from_manifests(docs)
    assert cluster.problems == () and cluster.outside == {}
    for decision in cluster.place(docs):
        if decision.status == "Placed":
            assert decision.request is not None
            assert verify.verify(cluster.snapshot, decision.request, decision.decided.placement) == ()  # type: ignore[union-attr]
            cluster.commit(decision)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_says_how_it_is_run(folder: Path) -> None:
    readme = (folder / "README.md").read_text()
    assert readme.startswith("# ") and f"phalanx place -f examples/{folder.name}" in readme
    assert f"[{folder.name}]({folder.name}/)" in (EXAMPLES / "README.md").read_text()


def test_the_examples_that_do_not_start_are_those_that_say_so() -> None:
    statuses = {folder.name: {one["status"] for one in decided(folder)["decisions"]} for folder in FOLDERS}
    assert {name: found for name, found in statuses.items() if found != {"Placed"}} == {
        "08-refused-and-why": {"Waiting"},
        "34-kai-mislabelled-pods": {"Invalid"},
        "48-workload-lws": {"Placed", "Waiting"},  # two gangs, room for one
        "52-jobset-replicated-gang": {"Placed", "Waiting"},  # five gangs, room for four
    }


if __name__ == "__main__":
    for example in WHOLE:
        (example / "expected.json").write_text(json.dumps(decided(example), indent=2) + "\n")
