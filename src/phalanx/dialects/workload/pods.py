"""The pods of one ranked group: how many, how few will do, and of which shapes.

Numbers come, in this order, from what the group says, from the members that name it, from the least it asks for.
Templates come from eq groups, else from members. Where nobody tells what the pods are like, the group waits for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from phalanx.dialects import members, podspec
from phalanx.dialects.fields import Field
from phalanx.dialects.members import Shape
from phalanx.dialects.outline import Told
from phalanx.dialects.workload.joining import Joined
from phalanx.dialects.workload.nested import Counts, EqGroup, GangGroup, RankedGroup

Made = dict[str, object]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pods go: the group's name and who names it.

    ``sizes``: pods of each copy, where pods exist. ``named``: pods by the name of their class.
    """

    name: str
    joined: Joined
    sizes: tuple[int, ...]
    named: Mapping[str, Shape]


def of(group: GangGroup, ranked: RankedGroup, found: Sequence[Shape], place: Place) -> tuple[Made, tuple[Told, ...]]:
    """Counts and templates of a leaf of the normal form, and how many pods of it are known."""
    if len(ranked.equals) > 1:
        return _classes(group, ranked, found, place)
    equal = ranked.equals[0] if ranked.equals else None
    counts = _merged([*([equal.counts] if equal else []), ranked.counts, group.counts])
    least = _least(group, counts)
    most = {"maxCount": counts.most} if counts.most.present else {}
    _check_number(counts, found)
    if equal is not None and equal.template.present:
        _check_alike(equal, found, place)
        count = _count(counts, found)
        return {"count": count, "minCount": least, **most, "template": _template(equal.template)}, ()
    needed = members.amount(least, 0) or members.amount(_count(counts, found), 1)
    made = members.pods_of(found, max(needed, members.amount(counts.count, 0)))
    seen = _told(place, found, max(needed, 1))
    known = found and (not counts.count.present or "podClasses" in made)
    told = {} if known else {"count": _count(counts, found)}
    return {**made, **told, "minCount": least if least is not None else needed, **most}, seen


def _told(place: Place, found: Sequence[Shape], needed: int) -> tuple[Told, ...]:
    """How many pods are known of the group, or of each of its copies."""
    if not place.sizes:
        return (members.told(place.name, found, needed),)
    names = [f"{place.name}[{i}]" for i in range(len(place.sizes))]
    sizes = zip(names, place.sizes, strict=True)
    return tuple(Told(name, needed, size, pool=members.pool(name, found)) for name, size in sizes)


def total(entry: Mapping[str, object]) -> int:
    """Pods of an entry of the normal form."""
    listed = entry.get("podClasses")
    if isinstance(listed, list):
        return sum(members.amount(one.get("count"), 1) for one in listed)
    return members.amount(entry.get("count"), 0)


# -- numbers -----------------------------------------------------------------------------------------------------


def _merged(inner_first: list[Counts]) -> Counts:
    """The counts of levels that are one group: each number as the innermost says it, the least as the outermost."""

    def first(those: list[Field]) -> Field:
        return next((at for at in those if at.value), those[-1])

    return Counts(
        first([one.count for one in inner_first]),
        first([one.least for one in reversed(inner_first)]),
        first([one.most for one in inner_first]),
    )


def _least(group: GangGroup, counts: Counts) -> object:
    """``minCount``: what starts together; one pod where there is no gang. None: all there are."""
    if not group.gang:
        return 1
    return counts.least if counts.least.value else None


def _count(counts: Counts, found: Sequence[Shape]) -> Field:
    """Pods wanted: as said, else as many as exist, else the least of the range, else the most. (W-228)"""
    seen = sum(one.count for one in found)
    least = members.amount(counts.least, 0)
    if counts.count.present:
        return counts.count
    if seen:
        return counts.least.meaning(max(seen, least))
    return counts.least.meaning(least or members.amount(counts.most, 1))


def _check_number(counts: Counts, found: Sequence[Shape]) -> None:
    """A warning when the members are not as many as the group says. (W-019, W-103)"""
    seen = sum(one.count for one in found)
    if seen and counts.count.present and counts.count.value != seen:
        counts.count.warn(
            f"says {counts.count.value} pods, but those that name the group are {seen}; what it says counts"
        )


# -- several shapes ----------------------------------------------------------------------------------------------


def _classes(
    group: GangGroup, ranked: RankedGroup, found: Sequence[Shape], place: Place
) -> tuple[Made, tuple[Told, ...]]:
    """Eq groups as classes of one numbering: leader and workers. (W-179)"""
    classes = [_class(one, place.named.get(one.name), found, place) for one in ranked.equals]
    wanted = sum(members.amount(one["count"], 1) for one in classes)
    counts = _merged([ranked.counts, group.counts])
    least = _least(group, counts)
    unknown = [one for one in classes if one["template"] is None]
    if counts.count.present and counts.count.value != wanted:
        counts.count.mistaken(f"differs from the {wanted} pods of its eqGroups")
    made: Made = {"podClasses": classes, "minCount": least if least is not None else wanted}
    most = {"maxCount": counts.most} if counts.most.present else {}
    return {**made, **most}, (Told(place.name, wanted, 0),) if unknown else ()


def _class(one: EqGroup, shape: Shape | None, found: Sequence[Shape], place: Place) -> Made:
    counts = one.counts
    seen = [shape] if shape is not None else []
    count = _count(counts, seen)
    _check_number(counts, seen)
    number, most = members.amount(count, 1), members.amount(counts.most, 0)
    if members.amount(counts.least, number) < number:
        counts.least.wrong("fewer pods than there are, in one of several eqGroups, is not supported yet")
    if most and number > most:
        counts.most.mistaken(f"is less than the {number} pods there are")
    if one.template.present:
        _check_alike(one, seen, place)
        return {"name": one.name, "count": count, "template": _template(one.template)}
    if shape is None and found:
        one.template.wrong(
            f"eq group {one.name} has no template, and no pods of that name tell what they are like",
            [other.name for other in found],
        )
    return {"name": one.name, "count": count, "template": shape.template if shape is not None else None}


# -- templates ---------------------------------------------------------------------------------------------------


def _template(at: Field) -> Made:
    return {"metadata": at.at("metadata"), "spec": at.at("spec")}


def _check_alike(one: EqGroup, found: Sequence[Shape], place: Place) -> None:
    """A warning when the pods there are differ from the template that is followed. (W-103, W-211, W-212)"""
    if one.grows:
        return
    namespace, around = place.joined.namespace, place.joined.around
    said = replace(podspec.read(Field.of(_template(one.template)).aside(), namespace, around), labels=())
    for shape in found:
        seen = replace(podspec.read(Field.of(shape.template), namespace, around), labels=())
        differ = [part.name for part in fields(seen) if getattr(seen, part.name) != getattr(said, part.name)]
        if differ:
            one.template.warn(
                f"pods of this group differ from the template in: {', '.join(differ)}; the template is followed"
            )
