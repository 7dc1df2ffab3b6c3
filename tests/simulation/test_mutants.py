"""Tests of the tests: an engine with a planted mistake is caught by the invariant that is there for it."""

from dataclasses import replace

import pytest

from phalanx.engine.engine import Engine
from phalanx.sim import scenarios
from phalanx.sim.faults import CALM
from phalanx.sim.run import InvariantBroken, run
from tests.simulation import mutants

SEEDS = range(2000, 2012)
BREEZE = replace(CALM, until=scenarios.STORM_SECONDS)  # for one kind of fault


@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        (mutants.DoubleBooking, "in use, and only"),
        (mutants.LostWakeUp, "waits, fits, and nothing moves"),
        (mutants.HalfBind, "has only"),
        (mutants.HalfBegun, "was begun with too few"),
        (mutants.QuotaLeak, "and may use"),
        (mutants.RankSwapped, "come back to a domain|are apart at level"),
        (mutants.RankMistold, "and was told"),
        (mutants.LevelIgnored, "of level|apart at level"),
        (mutants.SliceBroken, "are cut at level"),
        (mutants.SpreadBroken, "spread over at most|and not over|spread unevenly"),
        (mutants.GangForgotten, "is lost"),
    ],
)
def test_a_planted_mistake_is_caught_within_a_few_seeds(mutant: type[mutants.Mutant], said: str) -> None:
    with pytest.raises(InvariantBroken, match=said) as caught:
        for seed in SEEDS:
            run(scenarios.drawn(seed, CALM), mutant)
    assert f"seed {caught.value.seed}, step {caught.value.step}" in str(caught.value)


def test_a_taint_that_is_ignored_is_caught_where_taints_come_and_go() -> None:
    with pytest.raises(InvariantBroken, match="does not tolerate"):
        for seed in SEEDS:
            run(scenarios.drawn(seed, replace(BREEZE, tainted_every=10.0)), mutants.TaintIgnored)


def test_a_lowered_quota_does_not_excuse_those_who_start_afterwards() -> None:
    with pytest.raises(InvariantBroken, match="and may use"):
        for seed in SEEDS:
            run(scenarios.drawn(seed, replace(BREEZE, requota_every=20.0)), mutants.QuotaLeak)


def test_the_engine_between_whom_and_the_world_nobody_lies_is_not_caught() -> None:
    for seed in SEEDS[:5]:
        assert run(scenarios.drawn(seed, CALM), mutants.Mutant) == run(scenarios.drawn(seed, CALM), Engine)
