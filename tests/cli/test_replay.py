"""``phalanx place --record`` and ``phalanx replay``: what was decided is kept as lines and decided again."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import phalanx
from phalanx.cli import main
from phalanx.engine import decide as engine
from phalanx.model.mistakes import Mistake
from phalanx.record.line import read
from tests.cluster import docs

Captured = pytest.CaptureFixture[str]
WRONG = docs.job("typo", topology_required="rak")


def run(*tokens: str) -> int:
    return int(main.run(tokens))


@pytest.fixture
def record(tmp_path: Path):
    """Places workloads on the small cluster and gives the file of records."""

    def recorded(*workloads: Any, code: int = 0) -> Path:
        given, kept = tmp_path / "all.yaml", tmp_path / "kept.jsonl"
        given.write_text("---\n".join(yaml.safe_dump(doc) for doc in (*docs.cluster(), *workloads)))
        assert run("place", "-f", str(given), "--record", str(kept)) == code
        return kept

    return recorded


def changed(line: str, *path: Any, value: Any) -> str:
    found = at = json.loads(line)
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return json.dumps(found) + "\n"


# -- recording ---------------------------------------------------------------------------------------------------


def test_each_decision_is_a_line_that_shows_the_room_those_before_it_took(record) -> None:
    first, second = map(read, record(docs.gang("a"), docs.gang("b")).read_text().splitlines())
    assert (first.request.id, second.request.id) == ("serving/a", "serving/b")
    assert [pod.gang for pod in second.snapshot.pods] == ["serving/a"] * 2 and first.snapshot.pods == ()
    assert first.version == phalanx.__version__


def test_a_waiting_gang_is_recorded_and_a_wrong_manifest_is_not(record) -> None:
    kept = record(docs.gang("big", docs.workers(3)), WRONG, code=4)
    (only,) = map(read, kept.read_text().splitlines())
    assert only.request.id == "serving/big" and type(only.decision).__name__ == "Waiting"


def test_recording_does_not_show_in_the_output_and_gives_the_same_bytes_each_time(record, capsys: Captured) -> None:
    once = record(docs.gang("a"), docs.gang("big", docs.workers(3)), code=3).read_bytes()
    said = capsys.readouterr()
    kept = record(docs.gang("a"), docs.gang("big", docs.workers(3)), code=3)
    assert kept.read_bytes() == once and capsys.readouterr() == said
    assert run("place", "-f", str(kept.with_name("all.yaml"))) == 3
    assert capsys.readouterr() == said


def test_a_record_that_cannot_be_written_is_told_in_one_line(record, tmp_path: Path, capsys: Captured) -> None:
    given = record(docs.gang()).with_name("all.yaml")
    capsys.readouterr()
    assert run("place", "-f", str(given), "--record", str(tmp_path)) == 1
    assert capsys.readouterr() == ("", f"error: {tmp_path}: Is a directory\n")


# -- replaying ---------------------------------------------------------------------------------------------------


def test_what_is_decided_the_same_again_is_0(record, capsys: Captured) -> None:
    kept = record(docs.gang("a"), docs.gang("b"), docs.gang("big", docs.workers(3)), code=3)
    capsys.readouterr()
    assert run("replay", str(kept)) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"{kept}:1 serving/a: same",
        f"{kept}:2 serving/b: same",
        f"{kept}:3 serving/big: same",
    ]
    assert err == ""


def test_what_differs_is_1_and_told(record, capsys: Captured) -> None:
    kept = record(docs.gang("a"), docs.gang("b"))
    first, second = kept.read_text().splitlines()
    kept.write_text(changed(first, "decision", "placement", "domains", "workers", value=["b9"]) + second + "\n")
    capsys.readouterr()
    assert run("replay", str(kept)) == 1
    here = phalanx.__version__
    assert capsys.readouterr().out.splitlines() == [
        f"{kept}:1 serving/a: differs (recorded by {here}, this is {here})",
        '  placement.domains.workers: ["b9"] -> ["b1","r1"]',
        f"{kept}:2 serving/b: same",
    ]


def test_another_status_is_a_difference(record, capsys: Captured) -> None:
    kept = record(docs.gang("a"))
    line = kept.read_text()
    kept.write_text(changed(line, "snapshot", "nodes", value=json.loads(line)["snapshot"]["nodes"][:1]))
    capsys.readouterr()
    assert run("replay", str(kept)) == 1
    assert '  status: "Placed" -> "Waiting"' in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("bad", [b"{\n", b"\xff\n", b"{}\n", b"hello\n"])
def test_a_line_that_is_no_record_is_4_and_the_others_are_still_decided(record, capsys: Captured, bad: bytes) -> None:
    kept = record(docs.gang("a"))
    other = changed(kept.read_text(), "decision", "placement", "domains", "workers", value=["b9"])
    kept.write_bytes(b"\n" + bad + other.encode())
    capsys.readouterr()
    assert run("replay", str(kept)) == 4
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {kept}:2: ") and len(err.splitlines()) == 1
    assert out.startswith(f"{kept}:3 serving/a: differs")


def test_a_decision_that_fails_now_is_told_as_what_differs(
    record, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Mistake("node n1 is over its capacity\nand more")

    kept = record(docs.gang("a"))
    capsys.readouterr()
    monkeypatch.setattr(engine, "decide", fail)
    assert run("replay", str(kept)) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[1:] == ["  no answer: Mistake: node n1 is over its capacity"]


def test_records_come_from_standard_input_too(record, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = record(docs.gang("a"))
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(kept.read_bytes())))
    assert run("replay", "-") == 0
    assert capsys.readouterr().out == "standard input:1 serving/a: same\n"


def test_names_in_a_record_do_not_steer_the_terminal(record, capsys: Captured) -> None:
    kept = record(docs.gang("a"))
    kept.write_text(changed(kept.read_text(), "request", "name", value="\x1b[31mred"))
    capsys.readouterr()
    run("replay", str(kept))
    assert "\x1b" not in capsys.readouterr().out


def test_nothing_to_replay_and_no_such_file_are_1(tmp_path: Path, capsys: Captured) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    assert run("replay", str(empty)) == 1
    assert run("replay", str(tmp_path / "none")) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"error: nothing to replay: no record in {empty}",
        f"error: {tmp_path / 'none'}: No such file or directory",
    ]


@pytest.mark.parametrize("tokens", [("replay",), ("replay", "--nope"), ("replay", "x", "-f", "y")])
def test_wrong_usage_is_2(tokens: tuple[str, ...], tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "x").write_text("")
    assert run(*(str(tmp_path / "x") if token == "x" else token for token in tokens)) == 2
    assert capsys.readouterr().err.startswith("error: ")
