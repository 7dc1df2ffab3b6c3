"""Decisions as JSON, in the shape that is promised."""

import json

from phalanx.engine import whatif
from phalanx.engine.decide import decide
from phalanx.explain import document
from phalanx.model.decision import Invalid, Placed, Waiting
from phalanx.model.problems import Problem
from phalanx.model.reasons import Closed, ClosedQueue, FullQuota, Reason, Why
from phalanx.model.resources import NANO
from tests.engine.asking import BLOCK, RACK, board, gang, group, pods, workers


def test_a_placed_gang_has_its_nodes_domains_and_levels() -> None:
    placed = decide(board("b1: r1=4,4"), gang(workers(8, RACK)))
    found = document.decision(placed)
    assert found | {"message": "..."} == {
        "kind": "Gang", "namespace": "default", "name": "train", "unit": None, "status": "Placed",
        "wanted": 8, "placed": 8, "leftOut": {},
        "podSets": {"workers": {"b1-r1-1": 4, "b1-r1-2": 4}}, "domains": {"workers": ["b1", "r1"]}, "ranks": {},
        "levelReached": {"workers": "rack"}, "proved": None, "evictions": [], "problems": [], "warnings": [],
        "message": "...", "reason": None, "waysOut": [], "mistake": None,
    }  # fmt: skip


def test_a_waiting_gang_has_its_reason_and_verified_ways_out() -> None:
    on = board("b1: r1=4 r2=3")
    waiting = decide(on, gang(workers(5, RACK)))
    assert isinstance(waiting, Waiting)
    found = document.decision(waiting, whatif.ways_out(on, waiting))
    assert (found["status"], found["proved"], found["podSets"]) == ("Waiting", True, {})
    promised = ("type", "group", "level", "needed", "best", "causes")
    assert [found["reason"][key] for key in promised] == [
        "TooLarge", "workers", "rack", 5, {"domain": ["b1", "r1"], "fits": 4}, []
    ]  # fmt: skip
    assert found["waysOut"][0] == {"change": "workers.topology.required: block", "verified": True}
    assert found["message"].startswith("waiting: ")


def test_a_wrong_manifest_has_its_problems() -> None:
    problem = Problem("metadata.x", "rak", ("zone", "rack"), "no such level")
    found = document.decision(Invalid("Job", "default", "typo", (problem,)))
    assert found["status"] == "Invalid"
    assert found["problems"] == [
        {
            "path": "metadata.x",
            "value": "rak",
            "allowed": ["zone", "rack"],
            "message": "no such level",
            "file": None,
            "document": None,
            "line": None,
        }
    ]


def test_the_document_names_its_schema_and_is_json() -> None:
    on = board("b1: r1=4")
    entries = [(decide(on, gang(workers(count, BLOCK))), ()) for count in (1, 9)]
    found = json.loads(json.dumps(document.decisions(entries)))
    assert found["schema"] == "phalanx.dev/decisions/v1"
    assert [one["status"] for one in found["decisions"]] == ["Placed", "Waiting"]


def test_a_root_that_only_ties_groups_together_is_not_shown() -> None:
    parts = (group("a", pods("a", 1)), group("b", pods("b", 1)))
    plain = decide(board("b1: r1=4"), gang(group("llm", *parts)))
    tied = decide(board("b1: r1=4"), gang(group("llm", *parts, required=BLOCK)))
    assert isinstance(plain, Placed) and isinstance(tied, Placed)
    assert document.decision(plain)["domains"].keys() == {"a", "b"}
    assert document.decision(tied)["domains"].keys() == {"llm", "a", "b"}


def test_a_queue_that_is_closed_stands_in_the_reason() -> None:  # K-017
    reason = Reason(Why.OVER_QUOTA, "w", "cluster", 4, queue=ClosedQueue("x", Closed.MISSING, ("a", "b")))
    found = json.loads(json.dumps(document.reason(reason)))
    assert found["queue"] == {"name": "x", "why": "missing", "known": ["a", "b"]}
    assert document.reason(Reason(Why.NO_ROOM, "w", "cluster", 4))["queue"] is None


def test_a_quota_that_is_full_stands_in_the_reason_with_its_figures() -> None:
    full = FullQuota("research", "h100", "memory", 2**36 * NANO, 1536 * 2**20 * NANO, 2**37 * NANO, ("a/b", "a/c"))
    found = json.loads(json.dumps(document.reason(Reason(Why.OVER_QUOTA, "w", "cluster", 4, quotas=(full,)))))
    assert found["quotas"] == [
        {"queue": "research", "flavor": "h100", "resource": "memory", "asked": "64Gi", "used": "1536Mi",
         "limit": "128Gi", "heldBy": ["a/b", "a/c"]}
    ]  # fmt: skip
    assert (found["queue"], found["ahead"], found["causes"]) == (None, None, [])


def test_who_is_ahead_stands_in_the_reason() -> None:
    found = document.reason(Reason(Why.BEHIND_OTHERS, "w", "cluster", 4, ahead="a/b"))
    assert (found["ahead"], found["quotas"]) == ("a/b", [])
