"""What a server does with a patch: JSON merge patches, and JSON patches as far as we send them."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

Doc = dict[str, Any]


class TestFailed(Exception):
    """The object is not the one that was meant."""


def merged(value: Mapping[str, Any], change: Mapping[str, Any]) -> Doc:
    """An object after a merge patch."""
    found = dict(value)
    for name, one in change.items():
        if one is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name) or {}, one) if isinstance(one, Mapping) else one
    return found


def patched(value: Doc, operations: Iterable[Mapping[str, Any]]) -> Doc:
    """An object after a JSON patch of ``add``, ``remove`` and ``test``."""
    found = deepcopy(value)
    for one in operations:
        *above, last = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:]]
        at: Any = found
        for part in above:
            at = at[int(part)] if isinstance(at, list) else at[part]
        _apply(at, last, one)
    return found


def _apply(at: Any, last: str, one: Mapping[str, Any]) -> None:
    if one["op"] == "test":
        held = at[int(last)] if isinstance(at, list) else at.get(last)
        if held != one["value"]:
            raise TestFailed(one["path"])
    elif one["op"] == "remove":
        at.pop(int(last) if isinstance(at, list) else last)
    elif isinstance(at, list):
        at.append(one["value"]) if last == "-" else at.insert(int(last), one["value"])
    else:
        at[last] = one["value"]
