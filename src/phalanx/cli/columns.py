"""Rows as a table that fits the screen: columns that may give way do, in order, and each keeps the end of its cells."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.text import Text

from phalanx.cli.screen import clean
from phalanx.explain import text

GAP = 2
SECONDS = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m"), (1, "s"))

Row = Sequence[str]


def laid_out(
    titles: Row, rows: Sequence[Row], width: int | None, give_way: Sequence[tuple[int, int]]
) -> Iterator[Text]:
    """The table, line by line. ``give_way``: columns and what they keep; ``width`` None: as wide as it is."""
    cells = [[clean(cell) for cell in row] for row in rows]
    wide = [max(len(cell) for cell in column) for column in zip(titles, *cells, strict=True)]
    for column, least in give_way if width is not None else ():
        over = sum(wide) + GAP * (len(wide) - 1) - (width or 0)
        if over > 0:
            wide[column] = max(wide[column] - over, min(least, wide[column]))
    yield Text(_joined(titles, wide), style="bold")
    for row in cells:
        yield Text(_joined(row, wide))


def _joined(row: Row, wide: list[int]) -> str:
    return (" " * GAP).join(_cut(cell, size).ljust(size) for cell, size in zip(row, wide, strict=True)).rstrip()


def _cut(cell: str, size: int) -> str:
    return cell if len(cell) <= size else "…" + cell[len(cell) - size + 1 :]


def shortened(line: str, width: int | None) -> str:
    """A sentence that fits, its beginning kept."""
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def age(since: float, now: float) -> str:
    """``5m``, ``3h``, ``12d``; a time that nobody wrote down has none."""
    if not since:
        return "-"
    left = max(int(now - since), 0)
    return next((f"{left // size}{unit}" for size, unit in SECONDS if left >= size), "0s")


def labelled(label: str, line: str) -> list[str]:
    """A line in its column, with the label before it."""
    indent = " " * text.LABEL
    found = wrap(line, text.WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return [label.ljust(text.LABEL) + found[0][text.LABEL :], *found[1:]]
