"""Problems can be shown whatever the value was."""

import pytest

from phalanx.model.problems import Problem, shown


def deep(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "stand_in"),
    [
        ("rak", "rak"), (3, 3), (0.5, 0.5), (True, True), (None, None), ({}, "a mapping"), (deep(100_000), "a list"),
        ((), "a list"), pytest.param(10**5000, "a number of more than 77 digits", id="huge"),
        (float("nan"), "nan"), (float("inf"), "inf"),
        (b"x", "a value of type bytes"), ("x" * 500, "x" * 120 + "..."), ("\ud800", "?"),
    ],
)  # fmt: skip
def test_a_value_is_shown_as_itself_or_by_a_harmless_stand_in(value: object, stand_in: object) -> None:
    assert shown(value) == stand_in


def test_a_problem_reads_as_path_and_sentence() -> None:
    assert str(Problem("spec.count", 0, (), "0 is less than 1")) == "spec.count: 0 is less than 1"
