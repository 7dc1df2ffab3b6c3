"""What people may see of one gang now: values only, made between two steps and handed to whoever tells them.

Make them right after a step and in its thread: a Gang changes with the next one, a View never does::

    effects = engine.step(events, now)
    seen = views.of_all(engine.book, {one.gang for one in effects if isinstance(one, Report)})
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from phalanx.engine import torn
from phalanx.engine.book import Book
from phalanx.engine.enforce import GATE
from phalanx.engine.gangs import HOLDING, STARTED, Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.torn import Torn
from phalanx.explain.document import declared
from phalanx.model.mistakes import Mishap
from phalanx.model.pods import PodKey
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, WayOut
from phalanx.model.request import Group, PodSet
from phalanx.model.topology import Tree

Path = tuple[str, ...]
SPOTS_MAX = 32  # domains listed of one gang: a status is read by people, and each is some 60 bytes in every write of it


@dataclass(frozen=True, slots=True)
class GroupView:
    """How far one group is. ``least``: pods that must start together. ``domain``: the deepest that holds its places.

    Pods that have succeeded count as seen, bound and ready. ``has_pods``: it holds pods itself, and not only groups.
    ``named``: people know it by name; a root that only ties the others together they do not.
    """

    name: str
    wanted: int
    least: int
    seen: int
    reserved: int
    bound: int
    ready: int
    domain: Path = ()
    has_pods: bool = True
    named: bool = True


@dataclass(frozen=True, slots=True)
class Spot:
    """Pods of one group in one domain of the narrowest level above the node."""

    group: str
    domain: Path
    pods: int


@dataclass(frozen=True, slots=True)
class View:
    """One gang. ``groups``: all of them, outer first; the first is all of it.

    ``complete``, ``scheduled``, ``ready``: its minimum exists, has nodes, is ready. ``holds``: it takes room and quota.
    ``unplaced``: pods that wait for us to give them a node; ``lack``: why, where the gang runs without them.
    ``more``: of which group how many domains are no spots.
    ``ways_out``: what would help it, where that was looked for; a View is made without.
    ``torn``: the required levels that it does not keep, for its nodes have other labels than when it started.
    ``mishap``: what was raised while it was looked at, where it is set aside. ``problems``: why no places can be looked
    for, where its manifest could be read.
    """

    id: str
    kind: str
    namespace: str
    name: str
    unit: str | None
    state: State
    cause: Cause | None
    reason: Reason | None
    since: float
    entered: float
    not_before: float
    queue: str
    priority: int
    flavor: str | None
    complete: bool
    scheduled: bool
    ready: bool
    holds: bool
    groups: tuple[GroupView, ...]
    level: str = ""  # of the spots
    spots: tuple[Spot, ...] = ()
    more: tuple[tuple[str, int], ...] = ()
    unplaced: tuple[PodKey, ...] = ()
    lack: Reason | None = None
    ways_out: tuple[WayOut, ...] = ()
    torn: tuple[Torn, ...] = ()
    mishap: Mishap | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def whole(self) -> GroupView:
        return self.groups[0]


def of_all(book: Book, names: Iterable[str]) -> dict[str, View]:
    """The views of those named, as far as they are still there. A tree is asked for only where pods have places."""
    found = ((name, book.gangs.get(name)) for name in sorted(set(names)))
    return {name: _of(book, gang) for name, gang in found if gang is not None}


def _of(book: Book, gang: Gang) -> View:
    view, tripped = of(gang, _tree(book, gang)), book.aside.get(gang.id)
    return view if tripped is None else replace(view, mishap=tripped.mishap)


def _tree(book: Book, gang: Gang) -> Tree | None:
    placed = any(gang.slots.values()) or any(pod.node for pod in gang.pods.values())
    return book.board.draft(gang.request.topology).tree if placed else None


def of(gang: Gang, tree: Tree | None) -> View:
    """What people may see of it. Without a tree nothing is said of where it is."""
    request, homes = gang.request, _homes(gang, tree)
    spots = list(_spots(request.root, homes, tree))
    there, bound, ready = gang.there(), gang.counted(), gang.counted(only_ready=True)
    return View(
        gang.id, request.kind, request.namespace, request.name, request.unit, gang.state, gang.cause, gang.reason,
        gang.since, gang.entered, gang.not_before, request.queue, request.priority, gang.flavor,
        complete=gang.has(there), scheduled=gang.has(bound), ready=gang.has(ready),
        holds=gang.state in HOLDING or bool(gang.on_nodes()),
        groups=tuple(_group(group, gang, (there, bound, ready), homes) for group in request.root.groups()),
        level=tree.topology.level_name(_narrowest(tree)) if tree is not None and spots else "",
        spots=tuple(spots[:SPOTS_MAX]), more=left_out(spots), unplaced=_unplaced(gang), lack=gang.lack,
        torn=torn.found(gang, tree) if tree is not None and gang.state in STARTED else (),
        problems=gang.problems,
    )  # fmt: skip


Counts = Mapping[str, int]  # pods by pod set


def _group(
    group: Group, gang: Gang, counts: tuple[Counts, Counts, Counts], homes: Mapping[str, list[Path]]
) -> GroupView:
    there, bound, ready = counts
    sets = [pods.name for pods in group.pod_sets()]
    paths = [path for name in sets for path in homes.get(name, ())]
    return GroupView(
        group.name,
        wanted=sum(pods.count for pods in group.pod_sets()),
        least=_least(group),
        seen=sum(there.get(name, 0) for name in sets),
        reserved=sum(len(gang.slots.get(name, ())) for name in sets),
        bound=sum(bound.get(name, 0) for name in sets),
        ready=sum(ready.get(name, 0) for name in sets),
        domain=_shared(paths),
        has_pods=any(isinstance(member, PodSet) for member in group.members),
        named=group.name in declared(gang.request),
    )


def _shared(paths: list[Path]) -> Path:
    """The deepest domain that all of them lie in; the outermost two in sorted order tell it."""
    if not paths:
        return ()
    first, last = min(paths), max(paths)
    depth = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:depth]


def _least(member: Group | PodSet) -> int:
    """The fewest pods with which it starts: where not all of its members must, those with the fewest."""
    if isinstance(member, PodSet):
        return member.min_count
    below = sorted(_least(one) for one in member.members)
    return sum(below if member.min_members is None else below[: member.min_members])


def _homes(gang: Gang, tree: Tree | None) -> dict[str, list[Path]]:
    """Where the pods of each set are, or will be: a path down to the node for each of them."""
    found: dict[str, list[Path]] = {}
    if tree is None:
        return found
    there = {pod.key: pod for pod in gang.on_nodes() if pod.pod_set is not None}
    for pod in there.values():
        found.setdefault(pod.pod_set or "", []).append(_path(tree, pod.node))
    for slot in gang.every_slot():
        if not slot.done and slot.pod not in there:
            found.setdefault(slot.pod_set, []).append(_path(tree, slot.node))
    return found


def _path(tree: Tree, node: str) -> Path:
    """The path of a node; a node outside the topology is in no domain."""
    at = tree.index.get(node)
    return tree.paths[at] if at is not None and tree.inside[at] else ()


def _narrowest(tree: Tree) -> int:
    """The narrowest level above the node; the node itself where there is none."""
    return max(tree.host - 1, 1)


def _spots(root: Group, homes: Mapping[str, list[Path]], tree: Tree | None) -> Iterator[Spot]:
    """Pods per domain of each group that has some, the fullest domains first."""
    for group in root.groups():
        sets = [member.name for member in group.members if isinstance(member, PodSet)]
        paths = Counter(path[: _narrowest(tree)] for name in sets for path in homes.get(name, ()) if tree is not None)
        for path, pods in sorted(paths.items(), key=lambda one: (-one[1], one[0])):
            yield Spot(group.name, path, pods)


def left_out(spots: Sequence[Spot]) -> tuple[tuple[str, int], ...]:
    """How many domains of which group are beyond those that are shown."""
    return tuple(Counter(spot.group for spot in spots[SPOTS_MAX:]).items())


def _unplaced(gang: Gang) -> tuple[PodKey, ...]:
    """Pods that have no node because their gang waits, or has no place for them. Gated ones are not ours to speak for:
    nobody tries them."""
    if gang.request.rules.enforcement == GATE or (gang.state is not State.QUEUED and gang.lack is None):
        return ()
    seated = {slot.pod for slot in gang.every_slot()}
    return tuple(pod.key for pod in gang.living() if not pod.node and not pod.gated and pod.key not in seated)
