"""Whatever the package hands to a user says what it is: help() never shows a bare name.

A method or property has a docstring of its own; a field stands in its class's docstring as ``name``.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from enum import Enum
from types import ModuleType

import pytest

import phalanx
import phalanx.testing
from phalanx.model.objects import ObjectKey
from phalanx.model.reasons import ClosedQueue, DomainEvidence, FullQuota, Obstacle, Reason, WayOut
from phalanx.model.topology import MissingLabel
from phalanx.testing import live, matchers

HANDED_OUT = (ClosedQueue, DomainEvidence, FullQuota, MissingLabel, ObjectKey, Obstacle, Reason, WayOut)
MODULES = (phalanx.testing, live, matchers)


def public(names: object) -> list[str]:
    return [name for name in names if not name.startswith("_")]  # type: ignore[attr-defined]


def named(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The classes and functions that a module makes or lists."""
    for name, value in vars(module).items():
        listed = name in getattr(module, "__all__", ())
        if not name.startswith("_") and (listed or getattr(value, "__module__", "") == module.__name__):
            yield f"{module.__name__}.{name}", value


THINGS = {
    **{f"phalanx.{name}": getattr(phalanx, name) for name in public(phalanx.__all__)},
    **{name: value for module in MODULES for name, value in named(module)
       if inspect.isclass(value) or inspect.isfunction(value)},
    **{f"{one.__module__}.{one.__name__}": one for one in HANDED_OUT},
}  # fmt: skip


def undocumented(thing: object, home: str = "phalanx") -> list[str]:
    """The names of a thing that say nothing; ``itself`` for the thing."""
    if not inspect.isclass(thing):
        return [] if inspect.getdoc(thing) else ["itself"]
    kin = [one for one in thing.__mro__ if one.__module__.partition(".")[0] == home]
    said = "\n".join(one.__doc__ or "" for one in kin)
    silent = [] if thing.__doc__ and not thing.__doc__.startswith(f"{thing.__name__}(") else ["itself"]
    for one in kin:
        for name, value in vars(one).items():
            doc = getattr(getattr(value, "__func__", value), "__doc__", None)
            if not name.startswith("_") and _is_code(value) and not doc:
                silent.append(name)
        silent += [name for name in (*public(inspect.get_annotations(one)), *_set(one))
                   if f"``{name}``" not in said and not isinstance(vars(one).get(name), Enum)]  # fmt: skip
    return silent


def _is_code(value: object) -> bool:
    return (
        isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value) or hasattr(value, "func")
    )


def _set(kind: type) -> list[str]:
    """What a constructor puts on the object, properties aside."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    targets = [
        node.attr
        for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) and function.name == "__init__"
        for node in ast.walk(function) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]  # fmt: skip
    return [name for name in public(targets) if not isinstance(vars(kind).get(name), property)]


@pytest.mark.parametrize("name", THINGS)
def test_everything_public_says_what_it_is(name: str) -> None:
    assert undocumented(THINGS[name]) == []


def test_all_that_is_listed_is_there() -> None:
    for module in (phalanx, phalanx.testing):
        assert all(hasattr(module, name) for name in module.__all__) and set(module.__all__) <= set(dir(module))
    assert phalanx.__all__ == sorted(phalanx.__all__)


def test_a_name_without_a_word_is_noticed() -> None:
    class Bare:
        """``told``: something."""

        told: int
        untold: int

        def silent(self) -> None: ...

        def __init__(self) -> None:
            self.put = 1

    assert sorted(undocumented(Bare, __name__.partition(".")[0])) == ["put", "silent", "untold"]
