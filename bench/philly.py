"""A real trace on a real topology from end to end: the jobs of Philly on the hosts of Lingjun.

Runs in a process of its own, so that its peak memory is its own: ``python -m bench.philly JOBS`` prints one JSON line.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from phalanx.engine.engine import Engine
from phalanx.sim import worlds
from phalanx.sim.drive import drive
from phalanx.sim.journal import Journal
from phalanx.sim.report import rank
from phalanx.sim.simulate import room
from phalanx.sim.traces import philly
from phalanx.sim.traces.asking import Asking

SHARED = Path(__file__).parents[2] / "shared" / "traces"
TRACE, HOSTS = SHARED / "philly-jobs.csv", SHARED / "lingjun-topology.csv"


@dataclass(frozen=True)
class Done:
    """CPU seconds of the whole run and of the engine in it, microseconds of a decision, MiB."""

    gangs: int
    done: int
    hosts: int
    seconds: float
    engine: float
    steps: int
    p50: float
    p99: float
    memory: float


def is_here() -> bool:
    return TRACE.exists() and HOSTS.exists()


def run(jobs: int) -> Done:
    """The first so many jobs, in a process of their own."""
    command = [sys.executable, "-m", "bench.philly", str(jobs)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Done(**json.loads(text))


def _measured(jobs: int) -> Done:
    site = worlds.nodes(HOSTS.read_text().splitlines(keepends=True))
    given = philly.read(TRACE.read_text().splitlines(keepends=True), Asking(site))[:jobs]
    journal = Journal(room(site))
    begin = time.process_time()
    drive(Engine(), site.snapshot, given, journal, clock=time.thread_time)
    seconds = time.process_time() - begin
    done = sum(life.finished is not None for life in journal.lives.values())
    p50, p99 = (rank(journal.took, percent) * 1e6 for percent in (50, 99))
    nodes = len(site.snapshot.nodes)
    return Done(len(given), done, nodes, seconds, journal.stepping, journal.steps, p50, p99, _peak())


def _peak() -> float:
    """MiB that this process held at most. Its own: what the operating system keeps of the parent is left out."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps(vars(_measured(int(sys.argv[1])))))
