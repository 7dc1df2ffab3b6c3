"""Exit codes, and the one exception that ends a command with a line on standard error."""

from collections.abc import Iterable
from enum import IntEnum


class Exit(IntEnum):
    """What the shell is told."""

    PLACED = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    INVALID = 4


def worst(codes: Iterable[Exit]) -> Exit:
    """Of several answers: a mistake of ours wins over all that could be told, then what is wrong over what waits."""
    found = set(codes)
    return Exit.FAILED if Exit.FAILED in found else max(found, default=Exit.PLACED)


class Failed(Exception):
    """The command cannot go on. First line: what happened; ``detail``: what else there is to say."""

    def __init__(self, message: str, detail: str = "", code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.message, self.detail, self.code = message, detail, code
