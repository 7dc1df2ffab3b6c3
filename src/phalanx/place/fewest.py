"""How few pods of one leaf every domain may have: lower bounds of all levels and whole slices together.

As with what fits at most (``fit``) counting is exact: what a child may have goes in whole slices from its least to its
most, so what all children of a domain may have does too.

    at least 1 on a node, slices of 4 in a rack      nodes 1 1 1 | 1 1      racks 4 | 4
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from phalanx.place.draft import Draft
from phalanx.place.fit import Capacity, refresh
from phalanx.place.plan import Leaf
from phalanx.place.split import Style, descend

Ints = npt.NDArray[np.int64]

NEVER = 2**40  # of a domain that cannot have what it must; sums of it over all nodes stay in 64 bits


def counts(draft: Draft, leaf: Leaf, most: Capacity, level: int) -> list[Ints]:
    """The least for each domain of ``level`` and of all below it, by level; NEVER where nothing will do."""
    tree = draft.tree
    least = [np.zeros(0, dtype=np.int64)] * (tree.host + 1)
    below = np.zeros(tree.size, dtype=np.int64)
    for at in range(tree.host, level - 1, -1):
        window = leaf.windows.get(at)
        here = below if window is None or window.low is None else np.maximum(below, window.low)
        step = most.step(at)
        here = -(-here // step) * step
        least[at] = here = np.where(here > most.levels[at], NEVER, here)
        if at > level:
            below = np.add.reduceat(here, tree.children[at - 1][:-1])
    return least


def place(
    draft: Draft, leaf: Leaf, least: list[Ints], level: int, domain: int, style: Style
) -> Iterator[tuple[Ints, Ints]]:
    """All pods of a leaf in one domain that may have them, part by part; each is taken before the next is asked for.

    First what every node must have; then, level by level, what a domain must have beyond what is inside it; then the
    rest.
    """
    tree = draft.tree
    nodes = tree.within(level, domain, tree.host)
    placed: Ints = np.zeros(tree.size, dtype=np.int64)
    placed[nodes.start : nodes.stop] = least[tree.host][nodes.start : nodes.stop]
    yield from _some(placed)
    for at in range(tree.host - 1, level - 1, -1):
        inside = tree.within(level, domain, at)
        has = np.add.reduceat(placed, tree.start[at][:-1])
        wanted = np.array([leaf.count]) if at == level else least[at][inside.start : inside.stop]
        missing = wanted - has[inside.start : inside.stop]
        if not missing.any():
            continue
        room, more = _room(draft, leaf, at, placed), np.zeros(tree.size, dtype=np.int64)
        for number in np.flatnonzero(missing).tolist():
            chosen, pods = descend(tree, room, at, inside.start + number, int(missing[number]), style)
            more[chosen] += pods
        placed += more
        yield from _some(more)


def _some(pods: Ints) -> Iterator[tuple[Ints, Ints]]:
    nodes = np.flatnonzero(pods)
    if len(nodes):
        yield nodes, pods[nodes]


def _room(draft: Draft, leaf: Leaf, level: int, placed: Ints) -> Capacity:
    """How many fit beyond those inside domains of a level: what is placed has used its part of each bound."""
    bounds: dict[int, Ints | int] = {}
    for at, high in leaf.highs(level).items():
        bounds[at] = high - np.add.reduceat(placed, draft.tree.start[at][:-1])
    room = Capacity(leaf.shape, leaf.layers(level)[0], bounds)
    refresh(draft, room)
    return room
