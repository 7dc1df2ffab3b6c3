"""Counted work: one decision may do so much and no more, on any machine."""


class BudgetSpent(Exception):
    """The search stopped because its budget is spent. Says nothing about whether a placement exists."""


class Budget:
    """Work units left. A unit is roughly one cell of an array or one step of a loop."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self, units: int) -> None:
        """Books the work *before* it is done, so that the limit is never passed."""
        if self.spent + units > self.limit:
            raise BudgetSpent
        self.spent += units

    def portion(self, share: float) -> "Budget":
        """A smaller budget for one attempt; what it spends is booked by ``absorb``."""
        return Budget(int((self.limit - self.spent) * share))

    def absorb(self, part: "Budget") -> None:
        self.spent += part.spent
