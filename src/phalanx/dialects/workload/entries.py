"""From the four levels of a Workload to the flat groups of the normal form, as flat as a person would write them.

A level that says nothing of its own is left out: one ranked group with one eq group is a single group of the gang
group's name. Two levels that both ask for a domain stay two::

    gg (block) > rg (rack) > template       gg: {topology: block}, rg: {parent: gg, topology: rack, template}
    gg > rg > leader, worker                gg: {podClasses: [leader, worker]}
    gg > rg1, rg2                           gg: {policy: Gang}, rg1: {parent: gg}, rg2: {parent: gg}
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from phalanx.dialects import members, recognised
from phalanx.dialects.fields import Field
from phalanx.dialects.members import Shape
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Told
from phalanx.dialects.workload import joining, pods
from phalanx.dialects.workload.joining import Joined
from phalanx.dialects.workload.nested import Counts, GangGroup, RankedGroup
from phalanx.dialects.workload.requested import Wish

Made = dict[str, object]


@dataclass(frozen=True, slots=True)
class Entries:
    """Groups of the normal form, and those of them that lack pods."""

    groups: tuple[Made, ...] = ()
    told: tuple[Told, ...] = ()

    def __add__(self, other: "Entries") -> "Entries":
        return Entries(self.groups + other.groups, self.told + other.told)


@dataclass(frozen=True, slots=True)
class Names:
    """Names of groups that are taken. Ranked groups of two gang groups may be called the same."""

    taken: set[str] = field(default_factory=set)

    def free(self, name: str, inside: str) -> str:
        chosen = name if name not in self.taken else f"{inside}.{name}"
        self.taken.add(chosen)
        return chosen


@dataclass(frozen=True, slots=True)
class Part:
    """One gang group while it is made: its members and in how many copies they are."""

    group: GangGroup
    joined: Joined
    those: tuple[Member, ...]
    copies: int | None
    names: Names


def of(group: GangGroup, those: Sequence[Member], replicated: bool, joined: Joined, names: Names) -> Entries:
    """The groups of the normal form that a gang group becomes."""
    number = _copies(group, those) if replicated else None
    part = Part(group, joined, tuple(those), number, names)
    made = _one(part) if len(group.ranked) == 1 else _several(part)
    first = {**made.groups[0], **_replication(part, replicated)}
    return replace(made, groups=(first, *made.groups[1:]))


# -- copies ------------------------------------------------------------------------------------------------------


def _copies(group: GangGroup, those: Sequence[Member]) -> int | None:
    said = group.replicas.value
    return said if isinstance(said, int) else joining.copies(those)


def _replication(part: Part, replicated: bool) -> Made:
    """``replicas`` and ``replicaKey``. A number that nobody knows is as many as keys appear. (W-220)"""
    if not replicated:
        return {}
    said = [members.value(one.entry.get("replicaKey")) for one in part.those]
    key = next((one for one in said if isinstance(one, str)), "metadata.labels['phalanx.dev/replica']")
    if part.copies is None:
        return {"replicaKey": part.group.at.at("replicaKey").meaning(key)}
    return {"replicas": part.group.replicas.meaning(part.copies), "replicaKey": key}


def _shapes(part: Part, those: Sequence[Member]) -> list[Shape]:
    return members.per_copy(part.joined.shapes(those), part.copies or 1)


# -- one ranked group --------------------------------------------------------------------------------------------


def _one(part: Part) -> Entries:
    """A gang group with a single ranked group is one group, unless both ask for a domain."""
    ranked = part.group.ranked[0]
    levels = [(part.group.name, part.group.near), (ranked.name, ranked.near)]
    return _ranked(part, ranked, levels, part.those, None)


def _ranked(
    part: Part, ranked: RankedGroup, levels: list[tuple[str, Wish | None]], those: Sequence[Member], parent: str | None
) -> Entries:
    if len(ranked.equals) == 1:
        levels = [*levels, (ranked.equals[0].name, ranked.equals[0].near)]
    elif any(one.near is not None for one in ranked.equals):
        return _apart(part, ranked, levels, those, parent)
    outer, name, near = _folded(levels, part, parent)
    inside = outer[-1]["name"] if outer else parent
    place = pods.Place(name, part.joined, _sizes(part, those), joining.by_name(those, part.copies or 1))
    leaf, short = pods.of(part.group, ranked, _shapes(part, those), place)
    _check_ranks(part, ranked, those)
    made: Made = {"name": name, "parent": inside, "topology": near, "rank": ranked.rank, **leaf}
    kept = {key: value for key, value in made.items() if value is not None}
    return Entries((*outer, kept), short)


def _sizes(part: Part, those: Sequence[Member]) -> tuple[int, ...]:
    return joining.sizes(those, part.copies) if part.copies is not None else ()


def _folded(
    levels: list[tuple[str, Wish | None]], part: Part, parent: str | None
) -> tuple[tuple[Made, ...], str, Wish | None]:
    """Levels without a wish of their own folded away: the groups around, and name and wish of the innermost."""
    name, near = levels[0][0], None
    outer: list[Made] = []
    for level, wish in levels:
        if wish is None or (near is not None and _same(near, wish)):
            continue
        if near is not None:
            outer.append(_inner(name, near, parent))
            parent, name = name, part.names.free(level, part.group.name)
        near = wish
    return tuple(outer), name, near


def _same(one: Wish, other: Wish) -> bool:
    """Whether two levels ask for the same domain, so that one of them is enough."""
    asked = [(wish.at("required").value, wish.at("preferred").value) for wish in (one, other)]
    return all(isinstance(level, str | None) for pair in asked for level in pair) and asked[0] == asked[1]


def _inner(name: str, near: Wish | None, parent: object, gang: bool = True) -> Made:
    made: Made = {"name": name, "parent": parent, "topology": near, "policy": None if gang else "Basic"}
    return {key: value for key, value in made.items() if value is not None}


def _apart(
    part: Part, ranked: RankedGroup, levels: list[tuple[str, Wish | None]], those: Sequence[Member], parent: str | None
) -> Entries:
    """Eq groups with wishes of their own are groups of their own."""
    if ranked.rank is not None:
        ranked.at.at("eqGroups").wrong(
            "a topologyRequest of one of several eqGroups of a ranked group is not supported yet"
        )
    outer, name, near = _folded(levels, part, parent)
    made = Entries((*outer, _inner(name, near, outer[-1]["name"] if outer else parent, part.group.gang)))
    for one in ranked.equals:
        alone = replace(ranked, equals=(replace(one, near=None),), rank=None, counts=_silent(ranked.counts))
        mine = [m for m in those if members.value(m.entry.get("name")) == one.name]
        inside = [(part.names.free(one.name, part.group.name), one.near)]
        made += _ranked(_without_counts(part), alone, inside, mine, name)
    return made


def _without_counts(part: Part) -> Part:
    """The part for one of several groups below it: the gang's own counts speak of all of them."""
    return replace(part, group=replace(part.group, counts=_silent(part.group.counts)))


