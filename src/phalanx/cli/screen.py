"""Where text goes: standard output and standard error, coloured on a terminal only, never wider than it should be."""

import os
import sys
from textwrap import wrap

from rich.console import Console
from rich.text import Text

ROW_LEAST = 16  # letters of a wrapped row, however narrow the screen
WIDTH = 80  # where the output is no terminal, so that a file reads the same everywhere


def out() -> Console:
    return _console(stderr=False)


def err() -> Console:
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    coloured = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Console(
        stderr=stderr,
        width=None if terminal else WIDTH,
        force_terminal=terminal,
        color_system="auto" if coloured else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def clean(text: str) -> str:
    """Text without characters that would steer a terminal: names come from files that others wrote."""
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)


def wrapped(line: str, width: int, indent: int) -> list[str]:
    """The line as rows that fit, each behind ``indent`` spaces and all but the first four further in. A word is never
    cut, so that a path can be copied: a longer one has a row of its own. What the line begins with counts as indent."""
    margin = " " * (indent + len(line) - len(line.lstrip()))
    longest = max(width, len(margin) + ROW_LEAST)
    rows = wrap(
        line.strip(), longest, initial_indent=margin, subsequent_indent=margin + "    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return rows or [""]


def styled(text: str, style: str = "") -> Text:
    return Text(clean(text), style=style)


def say_error(line: str, detail: str = "") -> None:
    """One line first, then the detail."""
    console = err()
    console.print(Text.assemble(("error: ", "bold red"), clean(line)))
    if detail:
        console.print(styled(detail))


def say_warning(line: str) -> None:
    err().print(Text.assemble(("warning: ", "yellow"), clean(line)))
