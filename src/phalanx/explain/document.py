"""Decisions as JSON: dicts, lists, strings and numbers in the shape that the public page promises."""

from collections.abc import Iterable
from typing import Any

from phalanx.explain import tally, text
from phalanx.model.decision import Decided, Internal, Invalid, Placed, Waiting
from phalanx.model.mistakes import Mishap
from phalanx.model.problems import Place, Problem, shown
from phalanx.model.reasons import ClosedQueue, DomainEvidence, FullQuota, Reason, WayOut
from phalanx.model.request import PodSet, Request
from phalanx.model.resources import show

SCHEMA = "phalanx.dev/decisions/v1"


def decisions(entries: Iterable[tuple[Decided, tuple[WayOut, ...]]]) -> dict[str, Any]:
    """The whole document."""
    return {"schema": SCHEMA, "decisions": [decision(decided, ways) for decided, ways in entries]}


def decision(decided: Decided, ways_out: tuple[WayOut, ...] = ()) -> dict[str, Any]:
    """One decision; all of them have the same keys, so that a reader needs no cases."""
    request = None if isinstance(decided, Invalid) else decided.request
    asked = decided if isinstance(decided, (Invalid, Internal)) else decided.request
    unit = None if request is None else request.unit
    named = {"kind": asked.kind, "namespace": asked.namespace, "name": asked.name, "unit": unit}
    return {
        **named,
        "status": type(decided).__name__,
        **_counts(decided),
        **_where(decided),
        "proved": decided.proved if isinstance(decided, Waiting) else None,
        "evictions": [],
        "problems": [problem(one) for one in decided.problems] if isinstance(decided, Invalid) else [],
        "warnings": [problem(one) for one in decided.warnings],
        "message": text.line(decided, ways_out),
        "reason": reason(decided.reason) if isinstance(decided, Waiting) else None,
        "waysOut": [_way_out(one) for one in ways_out],
        "mistake": mistake(decided.mishap) if isinstance(decided, Internal) else None,
    }


def mistake(mishap: Mishap) -> dict[str, str]:
    return {"error": mishap.line, "traceback": mishap.trace}


def _way_out(one: WayOut) -> dict[str, Any]:
    edits = [{"object": edit.object._asdict(), "path": edit.path, "value": edit.value} for edit in one.edits]
    return {"change": one.change, "verified": one.verified, **({"edits": edits} if edits else {})}


def declared(request: Request) -> frozenset[str]:
    """The groups people know by name: all but a root that only ties the others together."""
    root = request.root
    plain = root.required is None and root.preferred is None and root.spread is None and root.ranks is None
    hidden = plain and not any(isinstance(member, PodSet) for member in root.members)
    return frozenset(group.name for group in root.groups() if not (hidden and group is root))


def problem(one: Problem) -> dict[str, Any]:
    told = {"path": one.path, "value": shown(one.value), "allowed": list(one.allowed), "message": one.message}
    return {**told, **place(one.place)}


def place(one: Place | None) -> dict[str, Any]:
    """In which file, document and line; nothing of it is known where no files were read."""
    if one is None:
        return {"file": None, "document": None, "line": None}
    return {"file": one.file, "document": one.document, "line": one.line}


def reason(why: Reason) -> dict[str, Any]:
    """A reason; ``causes`` are what stands in the way in the best domain."""
    best = why.best
    return {
        "type": str(why.type),
        "group": why.group,
        "level": why.level,
        "needed": why.needed,
        "best": None if best is None else {"domain": list(best.domain), "fits": best.fits},
        "causes": [] if best is None else _causes(best),
        "together": why.together,
        "nearest": [_evidence(seen) for seen in why.nearest],
        "parts": [reason(part) for part in why.parts],
        "wider": None if why.wider is None else {"level": why.wider_level, **_evidence(why.wider)},
        "freeElsewhere": why.free_elsewhere,
        "nodesSeen": why.nodes_seen,
        "podsSeen": why.pods_seen,
        "waiting": list(why.waiting),
        "helpedBy": list(why.helped_by),
        "queue": None if why.queue is None else _queue(why.queue),
        "quotas": [_quota(one) for one in why.quotas],
        "ahead": why.ahead,
        "beside": list(why.beside),
        "rules": list(why.rules),
    }


def _queue(one: ClosedQueue) -> dict[str, Any]:
    return {"name": one.name, "why": str(one.why), "known": list(one.known)}


def _quota(one: FullQuota) -> dict[str, Any]:
    """Amounts as Kubernetes writes them: people know ``64Gi`` and not its bytes."""
    amounts = {"asked": one.asked, "used": one.used, "limit": one.limit}
    shown = {name: show(one.resource, amount) for name, amount in amounts.items()}
    held = {"heldBy": list(one.held_by)}
    return {"queue": one.queue, "flavor": one.flavor, "resource": one.resource, **shown, **held}


def _counts(decided: Decided) -> dict[str, Any]:
    counts = tally.of(decided)
    return {"wanted": counts.wanted, "placed": counts.placed, "leftOut": dict(counts.left_out)}


def _where(decided: Decided) -> dict[str, Any]:
    if not isinstance(decided, Placed):
        return {"podSets": {}, "domains": {}, "ranks": {}, "levelReached": {}}
    known, placement = declared(decided.request), decided.placement
    return {
        "podSets": {name: dict(counts) for name, counts in placement.pod_sets.items()},
        "domains": {name: list(path) for name, path in placement.domains.items() if name in known},
        "ranks": {name: list(nodes) for name, nodes in placement.ranks.items()},
        "levelReached": {name: level for name, level in placement.level_reached.items() if name in known},
    }


def _evidence(seen: DomainEvidence) -> dict[str, Any]:
    return {
        "domain": list(seen.domain),
        "fits": seen.fits,
        "needed": seen.needed,
        "causes": _causes(seen),
        "limits": list(seen.limits),
    }


def _causes(seen: DomainEvidence) -> list[dict[str, Any]]:
    return [{"kind": one.kind, "name": one.name, "nodes": one.nodes} for one in seen.obstacles]
