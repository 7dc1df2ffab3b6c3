"""What each command says of the same files, in one form, so that they can be compared."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from phalanx.cli import main

Captured = pytest.CaptureFixture[str]
Name = tuple[str, str, str, str | None]  # kind, namespace, name, unit


@dataclass(frozen=True, slots=True)
class Answer:
    """``reason``: why it waits, or the messages of what is wrong with it. ``left_out``: pods without a place."""

    status: str
    reason: Any = None
    wanted: int | None = None
    left_out: int = 0
    where: Any = field(default=None, compare=False)


Answers = dict[Name, Answer]


def asked(capsys: Captured, *tokens: str) -> tuple[int, Any]:
    """The exit code of a command, and its JSON."""
    code = int(main.run((*tokens, "-o", "json")))
    out = capsys.readouterr().out
    return code, json.loads(out) if out else None


def placed(capsys: Captured, *files: str) -> tuple[int, Answers]:
    code, found = asked(capsys, "place", *files)
    return code, decisions(found["decisions"])


def checked(capsys: Captured, *files: str) -> tuple[int, Answers]:
    """``check`` has its problems apart from what fits."""
    code, found = asked(capsys, "check", *files)
    answers = decisions(found["fitsNow"])
    for one in found["problems"]:
        kind, _, rest = one["object"].partition(" ")
        name = (kind, *rest.split("/"), None)
        before = answers[name].reason if name in answers else ()
        answers[name] = Answer("Invalid", (*before, one["message"]))
    return code, answers


def explained(capsys: Captured, names: Iterable[Name], *files: str) -> tuple[int, Answers, set[Name]]:
    """Each by its own name; and which of them are handed to the scheduler."""
    worst, answers, ours = 0, {}, set[Name]()
    for kind, namespace, name in dict.fromkeys(one[:3] for one in names):
        code, found = asked(capsys, "explain", f"{kind.lower()}/{namespace}/{name}", *files)
        answers |= decisions(found["decisions"])
        ours |= {_name(one) for one in found["decisions"] if "queue" in one}
        worst = max(worst, code)
    return worst, answers, ours


def drawn(capsys: Captured, names: Iterable[Name], *files: str) -> int:
    """The worst exit code of ``tree``, which has no JSON."""
    codes = [int(main.run(("tree", "/".join(str(part) for part in one[:3]).lower(), *files))) for one in names]
    capsys.readouterr()
    return max(codes, default=0)


def listed(capsys: Captured, *files: str) -> Answers:
    """``get``: all that is handed over."""
    _, found = asked(capsys, "get", *files)
    return {_name(one): _gang(one) for one in found["gangs"]}


def queued(capsys: Captured, *files: str) -> Answers:
    """``queue``: who waits, if only for some of its pods, and who is wrong."""
    _, found = asked(capsys, "queue", *files)
    return {_name(one): _gang(one) for one in (*found["waiting"], *found["invalid"])}


def decisions(found: Iterable[Mapping[str, Any]]) -> Answers:
    answers: Answers = {}
    for one in found:
        reason = one["reason"] and one["reason"]["type"]
        wrong = tuple(problem["message"] for problem in one["problems"])
        where = (one["podSets"], one["domains"], one["levelReached"])
        left_out = sum(one["leftOut"].values())
        answers[_name(one)] = Answer(one["status"], reason or wrong or None, one["wanted"], left_out, where)
    return answers


def _name(one: Mapping[str, Any]) -> Name:
    return one["kind"], one["namespace"], one["name"], one["unit"]


def _gang(one: Mapping[str, Any]) -> Answer:
    """A line of ``get`` or ``queue``. Of one that has places it does not say how many have none; ``queue`` does."""
    status = {"Invalid": "Invalid", "Queued": "Waiting"}.get(one["state"], "Placed")
    reason = one["reason"] if status == "Waiting" else None
    wanted = one["pods"]["wanted"] if one["pods"] else None
    return Answer(status, reason, wanted, one.get("late", 0))
