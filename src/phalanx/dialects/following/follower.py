"""The door: any object of a cluster as it is now, or that it is gone; and events for the engine."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from phalanx.dialects import documents
from phalanx.dialects.documents import Document, Role
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.following.estate import Estate
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.following.roll import Roll
from phalanx.dialects.following.setaside import Quarantine
from phalanx.dialects.following.told import SetAside, Subject, Told
from phalanx.dialects.kindtable import DAEMON_SET, LOOKED_UP, Kind
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem


class Follower:
    """Objects may come in any order of kinds, twice or late. Nothing is lost: what cannot be read is told, and what is
    raised while one object or one family is read stays with it (``setaside``).

    ``unread``: kinds that may not be read at the moment. Nobody waits for objects of those.
    """

    def __init__(self, marks: Marks, unread: Callable[[], Collection[Kind]] = tuple) -> None:
        self._marks, self._unread = marks, unread
        self._estate = Estate(marks)
        self._roll = Roll(marks)
        self._around: Surroundings | None = None
        self._aside = Quarantine()
        self._said = Told()  # of objects that were set aside since it was last asked

    def anew(self) -> "Follower":
        """One that follows the same, and has heard of nothing yet."""
        return Follower(self._marks, self._unread)

    def seen(self, value: Mapping[str, object]) -> None:
        """An object exists, as it is now."""
        found, _ = documents.sort([value])
        for doc in found:
            wrong = _unnamed(doc)
            if wrong is not None:
                self._hold(self._aside.put(SetAside(Subject.of(doc.key, doc), wrong), self._said))
                continue
            try:
                self._see(doc)
            except Exception as error:
                self.set_aside(doc.key, error, doc)
            else:
                self._aside.lift([doc.key])

    def _see(self, doc: Document) -> None:
        kind = doc.of_kind
        if kind == DAEMON_SET or (doc.role is Role.STATE and kind not in LOOKED_UP):
            self._estate.seen(doc)
        elif doc.role in (Role.STATE, Role.WORKLOAD, Role.UNREAD):
            self._roll.seen(doc)

    def gone(self, key: ObjectKey) -> None:
        """An object is there no more."""
        self._estate.gone(key)
        self._roll.gone(key)
        self._aside.lift([key])

    def set_aside(self, key: ObjectKey, error: BaseException, doc: Document | None = None) -> None:
        """An object cannot be looked at as it is now. It stays as it was known, unless that was another one."""
        if doc is not None and self._roll.knows_another(doc):
            self._roll.gone(key)
        self._hold(self._aside.hold(key, doc, error, self._said))

    def pass_over(self, key: ObjectKey, error: BaseException) -> None:
        """An object is as if it were not there, until it changes: what it leads to cannot be kept books of."""
        self._estate.gone(key)
        self._roll.gone(key)
        self._hold(self._aside.hold(key, None, error, self._said))

    def _hold(self, one: SetAside) -> None:
        """Whatever is found of it next is news."""
        self._estate.unsettle(one)
        self._roll.unsettle(one)

    def key_of(self, gang: str) -> ObjectKey | None:
        """The object that a gang was read from."""
        return self._roll.key_of(gang)

    @property
    def set_aside_by_kind(self) -> Mapping[tuple[str, str], int]:
        """How many objects are set aside now."""
        found: Counter[tuple[str, str]] = Counter()
        for one in (self._aside, self._estate.aside, self._roll.aside):
            found.update(one.counts())
        return found

    def tell(self) -> Told:
        """What came of it since it was last asked: the cluster first, then gangs, then pods."""
        first, self._said = self._said, Told()
        around = self._estate.tell(first)
        around = replace(around or self._around or Surroundings(), unread=frozenset(self._unread()))
        if around != self._around:  # of claims and classes most changes mean nothing to us
            self._around = around
            self._roll.surround(around)
        first.add(self._roll.tell())
        return first


def _unnamed(doc: Document) -> Problem | None:
    """What is wrong with the name of an object: two without one would be taken for each other."""
    at = Field.of(doc.value, Notes()).at("metadata")
    name, namespace = at.at("name"), at.at("namespace")
    if not name.present:
        name.wrong("an object without a name is passed over")
    name.name(None)
    namespace.name(None)
    return at.notes.problems[0] if at.notes.problems else None
