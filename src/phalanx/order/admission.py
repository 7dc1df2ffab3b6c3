"""Whether a queue is open to a request at all, before anybody asks what is free or what is used."""

from collections.abc import Iterator

from phalanx.model.matching import selects
from phalanx.model.queues import DEFAULT, EVERY_NAMESPACE, Queue, Queues
from phalanx.model.reasons import Closed, ClosedQueue
from phalanx.model.request import Group, Request
from phalanx.order.flavors import absent
from phalanx.order.quota import line, need


def closed(request: Request, queues: Queues) -> ClosedQueue | None:
    """What keeps the request out of its queue; None: it is open. (K-017, K-035, M-013)"""
    queue = queues.named(request.queue)
    if queue is None:
        return ClosedQueue(request.queue, Closed.MISSING, _known(request.namespace, queues))
    if not _is_open(queue, request.namespace, queues):
        return ClosedQueue(queue.name, Closed.NAMESPACE, _known(request.namespace, queues))
    held = _stopped(request, queues, "Hold", "HoldAndDrain")
    if held is not None:
        return ClosedQueue(held, Closed.HELD)
    if asks_for_a_level(request.root) and _is_flat(queue, queues):
        return ClosedQueue(queue.name, Closed.NO_TOPOLOGY)
    missing = absent(queue, queues, need(request)) if queue.flavors else ()
    return ClosedQueue(queue.name, Closed.NO_FLAVOR, missing) if missing else None


def is_drained(request: Request, queues: Queues) -> bool:
    """Whether those who run in a queue have to leave."""
    return _stopped(request, queues, "HoldAndDrain") is not None


def _stopped(request: Request, queues: Queues, *stops: str) -> str | None:
    """The queue that is stopped so: by the name its namespace has for it, itself, or the nearest above it.

    Who stops a parent stops all below.
    """
    local = queues.local_names.get((request.namespace, request.local_queue or ""))
    if local is not None and local.stop in stops:
        return local.name
    found: Iterator[Queue | None] = (queues.named(one) for one in line(request.queue, queues))
    return next((queue.name for queue in found if queue is not None and queue.stop in stops), None)


def _is_open(queue: Queue, namespace: str, queues: Queues) -> bool:
    """Whether a namespace may use a queue. One whose labels nobody told us may not, unless every one may."""
    labels = queues.namespaces.get(namespace)
    wanted = queue.namespace_selector
    return wanted == EVERY_NAMESPACE or (labels is not None and selects(wanted, labels))


def _known(namespace: str, queues: Queues) -> tuple[str, ...]:
    """Names of queues that are open to a namespace."""
    every = {DEFAULT, *queues.queues}
    own = {name: queues.named(name) for name in every}
    own |= {name: queues.local(space, name) for space, name in queues.local_names if space == namespace}
    return tuple(sorted(name for name, one in own.items() if one is not None and _is_open(one, namespace, queues)))


def _is_flat(queue: Queue, queues: Queues) -> bool:
    """Whether no flavor of it has a topology.

    Only where unlisted resources are refused (Kueue), whose flavors say which nodes have levels. Elsewhere a flavor
    need not name a topology: that of the request counts.
    """
    there = [queues.flavors[name] for name in queue.flavors if name in queues.flavors]
    return queue.only_listed and bool(there) and all(flavor.topology is None for flavor in there)


def asks_for_a_level(root: Group) -> bool:
    """Whether a group or a slice of it wants to be in one domain of something."""
    wished = any(group.required is not None or group.preferred is not None for group in root.groups())
    return wished or any(pods.slices for pods in root.pod_sets())
