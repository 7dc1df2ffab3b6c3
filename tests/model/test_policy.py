"""A Policy is what it says, and refuses what it cannot be."""

from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.kube.configuration import Configuration
from phalanx.kube.configuration.parts import Placing
from phalanx.model.policy import BUDGET_MAX, CANDIDATES, NODES, Policy
from phalanx.place.choose import ORDERS


@given(st.sampled_from(CANDIDATES), st.sampled_from(NODES), st.integers(0, BUDGET_MAX))
def test_what_is_allowed_is_taken(candidates: str, nodes: str, budget: int) -> None:
    found = Policy(candidates, nodes, budget)
    assert (found.candidates, found.nodes, found.budget) == (candidates, nodes, budget)


ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()))


@given(st.sampled_from(("candidates", "nodes", "budget")), ANYTHING)
def test_anything_else_is_refused_by_the_name_of_its_field(field: str, value: Any) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= BUDGET_MAX
    allowed = {"candidates": value in CANDIDATES, "nodes": value in NODES, "budget": whole}
    if allowed[field]:
        Policy(**{field: value})
        return
    with pytest.raises((TypeError, ValueError), match=f"Policy.{field}: "):
        Policy(**{field: value})


def test_the_configuration_and_the_search_allow_the_same_words() -> None:
    hints = get_type_hints(Placing)
    assert get_args(hints["candidates"]) == CANDIDATES and get_args(hints["nodes"]) == NODES
    assert set(ORDERS) == set(CANDIDATES)
    assert Configuration().policy() == Policy()


@pytest.mark.parametrize("budget", [0, 1, BUDGET_MAX])
def test_the_limits_of_the_budget_are_allowed_themselves(budget: int) -> None:
    assert Policy(budget=budget).budget == budget
