"""The pods of a Workload or PodGroup: who names it, in which group, in how many copies.

Shapes and counts of groups that say nothing themselves come from here. The pod's own link decides who belongs;
``controllerRef`` is information (W-068), and where it disagrees a warning says how to link.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.members import Shape, amount, per_copy, shapes, template
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Entry
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

API_GROUP = "scheduling.k8s.io"
PART_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"  # tells gangs of a JobSet apart without a link of its own (W-109)
_REPLICA_LABELS = ("leaderworkerset.sigs.k8s.io/group-key", "jobset.sigs.k8s.io/job-index")  # W-110, X-31


@dataclass(frozen=True, slots=True)
class Joined:
    """Members of an object and how to make sense of them. ``doc``: the object; its notes take what is wrong."""

    doc: Field
    namespace: str
    name: str
    members: tuple[Member, ...]
    around: Surroundings

    def shapes(self, those: Sequence[Member]) -> list[Shape]:
        return shapes(those, self.namespace, self.around)


def find(doc: Field, kind: str, namespace: str, name: str, around: Surroundings) -> Joined:
    """Who names the object."""
    return Joined(doc, namespace, name, around.neighbours.members(API_GROUP, kind, namespace, name), around)


def told_to_root(joined: Joined) -> Joined:
    """The same, for a PodGroup of a tree: what is wrong with its pods is told to the root, whose notes it has."""
    notes = joined.doc.notes
    told = (replace(one, entry=_told(one.entry, notes, one.owner)) for one in joined.members)
    return replace(joined, members=tuple(told))


def _told(entry: Entry, notes: Notes, owner: ObjectKey) -> Entry:
    classes = entry.get("podClasses")
    listed = [_told(one, notes, owner) for one in classes] if isinstance(classes, list) else None
    made = entry.get("template")
    if isinstance(made, dict):
        made = {key: one.told_to(notes, owner) if isinstance(one, Field) else one for key, one in made.items()}
    return {**entry, "template": made, **({} if listed is None else {"podClasses": listed})}


# -- which group, which copy -------------------------------------------------------------------------------------


def placed_by_name(joining: Iterable[Member], groups: Sequence[str]) -> list[Member]:
    """Members that name no group, put into the group that is called like them. (W-104, W-109)"""
    return [replace(one, group=_called(one, groups)) if one.group is None else one for one in joining]


def _called(member: Member, groups: Sequence[str]) -> str | None:
    """The group of that name: the label of a JobSet's pods, or the name of the pod set."""
    written = [metadata(member).at("labels", PART_LABEL).value, _value(member.entry.get("name"))]
    return next((name for name in written if isinstance(name, str) and name in groups), None)


def metadata(member: Member) -> Field:
    """Labels and annotations of the pods of a member; several classes speak with the voice of the first."""
    return Field.of(template(member.entry)).aside().at("metadata")


def copies(those: Sequence[Member]) -> int | None:
    """How many copies of a group its members are: as they say, else as many as they have keys. (W-220, X-10)

    None: nobody says.
    """
    made = [one for one in those if not one.is_pod]
    said = [amount(one.entry.get("replicas"), 0) for one in made]
    if any(said):
        return max(said)
    keys = {replica_key(one) for one in those} - {None}
    return len(keys) or None


def replica_key(member: Member) -> str | None:
    """What tells the copy of a pod from the others: the key in its link, else the label of its controller."""
    if member.replica is not None:
        return member.replica
    labels = metadata(member).at("labels")
    found = [labels.at(key).value for key in _REPLICA_LABELS]
    return next((key for key in found if isinstance(key, str)), None)


def sizes(those: Sequence[Member], number: int) -> tuple[int, ...]:
    """Pods of each of ``number`` copies, in the order in which their keys are seen; none unless all are such pods."""
    keys = [replica_key(one) for one in those if one.is_pod]
    if not keys or len(keys) < len(those) or None in keys:
        return ()
    seen = Counter(keys).values()
    return (*seen, *([0] * (number - len(seen))))


