"""Ways out of a refusal: changes that were tried, on the board or on an edited copy, and start the gang.

Nothing is guessed here: each proposal is decided again, and only what was placed is offered. How many proposals
there are and how much work they may cost is bounded, so a refusal of a large gang may come back with fewer.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from phalanx.engine import holders, newnodes, repair
from phalanx.engine.board import Board
from phalanx.engine.tries import Tries
from phalanx.model.decision import Waiting
from phalanx.model.mistakes import Mistake
from phalanx.model.policy import Policy
from phalanx.model.reasons import Reason, Remedy, WayOut, Why
from phalanx.model.request import Group, PodSet, Request, as_declared
from phalanx.place import build, evidence

GANGS_MAX = 20  # running gangs whose end is tried
HOLDERS_MAX = 4  # groups whose level is weakened
SETS_MAX = 4  # pod sets of which fewer are tried, and for which nodes are added
FIRST = 8  # numbers of pods tried one by one, from the largest, before halving
ROOM = (Why.NO_ROOM, Why.FRAGMENTED, Why.TOO_LARGE, Why.UNDECIDED)  # the reasons that are about room


def ways_out(board: Board, waiting: Waiting, policy: Policy = Policy()) -> tuple[WayOut, ...]:
    """Changes that start the gang: a weaker level, fewer pods, a gang's end, more nodes. The board stays as it is. Of
    pods that must be beside others which run, only what makes room there is asked for."""
    if waiting.reason.type not in ROOM:
        return ()
    tries = Tries.after(waiting, policy)
    reason = waiting.reason
    proposals = [] if reason.beside else [_weaker, _fewer]
    proposals += [] if reason.type is Why.TOO_LARGE else [_waiting_for]
    proposals.append(_more_nodes)
    found: list[WayOut] = []
    for left, propose in zip(range(len(proposals), 0, -1), proposals, strict=True):
        with tries.share(left):
            found += propose(tries, board, waiting.request, reason)
    return tuple(found)


# ---- a weaker level ---------------------------------------------------------------------------------------------


def _weaker(tries: Tries, board: Board, request: Request, reason: Reason) -> Iterator[WayOut]:
    """The narrowest wider level that works, and preferring instead of requiring."""
    for group, outer in islice(_holders(request.root, reason), HOLDERS_MAX):
        name = base(group.name)
        if group.required is None:
            raise Mistake("a level that nobody requires is in nobody's way")
        levels = board.draft(request.topology).tree.topology
        for level in range(group.required - 1, outer, -1):
            if tries.places(board, with_levels(request, name, level, group.preferred)):
                wider = levels.level_name(level)
                change = f"{_field(request, group)}: {wider}"
                yield WayOut(change, kind=Remedy.LEVEL, subject=name, value=wider)
                break
        wish = group.preferred or group.required
        if tries.places(board, with_levels(request, name, None, wish)):
            wished = levels.level_name(wish)
            change = _preferring(_field(request, group), wished)
            yield WayOut(change, kind=Remedy.PREFERENCE, subject=name, value=wished)
            return


def _field(request: Request, group: Group) -> str:
    """Where the level of a group stands: of the root the user's own field, which may be that of what is around it."""
    own = request.around if group is request.root else None
    return own or f"{base(group.name)}.topology.required"


def _preferring(field: str, level: str) -> str:
    """``workers.topology: {preferred: rack}``; of a field that nobody knows the other one to, that it goes."""
    holder = field.removesuffix(".required")
    return f"{holder}: {{preferred: {level}}}" if holder != field else f"{field}: null"


def _holders(root: Group, reason: Reason) -> Iterator[tuple[Group, int]]:
    """The groups whose required level is in the way, each with the level required around it: the one that holds what
    finds no home; where parts do not fit together, those of the parts as well."""
    path = evidence.around(root, reason.group)
    seen: set[str] = set()
    for groups in chain([path], (evidence.around(root, part.group) for part in reason.parts)):
        levels = [group.required or 0 for group in groups]
        at = levels.index(max(levels)) if levels else 0
        if levels and levels[at] and base(groups[at].name) not in seen:
            seen.add(base(groups[at].name))
            yield groups[at], max(levels[:at], default=0)


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


def _fewer(tries: Tries, board: Board, request: Request, reason: Reason) -> Iterator[WayOut]:
    """The largest smaller number of pods that works, for the pod set that loses fewest by it."""
    best: tuple[int, PodSet, int] | None = None
    for pod_set in candidates(request.root, reason)[:SETS_MAX]:
        lost = pod_set.min_count if best is None else best[0]
        step = max((size for _, size in build.slice_units(pod_set)), default=1)
        count = _most(tries, board, request, pod_set, step, pod_set.min_count - lost)
        if count is not None:
            best = (pod_set.min_count - count, pod_set, count)
    if best is not None:
        _, pod_set, count = best
        name = as_declared(pod_set.name)
        yield WayOut(f"fewer pods: {name} {count}", kind=Remedy.PODS, subject=name, value=str(count))


def _most(tries: Tries, board: Board, request: Request, pod_set: PodSet, step: int, above: int) -> int | None:
    """The most pods below what it needs and above a number that let it start, in whole slices; None if there are none.

    One slice less is tried first, then two, and so on: often few are too many. Then by halving.
    """

    def works(slices: int) -> bool:
        return tries.places(board, with_pods(request, pod_set, slices * step))

    low, high = above // step + 1, (pod_set.min_count - 1) // step
    for count in range(high, max(low, high - FIRST + 1) - 1, -1):
        if works(count):
            return count * step
    best, high = None, high - FIRST
    while low <= high:
        middle = (low + high + 1) // 2
        if works(middle):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return None if best is None else best * step


def candidates(root: Group, reason: Reason) -> list[PodSet]:
    """Pod sets below what finds no home, one of all copies, the largest first."""
    inner = evidence.around(root, reason.group)
    sets = [pod_set for pod_set in root.pod_sets() if pod_set.name == reason.group]
    if inner and inner[-1].name == reason.group:
        sets = list(inner[-1].pod_sets())
    firsts: dict[str, PodSet] = {}
    for one in sets:
        firsts.setdefault(as_declared(one.name), one)
    return sorted(firsts.values(), key=lambda one: -one.min_count)


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
    return as_declared(name) == as_declared(other)


# ---- a gang's end -----------------------------------------------------------------------------------------------


def _waiting_for(tries: Tries, board: Board, request: Request, reason: Reason) -> Iterator[WayOut]:
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
            who = holders.known_as(name)
            yield WayOut(f"wait for {who}", kind=Remedy.END, subject=who)
            return


# ---- more nodes -------------------------------------------------------------------------------------------------


def _more_nodes(tries: Tries, board: Board, request: Request, reason: Reason) -> Iterator[WayOut]:
    """The fewest copies of an existing node that let it start, whichever node it is and wherever it stands."""
    sets = candidates(request.root, reason)[:SETS_MAX]
    found = newnodes.fewest(tries, board, request, sets, reason.nearest[0].domain if reason.nearest else ())
    if found is not None:
        count, node = found
        yield WayOut(f"add {count} nodes like {node}", kind=Remedy.NODES, subject=node, value=str(count))
