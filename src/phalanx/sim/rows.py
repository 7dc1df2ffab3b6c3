"""Rows of text files that others wrote: every value is asked for by name, and a bad one is told with its line."""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from phalanx.model import resources
from phalanx.model.problems import Problem, shown

MISSING = "is missing"


class BadRow(ValueError):
    """What is wrong in which line, for a person."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line, self.message = line, message


@dataclass(frozen=True, slots=True)
class Row:
    """One row: texts by column name. An empty text counts as not written."""

    line: int
    values: Mapping[str, str]

    def text(self, name: str, default: str | None = None) -> str:
        found = self.values.get(name, "").strip()
        return found or self._usual(name, default)

    def number(self, name: str, default: float | None = None) -> float:
        """A number from 0 up."""
        text = self.text(name, None if default is None else str(default))
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not (math.isfinite(found) and found >= 0):
            raise self.wrong(name, f"{shown(text)!r} is not a number from 0 up")
        return found

    def whole(self, name: str, default: int | None = None, least: int = 0) -> int:
        found = self.number(name, default)
        if found != int(found) or found < least:
            raise self.wrong(name, f"{shown(self.text(name))!r} is not a whole number from {least} up")
        return int(found)

    def quantity(self, name: str, default: str | None = None) -> int:
        """Nano-units of an amount such as 500m or 16Gi."""
        found = resources.parse(self.text(name, default), name)
        if isinstance(found, Problem):
            raise self.wrong(name, found.message)
        return found

    def wrong(self, name: str, message: str) -> BadRow:
        return BadRow(self.line, f"{name}: {message}")

    def _usual(self, name: str, default: str | None) -> str:
        if default is None:
            raise self.wrong(name, MISSING)
        return default


def table(lines: Iterable[str], needed: Iterable[str] = ()) -> Iterator[Row]:
    """The rows of a CSV whose first line names the columns; empty lines are passed over."""
    reader = csv.reader(lines, strict=True)
    columns: list[str] | None = None
    try:
        for fields in reader:
            if not any(fields):
                continue
            if columns is None:
                columns = _columns(fields, needed)
                continue
            yield _row(reader.line_num, columns, fields)
    except csv.Error as error:
        raise BadRow(reader.line_num, f"is no CSV: {error}") from None
    if columns is None:
        raise BadRow(1, "there is nothing in it; the first line names the columns")


def _columns(fields: list[str], needed: Iterable[str]) -> list[str]:
    columns = [field.strip() for field in fields]
    lacking = [name for name in needed if name not in columns]
    if lacking:
        raise BadRow(1, f"there is no column {', '.join(lacking)}; the columns are {shown(', '.join(columns))}")
    if len(set(columns)) < len(columns):
        raise BadRow(1, "two columns have one name")
    return columns


def _row(line: int, columns: list[str], fields: list[str]) -> Row:
    if len(fields) != len(columns):
        raise BadRow(line, f"has {len(fields)} values for {len(columns)} columns")
    return Row(line, dict(zip(columns, fields, strict=True)))
