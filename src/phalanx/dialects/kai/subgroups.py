"""The subgroups of a KAI PodGroup as groups of the normal form: a flat list, a tree by the names of parents.

Only subgroups without children hold pods. Those that need none and have none are left out, and so are those whose
pods are not all there while the node above them has enough others (``minSubGroup``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from phalanx.dialects import members
from phalanx.dialects.fields import Field
from phalanx.dialects.jobspec import PODS_MAX
from phalanx.dialects.kai import constraint
from phalanx.dialects.kai.constraint import written
from phalanx.dialects.members import Assigned, Shape
from phalanx.dialects.outline import Entry, Told
from phalanx.dialects.surroundings import Surroundings

_FIELDS = ("name", "parent", "minMember", "minSubGroup", "topologyConstraint", "topologyConstraints")
_DEPTH_MAX = 32  # the normal form takes no more
_ROOT = ""


class State(Enum):
    """Whether a subgroup could start, as far as the pods that exist tell."""

    READY = "enough pods exist"
    SHORT = "fewer pods exist than it needs"
    EMPTY = "it needs no pods and has none"


@dataclass(frozen=True, slots=True)
class Subgroup:
    """A node of the tree; the PodGroup itself is its root. ``least``: pods, or children, that must start."""

    at: Field
    name: str
    parent: Field
    constraint: Field
    least: int
    children: tuple[str, ...] = ()
    pods: tuple[Shape, ...] = ()

    @property
    def seen(self) -> int:
        return sum(shape.count for shape in self.pods)


@dataclass(frozen=True, slots=True)
class Tree:
    """``listed``: all subgroups as they are listed. ``nodes``: the same by name, and the root under an empty one.

    ``states``: of the nodes, once their pods are known.
    """

    listed: tuple[Subgroup, ...]
    nodes: Mapping[str, Subgroup]
    states: Mapping[str, State] = field(default_factory=dict)

    @property
    def root(self) -> Subgroup:
        return self.nodes[_ROOT]

    @property
    def leaves(self) -> list[Subgroup]:
        return [one for one in self.listed if not one.children]


def listed(spec: Field) -> list[Field]:
    """The subgroups, in KAI's spelling or in that of the design (X-06)."""
    today, design = spec.at("subGroups"), spec.at("subgroups")
    if today.present and design.present:
        design.wrong("subGroups is given beside it; give that one alone")
    elif design.present:
        design.warn("is read as subGroups; KAI itself knows only that spelling", ("subGroups",))
    entries = (today if today.present else design).items()
    for one in entries:
        one.mapping()
        one.typos(*_FIELDS)
    return entries


def read(spec: Field, entries: Sequence[Field]) -> Tree:
    """The tree of a PodGroup's subgroups, pods aside; names and parents that make none are told by the normal form."""
    parents = [_text(written(one.at("parent"))) for one in entries]
    names = [_text(one.at("name")) for one in entries]
    children: dict[str, list[str]] = {}
    for name, parent in zip(names, parents, strict=True):
        if name:
            children.setdefault(parent, []).append(name)
    made = tuple(_subgroup(at, name, children.get(name, [])) for at, name in zip(entries, names, strict=True))
    least = least_children(spec.at("minSubGroup"), len(children.get(_ROOT, [])))
    root = Subgroup(spec, _ROOT, spec.meaning(None), constraint.of(spec), least, tuple(children.get(_ROOT, [])))
    return Tree(made, {**{one.name: one for one in made}, _ROOT: root})


def _text(at: Field) -> str:
    return at.value if isinstance(at.value, str) else ""


def _subgroup(at: Field, name: str, children: list[str]) -> Subgroup:
    """Pods are counted at the lowest level only, children above it. (M-007, M-015, X-15)"""
    inner = bool(name and children)
    if inner and at.at("minMember").present:
        at.at("minMember").wrong(
            "the subgroup has subgroups and no pods of its own; minMember stands on those, minSubGroup counts them"
        )
    if not inner and at.at("minSubGroup").present:
        at.at("minSubGroup").wrong("the subgroup has no subgroups to count; minMember counts its pods")
    least = least_children(at.at("minSubGroup"), len(children)) if inner else least_pods(at.at("minMember"))
    return Subgroup(at, name, written(at.at("parent")), constraint.of(at), least, tuple(children) if inner else ())


def least_pods(at: Field) -> int:
    """``minMember`` of a group that holds pods: 0 is no gang at all, nothing written is one pod."""
    if not at.present:
        at.warn("is not written, so one pod is enough to start; write how many start together")
    return at.integer(1, high=PODS_MAX)


def least_children(at: Field, children: int) -> int:
    """``minSubGroup``: all where it is not written (X-50)."""
    least = at.integer(children)
    if children and least > children:
        at.mistaken(f"is more than the number of subgroups directly below, {children}")
    return min(least, children)


# -- pods --------------------------------------------------------------------------------------------------------