def by_name(those: Sequence[Member], number: int) -> dict[str, Shape]:
    """The pods of one of ``number`` copies by the name of their class or pod set, equal shapes kept apart."""
    found: dict[str, Shape] = {}
    for entry in [one.entry for one in those if not one.is_pod]:
        listed = entry.get("podClasses")
        copied = amount(entry.get("replicas"), 1)
        for one in listed if isinstance(listed, list) else [entry]:
            name = str(_value(one.get("name")))
            known = found[name].count if name in found else 0
            found[name] = Shape(name, known + copied * amount(one.get("count"), 1), one.get("template"))
    return {one.name: one for one in per_copy(list(found.values()), number)}


# -- who they are ------------------------------------------------------------------------------------------------


def check_owners(joined: Joined) -> None:
    """One object serves one workload: two owners of templates are told (W-119)."""
    owners = sorted({one.owner.title for one in joined.members if not one.is_pod})
    if len(owners) > 1:
        joined.doc.warn(
            f"is shared by {', '.join(owners)[:200]}; their pods are placed as if they were one workload: "
            "give each its own"
        )


def check_wishes(joined: Joined) -> None:
    """A member's own wishes are not followed: the object it belongs to says where its pods go."""
    for one in joined.members:
        if any(_value(one.entry.get(key)) for key in ("topology", "slices")):
            joined.doc.notes.warning(
                Problem("", None, (), f"its annotations about topology are not followed: its pods belong to "
                        f"{joined.doc.at('kind').value} {joined.name}, which says where they go", one.owner)
            )  # fmt: skip


def check_controller(joined: Joined, reference: Field) -> None:
    """``controllerRef`` is information: what does not fit it is a warning, whatever it is. (W-067, W-068, X-47)"""
    kind, name = (reference.at(part).aside().text("") for part in ("kind", "name"))
    owners = sorted({one.owner.title for one in joined.members})
    if not kind or not name or f"{kind}/{name}" in owners:
        return
    if not _given(joined, reference):
        reference.warn(f"{kind} {name} is not among the documents"[:300])
        return
    linked = f"those of {', '.join(owners)[:200]} do, and they are the ones it places" if owners else "nobody's do"
    reference.warn(
        f"the pods of {kind[:80]} {name[:80]} do not name this Workload, {linked}; "
        f"put into their template: spec.workload: {{name: {joined.name}}}"
    )


def _given(joined: Joined, reference: Field) -> bool:
    group, kind, name = (reference.at(part).aside().text("") for part in ("apiGroup", "kind", "name"))
    return joined.around.neighbours.find(group, kind, joined.namespace, name) is not None


# -- priority ----------------------------------------------------------------------------------------------------


def priority_class(templates: Sequence[object], own: Field) -> Field:
    """The PriorityClass of a workload: its own, else that of its pods. Pods that differ are told."""
    found = [Field.of(one).at("spec", "priorityClassName") for one in templates]
    named = [at for at in found if isinstance(at.value, str)]
    chosen = own if own.present or not named else named[0]
    for at in found:
        if at.value != chosen.value and (at.present or not own.present):
            chosen.notes.warning(
                Problem(at.path, at.value if isinstance(at.value, str) else None, (),
                        f"pods of one group share one priority; {chosen.value!r} is followed", at.about)
            )  # fmt: skip
            break
    return chosen


def priority_number(templates: Sequence[object], own: Field) -> int | None:
    """The priority as a number, where Kubernetes has written it already."""
    written = [own, *(Field.of(one).at("spec", "priority") for one in templates)]
    found = [at.aside().integer(None, low=-(2**31)) for at in written]
    return next((one for one in found if one is not None), None)


def _value(given: object) -> object:
    return given.value if isinstance(given, Field) else given
