"""``phalanx check``: what is wrong with manifests, whether they would fit now, and what of them is not looked at."""

import json
from collections.abc import Sequence
from typing import Any

from phalanx.cli import files, placing, screen
from phalanx.cli.errors import Exit
from phalanx.cluster import Cluster, Decision, Decisions, Note

SCHEMA = "phalanx.dev/check/v1"


def run(sources: Sequence[str], output: str, namespace: str | None) -> int:
    docs = placing.in_namespace(files.load(sources), namespace)
    cluster = Cluster.from_manifests(docs)
    decisions = cluster.place(docs)
    problems = placing.own_problems(cluster, decisions)
    if output == "json":
        print(json.dumps(_document(cluster, decisions, problems), indent=2))
    else:
        _show(cluster, decisions, problems)
    return _exit_code(cluster, decisions, problems)


def _exit_code(cluster: Cluster, decisions: Decisions, problems: Sequence[Note]) -> Exit:
    """As for ``place``; without nodes nobody asked whether it fits, so nothing waits."""
    code = placing.exit_code(decisions, problems)
    return Exit.PLACED if code == Exit.WAITING and not cluster.snapshot.nodes else code


# -- what there is to say ----------------------------------------------------------------------------------------


def _wrong(decisions: Decisions, problems: Sequence[Note]) -> list[tuple[str, Note]]:
    """Problems with the object each is about; those of the cluster's own documents name it in their path."""
    of_workloads = [(_title(one), note) for one in decisions for note in one.problems]
    return [*(("", note) for note in problems), *of_workloads]


def _ignored(cluster: Cluster, decisions: Decisions) -> list[tuple[str, Note]]:
    of_workloads = dict.fromkeys((_whole(one), note) for one in decisions for note in one.warnings)
    return [*(("", note) for note in (*cluster.warnings, *decisions.warnings)), *of_workloads]


def _title(decision: Decision) -> str:
    unit = f" {decision.unit}" if decision.unit else ""
    return f"{decision.kind} {decision.namespace}/{decision.name}{unit}" if decision.kind else decision.name


def _whole(decision: Decision) -> str:
    """The workload; its units share what there is to say about it."""
    return f"{decision.kind} {decision.namespace}/{decision.name}"


def _fits(decision: Decision) -> str:
    answer = {"Placed": "yes", "Waiting": "no"}[decision.status]
    return f"{answer}: {decision.message.partition(': ')[2]}"


# -- as text -----------------------------------------------------------------------------------------------------


def _show(cluster: Cluster, decisions: Decisions, problems: Sequence[Note]) -> None:
    wrong, ignored = _wrong(decisions, problems), _ignored(cluster, decisions)
    _section("PROBLEMS", [line for title, note in wrong for line in _problem(title, note)] or ["none"])
    _section("FITS NOW", _answers(cluster, decisions))
    if ignored:
        _section("NOTED OR IGNORED", [_said(title, note) for title, note in ignored])


def _section(head: str, lines: list[str]) -> None:
    console = screen.out()
    console.print(screen.styled(head, "bold"))
    for line in lines:
        console.print(screen.styled(f"  {line}"))


def _problem(title: str, note: Note) -> list[str]:
    """Where and what, then the value as written, then what may stand there."""
    lines = [_said(title, note)]
    if note.value is not None:
        lines.append(f"  value: {note.value!r}")
    if note.allowed:
        lines.append(f"  allowed: {', '.join(note.allowed)}")
    return lines


def _said(title: str, note: Note) -> str:
    return f"{title}: {note}" if title else str(note)


def _answers(cluster: Cluster, decisions: Decisions) -> list[str]:
    valid = [one for one in decisions if one.status != "Invalid"]
    if not cluster.snapshot.nodes:
        return [f"not asked: no Node is given ({len(valid)} valid)"]
    return [f"{_title(one)}: {_fits(one)}" for one in valid] or ["nothing to place"]


# -- as JSON -----------------------------------------------------------------------------------------------------


def _document(cluster: Cluster, decisions: Decisions, problems: Sequence[Note]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "problems": [_as_dict(title, note) for title, note in _wrong(decisions, problems)],
        "fitsNow": [one.to_dict() for one in decisions if one.status != "Invalid" and cluster.snapshot.nodes],
        "ignored": [_as_dict(title, note) for title, note in _ignored(cluster, decisions)],
    }


def _as_dict(title: str, note: Note) -> dict[str, Any]:
    allowed = list(note.allowed)
    return {"object": title, "path": note.path, "value": note.value, "allowed": allowed, "message": note.message}
