"""Deployments: one ReplicaSet for each template; a new one grows while the old ones shrink.

Left out: progress deadlines, the limit of old ReplicaSets, proportional scaling within a rollout, minReadySeconds.
"""

from collections.abc import Iterable

from phalanx.minicluster import making
from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller, controlled_by
from phalanx.minicluster.controllers.replicaset import REPLICA_SET
from phalanx.minicluster.documents import (
    POD,
    Document,
    changed,
    fingerprint,
    is_leaving,
    key_of,
    kind_of,
    labels_of,
    merged,
    reference,
)
from phalanx.minicluster.store import DELETED, Event
from phalanx.model.objects import ObjectKey

DEPLOYMENT = ("apps", "Deployment")
HASH = "pod-template-hash"


def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
    """A pod that is gone matters to the Deployment above its ReplicaSet: it may have waited for it."""
    doc = event.document
    if kind_of(doc) == DEPLOYMENT:
        return (key_of(doc),)
    if kind_of(doc) == POD:
        above = controlled_by(doc, REPLICA_SET) if event.type == DELETED else None
        found = None if above is None else context.store.get(above)
    else:
        found = doc
    top = None if found is None else controlled_by(found, DEPLOYMENT)
    return () if top is None else (top,)


def reconcile(context: Context, key: ObjectKey, now: float) -> None:
    own = context.store.get(key)
    if own is None or is_leaving(own):
        return
    if not own["spec"].get("paused"):
        sets = context.children(own, REPLICA_SET)
        newest = fingerprint(own["spec"]["template"])
        old = [each for each in sets if labels_of(each).get(HASH) != newest]
        new = next((each for each in sets if each not in old), None)
        if new is None:
            new = making.create(context, _replica_set(own, newest), now)
        if new is not None and not _replaced_first(context, own, new, old, now):
            _roll(context, own, new, old, now)
    _report(context, own, now)


def _replaced_first(context: Context, own: Document, new: Document, old: list[Document], now: float) -> bool:
    """Strategy Recreate: what is old goes, all of it, before anything new comes."""
    if (own["spec"].get("strategy") or {}).get("type") != "Recreate":
        return False
    for each in old:
        _scale(context, each, 0, now)
    if not any(context.children(each, POD) for each in old):
        _scale(context, new, _replicas(own), now)
    return True


def _roll(context: Context, own: Document, new: Document, old: list[Document], now: float) -> None:
    surge, lacking = _limits(own)
    wanted = _replicas(own)
    others = sum(_replicas(each) for each in old)
    size = max(0, min(wanted, wanted + surge - others))
    size = max(size, min(_replicas(new), wanted))
    _scale(context, new, size, now)
    least = wanted - lacking
    spare = size + others - least - (size - min(size, _ready(new)))
    for each in old:  # those that are not ready first: nobody misses them
        cut = max(0, min(spare, _replicas(each) - _ready(each)))
        spare -= _shrink(context, each, cut, now)
    ready = _ready(new) + sum(map(_ready, old))
    for each in old:
        cut = max(0, min(ready - least, _ready(each), spare))
        done = _shrink(context, each, cut, now)
        ready, spare = ready - done, spare - done


def _limits(own: Document) -> tuple[int, int]:
    """How many pods there may be beyond those wanted, and how many of those wanted may lack."""
    said = (own["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = _share(said.get("maxSurge", "25%"), _replicas(own), up=True)
    lacking = _share(said.get("maxUnavailable", "25%"), _replicas(own), up=False)
    return surge, lacking if surge or lacking else 1


def _share(said: int | str, whole: int, up: bool) -> int:
    if isinstance(said, int):
        return said
    hundredths = int(said.rstrip("%")) * whole
    return -(-hundredths // 100) if up else hundredths // 100


def _shrink(context: Context, own: Document, by: int, now: float) -> int:
    current = context.store.get(key_of(own))
    if by and current is not None:
        _scale(context, current, _replicas(current) - by, now)
    return by


def _scale(context: Context, own: Document, to: int, now: float) -> None:
    context.write(own, lambda found: changed(found, "spec", "replicas", to=to), now)


def _replicas(own: Document) -> int:
    return int(own["spec"]["replicas"])


def _ready(own: Document) -> int:
    return int((own.get("status") or {}).get("readyReplicas", 0))


def _replica_set(own: Document, newest: str) -> Document:
    template = merged(own["spec"]["template"], "metadata", "labels", **{HASH: newest})
    selector = merged(own["spec"].get("selector") or {}, "matchLabels", **{HASH: newest})
    meta = {
        "name": f"{own['metadata']['name']}-{newest}",
        "namespace": own["metadata"]["namespace"],
        "labels": labels_of(template),
        "ownerReferences": [reference(own)],
    }
    spec = {"replicas": 0, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}


def _report(context: Context, own: Document, now: float) -> None:
    sets = context.children(own, REPLICA_SET)
    newest = fingerprint(own["spec"]["template"])
    counts = {
        "replicas": sum(int((each.get("status") or {}).get("replicas", 0)) for each in sets),
        "readyReplicas": sum(map(_ready, sets)),
        "updatedReplicas": sum(_replicas(each) for each in sets if labels_of(each).get(HASH) == newest),
    }
    context.write(own, lambda found: merged(found, "status", **counts), now)


CONTROLLERS = (Controller("Deployment", (DEPLOYMENT, REPLICA_SET, POD), concerned, reconcile),)
