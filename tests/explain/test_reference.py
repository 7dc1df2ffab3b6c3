"""The reason reference: every reason once, and the page in the repository is the one the catalogue makes."""

from pathlib import Path

import pytest

from phalanx.explain import reference
from phalanx.model.reasons import Why

PAGE = Path(__file__).parents[2] / "docs" / "reasons.md"


def test_every_reason_has_one_section_and_an_anchor() -> None:
    assert [entry.why for entry in reference.CATALOGUE] == list(Why)
    assert all(entry.example.type is entry.why for entry in reference.CATALOGUE)
    assert all(f"\n## {why}\n" in reference.page() and f"(#{why.lower()})" in reference.page() for why in Why)


def test_the_page_in_the_repository_is_up_to_date() -> None:
    assert reference.main(["--check", str(PAGE)]) == 0


def test_a_page_that_differs_or_is_missing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = tmp_path / "reasons.md"
    assert reference.main(["--check", str(stale)]) == 1
    stale.write_text(reference.page() + "more", encoding="utf-8")
    assert reference.main(["--check", str(stale)]) == 1
    assert "is out of date" in capsys.readouterr().err


def test_without_arguments_the_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert reference.main([]) == 0
    assert capsys.readouterr().out == reference.page()
