"""The running pods as columns: which of them a selector means, where they are, and whom they keep away.

Pods that look alike to every selector (same namespace, labels and anti-affinity) form one *kind*. A pod is then
a row of two integers, its kind and its node, and a selector is read once per kind::

    kind   namespace  labels              row   kind  node
    0      ml         app=train             0      0     3
    1      ml         app=serve             1      0     4        app=serve  ->  rows 2
                                            2      1     4
                                            3      -    -1        free, taken by the next pod that comes

Rows and kinds are handed on when their pods leave, so a gang that comes and goes costs its own size and never
that of the cluster.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.matching import selects
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import LabelSelector, Pairs, PodShape, PodTerm, RunningPod
from phalanx.model.topology import Flags, Ints
from phalanx.place import filters
from phalanx.place.nodetable import ABSENT, Column, NodeTable

PodName = tuple[str, str]  # namespace, name: a bare pod name is not unique
Namespaces = tuple[str, ...] | None  # None: all of them
_Wanted = tuple[LabelSelector, Namespaces]

NOWHERE = -1  # the position of a free row, and of a pod whose node is not in the table
MASKS_MAX = 256  # remembered selectors; at 50,000 pods 13 MB. The one made first goes first
ROWS_MIN = 16  # arrays double from here


@dataclass(frozen=True, slots=True)
class _Kind:
    """What selectors see of a pod."""

    namespace: str
    labels: Pairs
    anti_affinity: tuple[PodTerm, ...]

    def value(self, key: str | None) -> str | None:
        """The value of a label; of the namespace when ``key`` is None."""
        if key is None:
            return self.namespace
        return next((value for name, value in self.labels if name == key), None)


class PodTable:
    """The running pods of a cluster over the nodes of one table.

    ``add`` and ``remove`` change it in place and raise ``version``; arrays handed out before stay as they were.
    A pod on a node that the table does not know counts nowhere and keeps nobody away. A changed set of nodes
    makes a new table.
    """

    def __init__(self, nodes: NodeTable, pods: Iterable[RunningPod] = ()) -> None:
        self.version = 0
        self._nodes = nodes
        self._row_of: dict[PodName, int] = {}
        self._position: Ints = np.full(0, NOWHERE, np.int64)  # [P] by row
        self._kind_of: Ints = np.zeros(0, np.int64)  # [P] by row; a free row keeps the last one it had
        self._free: list[int] = []
        self._touched: list[int] = []  # rows changed since the oldest remembered mask was made
        self._masks: dict[_Wanted, tuple[int, Flags]] = {}  # with how many touched rows it has seen
        self._kinds = _Kinds()
        self.add(pods)

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def positions(self) -> Ints:
        """By row the position of the pod's node; NOWHERE for a row without a pod or of an unknown node."""
        return self._position.copy()

    @property
    def hostile(self) -> bool:
        """Whether any running pod has an anti-affinity term; without one ``blocked_by_running`` is never needed."""
        return self._kinds.hostile

    def add(self, pods: Iterable[RunningPod]) -> None:
        """Let pods in. Each is new: a pod that moved is removed first."""
        for pod in pods:
            name = (pod.namespace, pod.name)
            if name in self._row_of:
                raise Mistake(f"pod {pod.namespace}/{pod.name} is already here")
            self._row_of[name] = self._occupy(pod)
        self._changed()

    def remove(self, names: Iterable[PodName]) -> None:
        """Let pods go, each named by (namespace, name) and present until now."""
        for name in names:
            if name not in self._row_of:
                raise Mistake(f"pod {name[0]}/{name[1]} is not here")
            self._vacate(self._row_of.pop(name))
        self._changed()

    def matching(self, selector: LabelSelector, namespaces: Namespaces) -> Flags:
        """The rows whose pod a selector means, in these namespaces (None: in all). Not to be written to.

        The answer is remembered and, when asked again, corrected in the rows that changed in between.
        """
        wanted = (selector, namespaces)
        if wanted not in self._masks:
            return self._remember(wanted, self._read(wanted))
        seen, mask = self._masks[wanted]
        if seen == len(self._touched):
            return mask
        return self._remember(wanted, self._corrected(wanted, mask, np.array(self._touched[seen:], np.int64)))

    def counts_by_node(self, mask: Flags) -> Ints:
        """Per node how many of the marked rows are on it. The mask is one of this version."""
        if len(mask) != len(self._position):
            raise Mistake("the mask belongs to another version of the table")
        marked = self._position[mask]
        return np.bincount(marked[marked >= 0], minlength=self._nodes.size)

    def blocked_by_running(self, shape: PodShape) -> Flags:
        """The nodes that the anti-affinity of running pods closes to pods of this shape.

        A term closes all nodes that carry the same value of its key as the node its pod is on.
        """
        blocked = np.zeros(self._nodes.size, bool)
        for key, kinds in self._kinds.hostile_to(shape).items():
            column = self._nodes.labels(key)
            closed = column.codes[self._positions_of(kinds)]
            blocked |= column.where(closed[closed != ABSENT])
        return blocked

    def _positions_of(self, kinds: set[int]) -> Ints:
        marked = np.zeros(self._kinds.size, bool)
        marked[list(kinds)] = True
        positions = self._position[marked.take(self._kind_of)]
        return positions[positions >= 0]

    def _occupy(self, pod: RunningPod) -> int:
        if not self._free:
            self._grow()
        row = self._free.pop()
        self._position[row] = self._nodes.names.index.get(pod.node, NOWHERE)
        self._kind_of[row] = self._kinds.join(_kind(pod))
        self._touched.append(row)
        return row

    def _vacate(self, row: int) -> None:
        self._kinds.leave(int(self._kind_of[row]))
        self._position[row] = NOWHERE
        self._free.append(row)
        self._touched.append(row)

    def _grow(self) -> None:
        before = len(self._position)
        after = max(ROWS_MIN, 2 * before)
        self._position = _longer(self._position, after, NOWHERE)
        self._kind_of = _longer(self._kind_of, after, 0)
        self._free = list(range(after - 1, before - 1, -1))  # the lowest row is the next one

    def _changed(self) -> None:
        """One version further. When the list of touched rows outgrows the rows, starting over is cheaper."""
        self.version += 1
        if len(self._touched) > len(self._position):
            self._touched.clear()
            self._masks.clear()

    def _read(self, wanted: _Wanted) -> Flags:
        """The mask from nothing: once per kind, then handed to the rows."""
        kinds = self._kinds.selected(*wanted, np.arange(self._kinds.size))
        return kinds.take(self._kind_of) & (self._position >= 0)

    def _corrected(self, wanted: _Wanted, mask: Flags, rows: Ints) -> Flags:
        """A mask of today's length, read anew in the given rows only."""
        fresh = np.zeros(len(self._position), bool)
        fresh[: len(mask)] = mask
        fresh[rows] = self._kinds.selected(*wanted, self._kind_of[rows]) & (self._position[rows] >= 0)
        return fresh

    def _remember(self, wanted: _Wanted, mask: Flags) -> Flags:
        mask.flags.writeable = False
        self._masks[wanted] = (len(self._touched), mask)
        if len(self._masks) > MASKS_MAX:
            del self._masks[next(iter(self._masks))]
        return mask


