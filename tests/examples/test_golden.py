"""Every example has the normal form, and leads to the generated objects, that stand in ``golden/``.

After a change that is meant to change them: ``python -m tests.examples.test_golden`` writes them again; read the
difference before keeping it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli import files
from phalanx.dialects import outline, reading
from phalanx.dialects.generation import generate
from phalanx.dialects.outline import Outline
from tests.examples.test_examples import FOLDERS

GOLDEN = Path(__file__).parent / "golden"


def found(folder: Path) -> dict[str, Any]:
    """The normal forms of an example's valid workloads by id, and the objects generated for them."""
    docs = files.load([str(folder)])
    around = reading.read_cluster(docs).surroundings
    outlines = reading.read_workloads(docs, around).outlines
    normal = sorted((shown(one) for one in outlines), key=lambda one: (one["id"], one["kind"]))
    return {"normal": normal, "generated": list(generate(docs, around).objects)}


def shown(one: Outline) -> dict[str, Any]:
    short = (told for told in one.told if told.is_short)
    missing = [{"group": told.group, "needed": told.needed, "seen": told.seen} for told in short]
    whole = {"id": f"{one.namespace}/{one.name}", "kind": one.kind, "spec": outline.plain(one.spec)}
    return {**whole, "priority": one.priority, "missing": missing}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_has_its_normal_form_and_its_objects(folder: Path) -> None:
    expected = json.loads((GOLDEN / f"{folder.name}.json").read_text())
    assert json.loads(json.dumps(found(folder))) == expected


def test_nothing_is_golden_without_an_example() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {folder.name for folder in FOLDERS}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for example in FOLDERS:
        text = json.dumps(found(example), indent=2, ensure_ascii=False)
        (GOLDEN / f"{example.name}.json").write_text(text + "\n")
