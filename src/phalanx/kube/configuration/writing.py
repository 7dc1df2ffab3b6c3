"""A configuration as YAML text with a sentence above each field, and as rows of a table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import cast

import msgspec
from msgspec import inspect

from phalanx.kube.configuration.parts import API_VERSION, KIND, Configuration, Part
from phalanx.model.mistakes import Mistake

WIDTH = 100


def default_text() -> str:
    """The whole configuration with its defaults; read again it changes nothing."""
    return written(Configuration())


def written(configuration: Configuration) -> str:
    """YAML text that ``load`` reads as the same configuration, with what each field is for."""
    lines = [f"apiVersion: {API_VERSION}", f"kind: {KIND}"]
    for one in _fields(Configuration)[2:]:
        lines += ["", *_written(one, configuration, "")]
    return "\n".join(lines) + "\n"


def _written(one: inspect.Field, inside: Part, indent: str) -> list[str]:
    value, kind = getattr(inside, one.name), _bare(one.type)
    if isinstance(kind, inspect.StructType):
        below = [line for each in kind.fields for line in _written(each, value, indent + "  ")]
        return [f"{indent}# {_says(kind)}", f"{indent}{one.encode_name}:", *below]
    return [*_comment(one, indent), f"{indent}{one.encode_name}: {spelt(value)}"]


def _comment(one: inspect.Field, indent: str) -> list[str]:
    allowed = f" ({_allowed(one.type)})" if isinstance(_bare(one.type), inspect.LiteralType) else ""
    return [f"{indent}# {line}" for line in wrap(description(one.type) + allowed, WIDTH - len(indent) - 2)]


def spelt(value: object) -> str:
    """A value as YAML and JSON both write it; whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, tuple):
        return "[" + ", ".join(spelt(entry) for entry in value) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return msgspec.json.encode(value).decode()


_PLAIN = re.compile("[A-Za-z][A-Za-z0-9./-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")  # YAML takes them for something else


# -- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    path: str
    default: str
    allowed: str
    says: str


def rows() -> Iterator[Row]:
    """One row for each field that holds a value, in the order of the printed configuration."""
    yield from _rows(_fields(Configuration)[2:], "", Configuration())


def _rows(fields: tuple[inspect.Field, ...], before: str, inside: Part) -> Iterator[Row]:
    for one in fields:
        path, kind, value = before + one.encode_name, _bare(one.type), getattr(inside, one.name)
        if isinstance(kind, inspect.StructType):
            yield from _rows(kind.fields, f"{path}.", value)
        else:
            yield Row(path, spelt(value), _allowed(one.type), description(one.type))


def _allowed(kind: inspect.Type) -> str:
    match _bare(kind):
        case inspect.LiteralType(values=values):
            return ", ".join(str(value) for value in values)
        case inspect.BoolType():
            return "true, false"
        case inspect.IntType(ge=low, le=high) | inspect.FloatType(ge=low, le=high):
            return f"{spelt(low)} to {spelt(high)}"
        case inspect.VarTupleType(min_length=least):
            return "a list, not empty" if least else "a list"
    return "a text"


# -- types -----------------------------------------------------------------------------------------------------------


def _fields(part: type[Part]) -> tuple[inspect.Field, ...]:
    return cast(inspect.StructType, inspect.type_info(part)).fields


def _bare(kind: inspect.Type) -> inspect.Type:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return kind


def description(kind: inspect.Type) -> str:
    """The sentence about a field."""
    while isinstance(kind, inspect.Metadata):
        if kind.extra_json_schema and "description" in kind.extra_json_schema:
            return str(kind.extra_json_schema["description"])
        kind = kind.type
    raise Mistake(f"nothing is said about {kind}")


def _says(kind: inspect.StructType) -> str:
    return str(kind.cls.__doc__).splitlines()[0]
