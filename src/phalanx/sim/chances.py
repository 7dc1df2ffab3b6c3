"""Chance from a seed: one source per concern, so that asking one more question of one does not change the others."""

from random import Random


class Chances:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._sources: dict[str, Random] = {}

    def of(self, concern: str) -> Random:
        """The source of one concern. Seeded by text, which gives the same numbers under any hash seed."""
        if concern not in self._sources:
            self._sources[concern] = Random(f"{self.seed}/{concern}")
        return self._sources[concern]
