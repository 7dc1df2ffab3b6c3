"""Programs that start, say why they did not, and never outlive us."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import folders, ports
from testbed.process import NotReady, Process

FOREVER = [sys.executable, "-c", "import signal; print('here', flush=True); signal.pause()"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here', flush=True)\n"
    "while True: signal.pause()",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "program.log"


@pytest.fixture
def started(log: Path) -> Iterator[Process]:
    process = Process("forever", FOREVER, log)
    process.start()
    yield process
    process.kill()


def says_here(log: Path) -> bool:
    return "here" in log.read_text()


def test_a_program_is_told_to_stop_and_does(started: Process) -> None:
    started.wait_until(lambda: says_here(started.log))
    started.stop()
    assert not started.alive()


def test_a_program_that_does_not_listen_is_killed(log: Path) -> None:
    process = Process("stubborn", STUBBORN, log)
    process.start()
    process.wait_until(lambda: says_here(log))
    process.stop(patience_seconds=0.2)
    assert not process.alive()


def test_a_program_that_ends_too_early_is_quoted(log: Path) -> None:
    process = Process("short", [sys.executable, "-c", "raise SystemExit('no room at the inn')"], log)
    process.start()
    with pytest.raises(NotReady, match=r"short ended with 1 before it was ready\n(.|\n)*no room at the inn"):
        process.wait_until(lambda: False)


def test_a_program_that_is_never_ready_is_given_up(started: Process) -> None:
    with pytest.raises(NotReady, match="forever was not ready after 0 s"):
        started.wait_until(lambda: False, seconds=0.0)


def test_a_restart_keeps_what_was_said_before(started: Process) -> None:
    started.wait_until(lambda: says_here(started.log))
    started.stop()
    started.start()
    started.wait_until(lambda: started.log.read_text().count("here") == 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_program_dies_with_the_process_that_started_it(log: Path) -> None:
    code = f"""
import signal, sys
from pathlib import Path
from testbed.process import Process
process = Process("child", {FOREVER!r}, Path({str(log)!r}))
process.start()
process.wait_until(lambda: "here" in process.log.read_text())
print(process.pid, flush=True)
signal.pause()
"""
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=folders.ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as said:
        child = os.pidfd_open(int(said.readline()))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert select.select([child], [], [], 10.0)[0], "the child still runs 10 s after its parent was killed"
    os.close(child)


def test_no_port_is_given_twice() -> None:
    given = [ports.free() for _ in range(50)]
    assert len(set(given)) == 50
    assert all(ports.FIRST <= port <= ports.LAST for port in given)
