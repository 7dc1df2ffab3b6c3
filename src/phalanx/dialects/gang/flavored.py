"""The flavor of a workload's queue: its pods go to the nodes of that flavor, and tolerate their taints."""

from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.queues import Flavor
from phalanx.order.flavors import inside

__all__ = ["inside", "of"]


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


def warn_of_no_topology(queue: str, at: Field, around: Surroundings) -> None:
    """For those who ask for a level in a queue none of whose flavors has a topology: Kueue admits none. (K-035)"""
    found = around.queues.named(queue)
    flavors = [around.queues.flavors[name] for name in found.flavors if name in around.queues.flavors] if found else []
    if flavors and all(flavor.topology is None for flavor in flavors):
        names = tuple(flavor.name for flavor in flavors)
        at.warn(
            f"a level is asked for, and no flavor of queue {queue!r} names a topology; Kueue would not admit it", names
        )
