"""The example of docs/testing.md runs as it stands there."""

from pathlib import Path

from phalanx.model import effects

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_the_example_of_the_page_runs_as_it_is_written() -> None:
    (example,) = [part.partition("```")[0] for part in PAGE.read_text().split("```python\n")[1:]]
    exec(compile(example, str(PAGE), "exec"), {})  # noqa: S102 (a page of ours)


def test_every_kind_of_effect_that_the_page_names_is_one() -> None:
    named = PAGE.read_text().partition("`.kind` (")[2].partition(")")[0]
    kinds = [word.strip("` ") for word in named.split(",")]
    assert all(isinstance(getattr(effects, kind), type) for kind in kinds) and len(kinds) == 8
