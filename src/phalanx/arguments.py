"""What a caller from Python hands in: taken as it was meant, or refused in a sentence that says what is allowed.

What stands *inside* a document is judged by the readers, as a Problem. Here it is about the call itself: a path in
place of documents, a name in place of a decision. That is a TypeError or a ValueError at once.
"""

from collections.abc import Iterable, Mapping
from types import GeneratorType

from phalanx.model.problems import shown

Doc = Mapping[str, object]
Documents = Doc | Iterable[Doc | None]  # None: an empty document, as YAML has them; it is passed over

_Made = dict[int, tuple[object, object]]  # by id: a value and its copy, for YAML's aliases are one value in many places

_NESTED_MAX = 100  # no manifest goes deeper; what does is left for the readers to refuse


def documents(given: Documents, name: str = "documents") -> list[Doc | None]:
    """Documents as a list that can be gone through twice, mappings of any kind among them as dicts."""
    if isinstance(given, Mapping):
        return [_as_dict(given)]
    is_text_or_file = isinstance(given, (str, bytes, bytearray)) or hasattr(given, "read")
    if is_text_or_file or not isinstance(given, Iterable):
        expected = "expected a list of mappings, such as list(yaml.safe_load_all(text))"
        raise TypeError(f"{name}: {expected}, not {described(given)}; files are not opened here")
    if isinstance(given, GeneratorType) and given.gi_frame is None:
        raise ValueError(f"{name}: this generator was used up before and gives nothing more; make a list of it first")
    return [_as_dict(one) if isinstance(one, Mapping) else one for one in given]


def _as_dict(one: Doc) -> Doc:
    """The readers know dicts and lists, as YAML and JSON give them; such a document is not copied."""
    return one if isinstance(one, dict) else copied(one)


def copied(one: Doc) -> Doc:
    """A document in dicts and lists of its own: who changes the given one later does not change this."""
    made: _Made = {}
    return {key: _plain(value, 1, made) for key, value in one.items()}


def _plain(value: object, depth: int, made: _Made) -> object:
    if not isinstance(value, (Mapping, list, tuple)) or depth >= _NESTED_MAX:
        return value
    if id(value) in made:
        return made[id(value)][1]
    copy: dict[object, object] | list[object] = {} if isinstance(value, Mapping) else []
    made[id(value)] = value, copy  # before it is filled: a value may hold itself
    if isinstance(copy, dict):
        copy.update((key, _plain(inner, depth + 1, made)) for key, inner in dict(value).items())
    else:
        copy.extend(_plain(inner, depth + 1, made) for inner in value)
    return copy


def text(given: object, name: str, such_as: str) -> str:
    """A text that is not empty."""
    if not isinstance(given, str):
        raise TypeError(f"{name}: {described(given)} is not a text such as {such_as!r}")
    if not given:
        raise ValueError(f"{name}: it is empty; expected a text such as {such_as!r}")
    return given


def number(given: object, name: str, low: float | None = None, high: float | None = None) -> float:
    """A finite number within its limits."""
    limits = "" if low is None else f" from {low:g} on" if high is None else f" from {low:g} to {high:g}"
    allowed = f"a number{limits}"
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError(f"{name}: {described(given)} is not {allowed}")
    small, large = low is not None and given < low, high is not None and given > high
    if given - given != 0 or small or large:  # not a number, or without end
        raise ValueError(f"{name}: {shown(given)} is not {allowed}")
    return given


def described(given: object) -> str:
    """A value as a message names it: scalars themselves, anything else by its type."""
    if given is None or isinstance(given, (str, int, float)):
        return repr(shown(given))
    return f"a value of type {type(given).__name__}"
