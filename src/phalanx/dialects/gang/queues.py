"""Our own Queue and Flavor (``phalanx.dev/v1alpha1``): strict, so that a slip of the finger is told at once."""

from phalanx.dialects import amounts, nodefilter, podrules
from phalanx.dialects.clusterstate import is_label_key
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import identity
from phalanx.model import resources
from phalanx.model.nodes import LabelSelector
from phalanx.model.queues import (
    DEFAULT,
    EVERY_NAMESPACE,
    ORDERS,
    PREEMPTION,
    WHEN_BLOCKED,
    Flavor,
    Preemption,
    Queue,
    Quota,
)
from phalanx.model.resources import NANO

_TOP = ("apiVersion", "kind", "metadata", "spec", "status")
_FIELDS = ("parent", "namespaceSelector", "order", "whenBlocked", "weight", "quota", "preemption")


def queue(doc: Field) -> Queue:
    """A Queue. It counts only if no Problem was noted on the way."""
    _, name = identity(doc)
    doc.known(*_TOP)
    spec = doc.at("spec")
    spec.known(*_FIELDS)
    return Queue(
        name=name,
        parent=_parent(spec.at("parent"), name),
        namespace_selector=_namespaces(spec.at("namespaceSelector"), name),
        order=spec.at("order").choice("Priority", *ORDERS),
        when_blocked=spec.at("whenBlocked").choice("BestEffort", *WHEN_BLOCKED),
        weight=_weight(spec.at("weight")),
        quotas=_quotas(spec),
        preemption=_preemption(spec.at("preemption")),
    )


def _parent(at: Field, name: str) -> str | None:
    parent = at.name(None)
    if parent is not None and parent == name:
        at.mistaken("is the queue itself; a queue is not its own parent")
    return parent


def _namespaces(at: Field, queue: str) -> LabelSelector:
    """Absent: every namespace, and that is said: for Kueue it is none. Everybody is in ``default`` anyway."""
    if not at.present and queue != DEFAULT:
        at.warn("absent, so every namespace may use this queue; write {} to say so on purpose, or choose namespaces")
    if not at.known("matchLabels", "matchExpressions"):
        return EVERY_NAMESPACE
    return podrules.selector(at)


def _weight(at: Field) -> int:
    weight = amounts.quantity(at)
    if weight == 0:
        at.mistaken("is no weight; weights are greater than 0")
    return weight or NANO


def _preemption(at: Field) -> Preemption:
    if not at.known("within", "reclaim"):
        return Preemption()
    return Preemption(*(at.at(part).choice("Never", *PREEMPTION) for part in ("within", "reclaim")))


# -- quotas ------------------------------------------------------------------------------------------------------


def _quotas(spec: Field) -> tuple[Quota, ...]:
    found: list[Quota] = []
    for entry in spec.at("quota").items():
        entry.known("flavor", "resources")
        flavor = entry.at("flavor").name(None)
        listed = entry.at("resources").items()
        if not listed:
            entry.at("resources").wrong("a quota lists at least one resource")
        for resource in listed:
            _add(found, resource, flavor)
            _check_borrowing(resource, spec.at("parent").present)
    return tuple(found)


def _add(found: list[Quota], at: Field, flavor: str | None) -> None:
    quota = _quota(at, flavor)
    if quota is None:
        return
    if any((one.flavor, one.resource) == (flavor, quota.resource) for one in found):
        at.at("name").mistaken(f"has a quota {'on any node' if flavor is None else f'in flavor {flavor!r}'} already")
    found.append(quota)


def _quota(at: Field, flavor: str | None) -> Quota | None:
    at.known("name", "nominal", "borrow", "lend")
    name = at.at("name").text("")
    if not at.at("name").present:
        at.at("name").wrong("a quota needs the name of a resource, such as nvidia.com/gpu")
    if not at.at("nominal").present:
        at.at("nominal").wrong("a quota needs nominal, the amount the queue may always use")
    nominal, borrow, lend = (amounts.quantity(at.at(part)) for part in ("nominal", "borrow", "lend"))
    if nominal is None or not name:
        return None
    if lend is not None and lend > nominal:
        at.at("lend").mistaken(f"is more than nominal, {resources.show(name, nominal)}; a queue lends its own only")
    return Quota(flavor, name, nominal, borrow, lend)


def _check_borrowing(at: Field, has_parent: bool) -> None:
    for part in ("borrow", "lend"):
        if at.at(part).present and not has_parent:
            at.at(part).warn("changes nothing: a queue without a parent has nobody to lend to or borrow from")


# -- flavors -----------------------------------------------------------------------------------------------------


def flavor(doc: Field) -> Flavor:
    """A Flavor. With a topology it names at least one node label, or it would claim every node. (K-019, K-027)"""
    _, name = identity(doc)
    doc.known(*_TOP)
    spec = doc.at("spec")
    spec.known("nodeLabels", "tolerations", "topologyName")
    labels = spec.at("nodeLabels").pairs()
    for key, value in spec.at("nodeLabels").entries():
        if not is_label_key(key):
            value.wrong(f"{key[:80]!r} is not the key of a label")
    topology = spec.at("topologyName").name(None)
    if spec.at("topologyName").present and not labels:
        spec.at("nodeLabels").wrong("a flavor with a topology needs at least one node label")
    tolerations = [nodefilter.toleration(t) for t in spec.at("tolerations").items()]
    return Flavor(name, labels, tuple(t for t in tolerations if t is not None), topology)
