"""The groups of a normal form as a tree of plain values: what is written down in another dialect.

Defaults are left out, so that whatever is there was asked for and is either said in the other dialect or lost.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phalanx.dialects import outline as normal
from phalanx.dialects.outline import Outline

_DEFAULTS: Mapping[str, object] = {"queue": "default", "preemptible": True, "suspend": False, "policy": "Gang"}
_SAID_ELSEWHERE = ("phalanx.dev/topology-", "kueue.x-k8s.io/podset-")  # wishes on a template, in the groups by now
_SEPARATORS = ("-", "--", "---")


@dataclass(frozen=True, slots=True)
class Kind:
    """Equal pods of a group. ``name``: of the class, empty where the group has no classes."""

    name: str
    count: int
    least: int
    template: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One group and those below it. ``entry``: as in ``podGroups`` without its name and parent."""

    name: str
    entry: Mapping[str, Any]
    children: tuple["Part", ...] = ()

    @property
    def near(self) -> Mapping[str, Any]:
        return _mapping(self.entry.get("topology"))

    @property
    def policy(self) -> str:
        return str(self.entry.get("policy", "Gang"))

    @property
    def replicas(self) -> int | None:
        return self.entry.get("replicas")

    @property
    def copies(self) -> int:
        return 0 if self.keyed else self.entry.get("replicas", 1)

    @property
    def keyed(self) -> bool:
        """Whether how many copies there are shows only when their pods do."""
        return "replicaKey" in self.entry and "replicas" not in self.entry

    @property
    def count(self) -> int:
        return sum(one.count for one in self.kinds)

    @property
    def least(self) -> int:
        return int(self.entry.get("minCount", self.count))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Its pods; the first ones of them are those that must start."""
        left = self.entry.get("minCount")
        found: list[Kind] = []
        for name, count, template in _listed(self.entry):
            least = count if left is None else min(count, left)
            left = None if left is None else left - least
            found.append(Kind(name, count, least, template))
        return tuple(found)

    def leaves(self) -> Iterator["Part"]:
        """The groups below it that hold pods; itself when it does."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


@dataclass(frozen=True, slots=True)
class Whole:
    """A workload: what its spec says at the top, and its groups."""

    namespace: str
    name: str
    spec: Mapping[str, Any]
    parts: tuple[Part, ...]
    priority: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def near(self) -> Mapping[str, Any]:
        return _mapping(self.spec.get("topology"))

    @property
    def policy(self) -> str:
        return str(self.spec.get("policy", "Gang"))

    @property
    def id(self) -> str:
        return f"{self.namespace}/{self.name}"

    def leaves(self) -> Iterator[Part]:
        for part in self.parts:
            yield from part.leaves()


def of(outline: Outline) -> Whole:
    """The groups of a valid outline."""
    spec = _mapping(normal.plain(outline.spec))
    below: dict[str, list[Mapping[str, Any]]] = {}
    for entry in spec.get("podGroups", ()):
        below.setdefault(str(_mapping(entry).get("parent", "")), []).append(_mapping(entry))
    parts = tuple(_part(entry, below) for entry in below.get("", ()))
    top = _stated({key: value for key, value in spec.items() if key != "podGroups"}, parts)
    metadata = {"name": outline.name, "namespace": outline.namespace}
    return Whole(outline.namespace, outline.name, top, parts, outline.priority, metadata)


def _part(entry: Mapping[str, Any], below: Mapping[str, list[Mapping[str, Any]]]) -> Part:
    children = tuple(_part(one, below) for one in below.get(str(entry["name"]), ()))
    own = {key: value for key, value in entry.items() if key not in ("name", "parent")}
    return Part(str(entry["name"]), _stated(own if children else _pods(own), children), children)


def _stated(holder: Mapping[str, Any], members: Iterable[Part]) -> dict[str, Any]:
    """The fields that say something: no defaults, nothing empty."""
    kept = {key: value for key, value in holder.items() if _DEFAULTS.get(key) != value}
    if kept.get("minGroups") == sum(one.copies for one in members):
        del kept["minGroups"]
    return {key: value for key, value in kept.items() if value not in ({}, []) or key == "rank"}


