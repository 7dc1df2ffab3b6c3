"""``phalanx convert``: documents on standard output, warnings on standard error, and what the shell is told."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.cli import main

Captured = pytest.CaptureFixture[str]

POD = {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}
GROUPS = [{"name": "a", "count": 2, "template": {"spec": POD}}, {"name": "b", "count": 4, "template": {"spec": POD}}]


def gang(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": {"name": "train"},
        "spec": {"podGroups": GROUPS, **spec},
    }  # fmt: skip


def run(*tokens: str) -> int:
    return int(main.run(("convert", *tokens)))


def test_documents_go_to_standard_output_and_losses_to_standard_error(write, capsys: Captured) -> None:
    sliced = [{**GROUPS[1], "slices": [{"level": "host", "size": 2}]}]
    assert run("-f", write(gang(podGroups=sliced)), "--to", "kai") == 0
    out, err = capsys.readouterr()
    assert yaml.safe_load(out)["spec"] == {"minMember": 4}
    assert "all.yaml, document 1, line 1: default/train: KAI cannot say slices: group 'b' is written without\n" in err


def test_several_documents_are_separated_and_keep_their_order(write, capsys: Captured) -> None:
    assert run("-f", write(gang(policy="Basic")), "--to", "kueue") == 0
    out, err = capsys.readouterr()
    assert out.count("\n---\n") == 1 and err == ""
    assert [doc["metadata"]["name"] for doc in yaml.safe_load_all(out)] == ["train-a", "train-b"]


def test_no_document_refers_to_another_by_an_alias(write, capsys: Captured) -> None:
    copied = [{**GROUPS[0], "replicas": 2}]
    assert run("-f", write(gang(policy="Basic", podGroups=copied)), "--to", "kueue") == 0
    assert "&" not in capsys.readouterr().out


def test_as_json_it_is_a_list_that_can_be_read_again(write, capsys: Captured, tmp_path: Path) -> None:
    assert run("-f", write(gang()), "--to", "workload", "-o", "json") == 0
    found = capsys.readouterr().out
    assert json.loads(found)["kind"] == "List"
    (tmp_path / "again.json").write_text(found)
    assert run("-f", str(tmp_path / "again.json"), "--to", "gang") == 0
    again = yaml.safe_load(capsys.readouterr().out)
    assert [one.get("count") for one in again["spec"]["podGroups"]] == [None, 2, 4]


def test_the_namespace_of_documents_that_name_none_is_the_one_given(write, capsys: Captured) -> None:
    assert run("-f", write(gang()), "--to", "gang", "-n", "team") == 0
    assert yaml.safe_load(capsys.readouterr().out)["metadata"]["namespace"] == "team"


def test_something_invalid_is_exit_code_4_and_the_rest_is_written(write, capsys: Captured) -> None:
    bad = {**gang(policy="Gnag"), "metadata": {"name": "bad"}}
    assert run("-f", write(bad, gang()), "--to", "gang") == 4
    out, err = capsys.readouterr()
    assert yaml.safe_load(out)["metadata"]["name"] == "train"
    assert "all.yaml, document 1, line 20: Gang default/bad: spec.policy: 'Gnag' is not one of Gang, Basic" in err


def test_a_dialect_that_nobody_knows_is_wrong_usage(write, capsys: Captured) -> None:
    assert run("-f", write(gang()), "--to", "volcano") == 2
    assert run("-f", write(gang())) == 2
    assert capsys.readouterr().out == ""


def test_nothing_to_convert_is_said(write, capsys: Captured) -> None:
    topology = {
        "apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology", "metadata": {"name": "t"},
        "spec": {"levels": [{"nodeLabel": "rack"}]},
    }  # fmt: skip
    assert run("-f", write(topology), "--to", "gang") == 1
    assert "nothing to convert" in capsys.readouterr().err
