"""Lines on standard error: JSON where a machine reads them, text where a person does. No secret is ever in one.

Messages are constant sentences; what changes from line to line stands in fields, so that lines can be counted.
"""

import json
import logging
import re
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import msgspec
import structlog

from phalanx.engine.lifecycle import Cause, State
from phalanx.explain import text
from phalanx.kube.configuration.parts import Logs
from phalanx.model.decision import Decision, Invalid
from phalanx.model.effects import Report

Fields = MutableMapping[str, Any]
REDACTED = "[redacted]"
_SECRET_KEY = re.compile(
    r"token|authorization|passw|secret|credential|bearer|cookie|api_?key|private_?key|client_?key|kubeconfig_?data",
    re.IGNORECASE,
)
# A bearer token or a signed token inside a message of somebody else, such as an exception
_SECRET_TEXT = re.compile(r"(?i:\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}|\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?")
_PLAIN = re.compile(r"[\w./:@\[\]#+-]+")
_DEPTH_MAX = 6


def start(configuration: Logs, stream: TextIO) -> structlog.typing.FilteringBoundLogger:
    """Sets up all logging of the process, that of libraries too, and gives a logger to begin with."""
    level = logging.getLevelNamesMapping()[configuration.level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redact,
            _as_json if _is_json(configuration, stream) else as_text,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Forwarding()], level=max(level, logging.WARNING), force=True)
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return logger


def _is_json(configuration: Logs, stream: TextIO) -> bool:
    if configuration.format == "auto":
        return not stream.isatty()
    return configuration.format == "json"


class _Forwarding(logging.Handler):
    """Hands what libraries log (asyncio, aiohttp) to the same lines."""

    def emit(self, record: logging.LogRecord) -> None:
        logger = structlog.get_logger()
        logger.log(record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info or False)


# -- fields of a line ------------------------------------------------------------------------------------------------


def redact(_logger: object, _method: str, fields: Fields) -> Fields:
    """Takes out values whose key sounds like a secret, and what looks like one in the others."""
    return {key: _redacted(key, value, 0) for key, value in fields.items()}


def _redacted(key: object, value: object, depth: int) -> object:
    if isinstance(key, str) and _SECRET_KEY.search(key):
        return REDACTED
    if isinstance(value, str):
        return without_secrets(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, bytes) or depth > _DEPTH_MAX:
        return f"[{type(value).__name__}]"
    if isinstance(value, Mapping):
        return {str(name): _redacted(name, one, depth + 1) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_redacted(None, one, depth + 1) for one in value]
    return without_secrets(str(value))


def without_secrets(message: str) -> str:
    """A text with tokens blotted out, and fit to be written: JSON can smuggle in halves of characters."""
    return _SECRET_TEXT.sub(REDACTED, message).encode("utf-8", "replace").decode()


def _as_json(_logger: object, _method: str, fields: Fields) -> str:
    first = {key: fields.pop(key) for key in ("timestamp", "level", "event")}
    return msgspec.json.encode({**first, **fields}, enc_hook=str).decode()


def as_text(_logger: object, _method: str, fields: Fields) -> str:
    """``2026-11-16T06:42:56Z info     gang  name=ml/train state=Queued``; a traceback follows on its own lines.

    Names and messages of others are quoted, so that no value can forge a line or move the cursor.
    """
    when, level, event = (str(fields.pop(key)) for key in ("timestamp", "level", "event"))
    traceback = fields.pop("exception", None)
    shown = " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())
    line = f"{when[:19]}Z {level:<8} {_one_line(event)}" + (f"  {shown}" if shown else "")
    return f"{line}\n{_printable(traceback)}" if traceback else line


def _quoted(value: object) -> str:
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else json.dumps(value)
    return json.dumps(value)


def _one_line(event: str) -> str:
    return event if event.isprintable() else json.dumps(event)


def _printable(traceback: object) -> str:
    return "\n".join("".join(each for each in line if each.isprintable()) for line in str(traceback).splitlines())


# -- gangs -----------------------------------------------------------------------------------------------------------

_ALARMING = (State.DEGRADED, State.EVICTING, State.INVALID)


class GangLog:
    """One line for each change in the life of a gang.

    A gang that goes on waiting for the same type of reason, with other numbers, is worth a line to nobody but a
    debugger: on a busy cluster the numbers change with every pod that ends.
    """

    def __init__(self, logger: structlog.typing.FilteringBoundLogger) -> None:
        self._logger = logger
        self._last: dict[str, tuple[str, str]] = {}

    def reported(self, report: Report) -> None:
        """A line for a Report of the engine."""
        why = report.reason.type.value if report.reason is not None else ""
        level = self._level(report, why)
        if self._logger.is_enabled_for(level):
            said = text.cause(report.reason) if report.reason is not None else ""
            fields = {
                "gang": report.gang, "state": report.state, "cause": report.cause, "said": report.said, "reason": why,
                "line": said,
            }  # fmt: skip
            self._logger.log(level, "gang", **{key: value for key, value in fields.items() if value})

    def _level(self, report: Report, why: str) -> int:
        now = (report.state, why)
        before = self._last.get(report.gang)
        if report.state == State.FINISHED:
            self._last.pop(report.gang, None)
        else:
            self._last[report.gang] = now
        if now == before:
            return logging.DEBUG
        alarming = report.state in _ALARMING or report.cause == Cause.FAILED.name
        return logging.WARNING if alarming else logging.INFO

    def decided(self, decision: Decision) -> None:
        """A line for a decision: of interest when one looks for a bug, and when a manifest is wrong."""
        level = logging.WARNING if isinstance(decision, Invalid) else logging.DEBUG
        if self._logger.is_enabled_for(level):
            self._logger.log(level, "decision", gang=_id(decision), line=text.line(decision))


def _id(decision: Decision) -> str:
    if isinstance(decision, Invalid):
        return f"{decision.namespace}/{decision.name}"
    return decision.request.id
