"""What can be counted from the truth of a world: by node, by gang, by place. The engine has its own way of counting."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from phalanx.model.nodes import Node, Taint, Toleration
from phalanx.model.pods import Pod
from phalanx.model.request import Request
from phalanx.model.topology import HOSTNAME
from phalanx.sim.minimum import whole
from phalanx.sim.truth import Truth

Path = tuple[str, ...]
Amounts = dict[str, dict[str, int]]  # node -> resource -> nano-units


def stands(truth: Truth, pod: Pod) -> bool:
    """Whether a pod does its part on a node: bound, on a node that is there, not ended and not told to leave."""
    return pod.holds and not pod.leaving and pod.node in truth.nodes


@dataclass(frozen=True, slots=True)
class Tally:
    """One gang, counted. ``counts``: pods of each set that stand or have succeeded; ``whole``: they are its minimum."""

    standing: tuple[Pod, ...]
    counts: Counter[str]
    succeeded: int
    whole: bool


def tally(truth: Truth, gang: str) -> Tally:
    members = truth.members(gang)
    standing = tuple(pod for pod in members if stands(truth, pod))
    succeeded = [pod for pod in members if pod.phase == "Succeeded"]
    counts = Counter(pod.pod_set or "" for pod in (*standing, *succeeded))
    return Tally(standing, counts, len(succeeded), whole(truth.gangs[gang].request, counts))


class Tallies:
    """Tallies of all gangs, each counted again only after a change to it or to a node."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self._known: dict[str, tuple[tuple[int, int], Tally]] = {}

    def of(self, gang: str) -> Tally:
        stamp = self.stamp(gang)
        known = self._known.get(gang)
        if known is None or known[0] != stamp:
            known = self._known[gang] = (stamp, tally(self.truth, gang))
        return known[1]

    def stamp(self, gang: str) -> tuple[int, int]:
        """Differs whenever something about the gang may."""
        return self.truth.gangs[gang].version, self.truth.nodes_version


def used(truth: Truth) -> Amounts:
    """What the pods of each node take from it, until they are gone or have ended."""
    found: Amounts = {}
    for pod in truth.pods.values():
        if pod.holds:
            amounts = found.setdefault(pod.node, {})
            for resource, amount in pod.requests:
                amounts[resource] = amounts.get(resource, 0) + amount
    return found


def free(truth: Truth) -> Amounts:
    taken = used(truth)
    return {
        name: {resource: amount - taken.get(name, {}).get(resource, 0) for resource, amount in node.allocatable}
        for name, node in truth.nodes.items()
    }


def path(truth: Truth, request: Request, node: Node) -> Path:
    """Where a node stands in the topology of a request: values of the labels, then its name. A node without one of the
    labels is alone in the world."""
    topology = truth.topologies.get(request.topology or "")
    keys = [level.label for level in topology.levels if level.label != HOSTNAME] if topology else []
    if any(key not in node.labels for key in keys):
        return ("\0" + node.name,) * (len(keys) + 1)
    return (*(node.labels[key] for key in keys), node.name)


def as_told(truth: Truth, pod: Pod) -> bool:
    """Whether the node of a bound pod has the labels that the engine knew when it chose it, and had no others since:
    who came while it stood elsewhere was put where it was not in the way, and it is moved back beside them."""
    how = truth.bound.get(pod.key)
    if how is None or how.told is None or how.moves != truth.moves.get(pod.node, 0):
        return False
    return how.told.labels == truth.nodes[pod.node].labels


def keeps_off(node: Node, tolerations: Sequence[Toleration]) -> Iterator[Taint]:
    """The taints of a node that keep a pod with these tolerations from it."""
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not any(_tolerates(one, taint) for one in tolerations):
            yield taint


def _tolerates(one: Toleration, taint: Taint) -> bool:
    if one.effect not in ("", taint.effect) or one.key not in ("", taint.key):
        return False
    return one.operator == "Exists" or one.value == taint.value


def has_labels(node: Node, wanted: Mapping[str, str]) -> bool:
    labels = {**node.labels, HOSTNAME: node.name}
    return all(labels.get(name) == value for name, value in wanted.items())
