"""The schedulers as processes: started, asked for what they have used, and ended."""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from bench.kube import bare
from testbed.bed import Bed
from testbed.process import Process

ACCOUNT = "system:serviceaccount:phalanx-system:phalanx-scheduler"
_CONFIGURATION = """\
apiVersion: phalanx.dev/v1alpha1
kind: Configuration
listen: {port: 0}
logs: {format: json, level: info}
"""


@dataclass(frozen=True, slots=True)
class Used:
    """What a process has taken so far."""

    cpu_seconds: float
    memory_mib: float


class Contestant(ABC):
    """``name``: what it is called in the table; ``scheduler``: the name by which pods are handed to it."""

    name: str
    scheduler: str
    process: Process

    @abstractmethod
    def start(self) -> None:
        """The process running, and everything there is in its caches."""

    def used(self) -> Used:
        return Used(self.process.cpu_seconds(), self.process.resident_mib())

    def stop(self) -> None:
        self.process.stop()


class InTree(Contestant):
    name, scheduler = "in-tree", "default-scheduler"

    def __init__(self, bed: Bed) -> None:
        self._inner = bed.part("scheduler")
        self.process = self._inner.process
        self.process.stop()

    def start(self) -> None:
        self._inner.start()


class Logged(Contestant):
    """A program of ours: it says ``following`` in its log once everything is in its caches."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._log = log
        self.process = Process(self.name, command, log)

    def start(self) -> None:
        seen = self._log.stat().st_size if self._log.exists() else 0
        self.process.start()
        self.process.wait_until(lambda: "following" in self._log.read_text()[seen:])


class Phalanx(Logged):
    name, scheduler = "phalanx", "phalanx"

    def __init__(self, bed: Bed, folder: Path) -> None:
        file = folder / "phalanx.yaml"
        file.write_text(_CONFIGURATION)
        program = str(Path(sys.executable).parent / "phalanx")
        words = ["run", "--kubeconfig", str(bed.kubeconfig(ACCOUNT)), "--configuration", str(file)]
        super().__init__([program, *words], folder / "phalanx.log")


class Bare(Logged):
    """Binds and does nothing else: what the server takes on this machine."""

    name, scheduler = bare.NAME, bare.NAME

    def __init__(self, bed: Bed, folder: Path) -> None:
        words = ["-m", "bench.kube.bare", str(bed.kubeconfig(ACCOUNT))]
        super().__init__([sys.executable, *words], folder / "bare.log")
