"""Which modules a user can reach: all that the commands, the SDK and the helpers for tests import, directly or not.

A package's ``__init__`` counts only where it is imported itself: that it lists a module is no use of it.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
ENTRIES = (
    "phalanx", "phalanx.cli.main", "phalanx.sim.soak",
    *(f"phalanx.testing{part}" for part in ("", ".brute", ".matchers", ".oracle")),  # for tests of users
    "phalanx.engine.diagram", "phalanx.explain.reference", "phalanx.kube.configuration.__main__",
    "phalanx.kube.crds.__main__", "phalanx.kube.kindpage",  # what they write is shipped
)  # fmt: skip


@cache
def modules() -> dict[str, Path]:
    """Every module of ours by its name."""
    found = {}
    for path in sorted((SOURCE / "phalanx").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What a file imports: the module, and the name by which it is known there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((one.name, (one.asname or one.name).partition(".")[0]) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for one in node.names:
                inner = f"{node.module}.{one.name}"
                yield (inner if inner in modules() else node.module), one.asname or one.name


@cache
def reached() -> frozenset[str]:
    """The modules that a user can reach."""
    seen: set[str] = set()
    left = list(ENTRIES)
    while left:
        name = left.pop()
        if name in modules() and name not in seen:
            seen.add(name)
            left += [module for module, _ in imported(ast.parse(modules()[name].read_text(encoding="utf-8")))]
    return frozenset(seen)


@cache
def unused_names(path: Path) -> frozenset[str]:
    """Names in a file of tests that stand for something which only tests reach, helpers of the file among them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {name for module, name in imported(tree) if module in modules() and module not in reached()}
    helpers = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign)]
    for _ in helpers:
        more = {name for node in helpers if _uses(node, found) for name in _named(node)} - found
        if not more:
            break
        found |= more
    return frozenset(found)


def _named(node: ast.FunctionDef | ast.Assign) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _uses(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(node))
