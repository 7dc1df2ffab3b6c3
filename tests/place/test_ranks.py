"""Which node gets rank 0, 1, 2: in tree order, dealt out, with slices whole, and partners side by side."""

import numpy as np
import pytest

from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, snapshot
from phalanx.place import solve
from phalanx.place.draft import Draft
from phalanx.place.ranks import striped
from phalanx.place.verify import verify

BLOCK, RACK, HOST = 1, 2, 3
THREE_NODES = "b1: a=2,2 b=2"


def pods(name: str, count: int, gpus: int = 1, slices: tuple[Slice, ...] = ()) -> PodSet:
    return PodSet(name, count, count, PodShape(Resources.of({GPU: gpus * NANO})), slices)


def ranks_of(drawing: str, root: Group) -> dict[str, list[str]]:
    world = snapshot(drawing)
    request = Request("Gang", "default", "x", root, topology="sketch")
    answer = solve.place(Draft.of(world, "sketch"), request)
    assert answer.placement is not None, answer.status
    assert not verify(world, request, answer.placement)
    for name, slots in answer.placement.ranks.items():
        below = next(g for g in root.groups() if g.name == name).pod_sets()
        placed = [node for s in below for node, n in answer.placement.pod_sets[s.name] for _ in range(n)]
        assert sorted(slots) == sorted(placed), "every pod has one rank"
    return {name: [node.removeprefix("b1-") for node in slots] for name, slots in answer.placement.ranks.items()}


def racks(slots: list[str]) -> str:
    return "".join(slot.split("-")[-2] for slot in slots)


def test_consecutive_ranks_follow_the_tree() -> None:
    found = ranks_of(THREE_NODES, Group("root", (pods("p", 6),), ranks=Ranks("Consecutive")))
    assert found == {"root": ["a-1", "a-1", "a-2", "a-2", "b-1", "b-1"]}


def test_striped_ranks_are_dealt_out_to_the_racks_in_turn() -> None:
    found = ranks_of(THREE_NODES, Group("root", (pods("p", 6),), ranks=Ranks("Stripe", across=RACK)))
    assert found == {"root": ["a-1", "b-1", "a-1", "b-1", "a-2", "a-2"]}


def test_slices_stay_whole_when_ranks_are_dealt_out() -> None:
    sliced = pods("p", 12, slices=(Slice(RACK, 2),))
    (slots,) = ranks_of("b1: a=8 b=4", Group("root", (sliced,), ranks=Ranks("Stripe", across=RACK))).values()
    assert racks(slots) == "aabbaabbaaaa"


@pytest.mark.parametrize("sizes", [(4, 2), (6, 3), (3, 2), (2, 3)])
def test_slices_of_two_layers_stay_whole_when_ranks_are_dealt_out(sizes: tuple[int, int]) -> None:
    """Every run of as many ranks as a slice has pods sits in one domain of its level."""
    outer, inner = sizes
    whole = outer * inner
    sliced = pods("p", 2 * whole, slices=(Slice(BLOCK, outer), Slice(RACK, inner)))
    world = snapshot(f"b1: r1={whole},{whole} r2={whole} | b2: r1={whole}")
    request = Request(
        "Gang", "default", "x", Group("root", (sliced,), ranks=Ranks("Stripe", across=RACK)), topology="sketch"
    )
    answer = solve.place(Draft.of(world, "sketch"), request)
    assert answer.placement is not None
    slots = answer.placement.ranks["root"]
    for level, size in ((BLOCK, outer), (RACK, inner)):
        for start in range(0, len(slots), size):
            domains = {tuple(node.split("-")[:level]) for node in slots[start : start + size]}
            assert len(domains) == 1, f"ranks {start} to {start + size - 1} lie in {domains}"


def test_no_order_gives_no_ranks() -> None:
    assert ranks_of(THREE_NODES, Group("root", (pods("p", 6),), ranks=Ranks("None"))) == {}
    assert ranks_of(THREE_NODES, Group("root", (pods("p", 6),))) == {}


def test_balance_gives_every_rack_as_many_ranks() -> None:
    (slots,) = ranks_of(
        "b1: a=4,4 b=4,4", Group("root", (pods("p", 12),), ranks=Ranks("Balance", across=RACK))
    ).values()
    assert racks(slots) == "aaaaaabbbbbb"


def test_the_leader_comes_first_and_its_neighbours_follow() -> None:
    leader = Group("root", (pods("leader", 1, 3), pods("worker", 4)), ranks=Ranks("Consecutive"))
    world = snapshot("b1: r1=2 | b2: r1=3,2")
    request = Request("Gang", "default", "x", leader, topology="sketch")
    answer = solve.place(Draft.of(world, "sketch"), request)
    assert answer.placement is not None
    slots = answer.placement.ranks["root"]
    assert slots == ("b2-r1-1", "b2-r1-2", "b2-r1-2", "b1-r1-1", "b1-r1-1")


def test_dealing_goes_on_with_those_that_have_some_left() -> None:
    blocks = np.array([[0], [0], [0], [1], [2]])
    assert striped(blocks, np.array([0, 1, 1])) == [0, 1, 0, 2, 0]


# ---- partners -----------------------------------------------------------------------------------------------------


def partners(level: int, first: int, second: int, gpus: tuple[int, int] = (1, 1)) -> Group:
    link = Ranks(with_same_rank_of="x", level=level)
    return Group(
        "root", (Group("x", (pods("p", first, gpus[0]),)), Group("y", (pods("q", second, gpus[1]),), ranks=link))
    )


@pytest.mark.parametrize("counts", [(4, 4), (4, 2), (2, 5), (1, 1)])
@pytest.mark.parametrize("level", [RACK, HOST])
def test_equal_ranks_of_partners_share_a_domain(level: int, counts: tuple[int, int]) -> None:
    found = ranks_of("b1: a=3,3 b=3,2 c=2,2", partners(level, *counts))
    for first, second in zip(found["x"], found["y"], strict=False):
        assert first.split("-")[: level - 1] == second.split("-")[: level - 1]


def test_partners_that_fit_alone_but_not_side_by_side_are_refused() -> None:
    world = snapshot("b1: a=3,1")
    request = Request("Gang", "default", "x", partners(HOST, 1, 1, (2, 2)), topology="sketch")
    assert solve.place(Draft.of(world, "sketch"), request).status == "impossible"


def test_a_chain_of_partners_shares_every_rank() -> None:
    links = [None, *(Ranks(with_same_rank_of=f"g{i}", level=HOST) for i in range(3))]
    root = Group("root", tuple(Group(f"g{i}", (pods(f"p{i}", 2),), ranks=link) for i, link in enumerate(links)))
    found = ranks_of("b1: a=4,4,2", root)
    assert len({tuple(slots) for slots in found.values()}) == 1 and len(found) == 4
