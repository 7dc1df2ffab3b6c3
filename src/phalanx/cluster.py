"""The Python door: a cluster made of manifests, and decisions about workloads. No I/O.

::

    cluster = Cluster.from_manifests(docs)     # Node, Topology, bound Pods, PriorityClass, ...
    decisions = cluster.place(docs)            # changes nothing
    cluster.commit(decisions)                  # takes the room ...
    cluster.release("serving/llm")             # ... and gives it back

Documents are mappings, as YAML and JSON give them; they are read at once and never changed. The same pile may be handed
to both ``from_manifests`` and ``place``: each takes what is its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NamedTuple

from phalanx import arguments, suggestions
from phalanx.arguments import Documents
from phalanx.dialects import piecewise, reading
from phalanx.dialects.manifests import Manifests
from phalanx.engine import decide as engine
from phalanx.engine import whatif
from phalanx.engine.board import Board
from phalanx.explain import document, tally, text
from phalanx.model.decision import Decided, Internal, Invalid, Placed, Waiting
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.problems import Place, Problem
from phalanx.model.reasons import Reason, WayOut
from phalanx.model.request import Group, Request
from phalanx.model.resources import plain
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import MissingLabel, grow
from phalanx.place import verify


class _Told(NamedTuple):
    path: str
    value: Any
    allowed: tuple[str, ...]
    message: str


class Note(_Told):
    """A problem or a warning; it unpacks into its first four.

    ``path``: where it is. ``value``: what stands there. ``allowed``: what may stand there (empty: see the message).
    ``message``: a sentence. ``about``: the object it is in, where that is another one than the decision is about.
    ``place``: the file, document and line it is written in, where files were read.
    """

    about: ObjectKey | None
    place: Place | None

    def __new__(
        cls,
        path: str,
        value: Any,
        allowed: tuple[str, ...],
        message: str,
        about: ObjectKey | None = None,
        place: Place | None = None,
    ) -> "Note":
        self = super().__new__(cls, path, value, allowed, message)
        self.about = about
        self.place = place
        return self

    def __str__(self) -> str:
        return self.told_of("")

    def told_of(self, title: str) -> str:
        """One line: where it is written, who has it, what it is about, and what there is to say."""
        return ": ".join(map(str, filter(None, (self.place, title, self.path, self.message))))


def _notes(problems: Iterable[Problem]) -> tuple[Note, ...]:
    return tuple(Note(one.path, one.value, one.allowed, one.message, one.about, one.place) for one in problems)


# -- one decision ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one workload, or about one independent unit of it.

    ``decided`` is the value inside; everything people usually ask for is a property. ``ways_out``: changes that were
    decided again and let it start, where it waits.
    """

    decided: Decided
    ways_out: tuple[WayOut, ...] = ()

    @property
    def status(self) -> str:
        """``Placed``, ``Waiting`` or ``Invalid``; ``Internal`` where Phalanx made a mistake."""
        return type(self.decided).__name__

    @property
    def kind(self) -> str:
        """Of the workload: ``Job``, ``Gang`` ...; empty where the document does not say."""
        return self._named.kind

    @property
    def namespace(self) -> str:
        """Of the workload: ``default`` where the manifest names none."""
        return self._named.namespace

    @property
    def name(self) -> str:
        """Of the workload, without its namespace."""
        return self._named.name

    @property
    def unit(self) -> str | None:
        """Which independent part of the workload this is; None when it is the whole."""
        return None if self.request is None else self.request.unit

    @property
    def id(self) -> str:
        """``namespace/name``, with ``#unit`` behind it where there is one.

        Of several kinds of workload with one name the first goes by it, the others by ``kind/namespace/name``.
        """
        return f"{self.namespace}/{self.name}" if self.request is None else self.request.id

    @property
    def request(self) -> Request | None:
        """What was asked for, as placement sees it (amounts in nano-units); None when the manifest is wrong, or was not
        read."""
        return None if isinstance(self.decided, Invalid) else self.decided.request

    @property
    def pod_sets(self) -> dict[str, dict[str, int]]:
        """Pods per node for every pod set: ``{"workers": {"node-7": 4, "node-9": 4}}``."""
        placed = self.decided
        return {n: dict(c) for n, c in placed.placement.pod_sets.items()} if isinstance(placed, Placed) else {}

    @property
    def domains(self) -> dict[str, tuple[str, ...]]:
        """The deepest domain that holds each declared group; ``()`` is the whole cluster."""
        placed = self.decided
        if not isinstance(placed, Placed):
            return {}
        shown = _declared(placed.request)
        return {name: path for name, path in placed.placement.domains.items() if name in shown}

    @property
    def level_reached(self) -> dict[str, str]:
        """The name of that domain's level for each declared group."""
        placed = self.decided
        if not isinstance(placed, Placed):
            return {}
        shown = _declared(placed.request)
        return {name: level for name, level in placed.placement.level_reached.items() if name in shown}

    @property
    def ranks(self) -> dict[str, list[str]]:
        """The node of rank 0, 1, 2 ... for every ranked group."""
        placed = self.decided
        return {n: list(nodes) for n, nodes in placed.placement.ranks.items()} if isinstance(placed, Placed) else {}

    @property
    def wanted(self) -> int | None:
        """How many pods were asked for; None when nobody knows: the manifest is wrong, or was not read."""
        return tally.of(self.decided).wanted

    @property
    def placed(self) -> int:
        """How many of them have a place."""
        return tally.of(self.decided).placed

    @property
    def left_out(self) -> dict[str, int]:
        """Pods that have no place, ``{"workers": 3}``: by the name of their group where all of it has none, of their
        pod set where some of it have one. A placed decision with such is placed in part."""
        return dict(tally.of(self.decided).left_out)

    @property
    def reason(self) -> Reason | None:
        """Why it waits; None unless it does."""
        return self.decided.reason if isinstance(self.decided, Waiting) else None

    @property
    def proved(self) -> bool | None:
        """True: shown to be impossible now. False: the budget of work ran out. None: not about room."""
        return self.decided.proved if isinstance(self.decided, Waiting) else None

    @property
    def problems(self) -> tuple[Note, ...]:
        """What is wrong with the manifest; empty unless it is invalid."""
        return _notes(self.decided.problems) if isinstance(self.decided, Invalid) else ()

    @property
    def mistake(self) -> Mishap | None:
        """What was raised, as ``line`` and with its traceback as ``trace``; None unless it is ``Internal``."""
        return self.decided.mishap if isinstance(self.decided, Internal) else None

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What was read with a remark; it is decided all the same."""
        return _notes(self.decided.warnings)

    @property
    def message(self) -> str:
        """The decision in one line."""
        return text.line(self.decided, self.ways_out)

    def explain(self) -> str:
        """The whole story as text: where it went, or why it waits and what would help."""
        return text.full(self.decided, self.ways_out)

    def to_dict(self) -> dict[str, Any]:
        """The decision as in ``phalanx place -o json``."""
        domains = {name: list(path) for name, path in self.domains.items()}
        whole = document.decision(self.decided, self.ways_out)
        return {**whole, "domains": domains, "levelReached": self.level_reached}

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"<Decision {self.id}: {self.message}>"

    @property
    def _named(self) -> Request | Invalid | Internal:
        return self.decided if isinstance(self.decided, (Invalid, Internal)) else self.decided.request


OnDecision = Callable[[Snapshot, Request, Policy, Decided], None]  # the picture of that moment, question, answer


class Decisions(list[Decision]):
    """Decisions in the order of the documents.

    ``warnings``: what there is to say about documents that are no workload.
    """

    warnings: tuple[Note, ...] = ()


def _declared(request: Request) -> set[str]:
    """Names of the groups that the manifest itself declares: all but a root that only holds the others together."""
    named = {group.name for group in request.root.groups()}
    holds_pods = any(not isinstance(member, Group) for member in request.root.members)
    return named if holds_pods or request.root.name == request.unit else named - {request.root.name}


# -- the cluster -------------------------------------------------------------------------------------------------


class Cluster:
    """Nodes, topologies and running pods; answers where workloads go and keeps what was committed.

    It is made by ``Cluster.from_manifests``. ``problems``: documents that were left out, and why. ``warnings``: what
    was read with a remark.
    """

    def __init__(self, read: reading.ClusterReading, policy: Policy = Policy()) -> None:
        if not isinstance(read, reading.ClusterReading):
            raise TypeError("a Cluster is made of documents by phalanx.Cluster.from_manifests(documents)")
        self.policy = policy
        self.problems = _notes(read.problems)
        self.warnings = _notes(read.warnings)
        self._read = replace(read, snapshot=_ordered(read.snapshot))
        self._board = Board.of(self._read.snapshot)
        # who is on the board, and of what kind, where that is known
        self._names: dict[str, str | None] = {pod.gang: None for pod in read.snapshot.pods if pod.gang is not None}

    @classmethod
    def from_manifests(cls, docs: Documents, policy: Policy = Policy()) -> "Cluster":
        """The cluster in a list of documents: Node, Topology, bound Pod, PriorityClass, PersistentVolume and
        -Claim. Workloads among them are passed over; a document that cannot be read is named in ``problems``.

        TypeError where it is no documents at all that are given, but a path or a text, say.
        """
        return cls(reading.read_cluster(arguments.documents(docs)), policy)

    @property
    def policy(self) -> Policy:
        """How places are chosen from now on; it may be set."""
        return self._policy

    @policy.setter
    def policy(self, given: Policy) -> None:
        if not isinstance(given, Policy):
            example = "phalanx.Policy(candidates='spread')"
            raise TypeError(f"policy: {arguments.described(given)} is no Policy; one is made by {example}")
        self._policy = given

    def __repr__(self) -> str:
        now = self.snapshot
        held = {"nodes": now.nodes, "topologies": now.topologies, "pods": now.pods, "problems": self.problems}
        return f"<Cluster, {', '.join(f'{name}: {len(found)}' for name, found in held.items())}>"

    @property
    def snapshot(self) -> Snapshot:
        """Nodes, topologies and pods as they are now: what was read, what was committed, less what was released.
        It is what placement sees: amounts in it are nano-units."""
        return self._board.snapshot()

    @property
    def outside(self) -> dict[str, tuple[MissingLabel, ...]]:
        """For each topology the nodes that are not part of it, with the label each lacks."""
        given = self._read.snapshot
        labels = {node.name: node.labels for node in given.nodes}
        missing = {one.name: grow(one, labels).missing for one in given.topologies}
        return {name: found for name, found in missing.items() if found}

    def free(self, resource: str) -> dict[str, tuple[Decimal, Decimal]]:
        """What is free of a resource on each node, and what there is of it, in plain units: cores of ``cpu``, bytes of
        ``memory``, devices, ``pods``. Below 0 where more runs than the node has.

        ValueError, with the names there are, for a resource that no node has.
        """
        arguments.text(resource, "resource", "cpu")
        nodes = self._read.snapshot.nodes
        known = {name for node in nodes for name, _ in node.allocatable}
        if nodes and resource not in known:
            there = f"nodes have {', '.join(sorted(known)) or 'nothing'}"
            raise ValueError(f"no node has any {resource}{_meant(resource, known)} ({there})")
        total = {node.name: node.allocatable.get(resource) for node in nodes}
        left = self._board.free(total)
        return {name: (plain(left[name].get(resource, 0)), plain(total[name])) for name in total}

    # ---- asking -------------------------------------------------------------------------------------

    def place(self, docs: Documents, ways_out: bool = True, on_decision: OnDecision | None = None) -> Decisions:
        """Decisions about the workloads among the documents, in the order given. Changes nothing.

        Each workload sees the room that those before it in the same call would take, so that all answers hold
        together and ``commit`` can take them all. Nobody is moved ahead of its turn: who comes first is the order
        of the documents. ``ways_out`` False spares the search for changes that would let a waiting workload start.
        What goes wrong inside while one workload is decided makes that one ``Internal``; all others are answered.
        ``on_decision`` is told of each decision as it is made; not of manifests that are wrong, because nothing was
        decided about them.
        """
        if on_decision is not None and not callable(on_decision):
            raise TypeError(f"on_decision: {arguments.described(on_decision)} cannot be called")
        docs = arguments.documents(docs)
        pieces = piecewise.read(docs, self._read.surroundings, self.snapshot)
        read = pieces.work
        decisions = Decisions(Decision(_unrecognised(problem)) for problem in read.problems)
        decisions.warnings = _remarks(read)
        pile = Manifests(docs, lambda: self._read.surroundings, self.snapshot) if ways_out else None
        held: list[str] = []
        try:
            for left, item in zip(range(len(pieces.items) - 1, -1, -1), pieces.items, strict=True):
                decision = self._decided(item, read.notes, pile)
                picture = self.snapshot if on_decision is not None else None
                decisions.append(self._holding(decision, held) if left else decision)  # nobody comes after the last one
                if on_decision is not None and picture is not None and isinstance(item, Request):
                    on_decision(picture, decisions[-1].request or item, self.policy, decisions[-1].decided)
        finally:
            self._let_go(held)
        return decisions

    def _decided(self, item: piecewise.Item, notes: Mapping[str, reading.Problems], pile: Manifests | None) -> Decision:
        """``pile``: the manifests in which ways out are tried; None: none are looked for."""
        if not isinstance(item, Request):
            return Decision(item)
        request = self._apart(item)
        decided = self._answer(request)
        decided = replace(decided, warnings=(*notes.get(item.id, ()), *decided.warnings))
        return self._helped(decided, pile) if pile is not None and isinstance(decided, Waiting) else Decision(decided)

    def _answer(self, request: Request) -> Decided:
        """What was decided; what was raised meanwhile stays with this one."""
        try:
            return engine.decide(self._board, request, self.policy)
        except Exception as error:
            self._made_anew()
            return Internal.about(request, error)

    def _helped(self, waiting: Waiting, pile: Manifests) -> Decision:
        """The decision with what would help; it stays as it is where looking for that goes wrong."""
        try:
            ways = whatif.ways_out(self._board, waiting, self.policy)
            return Decision(waiting, suggestions.in_manifests(pile, self._board, waiting, ways, self.policy))
        except Exception as error:
            self._made_anew()
            return Decision(replace(waiting, warnings=(*waiting.warnings, Mishap.of(error).remark("what would help"))))

    def _apart(self, request: Request) -> Request:
        """The request by an id of its own, where a workload of another kind holds room by the one it has."""
        other = self._names.get(request.id)
        alone = request.qualifier is not None or other is None or other == request.kind
        return request if alone else replace(request, qualifier=request.kind)

    def _holding(self, decision: Decision, held: list[str]) -> Decision:
        """The decision. Where it is placed its room is taken for the rest of the call, under a name in ``held``."""
        decided = decision.decided
        if not isinstance(decided, Placed):
            return decision
        if decided.request.id in self._names:  # asked about once more; it already runs
            again = f"{decided.request.unit or ''} (again)"  # with a space, so that no unit is called the same
            decided = replace(decided, request=replace(decided.request, unit=again))
        try:
            self._board.commit(decided)
        except Exception as error:
            self._made_anew([decided.request.id])
            return Decision(Internal.about(decision.request or decided.request, error))
        held.append(decided.request.id)
        return decision

    def _let_go(self, held: Sequence[str]) -> None:
        try:
            for name in reversed(held):
                self._board.release(name)
        except Exception:  # what was decided is so all the same
            self._made_anew(held)

    def _made_anew(self, gone: Sequence[str] = ()) -> None:
        """Something was raised while the board was asked or changed: nothing stays half done. ``gone``: gangs that are
        on it no more."""
        now = self._board.snapshot()
        self._board = Board.of(replace(now, pods=tuple(pod for pod in now.pods if pod.gang not in gone)))

    # ---- taking and giving back ---------------------------------------------------------------------

    def commit(self, decisions: "Decision | Iterable[Decision]") -> None:
        """Takes the room of every placed decision, so that the next ``place`` sees it; the others are passed over.

        All of them or none: ValueError, with nothing taken, when one of them holds room already, or no longer
        fits because of what was committed since it was decided.
        """
        given = _decisions(decisions)
        taken: list[str] = []
        try:
            for decision in given:
                if isinstance(decision.decided, Placed):
                    self._take(decision.decided)
                    taken.append(decision.id)
        except ValueError:
            for name in reversed(taken):
                self._give(name)
            raise

    def _take(self, placed: Placed) -> None:
        name = placed.request.id
        if name in self._names:
            raise ValueError(f"{name} holds room already; release it first")
        where = Placement(placed.placement.pod_sets, ranks=placed.placement.ranks)  # names of domains take no room
        broken = verify.verify(self.snapshot, placed.request, where)
        if broken:
            raise ValueError(f"{name} no longer fits as it was placed: {broken[0]}")
        self._board.commit(placed)
        self._names[name] = placed.request.kind

    def _give(self, name: str) -> None:
        self._board.release(name)
        del self._names[name]

    def release(self, name: str) -> None:
        """Gives back the room of ``namespace/name``: of all its units, or of one as ``namespace/name#unit``. The name
        is what stands before the ``#`` in the decision's ``id``.

        A gang that ran already when the cluster was read can be released too. KeyError when nobody of that name
        holds room.
        """
        arguments.text(name, "name (the id of a decision)", "serving/llm")
        found = sorted(one for one in self._names if one == name or one.partition("#")[0] == name)
        if not found:
            raise KeyError(f"{name} holds no room{_meant(name, self._names)} ({_holders(self._names)})")
        for one in found:
            self._give(one)


def _decisions(given: "Decision | Iterable[Decision]") -> list[Decision]:
    """One decision, or a row of them, as a list."""
    if isinstance(given, Decision):
        return [given]
    is_row = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping))
    listed = list(given) if is_row else []
    strange = [one for one in listed if not isinstance(one, Decision)] if is_row else [given]
    if strange:
        raise TypeError(f"commit takes decisions as place() returns them, not {arguments.described(strange[0])}")
    return listed


def _meant(name: str, known: Iterable[str]) -> str:
    """``; did you mean nvidia.com/gpu?``, where a name is much like a known one or the last part of it."""
    close = [one for one in sorted(known) if one.rpartition("/")[2] == name] or get_close_matches(
        name, known, n=1, cutoff=0.8
    )
    return f"; did you mean {' or '.join(close[:3])}?" if close else ""


def _holders(known: Iterable[str]) -> str:
    """Who holds room, the first few by name."""
    names = sorted(known)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"room is held by {', '.join(names[:5])}{more}" if names else "nobody does"


def _ordered(snapshot: Snapshot) -> Snapshot:
    """The snapshot in an order of its own: that of the documents must not show in any answer."""
    return replace(
        snapshot,
        nodes=tuple(sorted(snapshot.nodes, key=lambda node: node.name)),
        topologies=tuple(sorted(snapshot.topologies, key=lambda one: one.name)),
        pods=tuple(sorted(snapshot.pods, key=lambda pod: (pod.namespace, pod.name))),
    )


def _unrecognised(problem: Problem) -> Invalid:
    """A document of which not even the kind is known is invalid too: nothing is passed over in silence."""
    return Invalid("", "", problem.path, (problem,))


def _remarks(read: reading.WorkloadReading) -> tuple[Note, ...]:
    """Warnings that belong to no decision: other kinds of document, and workloads that want nothing now."""
    decided = {item.id if isinstance(item, Request) else f"{item.namespace}/{item.name}" for item in read.items}
    undecided = [(n, found) for n, found in read.notes.items() if n not in decided]
    nothing = [replace(p, field=f"{n}: {p.path}" if p.path else n, about=None) for n, found in undecided for p in found]
    return _notes((*read.warnings, *nothing))
