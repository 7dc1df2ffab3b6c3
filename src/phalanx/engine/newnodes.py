"""How few more nodes would do: copies of one that is there, of each kind and in each domain that could matter.

What a kind would need at the least is counted first: the pods that a domain lacks, divided by what an empty node of the
kind holds. Kinds come in this order, and none is tried that cannot do with fewer than the best one so far.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from phalanx.engine.board import Board
from phalanx.engine.tries import PER_NODE, Tries
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME
from phalanx.place import evidence, fit
from phalanx.place.draft import Draft

NODES_MAX = 64  # nodes added at most: beyond, "buy more" is a plan and not a way out
STAGE_MAX = 20_000  # nodes of a board made anew for that: twice, and each takes a third of a second

NEVER = NODES_MAX + 1

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Model:
    """A node to copy. ``least``: with fewer copies it cannot work."""

    node: Node
    least: int


def fewest(
    tries: Tries, board: Board, request: Request, sets: Sequence[PodSet], near: tuple[str, ...]
) -> tuple[int, str] | None:
    """How many copies of which node let the request start; None where none was found. ``sets``: those that lack room.
    ``near``: the domain that is told of where several would do."""
    best: tuple[int, str] | None = None
    if tries.is_spent:
        return None
    for model in _models(board, request, sets, near):
        most = NODES_MAX if best is None else best[0] - 1
        if model.least > most or tries.is_spent:
            break
        stage = _stage(board, request, model.node)
        if len(stage.nodes) > STAGE_MAX:
            continue
        count = _fewest(tries, stage, request, model, most)
        if count is not None:
            best = count, model.node.name
    return best


def _models(board: Board, request: Request, sets: Sequence[PodSet], near: tuple[str, ...]) -> list[_Model]:
    """Nodes that hold a pod of what lacks room when they are empty, one of each kind in each domain; those that may do
    with the fewest copies first, then those of the domain that is told of, then the largest."""
    draft = board.draft(request.topology)
    empty, tree = evidence.emptied(draft), draft.tree
    amounts = [pods.shape.requests for pods in request.root.pod_sets()]
    if not sets or not tree.size or any(one.accommodate(amounts, "resources") is not None for one in (draft, empty)):
        return []
    rooms = [_room(empty, one).levels[tree.host] for one in sets]
    bounds = [*_by_sums(draft, empty, request)]
    bounds += [_of_set(draft, request, *one) for one in zip(sets, rooms, strict=True)]
    least, held = np.maximum(1, np.max(bounds, axis=0)), np.max(rooms, axis=0)
    firsts: dict[object, int] = {}
    keys = _told_by(request)
    for i in np.flatnonzero(held).tolist():
        node = draft.table.nodes[i]
        labels = tuple(node.labels.get(key) for key in keys)
        alike = (tree.paths[i][:-1], tuple(int(room[i]) for room in rooms), labels, node.taints)
        firsts.setdefault(alike, i)

    def order(i: int) -> tuple[int, bool, int, int]:
        return int(least[i]), tree.paths[i][: len(near)] != near, -int(held[i]), i

    return [_Model(draft.table.nodes[i], int(least[i])) for i in sorted(firsts.values(), key=order)]


def _room(draft: Draft, pods: PodSet) -> fit.Capacity:
    """How many pods of a set every domain counts room for, its slices aside."""
    return fit.capacity(draft, draft.shape(pods.shape, bool(draft.tree.topology.name)))


def _of_set(draft: Draft, request: Request, pods: PodSet, room: Ints) -> Ints:
    """For each node how many copies of it one pod set needs at the least: none where another domain counts room."""
    tree = draft.tree
    level = max(group.required or 0 for group in evidence.around(request.root, pods.name))
    there = _room(draft, pods).levels[level]
    if there.max(initial=0) >= pods.min_count:
        return np.zeros(tree.size, dtype=np.int64)
    short = pods.min_count - there[tree.domain[level]]
    return np.where(room > 0, -(-short // np.maximum(room, 1)), NEVER)


def _by_sums(draft: Draft, empty: Draft, request: Request) -> Iterator[Ints]:
    """For each node how many copies of it the sums ask for. All pods are in the domain that must hold them all; those
    of sets for which no domain of their level counts room can only be in the one where the copies are."""
    if any(group.min_members is not None for group in request.root.groups()):
        return  # who is left out is not known
    held: dict[int, list[PodSet]] = {_level_of_all(request.root): list(request.root.pod_sets())}
    for group, level in _levels(request.root, 0):
        for pods in (one for one in group.members if isinstance(one, PodSet)):
            if _room(draft, pods).levels[level].max(initial=0) < pods.min_count:
                held.setdefault(level, []).append(pods)
    for level, sets in held.items():
        yield _in_one(draft, empty, list({pods.name: pods for pods in sets}.values()), level)


def _levels(group: Group, outer: int) -> Iterator[tuple[Group, int]]:
    """Every group with the narrowest level that is required of it or around it."""
    level = max(outer, group.required or 0)
    yield group, level
    for member in group.members:
        if isinstance(member, Group):
            yield from _levels(member, level)


def _level_of_all(root: Group) -> int:
    """The narrowest level of which one domain must hold all pods: that of groups inside counts while they are all."""
    level, group = root.required or 0, root
    while len(group.members) == 1 and isinstance(group.members[0], Group):
        group = group.members[0]
        level = max(level, group.required or 0)
    return level


def _in_one(draft: Draft, empty: Draft, sets: Sequence[PodSet], level: int) -> Ints:
    """For each node how many copies of it the domain around it lacks to hold all of these sets."""
    tree = draft.tree
    found = np.zeros(tree.size, dtype=np.int64)
    asked: Counter[str] = Counter()
    for pods in sets:
        asked.update({name: amount * pods.min_count for name, amount in pods.shape.requests})
    for name, amount in asked.items():
        row = draft.row[name]
        free = fit.sums(draft, level)[row] * float(draft.unit[row])
        each = empty.free[empty.row[name]] * float(empty.unit[empty.row[name]])
        short = (amount - free)[tree.domain[level]]
        found = np.maximum(found, np.where(short <= 0, 0, np.where(each > 0, _ratio(short, each), NEVER)))
    return found


def _ratio(short: Floats, each: Floats) -> Ints:
    """How many it takes; less rather than one too many, as amounts are no whole numbers here."""
    return np.clip(np.ceil(short / np.maximum(each, 1) * (1 - 1e-9)), 0, NEVER).astype(np.int64)


def _told_by(request: Request) -> list[str]:
    """The labels by which pods of the request look at nodes and domains."""
    shapes = [pods.shape for pods in request.root.pod_sets()]
    near = {term.key for shape in shapes for term in (*shape.affinity, *shape.anti_affinity)}
    return sorted((near | {rule.key for shape in shapes for rule in shape.spread}) - {HOSTNAME})


def _stage(board: Board, request: Request, node: Node) -> Snapshot:
    """The part of the picture to which nodes are added: the domain around the node that must hold the whole request.

    What is placed there is a placement in the cluster as well, unless pods look at pods outside: then it is all of it.
    """
    picture, level = board.snapshot(), _level_of_all(request.root)
    shapes = [pod_set.shape for pod_set in request.root.pod_sets()]
    hostile = any(pod.anti_affinity for pod in picture.pods)
    if not level or hostile or any(one.affinity or one.anti_affinity or one.spread for one in shapes):
        return picture
    tree = board.draft(request.topology).tree
    domain = int(tree.domain[level][tree.index[node.name]])
    inside = {tree.names[i] for i in tree.nodes(level, domain)}
    nodes = tuple(one for one in picture.nodes if one.name in inside)
    return replace(picture, nodes=nodes, pods=tuple(pod for pod in picture.pods if pod.node in inside))


def _fewest(tries: Tries, stage: Snapshot, request: Request, model: _Model, most: int) -> int | None:
    """The fewest copies that suffice, at most so many. The least that counting allows are tried first."""
    if _would_do(tries, stage, request, model.node, model.least):
        return model.least
    count = _more(tries, stage, request, model, most) if model.least < most and not tries.is_spent else None
    return count if count is not None and _would_do(tries, stage, request, model.node, count) else None


def _would_do(tries: Tries, stage: Snapshot, request: Request, node: Node, count: int) -> bool:
    tries.spend(PER_NODE * (len(stage.nodes) + count))
    return tries.places(Board.of(with_nodes(stage, node, count)), request)


def _more(tries: Tries, stage: Snapshot, request: Request, model: _Model, most: int) -> int | None:
    """The fewest beyond the least. All are added once, each filled to the brim; trying a number empties so many.

    Doubling first: few are the usual answer, and a failed try is the dear kind.
    """
    tries.spend(PER_NODE * (len(stage.nodes) + most))
    node = model.node
    spare = Board.of(_filled(with_nodes(stage, node, most), node, most))

    def works(count: int) -> bool:
        with ExitStack() as emptied:
            for i in range(count):
                emptied.enter_context(spare.without(_filler(node, i).name))
            return tries.places(spare, request)

    low, high = model.least + 1, min(2 * model.least, most)
    while not works(high):
        if high >= most or tries.is_spent:
            return None
        low, high = high + 1, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        if works(middle):
            high = middle
        else:
            low = middle + 1
    return high


def with_nodes(picture: Snapshot, node: Node, count: int) -> Snapshot:
    """The picture with copies of a node: the same size, taints and labels, names of their own."""
    return replace(picture, nodes=(*picture.nodes, *(_copied(node, i) for i in range(count))))


def _copied(node: Node, number: int) -> Node:
    name = f"{node.name}+{number + 1}"  # no node of Kubernetes is called like this
    return replace(node, name=name, labels={**node.labels, HOSTNAME: name})


def _filled(picture: Snapshot, node: Node, count: int) -> Snapshot:
    return replace(picture, pods=(*picture.pods, *(_filler(node, i) for i in range(count))))


def _filler(node: Node, number: int) -> RunningPod:
    """A pod that takes all of a copy, and is a gang of its own."""
    copy = _copied(node, number).name
    return RunningPod(copy, "", copy, node.allocatable, gang=copy)
