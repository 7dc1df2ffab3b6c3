"""KAI's PodGroup (``scheduling.run.ai/v2alpha2``): one gang, of its pods or of its subgroups.

How large its pods are it does not say: that, and how many there are, comes from the pods that name it.
"""

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from phalanx.dialects import keys, members, podsets, surroundings, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.kai import constraint, subgroups
from phalanx.dialects.kai.constraint import written
from phalanx.dialects.neighbours import Member
from phalanx.dialects.outline import Entry, Outline, Told
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.model.problems import Problem

_API_GROUP = "scheduling.run.ai"
_NOT_CONSIDERED = (
    "markUnschedulable", "schedulingBackoff", "preemptionDelay", "minNonPreemptible", "parallelism", "completions",
    "backoffLimit",
)  # fmt: skip
_FIELDS = (
    "minMember", "minSubGroup", "queue", "priorityClassName", "preemptibility", "topologyConstraint",
    "topologyConstraints", "subGroups", "subgroups", "stalenessGracePeriod", *_NOT_CONSIDERED,
)  # fmt: skip
_SAFE_PRIORITY = 100  # from here on KAI evicts nobody who does not say that he may be
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS = {"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1)}
_SECONDS |= {unit: Fraction(1, number) for unit, number in _PER_SECOND.items()}
_PART = r"(\d{1,12}(?:\.\d{0,9})?)(h|ms|m|s|us|ns)"

Groups = tuple[list[Entry], tuple[Told, ...], dict[str, object]]  # entries, pods known, policy of the whole


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a PodGroup; None when it needs no pods and has none. (KA-024, M-003 to M-026)"""
    namespace, name = identity(doc)
    spec = doc.at("spec")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(*_FIELDS)
    entries = subgroups.listed(spec)
    tree = subgroups.read(spec, entries)
    _note_unread(doc, spec, tree.root.constraint)
    joining = around.neighbours.members(_API_GROUP, "PodGroup", namespace, name)
    _note_wishes(doc, joining)
    if entries:
        groups = _of_subgroups(tree, joining, f"PodGroup {name}", namespace, around)
    else:
        groups = _alone(spec, name, joining, namespace, around)
    if not groups[0]:
        spec.warn("no pods are needed and none exist; nothing is placed")
        return None
    constraints = [tree.root.constraint, *(one.constraint for one in tree.listed)]
    whole = {
        "queue": written(spec.at("queue")) if written(spec.at("queue")).present else wishes.queue(doc.at("metadata")),
        "priorityClassName": written(spec.at("priorityClassName")),
        "preemptible": _preemptible(doc, around),
        "topologyName": constraint.topology_name(constraints, around.topologies),
        **constraint.near(tree.root.constraint),
        **groups[2],
        "recoveryTimeoutSeconds": _seconds(spec.at("stalenessGracePeriod")),
        "podGroups": podsets.in_pool(groups[0], doc.at("metadata")),
    }
    return Outline("PodGroup", namespace, name, whole, told=groups[1])


# -- groups ------------------------------------------------------------------------------------------------------


def _of_subgroups(
    tree: subgroups.Tree, joining: Sequence[Member], title: str, namespace: str, around: Surroundings
) -> Groups:
    """All subgroups start together, or as many as ``minSubGroup`` says (X-14, X-50)."""
    spec = tree.root.at
    names = [one.name for one in tree.leaves if one.name]
    tree = subgroups.filled(tree, members.assign(joining, names, spec.notes, title, "subgroup"), namespace, around)
    _check_minimum(spec, sum(one.least for one in tree.leaves))
    policy = subgroups.waiting(tree, tree.root)
    if policy.get("policy") == "Basic" and constraint.near(tree.root.constraint):
        spec.at("minSubGroup").wrong(
            "with 0 the subgroups start on their own, and holding those in one domain is not supported yet; "
            "set topologyConstraint on each subgroup"
        )
        policy = {}
    return subgroups.entries(tree), subgroups.told(tree), policy


def _check_minimum(spec: Field, total: int) -> None:
    """``minMember`` above subgroups: theirs count, so it cannot ask for more than they do (X-15)."""
    at = spec.at("minMember")
    if not at.present:
        return
    least = at.integer(total)
    if spec.at("minSubGroup").present:
        at.wrong("minMember and minSubGroup exclude each other: one counts pods, the other subgroups")
    elif least > total:
        at.mistaken(f"is more than the subgroups need together, {total}")
    elif least < total:
        at.warn(f"is not considered: the subgroups say how many pods start together, {total} in all")


def _alone(spec: Field, name: str, joining: Sequence[Member], namespace: str, around: Surroundings) -> Groups:
    """A PodGroup without subgroups: one group of its own name, with its own constraint around it. (M-004, M-005)"""
    if spec.at("minSubGroup").present:
        spec.at("minSubGroup").wrong("there are no subgroups to count; minMember counts pods")
    for member in joining:
        if member.group is not None:
            spec.notes.problem(_lost(member, name))
    shapes = members.shapes(joining, namespace, around)
    least = subgroups.least_pods(spec.at("minMember"))
    if not least and not shapes:
        return [], (), {}
    entry = {"name": name, **subgroups.pods(spec.at("minMember"), shapes, least)}
    return [entry], (members.told(name, shapes, least),), {}


def _lost(member: Member, name: str) -> Problem:
    who = f"pod {member.owner.name}" if member.is_pod else member.owner.title
    message = f"{who} names subgroup {str(member.group)[:100]!r}; PodGroup {name} has no subgroups"
    return Problem(member.at.path, member.group, (), message, member.owner)


# -- other fields ------------------------------------------------------------------------------------------------


def _note_unread(doc: Field, spec: Field, asked: Field) -> None:
    for part in _NOT_CONSIDERED:
        if spec.at(part).present:
            spec.at(part).warn("is not considered")
    wishes.note_unread(doc.at("metadata"))
    keys.note_typos(doc.at("metadata"))
    for key, at in doc.at("metadata", "annotations").entries():
        if key.startswith("phalanx.dev/") or (key.startswith(wishes.KAI.topology) and not asked.present):
            at.warn("is not read on a PodGroup; its spec has a field for it", ("spec.topologyConstraint", "spec.queue"))


def _note_wishes(doc: Field, joining: Sequence[Member]) -> None:
    """Wishes of pods that belong to a PodGroup have no say; told once."""
    wishing = [one.owner.title for one in joining if "topology" in one.entry or "slices" in one.entry]
    if wishing:
        doc.warn(f"wishes for levels on its pods are not read, as on {wishing[0]}; its own topologyConstraint holds")


def _preemptible(doc: Field, around: Surroundings) -> Field:
    """Whether others may evict it, by field or else label; nothing written: unless its priority is 100 or more."""
    spec, at = doc.at("spec"), doc.at("spec", "preemptibility")
    said = wishes.preemptibility(at) if written(at).present else wishes.preemptible(doc.at("metadata"))
    if said.present:
        return said
    named = written(spec.at("priorityClassName")).aside()
    return at.meaning(surroundings.priority(named, around) < _SAFE_PRIORITY)


def _seconds(at: Field) -> Field:
    """Whole seconds of a duration like ``1m30s``; nothing where it says that there is no limit."""
    text = written(at).text("").replace("µ", "u")
    parts = re.findall(_PART, text[:100], re.ASCII)
    if "".join(number + unit for number, unit in parts) != text.removeprefix("-"):
        at.mistaken("is not a duration", ("90s", "5m", "1h30m"))
        return at.meaning(None)
    seconds = sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))
    if text and (text.startswith("-") or not seconds):
        at.warn("is not considered: only a time above zero is")
    return at.meaning(None if text.startswith("-") or not seconds else math.ceil(seconds))
