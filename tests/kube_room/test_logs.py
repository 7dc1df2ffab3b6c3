"""Lines of the log: one for each thing worth telling, without secrets, in two forms."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from phalanx.engine.lifecycle import Cause, State
from phalanx.kube import logs
from phalanx.kube.configuration.parts import Logs
from phalanx.model.decision import Invalid, Waiting
from phalanx.model.effects import Report
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, Why
from phalanx.model.request import Group, Request


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    logging.root.handlers.clear()
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


def told(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def reason(why: Why, needed: int = 4) -> Reason:
    return Reason(why, "workers", "rack", needed)


# -- form ------------------------------------------------------------------------------------------------------------


def test_a_machine_gets_one_json_object_a_line() -> None:
    stream = io.StringIO()
    logs.start(Logs(), stream).info("watching", kinds=3)
    [line] = told(stream)
    assert (line["level"], line["event"], line["kinds"]) == ("info", "watching", 3)
    assert line["timestamp"].endswith("Z")


def test_a_terminal_gets_text() -> None:
    stream = Terminal()
    logs.start(Logs(), stream).info("watching", kinds=3, note="two words")
    assert stream.getvalue().endswith('Z info     watching  kinds=3 note="two words"\n')


@pytest.mark.parametrize(("form", "stream", "is_json"), [("json", Terminal(), True), ("text", io.StringIO(), False)])
def test_the_form_can_be_chosen(form: Any, stream: io.StringIO, is_json: bool) -> None:
    logs.start(Logs(format=form), stream).warning("x")
    assert stream.getvalue().startswith("{") is is_json


def test_lines_below_the_level_are_left_out() -> None:
    stream = io.StringIO()
    logger = logs.start(Logs(level="warning"), stream)
    logger.info("no")
    logger.warning("yes")
    assert [line["event"] for line in told(stream)] == ["yes"]


def test_no_value_can_forge_a_line_or_move_the_cursor() -> None:
    stream = Terminal()
    logs.start(Logs(), stream).info("gang\n2026 error", name="a\n2026 error x", other="\x1b[2J", deep={"k": "\r\n"})
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_a_traceback_is_told_whole() -> None:
    for stream in (Terminal(), io.StringIO()):
        logger = logs.start(Logs(), stream)
        try:
            raise KeyError("lost")
        except KeyError:
            logger.exception("step failed")
        assert "KeyError: 'lost'" in stream.getvalue()


def test_libraries_log_into_the_same_lines_and_only_what_matters() -> None:
    stream = io.StringIO()
    logs.start(Logs(), stream)
    logging.getLogger("asyncio").error("Task exception was never %s", "retrieved")
    logging.getLogger("asyncio").info("not worth a line")
    [line] = told(stream)
    assert (line["event"], line["logger"]) == ("Task exception was never retrieved", "asyncio")


def test_starting_twice_does_not_tell_twice() -> None:
    logs.start(Logs(), io.StringIO())
    stream = io.StringIO()
    logs.start(Logs(), stream)
    logging.getLogger("aiohttp").warning("once")
    assert len(told(stream)) == 1


def test_values_of_any_kind_can_be_logged() -> None:
    stream = io.StringIO()
    logs.start(Logs(), stream).info("x", a=object(), b={1: {2}}, c=b"raw", d="\ud800", e=float("nan"), f=2**70)
    assert told(stream)[0]["c"] == "[bytes]"


# -- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "text"])
def test_secrets_are_never_logged(form: Any) -> None:
    stream = io.StringIO()
    signed = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.hush-hush"
    logger = logs.start(Logs(format=form), stream)
    logger.info("x", token="hush", Authorization="hush", headers={"Cookie": "hush"}, list=[{"clientKey": "hush"}])
    logger.info("sent Bearer hush-hush-hush", url=f"https://x/?a={signed}")
    try:
        raise ValueError(f"401 with authorization: Basic {'hush' * 3}")
    except ValueError:
        logger.exception("y")
    logging.getLogger("aiohttp").error("header %s", "Bearer hush-hush-hush")
    assert "hush" not in stream.getvalue().replace("{'hush' * 3}", "")
    assert stream.getvalue().count(logs.REDACTED) >= 7


def test_plain_words_stay() -> None:
    assert logs.without_secrets("a basic rule about the bearer of news") == "a basic rule about the bearer of news"


# -- gangs -----------------------------------------------------------------------------------------------------------


def gang_log(level: Any = "info") -> tuple[logs.GangLog, io.StringIO]:
    stream = io.StringIO()
    return logs.GangLog(logs.start(Logs(level=level), stream)), stream


def test_a_report_is_one_line_with_state_cause_and_reason() -> None:
    log, stream = gang_log()
    log.reported(Report("ml/train", State.QUEUED, Cause.PODS_GONE.name, reason(Why.NO_ROOM)))
    [line] = told(stream)
    assert {key: line[key] for key in ("event", "gang", "state", "cause", "reason")} == {
        "event": "gang", "gang": "ml/train", "state": "Queued", "cause": "PODS_GONE", "reason": "NoRoom",
    }  # fmt: skip
    assert 'group "workers" needs 4 pods' in line["line"]


def test_a_gang_that_waits_on_for_the_same_reason_is_told_of_once() -> None:
    log, stream = gang_log()
    for needed in (4, 3, 2):
        log.reported(Report("ml/train", State.QUEUED, "", reason(Why.NO_ROOM, needed)))
    log.reported(Report("ml/train", State.QUEUED, "", reason(Why.FRAGMENTED)))
    assert [line["reason"] for line in told(stream)] == ["NoRoom", "Fragmented"]


def test_for_a_debugger_every_report_is_a_line() -> None:
    log, stream = gang_log("debug")
    for needed in (4, 3):
        log.reported(Report("ml/train", State.QUEUED, "", reason(Why.NO_ROOM, needed)))
    assert [line["level"] for line in told(stream)] == ["info", "debug"]


def test_a_gang_that_loses_pods_is_a_warning() -> None:
    log, stream = gang_log()
    left = (State.EVICTING, Cause.RECOVERY_TIMEOUT)
    for state, cause in ((State.RUNNING, Cause.READY), (State.DEGRADED, Cause.LOST), left):
        log.reported(Report("ml/train", state, cause.name))
    assert [line["level"] for line in told(stream)] == ["info", "warning", "warning"]


def test_a_gang_that_ended_is_forgotten() -> None:
    log, _ = gang_log()
    log.reported(Report("ml/train", State.RUNNING, Cause.READY.name))
    log.reported(Report("ml/train", State.FINISHED, Cause.DELETED.name))
    assert not log._last


def test_a_wrong_manifest_is_a_line_and_a_refusal_is_one_for_debuggers() -> None:
    refusal = Waiting(Request("Gang", "ml", "train", Group("train", ())), reason(Why.NO_ROOM), proved=True)
    wrong = Invalid("Gang", "ml", "typo", (Problem("spec.topology", "rak", ("rack",), "there is no level 'rak'"),))
    for level, events in (("info", ["ml/typo"]), ("debug", [refusal.request.id, "ml/typo"])):
        log, stream = gang_log(level)
        log.decided(refusal)
        log.decided(wrong)
        assert [line["gang"] for line in told(stream)] == events
