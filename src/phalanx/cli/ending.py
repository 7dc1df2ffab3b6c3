"""Workloads that say of themselves that their work is over: nothing of them is a gang any more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from phalanx.cli.clusters import Look
from phalanx.cluster import Cluster
from phalanx.dialects.documents import Document
from phalanx.dialects.following import ours
from phalanx.kube import status
from phalanx.model.request import Request


@dataclass(frozen=True, slots=True)
class Ended:
    """``request``: what it asked for. ``how``: as it says itself, and since when."""

    request: Request
    how: str


def found(look: Look, docs: Iterable[Document]) -> list[Ended]:
    """Those of these objects that have ended, the newest first."""
    over = sorted((doc for doc in docs if ours.has_finished(doc)), key=_made, reverse=True)
    if not over:
        return []
    read = Cluster.from_manifests(look.objects).place([doc.value for doc in over], ways_out=False)
    how = {(doc.kind, doc.namespace, doc.name): _how(doc.value) for doc in over}
    return [
        Ended(one.request, how[named])
        for one in read
        if one.request is not None and (named := (one.kind, one.namespace, one.name)) in how
    ]


def _made(doc: Document) -> str:
    metadata = doc.value.get("metadata")
    return str(metadata.get("creationTimestamp") or "") if isinstance(metadata, Mapping) else ""


def _how(value: Mapping[Any, Any]) -> str:
    """Its last condition that holds: ``Failed since 2026-11-16T08:00:00Z: too many pods have failed``."""
    last = [one for one in status.conditions(value.get("status")) if one.get("status") == "True"][-1]
    since, message = last.get("lastTransitionTime"), str(last.get("message") or "").rstrip(".")
    return f"{last.get('type')}{f' since {since}' if since else ''}{f': {message}' if message else ''}"
