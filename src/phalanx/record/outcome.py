"""What was decided, as a plain JSON value; and what differs between two decisions about one request."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from phalanx.model.decision import Decided, Internal, Invalid, Placed, Waiting
from phalanx.model.request import Request
from phalanx.record.form import BadRecord, built, expect
from phalanx.record.form import written as plain

RANKS_MAX = 20_000_000  # of one placement: a line must not fill the memory
SHOWN_MAX = 200  # characters of a value in a difference

_BY_STATUS: dict[str, type[Decided]] = {one.__name__: one for one in (Placed, Waiting, Invalid, Internal)}
_NOT_THE_ANSWER = ("work", "warnings")  # how it was found, and what was said beside it


def written(decision: Decided) -> dict[str, Any]:
    """The decision without its request. Ranks as runs: ``[["n1", 8], ["n2", 8]]`` for 16 of them."""
    found = {"status": type(decision).__name__, **plain(decision, leave=("request",))}
    if isinstance(decision, Placed) and decision.placement.ranks:
        found["placement"]["ranks"] = {name: _runs(nodes) for name, nodes in decision.placement.ranks.items()}
    return found


def _runs(nodes: tuple[str, ...]) -> list[list[Any]]:
    return [[node, sum(1 for _ in run)] for node, run in groupby(nodes)]


def read(found: Any, request: Request, path: str) -> Decided:
    """The decision about ``request`` that was written so."""
    expect(found, dict, "an object", path)
    status = found.get("status")
    if not isinstance(status, str) or status not in _BY_STATUS:
        raise BadRecord(f"{path}.status: expected one of {', '.join(_BY_STATUS)}")
    given = {} if status == "Invalid" else {"request": request}
    rest = {key: value for key, value in found.items() if key != "status"}
    if isinstance(placement := rest.get("placement"), dict) and "ranks" in placement:
        rest["placement"] = {**placement, "ranks": _unrolled(placement["ranks"], f"{path}.placement.ranks")}
    decision: Decided = built(_BY_STATUS[status], rest, path, **given)
    return decision


def _unrolled(found: Any, path: str) -> dict[str, list[str]]:
    """The node of each rank again."""
    expect(found, dict, "an object", path)
    runs = {name: built(tuple[tuple[str, int], ...], one, path) for name, one in found.items()}
    counts = [count for run in runs.values() for _, count in run]
    if min(counts, default=1) < 1 or sum(counts) > RANKS_MAX:
        raise BadRecord(f"{path}: runs of ranks are of 1 to {RANKS_MAX} in all")
    return {name: [node for node, count in run for _ in range(count)] for name, run in runs.items()}


# -- comparing ---------------------------------------------------------------------------------------------------


def differences(recorded: Decided, again: Decided) -> tuple[str, ...]:
    """Where two answers to one question differ: ``placement.podSets.workers: [["n1",2]] -> [["n2",2]]``.

    The work it took and the warnings are no part of the answer: a better search takes less.
    """
    return tuple(_differing(_answer(recorded), _answer(again), ""))


def _answer(decision: Decided) -> dict[str, Any]:
    return {key: value for key, value in written(decision).items() if key not in _NOT_THE_ANSWER}


def _differing(before: Any, after: Any, path: str) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _differing(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    else:
        yield f"{path}: {_shown(before)} -> {_shown(after)}"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."
