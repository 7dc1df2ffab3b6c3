"""Topologies and the trees that node labels make of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt

from phalanx.model.problems import Problem

HOSTNAME = "kubernetes.io/hostname"
AUTO = "auto"
LEVELS_MAX = 8
CLUSTER = 0  # the level above all levels: one domain that holds everything

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Level:
    """One level: the node label that names its domains, and a short name for people."""

    label: str
    name: str


@dataclass(frozen=True, slots=True)
class Topology:
    """Levels widest first. The node itself is always the last one, listed or not.

    Level numbers: 0 is the whole cluster, 1 the widest level, ``host`` the node.
    """

    name: str
    levels: tuple[Level, ...]

    @staticmethod
    def of(name: str, labels: Sequence[str], names: Sequence[str | None] = ()) -> "Topology":
        """From label keys widest first, with optional aliases; the host level is added when absent.

        A level without an alias goes by the part after its slash, or by its whole key where two would share it.
        """
        aliases = list(names) + [None] * (len(labels) - len(names))
        taken = [alias or short_name(label) for label, alias in zip(labels, aliases, strict=True)]
        levels = [Level(label, alias or _own_name(label, taken)) for label, alias in zip(labels, aliases, strict=True)]
        if not levels or levels[-1].label != HOSTNAME:
            levels.append(Level(HOSTNAME, "host"))
        return Topology(name, tuple(levels))

    @property
    def host(self) -> int:
        return len(self.levels)

    def level_name(self, level: int) -> str:
        return "cluster" if level == CLUSTER else self.levels[level - 1].name

    def level_names(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.levels)

    def level_number(self, text: str, path: str) -> int | Problem:
        """The number of a level named by label key, alias or the part after the slash; ``auto`` is the
        narrowest level above the node."""
        if text == AUTO:
            return max(self.host - 1, 1)
        for spelling in (lambda v: v.label, lambda v: v.name, lambda v: after_slash(v.label)):
            hits = [i for i, level in enumerate(self.levels, 1) if spelling(level) == text]
            if len(hits) == 1:
                return hits[0]
        if text == "host":
            return self.host
        return Problem(
            path, text, self.level_names(),
            f"{text!r} is not a level of topology {self.name!r}; its levels are {', '.join(self.level_names())}"
            f"{self._asking(text)}",
        )  # fmt: skip

    def _asking(self, text: str) -> str:
        """``; did you mean rack?``, where a level, however it is spelt, is much like it."""
        spellings = {one: level.name for level in self.levels for one in (after_slash(level.label), level.name)}
        spellings |= {level.label: level.label for level in self.levels} | {"host": "host"}
        close = get_close_matches(text[:200].lower(), spellings, n=1)
        return f"; did you mean {spellings[close[0]]}?" if close else ""


def short_name(label: str) -> str:
    """The part of a label key after its slash; ``host`` for the hostname label."""
    return "host" if label == HOSTNAME else after_slash(label)


def after_slash(label: str) -> str:
    return label.rsplit("/", 1)[-1]


def _own_name(label: str, taken: list[str]) -> str:
    name = short_name(label)
    clashes = taken.count(name) > 1 or (name == "host" and label != HOSTNAME)
    return label if clashes else name


@dataclass(frozen=True, slots=True)
class MissingLabel:
    """A ``node`` that is outside a topology, and the first ``label`` it lacks."""

    node: str
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One topology over the nodes of a cluster as flat arrays, nodes in tree order. Never changed.

    A domain of level l is a contiguous range of nodes; its number is its rank within the level::

        level 0   [ ----------------- cluster ----------------- ]
        level 1   [ ------ b1 ------ ][ --------- b2 --------- ]
        level 2   [ r1 ][ --- r2 --- ][ ---- r1 ---- ][ - r2 - ]
        node       0  1  2  3  4  5   6  7  8  9  10   11  12

    Nodes that lack a label come last, each alone in a domain of every level below the cluster, with
    ``inside`` False: pods without topology wishes may use them, all others may not.
    """

    topology: Topology
    names: tuple[str, ...]  # node names in tree order
    index: Mapping[str, int]  # node name -> position
    start: tuple[Ints, ...]  # start[l][d] first node of domain d of level l; one more entry closes it
    domain: tuple[Ints, ...]  # domain[l][n] the domain of level l that holds node n
    children: tuple[Ints, ...]  # children[l][d] first child (level l+1) of domain d; closed like start
    offset: Ints  # offset[l] + d numbers all domains of all levels
    ancestors: Ints  # [n, l] flat domain numbers above and at node n
    inside: Flags
    missing: tuple[MissingLabel, ...]
    paths: tuple[tuple[str, ...], ...] = field(repr=False)  # per node: the label values, node name last

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def host(self) -> int:
        return self.topology.host

    def count(self, level: int) -> int:
        """How many domains a level has."""
        return len(self.start[level]) - 1

    def path(self, level: int, number: int) -> tuple[str, ...]:
        """The whole path of a domain; empty for the cluster."""
        return self.paths[int(self.start[level][number])][:level]

    def nodes(self, level: int, number: int) -> range:
        return range(int(self.start[level][number]), int(self.start[level][number + 1]))

    def within(self, outer: int, number: int, inner: int) -> range:
        """The domains of level ``inner`` that lie inside domain ``number`` of level ``outer``."""
        first, last = int(self.start[outer][number]), int(self.start[outer][number + 1]) - 1
        if last < first:
            return range(0)
        return range(int(self.domain[inner][first]), int(self.domain[inner][last]) + 1)

    def distance(self, first: tuple[int, int], second: tuple[int, int]) -> int:
        """Edges between two domains given as (level, number), through their lowest common ancestor."""
        (la, a), (lb, b) = first, second
        na, nb = int(self.start[la][a]), int(self.start[lb][b])
        common = 0
        for level in range(1, min(la, lb) + 1):
            if self.domain[level][na] != self.domain[level][nb]:
                break
            common = level
        return (la - common) + (lb - common)


