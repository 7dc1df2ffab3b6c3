"""Who uses most of a quota."""

from collections.abc import Iterable
from heapq import nsmallest

from phalanx.model.queues import Queues
from phalanx.order.flavors import counts
from phalanx.order.quota import Short, line
from phalanx.order.usage import Held

TOLD_MAX = 3


def most(short: Short, held: Iterable[tuple[str, Held]], queues: Queues) -> tuple[str, ...]:
    """The ids of those who use most of what is short, the largest first. ``held``: by id."""
    below: dict[str, bool] = {}  # queues, and whether what they use counts here
    found: list[tuple[int, str]] = []
    for name, (queue, flavor, amounts) in held:
        if queue not in below:
            below[queue] = short.queue in line(queue, queues)
        amount = amounts.get(short.resource, 0)
        if amount and below[queue] and counts(short.flavor, flavor):
            found.append((-amount, name))
    return tuple(name for _, name in nsmallest(TOLD_MAX, found))
