"""Every command about every kind of wrong input: what it prints, as text and as JSON, and its exit code.

``golden/NAME.yaml`` is the input, beside the nodes of ``golden/cluster.yaml``; its first line says what is explained.
``golden/NAME.txt`` is what all commands say; ``golden/command-line.txt``, what they say of wrong command lines. After a
change that is meant to change them ``GOLDEN=write`` before pytest writes them again; read the difference before keeping
it. Of JSON they keep what says something, in few lines: entries that are null, false or empty are left out, and it is
written as YAML.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from phalanx.cli import clusters, main
from tests.cli.test_agreement import agree

Captured = pytest.CaptureFixture[str]
GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("*.yaml") if path.stem != "cluster")
WRITE = "GOLDEN"
COMMANDS = ("place", "check", "convert --to gang", "explain train", "queue", "get", "tree")
WRONG = ("-f ''", "-f gone.yaml", "-f cluster.yaml -o jsn", "-f cluster.yaml --frobnicate", "-f /dev/null")
OWN = {  # what only this command can be told wrong
    "explain train": ("-f cluster.yaml", "again -f cluster.yaml"),
    "convert --to gang": ("-f cluster.yaml",),
    "get": ("pods -f cluster.yaml",),
    "tree": ("--level aisle -f cluster.yaml", "--free gpu -f cluster.yaml", "--topology t -f cluster.yaml"),
    "place": ("-f cluster.yaml",),
}
NOT_COMPARED = {  # about no workload, or about two of one name
    "not-yaml", "nothing", "one-key-twice", "no-kind", "node-that-is-wrong", "one-name-twice",
}  # fmt: skip

TEXT = ("place", "check", "explain {name}", "queue", "get -o wide", "tree {name}", "convert --to gang")
JSON = ("place", "check", "explain {name}", "queue", "get")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the files, at a moment of its own: neither shows where and when the tests ran."""
    monkeypatch.chdir(GOLDEN)
    monkeypatch.setattr(clusters, "time", SimpleNamespace(time=lambda: 1_800_000_000.0))
    monkeypatch.setenv("COLUMNS", "80")


def told(case: str, capsys: Captured) -> str:
    first = (GOLDEN / f"{case}.yaml").read_text().partition("\n")[0]
    name = first.removeprefix("# explain: ")
    commands = [*TEXT, *(f"{one} -o json" for one in JSON)]
    return "\n".join(section for one in commands for section in said(one.format(name=name), case, capsys))


def said(command: str, case: str, capsys: Captured) -> Iterator[str]:
    """One command about the files of a case."""
    yield from answered([*command.split(), "-f", "cluster.yaml", "-f", f"{case}.yaml"], capsys, command)


def answered(tokens: list[str], capsys: Captured, title: str = "") -> Iterator[str]:
    """How a command ended, what it said on standard error, what it printed. '' stands for an empty argument."""
    code = main.run(["" if one == "''" else one for one in tokens])
    out, err = capsys.readouterr()
    yield f"==== phalanx {title or ' '.join(tokens)}: exit code {int(code)}"
    yield from err.splitlines()
    if title.endswith("-o json") and out:
        shown = yaml.safe_dump(kept(json.loads(out)), sort_keys=False, default_flow_style=None, width=120)
        yield from shown.splitlines()
    else:
        yield from (line.rstrip() for line in out.splitlines())
    yield ""


def kept(value: Any) -> Any:
    """Without what says nothing."""
    if isinstance(value, list):
        return [kept(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: kept(one) for key, one in value.items()}
    return {key: one for key, one in found.items() if one not in (None, [], {}, "") and one is not False}


def compared(found: str, name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get(WRITE) == "write":
        path.write_text(found)
    assert found == path.read_text(), f"{WRITE}=write writes it again"


@pytest.mark.parametrize("case", CASES)
def test_every_command_says_of_wrong_input_what_it_should(case: str, here: None, capsys: Captured) -> None:
    compared(told(case, capsys), case)


def test_every_command_says_of_a_wrong_command_line_what_it_should(here: None, capsys: Captured) -> None:
    lines = [f"{command} {wrong}" for command in COMMANDS for wrong in (*WRONG, *OWN.get(command, ()))]
    told = "\n".join(line for one in lines for line in answered(one.split(" "), capsys))
    compared(told, "command-line")


@pytest.mark.parametrize("case", sorted(set(CASES) - NOT_COMPARED))
def test_every_command_gives_one_answer_about_wrong_input(case: str, here: None, capsys: Captured) -> None:
    agree(capsys, "-f", "cluster.yaml", "-f", f"{case}.yaml")


def test_nothing_is_golden_without_its_input() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*CASES, "command-line"}
