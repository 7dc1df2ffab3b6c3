"""How pods go down the tree: the fewest domains at each level, the last one tight, shares kept where they are fixed."""

from itertools import combinations
from random import Random

import numpy as np
import pytest

from phalanx.model.nodes import PodShape
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, snapshot
from phalanx.place import fit
from phalanx.place.draft import Draft
from phalanx.place.fit import Layers
from phalanx.place.split import COMPACT, Style, descend

BLOCK, RACK, HOST = 1, 2, 3


def split(drawing: str, quota: int, style: Style = COMPACT, units: Layers = (), limits: Layers = ()) -> dict[str, int]:
    """Pods per node when ``quota`` pods of one device each go into the whole cluster."""
    draft = Draft.of(snapshot(drawing), "sketch")
    pod = PodShape(Resources.of({GPU: NANO}))
    assert draft.accommodate([pod.requests], "test") is None
    capacity = fit.capacity(draft, draft.shape(pod, bound=True), units, limits)
    nodes, amounts = descend(draft.tree, capacity, 0, 0, quota, style)
    assert nodes.tolist() == sorted(set(nodes.tolist())), "nodes come in tree order, each once"
    return {draft.tree.names[node]: amount for node, amount in zip(nodes.tolist(), amounts.tolist(), strict=True)}


def per(level: int, pods: dict[str, int]) -> dict[str, int]:
    """Pods per domain; a node is named after its path."""
    total: dict[str, int] = {}
    for node, amount in pods.items():
        domain = "-".join(node.split("-")[:level])
        total[domain] = total.get(domain, 0) + amount
    return total


def test_largest_racks_are_kept_and_the_last_is_the_tightest() -> None:
    assert per(RACK, split("b1: r1=4 r2=3 r3=2", 6)) == {"b1-r1": 4, "b1-r3": 2}


def test_one_rack_that_holds_everything_tightest_is_enough() -> None:
    assert per(RACK, split("b1: r1=9 r2=6 r3=5,1", 6)) == {"b1-r2": 6}


def test_fewest_blocks_come_before_fewest_racks() -> None:
    assert per(BLOCK, split("b1: r1=5 r2=5 | b2: r1=8", 10)) == {"b1": 10}


def test_racks_of_all_kept_blocks_are_pooled_without_slices() -> None:
    """12 pods need both blocks; then two racks are enough, and no share of a block is fixed."""
    assert per(RACK, split("b1: r1=6 r2=2 r3=2 | b2: r1=6 r2=2", 12)) == {"b1-r1": 6, "b2-r1": 6}


def test_below_a_slice_every_rack_keeps_its_share() -> None:
    """Slices of 4 fix what a rack gets, so that no node of another rack may take it over."""
    pods = split("b1: r1=3,3 r2=3,3 r3=8", 12, units=((RACK, 4),))
    assert per(RACK, pods) == {"b1-r1": 4, "b1-r3": 8}
    assert sum(pods.values()) == 12


def test_a_limit_is_kept_on_every_node() -> None:
    assert split("b1: r1=4,4,4", 3, limits=((HOST, 1),)) == {"b1-r1-1": 1, "b1-r1-2": 1, "b1-r1-3": 1}


def test_reuse_fills_small_leftovers_of_nodes_first() -> None:
    assert split("b1: r1=8,3,2", 5, Style(reuse=True)) == {"b1-r1-2": 3, "b1-r1-3": 2}
    assert split("b1: r1=8,3,2", 5) == {"b1-r1-1": 5}


def test_reuse_does_not_spread_over_more_racks() -> None:
    assert per(RACK, split("b1: r1=8,2,2 r2=2 r3=2", 4, Style(reuse=True))) == {"b1-r1": 4}


def test_small_first_fills_small_domains_at_every_level() -> None:
    assert per(RACK, split("b1: r1=8 r2=3 r3=2", 5, Style(small_first=True))) == {"b1-r2": 3, "b1-r3": 2}


def test_an_even_split_goes_evenly_over_the_fewest_racks() -> None:
    pods = split("b1: r1=8,8 r2=8,8 r3=8,8", 24, Style(even=RACK))
    assert per(RACK, pods) == {"b1-r1": 12, "b1-r2": 12}


