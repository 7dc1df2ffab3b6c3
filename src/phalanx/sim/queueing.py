"""Queues for everybody: a trace or a scenario may name queues that nobody described."""

from collections.abc import Iterable
from dataclasses import replace

from phalanx.model.queues import Queue, Queues
from phalanx.sim.submission import Submission


def for_all(queues: Queues, given: Iterable[Submission]) -> Queues:
    """The queues, and one without limits for each other name that a submission asks for."""
    named = sorted({one.request.queue for one in given} - queues.queues.keys())
    missing = {name: Queue(name) for name in named if queues.named(name) is None}
    return replace(queues, queues={**queues.queues, **missing}) if missing else queues
