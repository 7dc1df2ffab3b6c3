"""One decision as one line: everything it looked at, what was asked, and the answer."""

import json
from dataclasses import dataclass
from typing import Any

from phalanx.model.decision import Decided, Invalid
from phalanx.model.mistakes import Mistake
from phalanx.model.policy import Policy
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.record import outcome, pods
from phalanx.record.form import BadRecord, built, expect
from phalanx.record.form import written as plain

SCHEMA = "phalanx.dev/record/v1"
_KEYS = {"schema", "version", "snapshot", "request", "policy", "decision"}


@dataclass(frozen=True, slots=True)
class Record:
    """A decision and all it takes to decide again. ``version``: of the Phalanx that decided, where it was told."""

    snapshot: Snapshot
    request: Request
    policy: Policy
    decision: Decided
    version: str


def written(snapshot: Snapshot, request: Request, policy: Policy, decision: Decided, *, version: str = "") -> str:
    """The line, without its end: ASCII, keys sorted, so that equal decisions are equal bytes.

    ``version`` is for the doors to say: a room this low does not know what it is part of.
    """
    if not isinstance(decision, Invalid) and decision.request != request:
        raise Mistake("an answer to another question")
    picture = plain(snapshot, leave=("pods",))
    body = {
        "schema": SCHEMA,
        "version": version,
        "snapshot": {**picture, "pods": pods.written(snapshot.pods)},
        "request": plain(request),
        "policy": plain(policy),
        "decision": outcome.written(decision),
    }
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read(line: str) -> Record:
    """The record in a line. BadRecord, with the reason, when there is none in it that this version understands."""
    try:
        return _record(_parsed(line))
    except RecursionError:
        raise BadRecord("nested too deep") from None


def _parsed(line: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise BadRecord(f"not JSON: {error}") from None
    expect(found, dict, "an object", "the line")
    if found.get("schema") != SCHEMA:
        raise BadRecord(f"schema: expected {SCHEMA}, found {str(found.get('schema'))[:80]!r}")
    if found.keys() != _KEYS:
        raise BadRecord(f"missing or not known: {', '.join(sorted(found.keys() ^ _KEYS))[:200]}")
    return found


def _record(found: dict[str, Any]) -> Record:
    expect(found["snapshot"], dict, "an object", "snapshot")
    picture = dict(found["snapshot"])
    running = pods.read(picture.pop("pods", None), "snapshot.pods")
    request = built(Request, found["request"], "request")
    return Record(
        built(Snapshot, picture, "snapshot", pods=running),
        request,
        built(Policy, found["policy"], "policy"),
        outcome.read(found["decision"], request, "decision"),
        built(str, found["version"], "version"),
    )
