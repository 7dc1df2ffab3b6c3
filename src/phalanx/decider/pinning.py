"""The changes to a pod that is let go: one JSON patch that fits whole or is refused.

Gate mode takes our gate off and pins the pod to its place. In both modes a pod gets the tolerations of the flavor it
goes to, and one whose gang has a name too long for a label gets a shortened one to be selected by.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from phalanx.dialects.following import ours
from phalanx.dialects.generation.linking import label
from phalanx.dialects.links import LABEL_MAX
from phalanx.dialects.wishes import GANG
from phalanx.model.effects import Bind, Ungate
from phalanx.model.nodes import Toleration

Document = Mapping[str, Any]
Operation = dict[str, Any]


def operations(pod: Document, effect: Ungate) -> list[Operation]:
    """The patch; empty when the gate is off already. The pod is pinned in the same write (K-062).

    It begins with tests: on the pod's uid, so that no other pod of that name is meant, and on the gate it removes.
    """
    gates = pod["spec"].get("schedulingGates") or []
    index = next((i for i, gate in enumerate(gates) if gate.get("name") == ours.GATE), None)
    if index is None:
        return []
    new = _new(pod, effect.tolerations)
    return [
        _meant(pod),
        {"op": "test", "path": f"/spec/schedulingGates/{index}/name", "value": ours.GATE},
        *_added("/spec/nodeSelector", pod["spec"].get("nodeSelector"), dict(effect.selector), replaces=False),
        *_tolerated(pod, new),
        *_added("/metadata/labels", pod["metadata"].get("labels"), labels(pod["metadata"])),
        *_added("/metadata/annotations", pod["metadata"].get("annotations"), _said(pod, effect) | _noted(new)),
        {"op": "remove", "path": f"/spec/schedulingGates/{index}"},
    ]


def tolerating(pod: Document, tolerations: Iterable[Toleration]) -> list[Operation]:
    """The patch that gives a pod these tolerations; empty when it has them."""
    new = _new(pod, tolerations)
    if not new:
        return []
    noted = _added("/metadata/annotations", pod["metadata"].get("annotations"), _noted(new))
    return [_meant(pod), *_tolerated(pod, new), *noted]


def labels(metadata: Document) -> dict[str, str]:
    """The label that a pod lacks: of a gang whose name is an annotation, for it is too long for a label."""
    name = (metadata.get("annotations") or {}).get(GANG, "")
    is_named = GANG in (metadata.get("labels") or {})
    return {GANG: label(name)} if len(name) > LABEL_MAX and not is_named else {}


def _meant(pod: Document) -> Operation:
    return {"op": "test", "path": "/metadata/uid", "value": pod["metadata"]["uid"]}


def _added(path: str, before: Document | None, wanted: Mapping[str, str], replaces: bool = True) -> list[Operation]:
    """Keys in a mapping, which may not be there yet. What stands there already stays, unless this ``replaces`` it."""
    if not before:
        return [{"op": "add", "path": path, "value": dict(wanted)}] if wanted else []
    new = {key: value for key, value in wanted.items() if replaces or key not in before}
    return [{"op": "add", "path": f"{path}/{_escaped(key)}", "value": new[key]} for key in sorted(new)]


def _said(pod: Document, effect: Ungate) -> dict[str, str]:
    """Where it goes, and which keys we added, so that the pod's own wish can be told from ours later."""
    before = pod["spec"].get("nodeSelector") or {}
    said = {ours.PINNED: ",".join(sorted(key for key, _ in effect.selector if key not in before))}
    return {**said, ours.NODE: effect.node, **told(effect)}


def told(effect: Bind | Ungate) -> dict[str, str]:
    """What a pod learns with its place: where that is, its rank, and with how many its gang is whole."""
    said = {ours.DOMAIN: effect.domain} if effect.domain else {}
    numbers = {ours.RANK: effect.rank, ours.LEAST: effect.least}
    return said | {key: str(number) for key, number in numbers.items() if number is not None}


# ---- tolerations ------------------------------------------------------------------------------------------------


def _new(pod: Document, tolerations: Iterable[Toleration]) -> list[dict[str, str]]:
    """Those that the pod does not have."""
    held = [{**one, "tolerationSeconds": None} for one in pod["spec"].get("tolerations") or []]
    wanted = [_written(one) for one in tolerations]
    return [one for one in wanted if {**one, "tolerationSeconds": None} not in held]


def _written(one: Toleration) -> dict[str, str]:
    parts = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    return {name: value for name, value in parts.items() if value}


def _tolerated(pod: Document, new: list[dict[str, str]]) -> list[Operation]:
    if new and not pod["spec"].get("tolerations"):
        return [{"op": "add", "path": "/spec/tolerations", "value": new}]
    return [{"op": "add", "path": "/spec/tolerations/-", "value": one} for one in new]


def _noted(new: list[dict[str, str]]) -> dict[str, str]:
    """What we gave it, so that it can be told from what it had."""
    return {ours.TOLERATED: msgspec.json.encode(new).decode()} if new else {}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
