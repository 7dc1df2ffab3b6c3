"""Objects that nobody sane would write. What can be spoiled is taken from the code that reads it: a key, an annotation
or a field that is read from tomorrow on is drawn from tomorrow on.
"""

import ast
import copy
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import phalanx
from phalanx.dialects import kindtable
from phalanx.dialects.following import ours
from tests.live.test_several_shapes import GROUPS, linked
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.made_by_controllers import MADE, OTHERWISE

SOURCE = Path(phalanx.__file__).parent
_KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z][A-Za-z0-9._-]+")
_READERS = ("dialects", "decider")  # the rooms that look into objects


def nested(depth: int, kind: type) -> Any:
    """``depth`` lists or mappings inside each other."""
    made: Any = "the end"
    for _ in range(depth):
        made = [made] if kind is list else {"a": made}
    return made


TEXTS = (
    "", " ", "x", "x" * 300, "a/b/c", "-", ".", "\0", "é", "\ud800", "rack", "topology/rack", "phalanx", "default", "w",
    "n0", "-1", "0", "1", "4", "1e400", "9" * 30, "9" * 5000, "NaN", "Infinity", "true", "null", "1Gi", "100m", "1.5",
    "[]", "{}", "[null]", '[{"key": null}]', '{"a": 1}', '"\\ud800"', "[NaN]", "[1e999]", "[" * 2000, '{"a":' * 2000,
    '[{"topology": "rack", "size": 2}]', "2026-11-18T10:00:00Z", "9999-99-99T99:99:99Z", "0000-00-00T00:00:00Z",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 2**31 - 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**30, 10**400, 0.0, 1.5, -0.5, 1e308)
ODD_NUMBERS = (float("nan"), float("inf"), float("-inf"))
_MADE: tuple[Any, ...] = (
    None, True, False, [], {}, [None], [[]], [{}], ["x", 1], {"": None}, {"a": {"b": [1]}}, {"name": ""}, {"name": []},
    [{"name": "w", "count": 2}], [{"type": "Ready", "status": []}], {"matchLabels": {"a": None}}, list(range(300)),
)  # fmt: skip


def junk(chance: random.Random) -> Any:
    """Any value that JSON can say, and some that it cannot."""
    drawn = chance.random()
    if drawn < 0.3:
        return chance.choice(TEXTS)
    if drawn < 0.5:
        return chance.choice((*NUMBERS, *ODD_NUMBERS))
    if drawn < 0.75:
        return copy.deepcopy(chance.choice(_MADE))
    if drawn < 0.8:
        return nested(chance.choice((50, 900, 3000)), chance.choice((list, dict)))
    if drawn < 0.9:
        return {chance.choice(words()): junk(chance) for _ in range(chance.randint(1, 4))}
    return [junk(chance) for _ in range(chance.randint(1, 4))]


# -- what is read --------------------------------------------------------------------------------------------------


@cache
def words() -> tuple[str, ...]:
    """Every text in the code of the readers that may be the name of a field, of a label or of an annotation."""
    found = {ours.GATE, *ours.WRITTEN}
    for room in _READERS:
        for file in sorted((SOURCE / room).rglob("*.py")):
            found |= {text for text in _texts(ast.parse(file.read_text())) if _KEY.fullmatch(text)}
    return tuple(sorted(found))


@cache
def keys() -> tuple[str, ...]:
    """Those that may be labels or annotations."""
    return tuple(word for word in words() if "/" in word or "-" in word)


def _texts(tree: ast.AST) -> Iterator[str]:
    """All texts of a module, those too that are put together of a constant and a name: ``f"{_PREFIX}queue"``."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                known[name] = text
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                yield "".join(_part(part, known) for part in parts)


def _part(part: ast.expr, known: dict[str, str]) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=ast.Name(id=name)):
            return known.get(name, "x")
    return "x"


# -- objects ---------------------------------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "examples"
_ROUND_IT = (kindtable.Purpose.CLUSTER, kindtable.Purpose.LOOKED_UP, kindtable.Purpose.OWNS_PODS)


@cache
def samples() -> tuple[tuple[Doc, ...], ...]:
    """Objects of every kind that is followed; those that belong together side by side."""
    made = [tuple(make()) for make in (*MADE.values(), *OTHERWISE.values())]
    groups = [(*docs, *(linked(kind, f"p{i}", 2) for i in range(4))) for kind, docs in GROUPS.items()]
    around = [(_bare(row),) for row in kindtable.FOLLOWED if row.purpose in _ROUND_IT or row.purpose is _GATHERS]
    nodes = [(objects.node("n0", "b0", "r0"), objects.node("n9", "b0", "r9"))]
    return (*made, *groups, *nodes, *around, *_examples())


_GATHERS = kindtable.Purpose.GATHERS_PODS


def _bare(row: kindtable.KindRow) -> Doc:
    version = f"{row.group}/{row.versions[0]}" if row.group else row.versions[0]
    metadata = {"name": "w", "uid": f"uid-{row.kind}", **({"namespace": "default"} if row.namespaced else {})}
    return {"apiVersion": version, "kind": row.kind, "metadata": metadata, "spec": {}, "status": {}}


def _examples() -> Iterator[tuple[Doc, ...]]:
    for file in sorted(EXAMPLES.glob("*/*.yaml")):
        yield tuple(_ours(doc) for doc in yaml.safe_load_all(file.read_text()) if doc)


def _ours(value: Any) -> Any:
    """A document whose pods are ours to place."""
    if isinstance(value, list):
        return [_ours(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = {"schedulerName": "phalanx"} if "containers" in value else {}
    return {**{key: _ours(one) for key, one in value.items()}, **named}


Place = tuple[Any, ...]
_DEEPEST = 20  # what lies deeper was put there by us


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """All that can be replaced; its kind stays, for that is what is tried."""
    if at and at not in (("kind",), ("apiVersion",)):
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner if len(at) < _DEEPEST else ():
        yield from places(one, (*at, key))


def spoiled(doc: Doc, chance: random.Random) -> Doc:
    """An object in which a few things are gone, are something else, or are there that nobody asked for."""
    made: Doc = copy.deepcopy(doc)
    if chance.random() < 0.3:
        made.get("spec", {}).pop("schedulerName", None)  # a pod of somebody else
    for _ in range(chance.randint(1, 4)):
        if chance.random() < 0.3:
            _annotate(made, chance)
        else:
            _spoil(made, chance)
    return made


def _annotate(made: Doc, chance: random.Random) -> None:
    """A label or an annotation that we read says something odd; or all that we write does."""
    metadata = made.get("metadata")
    part = metadata.setdefault(chance.choice(("labels", "annotations")), {}) if isinstance(metadata, dict) else None
    if isinstance(part, dict):
        for key in chance.choices(keys(), k=2) if chance.random() < 0.8 else (*ours.WRITTEN, chance.choice(keys())):
            part[key] = chance.choice(TEXTS) if chance.random() < 0.8 else junk(chance)


def _spoil(made: Doc, chance: random.Random) -> None:
    found = list(places(made))
    if not found:
        return
    *path, last = chance.choice(found)
    inside: Any = made
    for key in path:
        inside = inside[key]
    what = chance.random()
    if what < 0.15:
        del inside[last]
    elif what < 0.4 and isinstance(inside, dict):
        inside[chance.choice(words())] = junk(chance)
    else:
        inside[last] = junk(chance)
