"""What must be so in a world after every step, whatever went wrong, judged by the truth alone.

Each rule yields a sentence for every thing that breaks it. Those that need a memory are in ``windows``.

What is asked of the places of a gang (levels, ranks) is excused as long as one of its pods stands on a node whose
labels are not those that the engine had last been told when it chose the node, or were others since: it was moved, and
nobody could know.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import Node
from phalanx.model.pods import Pod
from phalanx.model.queues import Quota
from phalanx.model.request import Group, PodSet
from phalanx.sim import picture
from phalanx.sim.picture import Tallies
from phalanx.sim.truth import Gang, Truth


class Judge:
    """Judges one truth again and again; a gang only after something about it changed."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._judged: dict[str, tuple[int, int]] = {}

    def broken(self) -> Iterator[str]:
        truth = self._tallies.truth
        yield from capacity(truth)
        yield from quotas(truth)
        for name, gang in truth.active():
            stamp = self._tallies.stamp(name)
            if self._judged.get(name) != stamp:
                self._judged[name] = stamp
                yield from of_gang(truth, gang, self._tallies.of(name).standing)


def of_gang(truth: Truth, gang: Gang, standing: Sequence[Pod]) -> Iterator[str]:
    """What is wrong with the pods of one gang that stand."""
    yield from told_ranks(truth, standing)
    yield from admission(truth, gang, standing)
    if all(picture.as_told(truth, pod) for pod in standing):  # else excused: the engine knew the nodes differently
        yield from levels(truth, gang, standing)
        yield from ranks(truth, gang, standing)
        yield from slices(truth, gang, standing)
        yield from spreads(truth, gang, standing)


def capacity(truth: Truth) -> Iterator[str]:
    """No node has more than it can take."""
    taken = picture.used(truth)
    for name, node in truth.nodes.items():
        whole = dict(node.allocatable.items)
        for resource, amount in taken.get(name, {}).items():
            if amount > whole.get(resource, 0):
                yield f"node {name} has {amount} of {resource} in use, and only {whole.get(resource, 0)}"


def quotas(truth: Truth) -> Iterator[str]:
    """No queue uses more than its nominal quota. What is used below a queue is used by it. Pods on a node that is gone
    use nothing. Where a quota was lowered, those who had started may stay, but nobody starts on top of them."""
    used = usage(truth) if any(queue.quotas for queue in truth.queues.queues.values()) else {}
    for queue in truth.queues.queues.values():
        for quota in queue.quotas:
            amount = used.get((queue.name, quota.flavor, quota.resource), 0)
            if amount > quota.nominal and _started_under(truth, queue.name, quota):
                where = f"{quota.resource} of flavor {quota.flavor}"
                yield f"queue {queue.name} uses {amount} {where}, and may use {quota.nominal}"


def _started_under(truth: Truth, queue: str, quota: Quota) -> bool:
    """Whether one of those who use a quota was given its places when the engine knew the quota to be as it is."""
    for name, gang in truth.gangs.items():
        if queue not in lineage(truth, gang.request.queue) or not _is_known(gang, queue, quota):
            continue
        if any(_uses(truth, pod, quota) for pod in truth.members(name)):
            return True
    return False


def _is_known(gang: Gang, queue: str, quota: Quota) -> bool:
    """Whether the engine knew the quota as it is when the gang started; who never started by its word has no excuse."""
    known = gang.start.queues.queues.get(queue) if gang.start is not None else None
    return gang.start is None or (known is not None and quota in known.quotas)


def _uses(truth: Truth, pod: Pod, quota: Quota) -> bool:
    node = truth.nodes.get(pod.node)
    if node is None or not pod.holds or not pod.requests.get(quota.resource):
        return False
    return quota.flavor in flavors_of(truth, node)


def usage(truth: Truth) -> dict[tuple[str, str | None, str], int]:
    """What is used by queue, flavor (None: on any node) and resource."""
    found: dict[tuple[str, str | None, str], int] = {}
    queues = {name: lineage(truth, name) for name in {gang.request.queue for gang in truth.gangs.values()}}
    flavors = {name: flavors_of(truth, node) for name, node in truth.nodes.items()}
    for pod in truth.pods.values():
        if pod.gang is None or not pod.holds or pod.node not in truth.nodes:
            continue
        for queue in queues[truth.gangs[pod.gang].request.queue]:
            for flavor in flavors[pod.node]:
                for resource, amount in pod.requests:
                    found[queue, flavor, resource] = found.get((queue, flavor, resource), 0) + amount
    return found


