"""The table of a gang's life."""

from pathlib import Path

import pytest

from phalanx.engine import diagram
from phalanx.engine.lifecycle import TABLE, Cause, State, after
from phalanx.model.mistakes import Mistake

PAGE = Path(__file__).parents[2] / "docs" / "lifecycle.md"


def test_every_state_has_a_row_and_every_cause_is_used() -> None:
    assert set(TABLE) == set(State)
    assert {cause for causes in TABLE.values() for cause in causes} | {Cause.RECOVERED} == set(Cause)


def test_every_state_can_be_reached_and_leads_to_the_end() -> None:
    def reached(start: State) -> set[State]:
        found, edge = {start}, [start]
        while edge:
            edge = [then for state in edge for then in TABLE[state].values() if then not in found]
            found.update(edge)
        return found

    assert reached(State.QUEUED) == set(State)
    assert all(State.FINISHED in reached(state) for state in State)


def test_a_gang_that_leaves_its_places_always_passes_through_evicting_or_has_no_pods() -> None:
    held = (State.RESERVED, State.BINDING, State.STARTING, State.RUNNING, State.DEGRADED)
    back = {cause for state in held for cause, then in TABLE[state].items() if then is State.QUEUED}
    assert back == {Cause.PODS_VANISHED}


def test_a_cause_that_a_state_does_not_know_is_a_mistake_of_ours() -> None:
    with pytest.raises(Mistake):
        after(State.QUEUED, Cause.READY)


def test_the_page_in_the_repository_is_up_to_date() -> None:
    assert diagram.main(["--check", str(PAGE)]) == 0


def test_a_page_that_differs_or_is_missing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = tmp_path / "lifecycle.md"
    assert diagram.main(["--check", str(stale)]) == 1
    stale.write_text(diagram.page() + "more", encoding="utf-8")
    assert diagram.main(["--check", str(stale)]) == 1
    assert "is out of date" in capsys.readouterr().err


def test_without_arguments_the_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert diagram.main([]) == 0
    assert capsys.readouterr().out == diagram.page()
