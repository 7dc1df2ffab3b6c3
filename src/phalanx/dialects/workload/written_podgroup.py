"""Any workload written as PodGroups of Kubernetes (``scheduling.k8s.io``).

A group by itself is one PodGroup. Groups inside groups are a CompositePodGroup with a PodGroup for each that has pods,
and the Workload of templates that Kubernetes wants such a tree to be made from. What pods are like they say
themselves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from phalanx.dialects import parts, wishes
from phalanx.dialects.outline import Outline
from phalanx.dialects.parts import Part, Whole
from phalanx.dialects.workload.templates import COMPOSITES, DEPTH_MAX, LIST_MAX, PODGROUPS
from phalanx.dialects.workload.written_groups import label
from phalanx.dialects.written import Losses, Written

_GROUP = "scheduling.k8s.io"
_WHOLE = {
    "preemptible": "", "suspend": "", "enforcement": "", "scheduleTimeoutSeconds": "", "readyTimeoutSeconds": "",
    "recoveryTimeoutSeconds": "", "onFailure": "", "expectedDurationSeconds": "",
}  # fmt: skip
_LEAF = {"maxCount": "", "slices": "", "rank": ""}

Made = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Tree:
    """A workload whose groups are nested, while it is written."""

    whole: Whole
    losses: Losses

    @property
    def workload(self) -> str:
        return f"w-{self.whole.name}"

    def name(self, part: Part) -> str:
        """What its object is called; the root goes by the name of the workload."""
        return self.whole.name if part.name == "" else f"{self.whole.name}-{part.name}"


def write(outline: Outline) -> Written:
    """One PodGroup, or one tree of them, per unit."""
    whole = parts.of(outline)
    losses = Losses("a PodGroup", whole.id)
    losses.each(whole.spec, "it", _WHOLE)
    _tell(whole.parts, losses)
    _tell_levels(whole.near, "it", losses)
    units = [unit for unit in parts.units(whole) if unit.parts]
    if units:
        losses.say("template", None, "pods carry theirs, with the PodGroup's name in spec.schedulingGroup.podGroupName")
    documents = [doc for unit in units for doc in _unit(unit, losses)]
    return Written(tuple(documents), losses.warnings)


def _unit(unit: Whole, losses: Losses) -> list[Made]:
    members = parts.unfolded(unit.parts)
    only = members[0] if len(members) == 1 else None
    if not members:
        return []
    if only is not None and not (unit.near and only.near):
        root = replace(only, entry={**only.entry, "topology": unit.near or only.near})
    else:
        root = Part("", {key: unit.spec[key] for key in ("topology", "minGroups") if key in unit.spec}, members)
    if not root.children:
        losses.each(unit.spec, "it", {"controllerRef": ""})
        meta = _metadata(unit, unit.name, losses)
        return [_object("PodGroup", "v1beta1", meta, {**_common(root, unit, True), **_shared(unit)})]
    return _tree(replace(root, name=""), _Tree(unit, losses))


# -- trees -------------------------------------------------------------------------------------------------------


def _tree(root: Part, tree: _Tree) -> list[Made]:
    """The Workload of templates and the objects made from it, outer first."""
    root = _limited(root, tree.losses, 1)
    reference = tree.whole.spec.get("controllerRef")
    spec = {**({"controllerRef": reference} if reference else {}), COMPOSITES: [_template(root, tree, True)]}
    workload = _object("Workload", "v1beta1", {**tree.whole.metadata, "name": tree.workload}, spec)
    return [workload, *_objects(root, None, tree)]


def _limited(part: Part, losses: Losses, depth: int) -> Part:
    """The tree no deeper than Kubernetes takes it: what lies below is side by side."""
    if not part.children:
        return part
    if len(part.children) > LIST_MAX:
        losses.say(f"more than {LIST_MAX} groups in one", len(part.children), f"group {part.name!r} has more")
    below = part.children
    if depth == DEPTH_MAX - 1 and any(child.children for child in below):
        losses.say(f"more than {DEPTH_MAX} levels", part.name, f"groups below {part.name!r} are side by side")
        below = tuple(part.leaves())
    return replace(part, children=tuple(_limited(child, losses, depth + 1) for child in below))


def _template(part: Part, tree: _Tree, top: bool = False) -> Made:
    leaves = [_template(child, tree) for child in part.children if not child.children]
    inner = [_template(child, tree) for child in part.children if child.children]
    made = {"name": _template_name(part, tree), **_common(part, tree.whole, top), **_shared(tree.whole)}
    return {**made, **({PODGROUPS: leaves} if leaves else {}), **({COMPOSITES: inner} if inner else {})}


def _template_name(part: Part, tree: _Tree) -> str:
    return label(part.name or tree.whole.name, tree.losses)


def _objects(part: Part, parent: str | None, tree: _Tree) -> list[Made]:
    """The CompositePodGroups and PodGroups of a tree."""
    name = tree.name(part)
    above = {} if parent is None else {"parentCompositePodGroupName": parent}
    reference = {"workloadName": tree.workload, "templateName": _template_name(part, tree)}
    spec = {**above, "workloadRef": reference, **_common(part, tree.whole, parent is None), **_shared(tree.whole)}
    kind, version = ("CompositePodGroup", "v1alpha3") if part.children else ("PodGroup", "v1beta1")
    meta = _metadata(tree.whole, name, tree.losses) if parent is None else {**tree.whole.metadata, "name": name}
    own = _object(kind, version, meta, spec)
    return [own, *(doc for child in part.children for doc in _objects(child, name, tree))]


# -- what groups and templates have in common --------------------------------------------------------------------


def _common(part: Part, whole: Whole, top: bool) -> Made:
    key = part.near.get("required")
    mode = _disruption(str(whole.spec.get("disruption")), top, not part.children)
    return {
        "schedulingPolicy": _policy(part),
        **({"schedulingConstraints": {"topology": [{"key": key}]}} if key is not None else {}),
        **({"disruptionMode": {mode: {}}} if mode else {}),
    }


def _policy(part: Part) -> Made:
    """Pods that start as they fit, and groups of which none is waited for, are basic."""
    if part.children:
        least = part.entry.get("minGroups", len(part.children))
        return {"basic": {}} if part.policy == "Basic" else {"gang": {"minGroupCount": least}}
    return {"basic": {}} if part.least == 1 < part.count else {"gang": {"minCount": part.least}}


def _disruption(wanted: str, top: bool, leaf: bool) -> str | None:
    """``all`` at the root is everything, on a PodGroup that group."""
    if wanted == "Gang":
        return "all" if top else None
    return {"Pod": "single", "Group": "all"}.get(wanted) if leaf else None


def _shared(whole: Whole) -> Made:
    found = {"priorityClassName": whole.spec.get("priorityClassName"), "priority": whole.priority}
    return {key: value for key, value in found.items() if value is not None}


def _metadata(whole: Whole, name: str, losses: Losses) -> Made:
    """Name and namespace, and what only our keys on any object say."""
    queue, topology = whole.spec.get("queue"), whole.spec.get("topologyName")
    made: Made = {**whole.metadata, "name": name}
    if queue is not None:
        losses.say("queue", queue, f"label {wishes.QUEUE} says it to Phalanx")
        made["labels"] = {wishes.QUEUE: queue}
    if topology is not None:
        losses.say("topologyName", topology, f"annotation {wishes.OURS.topology} says it to Phalanx")
        made["annotations"] = {wishes.OURS.topology: topology}
    return made


def _object(kind: str, version: str, metadata: Made, spec: Mapping[str, Any]) -> Made:
    return {"apiVersion": f"{_GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": dict(spec)}


# -- losses ------------------------------------------------------------------------------------------------------


def _tell(members: Iterable[Part], losses: Losses) -> None:
    """What is lost of groups, each told once, whatever the number of its copies."""
    for part in members:
        who = f"group {part.name!r}"
        losses.each(part.entry, who, _LEAF)
        _tell_levels(part.near, who, losses)
        if part.keyed:
            losses.say("replicaKey without replicas", part.name, f"{who} is left out")
        _tell(part.children, losses)


def _tell_levels(near: Mapping[str, Any], who: str, losses: Losses) -> None:
    losses.each(near, who, {"preferred": "", "spread": ""})