class _Kinds:
    """The distinct kinds of pods, numbered; a number is handed on when the last pod of its kind is gone."""

    def __init__(self) -> None:
        self._kinds: list[_Kind] = []
        self._pods: list[int] = []  # by kind: how many pods; 0 marks a free number
        self._free: list[int] = []
        self._number: dict[_Kind, int] = {}
        self._columns: dict[str | None, _Growing] = {}  # by kind; made when a selector first asks. None: namespace
        self._hostile: dict[tuple[str, str] | None, dict[PodTerm, set[int]]] = {}  # anchor -> term -> kinds

    @property
    def size(self) -> int:
        """How many numbers there are, free ones included."""
        return len(self._kinds)

    @property
    def hostile(self) -> bool:
        return bool(self._hostile)

    def join(self, kind: _Kind) -> int:
        """The number of a kind, one pod more."""
        number = self._number.get(kind)
        if number is None:
            number = self._settle(kind)
        self._pods[number] += 1
        return number

    def leave(self, number: int) -> None:
        """One pod of a kind less; the last one frees its number."""
        self._pods[number] -= 1
        if self._pods[number]:
            return
        kind = self._kinds[number]
        del self._number[kind]
        self._free.append(number)
        for anchor, term in _anchored(kind):
            self._unlist(anchor, term, number)

    def selected(self, selector: LabelSelector, namespaces: Namespaces, kinds: Ints) -> Flags:
        """Which entries of a list of kinds a selector means."""
        if selector.matches_nothing:
            return np.zeros(len(kinds), bool)
        found = np.ones(len(kinds), bool)
        if namespaces is not None:
            found &= self._column(None).at(kinds).among(namespaces)
        for key, value in selector.labels:
            found &= self._column(key).at(kinds).equal(value)
        for requirement in selector.requirements:
            found &= filters.holds(self._column(requirement.key).at(kinds), requirement)
        return found

    def hostile_to(self, shape: PodShape) -> dict[str, set[int]]:
        """Topology key -> the kinds that keep pods of this shape away by it."""
        labels = dict(shape.labels)
        found: dict[str, set[int]] = {}
        for anchor in (None, *labels.items()):
            for term, kinds in self._hostile.get(anchor, {}).items():
                if _in_scope(term.namespaces, shape.namespace) and selects(term.selector, labels):
                    found.setdefault(term.key, set()).update(kinds)
        return found

    def _settle(self, kind: _Kind) -> int:
        number = self._free.pop() if self._free else self._append()
        self._kinds[number] = kind
        self._number[kind] = number
        self._write(number, kind)
        for anchor, term in _anchored(kind):
            self._hostile.setdefault(anchor, {}).setdefault(term, set()).add(number)
        return number

    def _append(self) -> int:
        self._kinds.append(_Kind("", (), ()))
        self._pods.append(0)
        return len(self._kinds) - 1

    def _write(self, number: int, kind: _Kind) -> None:
        """Bring the columns in use up to date. One that mostly numbers values long gone is dropped instead."""
        for key, column in list(self._columns.items()):
            if column.values_count > 2 * len(self._kinds) + ROWS_MIN:
                del self._columns[key]
            else:
                column.put(number, kind.value(key))

    def _column(self, key: str | None) -> "_Growing":
        if key not in self._columns:
            self._columns[key] = _Growing([kind.value(key) for kind in self._kinds])
        return self._columns[key]

    def _unlist(self, anchor: tuple[str, str] | None, term: PodTerm, number: int) -> None:
        terms = self._hostile[anchor]
        terms[term].discard(number)
        if not terms[term]:
            del terms[term]
        if not terms:
            del self._hostile[anchor]


