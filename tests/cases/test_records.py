"""Decisions that were recorded once are decided the same today. To add one: put its line into records/."""

from pathlib import Path

import pytest

from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.model.decision import Placed
from phalanx.place.verify import verify
from phalanx.record.line import read
from phalanx.record.outcome import differences

RECORDS = [
    pytest.param(line, id=f"{path.stem}-{number}")
    for path in sorted((Path(__file__).parent / "records").glob("*.jsonl"))
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1)
]


@pytest.mark.parametrize("line", RECORDS)
def test_a_recorded_decision_is_decided_the_same_again(line: str) -> None:
    record = read(line)
    again = decide(Board.of(record.snapshot), record.request, record.policy)
    assert differences(record.decision, again) == ()
    if isinstance(again, Placed):
        assert verify(record.snapshot, record.request, again.placement) == ()


def test_both_answers_are_among_the_records() -> None:
    statuses = {type(read(line.values[0]).decision).__name__ for line in RECORDS}
    assert {"Placed", "Waiting"} <= statuses
