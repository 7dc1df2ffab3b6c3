"""Decisions as lines of a file, for ``phalanx replay``. A disk that is full does not stop the scheduler."""

from collections.abc import Callable
from typing import TextIO

import phalanx
from phalanx.model.decision import Decision
from phalanx.model.mistakes import Mistake
from phalanx.model.policy import Policy
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.record.line import written


class CannotRecord(Exception):
    """The file that was configured cannot be written."""


class Recorder:
    """Appends to ``path``; empty: keeps nothing. ``problem`` is told once of each trouble, and when it is over."""

    def __init__(self, path: str, problem: Callable[[str], None]) -> None:
        self._path, self._problem = path, problem
        self._trouble = ""
        self._file: TextIO | None = None

    def __enter__(self) -> "Recorder":
        if self._path:
            try:
                self._file = open(self._path, "a", encoding="ascii", newline="\n", buffering=1)
            except OSError as error:
                raise CannotRecord(f"records.file: {self._path} cannot be written: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._say(error.strerror or str(error))

    @property
    def on_decision(self) -> Callable[[Snapshot, Request, Policy, Decision], None] | None:
        """What the engine tells of each decision; None where nothing is kept: a picture has its price."""
        return None if self._file is None else self._keep

    def _keep(self, snapshot: Snapshot, request: Request, policy: Policy, decision: Decision) -> None:
        if self._file is None:
            raise Mistake("nothing is kept of a recording that was not begun")
        try:
            self._file.write(written(snapshot, request, policy, decision, version=phalanx.__version__) + "\n")
        except OSError as error:
            self._say(error.strerror or str(error))
        else:
            self._say("")

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._problem(f"decisions are not recorded in {self._path}: {trouble}" if trouble else
                          f"decisions are recorded in {self._path} again")  # fmt: skip