class _Growing:
    """A column that gets new rows and new values; values are numbered as they come."""

    def __init__(self, found: Sequence[str | None]) -> None:
        self._codes: Ints = np.full(max(ROWS_MIN, len(found)), ABSENT, np.int64)
        self._values: list[str] = []
        self._index: dict[str, int] = {}
        for row, value in enumerate(found):
            self.put(row, value)

    @property
    def values_count(self) -> int:
        return len(self._values)

    def put(self, row: int, value: str | None) -> None:
        if row >= len(self._codes):
            self._codes = _longer(self._codes, 2 * len(self._codes), ABSENT)
        self._codes[row] = ABSENT if value is None else self._code(value)

    def at(self, rows: Ints) -> Column:
        return Column(self._codes.take(rows), self._values, self._index)

    def _code(self, value: str) -> int:
        code = self._index.setdefault(value, len(self._values))
        if code == len(self._values):
            self._values.append(value)
        return code


def _kind(pod: RunningPod) -> _Kind:
    return _Kind(pod.namespace, tuple(sorted(pod.labels.items())), pod.anti_affinity)


def _in_scope(namespaces: Namespaces, namespace: str) -> bool:
    return namespaces is None or namespace in namespaces


def _anchored(kind: _Kind) -> Iterator[tuple[tuple[str, str] | None, PodTerm]]:
    """The anti-affinity terms of a kind, each with the labels under which it is looked up."""
    for term in dict.fromkeys(kind.anti_affinity):  # nothing forbids to say a thing twice
        for anchor in _anchors(term.selector):
            yield anchor, term


def _anchors(selector: LabelSelector) -> Sequence[tuple[str, str] | None]:
    """Labels of which a pod needs one to be meant by a selector; (None,) if there are none to name.

    Thousands of gangs with terms of their own (``job=this``, ``job=that``) are then not read one by one for
    every shape: only those whose label the shape carries.
    """
    if selector.labels:
        return selector.labels[:1]
    for requirement in selector.requirements:
        if requirement.operator == "In":
            return sorted({(requirement.key, value) for value in requirement.values})
    return (None,)


def _longer(array: Ints, size: int, filler: int) -> Ints:
    longer = np.full(size, filler, np.int64)
    longer[: len(array)] = array
    return longer
