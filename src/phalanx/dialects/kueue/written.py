"""Any workload written as Kueue's Workload (v1beta2): a flat list of pod sets that are admitted together.

Groups that start on their own become Workloads of their own. Copies of a group that each need a domain become slices
of one pod set: ``count`` is all their pods, and every copy's worth of them shares a domain::

    decode, replicas 3, count 8, required rack    ->    count 24, slices of 8, each in a rack
"""

from collections.abc import Mapping, Sequence
from typing import Any

from phalanx.dialects import parts
from phalanx.dialects.kueue import written_podsets as podsets
from phalanx.dialects.kueue.written_podsets import PodSet
from phalanx.dialects.outline import Outline
from phalanx.dialects.parts import Part, Whole
from phalanx.dialects.written import Losses, Written

_WHOLE = {
    "controllerRef": "", "preemptible": "", "enforcement": "", "minGroups": "all pod sets are admitted together",
    "scheduleTimeoutSeconds": "Kueue's configuration has waitForPodsReady", "readyTimeoutSeconds": "",
    "recoveryTimeoutSeconds": "", "onFailure": "", "disruption": "", "expectedDurationSeconds": "",
}  # fmt: skip
_INNER = {"minGroups": "all pod sets are admitted together", "policy": "all pod sets are admitted together"}
_TOPOLOGY_NAME = "phalanx.dev/topology-name"


def write(outline: Outline) -> Written:
    """One Workload per unit."""
    whole = parts.of(outline)
    losses = Losses("Kueue", whole.id)
    losses.each(whole.spec, "it", _WHOLE)
    podsets.tell_keyed(whole.parts, losses)
    return Written(tuple(_workload(unit, losses) for unit in parts.units(whole) if unit.parts), losses.warnings)


def _workload(unit: Whole, losses: Losses) -> dict[str, Any]:
    sets = _sets(unit.parts, unit.near, losses, unit.name)
    podsets.check(sets, losses)
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {**unit.metadata, **_topology_name(unit, losses)},
        "spec": {**_top(unit), "podSets": [podsets.document(one, sets) for one in sets]},
    }


def _top(unit: Whole) -> dict[str, Any]:
    spec = unit.spec
    named = spec.get("priorityClassName")
    reference = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": named}
    found = {
        "active": False if spec.get("suspend") else None,
        "queueName": spec.get("queue"),
        "priorityClassRef": reference if named else None,
        "priority": unit.priority,
    }
    return {key: value for key, value in found.items() if value is not None}


def _topology_name(unit: Whole, losses: Losses) -> dict[str, Any]:
    name = unit.spec.get("topologyName")
    if name is None:
        return {}
    losses.say("topologyName", name, f"ResourceFlavors name it; annotation {_TOPOLOGY_NAME} says it to Phalanx")
    return {"annotations": {_TOPOLOGY_NAME: name}}


# -- from groups to pod sets -------------------------------------------------------------------------------------


def _sets(members: Sequence[Part], around: Mapping[str, Any], losses: Losses, name: str) -> list[PodSet]:
    """The pod sets of groups with one wish around all of them."""
    if not around:
        return [one for part in members for one in _of_part(part, {}, losses)]
    if "spread" in around:
        losses.say("spread", around["spread"], f"{name!r} is written without")
    if len(members) == 1:
        return _of_part(members[0], around, losses)
    joined = podsets.group_of(name, members, around)
    if joined is not None:
        return [one for part in members for one in podsets.of_leaf(part, around, joined, losses)]
    losses.say("topology around several groups", around, f"each group of {name!r} is held in a domain by itself")
    return [one for part in members for one in _of_part(part, around if not part.near else {}, losses)]


def _of_part(part: Part, around: Mapping[str, Any], losses: Losses) -> list[PodSet]:
    if not part.children and (part.copies <= 1 or len(part.kinds) == 1):
        return podsets.of_leaf(part, around, None, losses)
    if not part.children:  # copies of several classes are no slices of one pod set
        return _sets(parts.unfolded([part]), around, losses, part.name)
    losses.each(part.entry, f"group {part.name!r}", _INNER)
    if part.near and around:
        losses.say("nesting", part.name, f"group {part.name!r} keeps its own levels only")
    copies = parts.unfolded([part])
    near = part.near or around
    return [one for copy in copies for one in _sets(copy.children, near, losses, copy.name)]
