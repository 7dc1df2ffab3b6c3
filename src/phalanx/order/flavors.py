"""Which flavors of nodes a request may be tried on, in which order, and what it looks like on one of them.

Kueue lets a queue have several groups of resources, each with flavors of its own: CPUs of one, GPUs of another. A pod
stands on one node, so it takes one flavor of each group at once, and these together are one Flavor here, called
``cpus+h100``. No object's name has a plus.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from phalanx.model.queues import Flavor, Queue, Queues
from phalanx.model.request import Group, PodSet, Request

AND = "+"
TRIED_MAX = 64  # combinations of flavors; a queue that has more is tried on the first ones
ANY_NODE: tuple[Flavor | None, ...] = (None,)
_KEEPS_OFF = ("NoSchedule", "NoExecute")


def flavors(queue: Queue | None, queues: Queues, need: Mapping[str, int] | None = None) -> tuple[Flavor | None, ...]:
    """What to try, first one first; None: any node.

    ``need``: what is asked for, so that a request takes no flavor of a group that has none of its resources (None: of
    every group). Empty: the queue has flavors and none of them is there, so nobody can start in it.
    """
    groups = _groups(queue, need)
    if not groups:
        return ANY_NODE
    there = [[queues.flavors[name] for name in group if name in queues.flavors] for group in groups]
    return tuple(_together(parts) for parts in islice(product(*there), TRIED_MAX))


def absent(queue: Queue, queues: Queues, need: Mapping[str, int]) -> tuple[str, ...]:
    """Flavors of which one would have to be there, and none is; empty: there is something to try."""
    groups = [group for group in _groups(queue, need) if not any(name in queues.flavors for name in group)]
    return groups[0] if groups else ()


def _groups(queue: Queue | None, need: Mapping[str, int] | None) -> list[tuple[str, ...]]:
    """Flavors by what they are for: one of each group is taken."""
    if queue is None or not queue.flavors:
        return []
    return _side_by_side(queue, need) if queue.only_listed else [queue.flavors]


def _side_by_side(queue: Queue, need: Mapping[str, int] | None) -> list[tuple[str, ...]]:
    """Flavors that list a resource in common are alternatives; those that do not are taken together.

    Only where unlisted resources are refused (Kueue). Elsewhere all flavors are alternatives, and a resource that one
    of them does not list is unlimited there.
    """
    groups: list[tuple[set[str], list[str]]] = []
    for flavor in queue.flavors:
        listed = {quota.resource for quota in queue.quotas if quota.flavor == flavor}
        for resources, names in groups:
            if resources & listed:
                resources |= listed
                names.append(flavor)
                break
        else:
            groups.append((listed, [flavor]))
    return [tuple(names) for resources, names in groups if need is None or any(need.get(name) for name in resources)]


def _together(parts: Sequence[Flavor]) -> Flavor:
    """Nodes that are of each of these flavors."""
    if len(parts) == 1:
        return parts[0]
    return Flavor(
        name=AND.join(part.name for part in parts),
        node_labels=tuple(sorted({pair for part in parts for pair in part.node_labels})),
        tolerations=tuple(dict.fromkeys(one for part in parts for one in part.tolerations)),
        topology=next((part.topology for part in parts if part.topology is not None), None),
        taints=tuple(dict.fromkeys(one for part in parts for one in part.taints)),
    )


def counts(listed: str | None, taken: str | None) -> bool:
    """Whether what is taken of a flavor (or of several together) counts in the quota that is listed for a flavor."""
    return listed is None or (taken is not None and listed in taken.split(AND))


# -- a request on a flavor ---------------------------------------------------------------------------------------


def applied(request: Request, flavor: Flavor | None) -> Request:
    """The request with pods that go to nodes of the flavor alone. Its topology stays: its levels are numbers of it.

    Applied twice it is as if it were once: a dialect may have done it where a queue has one flavor only.
    """
    return request if flavor is None else replace(request, root=inside(request.root, flavor))


def inside(group: Group, flavor: Flavor) -> Group:
    """The group with pods that go to nodes of the flavor alone."""
    members = tuple(inside(m, flavor) if isinstance(m, Group) else _pods(m, flavor) for m in group.members)
    return replace(group, members=members)


def _pods(pods: PodSet, flavor: Flavor) -> PodSet:
    """A label that the pods ask for with another value stays: then no node will do, and the reason says so."""
    before = pods.shape.filter
    selector = tuple(sorted({*before.selector, *flavor.node_labels}))
    tolerations = tuple(dict.fromkeys((*before.tolerations, *flavor.tolerations)))
    return replace(pods, shape=replace(pods.shape, filter=replace(before, selector=selector, tolerations=tolerations)))


def usable(request: Request, flavor: Flavor | None) -> bool:
    """Whether all pods tolerate the taints that the flavor says its nodes have, be they on the nodes yet or not."""
    taints = [taint for taint in flavor.taints if taint.effect in _KEEPS_OFF] if flavor is not None else []
    on_it = applied(request, flavor)
    return all(
        any(toleration.tolerates(taint) for toleration in pods.shape.filter.tolerations)
        for taint in taints
        for pods in on_it.root.pod_sets()
    )
