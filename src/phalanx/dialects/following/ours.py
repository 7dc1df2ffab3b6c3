"""Which workloads and pods are for us to place, and whether we bind their pods or take their gates off.

A pod that names our scheduler is bound by us. A workload that carries a mark of ours, and whose pods another scheduler
binds, is gated: we choose the places, the other one does the last step. Everything else is a neighbour that takes room.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from phalanx.dialects import wishes
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import ties
from phalanx.model.events import Ending
from phalanx.model.rules import Rules
from phalanx.model.topology import HOSTNAME

GATE = "phalanx.dev/topology"  # the scheduling gate that holds a pod back until it has its place (K-048)
PINNED = "phalanx.dev/pinned"  # the keys of the node selector that we wrote into a pod when its gate came off
NODE = "phalanx.dev/node"  # the node they are to lead to
TOLERATED = "phalanx.dev/tolerated"  # the tolerations of a flavor that we gave to a pod, as JSON
DOMAIN = "phalanx.dev/domain"
_PREFIX = "phalanx.dev/"
RANK = "phalanx.dev/rank"
LEAST = "phalanx.dev/least"  # with how many pods of its set a gang was whole when the pod was let go
SUSPENDED = "phalanx.dev/suspended"  # on what makes pods: that we suspended it, for which gang, and why
WRITTEN = frozenset({DOMAIN, RANK, PINNED, NODE, TOLERATED, LEAST})  # by us, into pods


@dataclass(frozen=True, slots=True)
class Marks:
    """``schedulers``: names by which pods are handed to us. ``queues``: labels that hand us a workload to gate.

    ``namespaces``: whose workloads are placed; none: those of all. ``rules``: for gangs that say nothing about it.
    """

    schedulers: tuple[str, ...] = ("phalanx",)
    queues: tuple[str, ...] = (wishes.QUEUE,)
    namespaces: tuple[str, ...] = ()
    rules: Rules = Rules()

    def covers(self, namespace: str) -> bool:
        return not self.namespaces or namespace in self.namespaces


def is_marked(docs: Iterable[Document], marks: Marks) -> bool:
    """Whether a family is for us: one of its pods or templates names our scheduler, or something carries a mark."""
    return any(_is_marked(doc, marks) for doc in docs)


def _is_marked(doc: Document, marks: Marks) -> bool:
    if doc.group == "phalanx.dev":
        return True
    if doc.kind == "Pod" and not doc.group:
        return (
            is_bound_by_us(Field.of(doc.value), marks) or was_gated(Field.of(doc.value)) or _carries(doc.value, marks)
        )
    return _carries(doc.value, marks) or any(
        is_bound_by_us(one, marks) or _carries(one.value, marks) for one in ties.templates(doc.value)
    )


def is_bound_by_us(pod: Field, marks: Marks) -> bool:
    """Whether a pod, or the pods of a template, name our scheduler."""
    return pod.at("spec", "schedulerName").value in marks.schedulers


def is_gated(pod: Field) -> bool:
    """Whether our gate is on the pod."""
    return any(gate.at("name").value == GATE for gate in pod.at("spec", "schedulingGates").items())


def gates_of_others(pod: Field) -> tuple[str, ...]:
    """Gates by which somebody else holds the pod back: while one is on, no scheduler may bind it."""
    names = (gate.at("name").value for gate in pod.at("spec", "schedulingGates").items())
    return tuple(name for name in names if isinstance(name, str) and name != GATE)


def was_gated(pod: Field) -> bool:
    """Whether our gate is, or was, on the pod."""
    return is_gated(pod) or pod.at("metadata", "annotations", PINNED).present


def pinned(pod: Field) -> str:
    """The node that a pod may only go to since we took its gate off; empty where we did not."""
    annotations = pod.at("metadata", "annotations")
    node = annotations.at(NODE).value or pod.at("spec", "nodeSelector", HOSTNAME).value
    freed = annotations.at(PINNED).present and not is_gated(pod)
    return node if freed and isinstance(node, str) else ""


def is_suspended_by_us(maker: Field) -> bool:
    """Whether our note is on it: as long as it is there it is for us to let the maker go."""
    return maker.at("metadata", "annotations", SUSPENDED).present


def least(pod: Field) -> int | None:
    """What we wrote into it when it was let go, as far as it is a number."""
    text = pod.at("metadata", "annotations", LEAST).value
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 else None


def _carries(value: object, marks: Marks) -> bool:
    """Whether labels or annotations hold a key of ours that a user writes, or a label that hands it to us."""
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if not isinstance(metadata, Mapping):
        return False
    labels, annotations = (metadata.get(part) for part in ("labels", "annotations"))
    keys = [key for part in (labels, annotations) if isinstance(part, Mapping) for key in part]
    return any(key in marks.queues or (str(key).startswith(_PREFIX) and key not in WRITTEN) for key in keys)


def unpinned(value: Mapping[str, object]) -> Mapping[str, object]:
    """A pod as it was before we pinned it: its shape must not depend on where it was put."""
    annotations, spec = Field.of(value).at("metadata", "annotations"), value.get("spec")
    if not isinstance(spec, dict):
        return value
    before: dict[object, object] = {}
    keys, selector = annotations.at(PINNED).value, spec.get("nodeSelector")
    if isinstance(keys, str) and isinstance(selector, dict):
        before["nodeSelector"] = {key: one for key, one in selector.items() if key not in keys.split(",")}
    given, tolerations = _given(annotations.at(TOLERATED).value), spec.get("tolerations")
    if given and isinstance(tolerations, list):
        before["tolerations"] = [one for one in tolerations if one not in given]
    return {**value, "spec": {**spec, **before}} if before else value


def unplaced(value: Mapping[str, object]) -> Mapping[str, object]:
    """A pod as it was before it had a node: what it asks for does not depend on when it was first seen."""
    free = unpinned(value)
    spec = free.get("spec")
    return (
        {**free, "spec": {key: one for key, one in spec.items() if key != "nodeName"}}
        if isinstance(spec, dict)
        else free
    )


def _given(text: object) -> list[object]:
    """The tolerations that we gave to a pod; none where somebody spoiled our note of it."""
    return _noted(text) or []


def _noted(text: object) -> list[object] | None:
    try:
        found = msgspec.json.decode(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):  # no JSON, no text at all, or nested without end
        return None
    return found if isinstance(found, list) else None


def note_spoiled(pod: Field) -> None:
    """A warning where our own note of the tolerations that we gave to a pod is none any more."""
    at = pod.at("metadata", "annotations", TOLERATED)
    if at.present and _noted(at.value) is None:
        at.warn("is not the JSON list that we wrote there; all tolerations of the pod are taken for its own")


def is_said_valid(doc: Document) -> bool | None:
    """What an object of one of our kinds says of itself, for one of us wrote it there once; None: nothing."""
    conditions = Field.of(doc.value).at("status", "conditions").items() if doc.group == "phalanx.dev" else []
    found = [one.at("status").value for one in conditions if one.at("type").value == "Valid"]
    return found[0] == "True" if found else None


_OVER = frozenset({"Complete", "Completed", "Failed", "Succeeded", "Finished"})


def has_finished(doc: Document) -> bool:
    """Whether an object says that its work is over: nothing is to be placed for it any more."""
    return _over(doc) is not None


def ending(doc: Document | None) -> tuple[Ending, str]:
    """How an object says that it ended, and why in a word; one that is gone, or says nothing, was deleted."""
    condition = None if doc is None else _over(doc)
    if condition is None:
        return Ending.DELETED, ""
    why = condition.at("reason").value
    how = Ending.FAILED if condition.at("type").value == "Failed" else Ending.SUCCEEDED
    return how, why if isinstance(why, str) else ""


def _over(doc: Document) -> Field | None:
    """The condition by which an object says that its work is over."""
    found = Field.of(doc.value).at("status", "conditions").items()
    over = (one for one in found if one.at("type").value in _OVER and one.at("status").value == "True")
    return next(over, None)
