"""explain --apply N: the manifests with a suggestion in them, to be placed as they are printed."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from phalanx.cli import main
from tests.cli.living import living, pod, snapshot
from tests.cluster import docs
from tests.cluster.test_suggestions import around, racks
from tests.properties import asked_in_dialects as asking
from tests.properties.asked_in_dialects import Doc

Captured = pytest.CaptureFixture[str]
Write = Callable[..., str]


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def listed(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


@pytest.mark.parametrize("given", [asking.gang(around(True)), asking.job_of_kueue(around(False))])
def test_the_manifest_is_printed_with_the_suggestion_in_it_and_is_placed(
    given: list[Doc], write: Write, capsys: Captured
) -> None:
    cluster, file = write(*racks(), name="cluster.yaml"), write(*given, name="work.yaml")
    assert run("explain", "w", "-f", cluster, "-f", file, "--apply", "1") == 0
    printed = listed(capsys.readouterr().out)
    assert [one["kind"] for one in printed] == [one["kind"] for one in given] and printed != given
    assert run("place", "-f", cluster, "-f", write(*printed, name="changed.yaml")) == 0


def test_all_documents_of_the_workload_are_printed_and_no_others(write: Write, capsys: Captured) -> None:
    other = {**asking.gang(around(True))[0], "metadata": {"name": "other"}}
    file = write(*racks(), *asking.podgroup(around(True)), other)
    assert run("explain", "podgroup/w", "-f", file, "--apply", "1") == 0
    printed = listed(capsys.readouterr().out)
    assert [(one["kind"], one["metadata"]["name"]) for one in printed] == [("PodGroup", "w"), ("Job", "j")]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("0", "error: there is no suggestion 0: there are 4"),
        ("9", "error: there is no suggestion 9: there are 4"),
        ("4", "error: suggestion 4 is no change of a manifest: add 1 node like n11"),
    ],
)
def test_what_is_no_suggestion_for_a_manifest_is_an_error(
    number: str, said: str, write: Write, capsys: Captured
) -> None:
    file = write(*racks(), *asking.gang(around(True)))
    assert run("explain", "w", "-f", file, f"--apply={number}") == 1
    assert capsys.readouterr() == ("", f"{said}\n")


def test_a_workload_that_is_placed_has_no_suggestion(write: Write, capsys: Captured) -> None:
    file = write(*racks(), *asking.gang(asking.Wish(2, 8, "rack", True)))
    assert run("explain", "w", "-f", file, "--apply", "1") == 1
    assert capsys.readouterr().err == "error: there is no suggestion 1: there is none\n"


def test_manifests_and_answers_are_not_printed_together(write: Write, capsys: Captured) -> None:
    file = write(*racks(), *asking.gang(around(True)))
    assert run("explain", "w", "-f", file, "--apply", "1", "-o", "json") == 2
    assert "--apply prints manifests" in capsys.readouterr().err


def test_an_object_of_a_cluster_is_printed_as_one_hands_it_to_a_server(write: Write, capsys: Captured) -> None:
    big = living(docs.gang("big", docs.workers(3)))
    everything = [*docs.cluster(), {**big, "status": {"conditions": []}}, *(pod("big", i) for i in range(3))]
    assert run("explain", "gang/big", "-A", "-f", write(snapshot(*everything)), "--apply", "1") == 0
    (printed,) = listed(capsys.readouterr().out)
    assert printed["kind"] == "Gang" and "status" not in printed and "uid" not in printed["metadata"]
    assert printed["spec"]["podGroups"][0]["topology"] == {"required": "block"}
