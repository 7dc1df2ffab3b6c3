"""What goes wrong about one workload stays with it: it is Internal, all others are answered, and the exit code is 1.

Mistakes are planted: whoever is called ``trips`` makes the code raise where it is read, decided, helped or told of.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from phalanx import Cluster, suggestions
from phalanx.cli import main
from phalanx.dialects import readers
from phalanx.engine import whatif
from phalanx.engine.board import Board
from phalanx.explain import text
from phalanx.kube import status
from phalanx.place import solve
from tests.cli.living import living, pod, snapshot
from tests.cluster import docs

Captured = pytest.CaptureFixture[str]
Plant = Callable[..., None]

PLANTED = "KeyError: 'planted'"
CLUSTER = docs.cluster()
NAMES = ("first", "trips", "last")
THREE = [docs.gang(name) for name in NAMES]
LIVING = [*map(living, THREE), *(pod(name, number) for name in NAMES for number in (0, 1))]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Makes a function raise where the workload it is about is called ``trips``."""

    def planted(owner: Any, name: str, called: Callable[..., str]) -> None:
        whole = getattr(owner, name)

        def trips(*args: Any, **more: Any) -> Any:
            if called(*args) == "trips":
                raise KeyError("planted")
            return whole(*args, **more)

        monkeypatch.setattr(owner, name, trips)

    return planted


@pytest.fixture
def mistake_in_deciding(plant: Plant) -> None:
    plant(solve, "place", lambda draft, request, *_: request.name)


@pytest.fixture
def mistake_in_helping(plant: Plant) -> None:
    plant(whatif, "ways_out", lambda board, waiting, *_: waiting.request.name)


@pytest.fixture
def mistake_in_suggesting(plant: Plant) -> None:
    plant(suggestions, "in_manifests", lambda pile, board, waiting, *_: waiting.request.name)


@pytest.fixture
def mistake_in_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = ("phalanx.dev", "Gang")
    whole = readers.ALL[kind]

    def trips(at: Any, around: Any) -> Any:
        if at.at("metadata", "name").value == "trips":
            raise KeyError("planted")
        return whole(at, around)

    monkeypatch.setattr(readers, "ALL", {**readers.ALL, kind: trips})


@pytest.fixture
def mistake_in_telling(plant: Plant) -> None:
    for name in ("line", "full"):
        plant(text, name, lambda one, *_: "" if one.__class__.__name__ == "Internal" else one.request.name)
    plant(status, "_cause", lambda view: view.name)


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def asked(capsys: Captured, *tokens: str) -> tuple[int, Any]:
    code = run(*tokens, "-o", "json")
    return code, json.loads(capsys.readouterr().out)