def _silent(counts: Counts) -> Counts:
    return Counts(counts.count.meaning(None), counts.least.meaning(None), counts.most.meaning(None))


# -- several ranked groups ---------------------------------------------------------------------------------------


def _several(part: Part) -> Entries:
    """A gang group with several ranked groups: an inner group around them."""
    found = _distributed(part)
    made = Entries((_inner(part.group.name, part.group.near, None, part.group.gang),))
    below = _without_counts(part)
    for ranked in part.group.ranked:
        name = part.names.free(ranked.name, part.group.name)
        made += _ranked(below, ranked, [(name, ranked.near)], found[ranked.name], part.group.name)
    _check_total(part, made)
    return made


def _distributed(part: Part) -> dict[str, list[Member]]:
    """Members by ranked group: pods name the gang group only, so the name of their pod set tells them apart."""
    found: dict[str, list[Member]] = {one.name: [] for one in part.group.ranked}
    named = [replace(one, group=None) for one in part.those]
    for one in joining.placed_by_name(named, list(found)):
        if one.group is not None:
            found[one.group].append(one)
        elif not all(ranked.equals for ranked in part.group.ranked):
            part.group.at.at("rankedGroups").wrong(
                f"which of them the pods of {one.owner.title[:100]} are in is not known; give each its eqGroups with "
                "counts and templates, or call it like a pod set",
                list(found),
            )
    return found


def _check_total(part: Part, made: Entries) -> None:
    """A gang over several ranked groups starts whole: its minCount is all of its pods."""
    least = part.group.counts.least
    total = sum(pods.total(one) for one in made.groups)
    if not part.group.gang or not isinstance(least.value, int) or any(one.is_short for one in made.told):
        return
    if least.value > total:
        least.wrong(f"minCount {least.value} is more than the {total} pods of its ranked groups")
    if least.value < total:
        least.wrong(
            f"minCount {least.value} of {total} pods over several ranked groups is not supported yet; "
            "leave minCount out, or put it on a gang group of one"
        )


def _check_ranks(part: Part, ranked: RankedGroup, those: Sequence[Member]) -> None:
    """Pods that exist carry their ranks, and each one once. (W-173, X-24)"""
    path = ranked.rank.get("fieldPath") if ranked.rank is not None else None
    if not isinstance(path, Field):
        return
    by_copy: dict[str | None, list[Field]] = {}
    for one in those:
        if one.is_pod:
            pod = Field.of(members.template(one.entry), part.joined.doc.notes, one.owner)
            by_copy.setdefault(joining.replica_key(one), []).append(pod)
    for found in by_copy.values():
        recognised.ranks(found, path)
