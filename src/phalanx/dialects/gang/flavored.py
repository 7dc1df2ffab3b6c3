"""The flavor of a workload's queue: its pods go to the nodes of that flavor, and tolerate their taints."""

from dataclasses import replace

from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.queues import Flavor
from phalanx.model.request import Group, PodSet


def of(queue: str, at: Field, around: Surroundings) -> Flavor | None:
    """The only flavor of a queue. Several are not chosen among here: that is a question of quota, and is told.

    ``at``: where the queue is named. (K-007, K-019)
    """
    found = around.queues.named(queue)
    flavors = [around.queues.flavors[name] for name in found.flavors if name in around.queues.flavors] if found else []
    if len(flavors) > 1:
        names = tuple(flavor.name for flavor in flavors)
        at.warn(f"queue {queue!r} has flavors {', '.join(names)}; none is chosen yet, all nodes count", names)
    return flavors[0] if len(flavors) == 1 else None


def inside(group: Group, flavor: Flavor) -> Group:
    """The group with pods that go to nodes of the flavor alone."""
    members = tuple(inside(m, flavor) if isinstance(m, Group) else _pods(m, flavor) for m in group.members)
    return replace(group, members=members)


def _pods(pods: PodSet, flavor: Flavor) -> PodSet:
    """A label that the pods ask for with another value stays: then no node will do, and the reason says so."""
    before = pods.shape.filter
    selector = tuple(sorted({*before.selector, *flavor.node_labels}))
    tolerations = tuple(dict.fromkeys((*before.tolerations, *flavor.tolerations)))
    return replace(pods, shape=replace(pods.shape, filter=replace(before, selector=selector, tolerations=tolerations)))
