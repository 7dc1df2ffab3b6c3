"""``assert`` judges nothing in the product: it vanishes under ``-O``, and what it raises says of nobody whose it is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
_NAME = "AssertionError"


def judged_by_assert(text: str) -> Iterator[int]:
    """The lines on which something is asserted."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Name) and node.id in (_NAME, "__debug__")):
            yield node.lineno


def test_nothing_in_the_product_is_judged_by_assert() -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{line}"
        for file in sorted(SOURCE.rglob("*.py"))
        for line in judged_by_assert(file.read_text())
    ]
    assert found == [], "raise phalanx.model.mistakes.Mistake instead"


@pytest.mark.parametrize(
    "text", ["assert x", "if x:\n  raise AssertionError('y')", "try: x\nexcept AssertionError: y", "if __debug__: x"]
)
def test_the_rule_sees_what_it_forbids(text: str) -> None:
    assert list(judged_by_assert(text))


def test_prose_about_assert_is_no_judgement() -> None:
    assert not list(judged_by_assert('"""assert this"""\nx = "AssertionError"'))
