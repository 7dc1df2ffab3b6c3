"""Sets of vectors that are closed downwards, as tables and as their maximal members."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from phalanx.place.budget import BudgetSpent

Ints = npt.NDArray[np.int64]
Vector = tuple[int, ...]

CELLS_MAX = 2_000_000  # of one table; larger ones are not built (16 MB)


class Table:
    """For every vector over all types but the most numerous one: how many of that one still fit, or -1."""

    __slots__ = ("axis", "cells", "most", "others", "values")

    def __init__(self, most: list[int], axis: int, values: Ints) -> None:
        self.most, self.axis, self.values = most, axis, values
        self.others = [i for i in range(len(most)) if i != axis]
        self.cells = values.size

    @staticmethod
    def empty(most: list[int]) -> "Table":
        axis = max(range(len(most)), key=lambda i: most[i])
        shape = tuple(most[i] + 1 for i in range(len(most)) if i != axis) or (1,)
        if np.prod(shape, dtype=np.float64) > CELLS_MAX:
            raise BudgetSpent
        values = np.full(shape, -1, dtype=np.int64)
        values[(0,) * len(shape)] = 0
        return Table(most, axis, values)

    @property
    def full(self) -> bool:
        return bool(self.values[tuple(s - 1 for s in self.values.shape)] >= self.most[self.axis])

    def reaches(self, wanted: list[int]) -> bool:
        return bool(self.values[tuple(wanted[i] for i in self.others) or (0,)] >= wanted[self.axis])

    def plus(self, vectors: list[Vector]) -> "Table":
        """The table once one more child is there that holds any one of ``vectors``."""
        best: Ints | None = None
        for vector in vectors:
            moved = self.values
            if self.others:
                picks = [
                    np.maximum(np.arange(size) - vector[i], 0)
                    for size, i in zip(self.values.shape, self.others, strict=True)
                ]
                moved = self.values[np.ix_(*picks)]
            gain = vector[self.axis]
            if gain:
                moved = np.where(moved >= 0, np.minimum(moved + gain, self.most[self.axis]), -1)
            best = moved if best is None else np.maximum(best, moved)
        return Table(self.most, self.axis, self.values if best is None else best)

    def maximal(self) -> list[Vector]:
        keep = self.values >= 0
        for dim in range(self.values.ndim):
            lower: list[slice] = [slice(None)] * self.values.ndim
            upper: list[slice] = [slice(None)] * self.values.ndim
            lower[dim], upper[dim] = slice(0, -1), slice(1, None)
            keep[tuple(lower)] &= self.values[tuple(lower)] > self.values[tuple(upper)]
        out = []
        for cell in np.argwhere(keep).tolist():
            vector = [0] * len(self.most)
            for i, x in zip(self.others, cell, strict=False):
                vector[i] = x
            vector[self.axis] = int(self.values[tuple(cell)])
            out.append(tuple(vector))
        return out


def maximal(vectors: list[Vector]) -> list[Vector]:
    """The vectors that no other one covers, in falling order."""
    kept: list[Vector] = []
    for vector in sorted(set(vectors), reverse=True):
        if not any(all(a >= b for a, b in zip(other, vector, strict=True)) for other in kept):
            kept.append(vector)
    return kept


def grid_maximal(good: npt.NDArray[np.bool_]) -> list[Vector]:
    """Maximal true cells of a grid that is closed downwards."""
    keep = good.copy()
    for dim in range(good.ndim):
        lower: list[slice] = [slice(None)] * good.ndim
        upper: list[slice] = [slice(None)] * good.ndim
        lower[dim], upper[dim] = slice(0, -1), slice(1, None)
        keep[tuple(lower)] &= ~good[tuple(upper)]
    return [tuple(v) for v in np.argwhere(keep).tolist()]


def windowed(vectors: list[Vector], column: int, low: int, high: int) -> list[Vector]:
    """At most ``high`` of a column; ``low`` of it set aside, or the vector is no use."""
    out = []
    for vector in vectors:
        held = min(vector[column], high)
        if held >= low:
            out.append((*vector[:column], held - low, *vector[column + 1 :]))
    return out


def without(vector: Vector, column: int) -> Vector:
    return (*vector[:column], 0, *vector[column + 1 :])


def lowered(vector: Vector, weights: list[tuple[int, int]], most: int) -> Iterator[Vector]:
    """Maximal vectors below ``vector`` whose weighted sum over some columns is at most ``most``."""
    if not weights:
        yield vector
        return
    (column, weight), rest = weights[0], weights[1:]
    fits = min(vector[column], most // weight)
    lowest = fits if not rest else 0
    for number in range(fits, lowest - 1, -1):
        changed = (*vector[:column], number, *vector[column + 1 :])
        yield from lowered(changed, rest, most - number * weight)
