"""Settings of the algorithm as one value: parameters, not flags."""

from dataclasses import dataclass
from typing import Final

from phalanx.model.problems import shown

CANDIDATES: Final = ("pack", "spread", "balance")
NODES: Final = ("compact", "reuse")
BUDGET_MAX: Final = 10**12


@dataclass(frozen=True, slots=True)
class Policy:
    """``candidates``: which of several domains that hold a request comes first: pack (tightest), spread
    (roomiest), balance (tightest, its pods evenly over the fewest domains below).
    ``nodes``: below the chosen level: compact (fewest nodes) or reuse (partly used nodes first).
    ``budget``: work units one decision may spend; counted, so that the same input gives the same answer.

    TypeError or ValueError where a value is none of these.
    """

    candidates: str = "pack"
    nodes: str = "compact"
    budget: int = 40_000_000

    def __post_init__(self) -> None:
        _check_word("candidates", self.candidates, CANDIDATES)
        _check_word("nodes", self.nodes, NODES)
        allowed = f"a whole number from 0 to {BUDGET_MAX}"
        if isinstance(self.budget, bool) or not isinstance(self.budget, int):
            raise TypeError(f"Policy.budget: {shown(self.budget)!r} is not {allowed}")
        if not 0 <= self.budget <= BUDGET_MAX:
            raise ValueError(f"Policy.budget: {shown(self.budget)} is not {allowed}")


def _check_word(name: str, given: object, allowed: tuple[str, ...]) -> None:
    message = f"Policy.{name}: {shown(given)!r} is not one of {', '.join(allowed)}"
    if not isinstance(given, str):
        raise TypeError(message)
    if given not in allowed:
        raise ValueError(message)
