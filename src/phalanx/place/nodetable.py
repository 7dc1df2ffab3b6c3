"""The nodes as columns of small integers, so that a filter is a comparison of arrays and not a walk over nodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phalanx.model.nodes import Node, Taint
from phalanx.model.topology import Flags, Ints

ABSENT = -1  # the code of a row that lacks the label
FEW = 4  # up to here comparing (20 us each at 102,400 rows) beats one lookup (110 us)
UNHEARD = -2  # the code of a value that no row carries; equal to no code in any column


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One label over all rows: ``codes[row]`` numbers the row's value, ABSENT where it has none."""

    codes: Ints
    values: Sequence[str]
    index: Mapping[str, int]  # value -> code

    def equal(self, value: str) -> Flags:
        """Rows that carry exactly this value."""
        return np.equal(self.codes, self.index.get(value, UNHEARD))

    def among(self, values: Sequence[str]) -> Flags:
        """Rows whose value is one of these."""
        return self.where([self.index[value] for value in values if value in self.index])

    def where(self, codes: Sequence[int] | Ints) -> Flags:
        """Rows whose value has one of these codes; rows without a value never."""
        return any_of(self.codes, codes, len(self.values))


class NodeTable:
    """What filters ask about nodes, in tree order. Never changed; a changed node or label makes a new table.

    A column is made when somebody first asks for its label and kept. Most labels of a real node (there are
    dozens) are never asked for, so making the table itself costs next to nothing.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self._columns: dict[str, Column] = {}

    @property
    def size(self) -> int:
        return len(self.nodes)

    def column(self, key: str) -> tuple[Ints, tuple[str, ...]]:
        """The codes of a label, one per node, and the values they number in sorted order."""
        labels = self.labels(key)
        return labels.codes, tuple(labels.values)

    def labels(self, key: str) -> Column:
        """The column of a label; the same object every time."""
        if key not in self._columns:
            self._columns[key] = _intern([node.labels.get(key) for node in self.nodes])
        return self._columns[key]

    @cached_property
    def names(self) -> Column:
        """The node names as a column: the code of a name is the node's position, not its rank in the alphabet."""
        names = tuple(node.name for node in self.nodes)
        positions = np.arange(len(names), dtype=np.int64)
        positions.flags.writeable = False
        return Column(positions, names, {name: position for position, name in enumerate(names)})

    @cached_property
    def taints(self) -> tuple[Ints, tuple[tuple[Taint, ...], ...]]:
        """One code per node, and the distinct lists of taints they number in sorted order.

        Nodes are tainted by pool and by condition, so a large cluster has a handful of distinct lists.
        """
        met: dict[tuple[Taint, ...], int] = {}  # numbered as met: hashing taints is dear, so each node's once
        codes = [met.setdefault(node.taints, len(met)) for node in self.nodes]
        distinct = sorted(met, key=_taint_order)
        rank = {met[taints]: code for code, taints in enumerate(distinct)}
        return _frozen(map(rank.__getitem__, codes)), tuple(distinct)


def any_of(column: Ints, codes: Sequence[int] | Ints, size: int) -> Flags:
    """Where a column of codes below ``size`` holds one of the given ones. ABSENT is not one to give.

    The lookup table keeps one entry more than there are codes: ABSENT, as an index, is the last one.
    """
    if len(codes) <= FEW:
        found = np.zeros(len(column), bool)
        for code in codes:
            found |= column == code
        return found
    hit = np.zeros(size + 1, bool)
    hit[codes] = True
    return hit.take(column)


def _intern(found: Sequence[str | None]) -> Column:
    """Number the values in sorted order: the same nodes give the same codes under any hash seed."""
    values = tuple(sorted({value for value in found if value is not None}))
    index = {value: code for code, value in enumerate(values)}
    lookup = {value: code for code, value in enumerate((None, *values), ABSENT)}
    return Column(_frozen(map(lookup.__getitem__, found)), values, index)


def _taint_order(taints: tuple[Taint, ...]) -> list[tuple[str, str, str]]:
    return [(taint.key, taint.value, taint.effect) for taint in taints]


def _frozen(codes: Iterable[int]) -> Ints:
    column = np.fromiter(codes, np.int64)
    column.flags.writeable = False
    return column
