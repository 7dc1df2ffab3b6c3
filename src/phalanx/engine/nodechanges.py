"""Which places are lost because their node changed, and which changes mean nothing for them.

Nodes change all the time: timestamps of feature discovery, soft taints of an autoscaler, amounts that no pod asks for.
A place stays what it was chosen as for as long as its node is there, is in the same domains as far as its gang asks for
any, admits its pod, and has room for it.
"""

from collections.abc import Iterator

from phalanx.engine.book import Book
from phalanx.engine.enforce import GATE
from phalanx.model.nodes import Node, PodShape
from phalanx.model.request import Request
from phalanx.model.topology import HOSTNAME
from phalanx.order.admission import asks_for_a_level
from phalanx.place import filters
from phalanx.place.nodetable import NodeTable

Spot = tuple[str, str]  # pod set and node


def lost(book: Book, request: Request, spots: set[Spot]) -> set[Spot]:
    """Those of these on nodes that changed since the last step and are no good for their pods any more.

    ``request``: as it is on the flavor that its gang has.
    """
    shapes = {pods.name: pods.shape for pods in request.root.pod_sets()}
    return {
        (pod_set, node)
        for pod_set, node in spots
        if node in book.changed and not (pod_set in shapes and _holds(book, request, shapes[pod_set], node))
    }


def _holds(book: Book, request: Request, shape: PodShape, name: str) -> bool:
    before, now = book.changed[name], book.nodes.get(name)
    if before is None or now is None:
        return False
    same_place = all(before.labels.get(label) == now.labels.get(label) for label in _labels(book, request, shape))
    return (
        same_place
        and _admits(now, shape)
        and not (before.allocatable != now.allocatable and _is_short(book, shape, name))
    )


def _labels(book: Book, request: Request, shape: PodShape) -> Iterator[str]:
    """Labels by which a place was chosen, and must stay as they were: of levels, and of rules between pods. Pods that
    we do not bind ourselves are pinned by all levels and by the name."""
    is_pinned = request.rules.enforcement == GATE
    yield from (rule.key for rule in (*shape.affinity, *shape.anti_affinity))
    yield from (rule.key for rule in shape.spread)
    if is_pinned:
        yield HOSTNAME
    if is_pinned or asks_for_a_level(request.root) or _is_spread_or_ranked(request):
        levels = (level.label for one in book.topologies if one.name == request.topology for level in one.levels)
        yield from (label for label in levels if label != HOSTNAME)


def _is_spread_or_ranked(request: Request) -> bool:
    return any(group.spread is not None or group.ranks is not None for group in request.root.groups())


def _admits(node: Node, shape: PodShape) -> bool:
    return bool(filters.admits(NodeTable([node]), shape.filter)[0])


def _is_short(book: Book, shape: PodShape, node: str) -> bool:
    """Whether less is there than is taken, of something that the pod asks for."""
    free = book.board.free([node])[node]
    return any(free.get(resource, 0) < 0 for resource, _ in shape.requests)
