"""A trace, a cluster and some policies: each policy gets the same world, from the beginning."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from phalanx.engine.engine import Engine
from phalanx.model.policy import Policy
from phalanx.sim import report
from phalanx.sim.drive import drive
from phalanx.sim.journal import Journal
from phalanx.sim.room import Room
from phalanx.sim.submission import Submission
from phalanx.sim.worlds import Site

POLICIES = ("pack", "spread", "balance")
Tell = Callable[[str, int], None]  # the policy, and how many gangs are done


def simulate(
    site: Site, given: Sequence[Submission], policies: Sequence[str], seed: int = 0, tell: Tell | None = None
) -> list[tuple[str, Journal]]:
    """What happened under each policy."""
    return [(policy, _run(site, given, policy, seed, tell)) for policy in policies]


def _run(site: Site, given: Sequence[Submission], policy: str, seed: int, tell: Tell | None) -> Journal:
    journal = Journal(room(site))
    told = None if tell is None else lambda done: tell(policy, done)
    drive(Engine(Policy(candidates=policy)), site.snapshot, given, journal, seed, told)
    return journal


def room(site: Site) -> Room:
    """The empty cluster, counted in what people look at first."""
    return Room(site.snapshot, site.topology, report.usual_resource(site.snapshot.nodes))


def sooner(given: Sequence[Submission], factor: float) -> list[Submission]:
    """The same gangs in less time: ``factor`` 10 makes ten days of arrivals one, and the cluster as much busier."""
    return [replace(one, at=one.at / factor) for one in given]
