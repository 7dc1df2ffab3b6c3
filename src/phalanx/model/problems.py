"""A Problem: what is wrong with an input, where, and what would be right."""

from dataclasses import dataclass, field, replace
from typing import Any

from phalanx.model.objects import ObjectKey

_SHOWN_MAX = 120  # characters of a value that a message repeats; enough to find it, too few to flood a terminal


@dataclass(frozen=True, slots=True)
class Place:
    """Where a person finds it: ``train.yaml, document 2, line 14``. Both count from 1; ``line`` None: not known."""

    file: str
    document: int
    line: int | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        return f"{self.file}, document {self.document}{line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: field path, the value found, what is allowed, and a sentence.

    ``allowed`` is empty when no finite list of good values exists; the message then says the rule. A range of numbers
    is one entry: ``1 or more``. ``about``: the object in which the field is, where the Problem is told of another one.
    ``place``: where that is written, where files were read.
    """

    field: str = field(metadata={"key": "path"})
    value: Any
    allowed: tuple[str, ...]
    message: str
    about: ObjectKey | None = None
    place: Place | None = None

    @property
    def path(self) -> str:
        """Where it is, as people read it: ``spec.count``, ``Node/n1: spec.taints[0]``, or ``Node/n1`` for all of it."""
        if self.about is None:
            return self.field
        return f"{self.about.title}: {self.field}" if self.field else self.about.title

    def told_of(self, key: ObjectKey) -> "Problem":
        """The same, told of somebody else than the object in which it is."""
        return self if self.about is not None else replace(self, about=key)

    def told_on(self, key: ObjectKey) -> "Problem":
        """The same, told on this object: it says nothing of itself that is clear there."""
        return replace(self, about=None) if self.about == key else self

    def __str__(self) -> str:
        return ": ".join(map(str, filter(None, (self.place, self.path, self.message))))


def shown(value: object) -> str | int | float | bool | None:
    """A short, harmless stand-in for any value: scalars as they are, long or strange ones shortened.

    Documents are untrusted: printing a list nested ten thousand deep or an integer of a million digits would
    itself fail, so a Problem never carries one.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = value if len(value) <= _SHOWN_MAX else value[:_SHOWN_MAX] + "..."
        return text.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return int(value) if value.bit_length() <= 256 else "a number of more than 77 digits"
    if isinstance(value, float):
        return value if value - value == 0 else str(float(value))
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else f"a value of type {type(value).__name__}"