def filled(tree: Tree, found: Assigned, namespace: str, around: Surroundings) -> Tree:
    """The tree with the shapes of the pods that belong to it."""
    shapes = {one.name: tuple(members.shapes(found.of(one.name), namespace, around)) for one in tree.leaves}
    made = tuple(replace(one, pods=shapes.get(one.name, ())) for one in tree.listed)
    nodes = {**{one.name: one for one in made}, _ROOT: tree.root}
    states: dict[str, State] = {}
    for name in (_ROOT, *nodes):
        _settle(nodes, name, states, 0)
    return Tree(made, nodes, states)


def _settle(nodes: Mapping[str, Subgroup], name: str, states: dict[str, State], depth: int) -> State:
    """The state of a node, noted in ``states``. Circles, and trees too deep, are not followed: both are refused."""
    if name in states or depth > _DEPTH_MAX:
        return states.get(name, State.READY)
    states[name] = State.READY  # for those who come back here in a circle
    below = [_settle(nodes, child, states, depth + 1) for child in nodes[name].children]
    states[name] = _state(nodes[name], below)
    return states[name]


def _state(one: Subgroup, below: Sequence[State]) -> State:
    if not one.children:
        return State.SHORT if one.seen < one.least else State.READY if one.seen else State.EMPTY
    if len(below) - below.count(State.SHORT) < one.least:
        return State.SHORT
    return State.READY if State.READY in below else State.EMPTY


def idle(tree: Tree) -> frozenset[str]:
    """Names of subgroups that are not placed now. None where names are not unique, which is a Problem elsewhere."""
    if max(Counter(one.name for one in tree.listed).values(), default=0) > 1:
        return frozenset()
    return frozenset(_idle(tree, _ROOT, 0))


def _idle(tree: Tree, name: str, depth: int) -> set[str]:
    """Where a node waits for its children, those that are short are kept: it is they that it waits for.

    So are they below a root that waits for none, where each is a decision by itself.
    """
    one = tree.nodes[name]
    waits = tree.states[name] is State.SHORT or (name == _ROOT and one.least == 0)
    gone: set[str] = set()
    for child in one.children if depth <= _DEPTH_MAX else ():
        now = tree.states[child]
        if now is State.EMPTY or (now is State.SHORT and not waits):
            gone |= _below(tree, child, depth)
        else:
            gone |= _idle(tree, child, depth + 1)
    return gone


def _below(tree: Tree, name: str, depth: int) -> set[str]:
    children = tree.nodes[name].children if depth <= _DEPTH_MAX else ()
    return {name}.union(*(_below(tree, child, depth + 1) for child in children))


# -- the normal form ---------------------------------------------------------------------------------------------


def entries(tree: Tree) -> list[Entry]:
    """The entries of ``podGroups``."""
    gone = idle(tree)
    made: list[Entry] = []
    for one in tree.listed:
        if one.name in gone:
            _explain_absence(one)
        elif one.children:
            made.append({**_common(one), **waiting(tree, one)})
        else:
            made += _leaf(one, tree)
    return made


def told(tree: Tree) -> tuple[Told, ...]:
    """How many pods are known of each subgroup that the gang waits for (M-022)."""
    gone = idle(tree)
    return tuple(members.told(one.name, one.pods, one.least) for one in tree.leaves if one.name not in gone)


def waiting(tree: Tree, one: Subgroup) -> dict[str, object]:
    """``policy`` and ``minGroups`` of a node. Children that need nothing and have nothing count as started."""
    at = one.at.at("minSubGroup")
    if not at.present:
        return {}
    needed = one.least - sum(tree.states[child] is State.EMPTY for child in one.children)
    return {"minGroups": at.meaning(needed)} if needed > 0 else {"policy": "Basic"}


def _common(one: Subgroup) -> dict[str, object]:
    return {"name": one.at.at("name"), "parent": one.parent, **constraint.near(one.constraint)}


def _leaf(one: Subgroup, tree: Tree) -> list[Entry]:
    """A subgroup with pods. One that needs none of them stands alone in a group that nobody waits for."""
    whole = {**_common(one), **pods(one.at.at("minMember"), one.pods, one.least)}
    above = tree.nodes.get(_text(one.parent))
    if one.least or above is None or waiting(tree, above).get("policy") == "Basic":
        return [whole]
    around = f"{one.name}.elastic"
    return [{"name": around, "parent": one.parent, "policy": "Basic"}, {**whole, "parent": around}]


def pods(at: Field, shapes: Sequence[Shape], least: int) -> dict[str, object]:
    """Counts and shapes of a group: as many pods as exist, of which ``minMember`` start together (M-025)."""
    return {"minCount": at.meaning(max(least, 1)), **members.pods_of(shapes, least)}


def _explain_absence(one: Subgroup) -> None:
    if one.children:
        return
    if one.least > one.seen:
        one.at.warn(f"has {one.seen} of {one.least} pods and enough others do without it, so it is not placed now")
    else:
        one.at.warn("needs no pods and has none, so nothing of it is placed")
