"""Ranks: which node gets pod 0, 1, 2 ... of a ranked group.

Consecutive ranks in tree order cross every used link of the tree exactly twice, the least any ring can. Slices stay
aligned because every slice's domain holds a multiple of its size.

    nodes  n1:2 n2:2 n3:2 (racks a a b)   Consecutive  n1 n1 n2 n2 n3 n3
                                          Stripe, rack n1 n3 n1 n3 n2 n2
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from phalanx.model.request import Group, PodSet, Request
from phalanx.place.build import Built, components, linked_names, whole_slices
from phalanx.place.draft import Draft
from phalanx.place.greedy import Found

Ints = npt.NDArray[np.int64]


def assign(draft: Draft, request: Request, built: Built, found: Found) -> dict[str, tuple[str, ...]]:
    """For every ranked group the node of rank i."""
    names = draft.tree.names
    groups = tuple(request.root.groups())
    if all(group.ranks is None for group in groups):
        return {}
    tied = dict(_tied(draft, request, built, found))
    out = {}
    for group in groups:
        slots = tied.get(group.name, [])
        if not slots and group.ranks is not None and group.ranks.order != "None":
            slots = _ordered(draft, group, built, found)
        if slots:
            out[group.name] = tuple(names[i] for i in slots)
    return out


def _pods(built: Built, found: Found, pod_set: PodSet) -> Ints:
    """The node of every pod of a set, in tree order."""
    parts = [np.repeat(*found[leaf.number]) for leaf in built.leaves_of.get(pod_set.name, ()) if leaf.number in found]
    return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def _ordered(draft: Draft, group: Group, built: Built, found: Found) -> list[int]:
    """Pod sets one after the other; within each the order that was asked for."""
    ranks = group.ranks
    assert ranks is not None
    slots: list[int] = []
    for pod_set in group.pod_sets():
        pods = _pods(built, found, pod_set)
        if ranks.order == "Stripe" and ranks.across is not None:
            size = whole_slices(pod_set)
            slots += striped(pods.reshape(-1, size), draft.tree.domain[ranks.across])
        elif slots and len(pods):
            slots += _near(draft, pods, slots[0])
        else:
            slots += pods.tolist()
    return slots


def striped(blocks: Ints, domain: Ints) -> list[int]:
    """Blocks of pods dealt out to their domains in turn, as long as each has some."""
    queues: dict[int, list[list[int]]] = {}
    for block in blocks.tolist():
        queues.setdefault(int(domain[block[0]]), []).append(block)
    out: list[int] = []
    while queues:
        for number in sorted(queues):
            out += queues[number].pop(0)
            if not queues[number]:
                del queues[number]
    return out


def _near(draft: Draft, pods: Ints, leader: int) -> list[int]:
    """The others in tree order, starting with the domain that holds rank 0, so that low ranks are its neighbours."""
    tree = draft.tree
    shared = np.zeros(len(pods), dtype=np.int64)
    for level in range(1, tree.host + 1):
        shared += tree.domain[level][pods] == tree.domain[level][leader]
    # only the widest level decides: below it tree order keeps neighbours together
    first = shared > 0
    return [*pods[first].tolist(), *pods[~first].tolist()]


def _tied(draft: Draft, request: Request, built: Built, found: Found) -> Iterator[tuple[str, list[int]]]:
    """Ranks of groups whose equal ranks share a domain: bundle by bundle."""
    for parent in request.root.groups():
        linked = linked_names(parent)
        groups = [m for m in parent.members if isinstance(m, Group) and m.name in linked]
        for component in components(groups):
            yield from _component(draft, component, built, found)


def _component(draft: Draft, groups: list[Group], built: Built, found: Found) -> Iterator[tuple[str, list[int]]]:
    tree = draft.tree
    level = next(g.ranks.level for g in groups if g.ranks and g.ranks.with_same_rank_of) or tree.host
    sets = {g.name: list(g.pod_sets()) for g in groups}
    left = {s.name: _pods(built, found, s).tolist() for members in sets.values() for s in members}
    if any(len(left[s.name]) != built.counts[s.name] for members in sets.values() for s in members):
        return
    where = {g.name: [s.name for s in sets[g.name] for _ in range(built.counts[s.name])] for g in groups}
    slots: dict[str, list[int]] = {g.name: [] for g in groups}
    bundles = _bundle_domains(tree.domain[level], built, found)
    for rank in range(max(len(w) for w in where.values())):
        present = [g.name for g in groups if rank < len(where[g.name])]
        key = tuple(where[name][rank] for name in present)
        waiting = bundles.get(tuple(sorted(key)))
        domain = waiting.pop(0) if waiting else _meeting(tree.domain[level], built, key, left, level)
        for name, pod_set in zip(present, key, strict=True):
            slots[name].append(_take(left[pod_set], tree.domain[level], domain, bundles, pod_set))
    yield from slots.items()


def _meeting(domain: Ints, built: Built, key: tuple[str, ...], left: dict[str, list[int]], level: int) -> int | None:
    """Partners of a group that is narrower than the shared level all come to the one domain that holds it."""
    for name in key if len(key) > 1 else ():
        if any(leaf.home > level for leaf in built.leaves_of[name]):
            return int(domain[left[name][0]])
    return None


def _bundle_domains(domain: Ints, built: Built, found: Found) -> dict[tuple[str, ...], list[int]]:
    """For every kind of bundle the domains of its copies, in tree order."""
    out: dict[tuple[str, ...], list[int]] = {}
    for bundle in built.bundles:
        nodes, counts = found[bundle.leaves[0]]
        out.setdefault(bundle.sets, []).extend(np.repeat(domain[nodes], counts).tolist())
    return {key: sorted(domains) for key, domains in out.items()}


def _take(
    left: list[int], domain: Ints, wanted: int | None, bundles: dict[tuple[str, ...], list[int]], name: str
) -> int:
    """A pod of a set in the wanted domain; without one, a pod that no bundle still needs."""
    if wanted is None:
        reserved: dict[int, int] = {}
        for key, domains in bundles.items():
            if name in key:
                for number in domains:
                    reserved[number] = reserved.get(number, 0) + 1
        spare = _spare(left, domain, reserved)
    else:
        spare = next(i for i, node in enumerate(left) if int(domain[node]) == wanted)
    return left.pop(spare)


def _spare(left: list[int], domain: Ints, reserved: dict[int, int]) -> int:
    have: dict[int, int] = {}
    for node in left:
        have[int(domain[node])] = have.get(int(domain[node]), 0) + 1
    return next(i for i, node in enumerate(left) if have[int(domain[node])] > reserved.get(int(domain[node]), 0))
