"""Requests that have a solution and that other schedulers refuse, some of them only in an unlucky order.

Each is written here in every order of its pods or groups and under every order of candidates: all are placed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import TypeVar

import pytest

from phalanx.model import sketch
from phalanx.model.nodes import Node
from phalanx.model.policy import Policy
from phalanx.model.request import Group, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from tests.cases.drawn import BLOCK, RACK, at, gang, group, placed, pods, running, under

T = TypeVar("T")
ZONE3, BLOCK3, RACK3 = 1, 2, 3  # levels of a drawing such as "z1( b1: r1=8 )"

every_policy = pytest.mark.parametrize(
    "policy",
    [Policy(candidates, nodes) for candidates in ("pack", "spread", "balance") for nodes in ("compact", "reuse")],
    ids=lambda policy: f"{policy.candidates}-{policy.nodes}",
)


def orders(things: Iterable[T]) -> list[tuple[T, ...]]:
    """Every distinct order."""
    return list(dict.fromkeys(permutations(things)))


def one_by_one(gpus: Iterable[int], **levels: int) -> Request:
    """Pods that come one after the other, each of its own size."""
    return gang(group("gang", *(pods(f"pod-{i}", 1, gpu) for i, gpu in enumerate(gpus)), **levels))


def in_any_order(gpus: Iterable[int], **levels: int) -> Iterator[Request]:
    return (one_by_one(order, **levels) for order in orders(gpus))


# ------------------------------------------------------------------------------------- pods of several sizes


@pytest.mark.parametrize(
    ("drawing", "gpus", "number"),
    [
        ("b1: r1=8,8", (5, 5, 3, 3), 6),
        ("b1: r1=7,7", (4, 3, 3, 2, 2), 30),
        ("b1: r1=8,8", (4, 3, 3, 2, 2, 2), 60),
    ],
)
@every_policy
def test_pods_of_several_sizes_fill_their_rack_to_the_last_gpu(
    drawing: str, gpus: tuple[int, ...], number: int, policy: Policy
) -> None:  # KA-028, X-16
    requests = list(in_any_order(gpus, required=RACK))
    assert len(requests) == number
    for request in requests:
        assert sum(at(placed(drawing, request, policy)).values()) == len(gpus)


@every_policy
def test_the_rack_that_only_looks_large_enough_is_passed_over(policy: Policy) -> None:  # KA-010
    for request in in_any_order((5, 5, 3, 3), required=RACK):
        # the first rack has as many GPUs, yet 5 + 5 + 3 + 3 cannot be cut from 4, 6 and 6
        assert under(placed("b1: r1=4,6,6 r2=8,8", request, policy), 2) == {"b1-r2": 4}


@every_policy
def test_nodes_with_seven_of_eight_free_hold_pods_that_fill_them(policy: Policy) -> None:
    empty = sketch.snapshot("b1: r1=8,8")
    busy = replace(empty, pods=(running("b1-r1-1", 1), running("b1-r1-2", 1)))
    for request in in_any_order((4, 3, 3, 2, 2), required=RACK):
        assert sum(at(placed(busy, request, policy)).values()) == 5


def machines(rack: str, *sizes: tuple[int, int]) -> list[Node]:
    """Nodes of one rack by (cpu, gpu)."""
    drawn, _ = sketch.nodes(f"b1: {rack}={','.join(str(gpu) for _, gpu in sizes)}")
    return [
        replace(node, allocatable=Resources.of({"cpu": cpu * NANO, sketch.GPU: gpu * NANO, PODS: 100 * NANO}))
        for node, (cpu, gpu) in zip(drawn, sizes, strict=True)
    ]


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        # (cpu, gpu) of the nodes, and of the pods: only a heavy with a light of the other kind fill a node
        (((8, 8), (8, 8)), ((6, 2), (6, 2), (2, 6), (2, 6))),
        (((16, 8), (16, 8)), ((12, 1), (12, 1), (4, 7), (4, 7))),
        # three pods on the large node, and one alone that is not the one with the most cpu
        (((10, 7), (2, 5)), ((6, 1), (2, 3), (2, 3), (2, 5))),
    ],
)
@every_policy
def test_pods_heavy_in_cpu_and_pods_heavy_in_gpus_are_paired(
    sizes: tuple[tuple[int, int], ...], wanted: tuple[tuple[int, int], ...], policy: Policy
) -> None:
    _, topology = sketch.nodes("b1: r1=1")
    snapshot = Snapshot(tuple(machines("r1", *sizes)), (topology,))
    for order in orders(wanted):
        members = [pods(f"pod-{i}", 1, gpu, cpu) for i, (cpu, gpu) in enumerate(order)]
        request = gang(group("gang", *members, required=RACK))
        assert sum(at(placed(snapshot, request, policy)).values()) == len(wanted)


@pytest.mark.parametrize(
    ("drawing", "leader", "count", "worker"),
    [
        ("b1: r1=8,8 r2=4*4", 0, 2, 8),
        ("b1: r1=8,7 r2=5*3", 1, 2, 7),
        ("b1: r1=8,6,6 r2=5*4", 2, 3, 6),
        ("b1: r1=8,8 r2=4*4", 8, 4, 2),
        ("b1: r1=8,6 r2=4,4,6", 5, 3, 3),
    ],
)
@every_policy
def test_a_leader_of_another_shape_shares_the_rack_of_its_workers(
    drawing: str, leader: int, count: int, worker: int, policy: Policy
) -> None:  # W-174
    one_each = [("leader", leader), *((f"worker-{i}", worker) for i in range(count))]
    for order in orders([("leader", 1, leader), ("workers", count, worker)]):
        request = gang(group("gang", *(pods(name, number, gpu) for name, number, gpu in order), required=RACK))
        assert under(placed(drawing, request, policy), 2) == {"b1-r1": count + 1}
    for order in orders(gpu for _, gpu in one_each):
        assert under(placed(drawing, one_by_one(order, required=RACK), policy), 2) == {"b1-r1": count + 1}


@every_policy
def test_one_pod_of_a_whole_node_and_eight_of_one_gpu_start_on_a_cluster_three_quarters_empty(policy: Policy) -> None:
    empty = sketch.snapshot("b1: r1=8*8")
    two_full = replace(empty, pods=(running("b1-r1-1", 8), running("b1-r1-5", 8)))
    # as empty, but only the last node is wholly free, so the small pods must keep off it
    scattered = replace(empty, pods=tuple(running(f"b1-r1-{i}", gpu) for i, gpu in enumerate((2, 2, 2, 2, 2, 3, 3), 1)))
    requests = [*in_any_order((8, *(1,) * 8), required=RACK)]
    requests += [
        gang(group("gang", *(pods(name, count, gpu) for name, count, gpu in order), required=RACK))
        for order in orders([("big", 1, 8), ("small", 8, 1)])
    ]
    assert len(requests) == 11
    for request in requests:
        for snapshot in (two_full, scattered):
            assert sum(at(placed(snapshot, request, policy)).values()) == 9


# ---------------------------------------------------------------------------------------- groups side by side


@every_policy
def test_subgroups_of_two_three_and_four_nodes_find_their_racks_of_five_and_four(policy: Policy) -> None:
    for order in orders([2, 3, 4]):
        members = [group(f"part-{i}", pods(f"part-{i}", count, 8), required=RACK) for i, count in enumerate(order)]
        placement = placed("b1: r1=8*5 r2=8*4", gang(group("gang", *members)), policy)
        racks = {count: under(placement, 2, f"part-{i}") for i, count in enumerate(order)}
        assert racks == {2: {"b1-r1": 2}, 3: {"b1-r1": 3}, 4: {"b1-r2": 4}}


@every_policy
def test_subgroups_find_their_racks_also_inside_one_required_block(policy: Policy) -> None:
    drawing = "b1: r1=8*4 r2=8*4 r3=8 | b2: r1=8*5 r2=8*4"  # as many nodes in b1, and no way to cut them
    for order in orders([2, 3, 4]):
        members = [group(f"part-{i}", pods(f"part-{i}", count, 8), required=RACK) for i, count in enumerate(order)]
        placement = placed(drawing, gang(group("gang", *members, required=BLOCK)), policy)
        assert under(placement, 1) == {"b2": 9}


@pytest.mark.parametrize(
    "drawing",
    [
        "b1: r1=8,8 r2=4*5",  # counted in easy pods the home of the hard ones is the tighter rack
        "b1: r1=8,8 r2=4*3",  # ... or the roomier one
        "b1: r1=8,8 r2=4*4",  # ... or neither
    ],
)
@every_policy
def test_an_easy_sibling_leaves_the_only_home_of_a_hard_one_alone(drawing: str, policy: Policy) -> None:
    easy = group("easy", pods("easy", 2, 4), required=RACK)
    hard = group("hard", pods("hard", 2, 8), required=RACK)
    for order in orders([easy, hard]):
        for names in (("a", "b"), ("b", "a")):  # neither the order nor the names decide
            members: list[Group] = [replace(part, name=name) for part, name in zip(order, names, strict=True)]
            placement = placed(drawing, gang(group("gang", *members)), policy)
            assert under(placement, 2, "hard") == {"b1-r1": 2}
            assert under(placement, 2, "easy") == {"b1-r2": 2}


# ------------------------------------------------------------------------------------------------------ levels


@pytest.mark.parametrize("gpus", [(8, 8), (8, 4, 4), (6, 6, 2, 2)])
@pytest.mark.parametrize("level", [ZONE3, BLOCK3])
@every_policy
def test_a_required_zone_is_found_when_all_nodes_share_one_zone_and_one_block(
    gpus: tuple[int, ...], level: int, policy: Policy
) -> None:
    for request in in_any_order(gpus, required=level):
        assert under(placed("z1( b1: r1=8 r2=8 )", request, policy), 2) == {"z1-b1": len(gpus)}


@every_policy
def test_a_required_zone_is_found_when_all_nodes_share_one_rack_as_well(policy: Policy) -> None:
    for level in (ZONE3, BLOCK3, RACK3):
        for request in in_any_order((5, 5, 3, 3), required=level):
            assert sum(at(placed("z1( b1: r1=8,8 )", request, policy)).values()) == 4


@pytest.mark.parametrize("gpus", [(8, 8, 8), (8, 8, 4, 4)])
@every_policy
def test_a_preferred_rack_falls_back_to_one_block(gpus: tuple[int, ...], policy: Policy) -> None:
    for request in in_any_order(gpus, preferred=RACK):
        placement = placed("b1: r1=8 r2=8 | b2: r1=8,8 r2=8", request, policy)
        assert under(placement, 1) == {"b2": len(gpus)}


@pytest.mark.parametrize("gpus", [(8, 8, 8, 8), (8, 8, 8, 4, 4)])
@every_policy
def test_a_preferred_rack_spans_blocks_when_no_block_is_large_enough(gpus: tuple[int, ...], policy: Policy) -> None:
    for request in in_any_order(gpus, preferred=RACK):
        placement = placed("b1: r1=8 | b2: r1=8,8 r2=8", request, policy)
        assert placement.level_reached["gang"] == "cluster"
        assert set(under(placement, 1)) == {"b1", "b2"}
