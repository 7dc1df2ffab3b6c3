"""Mistakes of ours: what is raised where something is not as our own code says that it always is.

Never raised about what somebody wrote: that is a Problem. ``assert`` judges nothing here, for it vanishes under ``-O``.
"""

import traceback
from dataclasses import dataclass

from phalanx.model.problems import Problem

_LINE_MAX = 300  # characters of what was raised: a judge of placements tells all it knows
_FRAMES_MAX = 30  # the innermost: who recursed without end did so a thousand times
_TRACE_MAX = 8_000
_SEND_US = (
    "all else goes on, and it is tried again when it changes; please report it with this object and the traceback that "
    "is in the scheduler's log"
)


class Mistake(Exception):
    """We are wrong. Whoever does many things side by side catches it at the one that it concerns."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """What was raised while one thing among many was looked at: in one line for people, and with its traceback."""

    line: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> "Mishap":
        first = (str(error).splitlines() or [""])[0][:_LINE_MAX]
        line = f"{type(error).__name__}: {first}" if first else type(error).__name__
        frames = traceback.format_exception(type(error), error, error.__traceback__, limit=-_FRAMES_MAX)
        return cls(_plain(line), _plain("".join(frames))[:_TRACE_MAX])

    def remark(self, sought: str) -> Problem:
        """Said beside an answer that stands all the same. ``sought``: what was looked for: ``what would help``."""
        return Problem("", None, (), f"{sought} could not be looked for, by a mistake of Phalanx: {self.line}")

    def problem(self, what: str) -> Problem:
        """Said of the object that it concerns. ``what``: ``cannot be read``."""
        return Problem("", None, (), f"{what}, and that is a mistake of Phalanx: {self.line}; {_SEND_US}")


@dataclass(frozen=True, slots=True)
class Tripped:
    """A mishap, and when it was."""

    mishap: Mishap
    at: float


def _plain(text: str) -> str:
    """A text as it can be written out: JSON can smuggle in halves of characters."""
    return text.encode("utf-8", "replace").decode()
