"""Where a simulation takes place: clusters from a drawing, a shape, manifests, or a table of nodes.

A table names one node per line. Its columns::

    node, <levels, widest first ...>, gpus, cpu, memory, label:KEY

``node`` is needed; gpus, cpu and memory are what the node has; every other column is a level of the topology.
Two published tables are known by their columns: the hosts of Lingjun (ip,DSW,PSW,ASW) and the nodes of openb
(sn,cpu_milli,memory_mib,gpu,model).
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from phalanx.dialects import reading
from phalanx.dialects.surroundings import Surroundings
from phalanx.model import sketch
from phalanx.model.nodes import Node
from phalanx.model.problems import Problem
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.sim.rows import BadRow, Row, table

GPU = sketch.GPU
GPUS = 8  # of a node where nothing says how many
NODES_MAX = 1_000_000  # a slip of the finger in a shape should not fill the memory
LABEL = "label:"
_AMOUNTS = ("gpus", "cpu", "memory")
_PLENTY = {"cpu": "10000", "memory": "1Pi"}  # where a table is silent: what is written is what binds
_SHAPE = re.compile(r"\d{1,6}(?:x\d{1,6}){0,4}")


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster and what manifests may look up in it. ``notes``: what is wrong with its documents."""

    snapshot: Snapshot
    surroundings: Surroundings = field(default_factory=Surroundings)
    notes: tuple[Problem, ...] = ()

    @property
    def topology(self) -> Topology | None:
        """The topology of workloads that name none."""
        marked = [one for one in self.snapshot.topologies if one.name == self.surroundings.default_topology]
        return next(iter(marked or self.snapshot.topologies), None)


def drawn(text: str) -> Site:
    """From a drawing, ``b1: r1=8*4 r2=8*4``, or a shape: ``2x4x16`` is 2 blocks of 4 racks of 16 nodes of 8 GPUs."""
    snapshot = _shaped([int(part) for part in text.split("x")]) if _SHAPE.fullmatch(text) else sketch.snapshot(text)
    return _site(snapshot)


def documents(docs: Sequence[object]) -> Site:
    """From manifests: Node, Topology, bound Pods, queues."""
    found = reading.read_cluster(list(docs))
    return Site(found.snapshot, found.surroundings, found.problems)


def nodes(lines: Iterable[str]) -> Site:
    """From a table of nodes."""
    rows = list(table(lines))
    if not rows:
        raise BadRow(2, "there is no node in it")
    columns = tuple(rows[0].values)
    if {"ip", "DSW", "PSW", "ASW"} <= set(columns):
        return _site(_lingjun(rows))
    if {"sn", "gpu", "cpu_milli", "memory_mib"} <= set(columns):
        return _site(_openb(rows))
    return _site(_own(rows, columns))


def _site(snapshot: Snapshot) -> Site:
    return Site(snapshot, Surroundings(topologies=snapshot.topologies))


def _shaped(widths: list[int]) -> Snapshot:
    total = 1
    for width in widths:
        total *= width
    if not 0 < total <= NODES_MAX:
        raise ValueError(f"a shape has from 1 to {NODES_MAX} nodes, this one {total}")
    names = sketch.LEVELS[len(sketch.LEVELS) - (len(widths) - 1) :]
    labels = [sketch.LABEL_PREFIX + name for name in names]
    topology = Topology.of("shape", labels, names)
    made = [_at(path, labels) for path in itertools.product(*(range(1, width + 1) for width in widths))]
    return Snapshot(tuple(made), (topology,))


def _at(path: tuple[int, ...], labels: list[str]) -> Node:
    name = "n" + "-".join(map(str, path))
    own = {label: str(number) for label, number in zip(labels, path, strict=False)}
    return Node(name, {**own, HOSTNAME: name}, _has(GPUS * NANO))


def _has(gpus: int, cpu: str = "10000", memory: str = "1Pi") -> Resources:
    row = Row(0, {"cpu": cpu, "memory": memory})
    amounts = {GPU: gpus, "cpu": row.quantity("cpu"), "memory": row.quantity("memory")}
    return Resources.of({**amounts, PODS: 10_000 * NANO})


def _own(rows: list[Row], columns: tuple[str, ...]) -> Snapshot:
    levels = [name for name in columns if name not in ("node", *_AMOUNTS) and not name.startswith(LABEL)]
    keys = {name: name if "/" in name else sketch.LABEL_PREFIX + name for name in levels}
    return _snapshot("nodes", [_node(row, keys) for row in rows], keys)


def _node(row: Row, keys: dict[str, str]) -> Node:
    name = row.text("node")
    labels = {key: row.text(column, "") for column, key in keys.items()}
    labels |= {column.removeprefix(LABEL): row.text(column, "") for column in row.values if column.startswith(LABEL)}
    present = {key: value for key, value in labels.items() if value}
    amounts = {amount: row.quantity(amount, usual) for amount, usual in _PLENTY.items()}
    has = Resources.of({GPU: row.quantity("gpus", str(GPUS)), **amounts, PODS: 10_000 * NANO})
    return Node(name, {**present, HOSTNAME: name}, has)


def _lingjun(rows: list[Row]) -> Snapshot:
    """Core, aggregation group and leaf switches; every host has 8 GPUs."""
    keys = {"DSW": "lingjun/core", "PSW": "lingjun/aggregation", "ASW": "lingjun/leaf"}
    has = _has(GPUS * NANO)
    made = []
    for row in rows:
        name = row.text("ip")
        made.append(Node(name, {**{key: row.text(column) for column, key in keys.items()}, HOSTNAME: name}, has))
    return _snapshot("lingjun", made, keys)


def _openb(rows: list[Row]) -> Snapshot:
    """A flat cluster; the model of the GPUs is a label."""
    made = []
    for row in rows:
        name = row.text("sn")
        has = _has(row.quantity("gpu"), f"{row.whole('cpu_milli')}m", f"{row.whole('memory_mib')}Mi")
        made.append(Node(name, {"openb/model": row.text("model", ""), HOSTNAME: name}, has))
    return _snapshot("openb", made, {})


def _snapshot(name: str, made: list[Node], keys: dict[str, str]) -> Snapshot:
    names = {node.name for node in made}
    if len(names) < len(made):
        twice = next(node.name for node in made if sum(other.name == node.name for other in made) > 1)
        raise BadRow(1, f"node {twice!r} stands there twice")
    return Snapshot(tuple(made), (Topology.of(name, list(keys.values())),) if keys else ())
