"""The page of requirements cannot lie: one row per id, counts that add up, and no test that is not there."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests import reached

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8").splitlines()
STATES = ("done", "met another way", "only tested", "open", "later", "rejected")
SHOWN = ("done", "met another way", "only tested")
IDS = {"K": 112, "W": 232, "KA": 66, "J": 52, "M": 26, "X": 52}  # how many the designs have
WAITS_FOR = (
    "dialects", "engine", "queues and preemption", "real cluster", "install", "dashboard", "laptop cluster",
)  # fmt: skip
ROW = re.compile(r"\| ([A-Z]+)-(\d+) \| ([^|]+) \| ([^|]+) \| (.+) \|")
NAMED = re.compile(r"`(tests/[^`]*)`")

ROWS = [match.groups() for match in map(ROW.fullmatch, PAGE) if match]


@cache
def named_in(path: str) -> frozenset[str]:
    """Names of the tests in a file; none where there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def counted(state: str) -> list[int]:
    """How many rows of each design are in a state, and how many in all."""
    found = Counter(design for design, _, _, said, _ in ROWS if said == state)
    return [*(found[design] for design in IDS), found.total()]


def table_row(title: str) -> list[int]:
    """The numbers behind a title in the table of counts."""
    (found,) = [line for line in PAGE if re.fullmatch(rf"\| {re.escape(title)} (\| \d+ )+\|", line)]
    return [int(number) for number in re.findall(r"\| (\d+) ", found)]


def test_every_id_has_exactly_one_row() -> None:
    expected = [(design, number) for design, most in IDS.items() for number in range(1, most + 1)]
    assert [(design, int(number)) for design, number, *_ in ROWS] == expected
    assert len(ROWS) == sum(re.match(r"\| [A-Z]+-\d", line) is not None for line in PAGE)  # no row is passed over


def test_every_row_is_in_a_known_state() -> None:
    assert {state for _, _, _, state, _ in ROWS} <= set(STATES)


@pytest.mark.parametrize("state", STATES)
def test_the_count_of_a_state_is_true(state: str) -> None:
    assert table_row(state) == counted(state)


def test_the_sums_of_the_counts_are_true() -> None:
    assert table_row("**all**") == [*IDS.values(), sum(IDS.values())]


def test_what_is_done_or_met_names_a_test() -> None:
    claimed = [(design, number) for design, number, _, state, shown in ROWS
               if state in SHOWN and not NAMED.search(shown)]  # fmt: skip
    assert claimed == []


def test_what_is_open_names_the_capability_it_waits_for() -> None:
    aimless = [(design, number) for design, number, _, state, shown in ROWS
               if state == "open" and not any(word in NAMED.sub("", shown) for word in WAITS_FOR)]  # fmt: skip
    assert aimless == []


def test_every_test_that_is_named_exists() -> None:
    named = {name for line in PAGE for name in NAMED.findall(line)}
    assert named
    lost = [name for name in sorted(named) if not _exists(*name.partition("[")[0].split("::"))]
    assert lost == []


def _exists(path: str, test: str = "") -> bool:
    return test.startswith("test_") and test in named_in(path)


def test_rows_whose_tests_never_touch_what_a_user_can_reach_say_so() -> None:
    """They are ``only tested``; and no row is that whose tests do."""
    wrong = [f"{design}-{number}: {state}" for design, number, _, state, shown in ROWS
             if state in SHOWN and (state == "only tested") == any(map(_is_reached, NAMED.findall(shown)))]  # fmt: skip
    assert wrong == []


def _is_reached(name: str) -> bool:
    """Whether a test touches nothing that only tests reach."""
    path, _, test = name.partition("[")[0].partition("::")
    return test not in reached.unused_names(ROOT / path)


def test_every_example_that_is_named_exists() -> None:
    named = {name for line in PAGE for name in re.findall(r"tests/examples/[^`]*\[([^`]*)\]`", line)}
    assert [name for name in sorted(named) if not (ROOT / "examples" / name).is_dir()] == []
