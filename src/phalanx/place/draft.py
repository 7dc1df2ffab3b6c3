"""A Draft: the free capacity of one tree, to take from, mark and undo.

It outlives a decision: placements that stand are committed by simply not undoing them. Everything that
changes is written to a log of touched nodes, so that counts kept elsewhere (``fit``) follow at the price of
what changed, not of the cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np
import numpy.typing as npt

from phalanx.model.nodes import HostPort, Node, NodeFilter, PodShape, RunningPod
from phalanx.model.problems import Problem
from phalanx.model.resources import Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import Topology, Tree, grow
from phalanx.place import filters
from phalanx.place.nodetable import NodeTable
from phalanx.place.pods import PodTable

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Sums over all nodes must stay below 2**63; a row whose total passes this bound is refused as a Problem.
TOTAL_MAX = 2**61
ROWS_MAX = 512  # resources and host ports in play; at 100,000 nodes 400 MB. A cluster has a dozen
LOG_KEEP = 4096
SHAPES_KEEP = 4096
ANY_ADDRESS = "0.0.0.0"
NO_TOPOLOGY = Topology.of("", ())


@dataclass(slots=True, eq=False)
class Shape:
    """What one pod takes, in the draft's own units, and which nodes admit it.

    Shapes with equal ``key`` are interchangeable; a mask that depends on running pods makes the key unique.
    ``amounts`` are the same needs in nano-units: they outlive a change of units.
    """

    key: object
    rows: Ints
    need: Ints
    mask: Flags | None
    amounts: tuple[int, ...]
    ports: tuple[HostPort, ...] = ()
    score: Ints | None = None
    measured: int = 0  # the version of the units ``need`` is written in


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """One entry of the journal: pods of a shape taken from nodes."""

    shape: Shape
    nodes: Ints
    counts: Ints


def _overlap(first: str, second: str) -> bool:
    return first == second or ANY_ADDRESS in (first, second)


def _too_many(path: str, what: str) -> Problem:
    return Problem(
        path, what, (), f"more than {ROWS_MAX} different resources and host ports are in play; {what} cannot be added"
    )


def _too_fine(path: str, name: str, step: int, total: int) -> Problem:
    return Problem(
        path, f"{name} in steps of {step}n", (),
        f"{name} is asked for in steps of {step} nano-units while the cluster holds {total}; "
        "both together do not fit 64 bits, use coarser amounts",
    )  # fmt: skip


class Draft:
    """Free resources per node in tree order, in exact integer units, with a journal and a log."""

    def __init__(self, tree: Tree, nodes: Sequence[Node], pods: Iterable[RunningPod]) -> None:
        self.tree = tree
        self.table = NodeTable(nodes)
        self.pods = PodTable(self.table)
        self.row: dict[str, int] = {}  # resource name -> row of ``free``
        self.unit: list[int] = []  # nano-units that one step of a row stands for
        self.residue: list[list[int]] = []  # per row and node: free nano-units below one whole unit
        self.largest: list[int] = []  # the most any node allocates of it, in nano-units
        self.total: list[int] = []  # nano-units allocatable in the whole cluster
        self.free: Ints = np.zeros((0, tree.size), np.int64)
        self._buffer: Ints = np.zeros((8, tree.size), np.int64)  # ``free`` is its upper part
        self.units_version = 0
        self.log: list[Ints] = []
        self.log_base = 0
        self.journal: list[Taken] = []
        self.capacities: dict[object, object] = {}  # kept by ``fit``; here because it lives as long as we do
        self.ports: dict[tuple[str, int], dict[tuple[int, str], int]] = {}  # who uses a host port: (node, ip) -> pods
        self._port_row_of: dict[tuple[str, int], dict[str, int]] = {}  # rows of a port by address
        self._shapes: dict[object, Shape] = {}
        self._made = 0  # shapes made so far
        self._same: dict[tuple[int, bool], tuple[PodShape, Shape]] = {}  # by identity; the pod is held so it stays one
        self._masks: dict[object, Flags] = {}
        self._soft_taints = any(taint.effect == "PreferNoSchedule" for node in nodes for taint in node.taints)
        self._fill(nodes, list(pods))

    @classmethod
    def of(cls, snapshot: Snapshot, topology: str | None = None) -> "Draft":
        """The draft of one topology of a snapshot; without a name only the cluster and its nodes are levels."""
        found = next((t for t in snapshot.topologies if t.name == topology), NO_TOPOLOGY)
        tree = grow(found, {node.name: node.labels for node in snapshot.nodes})
        by_name = {node.name: node for node in snapshot.nodes}
        return cls(tree, [by_name[name] for name in tree.names], snapshot.pods)

    # ---- filling ------------------------------------------------------------------------------------

    def _fill(self, nodes: Sequence[Node], pods: list[RunningPod]) -> None:
        amounts: dict[str, list[int]] = {}
        for position, node in enumerate(nodes):
            for name, amount in node.allocatable:
                if name not in amounts:
                    amounts[name] = [0] * len(nodes)
                amounts[name][position] = amount
        bound = [pod for pod in pods if pod.node in self.tree.index]
        used: dict[str, dict[int, int]] = {}
        for pod in bound:
            at = self.tree.index[pod.node]
            for name, amount in pod.requests:
                cell = used.setdefault(name, {})
                cell[at] = cell.get(at, 0) + amount
        for name in sorted(amounts.keys() | used.keys()):
            allocatable = amounts.get(name, [0] * len(nodes))
            self._add_row(name, allocatable, used.get(name, {}))
        for pod in bound:
            self.count_ports(pod.ports, self.tree.index[pod.node], 1)
        self.pods.add(bound)

    def _add_row(self, name: str, allocatable: list[int], used: Mapping[int, int]) -> None:
        self.row[name] = len(self.unit)
        self.unit.append(max(*allocatable, 1) if allocatable else 1)
        self.largest.append(max(allocatable, default=0))
        self.total.append(sum(allocatable))
        free = list(allocatable)
        for at, amount in used.items():
            free[at] -= amount
        self.residue.append([0] * len(free))
        if len(self.unit) > len(self._buffer):
            self._buffer = np.vstack([self._buffer, np.zeros_like(self._buffer)])
        self.free = self._buffer[: len(self.unit)]
        self._measure(self.row[name], free, self.unit[-1])

    def _measure(self, row: int, free: list[int], unit: int) -> None:
        """Writes exact free amounts down in whole units; what is left over is kept for finer units to come."""
        self.unit[row] = unit
        whole = [max(amount // unit, -TOTAL_MAX) for amount in free]
        self.residue[row] = [amount - steps * unit for amount, steps in zip(free, whole, strict=True)]
        self.free[row] = whole

    def free_nano(self, name: str) -> list[int]:
        """Free nano-units of a resource per node, exactly."""
        row = self.row.get(name)
        if row is None:
            return [0] * self.tree.size
        unit = self.unit[row]
        return [steps * unit + rest for steps, rest in zip(self.free[row].tolist(), self.residue[row], strict=True)]

    # ---- shapes -------------------------------------------------------------------------------------

    def accommodate(self, asked: Iterable[Resources], path: str) -> Problem | None:
        """Makes the units fine enough to hold what is asked for exactly; a Problem if 64 bits cannot.

        Only requests decide the unit: of a node's free amount the part below one unit can never be used.
        """
        wanted: dict[str, set[int]] = {}
        for requests in asked:
            for name, amount in requests:
                wanted.setdefault(name, set()).add(amount)
        for name, amounts in wanted.items():
            if name not in self.row:
                if len(self.row) >= ROWS_MAX:
                    return _too_many(path, name)
                self._add_row(name, [0] * self.tree.size, {})
            row = self.row[name]
            # what is larger than every node fits nowhere, whatever the unit
            fitting = {amount for amount in amounts if amount <= self.largest[row]}
            if all(amount % self.unit[row] == 0 for amount in fitting):
                continue
            for unit in (gcd(self.unit[row], *fitting), gcd(*fitting)):
                if self.total[row] // unit <= TOTAL_MAX:
                    self._change_unit(row, unit)
                    break
            else:
                return _too_fine(path, name, gcd(*fitting), self.total[row])
        return None

    def knows(self, pod: PodShape) -> bool:
        """Whether this very pod was seen before, so that its amounts are already accommodated."""
        same = self._same.get((id(pod), True)) or self._same.get((id(pod), False))
        return same is not None and same[0] is pod

    def _change_unit(self, row: int, unit: int) -> None:
        """Another unit for a row. Shapes are written down anew when next used; an unrelated unit forgets them."""
        name = next(key for key, value in self.row.items() if value == row)
        unrelated = self.unit[row] % unit
        self._measure(row, self.free_nano(name), unit)
        self.units_version += 1
        if unrelated:
            self._forget_shapes()
            self.capacities.clear()
        self.capacities.pop("sums", None)

    def renew(self, shape: Shape) -> None:
        """Writes a shape's needs in the units of now."""
        if shape.measured != self.units_version:
            shape.need = self._needs(shape.rows.tolist(), shape.amounts)
            shape.measured = self.units_version

    def _needs(self, rows: Sequence[int], amounts: Sequence[int]) -> Ints:
        """Amounts in whole units; what no node could hold even when empty is one unit more than the largest has."""
        return np.array(
            [
                self.largest[row] // self.unit[row] + 1 if amount > self.largest[row] else amount // self.unit[row]
                for row, amount in zip(rows, amounts, strict=True)
            ],
            dtype=np.int64,
        )

    def shape(self, pod: PodShape, bound: bool) -> Shape:
        """The shape class of a pod, shared by all pods that ask for the same and may use the same nodes.

        ``bound``: nodes outside the topology are not for it. ``accommodate`` came first.
        """
        same = self._same.get((id(pod), bound))  # hashing a whole pod costs more than the rest of a small decision
        if same is not None and same[0] is pod:
            self.renew(same[1])
            return same[1]
        key = (pod.requests, pod.filter, pod.ports, bound)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= SHAPES_KEEP:
                self._forget_shapes()
            self._made += 1  # a number is a quicker key than a whole pod
            found = self._shapes[key] = self._make_shape(self._made, pod, bound)
        self.renew(found)
        if len(self._same) >= SHAPES_KEEP:
            self._same.clear()  # every gang brings pods of its own, alike or not, and holds them here
        self._same[id(pod), bound] = (pod, found)
        return found

    def _forget_shapes(self) -> None:
        self._shapes.clear()
        self._same.clear()

    def _make_shape(self, key: object, pod: PodShape, bound: bool) -> Shape:
        amounts = {self.row[name]: amount for name, amount in pod.requests}
        amounts.update((row, 1) for row in self._port_rows(pod.ports))
        score = self.score(pod.filter) if pod.filter.preferred or self._soft_taints else None
        return self._shaped(key, amounts, self.mask(pod.filter, bound), pod.ports, score)

    def _shaped(
        self, key: object, amounts: Mapping[int, int], mask: Flags | None,
        ports: tuple[HostPort, ...] = (), score: Ints | None = None,
    ) -> Shape:  # fmt: skip
        rows = sorted(amounts)
        nano = tuple(amounts[row] for row in rows)
        need = self._needs(rows, nano)
        return Shape(key, np.array(rows, dtype=np.int64), need, mask, nano, ports, score, self.units_version)

    def lump(self, key: object, requests: Resources) -> Shape:
        """The shape of pods that are there already, wherever they are: only what they take."""
        return self._shaped(key, {self.row[name]: amount for name, amount in requests}, None)

    def local_shape(self, shape: Shape, key: object, mask: Flags) -> Shape:
        """The same pod on fewer nodes, for one decision only."""
        both = mask if shape.mask is None else shape.mask & mask
        return replace(shape, key=(shape.key, key), mask=both)

    def joint_shape(self, shapes: Sequence[Shape], key: object) -> Shape:
        """Several pods that go to one node together, as one shape with added needs."""
        amounts: dict[int, int] = {}
        mask: Flags | None = None
        for shape in shapes:
            for row, amount in zip(shape.rows.tolist(), shape.amounts, strict=True):
                amounts[row] = amounts.get(row, 0) + amount
            if shape.mask is not None:
                mask = shape.mask if mask is None else mask & shape.mask
        ports = tuple(port for shape in shapes for port in shape.ports)
        return self._shaped(("joint", key), amounts, mask, ports)

    def mask(self, node_filter: NodeFilter, bound: bool) -> Flags | None:
        """Nodes a filter admits; None when it admits them all."""
        key = (node_filter.selector, node_filter.required, node_filter.tolerations, bound)
        found = self._masks.get(key)
        if found is None:
            if len(self._masks) >= SHAPES_KEEP:
                self._masks.clear()
            found = filters.admits(self.table, node_filter)
            if bound:
                found = found & self.tree.inside
            self._masks[key] = found
        return None if bool(found.all()) else found

    def score(self, node_filter: NodeFilter) -> Ints | None:
        """How well each node suits: weights of preferred terms, less soft taints; None if all suit alike."""
        score = filters.score(self.table, node_filter) - filters.dislikes(self.table, node_filter.tolerations)
        return score if len(score) and score.min() != score.max() else None

    # ---- host ports ---------------------------------------------------------------------------------

    def _port_rows(self, ports: tuple[HostPort, ...]) -> list[int]:
        """Rows that stand for host ports: one unit a node. A wildcard takes those of every address in play."""
        for port in ports:
            self._port_row(port)
        rows: set[int] = set()
        for port in ports:
            by_address = self._port_row_of[port.protocol, port.port]
            rows |= set(by_address.values()) if port.ip == ANY_ADDRESS else {by_address[port.ip]}
        return sorted(rows)

    def _port_row(self, port: HostPort) -> None:
        by_address = self._port_row_of.setdefault((port.protocol, port.port), {})
        if port.ip in by_address:
            return
        used: dict[int, int] = {}
        for (node, ip), count in self.ports.get((port.protocol, port.port), {}).items():
            if _overlap(ip, port.ip):
                used[node] = used.get(node, 0) + count
        name = f"port {port.protocol}/{port.port}/{port.ip}"
        self._add_row(name, [1] * self.tree.size, used)
        by_address[port.ip] = self.row[name]
        self._widen_wildcards(port)

    def _widen_wildcards(self, port: HostPort) -> None:
        """A new address in play: shapes that hold the wildcard must take it too, so they are made again."""
        stale = [
            key for key, shape in self._shapes.items()
            if any(p.port == port.port and p.protocol == port.protocol for p in shape.ports)
        ]  # fmt: skip
        for key in stale:
            del self._shapes[key]
        self._same.clear()

    def room_for_ports(self, ports: Iterable[HostPort], path: str) -> Problem | None:
        """A Problem if so many different host ports cannot be told apart any more."""
        fresh = {port for port in ports if port.ip not in self._port_row_of.get((port.protocol, port.port), {})}
        if len(self.row) + len(fresh) > ROWS_MAX:
            return _too_many(path, f"{len(fresh)} more host ports")
        return None

    def count_ports(self, ports: tuple[HostPort, ...], node: int, step: int) -> None:
        """Counts the host ports of pods that come to (positive) or leave (negative) a node."""
        for port in ports:
            users = self.ports.setdefault((port.protocol, port.port), {})
            users[node, port.ip] = users.get((node, port.ip), 0) + step
            for ip, row in self._port_row_of.get((port.protocol, port.port), {}).items():
                if _overlap(ip, port.ip):
                    self.free[row, node] -= step

    # ---- taking and undoing -------------------------------------------------------------------------

    @property
    def version(self) -> int:
        return self.log_base + len(self.log)

    def mark(self) -> int:
        return len(self.journal)

    def take(self, shape: Shape, nodes: Ints, counts: Ints) -> None:
        """Takes pods of a shape from nodes (ascending, each once) and remembers it in the journal."""
        self._change(shape, nodes, -counts)
        self.journal.append(Taken(shape, nodes, counts))

    def undo(self, mark: int) -> None:
        """Gives back everything taken since ``mark``; marks nest."""
        while len(self.journal) > mark:
            taken = self.journal.pop()
            self._change(taken.shape, taken.nodes, taken.counts)

    def keep(self) -> tuple[Taken, ...]:
        """Makes everything taken stand: the journal is emptied and handed over."""
        kept, self.journal = tuple(self.journal), []
        return kept

    def give(self, taken: Iterable[Taken]) -> None:
        """Gives back what an earlier ``keep`` handed over."""
        for entry in taken:
            self._change(entry.shape, entry.nodes, entry.counts)

    def _change(self, shape: Shape, nodes: Ints, counts: Ints) -> None:
        if shape.measured == self.units_version and not shape.ports:
            rows = self._together(shape)
            if rows is None:
                self.free[shape.rows[:, None], nodes] += shape.need[:, None] * counts
            else:
                self.free[rows, nodes] += shape.need[:, None] * counts
        else:
            self._change_exactly(shape, nodes, counts)
        self.touch(nodes)

    def _together(self, shape: Shape) -> slice | None:
        """The rows a shape takes from, if they lie together, which they mostly do: a slice is quicker than a list."""
        if not len(shape.rows):
            return None
        first, last = shape.rows.item(0), shape.rows.item(-1) + 1
        return slice(first, last) if last - first == len(shape.rows) else None

    def free_at(self, shape: Shape, nodes: Ints) -> Ints:
        """Free units [row, node] of what a shape takes, on some nodes."""
        rows = self._together(shape)
        return self.free[shape.rows[:, None], nodes] if rows is None else self.free[rows, nodes]

    def _change_exactly(self, shape: Shape, nodes: Ints, counts: Ints) -> None:
        """The same for shapes of other days: units may have changed, and addresses of their ports come into play."""
        ports = {row for by_address in self._port_row_of.values() for row in by_address.values()}
        spots = list(zip(nodes.tolist(), counts.tolist(), strict=True))
        for row, amount in zip(shape.rows.tolist(), shape.amounts, strict=True):
            if row in ports:
                continue
            for node, count in spots:
                steps, rest = divmod(self.residue[row][node] + amount * count, self.unit[row])
                self.free[row, node] += steps
                self.residue[row][node] = rest
        for node, count in spots if shape.ports else ():
            self.count_ports(shape.ports, node, -count)

    def touch(self, nodes: Ints) -> None:
        """Writes to the log that the free capacity of these nodes (ascending) changed."""
        self.log.append(nodes)
        if len(self.log) > LOG_KEEP:
            del self.log[: LOG_KEEP // 2]
            self.log_base += LOG_KEEP // 2

    def touched_since(self, version: int) -> Ints | None:
        """Nodes touched since a version, ascending, each once; None when the log no longer reaches back."""
        if version < self.log_base:
            return None
        entries = self.log[version - self.log_base :]
        if len(entries) == 1:
            return entries[0]
        together = np.concatenate(entries) if entries else np.zeros(0, np.int64)
        if len(entries) > 1:
            together.sort()
            fresh = np.empty(len(together), dtype=bool)
            fresh[:1] = True
            np.not_equal(together[1:], together[:-1], out=fresh[1:])
            together = together[fresh]
        return together
