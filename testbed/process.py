"""A program of the bed: started with its output in a file, watched until ready, ended by its own id."""

import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")
POLL_SECONDS = 0.05
TAIL_LINES = 25

# The leash is tied to the *thread* that starts a program, so one thread that lives as long as we do starts them all.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="testbed-starter")


class NotReady(Exception):
    """A program ended, or kept us waiting too long; the message carries the end of its log."""


class Process:
    """One running program. ``log`` is appended to, so that a restart keeps what was said before."""

    def __init__(self, name: str, command: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.name = name
        self.command = command
        self.log = log
        self._environment = {**os.environ, **(environment or {})}
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._running.pid if self._running else None

    def alive(self) -> bool:
        return self._running is not None and self._running.poll() is None

    def start(self) -> None:
        """The program running; it is not ready yet."""
        assert not self.alive(), f"{self.name} runs already"
        self._running = _STARTER.submit(self._spawn).result()

    def wait_until(self, ready: Callable[[], bool], seconds: float = 60.0) -> None:
        """Returns when ``ready`` says so; NotReady if the program ends first or the time is up."""
        end = time.monotonic() + seconds
        while not ready():
            if not self.alive():
                raise NotReady(f"{self.name} ended with {self._exit_code()} before it was ready\n{self.tail()}")
            if time.monotonic() > end:
                raise NotReady(f"{self.name} was not ready after {seconds:.0f} s\n{self.tail()}")
            time.sleep(POLL_SECONDS)

    def tell_to_stop(self) -> None:
        """Sends TERM and returns at once."""
        if self.alive():
            assert self._running is not None
            self._running.send_signal(signal.SIGTERM)

    def stop(self, patience_seconds: float = 10.0) -> None:
        """The program gone: TERM, and KILL if that is not enough."""
        self.tell_to_stop()
        if self._running is None:
            return
        try:
            self._running.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """The program gone, without a chance to say goodbye."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()

    def resident_mib(self) -> float:
        """Memory in use now, 0 if it does not run."""
        if not self.alive():
            return 0.0
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu_seconds(self) -> float:
        """Processor time, user and system, spent so far; 0 if it does not run."""
        if not self.alive():
            return 0.0
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def tail(self) -> str:
        """The last lines of the log, for messages."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([f"--- end of {self.log}", *lines[-TAIL_LINES:]])

    def _spawn(self) -> subprocess.Popen[bytes]:
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        with self.log.open("ab") as out:
            # Its own session: a Ctrl-C on the terminal reaches us, and we end the parts in order.
            return subprocess.Popen(
                leash + self.command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _exit_code(self) -> int | None:
        return self._running.poll() if self._running else None


def answers(url: str, trust: ssl.SSLContext | None = None) -> bool:
    """Whether a GET of ``url`` is answered with success; silence and refusal are both no."""
    try:
        with urllib.request.urlopen(url, timeout=2.0, context=trust) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