def test_an_even_split_over_blocks_survives_the_levels_below() -> None:
    pods = split("b1: r1=8,8 | b2: r1=8,8", 20, Style(even=BLOCK))
    assert per(BLOCK, pods) == {"b1": 10, "b2": 10}


def test_an_even_split_stops_where_a_domain_is_full() -> None:
    assert per(RACK, split("b1: r1=2 r2=9 r3=1", 12, Style(even=RACK))) == {"b1-r1": 2, "b1-r2": 9, "b1-r3": 1}


@pytest.mark.parametrize("even", [BLOCK, RACK])
def test_an_even_split_keeps_slices_whole(even: int) -> None:
    pods = split("b1: r1=8,8 r2=8,8 | b2: r1=8,8 r2=8,8", 36, Style(even=even), units=((RACK, 4),))
    assert all(amount % 4 == 0 for amount in per(RACK, pods).values())
    assert sorted(per(even, pods).values()) in ([16, 20], [12, 12, 12])


# ---- properties ---------------------------------------------------------------------------------------------------


def random_drawing(chance: Random) -> str:
    blocks = []
    for block in range(chance.randint(1, 3)):
        racks = []
        for rack in range(chance.randint(1, 4)):
            sizes = ",".join(str(chance.randint(0, 6)) for _ in range(chance.randint(1, 4)))
            racks.append(f"r{rack}={sizes}")
        blocks.append(f"b{block}: {' '.join(racks)}")
    return " | ".join(blocks)


LAYERED: list[tuple[Layers, Layers]] = [
    ((), ()),
    (((RACK, 2),), ()),
    (((BLOCK, 4), (RACK, 2)), ()),
    ((), ((HOST, 2),)),
    (((RACK, 3),), ((HOST, 2),)),
    ((), ((RACK, 3),)),
]
STYLES = [COMPACT, Style(reuse=True), Style(small_first=True), Style(even=RACK), Style(even=BLOCK), Style(even=HOST)]


@pytest.mark.parametrize("style", STYLES, ids=repr)
@pytest.mark.parametrize(("units", "limits"), LAYERED)
def test_a_split_is_whole_and_within_capacity_at_every_level(units: Layers, limits: Layers, style: Style) -> None:
    for seed in range(40):
        chance = Random(seed)
        draft = Draft.of(snapshot(random_drawing(chance)), "sketch")
        pod = PodShape(Resources.of({GPU: NANO}))
        assert draft.accommodate([pod.requests], "test") is None
        capacity = fit.capacity(draft, draft.shape(pod, bound=True), units, limits)
        step = units[0][1] if units else 1
        room = int(capacity.levels[0][0])
        if not room:
            continue
        quota = chance.randint(1, room // step) * step
        nodes, amounts = descend(draft.tree, capacity, 0, 0, quota, style)
        assert int(amounts.sum()) == quota and (amounts > 0).all()
        for level in range(HOST + 1):
            inside = np.bincount(draft.tree.domain[level][nodes], weights=amounts, minlength=draft.tree.count(level))
            assert (inside <= capacity.levels[level]).all(), (seed, level)
            assert (inside % dict(units).get(level, 1) == 0).all(), (seed, level)


@pytest.mark.parametrize(("units", "limits"), LAYERED)
def test_the_first_level_gets_by_with_the_fewest_domains_there_are(units: Layers, limits: Layers) -> None:
    for seed in range(60):
        chance = Random(seed)
        draft = Draft.of(snapshot(random_drawing(chance)), "sketch")
        pod = PodShape(Resources.of({GPU: NANO}))
        assert draft.accommodate([pod.requests], "test") is None
        capacity = fit.capacity(draft, draft.shape(pod, bound=True), units, limits)
        step = units[0][1] if units else 1
        room = int(capacity.levels[0][0])
        if not room:
            continue
        quota = chance.randint(1, room // step) * step
        nodes, _ = descend(draft.tree, capacity, 0, 0, quota)
        blocks = capacity.levels[BLOCK].tolist()
        fewest = next(n for n in range(1, 4) if any(sum(some) >= quota for some in combinations(blocks, n)))
        assert len(set(draft.tree.domain[BLOCK][nodes].tolist())) == fewest, seed
