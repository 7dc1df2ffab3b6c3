"""How one gang wants to be treated over time: the decoration of its Request that placement does not look at."""

from dataclasses import dataclass

SCHEDULE_SECONDS = 60.0
READY_SECONDS = 600.0
RECOVERY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Rules:
    """Times in seconds. Three clocks, each with its own beginning (X-32).

    ``schedule``: from the first pod released until its minimum is bound; ``ready``: from then until its minimum is
    ready; ``recovery``: from the loss that took it below its minimum until it is back.
    ``on_failure``: None (late and replacement pods wait until the whole set is there again), ReplacePod (each is
    placed as it comes) or RestartGang (one failure evicts all). ``disruption``: who goes together when evicted.
    """

    enforcement: str = "Bind"  # Bind | Gate
    schedule: float = SCHEDULE_SECONDS
    ready: float = READY_SECONDS
    recovery: float = RECOVERY_SECONDS
    on_failure: str = "ReplacePod"  # None | ReplacePod | RestartGang
    disruption: str = "Gang"  # Pod | Group | Gang
    preemptible: bool = True
    expected_duration: float | None = None
