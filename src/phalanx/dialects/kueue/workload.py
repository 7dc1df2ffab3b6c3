"""Kueue's Workload (v1beta1 and v1beta2): pod sets that are admitted together or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass

from phalanx.dialects import members, outline, wishes
from phalanx.dialects.clusterstate import is_label_key
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.jobspec import PODS_MAX
from phalanx.dialects.kueue import requested
from phalanx.dialects.kueue.requested import Asked
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.surroundings import Surroundings, identity

_API_GROUP = "kueue.x-k8s.io"
_FIELDS = (
    "queueName", "podSets", "priorityClassName", "priorityClassSource", "priorityClassRef", "priority", "active",
    "maximumExecutionTimeSeconds",
)  # fmt: skip
_POD_SET_FIELDS = (
    "name", "count", "minCount", "template", "topologyRequest",
    "replicatedJobCount", "replicatedJobKeyLabel", "replicatedJobLabelValue",
)  # fmt: skip
_SETS_MAX = 8
_GROUP_SETS = 2  # pod sets of one group
_JOB_INDEX = "jobset.sigs.k8s.io/job-index"
_JOB_NAME = "jobset.sigs.k8s.io/replicatedjob-name"
_OF_KUEUE = "WorkloadPriorityClass"
_SOURCES = {"": "PriorityClass", "scheduling.k8s.io/priorityclass": "PriorityClass",
            "kueue.x-k8s.io/workloadpriorityclass": _OF_KUEUE}  # fmt: skip
_KINDS = {"scheduling.k8s.io": "PriorityClass", _API_GROUP: _OF_KUEUE}


@dataclass(frozen=True, slots=True)
class PodSet:
    """A pod set of at least one pod."""

    at: Field
    name: str
    count: int
    asked: Asked


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a Workload; None when it is over or wants no pods. All its pod sets start together."""
    namespace, name = identity(doc)
    metadata, spec = doc.at("metadata"), doc.at("spec")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(*_FIELDS)
    wishes.check_our_keys(metadata, *wishes.on_object())
    wishes.mode(metadata, "Gang")
    sets = _pod_sets(spec.at("podSets"), around)
    if _is_over(doc):
        doc.at("status", "conditions").warn("the Workload is finished; nothing is placed")
        return None
    if not sets:
        spec.at("podSets").warn("want no pods now; nothing is placed")
        return None
    _note_status(doc)
    _note_strangers(doc, namespace, name, sets, around)
    whole = {
        "queue": spec.at("queueName") if spec.at("queueName").value not in (None, "") else wishes.queue(metadata),
        "priorityClassName": _priority_class(spec),
        "suspend": _suspended(spec.at("active")),
        "topologyName": wishes.topology_name(metadata, [one.at.at("template", "metadata") for one in sets]),
        **wishes.of_object(metadata, around.topologies),
        "expectedDurationSeconds": spec.at("maximumExecutionTimeSeconds"),
        "podGroups": _entries(sets),
    }
    return Outline("Workload", namespace, name, whole, _priority(spec, around))


# -- pod sets ----------------------------------------------------------------------------------------------------


def _pod_sets(at: Field, around: Surroundings) -> list[PodSet]:
    listed = at.items()
    if not listed:
        at.wrong("a Workload has at least one pod set")
    if len(listed) > _SETS_MAX:
        at.warn(f"has {len(listed)} pod sets; Kueue takes {_SETS_MAX}")
    found = [_pod_set(one, around) for one in listed]
    _check_partial([one.at.at("minCount") for one in found])
    _check_groups(found)
    _check_all_ask(found)
    return [one for one in found if one.count]


def _pod_set(at: Field, around: Surroundings) -> PodSet:
    at.mapping()
    at.typos(*_POD_SET_FIELDS)
    template = at.at("template")
    template.typos("metadata", "spec")
    if not template.at("spec", "containers").items():
        template.at("spec", "containers").wrong("a pod has at least one container")
    count = at.at("count").integer(1, high=PODS_MAX)
    if count == 0:
        at.at("count").remark("the pod set wants no pods; nothing of it is placed")
    return PodSet(at, at.at("name").name("main"), count, requested.read(at, max(count, 1), around.topologies))


