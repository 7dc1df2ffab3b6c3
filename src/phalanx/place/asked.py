"""What is asked of a domain: pods, slices and whole groups as types with counts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.place.draft import Shape
from phalanx.place.plan import Leaf, Plan, Unit

Ints = npt.NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Type:
    """Something a domain is asked for. ``level`` None: a pod; else opened inside one domain of that level."""

    number: int
    level: int | None
    content: dict[int, int]
    shape: Shape | None = None
    leaf: Leaf | None = None


class Types:
    """All types of a plan, equal ones once."""

    def __init__(self, plan: Plan) -> None:
        self.all: list[Type] = []
        self._known: dict[object, int] = {}
        self.root = self.unit(plan.root, 0)

    def _intern(self, key: object, level: int | None, content: dict[int, int], leaf: Leaf | None) -> int:
        if key not in self._known:
            self._known[key] = len(self.all)
            shape = leaf.shape if leaf is not None else None
            self.all.append(Type(len(self.all), level, content, shape, leaf))
        return self._known[key]

    def pod(self, leaf: Leaf) -> int:
        key = ("pod", leaf.shape.key, leaf.number if leaf.alone else None)
        return self._intern(key, None, {}, leaf)

    def of_leaf(self, leaf: Leaf, above: int) -> tuple[int, int]:
        """(type, how many): the outermost slices of a leaf, or its pods."""
        inner, size = self.pod(leaf), 1
        for level, number in reversed(leaf.units):
            if level > above:
                key = ("slice", level, number, inner)
                inner, size = self._intern(key, level, {inner: number // size}, None), number
        return inner, leaf.count // size

    def unit(self, unit: Unit, above: int) -> int:
        level = max(unit.level, above)
        content: dict[int, int] = {}
        for leaf in unit.loose:
            if leaf.count:
                kind, number = self.of_leaf(leaf, level)
                content[kind] = content.get(kind, 0) + number
        for kid in unit.kids:
            kind = self.unit(kid, level)
            content[kind] = content.get(kind, 0) + 1
        return self._intern(("unit", level, tuple(sorted(content.items()))), level, content, None)

    def opened(self, level: int, wanted: dict[int, int]) -> dict[int, int]:
        """What children of a domain of ``level`` are asked for when the domain is asked for ``wanted``."""
        below: dict[int, int] = {}
        todo = list(wanted.items())
        while todo:
            kind, number = todo.pop()
            found = self.all[kind]
            if found.level is not None and found.level <= level:
                todo += [(inner, count * number) for inner, count in found.content.items()]
            else:
                below[kind] = below.get(kind, 0) + number
        return below

    def pods_in(self, kind: int, pod: int) -> int:
        """How many pods of one pod type a type holds."""
        if kind == pod:
            return 1
        return sum(count * self.pods_in(inner, pod) for inner, count in self.all[kind].content.items())


def realise(
    types: Types,
    level: int,
    kind: int,
    pool: dict[int, list[object]],
    left: Callable[[int, int, int], int] | None = None,
) -> object:
    """One of a type, made of what is in the pool: a node number, or for an opened type its content."""
    found = types.all[kind]
    if found.level is None or found.level > level:
        return pool[kind].pop()
    return {
        inner: [
            realise(types, level, inner, pool, left)
            for _ in range(count if left is None else min(count, left(level, inner, count)))
        ]
        for inner, count in found.content.items()
    }


def attribute(types: Types, unit: Unit, level: int, content: object, placed: dict[int, list[int]]) -> None:
    """Hands what a unit became to its own leaves and kids."""
    if not isinstance(content, dict):
        raise Mistake("a unit became something else than its parts")
    level = max(unit.level, level)
    for leaf in unit.loose:
        if leaf.count:
            kind, number = types.of_leaf(leaf, level)
            items = content[kind]
            for _ in range(min(number, len(items))):
                placed[leaf.number] += _flat(items.pop())
    for kid in unit.kids:
        attribute(types, kid, level, content[types.unit(kid, level)].pop(), placed)


def _flat(item: object) -> list[int]:
    if isinstance(item, dict):
        return [node for inner in item.values() for part in inner for node in _flat(part)]
    if not isinstance(item, int):
        raise Mistake("a pod was placed on something else than a node")
    return [item]


def counted(nodes: list[int]) -> tuple[Ints, Ints]:
    unique, counts = np.unique(np.array(nodes, dtype=np.int64), return_counts=True)
    return unique, counts.astype(np.int64)
