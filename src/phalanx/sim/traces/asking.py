"""From a number of GPUs to a gang. Traces say how many GPUs a job had, and nothing of pods or nearness: a rule does."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from phalanx.model import sketch
from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.sim.submission import Submission
from phalanx.sim.worlds import Site

GPU = sketch.GPU


@dataclass(frozen=True, slots=True)
class Asking:
    """The rule, and the cluster it speaks of.

    Pods have up to ``pod_gpus`` GPUs. A gang of several pods must be in one domain of the narrowest level above the
    node up to ``required_up_to`` GPUs, and would like to be when it is larger.
    """

    site: Site
    pod_gpus: int = 8
    required_up_to: int = 32

    @property
    def topology(self) -> str | None:
        found = self.site.topology
        return None if found is None else found.name

    @property
    def leaf(self) -> int | None:
        """The narrowest level above the node; None where there is none."""
        found = self.site.topology
        return found.host - 1 if found is not None and found.host > 1 else None


def job(namespace: str, name: str, gpus: int, asking: Asking, priority: int = 0) -> Request:
    """A gang of so many GPUs."""
    root = _root(gpus, asking.pod_gpus, asking.leaf, asking.required_up_to)
    return Request("Job", namespace, name, root, topology=asking.topology, priority=priority)


@lru_cache(maxsize=4096)
def _root(gpus: int, pod_gpus: int, leaf: int | None, required_up_to: int) -> Group:
    """Kept, so that the many jobs of one size share one value."""
    members = _pod_sets(gpus, pod_gpus)
    if leaf is None or sum(member.count for member in members) < 2:
        return Group("job", members)
    near = gpus <= required_up_to
    return Group("job", members, required=leaf if near else None, preferred=None if near else leaf)


def _pod_sets(gpus: int, pod_gpus: int) -> tuple[PodSet, ...]:
    """Equal pods where that is possible, else full ones and one for the rest: 12 is 2 x 6, 13 is 8 and 5."""
    count = max(1, -(-gpus // pod_gpus))
    if gpus % count == 0:
        return (_pods("worker", count, gpus // count),)
    return (_pods("worker", gpus // pod_gpus, pod_gpus), _pods("rest", 1, gpus % pod_gpus))


def _pods(name: str, count: int, gpus: int) -> PodSet:
    return PodSet(name, count, count, PodShape(Resources.of({GPU: gpus * NANO, PODS: NANO})))


def from_zero(submissions: Iterable[Submission]) -> list[Submission]:
    """In order of time, the first at 0."""
    found = sorted(submissions, key=lambda one: one.at)
    return [replace(one, at=one.at - found[0].at) for one in found]
