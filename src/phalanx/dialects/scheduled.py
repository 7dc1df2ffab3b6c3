"""``spec.scheduling`` as annotations of ours that say the same, so that readers need to know only those.

The annotations are made with the fields as their values: whatever is wrong with one names the field. Where an
annotation is written already it stays; if it says something else that is a Problem, a warning where it is a level::

    Job      spec: {scheduling: {schedulingPolicy: {gang: {minCount: 3}}}}       gang-mode: Gang, batch-min-member: 3
    replicas spec: {scheduling: {replica: {schedulingPolicy: {gang: {}}}}}       gang-mode: ReplicatedGang
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from phalanx.dialects import scheduling, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.scheduling import Scheduling

OFF, GANG, REPLICATED = wishes.MODES
LEAST = wishes.MIN_MEMBERS[0]

_METADATA = ("metadata",)
_BELOW_REPLICA = ("leader", "worker")

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """An annotation that says what a field says. ``place``: of the metadata it stands in."""

    place: Place
    key: str
    value: Field


def of_job(doc: Field, count: int) -> Field:
    """A Job, whose ``scheduling`` without a policy means basic, with the annotations that it stands for."""
    said = scheduling.read(doc.at("spec", "scheduling"), OFF)
    least = scheduling.least(said, count)
    few = [] if least is None else [Note(_METADATA, LEAST, least.meaning(str(least.value)))]
    return doc if said.mode is None else annotated(doc, [*notes(said, said.mode), *few])


def of_replicas(doc: Field, replicas: Field, size: Field) -> Field:
    """A workload of replicas, each with ``size`` pods: an empty ``scheduling`` makes a gang of each of them."""
    at = doc.at("spec", "scheduling")
    if not at.present:
        return doc
    whole, each = scheduling.read(at, None, "replica"), scheduling.read(at.at("replica"), GANG, *_BELOW_REPLICA)
    for name in _BELOW_REPLICA:
        if at.at("replica", name).present:
            at.at("replica", name).wrong("gangs of parts of a replica are not supported yet", ("replica",))
    check_levels(at, "replica")
    pods = size.aside().integer(1)
    said, count = (whole, replicas.aside().integer(1) * pods) if whole.mode is not None else (each, pods)
    mode = GANG if said is whole and whole.mode == GANG else OFF if said.mode == OFF else REPLICATED
    least = scheduling.least(said, count)
    if least is not None and least.value != count:
        least.wrong(f"less than all {count} pods is not supported yet", (str(count),))
    return annotated(doc, notes(said, mode))


def disruption(doc: Field) -> str | None:
    """``disruption`` of the normal form, of the workload or of each of its replicas."""
    at = doc.at("spec", "scheduling").aside()
    whole, each = (scheduling.disruption(one.at("disruptionMode")) for one in (at, at.at("replica")))
    return "Gang" if whole == "Group" else whole or each


def check_levels(at: Field, below: str) -> None:
    """One level says who starts together: this one, or the one below it."""
    both = [name for name in scheduling.FIELDS if at.at(name).present] if at.at(below).value else []
    if both:
        at.at(both[0]).wrong(f"excludes {at.at(below).path}: one level says who starts together")


def notes(said: Scheduling, mode: str | None, place: Place = _METADATA, near: Place = _METADATA) -> Iterator[Note]:
    """Mode and level. ``place``, ``near``: of the metadata that carry them."""
    yield Note(place, wishes.GANG_MODE, said.at.meaning(mode))
    asked = said.near.get("topology")
    key = asked.get("required") if isinstance(asked, Mapping) else None
    if isinstance(key, Field):
        yield Note(near, wishes.OURS.required, key)


# -- writing them ------------------------------------------------------------------------------------------------


def annotated(doc: Field, said: Iterable[Note]) -> Field:
    """The document with these annotations."""
    for note in said:
        doc = _annotated(doc, note)
    return doc


def _annotated(doc: Field, note: Note) -> Field:
    place = (*note.place, "annotations", note.key)
    there = _found(doc, place)
    if not there.present:
        return doc.meaning(_with(doc.value, place, note.value))
    if there.value != note.value.value and note.key == wishes.OURS.required:
        note.value.warn(f"stands beside {there.path}, which is followed")
    elif there.value != note.value.value:
        there.mistaken(f"contradicts {note.value.path}, which says {note.value.value}", (str(note.value.value),))
    return doc


def _found(at: Field, place: Place) -> Field:
    for key in place:
        if isinstance(key, str):
            at = at.at(key)
        else:
            listed = at.items()
            at = listed[key] if key < len(listed) else at.meaning(None)
    return at


def _with(held: object, place: Place, new: Field) -> object:
    """A value in which something else is written at a place; one that has no such place as it is."""
    if not place:
        return new
    if isinstance(held, Field):
        return held.meaning(_with(held.value, place, new))
    key, rest = place[0], place[1:]
    if isinstance(key, int):
        listed = held if isinstance(held, list) else []
        return [_with(one, rest, new) if i == key else one for i, one in enumerate(listed)] or held
    if not isinstance(held, (dict, type(None))):
        return held
    return {**(held or {}), key: _with((held or {}).get(key), rest, new)}
