"""The exact tier agrees with trying everything, on cases small enough to try everything."""

from itertools import product
from random import Random

import pytest

from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Request, Slice
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, snapshot
from phalanx.place.between import NOTHING_BETWEEN
from phalanx.place.budget import Budget, BudgetSpent
from phalanx.place.build import Builder
from phalanx.place.choices import NOTHING_CHOSEN
from phalanx.place.draft import Draft
from phalanx.place.exact import Exact, Table, maximal
from phalanx.testing import oracle

RACK, HOST = 2, 3


def asking(name: str, count: int, gpus: int, slices: tuple[Slice, ...] = ()) -> PodSet:
    return PodSet(name, count, count, PodShape(Resources.of({GPU: gpus * NANO})), slices)


def exactly(drawing: str, root: Group, budget: int = 10**7) -> dict[str, int] | None:
    """Pods per node over all pod sets, straight from the exact tier; None when it proves there is no place."""
    draft = Draft.of(snapshot(drawing), "sketch")
    request = Request("Gang", "default", "x", root, topology="sketch")
    assert draft.accommodate([s.shape.requests for s in root.pod_sets()], "test") is None
    levels = {g.name: g.required for g in root.groups()}
    counts = {s.name: s.count for s in root.pod_sets()}
    built = Builder(draft, request, NOTHING_BETWEEN, NOTHING_CHOSEN, levels, counts).build()
    found = Exact(draft, built.plan, 0, 0, Budget(budget)).solve()
    if found is None:
        return None
    assert all(int(found[leaf.number][1].sum()) == leaf.count for leaf in built.plan.leaves)
    total: dict[str, int] = {}
    for nodes, numbers in found.values():
        for node, number in zip(nodes.tolist(), numbers.tolist(), strict=True):
            total[draft.tree.names[node]] = total.get(draft.tree.names[node], 0) + number
    return total


def test_the_last_free_device_of_every_node_is_found() -> None:
    root = Group("root", (asking("a", 2, 3), asking("b", 2, 2)))
    assert exactly("b1: r1=5 r2=5", root) == {"b1-r1-1": 2, "b1-r2-1": 2}


def test_what_does_not_fit_is_proved_not_to() -> None:
    assert exactly("b1: r1=5 r2=4", Group("root", (asking("a", 2, 3), asking("b", 2, 2)))) is None


def test_groups_that_need_a_rack_each_leave_room_for_each_other() -> None:
    big = Group("big", (asking("a", 3, 2),), required=RACK)
    small = Group("small", (asking("b", 2, 2),), required=RACK)
    assert exactly("b1: r1=2,4 r2=2,2", Group("root", (small, big))) is not None
    assert exactly("b1: r1=2,2 r2=2,2", Group("root", (small, big))) is None


def test_a_table_that_would_be_too_large_gives_up_instead_of_growing() -> None:
    with pytest.raises(BudgetSpent):
        Table.empty([200, 200, 200, 10**6])


def test_maximal_keeps_exactly_the_vectors_that_no_other_covers() -> None:
    chance = Random(1)
    for _ in range(50):
        vectors = [tuple(chance.randint(0, 3) for _ in range(3)) for _ in range(chance.randint(1, 12))]
        kept = maximal(vectors)
        covered = [
            v for v in set(vectors) if any(v != w and all(a <= b for a, b in zip(v, w, strict=True)) for w in vectors)
        ]
        assert sorted(kept) == sorted(set(vectors) - set(covered))


def test_merged_children_hold_every_sum_of_what_each_holds() -> None:
    chance = Random(2)
    for _ in range(40):
        most = [chance.randint(1, 4) for _ in range(3)]
        children = [
            maximal([tuple(chance.randint(0, 2) for _ in range(3)) for _ in range(chance.randint(1, 3))])
            for _ in range(chance.randint(1, 3))
        ]
        table = Table.empty(most)
        for vectors in children:
            table = table.plus(vectors)
        for wanted in product(*(range(m + 1) for m in most)):
            reachable = any(
                all(sum(v[i] for v in picks) >= wanted[i] for i in range(3)) for picks in product(*children)
            )
            assert table.reaches(list(wanted)) == reachable


@pytest.mark.parametrize("chunk", range(3))
def test_the_exact_tier_agrees_with_the_oracle(chunk: int) -> None:
    verdicts = {True: 0, False: 0}
    for seed in range(chunk * 40, chunk * 40 + 40):
        chance = Random(seed)
        drawing = (
            f"b1: r1={chance.randint(1, 6)},{chance.randint(1, 6)} r2={chance.randint(1, 6)} r3={chance.randint(1, 4)}"
        )
        kids = tuple(
            Group(
                f"g{i}",
                (asking(f"p{i}", chance.randint(1, 3), chance.randint(1, 3)),),
                required=chance.choice((None, RACK, HOST)),
            )
            for i in range(chance.randint(1, 3))
        )
        size = chance.choice((1, 2))
        loose = asking("q", size * chance.randint(1, 2), chance.randint(1, 2), (Slice(RACK, size),) if size > 1 else ())
        root = Group("root", (*kids, loose))
        truth = oracle.feasible(snapshot(drawing), Request("Gang", "default", "x", root, topology="sketch"))
        found = exactly(drawing, root)
        assert (found is None) == (truth is None), f"seed {seed}: {drawing} {root}"
        verdicts[found is not None] += 1
    assert min(verdicts.values()) > 3
