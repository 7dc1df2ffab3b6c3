"""The pods of one group: how many, of which shapes, in which slices and with which ranks."""

from dataclasses import dataclass

from phalanx.dialects import podspec
from phalanx.dialects.fields import Field
from phalanx.dialects.gang.paths import check_field_path
from phalanx.dialects.levels import Levels
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.nodes import PodShape
from phalanx.model.request import PodSet, Ranks, Slice

PODS_MAX = 1_000_000  # pods of one request
ORDERS = ("None", "Consecutive", "Stripe", "Balance")
FIELDS = ("count", "minCount", "maxCount", "template", "podClasses", "slices", "rank")


@dataclass(frozen=True, slots=True)
class Pods:
    """What a group without children holds. Pod sets carry the group's plain name; copies rename them."""

    sets: tuple[PodSet, ...]
    ranks: Ranks | None

    @property
    def count(self) -> int:
        return sum(pods.count for pods in self.sets)

    @property
    def whole(self) -> bool:
        """Whether all of its pods start together."""
        return all(pods.min_count == pods.count for pods in self.sets)

    @property
    def sliced(self) -> bool:
        return any(pods.slices for pods in self.sets)


@dataclass(frozen=True, slots=True)
class _Class:
    suffix: str  # "" or "/leader"
    count: int
    shape: PodShape


def read(at: Field, name: str, required: int | None, levels: Levels, namespace: str, around: Surroundings) -> Pods:
    """The pods of the group at this field. ``required``: the group's own required level, which bounds its slices."""
    at.at("template").known("metadata", "spec")
    classes = _classes(at, namespace, around)
    total = sum(c.count for c in classes)
    least = _minimum(at, total)
    slices = _slices(at.at("slices"), required, levels)
    _check_slices(at, slices, total, least, len(classes))
    sets = []
    for one in classes:
        minimum = min(one.count, least)
        least -= minimum
        sets.append(PodSet(name + one.suffix, one.count, minimum, one.shape, slices))
    return Pods(tuple(sets), _ranks(at.at("rank"), levels))


# -- counts and classes ------------------------------------------------------------------------------------------


def _minimum(at: Field, total: int) -> int:
    """How many pods must start together: all of them, unless ``minCount`` says fewer."""
    least = at.at("minCount").integer(total, low=1)
    most = at.at("maxCount").integer(max(total, least), low=1)
    if least > total:
        at.at("minCount").wrong(f"minCount {least} is more than the {total} pods wanted")
        least = total
    if most < total:
        at.at("maxCount").wrong(f"maxCount {most} is less than the {total} pods wanted")
    return least


def _classes(at: Field, namespace: str, around: Surroundings) -> list[_Class]:
    """One class per shape: those of ``podClasses``, or the group's template alone."""
    count = _count(at)
    listed = at.at("podClasses").items()
    if not listed:
        return [_Class("", count or 1, podspec.read(at.at("template"), namespace, around))]
    found = [_class(entry, at, namespace, around) for entry in listed]
    _check_names(listed)
    total = sum(c.count for c in found)
    if at.at("count").present and count is not None and count != total:
        at.at("count").wrong(f"count {count} differs from the {total} pods of its classes; leave it out")
    return found


def _count(at: Field) -> int | None:
    """``count``, else ``minCount``; None when neither says anything good."""
    count = at.at("count").integer(None, low=1, high=PODS_MAX)
    return count if at.at("count").present else at.at("minCount").integer(None, low=1, high=PODS_MAX)


def _class(entry: Field, group: Field, namespace: str, around: Surroundings) -> _Class:
    """A class; without a template of its own it has the group's."""
    entry.known("name", "count", "template")
    entry.at("template").known("metadata", "spec")
    template = entry.at("template") if entry.at("template").present else group.at("template")
    name = entry.at("name").name("")
    if not entry.at("name").present:
        entry.at("name").wrong("a class needs a name")
    count = entry.at("count").integer(1, low=1, high=PODS_MAX)
    return _Class(f"/{name}", count, podspec.read(template, namespace, around))


def _check_names(listed: list[Field]) -> None:
    seen: set[str] = set()
    for entry in listed:
        name = entry.at("name").value
        if isinstance(name, str) and name in seen:
            entry.at("name").mistaken("names two classes of this group")
        seen.add(name if isinstance(name, str) else "")


# -- slices ------------------------------------------------------------------------------------------------------


def _slices(at: Field, required: int | None, levels: Levels) -> tuple[Slice, ...]:
    """Slices coarse to fine: levels strictly narrower, each size dividing the one before."""
    found: list[Slice] = []
    for entry in at.items(limit=8):
        one = _slice(entry, levels)
        if one is None:
            continue
        if found and one.level <= found[-1].level:
            entry.at("level").wrong(
                f"slices run coarse to fine; {levels.label(one.level)!r} is not inside the last one"
            )
        if found and found[-1].size % one.size:
            entry.at("size").mistaken(f"does not divide {found[-1].size}, the size before it")
        if required is not None and one.level < required:
            entry.at("level").wrong(
                f"slice level {levels.label(one.level)!r} is wider than the group's required level "
                f"{levels.label(required)!r}"
            )
        found.append(one)
    return tuple(found)


def _slice(entry: Field, levels: Levels) -> Slice | None:
    if not entry.known("level", "size"):
        entry.wrong("a slice is a level and a size", ("level", "size"))
    for name in ("level", "size"):
        if entry.mapping() and not entry.at(name).present:
            entry.at(name).wrong(f"a slice needs a {name}")
    level, size = levels.number(entry.at("level")), entry.at("size").integer(None, low=1)
    return Slice(level, size) if level is not None and size is not None else None


def _check_slices(at: Field, slices: tuple[Slice, ...], total: int, least: int, classes: int) -> None:
    if not slices:
        return
    coarsest = slices[0].size
    for name, number in {"minCount": least, "count": total}.items():
        if number % coarsest and (name == "count" or number != total):
            where = at.at(name) if at.at(name).present else at.at("slices")
            where.wrong(f"{name} {number} is not a multiple of the slice size {coarsest}")
    if classes > 1:
        at.at("slices").wrong("slices of a group with several podClasses are not supported yet")


# -- ranks -------------------------------------------------------------------------------------------------------


def _ranks(at: Field, levels: Levels) -> Ranks | None:
    if not at.known("fieldPath", "order", "across", "withSameRankOf", "level"):
        return None
    check_field_path(at.at("fieldPath"))
    order = at.at("order").choice("Consecutive", *ORDERS)
    across = levels.number(at.at("across"))
    if order in ("Stripe", "Balance") and not at.at("across").present:
        at.at("across").wrong(f"order {order} needs the level it goes over")
    if order in ("None", "Consecutive") and at.at("across").present:
        at.at("across").warn(f"order {order} goes over no level, so this changes nothing; Stripe and Balance do")
        across = None
    partner = at.at("withSameRankOf").name(None)
    level = levels.number(at.at("level"))
    if at.at("withSameRankOf").present != at.at("level").present:
        missing = at.at("level") if at.at("withSameRankOf").present else at.at("withSameRankOf")
        missing.wrong("withSameRankOf and level are given together: whose ranks to sit with, and how close")
    return Ranks(order, across, partner, level)
