"""Several shapes on the nodes of one domain: what prices place fits, and what they refuse has no place."""

from itertools import product
from random import Random

import pytest

from phalanx.model.nodes import PodShape
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, snapshot
from phalanx.place import prices
from phalanx.place.budget import Budget
from phalanx.place.draft import Draft
from phalanx.place.plan import Leaf

CPU = "cpu"


def asked(draft: Draft, *wants: tuple[int, int, int]) -> list[Leaf]:
    """Leaves by (count, devices, cpus)."""
    pods = [PodShape(Resources.of({GPU: gpus * NANO, CPU: cpus * NANO})) for _, gpus, cpus in wants]
    assert draft.accommodate([pod.requests for pod in pods], "test") is None
    return [
        Leaf(i, count, draft.shape(pod, bound=True), (f"p{i}",))
        for i, ((count, _, _), pod) in enumerate(zip(wants, pods, strict=True))
    ]


def possible(rooms: list[int], wants: list[tuple[int, int, int]]) -> bool:
    """By trying everything; cpus never bind on a drawn cluster of this size."""
    if not rooms:
        return not any(count for count, _, _ in wants)
    for taken in product(*(range(count + 1) for count, _, _ in wants)):
        if sum(n * gpus for n, (_, gpus, _) in zip(taken, wants, strict=True)) <= rooms[0]:
            rest = [(count - n, gpus, cpus) for n, (count, gpus, cpus) in zip(taken, wants, strict=True)]
            if possible(rooms[1:], rest):
                return True
    return False


def settle(rooms: list[int], wants: list[tuple[int, int, int]]) -> str:
    draft = Draft.of(snapshot(f"b1: r1={','.join(map(str, rooms))}"), "sketch")
    leaves = asked(draft, *wants)
    verdict, found = prices.settle(draft, leaves, 0, len(rooms), Budget(10**7))
    assert (verdict == "placed") == (found is not None)
    if found is not None:
        left = list(rooms)
        for leaf, (count, gpus, _) in zip(leaves, wants, strict=True):
            nodes, numbers = found.get(leaf.number, ([], []))
            assert sum(numbers) == count
            for node, number in zip(nodes, numbers, strict=True):
                left[node] -= number * gpus
        assert min(left) >= 0
    return verdict


def test_shapes_that_only_fit_crosswise_are_placed() -> None:
    assert settle([5, 4], [(1, 3, 1), (1, 2, 1), (2, 2, 1)]) == "placed"


def test_more_than_the_nodes_hold_is_refused() -> None:
    assert settle([3, 3], [(2, 2, 1), (2, 2, 2)]) == "impossible"


@pytest.mark.parametrize("chunk", range(4))
def test_verdicts_agree_with_trying_everything(chunk: int) -> None:
    verdicts: dict[str, int] = {}
    for seed in range(chunk * 60, chunk * 60 + 60):
        chance = Random(seed)
        rooms = [chance.randint(0, 7) for _ in range(chance.randint(1, 3))]
        wants = [(chance.randint(1, 3), gpus, 1) for gpus in chance.sample((1, 2, 3, 4, 5), chance.randint(2, 3))]
        verdict = settle(rooms, wants)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        if verdict != "undecided":
            assert (verdict == "placed") == possible(rooms, wants), f"seed {seed}: {rooms} {wants}"
    assert verdicts["placed"] > 5 and verdicts["impossible"] > 5


def test_a_budget_that_is_spent_is_never_passed() -> None:
    from phalanx.place.budget import BudgetSpent

    budget = Budget(30)
    draft = Draft.of(snapshot("b1: r1=8*6"), "sketch")
    with pytest.raises(BudgetSpent):
        prices.settle(draft, asked(draft, (9, 1, 1), (9, 3, 1)), 0, 6, budget)
    assert budget.spent <= 30
