"""Any workload written as a Gang: short, in the order of the reference, with nothing that goes without saying."""

from collections.abc import Mapping
from typing import Any

from phalanx.dialects import parts
from phalanx.dialects.outline import Outline
from phalanx.dialects.parts import Part
from phalanx.dialects.written import Losses, Written

_TOP = (
    "controllerRef", "queue", "priorityClassName", "preemptible", "suspend", "enforcement", "topologyName",
    "topology", "policy", "minGroups", "scheduleTimeoutSeconds", "readyTimeoutSeconds", "recoveryTimeoutSeconds",
    "onFailure", "disruption", "expectedDurationSeconds",
)  # fmt: skip
_GROUP = (
    "name", "parent", "replicas", "replicaKey", "count", "minCount", "maxCount", "topology", "policy", "minGroups",
    "slices", "rank", "podClasses", "template",
)  # fmt: skip


def write(outline: Outline) -> Written:
    """The Gang that reads as the same Requests. Only a priority without a class has no place in it."""
    whole = parts.of(outline)
    losses = Losses("a Gang", whole.id)
    if whole.priority is not None and "priorityClassName" not in whole.spec:
        losses.say("priority", whole.priority, "it is written without; name a PriorityClass of that value")
    groups = [entry for part in whole.parts for entry in _entries(part, None)]
    gang = {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": dict(whole.metadata),
        "spec": {**_ordered(whole.spec, _TOP), "podGroups": groups},
    }
    return Written((gang,), losses.warnings)


def _entries(part: Part, parent: str | None) -> list[dict[str, Any]]:
    """A group and those below it, outer first."""
    above = {} if parent is None else {"parent": parent}
    own = _ordered({"name": part.name, **above, **part.entry}, _GROUP)
    return [own, *(entry for child in part.children for entry in _entries(child, part.name))]


def _ordered(holder: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {name: holder[name] for name in order if name in holder}
