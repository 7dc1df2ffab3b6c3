"""The flat list ``podGroups``: each entry read once, its parent found, the whole checked to be a tree."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from phalanx.dialects.fields import Field
from phalanx.dialects.gang import leaf, near
from phalanx.dialects.gang.leaf import Pods
from phalanx.dialects.gang.near import Near
from phalanx.dialects.gang.paths import check_field_path
from phalanx.dialects.levels import Levels
from phalanx.dialects.surroundings import Surroundings

GROUPS_MAX = 10_000  # groups of one gang, copies counted
DEPTH_MAX = 32
POLICIES = ("Gang", "Basic")

Keys = Mapping[str, tuple[str, ...]]

_INNER = ("policy", "minGroups")
_BOTH = ("name", "parent", "replicas", "replicaKey", "topology")


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry as written: what it holds and who its children are."""

    at: Field
    name: str
    near: Near
    replicas: int | None  # None: not copied
    keys: tuple[str, ...] | None  # copies appear as their keys do: replicaKey without replicas; None: they do not
    policy: str
    children: tuple[str, ...]
    pods: Pods | None  # None: an inner group

    @property
    def keyed(self) -> bool:
        return self.keys is not None

    @property
    def copies(self) -> tuple[str, ...] | None:
        """What its copies are called; None: it is not copied."""
        return self.keys if self.replicas is None else tuple(str(i) for i in range(self.replicas))


@dataclass(frozen=True, slots=True)
class Forest:
    """All entries by name, and the names of those without a parent, in declared order."""

    groups: Mapping[str, Declared]
    roots: tuple[str, ...]


def read(at: Field, levels: Levels, namespace: str, around: Surroundings, keys: Keys) -> Forest | None:
    """The entries as a forest; None, with Problems noted, when names and parents do not make one.

    ``keys``: those that have appeared, of groups whose copies do as their keys do.
    """
    entries = at.items(limit=GROUPS_MAX)
    named = _named(entries)
    children = _children(named)
    if children is None or not _is_shallow(named) or len(named) < len(entries):
        return None
    groups = {}
    for name, entry in named.items():
        one = _declared(entry, name, tuple(children[name]), levels, namespace, around)
        keyed = entry.at("replicaKey").present and not entry.at("replicas").present
        groups[name] = replace(one, keys=keys.get(name, ())) if keyed else one
    return Forest(groups, tuple(children[""]))


def _named(entries: list[Field]) -> dict[str, Field]:
    named: dict[str, Field] = {}
    for entry in entries:
        if not entry.known(*_BOTH, *_INNER, *leaf.FIELDS):
            entry.wrong("a group is a mapping of fields")
            continue
        name = entry.at("name").name("")
        if not entry.at("name").present:
            entry.at("name").wrong("a group needs a name")
        if name in named:
            entry.at("name").mistaken("names two groups; names are unique within a gang")
        elif name:
            named[name] = entry
    return named


def _children(named: Mapping[str, Field]) -> dict[str, list[str]] | None:
    """Names of the children of each name; those without a parent under the empty name. None: a parent is unknown."""
    children: dict[str, list[str]] = {name: [] for name in ("", *named)}
    unknown = False
    for name, entry in named.items():
        parent = entry.at("parent").text("")
        if parent not in children:
            entry.at("parent").mistaken("is not a group of this gang", sorted(named)[:50])
            unknown = True
        else:
            children[parent].append(name)
    return None if unknown else children


def _is_shallow(named: Mapping[str, Field]) -> bool:
    """Whether every group is at most DEPTH_MAX steps below the top. Walking up that far also finds every circle."""
    parents = {name: entry.at("parent").value for name, entry in named.items()}
    complaints = {name: _complaint(name, parents) for name in named}
    for name, complaint in complaints.items():
        if complaint:
            named[name].at("parent").wrong(complaint)
    return not any(complaints.values())


def _complaint(name: str, parents: Mapping[str, object]) -> str:
    """What is wrong with the way up from a group; empty when it ends."""
    above = [name]
    while isinstance(parent := parents.get(above[-1]), str) and parent:
        if parent in above:
            return "the parents run in a circle: " + " -> ".join((*above, parent))[:200]
        above.append(parent)
        if len(above) > DEPTH_MAX:
            return f"groups are nested at most {DEPTH_MAX} deep"
    return ""


def _declared(
    entry: Field, name: str, children: tuple[str, ...], levels: Levels, namespace: str, around: Surroundings
) -> Declared:
    close = near.read(entry.at("topology"), levels)
    replicas = entry.at("replicas").integer(None, low=1, high=GROUPS_MAX)
    check_field_path(entry.at("replicaKey"))
    _check_role(entry, inner=bool(children))
    pods = None if children else leaf.read(entry, name, close.required, levels, namespace, around)
    return Declared(
        at=entry,
        name=name,
        near=close,
        replicas=replicas,
        keys=None,
        policy=entry.at("policy").choice("Gang", *POLICIES),
        children=children,
        pods=pods,
    )


def _check_role(entry: Field, inner: bool) -> None:
    """Inner groups have no pods of their own; groups without children have no policy over any."""
    for name in leaf.FIELDS if inner else _INNER:
        if entry.at(name).present:
            reason = "has children and no pods of its own" if inner else "has no children"
            entry.at(name).wrong(f"the group {reason}, so {name} means nothing here")
    holds = any(entry.at(name).present for name in ("count", "minCount", "template", "podClasses"))
    if not inner and not holds:
        entry.wrong("the group has neither pods (count, template or podClasses) nor children")
