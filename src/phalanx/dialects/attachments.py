"""How many volumes of a CSI driver may be attached to a node: an amount of the node, of which pods with volumes take.

::

    CSINode n1: spec.drivers[0]: {name: disk.example.com, allocatable: {count: 25}}
    Node n1:    attachable-volumes-csi-disk.example.com: 25       a node without a limit has a million
    a pod with two claims takes 2 of it, whether or not others on its node have the same ones
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from phalanx.dialects import claims
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.nodes import Node
from phalanx.model.resources import NANO, Resources

PREFIX = "attachable-volumes-csi-"
_NO_LIMIT = 1_000_000

Limits = Mapping[str, int]  # volumes by driver


def limits(doc: Field) -> Limits:
    """What a CSINode says; drivers without a limit are not among them."""
    drivers = doc.at("spec", "drivers").items()
    found = [(at.at("name").text(""), at.at("allocatable", "count").integer(None)) for at in drivers]
    return {name: min(count, _NO_LIMIT) for name, count in found if name and count is not None}


def drivers(nodes: Iterable[Limits]) -> frozenset[str]:
    """Drivers that have a limit on some node: volumes of all others need not be counted."""
    return frozenset(name for one in nodes for name in one)


def with_limits(node: Node, own: Limits, limited: frozenset[str]) -> Node:
    """The node with the amounts of all drivers that have limits somewhere."""
    if not limited:
        return node
    amounts = {f"{PREFIX}{name}": own.get(name, _NO_LIMIT) * NANO for name in limited}
    return replace(node, allocatable=Resources.of({**dict(node.allocatable), **amounts}))


def of(pod: Field, namespace: str, around: Surroundings) -> Resources:
    """What a pod, or one that a template makes, takes: one for each of its claims, by the driver of its volume, or
    where it has none yet by that of its class."""
    if not around.limited:
        return Resources()
    found = {one.name: _driver(one, namespace, around) for one in claims.wanted(pod)}
    count = Counter(f"{PREFIX}{name}" for name in found.values() if name in around.limited)
    return Resources.of({name: number * NANO for name, number in count.items()})


def _driver(one: claims.Wanted, namespace: str, around: Surroundings) -> str:
    claim = one.find(namespace, around)
    known = None if claim is None else around.classes.get(claim.storage_class)
    if claim is None or claim.driver:
        return "" if claim is None else claim.driver
    return known.driver if known is not None else ""


def uncounted(amounts: Resources) -> Resources:
    """The amounts without volumes: of pods that a template makes each may have claims of its own."""
    return Resources.of({name: amount for name, amount in amounts if not name.startswith(PREFIX)})
