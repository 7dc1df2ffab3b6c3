"""Decisions of a running scheduler are kept as lines that can be decided again."""

from pathlib import Path

import pytest

from phalanx.engine.decide import decide
from phalanx.kube.recorder import CannotRecord, Recorder
from phalanx.model.decision import Decision
from phalanx.model.policy import Policy
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.record.line import read
from tests.engine.asking import RACK, board, gang, workers


def made(count: int) -> tuple[Snapshot, Request, Policy, Decision]:
    there, asked, policy = board("b1: r1=4,4 r2=4"), gang(workers(count, required=RACK)), Policy()
    return there.snapshot(), asked, policy, decide(there, asked, policy)


def keep(recorder: Recorder, *counts: int) -> None:
    with recorder:
        for count in counts:
            assert recorder.on_decision is not None
            recorder.on_decision(*made(count))


def test_every_line_is_a_record_that_gets_the_same_answer(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    keep(Recorder(str(file), print), 6, 9)
    records = [read(line) for line in file.read_text().splitlines()]
    assert [record.decision for record in records] == [made(6)[3], made(9)[3]]


def test_a_restart_appends(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    keep(Recorder(str(file), print), 6)
    keep(Recorder(str(file), print), 6)
    first, second = file.read_text().splitlines()
    assert first == second


def test_without_a_file_nobody_is_asked_for_a_picture() -> None:
    with Recorder("", print) as recorder:
        assert recorder.on_decision is None


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match=r"records.file: .*none/decisions.jsonl cannot be written: No such file"):
        Recorder(str(tmp_path / "none" / "decisions.jsonl"), print).__enter__()


def test_a_full_disk_is_told_once_and_stops_nothing() -> None:
    told: list[str] = []
    keep(Recorder("/dev/full", told.append), 6, 6)
    assert told == ["decisions are not recorded in /dev/full: No space left on device"]
