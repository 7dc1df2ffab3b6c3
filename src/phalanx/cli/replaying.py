"""``phalanx replay``: recorded decisions in, each decided again, what differs out."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import phalanx
from phalanx.cli import screen
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.files import STDIN
from phalanx.engine import decide as engine
from phalanx.engine.board import Board
from phalanx.record import line, outcome
from phalanx.record.form import BadRecord


def run(sources: Sequence[str]) -> int:
    """The worst that was found: a line that is no record, then an answer that differs."""
    codes = [_replayed(where, data) for source in sources for where, data in _lines(source)]
    if not codes:
        raise Failed(f"nothing to replay: no record in {', '.join(sources)}")
    return max(codes)


def _lines(source: str) -> Iterator[tuple[str, bytes]]:
    """The lines of a file that are not blank, each with its place; one at a time, for files may be large."""
    if source.startswith("-") and source != STDIN:
        raise Failed(f"Unknown option: {source}.", code=Exit.USAGE)
    title = "standard input" if source == STDIN else source
    try:
        with nullcontext(sys.stdin.buffer) if source == STDIN else open(source, "rb") as file:
            for number, data in enumerate(file, 1):
                if data.strip():
                    yield f"{title}:{number}", data
    except OSError as error:
        raise Failed(f"{title}: {error.strerror or error}") from None


def _replayed(where: str, data: bytes) -> Exit:
    try:
        record = line.read(data.decode("utf-8").strip())
    except (BadRecord, UnicodeDecodeError) as error:
        screen.say_error(f"{where}: {error if isinstance(error, BadRecord) else 'not UTF-8'}")
        return Exit.INVALID
    found = _differences(record)
    if not found:
        _say(f"{where} {record.request.id}: same")
        return Exit.PLACED
    _say(f"{where} {record.request.id}: differs (recorded by {record.version}, this is {phalanx.__version__})")
    for one in found:
        _say(f"  {one}")
    return Exit.FAILED


def _differences(record: line.Record) -> tuple[str, ...]:
    """What differs now. That it cannot be decided any more is a difference too, and the one a bug report is about."""
    try:
        again = engine.decide(Board.of(record.snapshot), record.request, record.policy)
    except Exception as error:
        first = (str(error) or "no message").splitlines()[0]
        return (f"no answer: {type(error).__name__}: {first[: outcome.SHOWN_MAX]}",)
    return outcome.differences(record.decision, again)


def _say(text: str) -> None:
    print(screen.clean(text))
