"""The half of ``verify`` about single nodes and about pods among each other: rules 6 to 9 and 11.

Part of the independent reading of docs/semantics.md: used by ``verify`` alone, uses nothing of the solver.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import (
    HostPort,
    LabelSelector,
    Node,
    NodeFilter,
    PodShape,
    PodTerm,
    Requirement,
    RunningPod,
    SpreadRule,
    Term,
    Toleration,
)
from phalanx.model.request import PodSet

Nodes = Mapping[str, Node]
Spots = Mapping[str, int]  # node -> pods
At = Mapping[str, Mapping[str, int]]  # pod set -> node -> pods

_REPELS = ("NoSchedule", "NoExecute")
_WHOLE = re.compile(r"[+-]?[0-9]+")  # stricter than int(), which would read 1_0 as ten


def broken(nodes: Nodes, running: Sequence[RunningPod], sets: tuple[PodSet, ...], at: At) -> Iterator[str]:
    """Sentences about every rule between pods and nodes that the counts ``at`` break."""
    for pod_set in sets:
        spots = at.get(pod_set.name, {})
        yield from _filtered(nodes, pod_set, spots)
        for rule in pod_set.shape.spread:
            yield from _evenly(nodes, running, sets, at, pod_set, rule)
        for term in pod_set.shape.anti_affinity:
            yield from _apart(nodes, running, sets, at, pod_set, term)
    yield from _apart_from_running(nodes, running, sets, at)
    yield from _near(nodes, running, sets, at)
    yield from _ports(running, sets, at)


# ------------------------------------------------------------------------------------------- rule 9, node filter


def admits(wish: NodeFilter, node: Node) -> bool:
    """Whether the node passes selector, required affinity and taints."""
    return _chosen(wish, node) and _tolerated(wish.tolerations, node)


def _filtered(nodes: Nodes, pod_set: PodSet, spots: Spots) -> Iterator[str]:
    for name in spots:
        if not admits(pod_set.shape.filter, nodes[name]):
            yield f"pod set {pod_set.name!r} may not use node {name!r}"


def _chosen(wish: NodeFilter, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in wish.selector):
        return False
    return all(any(_term_holds(term, node) for term in entry) for entry in wish.required)


def _term_holds(term: Term, node: Node) -> bool:
    if not term.requirements:
        return False
    return all(_holds(need, {need.key: node.name} if need.on_name else node.labels) for need in term.requirements)


def _holds(need: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(need.key)
    match need.operator:
        case "In":
            return value is not None and value in need.values
        case "NotIn":
            return value is None or value not in need.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(need, value)
    raise Mistake(f"operator {need.operator!r} is none of the six")


def _compares(need: Requirement, value: str | None) -> bool:
    """Both sides as whole numbers; what is not one compares with nothing."""
    if value is None or not need.values or not (_WHOLE.fullmatch(value) and _WHOLE.fullmatch(need.values[0])):
        return False
    left, right = int(value), int(need.values[0])
    return left > right if need.operator == "Gt" else left < right


def _tolerated(tolerations: tuple[Toleration, ...], node: Node) -> bool:
    return all(
        any(toleration.tolerates(taint) for toleration in tolerations)
        for taint in node.taints
        if taint.effect in _REPELS
    )


# ----------------------------------------------------------------------------------------- which pods a rule means


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    if selector.matches_nothing:
        return False
    if any(labels.get(key) != value for key, value in selector.labels):
        return False
    return all(_holds(need, labels) for need in selector.requirements)


def _means(term: PodTerm, namespace: str, labels: Mapping[str, str]) -> bool:
    if term.namespaces is not None and namespace not in term.namespaces:
        return False
    return _selects(term.selector, labels)


def _means_shape(term: PodTerm, shape: PodShape) -> bool:
    return _means(term, shape.namespace, dict(shape.labels))


def _classes(nodes: Nodes, key: str, spots: Spots) -> Counter[str]:
    """Pods by the value of a node label; nodes without it are left out."""
    total: Counter[str] = Counter()
    for name, pods in spots.items():
        if key in nodes[name].labels:
            total[nodes[name].labels[key]] += pods
    return total


def _running_classes(nodes: Nodes, running: Sequence[RunningPod], term: PodTerm) -> Counter[str]:
    """The same for the running pods that a term means."""
    total: Counter[str] = Counter()
    for pod in running:
        if pod.node in nodes and _means(term, pod.namespace, pod.labels):
            total.update(_classes(nodes, term.key, {pod.node: 1}))
    return total


# -------------------------------------------------------------------------- rule 6, topologySpreadConstraints


def _evenly(
    nodes: Nodes, running: Sequence[RunningPod], sets: tuple[PodSet, ...], at: At, pod_set: PodSet, rule: SpreadRule
) -> Iterator[str]:
    spots = at.get(pod_set.name, {})
    if any(rule.key not in nodes[name].labels for name in spots):
        yield f"pod set {pod_set.name!r} spreads over {rule.key!r} and uses a node without that label"
        return
    eligible = {name: node for name, node in nodes.items() if _counts_for(pod_set.shape, rule, node)}
    height = Counter({node.labels[rule.key]: 0 for node in eligible.values()})
    for pod in running:
        same = pod.namespace == pod_set.shape.namespace and pod.node in eligible
        if same and _selects(rule.selector, pod.labels):
            height[eligible[pod.node].labels[rule.key]] += 1
    for other in sets:
        if other.shape.namespace == pod_set.shape.namespace and _selects(rule.selector, dict(other.shape.labels)):
            here = {name: pods for name, pods in at.get(other.name, {}).items() if name in eligible}
            height.update(_classes(nodes, rule.key, here))
    lowest = min(height.values()) if len(height) >= max(rule.min_domains, 1) else 0
    for value in _classes(nodes, rule.key, spots):
        if height[value] - lowest > rule.max_skew:
            yield f"pod set {pod_set.name!r} is more than {rule.max_skew} above the least used {rule.key!r}"
            return


def _counts_for(shape: PodShape, rule: SpreadRule, node: Node) -> bool:
    """Whether a node is eligible for a spread rule."""
    return (
        all(other.key in node.labels for other in shape.spread)
        and (not rule.honor_affinity or _chosen(shape.filter, node))
        and (not rule.honor_taints or _tolerated(shape.filter.tolerations, node))
    )


# ------------------------------------------------------------------------ rules 7 and 8, affinity between pods


def _apart(
    nodes: Nodes, running: Sequence[RunningPod], sets: tuple[PodSet, ...], at: At, pod_set: PodSet, term: PodTerm
) -> Iterator[str]:
    mine = _classes(nodes, term.key, at.get(pod_set.name, {}))
    if not mine:
        return
    if mine.keys() & _running_classes(nodes, running, term).keys():
        yield f"pod set {pod_set.name!r} sits beside a running pod it must avoid on {term.key!r}"
    for other in sets:
        if not _means_shape(term, other.shape):
            continue
        if other.name == pod_set.name:
            if max(mine.values()) > 1:
                yield f"two pods of set {pod_set.name!r} sit on one {term.key!r} and must not"
        elif mine.keys() & _classes(nodes, term.key, at.get(other.name, {})).keys():
            yield f"pod set {pod_set.name!r} sits beside {other.name!r}, which it must avoid on {term.key!r}"


def _apart_from_running(nodes: Nodes, running: Sequence[RunningPod], sets: tuple[PodSet, ...], at: At) -> Iterator[str]:
    for pod in running:
        for term in pod.anti_affinity:
            value = nodes[pod.node].labels.get(term.key) if pod.node in nodes else None
            if value is None:
                continue
            for other in sets:
                if _means_shape(term, other.shape) and value in _classes(nodes, term.key, at.get(other.name, {})):
                    yield f"running pod {pod.name!r} keeps {other.name!r} off its {term.key!r}"


def _near(nodes: Nodes, running: Sequence[RunningPod], sets: tuple[PodSet, ...], at: At) -> Iterator[str]:
    terms = dict.fromkeys(term for pod_set in sets for term in pod_set.shape.affinity)
    for term in terms:
        team = [pod_set for pod_set in sets if term in pod_set.shape.affinity]
        names = {pod_set.name for pod_set in team}
        if any(term.key not in nodes[name].labels for member in names for name in at.get(member, {})):
            yield f"a pod with affinity on {term.key!r} uses a node without that label"
            continue
        support = set(_running_classes(nodes, running, term))
        founders: set[str] = set()
        used: set[str] = set()
        for pod_set in sets:
            here = _classes(nodes, term.key, at.get(pod_set.name, {})).keys()
            matched = _means_shape(term, pod_set.shape)
            if pod_set.name in names:
                used |= here
                founders |= here if matched else set()
            elif matched:
                support |= here
        lonely = used - support
        alone = any(_means(term, pod.namespace, pod.labels) for pod in running)
        if lonely and (alone or len(lonely) > 1 or not lonely <= founders):
            yield f"{', '.join(sorted(names))}: no pod to be near to on {term.key!r} in {len(lonely)} places"


# ----------------------------------------------------------------------------------------- rule 11, host ports


def _ports(running: Sequence[RunningPod], sets: tuple[PodSet, ...], at: At) -> Iterator[str]:
    """On each node every pod brings its ports; no two pods may clash."""
    asked: dict[str, list[tuple[str, int, tuple[HostPort, ...]]]] = {}
    for pod_set in sets:
        for name, pods in at.get(pod_set.name, {}).items():
            if pod_set.shape.ports:
                asked.setdefault(name, []).append((pod_set.name, pods, pod_set.shape.ports))
    taken: dict[str, list[HostPort]] = {name: [] for name in asked}
    for pod in running:
        if pod.node in taken:
            taken[pod.node].extend(pod.ports)
    for name, wishes in asked.items():
        for title, pods, ports in wishes:
            if pods > 1 or _clash(ports, taken[name]):
                yield f"pod set {title!r} has a host port on node {name!r} that is taken"
            taken[name].extend(ports)


def _clash(first: Sequence[HostPort], second: Sequence[HostPort]) -> bool:
    return any(
        a.port == b.port and a.protocol == b.protocol and (a.ip == b.ip or "0.0.0.0" in (a.ip, b.ip))
        for a in first
        for b in second
    )
