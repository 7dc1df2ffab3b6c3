"""The oracle's rules about single nodes and about pods among each other: 6 to 9 and 11 of docs/semantics.md."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from phalanx.model.nodes import HostPort, LabelSelector, Node, NodeFilter, PodShape, PodTerm, Requirement, RunningPod
from phalanx.model.snapshot import Snapshot

if TYPE_CHECKING:
    from phalanx.testing.oracle import Board

Class = tuple[str, str]  # a node label and one of its values


def add_rules(board: "Board") -> None:
    """Puts every rule between pods into the model."""
    for s, pod_set in enumerate(board.sets):
        for term in pod_set.shape.anti_affinity:
            _keep_apart(board, s, term)
        _even(board, s)
    for term in dict.fromkeys(term for pod_set in board.sets for term in pod_set.shape.affinity):
        _keep_near(board, term)
    _ports(board)


# --------------------------------------------------------------------------------------------- node by node


def usable(shape: PodShape, node: Node, snapshot: Snapshot) -> bool:
    """Whether one pod of the shape could stand on the node, as far as filters, keys and running pods say."""
    keys = {rule.key for rule in shape.spread} | {term.key for term in shape.affinity}
    return keys <= node.labels.keys() and admits(shape.filter, node) and not _repelled(shape, node, snapshot)


def per_node(shape: PodShape, node: Node) -> int:
    """Pods of the shape that one node can take at most for its ports; anti-affinity has rules of its own."""
    return 1 if shape.ports else 10**9


def _repelled(shape: PodShape, node: Node, snapshot: Snapshot) -> bool:
    """By a running pod: through its own anti-affinity, through ours, or because it has our port."""
    labels = {other.name: other.labels for other in snapshot.nodes}
    for pod in snapshot.pods:
        theirs = labels.get(pod.node, {})
        for term in pod.anti_affinity:
            if _same_class(term.key, theirs, node.labels) and _meant(term, shape.namespace, dict(shape.labels)):
                return True
        for term in shape.anti_affinity:
            if _same_class(term.key, theirs, node.labels) and _meant(term, pod.namespace, pod.labels):
                return True
        if pod.node == node.name and _port_conflict(shape.ports, pod.ports):
            return True
    return False


def _same_class(key: str, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return key in one and key in other and one[key] == other[key]


def admits(wish: NodeFilter, node: Node) -> bool:
    """Rule 9."""
    return _picked(wish, node) and not _tainted(wish, node)


def _picked(wish: NodeFilter, node: Node) -> bool:
    if not set(wish.selector) <= set(node.labels.items()):
        return False
    for entry in wish.required:
        good = False
        for term in entry:
            checks = [_fulfilled(r, node.name if r.on_name else node.labels.get(r.key)) for r in term.requirements]
            good = good or (len(checks) > 0 and False not in checks)
        if not good:
            return False
    return True


def _tainted(wish: NodeFilter, node: Node) -> bool:
    for taint in node.taints:
        if taint.effect == "PreferNoSchedule":
            continue
        for t in wish.tolerations:
            right_key = t.key == taint.key or (t.key == "" and t.operator == "Exists")
            right_value = t.operator == "Exists" or t.value == taint.value
            if right_key and right_value and t.effect in ("", taint.effect):
                break
        else:
            return True
    return False


def _fulfilled(need: Requirement, value: str | None) -> bool:
    if need.operator == "Exists":
        return value is not None
    if need.operator == "DoesNotExist":
        return value is None
    if need.operator == "In":
        return value in need.values
    if need.operator == "NotIn":
        return value not in need.values
    sign = {"Gt": 1, "Lt": -1}[need.operator]
    bound = need.values[0] if need.values else ""
    if value is None or not _is_number(value) or not _is_number(bound):
        return False
    return sign * (int(value) - int(bound)) > 0


def _is_number(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits != "" and all(c in "0123456789" for c in digits)


# ----------------------------------------------------------------------------------------- who is meant, where


def _selected(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    return (
        not selector.matches_nothing
        and all((key, value) in labels.items() for key, value in selector.labels)
        and all(_fulfilled(need, labels.get(need.key)) for need in selector.requirements)
    )


def _meant(term: PodTerm, namespace: str, labels: Mapping[str, str]) -> bool:
    return (term.namespaces is None or namespace in term.namespaces) and _selected(term.selector, labels)


def _meant_sets(board: "Board", term: PodTerm) -> list[int]:
    return [
        s for s, pod_set in enumerate(board.sets) if _meant(term, pod_set.shape.namespace, dict(pod_set.shape.labels))
    ]


def _classes(board: "Board", key: str) -> dict[str, list[int]]:
    """Values of a node label and the nodes that carry them."""
    found: dict[str, list[int]] = {}
    for n, node in enumerate(board.snapshot.nodes):
        if key in node.labels:
            found.setdefault(node.labels[key], []).append(n)
    return found


def _variables(board: "Board", sets: Iterable[int], nodes: Iterable[int]) -> list[Any]:
    nodes = list(nodes)
    return [board.x[s, n] for s in sets for n in nodes if (s, n) in board.x]


def present(board: "Board", variables: list[Any]) -> Any:
    """A literal that can only be true if one of the variables is above zero."""
    literal = board.model.new_bool_var("")
    board.model.add(_sum(variables) >= literal)
    return literal


def touched(board: "Board", sets: list[int], nodes: list[int]) -> Any:
    """A literal that must be true if a pod of these sets is on one of these nodes; None if that cannot be."""
    pairs = [(s, n) for s in sets for n in nodes if (s, n) in board.x]
    if not pairs:
        return None
    literal = board.model.new_bool_var("")
    for pair in pairs:
        board.model.add(board.x[pair] <= board.most[pair] * literal)
    return literal


# ------------------------------------------------------------------------------------------------- the rules


def _keep_apart(board: "Board", s: int, term: PodTerm) -> None:
    """Rule 7 among the pods of the request; running pods were dealt with node by node."""
    meant = _meant_sets(board, term)
    others = [t for t in meant if t != s]
    for nodes in _classes(board, term.key).values():
        mine = _variables(board, [s], nodes)
        if s in meant and mine:
            board.model.add(_sum(mine) <= 1)
        here = touched(board, [s], nodes)
        there = touched(board, others, nodes)
        if here is not None and there is not None:
            board.model.add(here + there <= 1)


def _keep_near(board: "Board", term: PodTerm) -> None:
    """Rule 8: each class with a pod of the team has a reason to, or is the one that founds."""
    labels = {node.name: node.labels for node in board.snapshot.nodes}
    meant_running = [pod for pod in board.snapshot.pods if _meant(term, pod.namespace, pod.labels)]
    occupied = {labels.get(pod.node, {}).get(term.key) for pod in meant_running}
    team = [s for s, pod_set in enumerate(board.sets) if term in pod_set.shape.affinity]
    meant = _meant_sets(board, term)
    founders: list[Any] = []
    for value, nodes in _classes(board, term.key).items():
        here = touched(board, team, nodes)
        if value in occupied or here is None:
            continue
        reasons: list[Any] = []
        if strangers := _variables(board, [t for t in meant if t not in team], nodes):
            reasons.append(present(board, strangers))
        if not meant_running and (own := _variables(board, [t for t in meant if t in team], nodes)):
            founders.append(present(board, own))
            reasons.append(founders[-1])
        board.model.add_bool_or([here.negated(), *reasons])
    if founders:
        board.model.add_at_most_one(founders)


def _even(board: "Board", s: int) -> None:
    """Rule 6 for every spread rule of a set."""
    shape = board.sets[s].shape
    for rule in shape.spread:
        eligible = [
            n
            for n, node in enumerate(board.snapshot.nodes)
            if all(other.key in node.labels for other in shape.spread)
            and (_picked(shape.filter, node) or not rule.honor_affinity)
            and not (rule.honor_taints and _tainted(shape.filter, node))
        ]
        names = {board.snapshot.nodes[n].name for n in eligible}
        counted = [t for t, other in enumerate(board.sets) if _counts(shape, rule.selector, other.shape)]
        already = [pod for pod in board.snapshot.pods if pod.node in names and _counts(shape, rule.selector, pod)]
        classes = {v: [n for n in nodes if n in eligible] for v, nodes in _classes(board, rule.key).items()}
        classes = {v: nodes for v, nodes in classes.items() if nodes}
        lowest = board.model.new_int_var(0, len(board.snapshot.pods) + sum(p.count for p in board.sets), "")
        if len(classes) < rule.min_domains:
            board.model.add(lowest == 0)
        for nodes in classes.values():
            inside = {board.snapshot.nodes[n].name for n in nodes}
            base = sum(pod.node in inside for pod in already)
            height = _sum(_variables(board, counted, nodes)) + base
            board.model.add(lowest <= height)
            here = touched(board, [s], nodes)
            if here is not None:
                board.model.add(height - lowest <= rule.max_skew).only_enforce_if(here)


def _counts(shape: PodShape, selector: LabelSelector, other: PodShape | RunningPod) -> bool:
    return other.namespace == shape.namespace and _selected(selector, dict(other.labels))


def _ports(board: "Board") -> None:
    """Rule 11 between different sets; a set with ports has at most one pod on a node from the start."""
    for s, first in enumerate(board.sets):
        for t in range(s + 1, len(board.sets)):
            if _port_conflict(first.shape.ports, board.sets[t].shape.ports):
                for n in range(len(board.snapshot.nodes)):
                    if (s, n) in board.x and (t, n) in board.x:
                        board.model.add(board.x[s, n] + board.x[t, n] <= 1)


def _port_conflict(ours: tuple[HostPort, ...], theirs: tuple[HostPort, ...]) -> bool:
    for a in ours:
        for b in theirs:
            same_door = (a.port, a.protocol) == (b.port, b.protocol)
            if same_door and len({a.ip, b.ip} - {"0.0.0.0"}) < 2:
                return True
    return False


def _sum(variables: list[Any]) -> Any:
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.sum(variables) if variables else 0
