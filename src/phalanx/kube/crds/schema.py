"""From a model to the structural schema of the API server (OpenAPI v3, as apiextensions.k8s.io/v1 restricts it)."""

from collections.abc import Iterable
from typing import Any

from msgspec import NODEFAULT, inspect

from phalanx.kube.crds.models.base import Model
from phalanx.kube.crds.rules import fixed
from phalanx.model.mistakes import Mistake

Schema = dict[str, Any]

_RULES = "x-kubernetes-validations"
_INT32_MAX = 2**31 - 1


def of(model: type[Model]) -> Schema:
    """The schema of an object: its own fields beside those that every object has."""
    schema = _any(inspect.type_info(model))
    common = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    schema["properties"] = {**common, **schema["properties"]}
    return schema


def _any(info: inspect.Type) -> Schema:
    match info:
        case inspect.Metadata(type=inner, extra_json_schema=extra):
            return _extended(_any(inner), extra or {})
        case inspect.StructType():
            return _struct(info)
        case inspect.UnionType(types=types):
            return _union(types)
        case inspect.VarTupleType() | inspect.ListType():
            return _bounded({"type": "array", "items": _any(info.item_type)}, info, "Items")
        case inspect.DictType():
            return _mapping(info)
        case inspect.StrType():
            return _bounded({"type": "string"}, info, "Length") | _given(pattern=info.pattern)
        case inspect.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case inspect.IntType():
            return _integer(info)
        case inspect.BoolType():
            return {"type": "boolean"}
    raise TypeError(f"no schema for {info}")


def _extended(schema: Schema, extra: Schema) -> Schema:
    """The schema with what a field adds to that of its type: rules add up, all else is overridden."""
    rules = [*schema.get(_RULES, ()), *extra.get(_RULES, ())]
    return {**schema, **extra, **({_RULES: rules} if rules else {})}


def _struct(info: inspect.StructType) -> Schema:
    model = info.cls
    if not issubclass(model, Model):
        raise Mistake(f"{model} is no part of our objects")
    optional = {field.encode_name for field in info.fields if not field.required}
    rules = [*model.RULES, *(fixed(name, name in optional) for name in model.FIXED)]
    schema: Schema = {"type": "object", "description": _first_line(model)}
    required = [field.encode_name for field in info.fields if field.required]
    if required:
        schema["required"] = required
    schema["properties"] = {field.encode_name: _field(field) for field in info.fields}
    if rules:
        schema[_RULES] = [rule.written() for rule in rules]
    return schema


def _first_line(model: type[Model]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]


def _field(field: inspect.Field) -> Schema:
    """A field; a default that says something becomes one of the API server."""
    schema = _any(field.type)
    says_something = field.default is not NODEFAULT and field.default is not None and field.default != ()
    return {**schema, "default": field.default} if says_something else schema


def _union(types: Iterable[inspect.Type]) -> Schema:
    """What may be absent is what it is when present; a number or a text is a quantity."""
    present = [one for one in types if not isinstance(one, inspect.NoneType)]
    if len(present) == 1:
        return _any(present[0])
    number, text = sorted(present, key=lambda one: isinstance(one, inspect.StrType))
    if not isinstance(number, inspect.IntType):
        raise Mistake(f"a union is a number or a text, not {present}")
    rest = {key: value for key, value in _any(text).items() if key != "type"}
    return {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "minimum": 0,
        **rest,
    }


def _mapping(info: inspect.DictType) -> Schema:
    """A mapping of texts; one of anything is a part of a pod, which is kept as it is written.

    That has no type on purpose: of two objects the API server compares unknown fields only where both have them, so
    one field put in place of another would pass as no change. Values without a type are compared whole.
    """
    if isinstance(info.value_type, inspect.AnyType):
        return {"x-kubernetes-preserve-unknown-fields": True}
    return _bounded({"type": "object", "additionalProperties": _any(info.value_type)}, info, "Properties")


def _integer(info: inspect.IntType) -> Schema:
    bits = "int32" if info.le is not None and info.le <= _INT32_MAX else "int64"
    return {"type": "integer", "format": bits} | _given(minimum=info.ge, maximum=info.le)


def _bounded(schema: Schema, info: Any, what: str) -> Schema:
    return schema | _given(**{f"min{what}": info.min_length, f"max{what}": info.max_length})


def _given(**bounds: object) -> Schema:
    return {name: bound for name, bound in bounds.items() if bound is not None}
