"""A trace, a cluster and some policies: each policy gets the same world, from the beginning."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from phalanx.engine.engine import Engine, OnDecision
from phalanx.model.policy import Policy
from phalanx.sim import report
from phalanx.sim.breakage import NONE
from phalanx.sim.drive import drive
from phalanx.sim.journal import Journal
from phalanx.sim.room import Room
from phalanx.sim.submission import Submission
from phalanx.sim.worlds import Site

POLICIES = ("pack", "spread", "balance")
Tell = Callable[[str, int], None]  # the policy, and how many gangs are done


def simulate(
    site: Site,
    given: Sequence[Submission],
    policies: Sequence[str],
    seed: int = 0,
    tell: Tell | None = None,
    faults: str = NONE,
    on_decision: OnDecision | None = None,
) -> list[tuple[str, Journal]]:
    """What happened under each policy. ``on_decision`` is shown every decision of each of them, as it is made."""
    runs: list[tuple[str, Journal]] = []
    for policy in policies:
        engine, journal = Engine(Policy(candidates=policy), on_decision=on_decision), Journal(room(site))
        drive(engine, site.snapshot, given, journal, seed, _told(policy, tell), faults=faults)
        runs.append((policy, journal))
    return runs


def _told(policy: str, tell: Tell | None) -> Callable[[int], None] | None:
    return None if tell is None else lambda done: tell(policy, done)


def room(site: Site) -> Room:
    """The empty cluster, counted in what people look at first."""
    return Room(site.snapshot, site.topology, report.usual_resource(site.snapshot.nodes))


def sooner(given: Sequence[Submission], factor: float) -> list[Submission]:
    """The same gangs in less time: ``factor`` 10 makes ten days of arrivals one, and the cluster as much busier."""
    return [replace(one, at=one.at / factor) for one in given]
