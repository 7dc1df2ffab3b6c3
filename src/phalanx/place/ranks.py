"""Ranks: which node gets pod 0, 1, 2 ... of a ranked group.

Consecutive ranks in tree order cross every used link of the tree exactly twice, the least any ring can. Slices stay
aligned because every slice's domain holds a multiple of its size.

    nodes  n1:2 n2:2 n3:2 (racks a a b)   Consecutive  n1 n1 n2 n2 n3 n3
                                          Stripe, rack n1 n3 n1 n3 n2 n2
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phalanx.model.mistakes import Mistake
from phalanx.model.request import Group, PodSet
from phalanx.place.build import Built, rank_teams, whole_slices
from phalanx.place.draft import Draft
from phalanx.place.greedy import Found

Ints = npt.NDArray[np.int64]


def assign(draft: Draft, groups: Sequence[Group], built: Built, found: Found) -> dict[str, tuple[str, ...]]:
    """For every ranked group the node of rank i."""
    names = draft.tree.names
    if all(group.ranks is None for group in groups):
        return {}
    tied = dict(_tied(draft, groups, built, found))
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
    if ranks is None:
        raise Mistake("a group without ranks has no order")
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
    homes = domain[blocks[:, 0]]
    order = np.argsort(homes, kind="stable")
    starts = np.flatnonzero(np.diff(homes[order], prepend=-1))
    turn = np.empty(len(blocks), dtype=np.int64)  # how many of its domain come before a block
    turn[order] = np.arange(len(blocks)) - np.repeat(starts, np.diff(np.append(starts, len(blocks))))
    dealt: list[int] = blocks[np.lexsort((homes, turn))].ravel().tolist()
    return dealt


def _near(draft: Draft, pods: Ints, leader: int) -> list[int]:
    """The others in tree order, starting with the domain that holds rank 0, so that low ranks are its neighbours."""
    tree = draft.tree
    shared = np.zeros(len(pods), dtype=np.int64)
    for level in range(1, tree.host + 1):
        shared += tree.domain[level][pods] == tree.domain[level][leader]
    # only the widest level decides: below it tree order keeps neighbours together
    first = shared > 0
    return [*pods[first].tolist(), *pods[~first].tolist()]


def _tied(draft: Draft, groups: Sequence[Group], built: Built, found: Found) -> Iterator[tuple[str, list[int]]]:
    """Ranks of groups whose equal ranks share a domain: bundle by bundle."""
    for parent in groups:
        for level, team in rank_teams(parent):
            present = [g for g in team if any(len(_pods(built, found, s)) for s in g.pod_sets())]
            if present:
                yield from _component(draft, present, level or draft.tree.host, built, found)


def _component(
    draft: Draft, groups: list[Group], level: int, built: Built, found: Found
) -> Iterator[tuple[str, list[int]]]:
    tree = draft.tree
    sets = {g.name: list(g.pod_sets()) for g in groups}
    pods = {s.name: _pods(built, found, s).tolist() for members in sets.values() for s in members}
    where = {g.name: [s.name for s in sets[g.name] for _ in range(built.counts[s.name])] for g in groups}
    slots: dict[str, list[int]] = {g.name: [] for g in groups}
    bundles = _bundle_domains(tree.domain[level], built, found)
    left = {name: Waiting.of(nodes, tree.domain[level], name, bundles) for name, nodes in pods.items()}
    for rank in range(max(len(w) for w in where.values())):
        present = [g.name for g in groups if rank < len(where[g.name])]
        key = tuple(where[name][rank] for name in present)
        waiting = bundles.get(tuple(sorted(key)))
        domain = waiting.popleft() if waiting else _meeting(tree.domain[level], built, key, pods, level)
        for name, pod_set in zip(present, key, strict=True):
            slots[name].append(left[pod_set].take(domain, bundled=bool(waiting is not None and domain is not None)))
    yield from slots.items()


@dataclass(slots=True)
class Waiting:
    """Pods of one set that have no rank yet, by domain, and how many of them bundles still need."""

    nodes: dict[int, deque[int]]
    needed: dict[int, int]
    order: deque[int]  # domains in tree order that may have a pod to spare

    @staticmethod
    def of(nodes: list[int], domain: Ints, name: str, bundles: dict[tuple[str, ...], deque[int]]) -> "Waiting":
        held: dict[int, deque[int]] = {}
        for node in nodes:
            held.setdefault(int(domain[node]), deque()).append(node)
        needed: dict[int, int] = {}
        for key, domains in bundles.items():
            for number in domains if name in key else ():
                needed[number] = needed.get(number, 0) + 1
        return Waiting(held, needed, deque(sorted(held)))

    def take(self, wanted: int | None, bundled: bool) -> int:
        """A pod in the wanted domain; without one, the first that no bundle needs."""
        if wanted is not None:
            if bundled:
                self.needed[wanted] -= 1
            return self.nodes[wanted].popleft()
        while len(self.nodes[self.order[0]]) <= self.needed.get(self.order[0], 0):
            self.order.popleft()  # what a domain can spare never grows again
        return self.nodes[self.order[0]].popleft()


def _meeting(domain: Ints, built: Built, key: tuple[str, ...], pods: dict[str, list[int]], level: int) -> int | None:
    """Partners of a group that is narrower than the shared level all come to the one domain that holds it."""
    for name in key if len(key) > 1 else ():
        if any(leaf.home > level for leaf in built.leaves_of[name]):
            return int(domain[pods[name][0]])
    return None


def _bundle_domains(domain: Ints, built: Built, found: Found) -> dict[tuple[str, ...], deque[int]]:
    """For every kind of bundle the domains of its copies, in tree order."""
    out: dict[tuple[str, ...], list[int]] = {}
    for bundle in built.bundles:
        nodes, counts = found[bundle.leaves[0]]
        out.setdefault(bundle.sets, []).extend(np.repeat(domain[nodes], counts).tolist())
    return {key: deque(sorted(domains)) for key, domains in out.items()}
