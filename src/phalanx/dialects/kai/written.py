"""Any workload written as KAI's PodGroup: minimums, a tree of subgroups, and the levels around them. (KA-059)

KAI has no copies: each copy is a subgroup. What the pods are like it does not say; they carry that themselves.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from phalanx.dialects import parts
from phalanx.dialects.links import KAI_GANG, KAI_GROUP
from phalanx.dialects.outline import Outline
from phalanx.dialects.parts import Part, Whole
from phalanx.dialects.written import Losses, Written

_WHOLE = {
    "controllerRef": "", "suspend": "", "enforcement": "", "scheduleTimeoutSeconds": "", "readyTimeoutSeconds": "",
    "onFailure": "", "disruption": "", "expectedDurationSeconds": "",
}  # fmt: skip
_LEAF = {"maxCount": "", "slices": "", "rank": ""}


def write(outline: Outline) -> Written:
    """One PodGroup; one per unit where a level around groups that start on their own is said of each of them."""
    whole = parts.of(outline)
    losses = Losses("KAI", whole.id)
    losses.each(whole.spec, "it", _WHOLE)
    if whole.priority is not None and "priorityClassName" not in whole.spec:
        losses.say("priority", whole.priority, "it is written without; name a PriorityClass of that value")
    _tell(whole.parts, losses)
    units = parts.units(whole)
    made = [whole] if len(units) > 1 and not whole.near else units
    return Written(tuple(_pod_group(one, losses) for one in made if parts.unfolded(one.parts)), losses.warnings)


def _pod_group(whole: Whole, losses: Losses) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": dict(whole.metadata),
        "spec": {**_top(whole), **_groups(whole, parts.unfolded(whole.parts), losses)},
    }


def _top(whole: Whole) -> dict[str, Any]:
    """Unless told otherwise KAI evicts nobody of high priority, and we do: with a class it is said."""
    spec = whole.spec
    spoken = "priorityClassName" in spec or "preemptible" in spec
    grace = spec.get("recoveryTimeoutSeconds")
    found = {
        "queue": spec.get("queue"),
        "priorityClassName": spec.get("priorityClassName"),
        "preemptibility": ("preemptible" if spec.get("preemptible", True) else "non-preemptible") if spoken else None,
        "stalenessGracePeriod": None if grace is None else f"{grace}s",
    }
    return {key: value for key, value in found.items() if value is not None}


# -- groups ------------------------------------------------------------------------------------------------------


def _groups(whole: Whole, members: tuple[Part, ...], losses: Losses) -> dict[str, Any]:
    """``minMember`` where one group is all there is; else subgroups, of which ``minSubGroup`` are waited for."""
    topology, only = whole.spec.get("topologyName"), members[0]
    pods = f"pods carry theirs, with annotation {KAI_GANG}: {whole.name}"
    if len(members) == 1 and not only.children and whole.policy == "Gang" and not (whole.near and only.near):
        losses.say("template", only.name, pods)
        return {"minMember": only.least, **_constraint(whole.near or only.near, topology, "it", losses)}
    losses.say("template", len(members), f"{pods} and with label {KAI_GROUP}: SUBGROUP")
    listed = [entry for part in members for entry in _subgroups(part, None, topology, losses)]
    around = _constraint(whole.near, topology, "it", losses)
    return {**_waiting(whole.spec), **around, "subGroups": listed}


def _subgroups(part: Part, parent: str | None, topology: str | None, losses: Losses) -> list[dict[str, Any]]:
    """A group and those below it, outer first."""
    own = {
        "name": part.name,
        **({} if parent is None else {"parent": parent}),
        **(_waiting(part.entry) if part.children else {"minMember": part.least}),
        **_constraint(part.near, topology, f"group {part.name!r}", losses),
    }
    return [own, *(entry for child in part.children for entry in _subgroups(child, part.name, topology, losses))]


def _waiting(holder: Mapping[str, Any]) -> dict[str, Any]:
    if holder.get("policy") == "Basic":
        return {"minSubGroup": 0}
    return {"minSubGroup": holder["minGroups"]} if "minGroups" in holder else {}


def _constraint(near: Mapping[str, Any], topology: str | None, who: str, losses: Losses) -> dict[str, Any]:
    """``topologyConstraint``, which names the topology beside the levels. (KA-022)"""
    if "spread" in near:
        losses.say("spread", near["spread"], f"{who} is written without")
    levels = {f"{key}TopologyLevel": near[key] for key in ("required", "preferred") if key in near}
    if not levels:
        return {}
    if topology is None:
        losses.say("levels without a topology", None, f"{who} needs its name in topologyConstraint.topology")
    return {"topologyConstraint": {**({} if topology is None else {"topology": topology}), **levels}}


def _tell(members: Iterable[Part], losses: Losses) -> None:
    """What is lost of groups, each told once, whatever the number of its copies."""
    for part in members:
        losses.each(part.entry, f"group {part.name!r}", _LEAF)
        if part.keyed:
            losses.say("replicaKey without replicas", part.name, f"group {part.name!r} is left out")
        _tell(part.children, losses)
