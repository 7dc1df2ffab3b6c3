"""Which domain comes first: pack, spread, ties by tree order, and a cut that keeps to it."""

import numpy as np
import pytest

from phalanx.place import choose
from phalanx.place.choose import ORDERS


def caps(*numbers: int) -> choose.Ints:
    return np.array(numbers, dtype=np.int64)


def every(number: int) -> np.ndarray:
    return np.ones(number, dtype=bool)


def test_pack_takes_the_tightest_domain_that_holds_the_pods() -> None:
    assert choose.best(caps(9, 3, 5, 4), 4, choose.pack) == 3


def test_spread_takes_the_roomiest_domain() -> None:
    assert choose.best(caps(7, 3, 9, 4), 4, choose.spread) == 2


def test_no_domain_that_holds_the_pods_is_no_choice() -> None:
    assert choose.best(caps(3, 2), 4, choose.pack) == -1


def test_no_domain_at_all_is_no_choice() -> None:
    assert choose.best(caps(), 1, choose.pack) == -1
    assert choose.several(caps(), every(0), 1, choose.pack, 3) == []


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_of_equal_domains_the_first_in_tree_order_comes_first(name: str) -> None:
    order = ORDERS[name]
    assert choose.best(caps(5, 5, 5), 5, order) == 0
    assert choose.several(caps(2, 5, 5, 5), every(4), 5, order, 2) == [1, 2]


def test_several_come_best_first_and_no_more_than_asked() -> None:  # KA-043
    assert choose.several(caps(9, 3, 5, 4, 4), every(5), 4, choose.pack, 3) == [3, 4, 2]
    assert choose.several(caps(9, 3, 5, 4, 4), every(5), 4, choose.spread, 3) == [0, 2, 3]


def test_a_domain_that_is_not_allowed_is_never_chosen() -> None:
    allowed = np.array([True, False, True])
    assert choose.several(caps(5, 4, 6), allowed, 4, choose.pack, 3) == [0, 2]


@pytest.mark.parametrize("order", [choose.pack, choose.spread])
@pytest.mark.parametrize("most", [1, 2, 6])
@pytest.mark.parametrize("seed", range(20))
def test_the_cut_among_many_ties_keeps_to_tree_order(seed: int, most: int, order: choose.Order) -> None:
    """With many candidates only some are sorted; the answer is that of sorting them all."""
    chance = np.random.default_rng(seed)
    numbers = chance.integers(0, 4, size=int(chance.integers(1, 80))).astype(np.int64)
    allowed = chance.random(len(numbers)) < 0.8
    good = [i for i in range(len(numbers)) if allowed[i] and numbers[i] >= 2]
    expected = sorted(good, key=lambda i: int(order(numbers)[i]))[:most]
    assert choose.several(numbers, allowed, 2, order, most) == expected
