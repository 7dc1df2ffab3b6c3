"""Decisions by way of trial, out of one budget that is a share of what the refusal before them could cost."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from phalanx.engine.board import Board
from phalanx.engine.decide import attempt
from phalanx.model.decision import Waiting
from phalanx.model.policy import Policy
from phalanx.model.request import Request

SHARE = 24  # all tries together may cost one part in so many of what a decision may,
TIMES = 4  # or four times what this one spent on its search: to say why it was refused cost as much again
PER_MEMBER = 50  # budget units for each group and pod set of a request that is made and looked through once more
PER_NODE = 400  # and for each node of a board that is made anew


@dataclass(slots=True)
class Tries:
    """``left`` of the budget, of which ``kept`` is for what is tried later."""

    policy: Policy
    left: int
    kept: int = 0

    @classmethod
    def after(cls, waiting: Waiting, policy: Policy) -> "Tries":
        """Those that a refusal may cost."""
        return cls(policy, min(policy.budget, max(policy.budget // SHARE, TIMES * waiting.work)))

    @property
    def is_spent(self) -> bool:
        return self.left <= self.kept

    @contextmanager
    def share(self, parts: int) -> Iterator[None]:
        """Of what is left one part in so many may be spent inside."""
        before, self.kept = self.kept, self.left - (self.left - self.kept) // parts
        try:
            yield
        finally:
            self.kept = before

    def spend(self, work: int) -> None:
        self.left -= work

    def places(self, board: Board, request: Request) -> bool:
        """Whether the request has a place there; no, when it is too dear to find out."""
        if self.is_spent:
            return False
        answer = attempt(board, request, replace(self.policy, budget=self.left - self.kept))
        members = sum(1 + len(group.members) for group in request.root.groups())
        self.spend(max(answer.work, members * PER_MEMBER, 1))
        return answer.placement is not None
