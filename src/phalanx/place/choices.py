"""Choices: what a search has assumed so far, and the questions whose answers it must try in turn.

Most requests need none. A rule that counting cannot carry (at least so many groups, an even spread, a pod that
must sit beside another) is turned into a question with finitely many answers, of which at least one holds in every
placement. With every question answered, what is left is exact.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """Answers by key; bounds on single nodes are kept apart because they only ever get tighter."""

    answers: Mapping[Key, Any] = field(default_factory=dict)
    highs: Mapping[tuple[str, int], int] = field(default_factory=dict)  # (pod set, node) -> at most
    lows: Mapping[tuple[str, int], int] = field(default_factory=dict)  # (pod set, node) -> at least

    def answer(self, key: Key, value: Any) -> "Choices":
        return Choices({**self.answers, key: value}, self.highs, self.lows)

    def at_most(self, bounds: Mapping[tuple[str, int], int]) -> "Choices":
        tighter = {cell: min(most, self.highs.get(cell, most)) for cell, most in bounds.items()}
        return Choices(self.answers, {**self.highs, **tighter}, self.lows)

    def at_least(self, cell: tuple[str, int], least: int) -> "Choices":
        return Choices(self.answers, self.highs, {**self.lows, cell: max(least, self.lows.get(cell, 0))})


@dataclass(frozen=True, slots=True)
class Question:
    """Alternatives, at least one of which holds in every placement there is. Tried in order."""

    alternatives: Iterator[Choices]


NOTHING_CHOSEN = Choices()
UNANSWERABLE = Choices({("unanswerable",): True})  # stands for alternatives that cannot be searched: undecided


class Asked(Exception):
    """Building cannot go on before this question is answered. Never leaves the search."""

    def __init__(self, alternatives: Iterator[Choices]) -> None:
        super().__init__()
        self.question = Question(alternatives)
