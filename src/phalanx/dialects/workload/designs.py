"""The Workload of the designs: ``scheduling/v1alpha1`` with gangGroups (Rev1, RevN) or podGroups (the JobSet design).

Its groups are independent gangs (X-14): policy Basic, one decision each. The Workload of Kubernetes, which has the
same kind and another API group, holds templates instead; see ``templates``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phalanx.dialects import members, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.workload import entries, joining, matrix, nested, requested, templates
from phalanx.dialects.workload.entries import Entries, Names
from phalanx.dialects.workload.joining import Joined
from phalanx.dialects.workload.nested import GangGroup

_NO_GROUP = "main"  # the group of pods that name a Workload which says nothing
_DISRUPTION = {"Pod": "Pod", "Replica": "Group", "Group": "Group", "Workload": "Gang", "Gang": "Gang"}


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a Workload, of the designs or of Kubernetes."""
    if str(doc.at("apiVersion").value).startswith(joining.API_GROUP):
        return templates.read(doc, around)
    namespace, name = identity(doc)
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    wishes.check_our_keys(doc.at("metadata"), wishes.OURS.topology)
    spec = doc.at("spec")
    matrix.check(spec, 0)
    _refuse_templates(spec)
    joined = joining.find(doc, "Workload", namespace, name, around)
    for check in (joining.check_owners, joining.check_wishes):
        check(joined)
    joining.check_controller(joined, spec.at("controllerRef"))
    groups = _inherited(spec, nested.read(spec))
    found = _entries(spec, groups, joined)
    return Outline("Workload", namespace, name, _whole(doc, groups, found, joined), _number(found), found.told)


def _refuse_templates(spec: Field) -> None:
    for name in ("podGroupTemplates", "compositePodGroupTemplates"):
        if spec.at(name).present:
            spec.at(name).wrong("belongs to apiVersion scheduling.k8s.io/v1beta1", ("gangGroups", "podGroups"))


def _inherited(spec: Field, groups: tuple[GangGroup, ...]) -> tuple[GangGroup, ...]:
    """Counts of the Workload itself are those of its only group. (W-207, level 0)"""
    whole = nested.counts(spec)
    said = [at for at in (whole.count, whole.least, whole.most) if at.present]
    if not said:
        return groups
    if len(groups) != 1:
        said[0].warn("is not used: the groups start on their own, and each has its own counts")
        return groups
    own = groups[0].counts
    pairs = ((own.count, whole.count), (own.least, whole.least), (own.most, whole.most))
    filled = nested.Counts(*(mine if mine.present else outer for mine, outer in pairs))
    return (replace(groups[0], counts=filled),)


# -- the groups --------------------------------------------------------------------------------------------------


def _entries(spec: Field, groups: Sequence[GangGroup], joined: Joined) -> Entries:
    """The groups of the normal form. Without any (an empty spec is allowed, W-188) pods start as they fit."""
    names = [one.name for one in groups] or [_NO_GROUP]
    mine = joining.placed_by_name(joined.members, names)
    assigned = members.assign(mine, names, joined.doc.notes, f"Workload {joined.name}")
    if not groups:
        return _unspecified(assigned.of(_NO_GROUP), joined)
    taken = Names(set(names))
    found = Entries()
    for one in groups:
        found += entries.of(one, assigned.of(one.name), _replicated(spec, one), joined, taken)
    return found


def _unspecified(those: Sequence[Member], joined: Joined) -> Entries:
    shapes = joined.shapes(those)
    if not shapes:
        return Entries()
    return Entries(({"name": _NO_GROUP, **members.pods_of(shapes, 1), "minCount": 1},))


def _replicated(spec: Field, group: GangGroup) -> bool:
    """Whether a group stands for several gangs. ``replicas`` of the JobSet design says it too (J-037)."""
    mode = nested.mode(spec)
    number = members.amount(group.replicas, 1)
    if mode in ("Unreplicated", "ReplicatedPods") and number > 1:
        group.replicas.wrong(f"replicaMode {mode} says that the group is not copied", ("ReplicatedGangs",))
    if mode == "ReplicatedPods" and group.gang and group.counts.least.value != 1:
        group.at.wrong(
            "replicaMode ReplicatedPods says that each pod is a replica of its own, so none waits for another: "
            "set gangMode to Off",
            ("Off",),
        )
    if mode == "ReplicatedGangs" and not group.gang:
        group.at.wrong("replicaMode ReplicatedGangs says that each replica is a gang, and this group is none")
    return mode == "ReplicatedGangs" or number > 1


# -- the whole ---------------------------------------------------------------------------------------------------


def _whole(doc: Field, groups: Sequence[GangGroup], found: Entries, joined: Joined) -> dict[str, object]:
    spec, metadata = doc.at("spec"), doc.at("metadata")
    reference = spec.at("controllerRef")
    reference.mapping()
    return {
        "controllerRef": {part: reference.at(part) for part in ("apiGroup", "kind", "name")},
        "queue": wishes.queue(metadata),
        "topologyName": wishes.topology_name(metadata),
        "priorityClassName": joining.priority_class(_templates(found), doc.at("spec", "priorityClassName")),
        "topology": _topology(spec),
        "policy": "Basic",
        "scheduleTimeoutSeconds": _longest(groups),
        "onFailure": _on_failure(groups),
        "disruption": _disruption(spec),
        "podGroups": list(found.groups),
    }


def _topology(spec: Field) -> object:
    """``topology`` around everything: the Workload's request and its spread."""
    near = requested.topology(spec.at("topologyRequest"))
    apart = requested.spread(spec.at("topologySpread"))
    if near is None:
        return spec.at("topologySpread").meaning(apart) if apart else None
    return near.meaning({**near.value, **apart}) if isinstance(near.value, Mapping) else near


def _templates(found: Entries) -> list[object]:
    """Every template among the groups."""
    listed = [one.get("podClasses") for one in found.groups]
    classes = [one for those in listed if isinstance(those, list) for one in those]
    return [one["template"] for one in (*found.groups, *classes) if one.get("template") is not None]


def _number(found: Entries) -> int | None:
    return joining.priority_number(_templates(found), Field.of(None))


def _longest(groups: Sequence[GangGroup]) -> object:
    """The time-out of the whole: the longest of its groups."""
    said = [one.timeout for one in groups if one.timeout.present]
    if not said:
        return None
    longest = max(said, key=lambda at: members.amount(at, 0))
    if len({at.value for at in said}) > 1 or len(said) < len(groups):
        longest.warn(f"groups have one time-out together: {longest.value} seconds, the longest of them")
    return longest


def _on_failure(groups: Sequence[GangGroup]) -> object:
    said = [one.on_failure for one in groups if one.on_failure.present]
    for other in said[1:]:
        if other.value != said[0].value:
            other.wrong("groups of one Workload with different rescheduling policies are not supported yet")
    if said and len(said) < len(groups):
        said[0].warn("holds for all groups of the Workload, also for those that say nothing")
    return said[0] if said else None


def _disruption(spec: Field) -> object:
    """``disruption`` of the normal form, from the replica disruption policy. (W-209)"""
    at = spec.at("replicaDisruptionPolicy")
    chosen = at.choice(None, *_DISRUPTION)
    return at.meaning(_DISRUPTION[chosen]) if chosen is not None else None
