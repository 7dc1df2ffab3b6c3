"""Required levels that a gang does not keep any more: a node of it has other labels than when it was chosen.

Pods that run stay where they are. Nobody is moved for it; it is told for as long as it is so.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.engine.gangs import Gang
from phalanx.model.request import Group
from phalanx.model.topology import Tree

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Torn:
    """``group`` must be in one domain of ``level``, and most of it is in ``domain``. ``nodes``: where the rest is, each
    with its domain of that level now; empty: it is in none."""

    group: str
    level: str
    domain: Path
    nodes: tuple[tuple[str, Path], ...]


def found(gang: Gang, tree: Tree) -> tuple[Torn, ...]:
    """The groups of a gang that runs and of which the pods are in several domains.

    Of one whose manifest is wrong by now nobody knows what it requires: its Topology may be gone, and its levels too.
    """
    return () if gang.spoiled else tuple(_found(gang, tree))


def _found(gang: Gang, tree: Tree) -> Iterator[Torn]:
    nodes: dict[str, Counter[str]] = {}
    for pod in gang.on_nodes():
        nodes.setdefault(pod.pod_set or "", Counter())[pod.node] += 1
    moved = {slot.node for slot in gang.every_slot() if slot.moved}
    for group in gang.request.root.groups():
        if group.required is not None and (one := _of_group(group, group.required, nodes, moved, tree)) is not None:
            yield one


def _of_group(group: Group, level: int, nodes: dict[str, Counter[str]], moved: set[str], tree: Tree) -> Torn | None:
    """Those on nodes that are as they were tell which domain is the right one; else it is where most are."""
    held = Counter[str]()
    for pods in group.pod_sets():
        held.update(nodes.get(pods.name, {}))
    paths = {node: _domain(tree, node, level) for node in held}
    if len(set(paths.values())) < 2:
        return None
    firm = Counter[Path]()
    for node, count in held.items():
        if paths[node] and (node not in moved or moved >= held.keys()):
            firm[paths[node]] += count
    if not firm:
        return None
    most = max(firm.values())
    home = min(path for path, count in firm.items() if count == most)
    rest = tuple((node, paths[node]) for node in sorted(held) if paths[node] != home)
    return Torn(group.name, tree.topology.level_name(level), home, rest)


def _domain(tree: Tree, node: str, level: int) -> Path:
    at = tree.index.get(node)
    return tree.paths[at][:level] if at is not None and tree.inside[at] else ()