def _pods(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A group's own pods: counts that follow from others left out, templates without wishes said elsewhere."""
    total = sum(count for _, count, _ in _listed(entry))
    kept = {key: value for key, value in entry.items() if key not in ("minCount", "maxCount") or value != total}
    if "podClasses" in kept:
        kept.pop("count", None)
        kept["podClasses"] = [_with_bare_template(_mapping(one)) for one in kept["podClasses"]]
    elif "count" not in kept:
        kept["count"] = total
    return _with_bare_template(kept)


def _with_bare_template(holder: Mapping[str, Any]) -> dict[str, Any]:
    if "template" not in holder:
        return dict(holder)
    template = _mapping(holder["template"])
    metadata = dict(_mapping(template.get("metadata")))
    notes = {k: v for k, v in _mapping(metadata.pop("annotations", {})).items() if not k.startswith(_SAID_ELSEWHERE)}
    metadata = {**metadata, **({"annotations": notes} if notes else {})}
    bare = {"metadata": metadata, "spec": template.get("spec")}
    return {**holder, "template": {key: value for key, value in bare.items() if value}}


def _listed(entry: Mapping[str, Any]) -> list[tuple[str, int, Mapping[str, Any]]]:
    """Class, count and template of a group's pods, as ``gang`` reads them."""
    own = _mapping(entry.get("template"))
    if not entry.get("podClasses"):
        return [("", entry.get("count", entry.get("minCount", 1)), own)]
    listed = [_mapping(one) for one in entry["podClasses"]]
    return [(str(one["name"]), one.get("count", 1), _mapping(one.get("template")) or own) for one in listed]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# -- copies ------------------------------------------------------------------------------------------------------


def unfolded(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The groups with each copy of ``replicas`` as a group of its own: ``decode-0``, ``decode-1``.

    Those whose copies are not known are left out. For dialects that have no copies.
    """
    parts = tuple(parts)
    for separator in _SEPARATORS:
        made = _copies(parts, "", separator)
        names = [name for part in made for name in _names(part)]
        if len(set(names)) == len(names):
            break
    return made


def _copies(parts: tuple[Part, ...], mark: str, separator: str) -> tuple[Part, ...]:
    made: list[Part] = []
    for part in parts:
        marks = [mark] if part.replicas is None else [f"{mark}{separator}{i}" for i in range(part.copies)]
        entry = {key: value for key, value in part.entry.items() if key not in ("replicas", "replicaKey")}
        for one in marks if not part.keyed else ():
            made.append(Part(part.name + one, _renamed(entry, one), _copies(part.children, one, separator)))
    return tuple(made)


def _renamed(entry: dict[str, Any], mark: str) -> dict[str, Any]:
    """A copy sits with the copy of its partner that has the same number."""
    rank = _mapping(entry.get("rank"))
    if not mark or "withSameRankOf" not in rank:
        return entry
    return {**entry, "rank": {**rank, "withSameRankOf": rank["withSameRankOf"] + mark}}


def _names(part: Part) -> Iterator[str]:
    yield part.name
    for child in part.children:
        yield from _names(child)


def units(whole: Whole) -> tuple[Whole, ...]:
    """Under policy Basic each top-level group (each copy) as a workload of its own; itself under policy Gang."""
    if whole.policy != "Basic":
        return (replace(whole, parts=_alone(whole.parts)),)
    spec = {key: value for key, value in whole.spec.items() if key != "policy"}
    copies = unfolded(whole.parts)
    if len(copies) == 1:
        return (replace(whole, spec=spec, parts=_alone(copies)),)
    return tuple(_unit(whole, spec, part) for part in copies)


def _unit(whole: Whole, spec: Mapping[str, Any], part: Part) -> Whole:
    name = f"{whole.name}-{part.name}"
    return replace(whole, name=name, spec=spec, parts=_alone((part,)), metadata={**whole.metadata, "name": name})


def _alone(members: tuple[Part, ...]) -> tuple[Part, ...]:
    """A group with nobody beside it waits for one of its members, or nothing would be placed."""
    if len(members) != 1 or members[0].policy != "Basic" or members[0].replicas is not None:
        return members
    entry = {key: value for key, value in members[0].entry.items() if key != "policy"}
    several = sum(child.copies for child in members[0].children) > 1
    return (replace(members[0], entry={**entry, "minGroups": 1} if several else entry),)
