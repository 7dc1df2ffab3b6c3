"""The change that takes our gate off a pod and pins it to its place: one JSON patch that fits whole or is refused."""

from collections.abc import Mapping
from typing import Any

from phalanx.dialects.following import ours
from phalanx.model.nodes import Pairs

Document = Mapping[str, Any]
Operation = dict[str, Any]


def operations(pod: Document, selector: Pairs, rank: int | None) -> list[Operation]:
    """The patch; empty when the gate is off already. The pod is pinned in the same write (K-062).

    It begins with tests: on the pod's uid, so that no other pod of that name is meant, and on the gate it removes.
    """
    gates = pod["spec"].get("schedulingGates") or []
    index = next((i for i, gate in enumerate(gates) if gate.get("name") == ours.GATE), None)
    if index is None:
        return []
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod["metadata"]["uid"]},
        {"op": "test", "path": f"/spec/schedulingGates/{index}/name", "value": ours.GATE},
        *_selected(pod["spec"].get("nodeSelector"), dict(selector)),
        *_annotated(pod["metadata"].get("annotations"), _said(pod, selector, rank)),
        {"op": "remove", "path": f"/spec/schedulingGates/{index}"},
    ]


def _selected(before: Document | None, wanted: Mapping[str, str]) -> list[Operation]:
    if not before:
        return [{"op": "add", "path": "/spec/nodeSelector", "value": dict(wanted)}]
    new = {key: value for key, value in wanted.items() if key not in before}
    return [{"op": "add", "path": f"/spec/nodeSelector/{_escaped(key)}", "value": new[key]} for key in sorted(new)]


def _annotated(before: Document | None, said: Mapping[str, str]) -> list[Operation]:
    if not before:
        return [{"op": "add", "path": "/metadata/annotations", "value": dict(said)}]
    return [{"op": "add", "path": f"/metadata/annotations/{_escaped(key)}", "value": said[key]} for key in sorted(said)]


def _said(pod: Document, selector: Pairs, rank: int | None) -> dict[str, str]:
    """Which keys we added, so that the pod's own wish can be told from ours later; and its rank."""
    before = pod["spec"].get("nodeSelector") or {}
    said = {ours.PINNED: ",".join(sorted(key for key, _ in selector if key not in before))}
    return said if rank is None else {**said, ours.RANK: str(rank)}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
