"""Putting a pod on a node, and what became of it. Five answers, none mistaken for another.

201                          BOUND
409, and the pod is there    HERE       an earlier request of ours was done though its answer got lost
404, 409 otherwise           CONFLICT   gone, on another node, gated, being deleted, or made anew under this name
other 4xx                    REFUSED    not allowed there, not valid: asking again changes nothing
everything else              UNKNOWN    time-out, 5xx, connection lost: done or not done. Also where we lack rights or a
                                        valid token: that says nothing of pod and node, and may be over soon
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.events import Answer
from phalanx.wire.client import Client
from phalanx.wire.errors import Refused, WireError
from phalanx.wire.resources import PODS
from phalanx.wire.shapes import Document


@dataclass(frozen=True, slots=True)
class Target:
    """Which pod goes where. Labels and annotations are merged into the pod by the same write."""

    namespace: str
    name: str
    uid: str  # a pod of the same name made anew is another pod: the server refuses to bind it
    node: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bound:
    """What became of a bind; ``message`` in the server's words, where it had any."""

    answer: Answer
    message: str = ""


async def bind(client: Client, target: Target, seconds: float | None = None) -> Bound:
    """Ask for the bind and say what is known. Never raises a WireError. Unanswered for ``seconds`` it is unknown.

    The server checks neither that the node exists nor that labels are valid: that is up to the caller.
    """
    if not (target.uid and target.node):
        raise ValueError(f"pod {target.namespace}/{target.name}: a bind needs a uid and a node; got {target}")
    try:
        await client.create(
            PODS, _binding(target), target.namespace, name=target.name, subresource="binding", seconds=seconds
        )
    except Refused as refused:
        return await _judge(client, target, refused)
    except WireError as error:
        return Bound(Answer.UNKNOWN, str(error))
    return Bound(Answer.BOUND)


def _binding(target: Target) -> Document:
    metadata: Document = {"name": target.name, "namespace": target.namespace, "uid": target.uid}
    if target.labels:
        metadata["labels"] = dict(target.labels)
    if target.annotations:
        metadata["annotations"] = dict(target.annotations)
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": target.node},
    }


async def _judge(client: Client, target: Target, refused: Refused) -> Bound:
    if refused.conflict:
        return await _look(client, target, refused)
    if refused.missing:
        return Bound(Answer.CONFLICT, str(refused))
    if refused.status >= 500 or refused.busy or _is_about_us(refused):
        return Bound(Answer.UNKNOWN, str(refused))
    return Bound(Answer.REFUSED, str(refused))


def _is_about_us(refused: Refused) -> bool:
    """Whether it is we who may not bind. Admission says Forbidden too, but of the pod."""
    return refused.unauthorized or (refused.status == 403 and "cannot create resource" in refused.message)


async def _look(client: Client, target: Target, refused: Refused) -> Bound:
    """A conflict may be our own earlier success: the pod tells."""
    try:
        pod = await client.get(PODS, target.name, target.namespace)
    except Refused as gone:
        return Bound(Answer.CONFLICT if gone.missing else Answer.UNKNOWN, str(gone))
    except WireError as error:
        return Bound(Answer.UNKNOWN, str(error))
    here = pod["metadata"].get("uid") == target.uid and pod.get("spec", {}).get("nodeName") == target.node
    return Bound(Answer.HERE if here else Answer.CONFLICT, refused.message)
