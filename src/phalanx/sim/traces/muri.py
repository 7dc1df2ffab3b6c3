"""The traces of Muri: ``job_id,num_gpu,submit_time,...,duration,...,priority``, times in milliseconds."""

from collections.abc import Iterable

from phalanx.sim.rows import Row, table
from phalanx.sim.submission import Submission
from phalanx.sim.traces.asking import Asking, from_zero, job

COLUMNS = ("job_id", "num_gpu", "submit_time", "duration")


def read(lines: Iterable[str], asking: Asking) -> list[Submission]:
    return from_zero(_submission(row, asking) for row in table(lines, COLUMNS))


def _submission(row: Row, asking: Asking) -> Submission:
    gpus, priority = row.whole("num_gpu", least=1), row.whole("priority", 0)
    request = job("muri", f"job-{row.whole('job_id')}", gpus, asking, priority)
    return Submission(row.number("submit_time") / 1000, request, row.number("duration") / 1000)
