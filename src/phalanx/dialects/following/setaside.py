"""Objects that are set aside: whatever was raised while one of them was looked at stays with it.

It is told on the object, counted, and tried again when the object changes. What was known of it before stays known.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from phalanx.dialects.documents import Document
from phalanx.dialects.following.told import SetAside, Subject, Told
from phalanx.model.decision import Invalid
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

DEEPEST = 200  # levels of lists and mappings inside each other; objects that mean something have a tenth of it
_READ = "cannot be read"


class Quarantine:
    """Who is set aside, by the object."""

    def __init__(self) -> None:
        self._held: dict[ObjectKey, SetAside] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def hold(self, key: ObjectKey, doc: Document | None, error: BaseException, told: Told) -> SetAside:
        """Something was raised while an object was looked at. Returns what is said of it."""
        subject, written = Subject.of(key, doc), None if doc is None else unreadable(doc.value)
        if written is not None:
            return self.put(SetAside(subject, written), told)
        mishap = Mishap.of(error)
        return self.put(SetAside(subject, mishap.problem(_READ), mishap), told)

    def put(self, one: SetAside, told: Told) -> SetAside:
        """An object is set aside; that is news unless it was for the same before."""
        key = one.subject.key
        before = self._held.get(key)
        self._held[key] = one
        if before is None or before.problem != one.problem:
            told.set_aside.append(one)
            told.refused.append((one.subject, Invalid(key.kind, key.namespace, key.name, (one.problem,))))
        return one

    def lift(self, keys: Iterable[ObjectKey]) -> list[ObjectKey]:
        """Objects that are good again, or gone. Returns those that were set aside."""
        if not self._held:
            return []
        return [key for key in keys if self._held.pop(key, None) is not None]

    def counts(self) -> Mapping[tuple[str, str], int]:
        """How many of each kind."""
        return Counter(key.of_kind for key in self._held)


# -- what nobody can read --------------------------------------------------------------------------------------------


def unreadable(value: object) -> Problem | None:
    """What in an object is no text or number, or lies too deep in it; None: nothing that could be blamed."""
    for path, one, depth in _everything(value):
        if depth > DEEPEST:
            return Problem(path, None, (), f"is nested more than {DEEPEST} levels deep, and cannot be read")
        if isinstance(one, str) and not _is_written(one):
            return Problem(path, None, (), "has characters that no text can have, and cannot be read")
    return None


def _everything(value: object) -> Iterator[tuple[str, object, int]]:
    """All values of an object with their paths, without going deeper into Python for what lies deeper."""
    line: list[tuple[str, object, int]] = [("", value, 0)]
    while line:
        path, one, depth = line.pop()
        yield path, one, depth
        if depth > DEEPEST:
            continue
        if isinstance(one, dict):
            for key, inner in one.items():
                name = key.encode("utf-8", "replace").decode()[:60] if isinstance(key, str) else type(key).__name__
                line.append((f"{path}.{name}" if path else name, inner, depth + 1))
                if isinstance(key, str) and not _is_written(key):
                    yield path, key, depth
        elif isinstance(one, (list, tuple)):
            line.extend((f"{path}[{i}]", inner, depth + 1) for i, inner in enumerate(one))


def _is_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
