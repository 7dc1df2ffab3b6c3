"""May they: what a request takes of its queue's quota, and what is short.

All amounts are nano-units. Nominal is the limit; borrowing and lending are not built yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from phalanx.model.queues import Queue, Queues
from phalanx.model.request import PodSet, Request
from phalanx.model.resources import PODS
from phalanx.order.flavors import counts as counts_in
from phalanx.order.least import least

Used = Mapping[tuple[str | None, str], int]  # by flavor (None: it went to any node) and resource


class Counts(Enum):
    FULL = "every pod that is wanted"
    MINIMUM = "the pods it cannot start without"


@dataclass(frozen=True, slots=True)
class Short:
    """A quota that does not hold what is needed in addition to what is used. ``flavor`` None: on any node."""

    resource: str
    flavor: str | None
    limit: int
    used: int
    needed: int
    queue: str

    @property
    def for_good(self) -> bool:
        """Whether all of the quota would not do, be it used by nobody."""
        return self.needed > self.limit


# -- what is needed ----------------------------------------------------------------------------------------------


def need(request: Request, counts: Counts = Counts.FULL) -> Mapping[str, int]:
    """Amounts by resource. MINIMUM is a bound where some members may stay out (``least``): what is booked in the end
    are the pods that were placed (``amounts``)."""
    if counts is Counts.MINIMUM:
        return least(request.root, _minimum)
    return amounts(request, {pods.name: pods.count for pods in request.root.pod_sets()})


def amounts(request: Request, pods: Mapping[str, int]) -> Mapping[str, int]:
    """What so many pods of each pod set take together; a set that is not named has none."""
    total: dict[str, int] = {}
    for one in request.root.pod_sets():
        for name, amount in one.shape.requests.times(pods.get(one.name, 0)):
            total[name] = total.get(name, 0) + amount
    return total


def _minimum(pods: PodSet) -> Mapping[str, int]:
    return dict(pods.shape.requests.times(pods.min_count).items)


# -- what is short -----------------------------------------------------------------------------------------------


def short(queue: Queue | None, flavor: str | None, used: Used, need: Mapping[str, int]) -> tuple[Short, ...]:
    """What one queue lacks for a request that goes to a flavor; empty: it may. A queue that is not there has no limits.

    With nothing ``used`` it tells what can never start. Of a resource of which nothing is needed none is short, even
    if more is used than there is.
    """
    if queue is None:
        return ()
    asked = {name: amount for name, amount in need.items() if amount}
    limits = [quota for quota in queue.quotas if counts_in(quota.flavor, flavor) and quota.resource in asked]
    judged = [
        Short(
            one.resource,
            one.flavor,
            one.nominal,
            _in_use(used, one.flavor, one.resource),
            asked[one.resource],
            queue.name,
        )
        for one in limits
    ]
    over = tuple(one for one in judged if one.used + one.needed > one.limit)
    return over + (_unlisted(queue, flavor, used, asked) if queue.only_listed else ())


def _in_use(used: Used, listed: str | None, resource: str) -> int:
    return sum(amount for (flavor, name), amount in used.items() if name == resource and counts_in(listed, flavor))


def _unlisted(queue: Queue, flavor: str | None, used: Used, asked: Mapping[str, int]) -> tuple[Short, ...]:
    """Every pod counts as one of ``pods``; a queue that does not list these does not count them. (K-112)"""
    listed = {quota.resource for quota in queue.quotas if counts_in(quota.flavor, flavor)} | {PODS}
    missing = (name for name in asked if name not in listed)
    return tuple(Short(name, flavor, 0, _in_use(used, flavor, name), asked[name], queue.name) for name in missing)


# -- queues above ------------------------------------------------------------------------------------------------


def line(name: str, queues: Queues) -> tuple[str, ...]:
    """The queue and those above it, nearest first. A circle is walked once."""
    found: list[str] = []
    at: str | None = name
    while at is not None and at not in found:
        found.append(at)
        queue = queues.named(at)
        at = queue.parent if queue is not None else None
    return tuple(found)


def over(
    name: str, flavor: str | None, used: Mapping[str, Used], need: Mapping[str, int], queues: Queues
) -> tuple[Short, ...]:
    """What is short in the queue and in those above it. ``used``: by queue, each with what is below it.

    A queue above limits what it has quotas for, and nothing else.
    """
    own, *above = line(name, queues)
    found = [*short(queues.named(own), flavor, used.get(own, {}), need)]
    for higher in above:
        queue = queues.named(higher)
        if queue is not None:
            found += short(replace(queue, only_listed=False), flavor, used.get(higher, {}), need)
    return tuple(found)
