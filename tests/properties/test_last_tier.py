"""The last tier alone, without any tier before it, agrees with the oracle on all families and on all features at once.

It writes down every rule of docs/semantics.md by itself, so it is held to them by itself: elsewhere it is only asked
what the other tiers leave open.
"""

import pytest

from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.place import between
from phalanx.place.budget import Budget
from phalanx.place.build import whole_range
from phalanx.place.draft import Draft
from phalanx.place.formulate import Formulation
from phalanx.testing import brute, oracle
from tests.properties.drawn_gangs import MANNERS, drawn
from tests.properties.instances import FAMILIES, instance

SEEDS = 10  # of each family, random and tight
DRAWN = 60  # of each manner
PLENTY = 400_000_000


def pods_by_numbers(snapshot: Snapshot, request: Request) -> dict[str, dict[str, int]] | None:
    draft = Draft.of(snapshot, request.topology)
    sets = tuple(request.root.pod_sets())
    assert draft.accommodate([one.shape.requests for one in sets], "") is None
    for one in sets:
        draft.shape(one.shape, bound=False)  # host ports may bring rows of their own
    levels = {group.name: group.required for group in request.root.groups()}
    ranges = {one.name: whole_range(one) for one in sets}
    rules = between.read(draft, sets)
    solved = Formulation(draft, request, rules, levels, ranges, {}, Budget(PLENTY)).solve({})
    if solved is None:
        return None
    return {name: {draft.tree.names[n]: count for n, count in at.items()} for name, at in solved.pods.items()}


def agrees(snapshot: Snapshot, request: Request) -> bool:
    """Whether it says what the oracle says, and what it places keeps every rule as brute force reads them."""
    found, truth = pods_by_numbers(snapshot, request), oracle.feasible(snapshot, request)
    if found is None or truth is None:
        return found is None and truth is None
    return brute.valid(snapshot, request, found)


@pytest.mark.parametrize("tight", [False, True], ids=["random", "tight"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_tier_alone_agrees_with_the_oracle(family: str, tight: bool) -> None:
    wrong = [seed for seed in range(SEEDS) if not agrees(*instance(seed, family, tight))]
    assert not wrong, f"instance(seed, {family!r}, {tight}) for seeds {wrong}"


@pytest.mark.parametrize("manner", MANNERS)
def test_the_last_tier_alone_agrees_with_the_oracle_on_gangs_that_ask_for_everything(manner: str) -> None:
    cases = [(seed, *drawn(seed, manner)) for seed in range(DRAWN)]
    wrong = [seed for seed, snapshot, requests in cases if not all(agrees(snapshot, r) for r in requests)]
    assert not wrong, f"drawn(seed, {manner!r}) for seeds {wrong}"
