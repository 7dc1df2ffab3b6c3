"""Pods made of a template, as fast as the pace allows."""

from collections.abc import Mapping

from phalanx.minicluster.context import Context
from phalanx.minicluster.documents import Document, reference, uid_of
from phalanx.minicluster.errors import Rejected

NONE: Mapping[str, str] = {}


def pod(
    owner: Document,
    template: Document,
    name: str = "",
    generate: str = "",
    labels: Mapping[str, str] = NONE,
    annotations: Mapping[str, str] = NONE,
) -> Document:
    """A pod of that owner. Without a name it is given one that begins with ``generate``."""
    above = template.get("metadata") or {}
    meta = {
        **({"name": name} if name else {"generateName": generate}),
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(above.get("labels") or {}), **labels},
        "annotations": {**(above.get("annotations") or {}), **annotations},
        "ownerReferences": [reference(owner)],
    }
    meta = {key: value for key, value in meta.items() if value}
    if above.get("finalizers"):
        meta["finalizers"] = above["finalizers"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


def make(context: Context, owner: Document, wanted: list[Document], now: float) -> float | None:
    """Makes these pods, or the first of them; returns when it goes on."""
    if not wanted:
        return None
    pace, about = context.pace, (uid_of(owner), "pause")
    paused = context.memory.get(about, now)
    if paused > now:
        return float(paused)
    if pace.shuffled:
        wanted = context.draws.shuffled(wanted, "order", *about, context.store.version)
    batch = wanted[: pace.at_once] if pace.at_once else wanted
    for each in batch:
        create(context, each, now)
    if len(batch) == len(wanted):
        return None
    context.memory[about] = now + pace.pause
    return now + pace.pause


def create(context: Context, doc: Document, now: float) -> Document | None:
    """Makes an object; one whose name is taken is not made."""
    try:
        return context.store.create(doc, now)
    except Rejected as rejected:
        if rejected.reason != "AlreadyExists":
            raise
        return None
