"""A gang's life changes in one place: nobody but Gang and Slot assigns to their fields, or changes what these hold."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import phalanx
from phalanx.engine.gangs import Gang
from phalanx.engine.slots import Slot

ENGINE = Path(phalanx.__file__).parent / "engine"
OWNERS = {"gangs.py", "slots.py"}
FIELDS = {one.name for kind in (Gang, Slot) for one in fields(kind)}
CHANGES = {"clear", "pop", "add", "update", "append", "remove", "discard", "setdefault", "extend", "insert", "popitem"}
NO_GANGS = {"board.py", "predecessors.py"}  # they hold values of their own with fields of such names


def changed(tree: ast.AST) -> Iterator[str]:
    """What a module assigns to or changes, written as it stands there: ``gang.asked[...]``, ``slot.node``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from (ast.unparse(one) for target in node.targets for one in parts(target))
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            yield ast.unparse(node.target)
        elif isinstance(node, ast.Delete):
            yield from (ast.unparse(target) for target in node.targets)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            yield ast.unparse(node.func.value)


def parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]


def is_of_a_gang(text: str) -> bool:
    if text.startswith("self.") or "." not in text:
        return False
    return text.partition(".")[2].partition("[")[0].partition(".")[0] in FIELDS


def offences(source: str) -> list[str]:
    return sorted({one for one in changed(ast.parse(source)) if is_of_a_gang(one)})


@pytest.mark.parametrize("path", sorted(ENGINE.glob("*.py")), ids=lambda path: path.name)
def test_only_gangs_and_slots_change_their_fields(path: Path) -> None:
    source = path.read_text()
    if path.name in NO_GANGS:
        assert "engine.gangs" not in source and "engine.slots" not in source
    elif path.name not in OWNERS:
        assert offences(source) == []


@pytest.mark.parametrize(
    "line", ["gang.state = 1", "gang.asked[key], slot.sent = 1, True", "gang.slots.pop(name)", "known.failures += 1"]
)
def test_a_change_from_outside_is_found(line: str) -> None:
    assert offences(line)
