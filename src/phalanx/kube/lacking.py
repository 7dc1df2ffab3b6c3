"""What is said at the start about a cluster that has no Node, no Topology or no Queue: nothing else would tell why."""

from collections.abc import Iterator, Mapping

from phalanx.dialects import kindtable
from phalanx.dialects.kindtable import Kind, Purpose

_TOPOLOGIES = tuple(row.key for row in kindtable.of_purpose(Purpose.CLUSTER) if row.kind == "Topology")
_QUEUES = tuple(row.key for row in kindtable.of_purpose(Purpose.CLUSTER) if row.kind in ("Queue", "ClusterQueue"))
_OURS = (kindtable.OURS, "Gang")


def told(counts: Mapping[Kind, int]) -> Iterator[str]:
    """A line for each of them. ``counts``: how many objects there are of every kind that is followed."""
    if not counts.get(kindtable.NODE):
        yield "there is no Node: nothing can be placed until one comes"
    if _OURS not in counts:
        yield "Gangs are not followed: kubectl apply -f deploy/crds, and a role that may read them (deploy/rbac)"
    if not any(counts.get(kind) for kind in _TOPOLOGIES):
        yield (
            "there is no Topology: gangs that ask for a level such as a rack wait until there is one "
            "(deploy/samples/topology.yaml); all others are placed node by node"
        )
    if not any(counts.get(kind) for kind in _QUEUES):
        yield "there is no Queue: all gangs are in the queue default, which has no limit (deploy/samples/queue.yaml)"
