"""KAI's Queue (``scheduling.run.ai/v2``): quota, limit and surplus weight of cpu, memory and gpu.

KAI counts cpu in thousandths, memory in millions of bytes, gpu in devices, and writes -1 for "unlimited". Its limit
is our ``nominal`` plus ``borrow``. Top-level queues share the whole cluster, so they stand under ``CLUSTER``.
"""

from fractions import Fraction
from typing import NamedTuple

from phalanx.dialects import podsets
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import identity
from phalanx.model import resources
from phalanx.model.problems import Problem
from phalanx.model.queues import Preemption, Queue, Quota

CLUSTER = Queue("kai/cluster")  # above KAI's top-level queues: without quotas, so as large as the cluster is

_UNITS = {  # KAI's name -> ours, and how much one of KAI's units is
    "cpu": ("cpu", Fraction(1, 1000)),
    "memory": ("memory", Fraction(10**6)),
    "gpu": ("nvidia.com/gpu", Fraction(1)),
}
_UNLIMITED = -1
_PRIORITY = 100  # what KAI takes where none is written; ours is counted from there
_PRIORITY_MAX = 2**31 - 1
_NOT_CONSIDERED = ("preemptMinRuntime", "reclaimMinRuntime")


def read(doc: Field) -> Queue:
    """A KAI Queue. It counts only if no Problem was noted on the way."""
    _, name = identity(doc)
    spec, pool = doc.at("spec"), doc.at("metadata", "labels", podsets.NODE_POOL)
    if pool.present:
        pool.warn("that the queue shares out only the nodes of this pool is not considered")
    spec.mapping()
    spec.typos("displayName", "parentQueue", "resources", "priority", *_NOT_CONSIDERED)
    for part in _NOT_CONSIDERED:
        if spec.at(part).present:
            spec.at(part).warn("how long pods are safe from eviction is not considered")
    return Queue(
        name=name,
        parent=_parent(spec.at("parentQueue")),
        weight=_weight(spec.at("resources")),
        quotas=_quotas(spec.at("resources")),
        preemption=Preemption(within="LowerPriority", reclaim="Any"),
        priority=spec.at("priority").integer(_PRIORITY, low=-_PRIORITY_MAX, high=_PRIORITY_MAX) - _PRIORITY,
    )


def _parent(at: Field) -> str:
    """An empty name is none."""
    return at.name(CLUSTER.name) if at.value != "" else CLUSTER.name


class _Share(NamedTuple):
    """``quota`` and ``limit`` of one resource in nano-units; None is unlimited."""

    quota: int | None
    limit: int | None


def _quotas(at: Field) -> tuple[Quota, ...]:
    at.mapping()
    at.typos(*_UNITS)
    if not at.present:
        at.warn("are not written, which is a limit of 0: the queue may use nothing; -1 is unlimited")
    _warn_of_limits(at)
    found = []
    for kind, (resource, unit) in _UNITS.items():
        share = _share(at.at(kind), unit)
        if share.limit is not None:
            nominal = share.limit if share.quota is None else min(share.quota, share.limit)
            found.append(Quota(None, resource, nominal, share.limit - nominal))
        elif share.quota is not None:
            found.append(Quota(None, resource, share.quota))
    return tuple(found)


def _warn_of_limits(at: Field) -> None:
    """Nothing written is 0, of the limit too: a trap that is worth a word, one for the queue."""
    unset = [kind for kind in _UNITS if not at.at(kind, "limit").present]
    if at.present and unset:
        at.warn(
            f"limit is not written for {', '.join(unset)}, which is a limit of 0: the queue may use none of it; "
            "-1 is unlimited"
        )


def _share(at: Field, unit: Fraction) -> _Share:
    at.mapping()
    at.typos("quota", "limit", "overQuotaWeight")
    return _Share(_amount(at.at("quota"), unit), _amount(at.at("limit"), unit))


def _weight(at: Field) -> int:
    """The gpu's weight: a queue has one here. Another weight for cpu or memory is told."""
    weights = {kind: _number(at.at(kind, "overQuotaWeight")) or 0 for kind in _UNITS}
    for kind in ("cpu", "memory"):
        if at.at(kind, "overQuotaWeight").present and weights[kind] != weights["gpu"]:
            at.at(kind, "overQuotaWeight").warn("differs from that of gpu, which counts for all resources of the queue")
    return weights["gpu"]


def _amount(at: Field, unit: Fraction) -> int | None:
    if isinstance(at.value, (int, float)) and at.value == _UNLIMITED:
        return None
    nano = _number(at) or 0
    return -(-nano * unit.numerator // unit.denominator)


def _number(at: Field) -> int | None:
    """Nano-units of a plain number; None where nothing, or nothing good, is written."""
    if not at.present:
        return None
    if isinstance(at.value, bool) or not isinstance(at.value, (int, float)):
        at.mistaken("is not a number")
        return None
    parsed = resources.parse(at.value, "")
    if isinstance(parsed, Problem):
        at.mistaken("is not an amount: 0 or more, or -1 for unlimited")
        return None
    return parsed
