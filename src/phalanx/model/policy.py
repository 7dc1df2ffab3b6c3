"""Settings of the algorithm as one value: parameters, not flags."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """``candidates``: which of several domains that hold a request comes first: pack (tightest), spread
    (roomiest), balance (tightest, its pods evenly over the fewest domains below).
    ``nodes``: below the chosen level: compact (fewest nodes) or reuse (partly used nodes first).
    ``budget``: work units one decision may spend; counted, so that the same input gives the same answer.
    """

    candidates: str = "pack"
    nodes: str = "compact"
    budget: int = 40_000_000
