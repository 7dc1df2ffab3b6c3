"""Documents out of YAML text, built from the parser's events one by one.

The stock loader follows nesting with the machine's own stack and copies what aliases point at, so that a file of a
few kilobytes can end the process or fill the memory. Here depth and size are counted, and what is too much is refused
with its line. Three more things are as Kubernetes reads them: keys are the text as written, dates stay text, and a key
that stands twice in one mapping is an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

from phalanx.model.mistakes import Mistake

DEPTH_MAX = 200  # Kubernetes objects nest some 20 deep
VALUES_MAX = 20_000_000  # values in one text, aliases counted as often as they are used

_TAG = "tag:yaml.org,2002:"
_SCALARS = tuple(_TAG + name for name in ("str", "int", "float", "bool", "null"))
_SHAPES = (None, "!", _TAG + "map", _TAG + "seq")


class BadText(Exception):
    """The text is not usable YAML: what is wrong, and in which line (None: not known)."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


@dataclass(frozen=True, slots=True)
class Piece:
    """One document, and the part of the text that it was read from: from which character to which, and in which line
    that begins, from 1."""

    value: Any
    start: int
    end: int
    line: int


def documents(text: str) -> Iterator[Any]:
    """The documents of a YAML text in order, empty ones left out. BadText when it cannot be read."""
    return (piece.value for piece in pieces(text))


def pieces(text: str) -> Iterator[Piece]:
    """The same with where each was read."""
    builder = _Builder()
    start = None
    parser = yaml.CSafeLoader(text)
    try:
        while parser.check_event():
            event = parser.get_event()
            builder.take(event)
            if isinstance(event, yaml.DocumentStartEvent):
                start = event.start_mark
            elif isinstance(event, yaml.DocumentEndEvent) and builder.root is not None and start is not None:
                end = event.end_mark.index if event.end_mark is not None else len(text)
                yield Piece(builder.root, start.index, end, start.line + 1)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadText(_reworded(error), mark.line + 1 if mark is not None else None) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadText(f"the character {chr(error.character)!r} is not allowed in YAML", line) from None
    except yaml.YAMLError as error:
        raise BadText(" ".join(str(error).split())) from None
    finally:
        parser.dispose()


def _reworded(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return " ".join(", ".join(parts).split()) or "not YAML"


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is being filled."""

    value: dict[str, Any] | list[Any]
    line: int
    anchor: str | None
    values: int = 1  # this and everything below it so far
    key: str | None = None  # the key that waits for its value
    merged: list[dict[str, Any]] = field(default_factory=list)  # what ``<<`` brings in, first one first


class _Builder:
    """Takes events, gives documents."""

    def __init__(self) -> None:
        self.root: Any = None
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}  # name -> value, how many values it stands for
        self.values = 0

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self.scalar(event)
        elif kind is yaml.MappingStartEvent:
            self.start({}, event)
        elif kind is yaml.SequenceStartEvent:
            self.start([], event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self.end()
        elif kind is yaml.AliasEvent:
            self.alias(event)
        elif kind is yaml.DocumentStartEvent:
            self.root, self.anchors = None, {}

    def scalar(self, event: Any) -> None:
        line = event.start_mark.line + 1
        inside = self.open[-1] if self.open else None
        if inside is not None and inside.key is None and isinstance(inside.value, dict):
            self.name(inside, event, line)
            return
        value = _scalar(event, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        self.put(value, 1, line)

    def name(self, inside: _Open, event: Any, line: int) -> None:
        """The key of a mapping's next value, as written."""
        if not isinstance(inside.value, dict):
            raise Mistake("only a mapping has keys")
        key: str = event.value
        if key in inside.value:
            raise BadText(f"the key {key[:80]!r} stands twice in one mapping", line)
        if event.anchor is not None:
            self.anchors[event.anchor] = (key, 1)
        inside.key = key

    def start(self, value: dict[str, Any] | list[Any], event: Any) -> None:
        line = event.start_mark.line + 1
        if event.tag not in _SHAPES:
            raise BadText(f"the tag {event.tag[:80]} is not understood", line)
        if len(self.open) >= DEPTH_MAX:
            raise BadText(f"nested more than {DEPTH_MAX} deep", line)
        if self.open and isinstance(self.open[-1].value, dict) and self.open[-1].key is None:
            raise BadText("a key must be plain text", line)
        self.open.append(_Open(value, line, event.anchor))

    def end(self) -> None:
        done = self.open.pop()
        if isinstance(done.value, dict):
            for extra in done.merged:
                for key, value in extra.items():
                    done.value.setdefault(key, value)
        if done.anchor is not None:
            self.anchors[done.anchor] = (done.value, done.values)
        self.put(done.value, done.values, done.line)

    def alias(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if event.anchor not in self.anchors:
            raise BadText(f"the alias *{event.anchor[:80]} stands for nothing before it", line)
        value, values = self.anchors[event.anchor]
        inside = self.open[-1] if self.open else None
        if inside is not None and isinstance(inside.value, dict) and inside.key is None:
            raise BadText("a key must be plain text, not an alias", line)
        self.put(value, values, line)

    def put(self, value: Any, values: int, line: int) -> None:
        """A finished value goes where it belongs."""
        if not self.open:
            self.root = value
            return
        inside = self.open[-1]
        inside.values += values
        if inside.values > VALUES_MAX:
            raise BadText(f"more than {VALUES_MAX} values, aliases counted as often as they are used", line)
        if isinstance(inside.value, list):
            inside.value.append(value)
        elif inside.key == "<<":
            inside.merged += _mappings(value, line)
            inside.key = None
        elif inside.key is not None:
            inside.value[inside.key] = value
            inside.key = None


def _mappings(value: Any, line: int) -> list[dict[str, Any]]:
    """What ``<<`` merges: a mapping, or several."""
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in found):
        raise BadText("<< merges mappings and nothing else", line)
    return found


def _scalar(event: Any, line: int) -> Any:
    tag = event.tag
    if tag == "!" or (tag is None and not event.implicit[0]):
        return event.value
    if tag is not None and tag not in _SCALARS:
        raise BadText(f"the tag {tag[:80]} is not understood", line)
    try:
        return _plain(event.value, tag)
    except (ValueError, yaml.YAMLError):
        raise BadText(f"{event.value[:40]!r} cannot be read as a number", line) from None


@lru_cache(maxsize=65536)
def _plain(value: str, tag: str | None) -> str | int | float | bool | None:
    """What an unquoted scalar means. Kept, because a cluster's nodes write the same few words."""
    meant = tag or _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]
    if meant == _TAG + "str" or meant not in _SCALARS or (tag is None and ":" in value):  # 1:30 is text
        return value
    node = yaml.ScalarNode(meant, value)
    found: str | int | float | bool | None = _RESOLVER.yaml_constructors[meant](_RESOLVER, node)
    return found


_RESOLVER = yaml.SafeLoader("")
