"""Our own trace, as a table or as one JSON object per line.

Columns of the table, and names of the short JSON form; all but ``at`` and ``duration`` may be left out::

    at,duration,pods,gpus,cpu,memory,required,preferred,queue,priority,namespace,name

gpus, cpu and memory are per pod; ``required`` and ``preferred`` name levels of the cluster's topology. A JSON object
may bring a manifest of any dialect instead: ``{"at": 30, "duration": 600, "manifest": {"kind": "Job", ...}}``, or a
list of them that belong together as ``manifests``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from phalanx.dialects import reading
from phalanx.model.decision import Invalid
from phalanx.model.nodes import PodShape
from phalanx.model.problems import Problem, shown
from phalanx.model.queues import DEFAULT
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.sim.rows import BadRow, Row, table
from phalanx.sim.submission import Submission
from phalanx.sim.traces.asking import GPU, Asking

COLUMNS = (
    "at", "duration", "pods", "gpus", "cpu", "memory", "required", "preferred", "queue", "priority", "namespace", "name"
)  # fmt: skip
_WHOLE = ("manifest", "manifests")


def read(lines: Iterable[str], asking: Asking) -> list[Submission]:
    """In order of time; the clock of the trace is kept. Lines that begin with a brace are JSON."""
    given = list(lines)
    first = next((line for line in given if line.strip()), "")
    found = list(_objects(given, asking) if first.lstrip().startswith("{") else _rows(given, asking))
    _once(found)
    return sorted((one for _, one in found), key=lambda one: one.at)


def _once(found: list[tuple[int, Submission]]) -> None:
    seen: dict[str, int] = {}
    for line, one in found:
        if (before := seen.setdefault(one.request.id, line)) != line:
            raise BadRow(line, f"{one.request.id} is submitted in line {before} already")


def _rows(lines: list[str], asking: Asking) -> Iterator[tuple[int, Submission]]:
    for row in table(lines, ("at", "duration")):
        yield row.line, _short(row, asking)


def _objects(lines: list[str], asking: Asking) -> Iterator[tuple[int, Submission]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            doc = _decoded(number, line)
            row = Row(number, {key: str(value) for key, value in doc.items() if key not in _WHOLE})
            made = _whole(row, doc, asking) if any(key in doc for key in _WHOLE) else [_short(row, asking)]
            yield from ((number, one) for one in made)


def _decoded(number: int, line: str) -> dict[str, Any]:
    try:
        doc = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRow(number, f"is no JSON object: {error}") from None
    if not isinstance(doc, dict):
        raise BadRow(number, "is no JSON object")
    return doc


# -- the short form ----------------------------------------------------------------------------------------------


def _short(row: Row, asking: Asking) -> Submission:
    unknown = [name for name in row.values if name not in COLUMNS]
    if unknown:
        raise BadRow(row.line, f"{shown(unknown[0])!r} is not known; there are {', '.join(COLUMNS)}")
    count = row.whole("pods", 1, least=1)
    pods = PodSet("worker", count, count, PodShape(_requests(row)))
    required, preferred = _level(row, "required", asking), _level(row, "preferred", asking)
    root = Group("job", (pods,), required=required, preferred=preferred)
    request = Request(
        "Job", row.text("namespace", "default"), row.text("name", f"job-{row.line}"), root,
        topology=asking.topology, queue=row.text("queue", DEFAULT), priority=row.whole("priority", 0),
    )  # fmt: skip
    return Submission(row.number("at"), request, row.number("duration"))


def _requests(row: Row) -> Resources:
    amounts = {GPU: row.quantity("gpus", "0"), "cpu": row.quantity("cpu", "0"), "memory": row.quantity("memory", "0")}
    return Resources.of({**amounts, PODS: NANO})


def _level(row: Row, name: str, asking: Asking) -> int | None:
    text = row.text(name, "")
    topology = asking.site.topology
    if not text:
        return None
    if topology is None:
        raise row.wrong(name, "the cluster has no topology")
    number = topology.level_number(text, name)
    if isinstance(number, Problem):
        raise row.wrong(name, number.message)
    return number


# -- manifests ---------------------------------------------------------------------------------------------------


def _whole(row: Row, doc: dict[str, Any], asking: Asking) -> list[Submission]:
    """One submission for each unit that the manifests ask for."""
    docs = doc["manifests"] if "manifests" in doc else [doc["manifest"]]
    if not isinstance(docs, list):
        raise row.wrong("manifests", "is not a list")
    found = reading.read_workloads(docs, asking.site.surroundings, asking.site.snapshot)
    problems = [note for one in found.items if isinstance(one, Invalid) for note in one.problems] + [*found.problems]
    if problems:
        raise BadRow(row.line, f"{problems[0].path}: {problems[0].message}")
    if not found.requests:
        raise BadRow(row.line, "asks for no pods")
    at, duration = row.number("at"), row.number("duration")
    return [Submission(at, _there(request), duration) for request in found.requests]


def _there(request: Request) -> Request:
    """The request as one whose pods are all made and bound by us: a trace asks who starts when and where, and not
    how the start is enforced."""
    return replace(request, missing=(), suspended=False, rules=replace(request.rules, enforcement="Bind"))
