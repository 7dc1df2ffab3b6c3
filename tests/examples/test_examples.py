"""Every example gives the decisions that stand beside it.

After a change that is meant to change them: ``python -m tests.examples.test_examples`` writes them again.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx import Cluster
from phalanx.cli import files, placing
from phalanx.place import verify

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
WORDING = ("message",)  # sentences may be improved without anyone's decision changing


def decided(folder: Path) -> dict[str, Any]:
    docs = files.load([str(folder)])
    return placing.as_document(Cluster.from_manifests(docs).place(docs))


def bare(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if key not in WORDING} for one in document["decisions"]]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_decides_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    assert bare(decided(folder)) == bare(expected)


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


def test_exactly_one_example_is_a_refusal() -> None:
    statuses = {folder.name: {one["status"] for one in decided(folder)["decisions"]} for folder in FOLDERS}
    assert [name for name, found in statuses.items() if found != {"Placed"}] == ["08-refused-and-why"]


if __name__ == "__main__":
    for example in FOLDERS:
        (example / "expected.json").write_text(json.dumps(decided(example), indent=2) + "\n")
