"""How a placement is made true: bind the pods ourselves, or take their gates off and let another scheduler bind them.

Placing does not know which follows. Never both in one gang: it is its rule from the beginning (X-01).
"""

from phalanx.engine.gangs import Gang
from phalanx.engine.slots import Slot
from phalanx.model.effects import Bind, Effect, Evict, Suspend, Ungate
from phalanx.model.nodes import Node, Pairs, Toleration
from phalanx.model.pods import Pod
from phalanx.model.topology import HOSTNAME, Tree

GATE = "Gate"


def is_ahead(gang: Gang) -> bool:
    """Whether its places are found before its pods exist: an owner makes them once it is resumed."""
    return gang.request.rules.enforcement == GATE and gang.owner is not None and not gang.living()


def released(
    gang: Gang, pod: Pod, slot: Slot, rank: int | None, tree: Tree, tolerations: tuple[Toleration, ...]
) -> Effect:
    """The effect that gives a pod its place, with its domain and rank beside it. (KA-004, KA-056, K-062)"""
    inside = slot.node in tree.index and bool(tree.inside[tree.index[slot.node]])
    domain = "/".join(tree.paths[tree.index[slot.node]][:-1]) if inside else ""
    least = gang.least_of(slot.pod_set)
    if gang.request.rules.enforcement == GATE:
        selector = _selector(tree, gang.nodes[slot.node])
        return Ungate(gang.id, pod.key, slot.node, selector, domain, rank, tolerations, least)
    return Bind(gang.id, pod.key, slot.node, domain, rank, tolerations, least)


def _selector(tree: Tree, node: Node) -> Pairs:
    """The labels of a node for all levels down to the hostname, as Kueue's pods get them. (K-046, X-01)

    A node outside the topology lacks some, and its hostname may be another than its name.
    """
    levels = [level.label for level in tree.topology.levels]
    found = {label: node.labels[label] for label in levels if label in node.labels}
    return tuple(sorted({HOSTNAME: node.labels.get(HOSTNAME, node.name), **found}.items()))


def is_released(gang: Gang, pod: Pod) -> bool:
    """Whether the pod needs nothing more from us: it has its node, or its gate is off."""
    return bool(pod.node) or (gang.request.rules.enforcement == GATE and not pod.gated)


def evicted(gang: Gang, cause: str, now: float, patience: float) -> list[Effect]:
    """The effects that take a gang off its nodes. What makes its pods, and can be suspended, deletes them itself
    (K-068); ``patience``: so long it may take until it is seen to be.

    A pod whose bind is under way goes too: nobody can tell whether it will be bound in the end.
    """
    leaving = [pod for pod in gang.pods.values() if (pod.holds or pod.key in gang.asked) and not pod.leaving]
    if gang.request.rules.enforcement == GATE and gang.owner is not None:
        return [Suspend(gang.id, gang.owner, cause)]
    if gang.hold.is_whole or not leaving:
        return []
    if gang.hold.is_of_use(now, patience):
        return [Suspend(gang.id, one.object, cause) for one in gang.hold.ask(now)]
    return [Evict(gang.id, pod.key, cause) for pod in sorted(leaving, key=lambda pod: pod.key.name)]
