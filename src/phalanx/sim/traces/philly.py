"""The Philly trace in its cleaned form: ``timestamp,duration,num_gpus,gpu_time,cluster``, one job per line.

The virtual cluster becomes the namespace; a job is called after its line.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from phalanx.sim.rows import Row, table
from phalanx.sim.submission import Submission
from phalanx.sim.traces.asking import Asking, from_zero, job

COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")


def read(lines: Iterable[str], asking: Asking) -> list[Submission]:
    return from_zero(_submission(row, asking) for row in table(lines, COLUMNS))


def _submission(row: Row, asking: Asking) -> Submission:
    request = job(row.text("cluster"), f"job-{row.line}", row.whole("num_gpus", least=1), asking)
    return Submission(_seconds(row), request, row.number("duration"))


def _seconds(row: Row) -> float:
    text = row.text("timestamp")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()  # zone-free: only differences matter
    except ValueError:
        raise row.wrong("timestamp", f"{text[:40]!r} is not a time such as 2017-10-09 07:01:55") from None
