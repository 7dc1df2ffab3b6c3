"""The solver of whole numbers under linear rules agrees with trying every value, and stops where its budget ends."""

from itertools import product
from random import Random

import pytest

from phalanx.place.budget import Budget, BudgetSpent
from phalanx.place.numbers import Numbers

Rule = tuple[list[tuple[int, int]], int]
Ranges = list[tuple[int, int]]

PLENTY = 100_000_000


def some_rules(seed: int) -> tuple[Ranges, list[Rule]]:
    """Small numbers of which there are to be so many in all, and rules that keep them small."""
    chance = Random(seed)
    ranges = [(0, chance.choice((1, 1, 2, 3))) for _ in range(chance.randint(6, 8))]
    rules: list[Rule] = []
    for _ in range(chance.randint(len(ranges), 4 * len(ranges))):
        terms = [(chance.choice((-2, -1, 1, 1, 2)), x) for x in chance.sample(range(len(ranges)), 3)]
        low = sum(factor * ranges[x][1] for factor, x in terms if factor < 0)
        high = sum(factor * ranges[x][1] for factor, x in terms if factor > 0)
        rules.append((terms, low + max((high - low) * chance.randint(5, 8) // 10, 1)))
    wanted = sum(high for _, high in ranges) * chance.randint(1, 4) // 8
    return ranges, [*rules, ([(-1, x) for x in range(len(ranges))], -wanted)]


def kept(rules: list[Rule], values: tuple[int, ...] | list[int]) -> bool:
    return all(sum(factor * values[x] for factor, x in terms) <= most for terms, most in rules)


@pytest.mark.parametrize("chunk", range(4))
def test_values_are_found_wherever_there_are_some_and_only_there(chunk: int) -> None:
    possible = learnt = 0
    for seed in range(chunk * 150, chunk * 150 + 150):
        ranges, rules = some_rules(seed)
        numbers = Numbers(Budget(PLENTY))
        for low, high in ranges:
            numbers.number(low, high)
        for terms, most in rules:
            numbers.at_most(terms, most)
        found = numbers.solve()
        there_is_one = any(kept(rules, values) for values in product(*(range(a, b + 1) for a, b in ranges)))
        assert (found is not None) == there_is_one, f"seed {seed}"
        if found is not None:
            assert kept(rules, found), f"seed {seed}"
            assert all(low <= value <= high for value, (low, high) in zip(found, ranges, strict=True)), f"seed {seed}"
        possible += there_is_one
        learnt += len(numbers.clauses)
    assert 30 < possible < 120, "one verdict alone tests half of it"
    assert learnt, "where nothing has to be learnt, learning is not tested"


def hard(budget: Budget) -> Numbers:
    """Forty numbers of 0 or 1 under rules that leave no value, which takes some hundred conflicts to see."""
    chance = Random(11)
    numbers = Numbers(budget)
    for _ in range(40):
        numbers.number(0, 1)
    for _ in range(230):
        terms = [(chance.choice((-1, 1)), x) for x in chance.sample(range(40), 3)]
        numbers.at_most(terms, sum(factor > 0 for factor, _ in terms) - 1)
    return numbers


def test_that_there_is_no_value_is_proved_by_what_conflicts_teach() -> None:
    numbers = hard(Budget(PLENTY))
    assert numbers.solve() is None
    assert len(numbers.clauses) > 10


def test_a_search_that_costs_more_than_its_budget_is_no_proof() -> None:
    budget = Budget(PLENTY)
    hard(budget).solve()
    with pytest.raises(BudgetSpent):
        hard(short := Budget(budget.spent // 2)).solve()
    assert short.spent <= short.limit


@pytest.mark.parametrize(("given", "least"), [(0, 0), (1, 2)])
def test_a_rule_with_a_condition_holds_where_the_condition_does(given: int, least: int) -> None:
    numbers = Numbers(Budget(PLENTY))
    condition, value = numbers.number(given, given), numbers.number(0, 5)
    numbers.at_most_if([(-1, value)], -2, condition)
    found = numbers.solve()
    assert found is not None and found[value] == least


def test_a_hint_is_taken_where_nothing_speaks_against_it() -> None:
    numbers = Numbers(Budget(PLENTY))
    free, bound = numbers.number(0, 9), numbers.number(0, 9)
    numbers.hint[free] = numbers.hint[bound] = 7
    numbers.at_most([(1, bound)], 4)
    assert numbers.solve() == [7, 4]


def test_a_number_without_values_makes_everything_impossible() -> None:
    numbers = Numbers(Budget(PLENTY))
    numbers.number(3, 2)
    assert numbers.solve() is None
