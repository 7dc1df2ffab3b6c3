"""In which line of a text a field stands, by the marks of the YAML library. JSON is YAML."""

from collections.abc import Iterator, Sequence

import yaml

SIZE_MAX = 1 << 23  # characters of one document; its lines would take longer to find than all else that is done with it

Root = yaml.Node


def root(text: str) -> Root | None:
    """The nodes of a text that was read before; None where there are too many, or the library takes it otherwise."""
    if len(text) > SIZE_MAX:
        return None
    try:
        found: Root | None = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None
    return found


def line(at: Root, keys: Sequence[str | int]) -> int:
    """The line, from 0, of the field that these keys lead to; of the last one on the way, where it is not written."""
    found = at.start_mark.line
    for key in keys:
        below = next(_below(at, key), None)
        if below is None:
            break
        found, at = below
    return int(found)


def _below(at: Root, key: str | int) -> Iterator[tuple[int, Root]]:
    """The line and the value of an entry: its own first, then those that ``<<`` brings in."""
    if isinstance(at, yaml.SequenceNode) and isinstance(key, int):
        yield from ((one.start_mark.line, one) for one in at.value[key : key + 1])
    if not isinstance(at, yaml.MappingNode):
        return
    yield from ((name.start_mark.line, value) for name, value in at.value if name.value == key)
    for name, value in at.value:
        if name.value == "<<":
            for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                yield from _below(merged, key)
