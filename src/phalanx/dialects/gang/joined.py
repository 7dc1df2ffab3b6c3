"""What those who name a Gang tell of it: shapes and counts of groups without a template, and which copies there are.

A count that is written is the truth; pods beyond it are extra, and wait. Only a group that says none has as many as
there are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from phalanx.dialects import members
from phalanx.dialects.fields import Field
from phalanx.dialects.gang import copied
from phalanx.dialects.gang.copied import Copied
from phalanx.dialects.gang.leaf import PODS_MAX
from phalanx.dialects.members import Shape
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Outline, Told
from phalanx.dialects.surroundings import Surroundings

_GROUP = "phalanx.dev"

Keys = Mapping[str, tuple[str, ...]]  # keys of a group whose copies appear as their keys do
Sizes = Mapping[tuple[str | None, ...], int]  # pods of a group by the keys of its copies, outermost first


def filled(outline: Outline, around: Surroundings) -> Outline:
    """The outline with templates and counts of its members where it has none of its own. (W-017)"""
    joining = around.neighbours.members(_GROUP, "Gang", outline.namespace, outline.name)
    listed = outline.spec.get("podGroups")
    if not isinstance(listed, Field):
        return outline
    entries = listed.items()
    if not joining:
        return replace(outline, told=tuple(_awaited(outline, entries)))
    parents = {entry.at("parent").aside().text("") for entry in entries}
    leaves = [_name(entry) for entry in entries if _name(entry) not in parents]
    found = members.assign(joining, leaves, listed.notes, f"Gang {outline.name}")
    chains = copied.around(entries)
    sizes = {name: _sizes(members.telling(found.of(name)), chains.get(name, ())) for name in leaves}
    keys = _keys(chains, {name: _sizes(found.of(name), chains.get(name, ())) for name in leaves})
    made: list[object] = []
    told: list[Told] = []
    for entry in entries:
        name = _name(entry)
        shapes = members.shapes(found.of(name), outline.namespace, around) if name in leaves else []
        if not shapes or _says_its_pods(entry):
            made.append(dict(entry.entries()) if isinstance(entry.value, dict) else entry)
            told += [] if shapes else _awaited(outline, entries, only=name)
            continue
        shapes = members.per_copy(shapes, _number(chains.get(name, ()), keys, found.of(name)))
        count = _count(entry, shapes, sizes[name])
        made.append(_with_pods(entry, shapes, count))
        told += _told(entry, count or 1, chains.get(name, ()), sizes[name], members.pool(name, shapes))
    return replace(outline, spec={**outline.spec, "podGroups": made}, told=tuple(told), copies=keys)


def _awaited(outline: Outline, entries: Sequence[Field], only: str | None = None) -> Iterator[Told]:
    """Groups of which nobody knows a pod: nothing says what they would ask for. Where some of the groups are enough,
    none is waited for. ``only``: this one."""
    spec = Field.of(outline.spec)
    if spec.at("minGroups").present or any(one.at("minGroups").present for one in entries):
        return
    for entry in entries if only is None else [one for one in entries if _name(one) == only]:
        least = entry.at("minCount") if entry.at("minCount").present else entry.at("count")
        needed = least.aside().integer(0, high=PODS_MAX)
        if needed and entry.at("count").present and not _says_its_pods(entry):
            yield Told(_name(entry), needed, 0)


def _says_its_pods(entry: Field) -> bool:
    return entry.at("template").present or entry.at("podClasses").present


def _name(entry: Field) -> str:
    return entry.at("name").aside().text("")


# -- copies ------------------------------------------------------------------------------------------------------


def _sizes(those: Sequence[Member], chain: Sequence[Copied]) -> Sizes:
    found: Counter[tuple[str | None, ...]] = Counter()
    for one in those:
        found[_key(one, chain)] += members.size(one)
    return found


def _key(member: Member, chain: Sequence[Copied]) -> tuple[str | None, ...]:
    """What pods carry where each group says so; what their link says is about the innermost."""
    pod = Field.of(members.template(member.entry))
    found = [None if level.path is None else copied.key(pod, level.path) for level in chain]
    return (*found[:-1], member.replica if found[-1] is None else found[-1]) if found else ()


def _keys(chains: Mapping[str, tuple[Copied, ...]], sizes: Mapping[str, Sizes]) -> Keys:
    """The keys that appear, of groups whose copies do as they do."""
    found: dict[str, set[str]] = {}
    for name, by_copy in sizes.items():
        for i, level in enumerate(chains.get(name, ())):
            if level.number is None:
                found.setdefault(level.name, set()).update(one for keys in by_copy if (one := keys[i]) is not None)
    return {name: tuple(sorted(those)) for name, those in found.items()}


def _number(chain: Sequence[Copied], keys: Keys, those: Sequence[Member]) -> int:
    """How many copies of a group there are, those of the groups around it counted. Whoever makes them may know of more
    than have appeared."""
    made = [members.amount(one.entry.get("replicas"), 1) for one in those if not one.is_pod] if chain else []
    return max(prod(level.number or len(keys.get(level.name, ())) for level in chain), *made, 1)


# -- counts ------------------------------------------------------------------------------------------------------


def _count(entry: Field, shapes: Sequence[Shape], sizes: Sizes) -> int | None:
    """Pods of a copy: as many as it says; None where that is no number, which is told where counts are read."""
    if entry.at("count").present:
        return entry.at("count").aside().integer(None, low=1, high=PODS_MAX)
    told = bool(sizes) and not any(None in keys for keys in sizes)
    seen = max(sizes.values()) if told else sum(one.count for one in shapes)
    return _as_many(entry, seen)


def _as_many(entry: Field, seen: int) -> int:
    """As many as there are, in whole slices, and between the least and the most that the entry says."""
    slices = entry.at("slices").aside().items()
    size = slices[0].at("size").aside().integer(1, low=1) if slices else 1
    least = entry.at("minCount").aside().integer(1, low=1, high=PODS_MAX)
    most = entry.at("maxCount").aside().integer(PODS_MAX, low=1)
    return max(min(seen, most) // size * size, least)


def _with_pods(entry: Field, shapes: Sequence[Shape], count: int | None) -> dict[str, object]:
    """An entry with the pods that tell what they are like."""
    if count is None:
        return {**dict(entry.entries()), "template": shapes[0].template}
    own = {key: one for key, one in entry.entries() if key != "count"}
    return {**own, **members.pods_of(members.cut(shapes, count), count)}


def _told(entry: Field, count: int, chain: Sequence[Copied], sizes: Sizes, pool: str) -> list[Told]:
    """How many pods are known of the group, or of each of its copies. (W-019, M-022)"""
    name, least = _name(entry), max(entry.at("minCount").aside().integer(count), 1)
    known = sum(sizes.values())
    if not chain or any(None in keys for keys in sizes):  # without keys nobody knows which copy they are in
        return [Told(name, least, known, pool=pool)]
    seen = _by_copy(name, chain, sizes)
    return [Told(group, least, size, pool=group if pool else "") for group, size in seen.items()]


def _by_copy(name: str, chain: Sequence[Copied], sizes: Sizes) -> dict[str, int]:
    """Pods of each copy of a group, by its name."""
    called = [copied.marks((str(keys[i]) for keys in sizes), level.number) for i, level in enumerate(chain)]
    single = chain[0].number or 0 if len(chain) == 1 else 0
    found = {f"{name}[{i}]": 0 for i in range(single)}
    for keys, size in sizes.items():
        marks = [names.get(str(one)) for names, one in zip(called, keys, strict=True)]
        copy = name + "".join(f"[{mark}]" for mark in marks)
        if None not in marks:
            found[copy] = found.get(copy, 0) + size
    return found
