"""Many small worlds in which everything goes wrong that can. Every invariant is judged after every step.

A failure names its seed: ``make soak SEED=<seed> DURATION=1s`` runs it again.
"""

import pytest

from phalanx.engine.engine import Engine
from phalanx.sim import scenarios
from phalanx.sim.faults import CALM, Faults, stormy
from phalanx.sim.run import InvariantBroken, Result, run

BATCH = 10
STORMY = range(0, 300, BATCH)
QUIET = range(1000, 1020, BATCH)


@pytest.mark.parametrize("first", STORMY)
def test_whatever_goes_wrong_every_invariant_holds_after_every_step(first: int) -> None:
    # W-003, W-046, W-134, K-070, X-46, X-52
    results, failures = _all(first, stormy(scenarios.STORM_SECONDS))
    assert not failures, "\n".join(failures)
    assert sum(result.steps for result in results) > 100 * BATCH  # else the worlds are empty, and show nothing


@pytest.mark.parametrize("first", QUIET)
def test_with_no_faults_every_gang_that_fits_ends(first: int) -> None:
    results, failures = _all(first, CALM)
    assert not failures, "\n".join(failures)
    assert all(result.ended["finished"] and result.leaders == 1 for result in results)


def test_the_same_seed_is_the_same_run() -> None:
    assert _course(7) == _course(7)
    assert _course(7) != _course(9)


def _all(first: int, faults: Faults) -> tuple[list[Result], list[str]]:
    """The worlds of a batch, every one of them: what they did, or what was broken."""
    results: list[Result] = []
    failures: list[str] = []
    for seed in range(first, first + BATCH):
        try:
            results.append(run(scenarios.drawn(seed, faults), Engine))
        except InvariantBroken as broken:
            failures.append(str(broken))
    return results, failures


def _course(seed: int) -> Result:
    return run(scenarios.drawn(seed), Engine)
