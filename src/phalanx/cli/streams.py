"""Standard output and standard error of a command.

An answer that cannot be written is a failure, said in one line. What is said beside it is not worth failing for: where
standard error is closed or full, the answer is given all the same.
"""

import io
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TextIO, TypeVar, cast

Result = TypeVar("Result")


class CannotWrite(Exception):
    """Standard output takes no more; the message says why."""


def prepare() -> None:
    """Puts both in their places. A terminal without box characters shows ? instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.stdout = cast(TextIO, _Closed() if sys.stdout is None else _Answer(sys.stdout))
    sys.stderr = cast(TextIO, io.StringIO() if sys.stderr is None else _Remarks(sys.stderr))


def finish() -> None:
    """Writes what is left of the answer. CannotWrite, or BrokenPipeError, where that cannot be done."""
    sys.stdout.flush()


def leave() -> None:
    """Before the process ends: remarks that cannot be written must not change its exit code."""
    if isinstance(sys.stderr, _Remarks) and not sys.stderr.is_written():
        _discard(cast(TextIO, sys.stderr))


def give_up() -> None:
    """Nothing more is written to standard output, not even when the process ends: that would be said a second time."""
    _discard(sys.stdout)


def _discard(stream: TextIO) -> None:
    try:
        at = stream.fileno()
    except (OSError, ValueError):  # it has no place of its own: closed, or kept in memory
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, at)
    os.close(nowhere)


class _Closed(io.StringIO):
    """In place of a standard output that was closed before we began: nothing may be lost in silence."""

    def write(self, text: str, /) -> int:
        raise CannotWrite("it is closed")


class _Stream(ABC):
    """Another stream; what goes wrong while it is written to goes another way."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._tried(lambda: self._stream.write(text), len(text))

    def flush(self) -> None:
        self._tried(self._stream.flush, None)

    @abstractmethod
    def _tried(self, act: Callable[[], Result], instead: Result) -> Result:
        """What came of an act, or what stands in for that where it failed."""


class _Answer(_Stream):
    def _tried(self, act: Callable[[], Result], instead: Result) -> Result:
        try:
            return act()
        except BrokenPipeError:
            raise  # the reader has seen enough
        except OSError as error:
            why = error.strerror or str(error)
            raise CannotWrite(f"{why[:1].lower()}{why[1:]}") from None


class _Remarks(_Stream):
    def is_written(self) -> bool:
        """Whether nothing is left of what was said."""
        try:
            self._stream.flush()
        except OSError:
            return False
        return True

    def _tried(self, act: Callable[[], Result], instead: Result) -> Result:
        try:
            return act()
        except OSError:  # there may be room again later: a scheduler runs for months
            return instead
