"""``phalanx check``: problems first, then whether it fits now, then what is not looked at."""

import json
from typing import Any

import pytest

from phalanx.cli import main
from tests.cluster import docs

Captured = pytest.CaptureFixture[str]


def check(*tokens: str) -> int:
    return int(main.run(("check", *tokens)))


def wrong() -> dict[str, Any]:
    doc = docs.gang("typo")
    doc["spec"]["podGroups"][0]["topology"] = {"required": "rak"}
    return doc


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}


def test_a_good_manifest_that_fits_is_0_and_says_where(write, capsys: Captured) -> None:
    assert check("-f", write(*docs.cluster(), docs.gang())) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == ["PROBLEMS", "  none"]
    assert "Gang serving/llm: yes: 2 pods on 2 nodes in rack b1/r1" in out
    assert err == ""


def test_problems_come_first_with_path_value_and_what_is_allowed(write, capsys: Captured) -> None:
    assert check("-f", write(*docs.cluster(), docs.gang(), wrong(), SERVICE)) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "PROBLEMS"
    assert lines[1].startswith("  Gang serving/typo: spec.podGroups[0].topology.required: ")
    assert lines[2] == "    value: 'rak'"
    assert lines[3].startswith("    allowed: ") and "rack" in lines[3]
    assert lines.index("FITS NOW") < lines.index("NOTED OR IGNORED")
    assert any("Service/web" in line for line in lines[lines.index("NOTED OR IGNORED") :])


def test_what_does_not_fit_is_3_with_its_reason(write, capsys: Captured) -> None:
    assert check("-f", write(*docs.cluster(), docs.gang("big", docs.workers(3)))) == 3
    assert "Gang serving/big: no: " in capsys.readouterr().out


def test_without_nodes_only_the_manifest_is_judged(write, capsys: Captured) -> None:
    gang = docs.gang()
    gang["spec"]["podGroups"][0].pop("topology", None)
    assert check("-f", write(gang)) == 0
    assert "not asked: no Node is given (1 valid)" in capsys.readouterr().out


def test_the_same_as_json(write, capsys: Captured) -> None:
    assert check("-o", "json", "-f", write(*docs.cluster(), docs.gang(), wrong(), SERVICE)) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "phalanx.dev/check/v1"
    assert [one["value"] for one in found["problems"]] == ["rak"]
    assert [one["status"] for one in found["fitsNow"]] == ["Placed"]
    assert [one["path"] for one in found["ignored"]] == ["Service/web"]
