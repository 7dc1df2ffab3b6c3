"""A configuration out of YAML text. What is wrong is told all at once, each with its path and what is allowed."""

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import yaml
from msgspec import NODEFAULT, inspect

from phalanx.dialects.fields import LIST_MAX, Field, Notes
from phalanx.kube.configuration.parts import API_VERSION, KIND, Configuration
from phalanx.model.mistakes import Mistake
from phalanx.model.problems import Problem, shown

BYTES_MAX = 1 << 20
HEAD = f"apiVersion: {API_VERSION} and kind: {KIND}"
DEPTH_MAX = 20  # the deepest field stands 2 deep; the composer follows nesting with the machine's own stack


class BadConfiguration(ValueError):
    """The configuration cannot be used. ``problems``: everything that was found, in the order of the fields."""

    def __init__(self, problems: Sequence[Problem], source: str) -> None:
        self.problems, self.source = tuple(problems), source
        count = len(self.problems)
        super().__init__(f"{source}: {self.lines()[0]}" + (f" (and {count - 1} more)" if count > 1 else ""))

    def lines(self) -> list[str]:
        """One line for each problem: ``logs.level: 'loud' is not one of ...``."""
        return [f"{one.path}: {_sentence(one)}" if one.path else _sentence(one) for one in self.problems]


def _sentence(problem: Problem) -> str:
    if all(each in problem.message for each in problem.allowed):
        return problem.message
    join = " Allowed:" if problem.message.endswith("?") else "; allowed:"
    return f"{problem.message}{join} {', '.join(problem.allowed)}"


def load(text: str, source: str = "configuration") -> Configuration:
    """The configuration that a text asks for; what it does not say has its default. BadConfiguration if it is wrong."""
    notes = Notes()
    document = _document(text, notes)
    if notes.problems:  # not a document to be read at all
        raise BadConfiguration(notes.problems, source)
    _note_head(document, notes)
    found = _part(Field.of(document, notes), cast(inspect.StructType, inspect.type_info(Configuration)))
    if not notes.problems:
        _judge(found, Field.of(document, notes))
    if notes.problems:
        raise BadConfiguration(notes.problems, source)
    return cast(Configuration, found)


# -- text ------------------------------------------------------------------------------------------------------------


def _document(text: str, notes: Notes) -> object:
    """The one document of a YAML text. None, and a note, where there is no such thing."""
    try:
        node = _composed(text)
        _note_twice(node, notes)
        document = yaml.SafeLoader("").construct_document(node) if node is not None else None
    except (yaml.YAMLError, ValueError) as error:
        notes.problem(Problem("", None, (), _reworded(error)))
        return None
    if not isinstance(document, dict):
        notes.problem(Problem("", shown(document), (), f"expected a mapping that begins with {HEAD}"))
    return document


def _composed(text: str) -> Any:
    if len(text) > BYTES_MAX:
        raise ValueError(f"larger than {BYTES_MAX >> 20} MiB")
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_MAX:
            raise ValueError(f"line {line}: nested more than {DEPTH_MAX} deep")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"line {line}: aliases are not read here")
    return yaml.compose(text, Loader=yaml.CSafeLoader)


