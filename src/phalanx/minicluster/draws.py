"""Chance that comes from a seed: what is drawn depends on the seed and on what it is drawn for, and on nothing else.

So the same cluster draws the same, and one more pod changes nothing that others draw.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeVar

from phalanx.minicluster.documents import LETTERS

Span = tuple[float, float]  # from, to
T = TypeVar("T")


class Draws:
    """``what`` it is for names a draw: the same words, the same result."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def share(self, *what: object) -> float:
        """From 0 up to 1."""
        return int.from_bytes(self._bytes(what)[:7], "big") / 2**56

    def within(self, span: Span, *what: object) -> float:
        """Somewhere in the span."""
        least, most = span
        return least if least == most else least + (most - least) * self.share(*what)

    def shuffled(self, given: Iterable[T], *what: object) -> list[T]:
        """The same things in a drawn order."""
        listed = list(given)
        return [listed[number] for number in sorted(range(len(listed)), key=lambda number: self.share(*what, number))]

    def suffix(self, *what: object) -> str:
        """Five letters, as they end a generated name."""
        return "".join(LETTERS[byte % len(LETTERS)] for byte in self._bytes(what)[:5])

    def uid(self, *what: object) -> str:
        """A uid in the form of a random UUID."""
        word = self._bytes(what).hex()
        return f"{word[:8]}-{word[8:12]}-4{word[13:16]}-a{word[17:20]}-{word[20:32]}"

    def _bytes(self, what: tuple[object, ...]) -> bytes:
        return blake2b("\0".join(map(str, (self._seed, *what))).encode(), digest_size=16).digest()
