"""Where what is wrong is written: ``train.yaml, document 2, line 14``.

Readers know documents and the fields in them, and no files. A Problem about a document out of a file is given its place
when it is told: only then is the text read once more, for its lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from phalanx.cli import marks
from phalanx.cli.files import Documents, Origin
from phalanx.cluster import Decision, Decisions, Note
from phalanx.dialects import documents
from phalanx.dialects.following import Told
from phalanx.model.decision import Decided, Internal, Invalid
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Place, Problem, shown

if TYPE_CHECKING:  # slow to import, and not every command takes a look
    from phalanx.kube.glance import Glance

Keys = tuple[str | int, ...]
_GIVEN = re.compile(r"documents\[([0-9]+)\]\.?(.*)", re.DOTALL)  # of a document nobody knows what it is
_KEY = re.compile(r"""\[([0-9]+)\]|\[(?:'([^']*)'|"([^"]*)")\]|\.?([^.\[\]]+)""")


@dataclass(frozen=True, slots=True)
class _Spot:
    """One object: the document it is in, the way to it there (through lists), and what it is."""

    origin: Origin
    way: Keys
    value: Any

    def place(self, keys: Keys) -> Place:
        root = _root(self.origin)
        line = None if root is None else self.origin.line + marks.line(root, (*self.way, *keys))
        return Place(self.origin.file, self.origin.number, line)


@lru_cache(maxsize=8)
def _root(origin: Origin) -> marks.Mark | None:
    return marks.root(origin.text)


class Places:
    """Where the objects of some files stand. Of what came from elsewhere it knows nothing, and changes nothing."""

    def __init__(self, docs: Sequence[Any] = ()) -> None:
        self._docs = docs
        self._origins: Sequence[Origin] = docs.origins if isinstance(docs, Documents) else ()

    @property
    def are_known(self) -> bool:
        """Whether there are files."""
        return bool(self._origins)

    def problem(self, one: Problem, title: str = "") -> Problem:
        """The same with its place. ``title``: whom it is told of, unless it says so itself."""
        found = None if one.place is not None else self._found(one.path, one.value, one.about, title)
        if found is None:
            return one
        place, path = found
        return replace(one, place=place, field=one.field if one.about is not None else path)

    def note(self, one: Note, title: str = "") -> Note:
        """The same, of a note."""
        found = None if one.place is not None else self._found(one.path, one.value, one.about, title)
        if found is None:
            return one
        place, path = found
        return Note(path, one.value, one.allowed, one.message, one.about, place)

    def notes(self, those: Sequence[Note]) -> tuple[Note, ...]:
        return tuple(self.note(one) for one in those)

    def decided(self, one: Decided) -> Decided:
        """A decision whose problems and warnings have their places."""
        if not isinstance(one, Invalid):
            named = one if isinstance(one, Internal) else one.request
            title = _called(named.kind, named.namespace, named.name)
            return replace(one, warnings=self._problems(one.warnings, title))
        title = _called(one.kind, one.namespace, one.name)
        problems = self._problems(one.problems, title)
        place = problems[0].place if not one.kind and problems else None
        name = one.name if place is None else str(replace(place, line=None))  # it has no other
        return replace(one, name=name, problems=problems, warnings=self._problems(one.warnings, title))

    def decisions(self, those: Decisions) -> Decisions:
        found = Decisions(Decision(self.decided(one.decided), one.ways_out) for one in those)
        found.warnings = self.notes(those.warnings)
        return found

    def glance(self, seen: "Glance") -> "Glance":
        """The same look; what objects have to say of themselves has its places."""
        return replace(seen, told=self._told(seen.told)) if self._origins else seen

    def _told(self, told: Told) -> Told:
        refused = [(subject, self.decided(invalid)) for subject, invalid in told.refused]
        dangling = [(one, self._problems(those, _title(one.key))) for one, those in told.dangling]
        titles = {gang: _title(subject.key) for gang, subject in told.subjects.items()}
        return replace(
            told,
            refused=[(subject, one) for subject, one in refused if isinstance(one, Invalid)],
            problems=self._problems(told.problems, ""),
            dangling=dangling,
            notes={gang: self._problems(those, titles.get(gang, "")) for gang, those in told.notes.items()},
        )

    def _problems(self, those: Sequence[Problem], title: str) -> tuple[Problem, ...]:
        return tuple(self.problem(one, title) for one in those)

    # -- finding it ----------------------------------------------------------------------------------------------

    def _found(self, path: str, value: object, about: ObjectKey | None, title: str) -> tuple[Place, str] | None:
        """The place of a field, and its path as it is told beside a place."""
        if not self._origins:
            return None
        if given := _GIVEN.fullmatch(path):
            origin = self._origins[int(given[1])]
            return _Spot(origin, (), None).place(_keys(given[2])), given[2]
        head, _, rest = path.partition(": ")
        named = _title(about) if about is not None else title
        if about is not None:
            rest = path.removeprefix(about.title).removeprefix(": ")
        elif head in self._spots:
            named = head
        else:
            rest = path
        spots = self._spots.get(named, ())
        keys = _keys(rest)
        meant = [one for one in spots if shown(_value(one.value, keys)) == value] or spots
        return (meant[-1].place(keys), path) if meant else None  # the last of two that have one name is one too many

    @cached_property
    def _spots(self) -> Mapping[str, list[_Spot]]:
        """Objects by all names under which they are told of."""
        found: dict[str, list[_Spot]] = {}
        for origin, doc in zip(self._origins, self._docs, strict=True):
            for way, value in documents.opened(doc):
                for one in documents.sort([value])[0]:
                    for name in (_title(one.key), one.called(None)):
                        found.setdefault(name, []).append(_Spot(origin, _keys(way), value))
        return found


def _value(value: Any, keys: Keys) -> Any:
    for key in keys:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _keys(path: str) -> Keys:
    return tuple(_read(path))


def _read(path: str) -> Iterator[str | int]:
    """``spec.podGroups[2].name``, key by key."""
    for number, quoted, other, plain in _KEY.findall(path):
        yield int(number) if number else quoted or other or plain


def _title(key: ObjectKey) -> str:
    return _called(*key.address)


def _called(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}"
