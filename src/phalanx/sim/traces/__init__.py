"""Who asked for what, and when: one small reader per format, each ``read(lines, asking) -> list[Submission]``.

A row that cannot be read raises BadRow with its line: a trace with holes would give figures that look right.
"""

from collections.abc import Callable, Iterable

from phalanx.sim.submission import Submission
from phalanx.sim.traces import muri, openb, own, philly
from phalanx.sim.traces.asking import Asking

READERS: dict[str, Callable[[Iterable[str], Asking], list[Submission]]] = {
    "own": own.read,
    "philly": philly.read,
    "muri": muri.read,
    "openb": openb.read,
}


def format_of(lines: Iterable[str]) -> str:
    """The format that the columns of a trace belong to; our own when they are of no other."""
    header = {name.strip() for name in next(iter(lines), "").split(",")}
    foreign = {"philly": philly.COLUMNS, "muri": muri.COLUMNS, "openb": openb.COLUMNS}
    return next((name for name, columns in foreign.items() if header.issuperset(columns)), "own")
