"""Any workload written as the designs' Workload (RevN): gang groups > ranked groups > eq groups.

Gang groups start on their own, so a workload that starts as one is a single gang group, and its groups are ranked
groups of it. Three levels below the Workload are all there is::

    policy Gang:  a, b                    gangGroups: [{name: NAME, rankedGroups: [a, b]}]
    policy Basic: a, w( b c )             gangGroups: [{name: a, rankedGroups: [a]}, {name: w, rankedGroups: [b, c]}]
    policy Gang:  a, w( b c ), levels     gangGroups: [{name: NAME, rankedGroups: [a, {name: w, eqGroups: [b, c]}]}]
"""

from collections.abc import Mapping
from typing import Any

from phalanx.dialects import parts, wishes
from phalanx.dialects.outline import Outline
from phalanx.dialects.parts import Part, Whole
from phalanx.dialects.workload import written_groups as groups
from phalanx.dialects.written import Losses, Written

Near = Mapping[str, Any]

_WHOLE = {
    "preemptible": "", "suspend": "", "enforcement": "", "minGroups": "all groups of a gang start together",
    "readyTimeoutSeconds": "", "recoveryTimeoutSeconds": "", "expectedDurationSeconds": "",
}  # fmt: skip
_DISRUPTION = {"Pod": "Pod", "Group": "Replica", "Gang": "Workload"}
_ON_FAILURE = {"RestartGang": "TerminateAll"}


def write(outline: Outline) -> Written:
    """One Workload."""
    whole = parts.of(outline)
    losses = Losses("a Workload", whole.id)
    losses.each(whole.spec, "it", _WHOLE)
    spec = whole.spec
    near, gangs = _gang_groups(whole, losses)
    top = {
        "controllerRef": spec.get("controllerRef"),
        "topologyRequest": groups.request(near),
        "topologySpread": near.get("spread"),
        "replicaMode": _replica_mode(whole),
        "replicaDisruptionPolicy": _DISRUPTION.get(str(spec.get("disruption"))),
        "priorityClassName": _priority_class(whole, losses),
        "gangGroups": [{**gang, **_timing(spec)} for gang in gangs],
    }
    workload = {
        "apiVersion": "scheduling/v1alpha1",
        "kind": "Workload",
        "metadata": {**whole.metadata, **_carried(whole, losses)},
        "spec": {key: value for key, value in top.items() if value is not None},
    }
    return Written((workload,), losses.warnings)


# -- gang groups -------------------------------------------------------------------------------------------------


def _gang_groups(whole: Whole, losses: Losses) -> tuple[Near, list[dict[str, Any]]]:
    """The levels that stand at the Workload itself, and its gang groups."""
    if whole.policy == "Basic":
        return whole.near, [groups.gang_group(part, part.near, losses) for part in whole.parts]
    groups.tell_keyed(whole.parts, losses)
    members = parts.unfolded(whole.parts)
    if not members:
        return whole.near, []
    only = members[0] if len(members) == 1 else Part(whole.name, {}, members)
    if only.near or "spread" in whole.near:  # both have something to say, or only the Workload can
        return whole.near, [groups.gang_group(only, only.near, losses)]
    return {}, [groups.gang_group(only, whole.near, losses)]


def _timing(spec: Mapping[str, Any]) -> dict[str, Any]:
    failing = spec.get("onFailure")
    found = {
        "scheduleTimeoutSeconds": spec.get("scheduleTimeoutSeconds"),
        "reschedulingPolicy": _ON_FAILURE.get(str(failing), failing),
    }
    return {key: value for key, value in found.items() if value is not None}


# -- the top -----------------------------------------------------------------------------------------------------


def _replica_mode(whole: Whole) -> str | None:
    """ReplicatedGangs says it of all groups; where only some have copies those say how many themselves."""
    copied = [part.replicas is not None or part.keyed for part in whole.parts]
    if whole.policy == "Gang" or not any(copied):
        return "Unreplicated"
    return "ReplicatedGangs" if all(copied) else None


def _priority_class(whole: Whole, losses: Losses) -> str | None:
    """Pods say their class; the Workload has no field of its own for it."""
    named = whole.spec.get("priorityClassName")
    kinds = [kind for part in whole.leaves() for kind in part.kinds]
    said = {str(kind.template.get("spec", {}).get("priorityClassName", "")) for kind in kinds}
    if whole.priority is not None and named is None:
        losses.say("priority", whole.priority, "pods say theirs")
    if said == {named or ""}:
        return None
    losses.say("priorityClassName", named, "templates say it in the designs, and these say another or none")
    return named


def _carried(whole: Whole, losses: Losses) -> dict[str, Any]:
    """What the designs have no field for and our keys on any object say."""
    queue, topology = whole.spec.get("queue"), whole.spec.get("topologyName")
    found: dict[str, Any] = {}
    if queue is not None:
        losses.say("queue", queue, f"label {wishes.QUEUE} says it to Phalanx")
        found["labels"] = {wishes.QUEUE: queue}
    if topology is not None:
        losses.say("topologyName", topology, f"annotation {wishes.OURS.topology} says it to Phalanx")
        found["annotations"] = {wishes.OURS.topology: topology}
    return found
