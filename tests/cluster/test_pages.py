"""The Python of docs/sdk.md and of the README runs as it stands there."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import phalanx
from phalanx.model.policy import BUDGET_MAX, CANDIDATES, NODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return [part.partition("```")[0] for part in page.split(f"```{language}\n")[1:]]


def run(block: str, known: dict[str, Any]) -> None:
    exec(compile(block, "a page of ours", "exec"), known)  # noqa: S102 (a page of ours)


def test_the_blocks_of_the_page_run_from_top_to_bottom() -> None:
    known: dict[str, Any] = {}
    for block in blocks(PAGE, "python"):
        run(block, known)
    assert known["cluster"].snapshot.pods


def test_each_wrong_call_of_the_page_says_what_stands_beside_it() -> None:
    known: dict[str, Any] = {}
    *_, last = blocks(PAGE, "python")
    for block in blocks(PAGE, "python"):
        run(block if block != last else "", known)
    calls = re.findall(r"lambda: (.+?),\s+# (\w+): (.+)", last)
    for call, error, says in calls:
        with pytest.raises((TypeError, ValueError, KeyError)) as found:
            eval(call, known)  # noqa: S307 (a page of ours)
        assert type(found.value).__name__ == error
        assert says.rpartition("; ")[2].removeprefix("it ") in str(found.value)
    assert len(calls) == 5


def test_the_table_of_the_page_has_every_word_of_a_policy() -> None:
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE, re.MULTILINE) if row[0] != "Policy"}
    assert list(rows) == list(phalanx.Policy.__dataclass_fields__)
    assert tuple(re.findall(r"`(\w+)`", rows["candidates"])) == CANDIDATES
    assert tuple(re.findall(r"`(\w+)`", rows["nodes"])) == NODES
    assert rows["budget"] == "0 to 10^12" and BUDGET_MAX == 10**12


def test_a_planner_counts_how_many_more_gangs_fit_in_about_ten_lines() -> None:
    (block,) = [one for one in blocks(PAGE, "python") if "def how_many_more" in one]
    lines = [line for line in block.splitlines() if line.strip()]
    assert len(lines) <= 11


def test_the_readme_places_its_own_job_on_nodes_like_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topology, job, node, *_ = (yaml.safe_load(block) for block in blocks(README, "yaml"))
    nodes = [copy.deepcopy(node) for _ in range(4)]
    for number, one in enumerate(nodes, 1):
        one["metadata"]["name"] = one["metadata"]["labels"]["kubernetes.io/hostname"] = f"node-{number}"
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([topology, *nodes]))
    (tmp_path / "train.yaml").write_text(yaml.safe_dump(job))
    monkeypatch.chdir(tmp_path)
    block, *_ = blocks(README, "python")
    known: dict[str, Any] = {}
    run(block, known)
    assert capsys.readouterr().out.startswith("train Placed\n{'main': {'node-1': 2,")
    assert known["cluster"].snapshot.pods == () and known["decisions"][0].domains == {"main": ("b1", "r1")}
