"""What it costs to find what would help a gang that was refused, against the decision that refused it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from bench import world
from phalanx.engine import decide as engine
from phalanx.engine import whatif
from phalanx.engine.board import Board
from phalanx.model.decision import Decision, Waiting
from phalanx.model.policy import Policy
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot

REPETITIONS = 3
POLICY = Policy()

Value = TypeVar("Value")


@dataclass(frozen=True)
class Row:
    """Milliseconds. ``first``: the first decision about a cluster, as ``place`` and ``explain`` make it; ``again``: one
    more of the same, as of a scheduler that runs; ``ways``: of all that would help, ``found`` of them."""

    full: float
    kind: str
    first: float
    again: float
    ways: float
    found: int


def run(nodes: int, levels: int, full: list[float], kinds: list[str]) -> Iterator[Row]:
    """Of gangs that are refused on clusters as full as that."""
    for share in full:
        picture = world.cluster(nodes, levels, seed=1, full=share)
        for kind in kinds:
            request = world.request(kind, picture.topologies[0], kind)
            first, _ = _best(partial(_first, picture, request))
            board = Board.of(picture)
            again, decision = _best(partial(engine.decide, board, request, POLICY))
            if isinstance(decision, Waiting):
                ways, found = _best(partial(whatif.ways_out, board, decision, POLICY))
                yield Row(share, kind, first, again, ways, len(found))


def _first(picture: Snapshot, request: Request) -> Decision:
    return engine.decide(Board.of(picture), request, POLICY)


def _best(call: Callable[[], Value]) -> tuple[float, Value]:
    return min((_timed(call) for _ in range(REPETITIONS)), key=lambda timed: timed[0])


def _timed(call: Callable[[], Value]) -> tuple[float, Value]:
    start = time.thread_time()
    value = call()
    return (time.thread_time() - start) * 1e3, value
