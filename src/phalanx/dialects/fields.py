"""Reading untrusted documents: every wrong value becomes a Problem that names the path to it.

A ``Field`` is one place in a document. Asking it for a value of a type gives that value, or the stated default
and a note in the document's ``Notes``. Nothing here raises, recurses into what it was not asked for, or does
more work than ``WORK_MAX`` entries per document, so no input can crash or hang a reader::

    doc = Field.of({"spec": {"count": "four"}})
    doc.at("spec").at("count").integer(1, low=1)   # 1, and the note "spec.count: 'four' is not a whole number"

A document made by us may hold Fields of another one in place of values: going down leads into that other document,
so that whoever reads the made one complains about what the user wrote, where the user wrote it::

    made = Field.of({"topology": {"required": job.at("metadata", "annotations", "phalanx.dev/topology-required")}})
    made.at("topology", "required").path           # metadata.annotations['phalanx.dev/topology-required']

A place in it that nobody wrote is told of at what was written of it: ``topology`` there at that annotation too.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeVar

from phalanx.model.nodes import Pairs
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem, shown

SHORT = 5  # letters
INT_MAX = 2**31 - 1  # the range of Kubernetes' integer fields
LIST_MAX = 10_000  # entries of one list; etcd refuses objects long before
WORK_MAX = 500_000  # entries read of one document; aliases in YAML can make a small file look endless
PROBLEMS_MAX = 100  # a document with more is wrong in one way many times

Default = TypeVar("Default")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MADE = "(made)"  # instead of the key at the root of a document that nobody wrote
_BORROWED_MAX = 1_000  # values of a made document in which those that were written are looked for


@dataclass(slots=True)
class Notes:
    """What was found wrong (the document is refused) or worth saying (it is not) while reading one document."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    work: int = 0

    def problem(self, problem: Problem) -> None:
        """Of several about one field the first counts: the others are about the default in its place."""
        if not problem.field or all((one.field, one.about) != (problem.field, problem.about) for one in self.problems):
            _note(self.problems, problem)

    def warning(self, warning: Problem) -> None:
        _note(self.warnings, warning)


def _note(notes: list[Problem], one: Problem) -> None:
    if len(notes) < PROBLEMS_MAX and one not in notes:
        notes.append(one)


