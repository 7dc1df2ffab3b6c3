"""Pods that were pinned to another node than the place they have.

In gate mode a scheduler that was killed may have writes on the wire that arrive after its successor has begun. The pod
cannot go anywhere else any more: its place follows it, or it is called back where its gang would break a level.
"""

from collections.abc import Iterator

from phalanx.engine.gangs import Gang
from phalanx.engine.slots import Slot
from phalanx.model.pods import Pod
from phalanx.model.request import Request
from phalanx.model.topology import Tree


def elsewhere(gang: Gang) -> Iterator[tuple[Slot, Pod]]:
    """Places whose pod waits for a node and may go to another one only."""
    for slot in gang.every_slot():
        pod = gang.pods.get(slot.pod) if slot.pod is not None else None
        if pod is not None and not pod.node and not pod.leaving and pod.pinned not in ("", slot.node):
            yield slot, pod


def keeps_levels(request: Request, slot: Slot, node: str, tree: Tree) -> bool:
    """Whether the place may be on this node instead: every level that its gang asks for is the same there.

    A rank, or an even spread, was given with the place: there another node is as good as another domain.
    """
    chosen, other = tree.index.get(slot.node), tree.index.get(node)
    if chosen is None or other is None:
        return chosen is None and other is None
    level = _narrowest(request, slot.pod_set, len(tree.paths[chosen]))
    return tree.paths[chosen][:level] == tree.paths[other][:level]


def _narrowest(request: Request, pod_set: str, host: int) -> int:
    """The narrowest level that anything around a pod set is bound to; 0 if nothing is."""
    sets = {pods.name: pods for pods in request.root.pod_sets()}
    around = [group for group in request.root.groups() if any(pods.name == pod_set for pods in group.pod_sets())]
    if any(group.ranks is not None or group.spread is not None for group in around):
        return host
    slices = [piece.level for piece in sets[pod_set].slices] if pod_set in sets else []
    return max([*slices, *(group.required or 0 for group in around)], default=0)
