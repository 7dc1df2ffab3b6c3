"""Values of the model as plain JSON values, and back.

Both ways follow the types of the fields, so a field that the model gets tomorrow is recorded tomorrow. Only what is
empty (None, no entries) is left out, never what equals a default: defaults change, and a record must not change with
them. A field that is absent takes the default of today only where it cannot be empty, because then the record is older
than the field.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from phalanx.model import resources
from phalanx.model.problems import shown
from phalanx.model.request import Group, PodSet
from phalanx.model.resources import Resources

_MEMBER = {Group, PodSet}


class BadRecord(Exception):
    """The text is no record: where it goes wrong, and how."""


@dataclass(frozen=True, slots=True)
class _Field:
    """``omitted``: what its absence means; MISSING where it is never left out, ``default`` then helps older records."""

    name: str
    key: str
    kind: Any
    omitted: Any
    default: Any


@cache
def _fields(kind: type) -> tuple[_Field, ...]:
    hints = get_type_hints(kind)
    return tuple(
        _Field(one.name, _key(one), hints[one.name], omitted(hints[one.name]), one.default) for one in fields(kind)
    )


def _key(one: Field[Any]) -> str:
    """What a field is called in a record: as it was when it had another name, if its metadata say so."""
    return str(one.metadata.get("key", camel(one.name)))


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def omitted(kind: Any) -> Any:
    """The value of this type that is left out, so that absence means it; MISSING when all are written."""
    if NoneType in get_args(kind):
        return None
    if kind is Resources:
        return Resources()
    return {tuple: (), Mapping: {}}.get(get_origin(kind), MISSING)


# -- writing -----------------------------------------------------------------------------------------------------


def written(value: Any, leave: tuple[str, ...] = ()) -> Any:
    """A value of the model as dicts, lists and scalars, but for the fields to ``leave`` out."""
    if isinstance(value, Resources):
        return {name: _spelled(name, nano) for name, nano in value}
    if is_dataclass(value):
        kept = [one for one in _fields(type(value)) if one.name not in leave]  # type: ignore[arg-type]
        found = [(one, getattr(value, one.name)) for one in kept]
        return {one.key: _written_field(one, inner) for one, inner in found if not _is_omitted(one, inner)}
    if isinstance(value, Mapping):
        return _written_mapping(value)
    if isinstance(value, tuple):
        return [written(inner) for inner in value]
    return value


def _is_omitted(one: _Field, value: Any) -> bool:
    return one.omitted is not MISSING and bool(value == one.omitted)


def _written_field(one: _Field, value: Any) -> Any:
    if one.kind is Any:  # what a user wrote, in a Problem
        return value if _is_scalar(value) else shown(value)
    return written(value)


def _written_mapping(value: Mapping[Any, Any]) -> Any:
    """An object; where keys are more than text a list of pairs, sorted as the keys of an object will be."""
    if all(isinstance(key, str) for key in value):
        return {key: written(inner) for key, inner in value.items()}
    return [[written(key), written(inner)] for key, inner in sorted(value.items())]


def _spelled(name: str, nano: int) -> str | int:
    """The quantity as people write it; the bare nano-units where no quantity says exactly this."""
    text = resources.show(name, nano)
    return text if resources.parse(text, name) == nano else nano


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


# -- reading -----------------------------------------------------------------------------------------------------


def built(kind: Any, found: Any, path: str, **given: Any) -> Any:
    """The value of type ``kind`` that was written as ``found``; ``given`` are fields that come from elsewhere."""
    if kind in _SCALARS:
        return _SCALARS[kind](found, path)
    origin = get_origin(kind)
    if origin in (UnionType, Union):
        return _built_one_of(get_args(kind), found, path)
    if origin is tuple:
        return _built_tuple(get_args(kind), found, path)
    if origin is Mapping:
        return _built_mapping(get_args(kind), found, path)
    if issubclass(kind, tuple):  # one with named entries
        return kind(*_built_tuple(tuple(get_type_hints(kind).values()), found, path))
    return _built_enum(kind, found, path) if issubclass(kind, Enum) else _built_value(kind, found, path, given)


def _built_value(kind: type, found: Any, path: str, given: dict[str, Any]) -> Any:
    expect(found, dict, "an object", path)
    read = [one for one in _fields(kind) if one.name not in given]
    unknown = found.keys() - {one.key for one in read}
    if unknown:
        raise BadRecord(f"{path}: the field {min(unknown)[:80]!r} is not known to this version")
    return kind(**{one.name: _built_field(one, found, path) for one in read}, **given)


def _built_field(one: _Field, found: dict[str, Any], path: str) -> Any:
    if one.key in found:
        return built(one.kind, found[one.key], f"{path}.{one.key}")
    value = one.default if one.omitted is MISSING else one.omitted
    if value is MISSING:
        raise BadRecord(f"{path}: the field {one.key!r} is missing")
    return value


def _built_one_of(kinds: tuple[Any, ...], found: Any, path: str) -> Any:
    if found is None and NoneType in kinds:
        return None
    if set(kinds) == _MEMBER:  # only pod sets are counted
        return built(PodSet if isinstance(found, dict) and "count" in found else Group, found, path)
    (kind,) = (one for one in kinds if one is not NoneType)
    return built(kind, found, path)


def _built_tuple(kinds: tuple[Any, ...], found: Any, path: str) -> tuple[Any, ...]:
    expect(found, list, "a list", path)
    if kinds[-1] is not ...:
        if len(found) != len(kinds):
            raise BadRecord(f"{path}: expected {len(kinds)} entries, found {len(found)}")
        return tuple(built(kind, one, path) for kind, one in zip(kinds, found, strict=True))
    return tuple([built(kinds[0], one, f"{path}[{i}]") for i, one in enumerate(found)])


def _built_mapping(kinds: tuple[Any, ...], found: Any, path: str) -> dict[Any, Any]:
    key, value = kinds
    if key is str:
        expect(found, dict, "an object", path)
        return {name: built(value, one, f"{path}.{name[:80]}") for name, one in found.items()}
    expect(found, list, "a list of pairs", path)
    return dict(_built_tuple((key, value), one, f"{path}[{i}]") for i, one in enumerate(found))


def _built_enum(kind: type[Enum], found: Any, path: str) -> Enum:
    for one in kind:
        if one.value == found:
            return one
    raise _unexpected(f"one of {', '.join(str(one.value) for one in kind)}", found, path)


def _built_resources(found: Any, path: str) -> Resources:
    expect(found, dict, "an object", path)
    return Resources.of({name: _amount(one, f"{path}.{name[:80]}") for name, one in found.items()})


def _amount(found: Any, path: str) -> int:
    nano = found if type(found) is int else resources.parse(found, path)
    if not isinstance(nano, int):
        raise BadRecord(str(nano))
    return nano


def _built_float(found: Any, path: str) -> float:
    if type(found) is int and abs(found) < 2**53:
        return float(found)
    if not isinstance(found, float) or not math.isfinite(found):
        raise _unexpected("a number", found, path)
    return found


def _built_text(found: Any, path: str) -> str:
    expect(found, str, "text", path)
    return str(found)


def _built_flag(found: Any, path: str) -> bool:
    expect(found, bool, "true or false", path)
    return bool(found)


def _built_int(found: Any, path: str) -> int:
    if type(found) is not int:  # a bool is an int to Python, not to us
        raise _unexpected("a whole number", found, path)
    return found


def _built_any(found: Any, path: str) -> Any:
    if not _is_scalar(found):
        raise _unexpected("a plain value", found, path)
    return found


_SCALARS = {
    Any: _built_any, Resources: _built_resources,
    str: _built_text, int: _built_int, float: _built_float, bool: _built_flag,
}  # fmt: skip


def expect(found: Any, kind: type, called: str, path: str) -> None:
    if not isinstance(found, kind):
        raise _unexpected(called, found, path)


def _unexpected(wanted: str, found: Any, path: str) -> BadRecord:
    return BadRecord(f"{path}: expected {wanted}, found {shown(found)!r}")
