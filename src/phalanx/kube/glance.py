"""One look at a cluster: all its objects in, every gang with its state and reason out. Nothing is carried out.

The same follower and the same engine as in the running scheduler, for a single step. A gang that would start now is
shown as it would: whoever asks sees what the scheduler is about to do.

An object without a uid never was in a cluster: it is a manifest, asked about before anybody applied it. It came just
now, after those that were given before it, and its pods are taken as made, beside those that are among the objects.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phalanx import suggestions
from phalanx.dialects import documents, reading
from phalanx.dialects.fields import Field
from phalanx.dialects.following import Follower, Marks, Told
from phalanx.dialects.kindtable import CLAIM, VOLUME
from phalanx.dialects.manifests import Manifests
from phalanx.engine import slots, views, whatif
from phalanx.engine.engine import Engine
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.engine.settings import Settings
from phalanx.engine.views import View
from phalanx.model.decision import Decided, Internal, Invalid, Placed, Waiting
from phalanx.model.events import Event, GangSeen, PodSeen
from phalanx.model.mistakes import Mishap
from phalanx.model.nodes import RunningPod
from phalanx.model.objects import ObjectKey
from phalanx.model.placement import Counts, Placement
from phalanx.model.pods import Pod, PodKey
from phalanx.model.policy import Policy
from phalanx.model.reasons import Reason, WayOut, Why
from phalanx.model.request import PodSet, Request
from phalanx.model.topology import Tree
from phalanx.order.sequence import Ageing, Entry, ordered

Document = Mapping[Any, Any]
OUT_OF_LINE = (Why.PODS_MISSING, Why.SUSPENDED, Why.BACKING_OFF)  # they wait for nothing that others hold


@dataclass(frozen=True, slots=True)
class Glance:
    """``engine``: after its one step at ``now``; ``told``: what the objects themselves had to say; ``manifests``:
    the objects, to be read again with a change in them."""

    engine: Engine
    told: Told
    now: float
    manifests: Manifests

    def gangs(self, namespace: str | None = None) -> list[Gang]:
        """All gangs, or those of a namespace, by queue and by how long they have waited."""
        found = [one for one in self.engine.book.gangs.values() if namespace in (None, one.request.namespace)]
        return sorted(found, key=lambda one: (one.request.queue, one.since, one.id))

    def view(self, gang: Gang) -> View:
        """What people may see of it."""
        return views.of_all(self.engine.book, [gang.id])[gang.id]

    def answer(self, gang: Gang) -> tuple[Decided, tuple[WayOut, ...]]:
        """What was decided, and what would help; the decision stays where looking for that goes wrong."""
        decided = self.decided(gang)
        try:
            return decided, () if isinstance(decided, Internal) else self._ways_out(gang)
        except Exception as error:
            self.engine.book.doubt_board()
            remark = Mishap.of(error).remark("what would help")
            return replace(decided, warnings=(*decided.warnings, remark)), ()

    def _ways_out(self, gang: Gang) -> tuple[WayOut, ...]:
        """Changes that would let a waiting gang start, or pods that wait while it runs, each decided again; of a gang,
        as changes of its objects."""
        board, policy = self.engine.book.board, self.engine.policy
        waiting = self.waiting(gang)
        if waiting is None:
            late = self._late(gang)
            return () if late is None else whatif.ways_out(board, late, policy)
        ways = whatif.ways_out(board, waiting, policy)
        lives = not is_manifest(self.told, gang.id)
        return suggestions.in_manifests(self.manifests, board, waiting, ways, policy, lives=lives) if ways else ()

    # -- what was decided ----------------------------------------------------------------------------------------

    def decided(self, gang: Gang) -> Decided:
        """Why it waits, where it is, or what is wrong with it. A gang that has ended is nowhere. What went wrong while
        it was looked at stays with it."""
        tripped = self.engine.tripped().get(gang.id)
        if tripped is not None:
            asked = gang.request
            return Internal(asked.kind, asked.namespace, asked.name, tripped, asked, self.told.notes.get(gang.id, ()))
        try:
            return self._decided(gang)
        except Exception as error:
            return Internal.about(gang.request, error)

    def _decided(self, gang: Gang) -> Decided:
        notes = self.told.notes.get(gang.id, ())
        known = self.waiting(gang) or self._wrong(gang)
        if known is not None:
            return replace(known, warnings=(*known.warnings, *notes))
        return Placed(gang.request, self.placement(gang), notes, done=_done(gang))

    def _wrong(self, gang: Gang) -> Invalid | None:
        """What is wrong with a gang that could be read and cannot be placed."""
        request = gang.request
        named = (request.kind, request.namespace, request.name)
        found = [one for one in self.engine.decisions if isinstance(one, Invalid)]
        own = [one for one in found if (one.kind, one.namespace, one.name) == named]
        return own[-1] if own and gang.state is State.INVALID else None

    def waiting(self, gang: Gang) -> Waiting | None:
        """Why a gang waits, as it was decided; None when it does not."""
        if gang.state is not State.QUEUED:
            return None
        reason = self._reason(gang)
        for one in reversed(self.engine.decisions):
            if isinstance(one, Waiting) and one.request.id == gang.id and one.reason == reason:
                return one
        return Waiting(gang.request, reason, None)

    def _late(self, gang: Gang) -> Waiting | None:
        """What was looked for in vain for pods that have no place while their gang runs."""
        late = gang.state is not State.QUEUED and gang.lack is not None and gang.lacking is not None
        return Waiting(gang.lacking, gang.lack, None) if late and gang.lacking and gang.lack else None

    def _reason(self, gang: Gang) -> Reason:
        """Its reason, with how many pods are needed where nobody had counted them: it is not about room."""
        reason = gang.reason or Reason(Why.BEHIND_OTHERS, gang.request.root.name, "cluster", 0)
        return reason if reason.needed else replace(reason, needed=self.view(gang).whole.least)

    def placement(self, gang: Gang) -> Placement:
        """Where its pods are, or will be."""
        tree = self.engine.book.board.draft(gang.request.topology).tree
        homes = {pods.name: _homes(gang, pods.name) for pods in gang.request.root.pod_sets()}
        paths = {
            group.name: [_path(tree, node) for pods in group.pod_sets() for node in homes[pods.name]]
            for group in gang.request.root.groups()
        }
        domains = {name: shared(found) for name, found in paths.items() if found}
        reached = {name: tree.topology.level_name(len(path)) for name, path in domains.items()}
        counted = {name: _counted(nodes, tree) for name, nodes in homes.items() if nodes}
        return Placement(counted, domains, reached, _ranks(gang))

    # -- turns ---------------------------------------------------------------------------------------------------

    def positions(self) -> dict[str, int]:
        """The place in its queue, from 1, of everybody who is in line."""
        found: dict[str, int] = {}
        behind: dict[str, int] = {}
        entries = [self._entry(gang) for gang in self.gangs() if _in_line(gang)]
        patience = Ageing(self.engine.settings.starving)
        for turn in ordered(entries, self.engine.book.queues, self.now, patience):
            behind[turn.entry.queue] = behind.get(turn.entry.queue, 0) + 1
            found[turn.entry.id] = behind[turn.entry.queue]
        return found

    def _entry(self, gang: Gang) -> Entry:
        able = self.engine.turns.is_able(gang)
        return Entry(gang.id, gang.request.queue, gang.request.priority, gang.since, able)


def at(
    objects: Iterable[Document], now: float, marks: Marks, policy: Policy, settings: Settings = Settings()
) -> Glance:
    """The cluster of these objects at a moment. Of claims and volumes none may be among them, for nobody asked for
    those or may see them: then no pod is said to wait for them."""
    objects = list(objects)
    unread = {CLAIM, VOLUME} - {("", str(one.get("kind"))) for one in objects}
    follower, engine = Follower(marks, lambda: unread), Engine(policy, settings)
    for one in objects:
        follower.seen(_told_apart(one))
    told = follower.tell()
    engine.step(_with_manifests(told, now, _places(objects)), now)
    return Glance(engine, told, now, Manifests(objects, lambda: reading.read_cluster(objects).surroundings))


# -- manifests ---------------------------------------------------------------------------------------------------


def _told_apart(one: Document) -> Document:
    """The object; a pod of manifests with an id of its own, for pods are told apart by theirs."""
    metadata = one.get("metadata")
    if one.get("kind") != "Pod" or not isinstance(metadata, Mapping) or metadata.get("uid"):
        return one
    namespace, name = metadata.get("namespace") or "default", metadata.get("name")
    return {**one, "metadata": {**metadata, "uid": f"{namespace}/{name}"}}


def _places(objects: Iterable[Document]) -> dict[ObjectKey, int]:
    """The place of each manifest among the others."""
    made = [one for one in objects if not Field.of(one).at("metadata", "uid").present]
    return {doc.key: number for number, doc in reversed([*enumerate(documents.sort(made)[0])])}


def _with_manifests(told: Told, now: float, places: Mapping[ObjectKey, int]) -> Iterator[Event]:
    """What was told, and the pods of manifests: they came now, each after the one that was given before it."""
    there: dict[str, dict[str, list[Pod]]] = {}  # by gang and pod set
    for event in told.events:
        if isinstance(event, PodSeen) and event.pod.gang is not None and event.pod.pod_set is not None:
            there.setdefault(event.pod.gang, {}).setdefault(event.pod.pod_set, []).append(event.pod)
    turns = _turns(told, places)
    for event in told.events:
        if not isinstance(event, GangSeen) or event.request.id not in turns:
            yield event
            continue
        has_age = event.since >= 1  # units of one that has none are moments apart all the same
        yield replace(event, since=event.since if has_age else now + turns[event.request.id] * 1e-6)
        yield from (PodSeen(pod) for pod in _made(event.request, there.get(event.request.id, {})))


def is_manifest(told: Told, gang: str) -> bool:
    """Whether a gang was read from an object that was in no cluster."""
    subject = told.subjects.get(gang)
    return subject is not None and was_never_there(subject.uid)


def was_never_there(uid: str) -> bool:
    """Whether this is no uid that a server gave: those have no slash."""
    return not uid or "/" in uid


def _turns(told: Told, places: Mapping[ObjectKey, int]) -> dict[str, int]:
    """Which of the gangs that were read from manifests comes when: as their documents were given, then as told."""
    seen = [event.request.id for event in told.events if isinstance(event, GangSeen)]
    made = [gang for gang in seen if is_manifest(told, gang)]
    in_turn = sorted(made, key=lambda gang: places.get(told.subjects[gang].key, len(places)))
    return {gang: number for number, gang in enumerate(in_turn)}


def _made(request: Request, there: Mapping[str, Sequence[Pod]]) -> Iterator[Pod]:
    """The pods that controllers would make of a request, beside those that are there."""
    first, nobodys = slots.offsets(request), _nobodys(request)
    for pods in request.root.pod_sets():
        own = there.get(pods.name, ())
        numbers = _numbers(pods, first.get(pods.name), own)[: max(0, pods.count - nobodys[pods.name] - len(own))]
        for number in numbers:
            yield _pod(request, pods, number, first[pods.name] + number if pods.name in first else None)


def _numbers(pods: PodSet, first: int | None, there: Sequence[Pod]) -> Sequence[int]:
    """The numbers that are left for pods of a set, beside those that are there."""
    if first is None:
        return range(len(there), pods.count)
    ranks = {pod.rank for pod in there}
    return [number for number in range(pods.count) if first + number not in ranks]


def _nobodys(request: Request) -> Counter[str]:
    """Pods of each set that nobody would make: they are wanted, and no template and no pod tells of them."""
    found: Counter[str] = Counter()
    sets = {pods.name: [pods] for pods in request.root.pod_sets()}
    sets |= {group.name: [*group.pod_sets()] for group in request.root.groups()}
    for one in request.missing:
        for pods in sets.get(one.group, [])[-1:] if not one.groups else ():  # the last shape stands for them
            found[pods.name] += max(0, one.needed - one.seen)
    return found


def _pod(request: Request, pods: PodSet, number: int, rank: int | None) -> Pod:
    name, shape = f"{request.name}-{pods.name}-{number}", pods.shape
    runs = RunningPod(
        name, request.namespace, "", shape.requests, dict(shape.labels), shape.ports, shape.anti_affinity, request.id
    )
    return Pod(PodKey(request.namespace, name, f"{request.id}/{name}"), runs, request.id, pods.name, rank)


# -- where it is -------------------------------------------------------------------------------------------------


def _done(gang: Gang) -> dict[str, int]:
    """Pods of each set that need their place no more."""
    if gang.state is State.FINISHED:
        return {pods.name: pods.count for pods in gang.request.root.pod_sets()}
    return {name: seen.succeeded for name, seen in gang.seen().items() if seen.succeeded}


def _homes(gang: Gang, pod_set: str) -> list[str]:
    """The nodes of a set: of its pods that are bound, and of places that no bound pod has."""
    there = [pod for pod in gang.on_nodes() if pod.pod_set == pod_set]
    taken = {pod.key for pod in there}
    kept = [slot.node for slot in gang.slots.get(pod_set, ()) if not slot.done and slot.pod not in taken]
    return [pod.node for pod in there] + kept


def _counted(nodes: list[str], tree: Tree) -> Counts:
    used = sorted(set(nodes), key=lambda node: (tree.index.get(node, tree.size), node))
    return tuple((node, nodes.count(node)) for node in used)


def _path(tree: Tree, node: str) -> tuple[str, ...]:
    """The path of a node; a node outside the topology is in no domain."""
    index = tree.index.get(node)
    return tree.paths[index] if index is not None and tree.inside[index] else ()


def shared(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The deepest domain that all of them lie in; the outermost two in sorted order tell it."""
    first, last = min(paths), max(paths)
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else len(same)]


def _ranks(gang: Gang) -> dict[str, tuple[str, ...]]:
    """The node of rank 0, 1, 2 ... of each ranked group, as far as all of its ranks have one."""
    found: dict[str, tuple[str, ...]] = {}
    first = slots.offsets(gang.request)
    for group in gang.request.root.groups():
        sets = [member for member in group.members if isinstance(member, PodSet) and member.name in first]
        nodes: dict[int, str] = {}
        for pods in sets:
            nodes |= {first[pods.name] + slot.number: slot.node for slot in gang.slots.get(pods.name, ())}
            own = (pod for pod in gang.on_nodes() if pod.pod_set == pods.name and pod.rank is not None)
            nodes |= {pod.rank: pod.node for pod in own if pod.rank is not None}
        if nodes and sorted(nodes) == list(range(len(nodes))):
            found[group.name] = tuple(nodes[rank] for rank in range(len(nodes)))
    return found


# -- who is in line ----------------------------------------------------------------------------------------------


def _in_line(gang: Gang) -> bool:
    reason = gang.reason
    waits = gang.state is State.QUEUED and reason is not None
    return waits and reason is not None and reason.type not in OUT_OF_LINE and reason.queue is None
