"""Ways out of a refusal: changes that were tried, on the board or on an edited copy, and start the gang.

Nothing is guessed here: each proposal is decided again, and only what was placed is offered. How many proposals
there are and how much work they may cost is bounded, so a refusal of a large gang may come back with fewer.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace

from phalanx.engine import holders, repair
from phalanx.engine.board import Board
from phalanx.engine.decide import attempt
from phalanx.model.decision import Waiting
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import Node, RunningPod
from phalanx.model.policy import Policy
from phalanx.model.reasons import Reason, WayOut, Why
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME
from phalanx.place import build, evidence, fit

GANGS_MAX = 20  # running gangs whose end is tried
SETS_MAX = 4  # pod sets of which fewer are tried, and for which nodes are added
NODES_MAX = 64  # nodes added at most: beyond, "buy more" is a plan and not a way out
STAGE_MAX = 20_000  # nodes of a board made anew for that: twice, and each takes a third of a second
ROOM = (Why.NO_ROOM, Why.FRAGMENTED, Why.TOO_LARGE, Why.UNDECIDED)  # the reasons that are about room


def ways_out(board: Board, waiting: Waiting, policy: Policy = Policy()) -> tuple[WayOut, ...]:
    """Changes that start the gang: a weaker level, fewer pods, a gang's end, more nodes. The board stays as it is. Of
    pods that must be beside others which run, only what makes room there is asked for."""
    if waiting.reason.type not in ROOM:
        return ()
    tries = _Tries(policy, policy.budget)
    request, reason = waiting.request, waiting.reason
    found: list[str] = []
    if not reason.beside:
        found += [*_weaker(tries, board, request, reason), *_fewer(tries, board, request, reason)]
    if reason.type is not Why.TOO_LARGE:
        found += _waiting_for(tries, board, request, reason)
    found += _more_nodes(tries, board, request, reason)
    return tuple(WayOut(change) for change in found)


@dataclass(slots=True)
class _Tries:
    """All decisions of one search, out of one budget: together they may cost as much as one decision."""

    policy: Policy
    left: int

    def places(self, board: Board, request: Request) -> bool:
        if self.left <= 0:
            return False
        answer = attempt(board, request, replace(self.policy, budget=self.left))
        self.left -= max(answer.work, 1)
        return answer.placement is not None


# ---- a weaker level ---------------------------------------------------------------------------------------------


def _weaker(tries: _Tries, board: Board, request: Request, reason: Reason) -> Iterator[str]:
    """The narrowest wider level that works, and preferring instead of requiring."""
    for group, outer in _holders(request.root, reason):
        name = base(group.name)
        if group.required is None:
            raise Mistake("a level that nobody requires is in nobody's way")
        levels = board.draft(request.topology).tree.topology
        for level in range(group.required - 1, outer, -1):
            if tries.places(board, with_levels(request, name, level, group.preferred)):
                yield f"{name}.topology.required: {levels.level_name(level)}"
                break
        wish = group.preferred or group.required
        if tries.places(board, with_levels(request, name, None, wish)):
            yield f"{name}.topology: {{preferred: {levels.level_name(wish)}}}"
            return


def _holders(root: Group, reason: Reason) -> Iterator[tuple[Group, int]]:
    """The groups whose required level is in the way, each with the level required around it: the one that holds what
    finds no home; where parts do not fit together, those of the parts as well."""
    path = evidence.around(root, reason.group)
    seen: set[str] = set()
    for chain in (path, *(evidence.around(root, part.group) for part in reason.parts)):
        levels = [group.required or 0 for group in chain]
        at = levels.index(max(levels)) if levels else 0
        if levels and levels[at] and base(chain[at].name) not in seen:
            seen.add(base(chain[at].name))
            yield chain[at], max(levels[:at], default=0)


def base(name: str) -> str:
    """The name as declared: ``decode[1]`` is a copy of ``decode``."""
    return name.partition("[")[0]


def with_levels(request: Request, name: str, required: int | None, preferred: int | None) -> Request:
    """The request with other levels for a group and all copies of it."""

    def changed(group: Group) -> Group:
        members = tuple(changed(m) if isinstance(m, Group) else m for m in group.members)
        if base(group.name) != name:
            return replace(group, members=members)
        return replace(group, members=members, required=required, preferred=preferred)

    return replace(request, root=changed(request.root))


# ---- fewer pods -------------------------------------------------------------------------------------------------


def _fewer(tries: _Tries, board: Board, request: Request, reason: Reason) -> Iterator[str]:
    """The largest smaller number of pods that works, for the first pod set it works for, larger sets first."""
    for name, pod_set in _candidates(request.root, reason):
        step = max((size for _, size in build.slice_units(pod_set)), default=1)
        steps = _most_steps(tries, board, request, pod_set, step)
        if steps is not None:
            yield f"fewer pods: {base(name)} {steps * step}"
            return


def _most_steps(tries: _Tries, board: Board, request: Request, pod_set: PodSet, step: int) -> int | None:
    """The most whole slices (single pods, where it has none) below what it needs, by halving; None if not even one."""
    best, low, high = None, 1, (pod_set.min_count - 1) // step
    while low <= high:
        middle = (low + high + 1) // 2
        if tries.places(board, with_pods(request, pod_set, middle * step)):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def _candidates(root: Group, reason: Reason) -> list[tuple[str, PodSet]]:
    """Pod sets below what finds no home, the largest first, each with the name people know it by."""
    inner = evidence.around(root, reason.group)
    sets = [pod_set for pod_set in root.pod_sets() if pod_set.name == reason.group]
    if inner and inner[-1].name == reason.group:
        sets = list(inner[-1].pod_sets())
    ordered = sorted(_without_copies(sets), key=lambda one: -one.min_count)
    return [(_known_as(root, one), one) for one in ordered[:SETS_MAX]]


def _without_copies(sets: list[PodSet]) -> list[PodSet]:
    return [one for i, one in enumerate(sets) if not any(_copy(one.name, before.name) for before in sets[:i])]


def _known_as(root: Group, pod_set: PodSet) -> str:
    holder = evidence.around(root, pod_set.name)[-1]
    return holder.name if len(holder.members) == 1 else pod_set.name


def with_pods(request: Request, like: PodSet, count: int) -> Request:
    """The request with so many pods in a set and in all copies of it."""

    def changed(member: Group | PodSet) -> Group | PodSet:
        if isinstance(member, Group):
            return replace(member, members=tuple(changed(m) for m in member.members))
        return replace(member, count=count, min_count=count) if _copy(member.name, like.name) else member

    root = changed(request.root)
    if not isinstance(root, Group):
        raise Mistake("a request of something else than a group")
    return replace(request, root=root)


def _copy(name: str, other: str) -> bool:
    """Whether two pod sets are copies of one: ``decode[0]/leader`` and ``decode[1]/leader``."""
    return base(name) == base(other) and name.rpartition("]")[2] == other.rpartition("]")[2]


# ---- a gang's end -----------------------------------------------------------------------------------------------


def _waiting_for(tries: _Tries, board: Board, request: Request, reason: Reason) -> Iterator[str]:
    """The smallest gang whose end makes room, among those that run where it nearly fits. Who comes back never ends."""
    tree = board.draft(request.topology).tree
    near = {seen.domain for seen in reason.nearest}
    gangs, own = [], repair.whose(request)
    for name, pods in board.pods().items():
        if not holders.ends(name) or name == own:
            continue
        paths = {tree.paths[tree.index[pod.node]] for pod in pods if pod.node in tree.index}
        beside = any(path[: len(domain)] == domain for path in paths for domain in near)
        gangs.append((not beside, len(pods), name))
    for _, _, name in sorted(gangs)[:GANGS_MAX]:
        with board.without(name):
            enough = tries.places(board, request)
        if enough:
            yield f"wait for {holders.known_as(name)}"
            return


# ---- more nodes -------------------------------------------------------------------------------------------------


def _more_nodes(tries: _Tries, board: Board, request: Request, reason: Reason) -> Iterator[str]:
    """The fewest copies of an existing node that let it start, for the first node for which it works."""
    for node in _models(board, request, reason):
        stage = _stage(board, request, node)
        if len(stage.nodes) > STAGE_MAX:
            return
        count = _fewest(tries, stage, request, node)
        if count is not None and tries.places(Board.of(with_nodes(stage, node, count)), request):
            yield f"add {count} nodes like {node.name}"
            return


def _stage(board: Board, request: Request, node: Node) -> Snapshot:
    """The part of the picture to which nodes are added: the domain around the node that must hold the whole request.

    What is placed there is a placement in the cluster as well, unless pods look at pods outside: then it is all of it.
    """
    picture, level = board.snapshot(), request.root.required or 0
    shapes = [pod_set.shape for pod_set in request.root.pod_sets()]
    hostile = any(pod.anti_affinity for pod in picture.pods)
    if not level or hostile or any(one.affinity or one.anti_affinity or one.spread for one in shapes):
        return picture
    tree = board.draft(request.topology).tree
    domain = int(tree.domain[level][tree.index[node.name]])
    inside = {tree.names[i] for i in tree.nodes(level, domain)}
    nodes = tuple(one for one in picture.nodes if one.name in inside)
    return replace(picture, nodes=nodes, pods=tuple(pod for pod in picture.pods if pod.node in inside))


def _models(board: Board, request: Request, reason: Reason) -> list[Node]:
    """Nodes that hold most pods of what finds no home when they are empty: one in the nearest domain, else anywhere."""
    draft = board.draft(request.topology)
    empty, tree = evidence.emptied(draft), draft.tree
    found: dict[str, Node] = {}
    for _, pod_set in _candidates(request.root, reason):
        if empty.accommodate((pod_set.shape.requests,), pod_set.name) is not None:
            continue
        room = fit.capacity(empty, empty.shape(pod_set.shape, bool(tree.topology.name))).levels[tree.host]
        for domain in [seen.domain for seen in reason.nearest[:1]] + [()]:
            inside = [i for i in range(tree.size) if tree.paths[i][: len(domain)] == domain and room[i]]
            if inside:
                best = tree.names[max(inside, key=lambda i: (int(room[i]), -i))]
                found.setdefault(best, draft.table.nodes[tree.index[best]])
                break
    return list(found.values())[:SETS_MAX]


def _fewest(tries: _Tries, stage: Snapshot, request: Request, node: Node) -> int | None:
    """The fewest copies that suffice. All are added once, each filled to the brim; trying a number empties so many.

    Doubling first: few are the usual answer, and a failed try is the dear kind.
    """
    spare = Board.of(_filled(with_nodes(stage, node, NODES_MAX), node))

    def works(count: int) -> bool:
        with ExitStack() as emptied:
            for i in range(count):
                emptied.enter_context(spare.without(_filler(node, i).name))
            return tries.places(spare, request)

    high = 1
    while not works(high):
        if high >= NODES_MAX or tries.left <= 0:
            return None
        high *= 2
    low = high // 2 + 1
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


def _filled(picture: Snapshot, node: Node) -> Snapshot:
    return replace(picture, pods=(*picture.pods, *(_filler(node, i) for i in range(NODES_MAX))))


def _filler(node: Node, number: int) -> RunningPod:
    """A pod that takes all of a copy, and is a gang of its own."""
    copy = _copied(node, number).name
    return RunningPod(copy, "", copy, node.allocatable, gang=copy)
