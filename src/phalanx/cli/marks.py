"""In which line of a text a field stands, by the marks of the YAML library. JSON is YAML."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import yaml

SIZE_MAX = 1 << 23  # characters of one document; to look for its lines takes some seconds then


@dataclass(slots=True)
class Mark:
    """One place in a text: its line, from 0, and what is below it, by key or by number."""

    line: int
    below: "dict[str | int, Mark]" = field(default_factory=dict)
    key: str | None = None  # of a mapping while it is read: what waits for its value
    key_line: int = 0


def root(text: str) -> Mark | None:
    """The places in a text that was read before; None where there are too many, or the library takes it otherwise."""
    if len(text) > SIZE_MAX:
        return None
    try:
        return _read(text)
    except yaml.YAMLError:
        return None


def line(at: Mark, keys: Sequence[str | int]) -> int:
    """The line, from 0, of the field that these keys lead to; of the last one on the way, where it is not written."""
    found = at.line
    for key in keys:
        below = _below(at, key)
        if below is None:
            break
        found, at = below.line, below
    return found


def _below(at: Mark, key: str | int) -> Mark | None:
    """An entry: its own first, then those that ``<<`` brings in."""
    if key in at.below:
        return at.below[key]
    merged = at.below.get("<<")
    several = merged is not None and 0 in merged.below
    sources = [] if merged is None else [*merged.below.values()] if several else [merged]
    return next((found for one in sources if (found := _below(one, key)) is not None), None)


def _read(text: str) -> Mark | None:
    whole = Mark(0)
    open_places: list[tuple[Mark, bool]] = []  # with whether it is a mapping
    anchors: dict[str, Mark] = {}
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        kind = type(event)
        if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            open_places.pop()
            continue
        if kind not in (yaml.ScalarEvent, yaml.AliasEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent):
            continue
        at = event.start_mark.line
        inside, is_mapping = open_places[-1] if open_places else (whole, False)
        if is_mapping and inside.key is None:
            inside.key, inside.key_line = str(getattr(event, "value", "")), at
            continue
        below = anchors[event.anchor].below if kind is yaml.AliasEvent else {}
        place = Mark(inside.key_line if is_mapping else at, below)
        inside.below[inside.key if inside.key is not None else len(inside.below)] = place
        inside.key = None
        if event.anchor is not None and kind is not yaml.AliasEvent:
            anchors[event.anchor] = place
        if kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            open_places.append((place, kind is yaml.MappingStartEvent))
    return whole.below.get(0)
