"""What is wrong is told with file, document and line, by every command alike."""

import io
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.cli import main, marks
from phalanx.cli.files import load
from phalanx.cli.places import Places
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Place, Problem
from tests.dialects.test_any_document import GOOD, places, spoiled

Captured = pytest.CaptureFixture[str]

NODE = """\
# one node
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
TRAIN = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations:
    phalanx.dev/topology-required: rak
spec:
  parallelism: four
  template:
    spec:
      schedulerName: phalanx
      containers: [{name: c, resources: {requests: {cpu: 1}}}]
"""
LISTED = """\
apiVersion: v1
kind: List
items:
- apiVersion: batch/v1
  kind: Job
  metadata: {name: train}
  spec:
    parallelism: four
    template: {spec: {schedulerName: phalanx, containers: [{name: c}]}}
"""
COUNT, LEVEL = "train.yaml, document 2, line 15", "train.yaml, document 2, line 13"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(f"{NODE}---\n---\n{TRAIN}")
    return tmp_path


def said(capsys: Captured, *tokens: str) -> str:
    """Everything that was printed, with one space between words."""
    main.run(tokens)
    return " ".join(" ".join(capsys.readouterr()).split())


@pytest.mark.parametrize(
    "tokens",
    [
        ("place",), ("place", "-o", "wide"), ("check",), ("explain", "train"), ("get", "-o", "wide"), ("queue",),
        ("tree", "train"), ("convert", "--to", "gang"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_names_file_document_and_line(here: Path, capsys: Captured, tokens: tuple[str, ...]) -> None:
    found = said(capsys, *tokens, "-f", "train.yaml")
    assert f"{COUNT}: " in found and (f"{LEVEL}: " in found or tokens[0] == "convert")  # it guesses levels
    assert "'four' is not a whole number" in found


@pytest.mark.parametrize(
    ("tokens", "way"),
    [
        (("place",), ("decisions", 0, "problems")), (("check",), ("problems",)),
        (("explain", "train"), ("decisions", 0, "problems")),
    ],
)  # fmt: skip
def test_in_json_they_are_fields(here: Path, capsys: Captured, tokens: tuple[str, ...], way: tuple[Any, ...]) -> None:
    main.run((*tokens, "-f", "train.yaml", "-o", "json"))
    found = json.loads(capsys.readouterr().out)
    for key in way:
        found = found[key]
    told = [(one["file"], one["document"], one["line"]) for one in found]
    assert told == [("train.yaml", 2, 15), ("train.yaml", 2, 13)]


def test_a_field_of_a_list_has_the_line_in_the_list(here: Path, capsys: Captured) -> None:
    (here / "list.yaml").write_text(LISTED)
    assert "list.yaml, document 1, line 8: spec.parallelism: " in said(capsys, "place", "-f", "list.yaml")


def test_json_has_lines_too(here: Path, capsys: Captured) -> None:
    doc = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": {"parallelism": "four"}}
    (here / "train.json").write_text(json.dumps(doc, indent=1))
    assert "train.json, document 1, line 8: spec.parallelism: " in said(capsys, "place", "-f", "train.json")


def test_what_comes_from_standard_input_says_so(here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRAIN.encode())))
    assert "standard input, document 1, line 8: spec.parallelism: " in said(capsys, "place", "-f", "-")


def test_files_of_a_folder_are_named_one_by_one(here: Path, capsys: Captured) -> None:
    (here / "all").mkdir()
    (here / "all" / "a.yaml").write_text(NODE)
    (here / "all" / "b.yaml").write_text(TRAIN)
    assert "all/b.yaml, document 1, line 8: spec.parallelism: " in said(capsys, "place", "-f", "all")


def test_what_is_wrong_with_a_node_has_its_place(here: Path, capsys: Captured) -> None:
    (here / "nodes.yaml").write_text(f"{TRAIN}---\n{NODE.replace('8Gi', '8GB')}")
    for tokens in (("place",), ("check",), ("tree",), ("convert", "--to", "gang")):
        assert "nodes.yaml, document 2, line 18: Node/n1: status" in said(capsys, *tokens, "-f", "nodes.yaml")
    assert "nodes.yaml, document 2, line 18: Node/n1" in said(capsys, "simulate", "--cluster", "nodes.yaml")


def test_of_a_document_nobody_knows_the_place_is_its_name(here: Path, capsys: Captured) -> None:
    (here / "odd.yaml").write_text(f"{TRAIN}---\nname: nothing\n")
    found = said(capsys, "place", "-f", "odd.yaml")
    assert " odd.yaml, document 2: Invalid PROBLEM odd.yaml, document 2, line 14: kind: " in found
    assert "odd.yaml, document 2, line 14: kind: " in said(capsys, "check", "-f", "odd.yaml")
    assert "documents[" not in found


def test_text_that_cannot_be_read_is_counted_alike(here: Path, capsys: Captured) -> None:
    (here / "odd.yaml").write_text(f"{NODE}---\na: 1\na: 2\n")
    assert "odd.yaml, document 2, line 8: the key 'a' stands twice" in said(capsys, "place", "-f", "odd.yaml")


def test_the_last_of_two_that_have_one_name_is_meant(here: Path) -> None:
    (here / "twice.yaml").write_text(f"{TRAIN}---\n{TRAIN}")
    places = Places(load(["twice.yaml"]))
    found = places.problem(Problem("metadata.name", "train", (), "is given twice"), "Job default/train")
    assert found.place == Place("twice.yaml", 2, 17)


def test_of_two_that_have_one_name_the_one_with_that_value_is_meant(here: Path) -> None:
    (here / "twice.yaml").write_text(f"{TRAIN}---\n{TRAIN.replace('four', '4')}")
    found = Places(load(["twice.yaml"])).problem(Problem("spec.parallelism", "four", (), "?"), "Job default/train")
    assert found.place == Place("twice.yaml", 1, 8)


def test_a_field_that_is_told_on_another_object_has_its_own_place(here: Path) -> None:
    key = ObjectKey("", "Node", "default", "n1")
    found = Places(load(["train.yaml"])).problem(Problem("metadata.labels", None, (), "?", key), "Job default/train")
    assert found.place == Place("train.yaml", 1, 4) and str(found).endswith(": Node/n1: metadata.labels: ?")


def test_a_field_that_is_merged_in_has_the_line_where_it_is_written(here: Path) -> None:
    (here / "m.yaml").write_text("base: &b\n  parallelism: four\nkind: Job\nspec:\n  <<: *b\n")
    root = marks.root((here / "m.yaml").read_text())
    assert root is not None and marks.line(root, ("spec", "parallelism")) == 1


def test_of_a_text_that_is_too_long_no_line_is_looked_for(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    monkeypatch.setattr(marks, "SIZE_MAX", 10)
    found = Places(load(["train.yaml"])).problem(Problem("spec", None, (), "?"), "Job default/train")
    assert found.place == Place("train.yaml", 2) and str(found.place) == "train.yaml, document 2"


def test_what_came_from_no_file_has_no_place() -> None:
    problem = Problem("spec", None, (), "?")
    assert Places().problem(problem, "Job default/train") is problem
    assert Places([{"kind": "Job", "metadata": {"name": "train"}}]).problem(problem, "Job default/train") is problem


MPI = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: mpi
  annotations:
    phalanx.dev/topology-required: host
spec:
  launcherCreationPolicy: WaitForWorkersReady
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: c}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: c}]}}}
"""


def test_no_path_is_of_a_document_that_nobody_wrote(here: Path, capsys: Captured) -> None:
    (here / "mpi.yaml").write_text(MPI)
    found = said(capsys, "place", "-f", "mpi.yaml")
    place = "mpi.yaml, document 1, line 6: metadata.annotations['phalanx.dev/topology-required']: "
    assert f"{place}with policy Basic" in found and "as a Gang" not in found


# -- manifests with one thing spoiled ----------------------------------------------------------------------------

KEYS = re.compile(r"(?<=\[')[^']+|[A-Za-z][A-Za-z0-9_-]*")
VALUES: tuple[Any, ...] = (None, True, -3, 2**40, "x", "", [], {}, {"a": 1}, ["b"], 0.5, "1Gi")


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_spoiled_is_told_with_its_place(seed: int, here: Path, capsys: Captured) -> None:
    chance = random.Random(seed)
    doc = chance.choice(GOOD)
    wrong = spoiled(doc, chance.choice(places(doc)[1:]), chance.choice(VALUES))
    text = yaml.safe_dump_all([chance.choice(GOOD), wrong])
    (here / "all.yaml").write_text(text)
    main.run(("check", "-f", "all.yaml", "-o", "json"))
    found = json.loads(capsys.readouterr().out)
    for one in (*found["problems"], *found["ignored"]):
        assert (one["file"], one["document"] in (1, 2)) == ("all.yaml", True)
        line = text.splitlines()[one["line"] - 1]
        keys = KEYS.findall(one["path"])
        is_written = keys and f"{keys[-1]}:" in text and not re.search(r"\[[0-9]+\]$", one["path"])
        assert not is_written or f"{keys[-1]}:" in line or one["value"] is None, "the line is that of the field"