def _note_twice(node: Any, notes: Notes) -> None:
    """A note for each key that stands twice in one mapping: the last one would win without a word."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                where = f"line {key.start_mark.line + 1}"
                notes.problem(Problem("", shown(key.value), (), f"{where}: {key.value[:80]!r} stands twice"))
            seen.add(str(key.value))
            _note_twice(value, notes)
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            _note_twice(entry, notes)


def _reworded(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        said = ", ".join(part for part in (error.context, error.problem) if part)
        return f"line {error.problem_mark.line + 1}: {said}"
    return " ".join(str(error).split())


def _note_head(document: object, notes: Notes) -> None:
    """A file must say what it is, so that another kind of file given by mistake is not read as no wishes at all."""
    at = Field.of(document, notes)
    for key, value in (("apiVersion", API_VERSION), ("kind", KIND)):
        if not at.at(key).present:
            at.at(key).wrong(f"is missing; it is always {value}", (value,))


# -- values, by their types ------------------------------------------------------------------------------------------


def _part(at: Field, kind: inspect.StructType) -> object:
    """A struct of what is written, with defaults for the rest. Everything wrong inside is noted."""
    at.known(*(one.encode_name for one in kind.fields))
    return kind.cls(**{one.name: _value(at.at(one.encode_name), one.type, _default(one)) for one in kind.fields})


def _default(one: inspect.Field) -> object:
    if one.default is NODEFAULT:
        raise Mistake(f"{one.name} has no default")
    return one.default


def _value(at: Field, kind: inspect.Type, default: object) -> object:
    rules: dict[str, Any] = {}
    while isinstance(kind, inspect.Metadata):
        rules, kind = {**rules, **(kind.extra or {})}, kind.type
    match kind:
        case inspect.StructType():
            return _part(at, kind)
        case inspect.BoolType():
            return at.flag(default)
        case inspect.LiteralType():
            return at.choice(default, *(str(value) for value in kind.values))
        case inspect.IntType():
            if kind.ge is None or kind.le is None:
                raise Mistake("a whole number without limits")
            return at.integer(default, kind.ge, kind.le)
        case inspect.FloatType():
            return _number(at, kind, default)
        case inspect.StrType():
            return _text(at, kind, rules, default)
        case inspect.VarTupleType():
            return _entries(at, kind, default)
    raise Mistake(f"{at.path}: no reader for {kind}")


def _number(at: Field, kind: inspect.FloatType, default: object) -> object:
    low, high = kind.ge, kind.le
    if low is None or high is None:
        raise Mistake("a number without limits")
    if not at.present:
        return default
    if isinstance(at.value, bool) or not isinstance(at.value, (int, float)):
        at.mistaken("is not a number", (f"{low:g} to {high:.15g}",))
    elif not low <= at.value <= high:  # NaN is nowhere between
        at.mistaken(f"is not between {low:g} and {high:.15g}", (f"{low:g} to {high:.15g}",))
    else:
        return float(at.value)
    return default


def _text(at: Field, kind: inspect.StrType, rules: dict[str, Any], default: object) -> object:
    text = at.text(None)
    if text is None:
        return default
    if kind.max_length is not None and len(text) > kind.max_length:
        at.mistaken(f"is longer than {kind.max_length} characters")
    elif (kind.pattern and not re.fullmatch(kind.pattern, text)) or not _is_read(rules.get("read"), text):
        at.mistaken(rules["rule"])
    return text


def _is_read(reader: Callable[[str], object] | None, text: str) -> bool:
    try:
        return reader is None or reader(text) is not None
    except ValueError:
        return False


def _entries(at: Field, kind: inspect.VarTupleType, default: object) -> object:
    if not at.present:
        return default
    entries = at.items(limit=kind.max_length or LIST_MAX)
    found = [_value(entry, kind.item_type, None) for entry in entries]
    if isinstance(at.value, list) and len(at.value) < (kind.min_length or 0):
        at.wrong(f"needs at least {kind.min_length} entry")
    for number, entry in enumerate(entries):
        if not entry.present:
            entry.wrong("holds nothing")
        elif entry.value in found[:number]:
            entry.mistaken("stands twice")
    return tuple(found)


# -- between fields --------------------------------------------------------------------------------------------------


def _judge(found: object, at: Field) -> None:
    """What must hold between fields that are each good by themselves."""
    own = cast(Configuration, found)
    if own.numbers.backoff_most_seconds < own.numbers.backoff_seconds:
        at.at("engine", "backoffMostSeconds").wrong(
            f"{own.numbers.backoff_most_seconds:g} is less than engine.backoffSeconds, "
            f"which is {own.numbers.backoff_seconds:g}"
        )
    if own.client.connections <= own.binds.concurrency:
        at.at("client", "connections").wrong(
            f"{own.client.connections} are not more than binds.concurrency, which is {own.binds.concurrency}: "
            "binds would wait for each other, and watches for binds"
        )
