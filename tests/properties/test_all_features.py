"""Gangs that ask for everything at once, thousands of them: every answer is right, and there is one.

No crash, no placement that breaks a rule, none missed, nothing called impossible that is not, and nothing undecided.
Placements are judged by ``verify``; refusals by trying everything where the cluster is small enough for that, else by
CP-SAT. To replay a failure: ``drawn(seed, manner)`` with the printed values, and ``policy(seed)``.
"""

import os
from dataclasses import dataclass, field
from math import comb, prod

import pytest

from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.model.decision import Placed, Waiting
from phalanx.model.policy import Policy
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from phalanx.place.verify import verify
from phalanx.testing import brute, oracle
from tests.properties.drawn_gangs import MANNERS, drawn

FIRST = int(os.environ.get("PHALANX_FIRST_SEED", "0"))  # another one: the same test on Gangs nobody tuned for
SEEDS = int(os.environ.get("PHALANX_SEEDS", "500"))  # of each of three manners: 1,500 Gangs
CHUNKS = 5
SAMPLE = 8  # one in so many placements is asked of the other judges as well
TRIED_MOST = 2_000  # placements that trying everything may have to look at; beyond it CP-SAT is quicker


@dataclass
class Tally:
    """What happened in one chunk."""

    wrong: list[str] = field(default_factory=list)
    placed: int = 0
    refused: int = 0


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("manner", MANNERS)
def test_gangs_that_ask_for_everything_are_answered_and_answered_right(manner: str, chunk: int) -> None:
    tally = Tally()
    for seed in range(FIRST + chunk * SEEDS // CHUNKS, FIRST + (chunk + 1) * SEEDS // CHUNKS):
        snapshot, requests = drawn(seed, manner)
        for request in requests:
            _judge(tally, snapshot, request, seed, f"drawn({seed}, {manner!r}) {request.unit or ''}")
    assert not tally.wrong, "\n".join(tally.wrong)
    assert min(tally.placed, tally.refused) > SEEDS // CHUNKS // 10, "where one verdict is rare only half is tested"


def policy(seed: int) -> Policy:
    """The default for half of the seeds; the verdict must be the same under every other."""
    if seed % 2:
        return Policy()
    return Policy(("pack", "spread", "balance")[seed // 2 % 3], ("reuse", "compact")[seed // 6 % 2])


def _judge(tally: Tally, snapshot: Snapshot, request: Request, seed: int, name: str) -> None:
    """Adds one decision to the tally, with a line that names it if it is wrong or none."""
    try:
        decision = decide(Board.of(snapshot), request, policy(seed))
    except Exception as crash:
        tally.wrong.append(f"{name}: {type(crash).__name__}: {str(crash)[:200]}")
        return
    if isinstance(decision, Placed):
        tally.placed += 1
        if broken := verify(snapshot, request, decision.placement):
            tally.wrong.append(f"{name}: placed, but {'; '.join(broken)}")
        elif seed % SAMPLE == 0 and not _possible(snapshot, request):
            tally.wrong.append(f"{name}: placed and verified, but called impossible: who is wrong?")
    elif isinstance(decision, Waiting):
        tally.refused += 1
        possible = _possible(snapshot, request)
        if not decision.proved:
            tally.wrong.append(
                f"{name}: undecided after {decision.work}, it is {'possible' if possible else 'impossible'}"
            )
        elif possible:
            tally.wrong.append(f"{name}: called impossible, but it is possible")
    else:
        tally.wrong.append(f"{name}: called invalid")


def _possible(snapshot: Snapshot, request: Request) -> bool:
    if _tries(snapshot, request) <= TRIED_MOST:
        return brute.feasible(snapshot, request) is not None
    found = oracle.feasible(snapshot, request)
    assert not isinstance(found, oracle.Unknown), "CP-SAT could not tell"
    return found is not None


def _tries(snapshot: Snapshot, request: Request) -> int:
    """Ways to distribute the pods of every set over the nodes."""
    nodes = len(snapshot.nodes)
    return prod(comb(one.count + nodes, nodes) for one in request.root.pod_sets())