def _check_partial(counts: Sequence[Field]) -> None:
    for at in [at for at in counts if at.present][1:]:
        at.wrong("another pod set has a minCount already; Kueue admits at most one of them in part")


def _check_all_ask(sets: Sequence[PodSet]) -> None:
    """Where one pod set asks for a level, each says something about places. (K-038)"""
    bound = next((one for one in sets if one.asked.near), None)
    for one in sets:
        if bound is not None and one.count and not one.asked.says:
            one.asked.at.wrong(
                f"pod set {one.name!r} asks for no level while {bound.name!r} does; "
                "where one pod set has required or preferred, each says one, or unconstrained"
            )


# -- entries -----------------------------------------------------------------------------------------------------


def _entries(sets: Sequence[PodSet]) -> list[Entry]:
    """The entries of ``podGroups``: the pod sets, and a group around each two that go into one domain."""
    outer = {name: those for name in _group_names(sets) if len(those := _in_group(sets, name)) > 1}
    names = {one.name for one in sets}
    called = {name: name if name not in names else f"{name}.group" for name in outer}
    made: list[Entry] = [
        {"name": _named(those[0], called[name]), "topology": those[0].asked.wish.get("topology")}
        for name, those in outer.items()
    ]
    return made + [_entry(one, called.get(_group_name(one))) for one in sets]


def _entry(one: PodSet, parent: str | None) -> Entry:
    """A pod set; inside a group that carries its wish it has none of its own."""
    at = one.at
    copies = _copies(one)
    count = one.count // members.amount(copies.get("replicas"), 1)
    return {
        "name": at.at("name").meaning(one.name),
        "parent": parent,
        "count": at.at("count").meaning(count),
        "minCount": at.at("minCount"),
        **copies,
        **(one.asked.wish if parent is None else {}),
        **requested.rank(at.at("topologyRequest"), count),
        "template": outline.template(at.at("template")),
    }


def _named(one: PodSet, name: str) -> object:
    return name if one.asked.group is None else one.asked.group.meaning(name)


def _group_name(one: PodSet) -> str:
    return str(one.asked.group.value) if one.asked.group is not None else ""


def _group_names(sets: Sequence[PodSet]) -> list[str]:
    return list(dict.fromkeys(name for one in sets if (name := _group_name(one))))


def _in_group(sets: Sequence[PodSet], name: str) -> list[PodSet]:
    return [one for one in sets if _group_name(one) == name]


def _check_groups(sets: Sequence[PodSet]) -> None:
    """Kueue's rules for pod sets in one domain: two of them, one a single pod, with the same wish."""
    for name in _group_names(sets):
        those = _in_group(sets, name)
        last = those[-1].asked.group
        if last is None:
            continue
        if len(those) != _GROUP_SETS:
            last.wrong(f"Kueue puts exactly {_GROUP_SETS} pod sets into one domain; this group has {len(those)}")
        elif all(one.count != 1 for one in those):
            last.wrong("one of the two pod sets of a group has a single pod, the leader")
        elif those[0].asked.near != those[1].asked.near:
            last.wrong("both pod sets of a group ask for the same level, and in the same way")


# -- the first design's back-up form for the Jobs of a JobSet ----------------------------------------------------


def _copies(one: PodSet) -> dict[str, object]:
    """``replicas`` and ``replicaKey``: a pod set that several equal Jobs make up, each placed by itself.

    (K-109, K-110, K-111)
    """
    at = one.at.at("replicatedJobCount")
    jobs = at.integer(1, low=1)
    _check_value(one.at, jobs)
    if jobs == 1:
        return {}
    if one.count % jobs:
        at.mistaken(f"does not divide the {one.count} pods of the pod set into equal Jobs")
        return {}
    if one.at.at("minCount").present:
        one.at.at("minCount").wrong("is not supported for a pod set of several replicated Jobs")
    return {"replicas": at, "replicaKey": _key(one.at.at("replicatedJobKeyLabel"))}