def flavors_of(truth: Truth, node: Node) -> list[str | None]:
    """The flavors of a node; None, which is any node, among them."""
    named = truth.queues.flavors.values()
    return [None, *(one.name for one in named if picture.has_labels(node, dict(one.node_labels)))]


def lineage(truth: Truth, queue: str | None) -> list[str]:
    """A queue and all above it."""
    found: list[str] = []
    while queue is not None and queue not in found:
        found.append(queue)
        known = truth.queues.queues.get(queue)
        queue = known.parent if known is not None else None
    return found


def levels(truth: Truth, gang: Gang, standing: Sequence[Pod]) -> Iterator[str]:
    """All pods of a group stand in one domain of the level it requires."""
    for group in gang.request.root.groups():
        if group.required is not None:
            sets = {pods.name for pods in group.pod_sets()}
            mine = [pod for pod in standing if pod.pod_set in sets]
            domains = {_domain(truth, gang, pod, group.required) for pod in mine}
            if len(domains) > 1:
                places = sorted("/".join(domain) for domain in domains)
                yield f"group {group.name} of {gang.request.id} is in {', '.join(places)} of level {group.required}"


def _domain(truth: Truth, gang: Gang, pod: Pod, level: int) -> tuple[str, ...]:
    return picture.path(truth, gang.request, truth.nodes[pod.node])[:level]


def admission(truth: Truth, gang: Gang, standing: Sequence[Pod]) -> Iterator[str]:
    """A pod is on a node that would have it, as the engine had last been told of the node when it chose it."""
    shapes = {pods.name: pods.shape for pods in gang.request.root.pod_sets()}
    for pod in standing:
        node = truth.bound[pod.key].told if pod.key in truth.bound else None
        shape = shapes.get(pod.pod_set or "")
        if node is None or shape is None:
            continue
        for one in picture.keeps_off(node, shape.filter.tolerations):
            yield f"pod {pod.key} does not tolerate {one.key}, and was put on {node.name}"
        if not picture.has_labels(node, dict(shape.filter.selector)):
            yield f"pod {pod.key} selects other nodes than {node.name}"


