"""Numbers of the loop that are no business of a single gang."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Seconds. ``bind_again``: a bind without an answer is asked for again; it is safe to repeat.

    ``bind_tries``: refusals of one pod before the whole gang is released. ``backoff``, ``backoff_most``: the wait
    after a first failure, doubled with each further one, and its bound; jitter adds up to half of it.

    ``pods_grace``: how long pods may be missing before anybody is told, and between two times it is. Controllers make
    some twenty pods a second, so most gangs are complete by then, and a large one is told of now and then (W-019).
    """

    bind_again: float = 5.0
    bind_tries: int = 3
    backoff: float = 1.0
    backoff_most: float = 60.0
    pods_grace: float = 10.0
    suspension: float = 15.0  # so long a maker may take to be seen suspended; then pods are deleted one by one
    succession: float = 10.0  # so long a pod that was placed for a gang is no member of another one of its name
    starving: float = 3600.0  # who has waited this long is passed by nobody any more