def _key(at: Field) -> Field:
    """Where a pod carries the number of its Job. The name of the replicated Job is the same in all copies (X-31)."""
    label = at.text(None)
    if label is None:
        at.warn(f"is not written, so the Jobs are told apart by {_JOB_INDEX}")
    elif label == _JOB_NAME:
        at.warn(f"all Jobs of a replicated Job carry the same {_JOB_NAME}; {_JOB_INDEX} is used", (_JOB_INDEX,))
    elif not is_label_key(label):
        at.mistaken("is not the key of a label", (_JOB_INDEX,))
    used = label if label is not None and label != _JOB_NAME and is_label_key(label) else _JOB_INDEX
    return at.meaning(f"metadata.labels['{used}']")


def _check_value(at: Field, jobs: int) -> None:
    value = at.at("replicatedJobLabelValue")
    if value.text(None) is None:
        return
    if not at.at("replicatedJobKeyLabel").present:
        value.wrong("means nothing without replicatedJobKeyLabel")
    elif jobs > 1:
        value.wrong(f"one value cannot tell {jobs} Jobs apart; leave it out, or make it a pod set per Job")


# -- priority, state ---------------------------------------------------------------------------------------------


def _priority_class(spec: Field) -> Field:
    """The name of a PriorityClass; a field that holds nothing where the class is Kueue's own."""
    kind, at = _class(spec)
    return at.meaning(None) if kind == _OF_KUEUE else at


def _class(spec: Field) -> tuple[str, Field]:
    """Kind and name of the priority class, as v1beta1 writes it or as v1beta2 does."""
    name, ref = spec.at("priorityClassName"), spec.at("priorityClassRef")
    if not ref.mapping():
        return _SOURCES[spec.at("priorityClassSource").choice("", *_SOURCES)], _unless_empty(name)
    group = ref.at("group").choice("scheduling.k8s.io", *_KINDS)
    kind = ref.at("kind").choice(_KINDS[group], *_KINDS.values())
    if kind != _KINDS[group]:
        ref.at("kind").mistaken(f"is not a kind of {group}", (_KINDS[group],))
    if not ref.at("name").present:
        ref.at("name").wrong("names no class")
    return kind, ref.at("name")


def _unless_empty(at: Field) -> Field:
    return at.meaning(None) if at.value == "" else at


def _priority(spec: Field, around: Surroundings) -> int | None:
    """The number, where Kueue has written it or a WorkloadPriorityClass among the documents says it."""
    written = spec.at("priority").integer(None, low=-(2**31))
    kind, at = _class(spec)
    name = at.text(None)
    if written is not None or kind != _OF_KUEUE or name is None:
        return written
    found = around.neighbours.find(_API_GROUP, _OF_KUEUE, "default", name)
    if found is None:
        at.warn(f"{_OF_KUEUE} {name[:100]!r} is {around.unknown}; its priority counts as 0")
    return 0 if found is None else found.at("value").integer(0, low=-(2**31))


def _suspended(at: Field) -> Field:
    """``active: false`` keeps a Workload back for good, whoever wrote it."""
    if at.flag(True):
        return at.meaning(False)
    at.warn("the Workload is deactivated; it is not placed until this is true")
    return at.meaning(True)


def _is_over(doc: Field) -> bool:
    conditions = doc.at("status", "conditions").aside().items()
    return any((one.at("type").value, one.at("status").value) == ("Finished", "True") for one in conditions)


def _note_status(doc: Field) -> None:
    assignments = doc.at("status", "admission", "podSetAssignments").aside().items()
    if any(one.at("topologyAssignment").present for one in assignments):
        doc.at("status", "admission").warn("Kueue has admitted it and given its pods places; it is placed once more")


def _note_strangers(doc: Field, namespace: str, name: str, sets: Sequence[PodSet], around: Surroundings) -> None:
    """A warning for each pod that names this Workload and none of its pod sets; those it has are its own work."""
    joining = around.neighbours.members(_API_GROUP, "Workload", namespace, name)
    notes = Notes()
    members.assign(joining, [one.name for one in sets], notes, f"Workload {name}", "pod set")
    for problem in notes.problems:
        doc.notes.warning(problem)