def statuses(found: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    return ((one["name"], one["status"]) for one in found)


OTHERS_PLACED = [("first", "Placed"), ("trips", "Internal"), ("last", "Placed")]
EVERYWHERE = ("mistake_in_deciding", "mistake_in_reading", "mistake_in_telling")
everywhere = pytest.mark.parametrize("where", EVERYWHERE)


@everywhere
def test_place_answers_all_others(where: str, request: Any, write: Any, capsys: Captured) -> None:
    request.getfixturevalue(where)
    code, found = asked(capsys, "place", "-f", write(*CLUSTER, *THREE))
    assert code == 1
    assert [*statuses(found["decisions"])] == OTHERS_PLACED
    mistake = found["decisions"][1]["mistake"]
    assert (
        mistake["error"] == PLANTED and mistake["traceback"].startswith("Traceback") and PLANTED in mistake["traceback"]
    )
    assert [one["mistake"] for one in found["decisions"][::2]] == [None, None]


@everywhere
def test_its_text_says_what_to_send_us(where: str, request: Any, write: Any, capsys: Captured) -> None:
    request.getfixturevalue(where)
    assert run("place", "-f", write(*CLUSTER, docs.gang("trips", docs.workers(3)))) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "serving/trips Internal" in out and PLANTED in out and "a mistake of Phalanx" in out
    assert ("--record" in out) == (where != "mistake_in_reading") and "SEND US" in out


def test_it_wins_over_all_other_exit_codes(mistake_in_deciding: None, write: Any, capsys: Captured) -> None:
    wrong, waits = docs.gang("wrong", docs.workers("many")), docs.gang("waits", docs.workers(99))
    code, found = asked(capsys, "place", "-f", write(*CLUSTER, wrong, waits, docs.gang("trips")))
    assert code == 1
    assert [one["status"] for one in found["decisions"]] == ["Invalid", "Waiting", "Internal"]


@everywhere
def test_check_answers_all_others(where: str, request: Any, write: Any, capsys: Captured) -> None:
    request.getfixturevalue(where)
    code, found = asked(capsys, "check", "-f", write(*CLUSTER, *THREE))
    assert code == 1 and [*statuses(found["fitsNow"])] == OTHERS_PLACED
    assert run("check", "-f", write(*CLUSTER, *THREE)) == 1
    assert "Gang serving/trips: nobody knows: " in capsys.readouterr().out


@everywhere
@pytest.mark.parametrize("given", [THREE, LIVING], ids=["manifests", "objects of a cluster"])
def test_explain_says_so_of_the_one_and_answers_for_the_other(
    where: str, given: list[docs.Doc], request: Any, write: Any, capsys: Captured
) -> None:
    request.getfixturevalue(where)
    files = write(snapshot(*CLUSTER, *given))
    code, found = asked(capsys, "explain", "serving/trips", "-f", files)
    assert (code, [*statuses(found["decisions"])]) == (1, [("trips", "Internal")])
    assert found["decisions"][0]["mistake"]["error"] == PLANTED
    assert found["decisions"][0]["state"] == "Internal"
    assert run("explain", "serving/trips", "-f", files) == 1
    assert "Gang serving/trips: Internal" in capsys.readouterr().out
    _, found = asked(capsys, "explain", "serving/last", "-f", files)
    assert [*statuses(found["decisions"])] == [("last", "Placed")]


@everywhere
def test_get_and_queue_list_it_among_the_others(where: str, request: Any, write: Any, capsys: Captured) -> None:
    request.getfixturevalue(where)
    files = write(*CLUSTER, *THREE)
    code, found = asked(capsys, "get", "-f", files)
    assert code == 1
    assert {one["name"]: one["state"] == "Internal" for one in found["gangs"]} == {
        "first": False,
        "trips": True,
        "last": False,
    }
    code, found = asked(capsys, "queue", "-f", files)
    assert code == 1
    (told,) = [one for one in (*found["waiting"], *found["invalid"]) if one["name"] == "trips"]
    assert PLANTED in told["message"]
    for command in ("get", "queue"):
        assert run(command, "-f", files) == 1
        assert "serving/trips" in capsys.readouterr().out


def test_tree_says_so(mistake_in_deciding: None, write: Any, capsys: Captured) -> None:
    assert run("tree", "serving/trips", "-f", write(*CLUSTER, *THREE)) == 1
    assert "Gang serving/trips: Internal" in capsys.readouterr().out
    assert run("tree", "serving/last", "-f", write(*CLUSTER, *THREE)) == 0


@pytest.mark.parametrize("where", ["mistake_in_helping", "mistake_in_suggesting"])
def test_what_help_trips_over_leaves_the_answer(where: str, request: Any, write: Any, capsys: Captured) -> None:
    request.getfixturevalue(where)
    files = write(*CLUSTER, docs.gang("trips", docs.workers(3)), docs.gang("waits", docs.workers(3)))
    code, found = asked(capsys, "place", "-f", files)
    assert (code, [one["status"] for one in found["decisions"]]) == (3, ["Waiting", "Waiting"])
    trips, waits = found["decisions"]
    assert trips["reason"] == {**waits["reason"]} and waits["waysOut"] and not trips["waysOut"]
    (warning,) = trips["warnings"]
    assert "what would help could not be looked for" in warning["message"] and PLANTED in warning["message"]
    code, found = asked(capsys, "explain", "serving/trips", "-f", files)
    assert (code, found["decisions"][0]["status"], len(found["decisions"][0]["warnings"])) == (3, "Waiting", 1)


def test_who_waits_beside_one_that_cannot_be_read_is_told_what_would_help(
    mistake_in_reading: None, write: Any, capsys: Captured
) -> None:
    code, found = asked(capsys, "place", "-f", write(*CLUSTER, docs.gang("trips"), docs.gang("waits", docs.workers(3))))
    waits = found["decisions"][1]
    assert (code, waits["status"], bool(waits["waysOut"]), waits["warnings"]) == (1, "Waiting", True, [])


def test_its_record_can_be_made_and_decided_again(
    mistake_in_deciding: None, write: Any, tmp_path: Any, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = str(tmp_path / "mistake.jsonl")
    assert run("place", "-f", write(*CLUSTER, *THREE), "--record", record) == 1
    capsys.readouterr()
    assert run("replay", record) == 1
    out = capsys.readouterr().out
    assert out.count(": same") == 2 and f"no answer: {PLANTED}" in out
    monkeypatch.undo()
    assert run("replay", record) == 1
    assert 'status: "Internal" -> "Placed"' in capsys.readouterr().out


# -- what once went wrong ----------------------------------------------------------------------------------------

SLICED = {
    "name": "w", "count": 16, "slices": [{"level": "host", "size": 8}], "template": docs.template(1),
    "topology": {"spread": {"level": "rack", "maxPerDomain": 12}},
}  # fmt: skip
RANKED = [
    {"name": "a", "count": 2, "rank": {}, "template": docs.template(1)},
    {"name": "b", "count": 2, "rank": {"withSameRankOf": "a", "level": "host"}, "template": docs.template(1)},
]


def test_valid_gangs_that_once_ended_the_command_are_placed_without_assertions_too(write: Any) -> None:
    """At most 12 in a rack of slices of 8 are 8; groups that are independent have no ranks to share."""
    files = write(*CLUSTER, docs.gang("sliced", SLICED), docs.gang("ranked", *RANKED, policy="Basic"))
    script = ["-O", "-c", "from phalanx.cli.main import main; main()", "place", "-f", files, "-o", "json"]
    done = subprocess.run([sys.executable, *script], check=False, capture_output=True)
    sliced, *ranked = json.loads(done.stdout)["decisions"]
    assert done.returncode == 0 and sorted(sliced["podSets"]["w"].values()) == [8, 8]
    assert len({node.rpartition("-")[0] for node in sliced["podSets"]["w"]}) == 2
    assert [(one["unit"], one["status"]) for one in ranked] == [("a", "Placed"), ("b", "Placed")]


# -- from Python -------------------------------------------------------------------------------------------------


def test_from_python_it_is_a_decision_like_others(mistake_in_deciding: None) -> None:
    cluster = Cluster.from_manifests(CLUSTER)
    first, trips, last = cluster.place(THREE)
    assert (first.status, trips.status, last.status) == ("Placed", "Internal", "Placed")
    assert trips.mistake is not None and trips.mistake.line == PLANTED and first.mistake is None
    assert (trips.id, trips.kind, trips.reason, trips.problems, trips.placed) == ("serving/trips", "Gang", None, (), 0)
    cluster.commit([first, trips, last])
    assert "serving/last" in repr(last) and "internal" in repr(trips)


def test_nothing_stays_half_done(plant: Plant) -> None:
    """It raised with pods taken: those who come after find the room as it was."""
    whole = solve.Search.best

    def best(search: Any) -> Any:
        if search.request.name == "trips":
            search.draft.free[:] = 0
            raise KeyError("planted")
        return whole(search)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(solve.Search, "best", best)
        _, trips, last = Cluster.from_manifests(CLUSTER).place(THREE)
    assert (trips.status, last.status) == ("Internal", "Placed")


@pytest.mark.parametrize("method", ["commit", "release"])
def test_room_that_cannot_be_taken_or_given_back_is_as_it_was(method: str, plant: Plant) -> None:
    """A mistake while the board changes: who is decided next, and who asks next, find the room that there is."""
    plant(Board, method, lambda board, one: one.request.name if method == "commit" else one.partition("/")[2])
    cluster = Cluster.from_manifests(CLUSTER)
    before = cluster.snapshot
    found = cluster.place(THREE)
    assert [one.status for one in found] == ["Placed", "Internal" if method == "commit" else "Placed", "Placed"]
    assert cluster.snapshot == before and [*cluster.place([docs.gang("next")])[0].pod_sets] == ["workers"]


def test_pods_of_one_that_cannot_be_read_are_not_placed_without_it(mistake_in_reading: None) -> None:
    labels = {"phalanx.dev/gang": "trips", "phalanx.dev/group": "workers"}
    template = docs.template()
    member = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trips-0", "namespace": "serving", "labels": labels},
        "spec": template["spec"],
    }  # fmt: skip
    found = Cluster.from_manifests(CLUSTER).place([member, *THREE])
    assert [(one.kind, one.name, one.status) for one in found] == [
        ("Gang", "first", "Placed"), ("Gang", "trips", "Internal"), ("Gang", "last", "Placed")
    ]  # fmt: skip
