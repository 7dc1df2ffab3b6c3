"""Three readings of docs/semantics.md agree on tiny instances: ``verify``, CP-SAT and trying everything."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.snapshot import Snapshot
from phalanx.place import verify_pods
from phalanx.place.verify import verify
from phalanx.testing import brute, oracle, oracle_pods
from tests.properties import families, families_groups, worlds

SEEDS = 30  # per family: 28 families make some eight hundred instances


def tiny(seed: int, family: str) -> tuple[Snapshot, Request]:
    """An instance of a family cut down to 4 or 5 nodes and, depending on how many sets there are, 2 to 4 pods each."""
    chance = Random(f"tiny:{family}:{seed}")
    whole = families_groups.ODD_NODE if family == "odd-quantities" else worlds.WHOLE_NODE
    while True:
        place = worlds.world(chance, whole, most=5)
        root = families.FAMILIES[family](chance, place)
        if len(list(root.pod_sets())) <= 4:  # six sets, which ranks can have, would take brute force minutes
            break
    for _ in range(chance.randint(0, 2)):  # several layers: the fuller the cluster, the more often capacity decides
        worlds.fill(chance, place)
    most = {1: 4, 2: 3}.get(len(list(root.pod_sets())), 2)
    return place.snapshot(), Request("Gang", "default", family, _smaller(root, most), topology=place.topology)


def _smaller(group: Group, most: int) -> Group:
    return replace(group, members=tuple(_smaller_member(member, most) for member in group.members))


def _smaller_member(member: Group | PodSet, most: int) -> Group | PodSet:
    if isinstance(member, Group):
        return _smaller(member, most)
    count = min(member.count, member.slices[0].size if member.slices else most)
    return replace(member, count=count, min_count=min(member.min_count, count))


@pytest.mark.parametrize("family", families.FAMILIES)
def test_verify_cp_sat_and_brute_force_agree_on_what_is_possible(family: str) -> None:
    for seed in range(SEEDS):
        snapshot, request = tiny(seed, family)
        told = oracle.feasible(snapshot, request)
        tried = brute.feasible(snapshot, request)
        where = f"family {family}, seed {seed}: {request.root}"
        assert not isinstance(told, oracle.Unknown), where
        assert (told is None) == (tried is None), where
        for placement in (told, tried):
            assert placement is None or verify(snapshot, request, placement) == (), where
        if told is not None:
            assert brute.valid(snapshot, request, _counts(told)), where


@pytest.mark.parametrize("family", families.FAMILIES)
def test_verify_and_brute_force_agree_on_any_placement(family: str) -> None:
    """Also on wrong ones: valid placements with pods moved, added or taken away, and random ones."""
    for seed in range(SEEDS):
        snapshot, request = tiny(seed, family)
        chance = Random(seed)
        start = brute.feasible(snapshot, request)
        for _ in range(30):
            counts = (
                _random(chance, snapshot, request) if start is None else _disturbed(chance, snapshot, _counts(start))
            )
            placement = _placement(snapshot, request, counts)
            good = brute.valid(snapshot, request, counts)
            broken = verify(snapshot, request, placement)
            assert good == (not broken), f"family {family}, seed {seed}: {counts} {broken} {request.root}"


@pytest.mark.parametrize("family", ["selectors", "taints"])
def test_three_readings_agree_on_every_node_filter(family: str) -> None:
    admitted = 0
    for seed in range(10 * SEEDS):
        snapshot, request = tiny(seed, family)
        for node in snapshot.nodes:
            for pod_set in request.root.pod_sets():
                shape = pod_set.shape
                answers = {verify_pods.admits(shape.filter, node), oracle_pods.admits(shape.filter, node)}
                answers.add(brute.admits(shape, node))
                assert len(answers) == 1, f"family {family}, seed {seed}: {shape.filter} {node}"
                admitted += answers == {True}
    assert admitted > 100


def _counts(placement: Placement) -> dict[str, dict[str, int]]:
    return {name: dict(counts) for name, counts in placement.pod_sets.items()}


def _random(chance: Random, snapshot: Snapshot, request: Request) -> dict[str, dict[str, int]]:
    nodes = [node.name for node in snapshot.nodes]
    return {
        pod_set.name: dict(Counter(chance.choices(nodes, k=chance.randint(pod_set.min_count, pod_set.count))))
        for pod_set in request.root.pod_sets()
    }


def _disturbed(chance: Random, snapshot: Snapshot, counts: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    nodes = [node.name for node in snapshot.nodes]
    pods = [(name, node) for name, spots in counts.items() for node, n in spots.items() for _ in range(n)]
    for _ in range(chance.randint(1, 3)):
        if not pods:
            break
        name, _old = pods.pop(chance.randrange(len(pods)))
        for _ in range(chance.choice((0, 1, 1, 1, 1, 2))):
            pods.append((name, chance.choice(nodes)))
    result: dict[str, dict[str, int]] = {}
    for name, node in pods:
        spots = result.setdefault(name, {})
        spots[node] = spots.get(node, 0) + 1
    return result


def _placement(snapshot: Snapshot, request: Request, counts: dict[str, dict[str, int]]) -> Placement:
    """With the ranks that brute force found, or just any where there are none."""
    ranks = brute.Puzzle(snapshot, request).numbering(counts)
    if ranks is None:
        ranks = {
            group.name: tuple(
                node for s in group.pod_sets() for node, n in counts.get(s.name, {}).items() for _ in range(n)
            )
            for group in request.root.groups()
        }
    return Placement({name: tuple(spots.items()) for name, spots in counts.items()}, ranks=ranks)