class Field:
    """One place in a document: its value, the way to it, and where notes about it go. Never changed."""

    __slots__ = ("_key", "_parent", "notes", "value")

    def __init__(self, value: object, notes: Notes, parent: "Field | None", key: str | int | ObjectKey) -> None:
        self.value = value
        self.notes = notes
        self._parent = parent
        self._key = key

    @staticmethod
    def of(document: object, notes: Notes | None = None, about: ObjectKey | None = None, made: bool = False) -> "Field":
        """The root of a document. ``about``: the object it is, for notes that are told of another one, or stand alone.
        ``made``: nobody wrote it, only values in it."""
        root: str | ObjectKey = about if about is not None else _MADE if made else ""
        return Field(document, notes if notes is not None else Notes(), None, root)

    @property
    def path(self) -> str:
        """``spec.podGroups[2].template``, ``metadata.annotations['phalanx.dev/gang-mode']``."""
        keys, _ = self._way()
        return _joined(keys)

    @property
    def about(self) -> ObjectKey | None:
        """The object that the document is, where its notes are told of another one."""
        _, root = self._way()
        return root

    def _way(self) -> tuple[list[str | int], ObjectKey | None]:
        """The keys that lead here, innermost first, and the object at whose root they begin."""
        keys: list[str | int] = []
        here: Field | None = self
        while here is not None:
            if isinstance(here._key, ObjectKey):
                return [*keys, ""], here._key
            keys.append(here._key if here._key != _MADE or here._parent is not None else "")
            here = here._parent
        return keys, None

    @property
    def keys(self) -> tuple[str | int, ...]:
        """The way here from the root of the document, as ``("spec", "podGroups", 2)``."""
        keys, _ = self._way()
        return tuple(reversed(keys[:-1]))

    @property
    def document(self) -> object:
        """The whole document: of a field that was borrowed, the one that it was written in."""
        here = self
        while here._parent is not None:
            here = here._parent
        return here.value

    @property
    def parent(self) -> "Field | None":
        """The place around this one; None at the root of a document."""
        return self._parent

    @property
    def present(self) -> bool:
        """Whether something is written here. A null is nothing, as in Kubernetes."""
        return self.value is not None

    # -- notes ---------------------------------------------------------------------------------------------------

    def wrong(self, message: str, allowed: Iterable[str] = ()) -> None:
        """Note a Problem: this document cannot be used as it is."""
        self.notes.problem(self._note(message, allowed))

    def warn(self, message: str, allowed: Iterable[str] = ()) -> None:
        """Note something worth saying that does not stop anything."""
        self.notes.warning(self._note(message, allowed))

    def remark(self, message: str, allowed: Iterable[str] = ()) -> None:
        """``warn`` about what was read, where nothing is wrong: a default in place of a wrong value says nothing."""
        if not self.notes.problems:
            self.warn(message, allowed)

    def mistaken(self, rule: str, allowed: Iterable[str] = ()) -> None:
        """``wrong`` with the value in front: ``'rak' is not ...``."""
        self.wrong(f"{shown(self.value)!r} {rule}", allowed)

    def _note(self, message: str, allowed: Iterable[str]) -> Problem:
        at, value = self._as_written()
        keys, about = at._way()
        return Problem(_joined(keys), shown(value), tuple(allowed), _written(message), about)

    def _as_written(self) -> "tuple[Field, object]":
        """Where a note about this place is told, and with which value: at what a person wrote of it, or around it."""
        root = self
        while root._parent is not None:
            root = root._parent
        if root._key != _MADE:
            return self, self.value
        own = _borrowed(self.value)
        if own:
            return own[0]._as_written()
        here: Field | None = self
        while here is not None:
            if around := _borrowed(here.value):
                return _around([at._as_written()[0] for at in around]), self.value
            here = here._parent
        return Field(None, self.notes, None, ""), self.value

    # -- going down ----------------------------------------------------------------------------------------------

    def at(self, *keys: str) -> "Field":
        """The field below; one that holds nothing when this is no mapping or lacks the key."""
        here = self
        for key in keys:
            value = here.value.get(key) if isinstance(here.value, dict) else None
            here = here._below(key, value)
        return here

    def _below(self, key: str | int, value: object) -> "Field":
        """The field of an entry: itself when it is one, borrowed from another document."""
        return value if isinstance(value, Field) else Field(value, self.notes, self, key)

    def meaning(self, value: object) -> "Field":
        """The same place, read as another value: what the text ``"4"`` of an annotation stands for."""
        return Field(value, self.notes, self._parent, self._key)

    def aside(self) -> "Field":
        """The same place with notes of its own, for readers whose complaints count for less."""
        return Field(self.value, Notes(), self._parent, self._key)

    def told_to(self, notes: Notes, about: ObjectKey) -> "Field":
        """The same place, told of in the notes of another document; ``about``: the object it stands in."""
        keys: list[str | int | ObjectKey] = []
        here: Field | None = self
        while here is not None and here._parent is not None:
            keys.append(here._key)
            here = here._parent
        made = Field.of(None, notes, about)
        for key in reversed(keys):
            made = Field(None, notes, made, key)
        return made.meaning(self.value)

    def mapping(self) -> bool:
        """Whether this is a mapping; anything else but nothing is a Problem."""
        if self.present and not isinstance(self.value, dict):
            self.mistaken("is not a mapping of fields")
        return isinstance(self.value, dict)

    def known(self, *names: str) -> bool:
        """``mapping``, and every field that is not among ``names`` is a Problem. For our own kinds."""
        if not self.mapping():
            return False
        for key in self._keys():
            if key not in names and len(self.notes.problems) < PROBLEMS_MAX:
                self._below(key, self._raw(key)).wrong(_unknown(key, names), names)
        return True

    def typos(self, *names: str) -> None:
        """A warning for each field that looks like one of ``names`` misspelt. For kinds that are not ours."""
        if not isinstance(self.value, dict):
            return
        for key in self._keys():
            meant = None if key in names else _meant(key, names)
            if meant is not None:
                self._below(key, self._raw(key)).warn(f"is not read; did you mean {meant}?", (meant,))

    def items(self, limit: int = LIST_MAX) -> "list[Field]":
        """The entries of a list; none when nothing is written."""
        if not self.present:
            return []
        if not isinstance(self.value, (list, tuple)):
            self.mistaken("is not a list")
            return []
        if len(self.value) > limit:
            self.wrong(f"has {len(self.value)} entries; at most {limit} are read")
            return []
        if not self._afford(len(self.value)):
            return []
        return [self._below(i, value) for i, value in enumerate(self.value)]

    def entries(self) -> "list[tuple[str, Field]]":
        """The fields of a mapping with their keys, sorted by key."""
        if not self.mapping():
            return []
        return [(key, self._below(key, self._raw(key))) for key in self._keys()]

    def pairs(self) -> Pairs:
        """A mapping of texts (labels, selectors) as sorted pairs; an entry that is no text is a Problem."""
        return tuple((key, value.text("")) for key, value in self.entries())

    def _keys(self) -> list[str]:
        if not isinstance(self.value, dict):
            return []
        if len(self.value) > LIST_MAX or not self._afford(len(self.value)):
            self.wrong(f"has {len(self.value)} fields; at most {LIST_MAX} are read")
            return []
        keys = [key for key in self.value if isinstance(key, str)]
        if len(keys) < len(self.value):
            odd = next(key for key in self.value if not isinstance(key, str))
            self.wrong(f"has the field name {shown(odd)!r}, which is not a text; put it in quotes")
        return sorted(keys)

    def _raw(self, key: str) -> object:
        return self.value[key] if isinstance(self.value, dict) else None

    def _afford(self, entries: int) -> bool:
        self.notes.work += entries
        if self.notes.work <= WORK_MAX:
            return True
        self.notes.problem(Problem("", None, (), f"the document is too large: more than {WORK_MAX} entries"))
        return False

    # -- values --------------------------------------------------------------------------------------------------

    def text(self, default: Default) -> str | Default:
        if not self.present:
            return default
        if isinstance(self.value, str):
            if _written(self.value) == self.value:
                return self.value
            self.mistaken("has characters that no text can have")
            return default
        hint = "; put it in quotes" if isinstance(self.value, (bool, int, float)) else ""
        self.mistaken(f"is not a text{hint}")
        return default

    def name(self, default: Default) -> str | Default:
        """A text that can name something: 1 to 253 visible characters, none of which a path or id gives a meaning."""
        text = self.text(None)
        if text is None:
            return default
        if 0 < len(text) <= 253 and text.isprintable() and not set(text) & set(" /[]#'\""):
            return text
        self.mistaken("is not a name: 1 to 253 characters without spaces, slashes, brackets, # or quotes")
        return default

    def integer(self, default: Default, low: int = 0, high: int = INT_MAX) -> int | Default:
        if not self.present:
            return default
        allowed = (f"{low} or more" if high == INT_MAX else f"{low} to {high}",)
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.mistaken("is not a whole number", allowed)
            return default
        if low <= self.value <= high:
            return self.value
        self.mistaken(f"is not between {low} and {high}" if self.value >= low else f"is less than {low}", allowed)
        return default

    def flag(self, default: Default) -> bool | Default:
        if not self.present:
            return default
        if isinstance(self.value, bool):
            return self.value
        self.mistaken("is neither true nor false", ("true", "false"))
        return default

    def choice(self, default: Default, *allowed: str) -> str | Default:
        """One of the allowed texts, exactly as spelt."""
        text = self.text(None)
        if text is None:
            return default
        if text in allowed:
            return text
        close = _close(text, allowed)
        self.mistaken(f"is not one of {', '.join(filter(None, allowed))}{_asking(close)}", allowed)
        return default