def slices(truth: Truth, gang: Gang, standing: Sequence[Pod]) -> Iterator[str]:
    """Every domain holds whole slices. While some pods are away: no more slices have begun than there are."""
    for pods in gang.request.root.pod_sets():
        for one in pods.slices:
            begun = Counter(_domain(truth, gang, pod, one.level) for pod in standing if pod.pod_set == pods.name)
            if sum(-(-count // one.size) for count in begun.values()) > pods.count // one.size:
                found = ", ".join(f"{count} in {'/'.join(domain)}" for domain, count in sorted(begun.items()))
                yield f"slices of {one.size} of {pods.name} in {gang.request.id} are cut at level {one.level}: {found}"


def spreads(truth: Truth, gang: Gang, standing: Sequence[Pod]) -> Iterator[str]:
    """No domain has too many pods of a group at any time; enough domains have some as soon as all of them stand; and
    they are as even as was asked for when they were placed, for that changes with every node that comes or goes."""
    for group in gang.request.root.groups():
        if (rule := group.spread) is None:
            continue
        sets = {pods.name: pods.count for pods in group.pod_sets()}
        mine = [pod for pod in standing if pod.pod_set in sets]
        counts = Counter(_domain(truth, gang, pod, rule.level) for pod in mine)
        where = f"{group.name} of {gang.request.id} at level {rule.level}"
        if rule.max_per_domain is not None and max(counts.values(), default=0) > rule.max_per_domain:
            yield f"{where} has {max(counts.values())} pods in a domain, spread over at most {rule.max_per_domain}"
        if len(mine) < sum(sets.values()):
            continue
        if rule.min_domains is not None and len(counts) < rule.min_domains:
            yield f"{where} is spread over {len(counts)} domains, and not over {rule.min_domains}"
        if rule.max_skew is not None and _is_uneven(truth, gang, group, mine, counts):
            yield f"{where} is spread unevenly: {sorted(counts.values())}"


def _is_uneven(truth: Truth, gang: Gang, group: Group, pods: Sequence[Pod], counts: Counter[tuple[str, ...]]) -> bool:
    """Whether pods that were all placed by the start of their gang are less even than was asked for."""
    if gang.start is None or any(truth.bound[pod.key].step != gang.start.step for pod in pods):
        return False
    if group.spread is None or group.spread.max_skew is None:
        raise Mistake("a group that need not be even")
    most = group.spread.max_skew
    return all(_skew(counts, domains) > most for domains in _open_domains(truth, gang, group))


def _skew(counts: Counter[tuple[str, ...]], domains: set[tuple[str, ...]]) -> int:
    heights = [counts[domain] for domain in domains | counts.keys()]
    return max(heights) - min(heights)


def _open_domains(truth: Truth, gang: Gang, group: Group) -> Iterator[set[tuple[str, ...]]]:
    """For each flavor it may have been given, the domains with a node that would have had a pod of the group, as the
    engine knew the nodes when it placed it. For groups at the root: with nothing required around them."""
    if group.spread is None or gang.start is None:
        raise Mistake("a group that was never spread")
    filters = [pods.shape.filter for pods in group.pod_sets()]
    for labels in ({}, *(dict(one.node_labels) for one in gang.start.queues.flavors.values())):
        yield {
            picture.path(truth, gang.request, node)[: group.spread.level]
            for node in gang.start.nodes
            for one in filters
            if picture.has_labels(node, {**dict(one.selector), **labels})
            and not any(picture.keeps_off(node, one.tolerations))
        }


def told_ranks(truth: Truth, standing: Sequence[Pod]) -> Iterator[str]:
    """A pod is told the rank it has."""
    for pod in standing:
        told = truth.bound[pod.key].rank if pod.key in truth.bound else None
        if told is not None and pod.rank is not None and told != pod.rank:
            yield f"pod {pod.key} has rank {pod.rank} and was told {told}"


def ranks(truth: Truth, gang: Gang, standing: Sequence[Pod]) -> Iterator[str]:
    """Equal ranks of linked groups share a domain; ranks that were placed in one go and are to be consecutive walk
    through every domain once."""
    groups = {group.name: group for group in gang.request.root.groups()}
    linked = {group.ranks.with_same_rank_of for group in groups.values() if group.ranks is not None}
    for group in groups.values():
        if group.ranks is not None and group.ranks.with_same_rank_of is not None:
            yield from _same_rank(truth, gang, group, groups[group.ranks.with_same_rank_of], standing)
        elif group.ranks is not None and group.name not in linked and group.ranks.order == "Consecutive":
            yield from _consecutive(truth, gang, group, standing)


def _same_rank(truth: Truth, gang: Gang, one: Group, other: Group, standing: Sequence[Pod]) -> Iterator[str]:
    if one.ranks is None or one.ranks.level is None:
        raise Mistake("a group whose ranks go with nobody's")
    level = one.ranks.level
    mine, theirs = (_by_rank(group, standing) for group in (one, other))
    for rank in sorted(mine.keys() & theirs.keys()):
        if _domain(truth, gang, mine[rank], level) != _domain(truth, gang, theirs[rank], level):
            yield f"rank {rank} of {one.name} and of {other.name} in {gang.request.id} are apart at level {level}"


def _by_rank(group: Group, standing: Sequence[Pod]) -> dict[int, Pod]:
    sets = {pods.name for pods in group.pod_sets()}
    return {pod.rank: pod for pod in standing if pod.pod_set in sets and pod.rank is not None}


def _consecutive(truth: Truth, gang: Gang, group: Group, standing: Sequence[Pod]) -> Iterator[str]:
    ranked = _by_rank(group, standing)
    pods = [ranked[rank] for rank in sorted(ranked)]
    if not _in_one_go(truth, group, pods):
        return
    paths = [picture.path(truth, gang.request, truth.nodes[pod.node]) for pod in pods]
    for level in range(1, len(paths[0]) + 1):
        steps = sum(before[:level] != after[:level] for before, after in pairwise(paths))
        if steps + 1 > len({path[:level] for path in paths}):
            yield f"ranks of {group.name} in {gang.request.id} come back to a domain of level {level}"
            return


def _in_one_go(truth: Truth, group: Group, pods: list[Pod]) -> bool:
    """Whether all pods of the one set of a group were released by the same step."""
    sets = [member for member in group.members if isinstance(member, PodSet)]
    if len(sets) != 1 or len(group.members) != 1 or len(pods) != sets[0].count or sets[0].slices:
        return False
    return len({truth.bound[pod.key].step for pod in pods}) == 1
