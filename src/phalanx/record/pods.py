"""Running pods, equal ones counted.

What pods have in common is written once (``kinds``), then where they are (``rows``), in the order of the snapshot::

    [0, "b1-r2-1", "web-7xk2p"]          a pod of kind 0
    [1, "b1-r2-1", "ml/train/w/", 8, 4]  four pods of kind 1: ml/train/w/8, .../9, .../10, .../11
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phalanx.model.nodes import RunningPod
from phalanx.record.form import BadRecord, built, expect
from phalanx.record.form import written as plain

BYTES_MAX = 1 << 30  # of pods that a few characters may stand for: a line must not fill the memory
POD_BYTES = 100
NUMBER_MAX = 10**18

_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,17})", re.DOTALL)  # the number as str() spells it
_OWN = ("name", "node")


@dataclass(frozen=True, slots=True)
class _Row:
    """``count`` pods of one kind on one node, named ``stem`` and a number from ``first`` on; without: one pod."""

    kind: int
    node: str
    stem: str
    first: int | None = None
    count: int = 1

    def names(self) -> Iterator[str]:
        if self.first is None:
            return iter((self.stem,))
        return (f"{self.stem}{self.first + i}" for i in range(self.count))

    def continued_by(self, other: "_Row") -> bool:
        alike = (self.kind, self.node, self.stem) == (other.kind, other.node, other.stem)
        return alike and self.first is not None and other.first == self.first + self.count

    def plain(self) -> list[Any]:
        if self.count == 1:
            return [self.kind, self.node, *self.names()]
        return [self.kind, self.node, self.stem, self.first, self.count]


def written(pods: Sequence[RunningPod]) -> dict[str, Any]:
    """All pods as kinds and rows."""
    kinds: dict[Any, int] = {}
    shapes: list[Any] = []
    rows: list[_Row] = []
    for pod in pods:
        kind = kinds.setdefault(_likeness(pod), len(kinds))
        if kind == len(shapes):
            shapes.append(plain(pod, leave=_OWN))
        row = _row(kind, pod)
        if rows and rows[-1].continued_by(row):
            row = replace(rows[-1], count=rows.pop().count + 1)
        rows.append(row)
    return {"kinds": shapes, "rows": [row.plain() for row in rows]}


def _likeness(pod: RunningPod) -> Any:
    """All but name and node, to look it up by."""
    labels = tuple(sorted(pod.labels.items()))
    return pod.namespace, pod.requests, labels, pod.ports, pod.anti_affinity, pod.gang


def _row(kind: int, pod: RunningPod) -> _Row:
    match = _NUMBERED.fullmatch(pod.name)
    return _Row(kind, pod.node, match[1], int(match[2])) if match else _Row(kind, pod.node, pod.name)


def read(found: Any, path: str) -> tuple[RunningPod, ...]:
    """The pods that were written so."""
    expect(found, dict, "an object", path)
    if found.keys() != {"kinds", "rows"}:
        raise BadRecord(f"{path}: expected kinds and rows")
    for key in ("kinds", "rows"):
        expect(found[key], list, "a list", f"{path}.{key}")
    kinds = [built(RunningPod, one, f"{path}.kinds[{i}]", name="", node="") for i, one in enumerate(found["kinds"])]
    rows = [_read_row(one, len(kinds), f"{path}.rows[{i}]") for i, one in enumerate(found["rows"])]
    if sum(row.count * (POD_BYTES + len(row.stem)) for row in rows) > BYTES_MAX:
        raise BadRecord(f"{path}: more pods than this version can hold")
    return tuple([replace(kinds[row.kind], name=name, node=row.node) for row in rows for name in row.names()])


def _read_row(found: Any, kinds: int, path: str) -> _Row:
    expect(found, list, "a list", path)
    if len(found) == 3:
        row = _Row(*built(tuple[int, str, str], found, path))
    else:
        row = _Row(*built(tuple[int, str, str, int, int], found, path))
    if not 0 <= row.kind < kinds:
        raise BadRecord(f"{path}: there is no kind {row.kind}")
    if row.count < 1 or not 0 <= (row.first or 0) <= NUMBER_MAX:
        raise BadRecord(f"{path}: {row.count} pods from number {row.first} on")
    return row