def grow(topology: Topology, labels: Mapping[str, Mapping[str, str]]) -> Tree:
    """The tree that ``labels`` (node name -> its labels) make of a topology. Input order does not matter."""
    keys = [level.label for level in topology.levels]
    rows: list[tuple[bool, tuple[str, ...], str]] = []
    missing: list[MissingLabel] = []
    for name in sorted(labels):
        # a node always has its name, so the hostname label is never asked for: one truth, not two
        lacking = next((key for key in keys if key not in labels[name] and key != HOSTNAME), None)
        if lacking is not None:
            missing.append(MissingLabel(name, lacking))
        path = tuple(labels[name].get(key, "") for key in keys[:-1]) + (name,)
        rows.append((lacking is not None, path, name))
    rows.sort()
    return _flatten(topology, rows, tuple(missing))


def _flatten(
    topology: Topology, rows: list[tuple[bool, tuple[str, ...], str]], missing: tuple[MissingLabel, ...]
) -> Tree:
    size, host = len(rows), topology.host
    start: list[Ints] = []
    domain: list[Ints] = []
    for level in range(host + 1):
        numbers = _numbers(rows, level)
        domain.append(numbers)
        breaks = np.flatnonzero(np.diff(numbers)) + 1 if size else np.zeros(0, np.int64)
        start.append(np.concatenate(([0], breaks, [size] if size else [])).astype(np.int64))
    if not size:
        start = [np.zeros(1, np.int64) for _ in range(host + 1)]
    children = tuple(
        np.append(domain[level + 1][start[level][:-1]], len(start[level + 1]) - 1) if size else np.zeros(1, np.int64)
        for level in range(host)
    )
    counts = [len(s) - 1 for s in start]
    offset = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    ancestors = np.stack([domain[level] + offset[level] for level in range(host + 1)], axis=1)
    names = tuple(row[2] for row in rows)
    return Tree(
        topology, names, {name: i for i, name in enumerate(names)}, tuple(start), tuple(domain), children,
        offset, np.ascontiguousarray(ancestors), np.array([not row[0] for row in rows], dtype=bool), missing,
        tuple(row[1] for row in rows),
    )  # fmt: skip


def _numbers(rows: list[tuple[bool, tuple[str, ...], str]], level: int) -> Ints:
    """Domain numbers of one level along the sorted rows; every node outside is a domain of its own."""
    numbers = np.zeros(len(rows), np.int64)
    current = 0
    for i in range(1, len(rows)):
        fresh = level > 0 and (rows[i][0] or rows[i][1][:level] != rows[i - 1][1][:level] or rows[i - 1][0])
        current += fresh
        numbers[i] = current
    return numbers
