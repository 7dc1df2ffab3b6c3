"""Which objects say how a gang is, and what should stand in each. No time passes here, and nothing is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phalanx.dialects.following import Subject
from phalanx.engine.views import View
from phalanx.kube import status
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

Document = dict[str, Any]
OURS = "phalanx.dev"
UPSTREAM = "scheduling.k8s.io"
GROUPS = ("PodGroup", "CompositePodGroup")


@dataclass(slots=True)
class Entry:
    """One object we write about. ``group``: which group of its gangs it is; empty: all of it.

    ``problems``: why it is refused; empty: it was, and is good again; None: nothing was said. ``doubts``: what is odd
    about a good one. ``known``: its status as it stands there in ``version``, None until it was read. ``stale``: a
    mirror had it older than it is.
    """

    key: ObjectKey
    uid: str = ""
    generation: int = 0
    version: str = ""
    group: str = ""
    gangs: dict[str, None] = field(default_factory=dict)
    problems: tuple[Problem, ...] | None = None
    doubts: tuple[Problem, ...] = ()
    known: Mapping[str, Any] | None = None
    stale: bool = False

    @property
    def is_ours(self) -> bool:
        return self.key.group == OURS

    @property
    def is_upstream(self) -> bool:
        return self.key.group == UPSTREAM

    def overtaken(self) -> None:
        """Somebody wrote to it since it was read."""
        self.known, self.stale = None, True

    def read(self, found: Mapping[str, Any]) -> bool:
        """The object as it is there; False: another has its name now."""
        metadata = found.get("metadata", {})
        if self.uid not in ("", metadata.get("uid")):
            return False
        self.uid, self.version = metadata.get("uid", ""), metadata.get("resourceVersion", "")
        self.generation = max(self.generation, metadata.get("generation") or 0)
        self.known, self.stale = found.get("status") or {}, False
        return True


class Ledger:
    """Views and objects by name. ``foreign``: whether kinds of other projects are written to as well."""

    def __init__(self, foreign: bool) -> None:
        self._foreign = foreign
        self.entries: dict[ObjectKey, Entry] = {}
        self.views: dict[str, View] = {}
        self._notes: dict[str, tuple[Problem, ...]] = {}
        self._homes: dict[str, set[ObjectKey]] = {}
        self._bereft: set[str] = set()  # gangs that lost an object: what stands in its place was told nothing yet

    # -- what is told --------------------------------------------------------------------------------------------

    def see(self, subject: Subject, view: View) -> list[ObjectKey] | None:
        """The objects that say how the gang is; None if it is as it was, and so are they."""
        if self.views.get(view.id) == view and view.id not in self._bereft and not self._is_another(subject):
            return None
        self._bereft.discard(view.id)
        self.views[view.id] = view
        found = list(self._objects(subject, view))
        for one in found:
            one.gangs[view.id] = None
        self._homes.setdefault(view.id, set()).update(one.key for one in found)
        return [one.key for one in found]

    def runs(self, subject: Subject) -> bool:
        """Whether something of an object was placed, and is there."""
        named = subject.key.address
        return any(one.holds and (one.kind, one.namespace, one.name) == named for one in self.views.values())

    def homes(self, gang: str) -> list[ObjectKey]:
        return sorted(self._homes.get(gang, ()))

    def note(self, gang: str, problems: tuple[Problem, ...]) -> bool:
        """What does not agree between a gang and its pods; whether that is new."""
        before = self._notes.pop(gang, ())
        if problems:
            self._notes[gang] = problems
        return before != problems

    def judge(self, subject: Subject, problems: tuple[Problem, ...], doubts: tuple[Problem, ...] = ()) -> bool:
        """An object is refused, or with no problems good again, also where another scheduler than this one refused it;
        whether that is written into it."""
        if not self._is_written(subject.key):
            return False
        one = self._entry(subject)
        one.problems, one.doubts = problems, doubts
        return True

    def gone(self, key: ObjectKey) -> bool:
        """An object is there no more; whether anything was to be said of it."""
        one = self.entries.pop(key, None)
        self._bereft.update(one.gangs if one is not None else ())
        return one is not None

    def forget(self, gang: str) -> list[ObjectKey]:
        """A gang is gone; the objects that nothing is to be said of any more."""
        self._bereft.discard(gang)
        self.views.pop(gang, None)
        self._notes.pop(gang, None)
        entries = [self.entries[key] for key in self._homes.pop(gang, ()) if key in self.entries]
        for one in entries:
            one.gangs.pop(gang, None)
        left = [one.key for one in entries if not one.gangs and not one.problems]
        for key in left:
            del self.entries[key]
        return left

    def _objects(self, subject: Subject, view: View) -> Iterator[Entry]:
        """The object of a gang, and those of all groups of a tree of Kubernetes' own groups."""
        group, kind, namespace, name = subject.key
        if not self._is_written(subject.key):
            return
        yield self._entry(subject)
        if (group, kind) == (UPSTREAM, "CompositePodGroup"):
            for one in view.groups:
                if one.name != name:
                    key = ObjectKey(UPSTREAM, GROUPS[0] if one.has_pods else GROUPS[1], namespace, one.name)
                    yield self.entries.setdefault(key, Entry(key, group=one.name))

    def _is_written(self, key: ObjectKey) -> bool:
        group, kind = key.of_kind
        if group == UPSTREAM:
            return kind in GROUPS
        return group == OURS or (self._foreign and kind != "Pod")

    def _is_another(self, subject: Subject) -> bool:
        """Whether what is known under its name is of an object before it."""
        one = self.entries.get(subject.key)
        return one is not None and one.uid not in ("", subject.uid)

    def _entry(self, subject: Subject) -> Entry:
        one = None if self._is_another(subject) else self.entries.get(subject.key)
        if one is None:
            one = self.entries[subject.key] = Entry(subject.key)
        one.uid, one.generation = subject.uid, max(subject.generation, one.generation)
        return one

    # -- what should stand there ---------------------------------------------------------------------------------

    def wanted(self, one: Entry, now: str) -> Mapping[str, Any]:
        """The whole status of an object as it should be."""
        if one.is_upstream:
            return {**(one.known or {}), "conditions": status.merged(one.known, self.conditions(one, now))}
        views = self._views_of(one)
        if one.is_ours and one.problems:
            return status.invalid_status(one.key.kind, one.problems, views, one.known, one.generation, now)
        if one.is_ours and views:
            return status.gang_status(views, one.known, one.generation, now, self._notes_of(one))
        if one.is_ours and one.problems is not None:
            return status.valid_status(one.known, one.generation, now, one.doubts)
        if not views:
            return one.known or {}
        conditions = status.foreign_conditions(views, one.known, one.generation, now)
        return {**(one.known or {}), "conditions": conditions}

    def conditions(self, one: Entry, now: str) -> list[Document]:
        """Those of a group of Kubernetes' own that are to be written."""
        kind, views = one.key.kind, self._views_of(one)
        if one.problems:
            runs = any(view.holds for view in views)
            return status.refused_group(kind, one.problems, runs, one.known, one.generation, now)
        if not views:
            return []
        notes = self._notes_of(one)
        return status.group_conditions(kind, views[0], one.group, one.known, one.generation, now, notes)

    def _views_of(self, one: Entry) -> list[View]:
        return [self.views[name] for name in one.gangs if name in self.views]

    def _notes_of(self, one: Entry) -> Sequence[Problem]:
        return [problem for name in one.gangs for problem in self._notes.get(name, ())]