def _borrowed(value: object) -> list[Field]:
    """The values of a made document that were written by somebody, in order."""
    found: list[Field] = []
    waiting, left = [value], _BORROWED_MAX
    while waiting and left:
        one, left = waiting.pop(0), left - 1
        if isinstance(one, Field):
            found += [one] if one.present else []
        elif isinstance(one, (dict, list, tuple)):
            waiting[:0] = one.values() if isinstance(one, dict) else one
    return found


def _around(those: list[Field]) -> Field:
    """The innermost place around all of these that are in the document of the first."""
    ways = [at._way() for at in those]
    paths = [list(reversed(keys)) for keys, root in ways if root == ways[0][1]]
    shared = 0
    while all(len(path) > shared and path[shared] == paths[0][shared] for path in paths):
        shared += 1
    found = those[0]
    for _ in paths[0][max(shared, 1) :]:
        found = found._parent or found
    return found


def joined(keys: Sequence[str | int]) -> str:
    """Keys, outermost first, as a path."""
    return _joined([*reversed(keys), ""])


def _joined(keys: list[str | int]) -> str:
    """Keys, innermost first, as a path."""
    path = str(keys[-1])
    start = len(path)
    for key in reversed(keys[:-1]):
        if isinstance(key, int):
            path += f"[{key}]"
        elif _PLAIN.fullmatch(key):
            path += f".{key}" if len(path) > start else key
        else:
            path += f"[{shown(key)!r}]"
    return path


def _written(text: str) -> str:
    """The text as it can be written out. JSON can smuggle in halves of characters that cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _unknown(key: str, names: Iterable[str]) -> str:
    return f"there is no field {shown(key)!r} here{_asking(_close(key, names))}"


def _close(word: str, names: Iterable[str]) -> list[str]:
    """The name most like ``word``, upper and lower case aside."""
    by_lower = {name.lower(): name for name in names if name}
    return [by_lower[hit] for hit in get_close_matches(word[:80].lower(), by_lower, n=1)]


@lru_cache(maxsize=4096)  # it runs over every pod, and their fields are the same few
def _meant(key: str, names: tuple[str, ...]) -> str | None:
    """The name that a key looks like: but for case, separators and a plural s, or but for a slip of the finger.

    Fields of Kubernetes that we do not read must not look like those we do; short names differ in too few letters.
    """
    by_sound = {_sound(name): name for name in names}
    if _sound(key) in by_sound:
        return by_sound[_sound(key)]
    close = get_close_matches(key[:80], names, 1, 0.86 if len(key) > SHORT else 0.74)
    return close[0] if close else None


def _sound(name: str) -> str:
    """What stays of a name when case, separators and a plural s are forgotten."""
    return name[:80].lower().replace("-", "").replace("_", "").rstrip("s")


def _asking(close: list[str]) -> str:
    return f"; did you mean {close[0]}?" if close else ""
