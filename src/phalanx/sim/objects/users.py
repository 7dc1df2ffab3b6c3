"""People: they create workloads, delete them, make them again, make them larger or smaller, hold them back."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from phalanx.minicluster.documents import key_of
from phalanx.minicluster.errors import Rejected
from phalanx.minicluster.store import Store
from phalanx.model.objects import ObjectKey
from phalanx.sim.agenda import Agenda
from phalanx.sim.objects.causes import Causes
from phalanx.sim.objects.drawn import Doc, Drawn, incarnation
from phalanx.sim.objects.journal import Journal
from phalanx.sim.objects.kinds.row import Row
from phalanx.sim.objects.kinds.table import ROWS
from phalanx.sim.objects.record import PodLife

_ALONE = frozenset({"leader", "Launcher", "Master", "Chief", "headgroup"})  # there is one of them, in every size
_AGAIN = 1.0  # seconds until a name is tried again that is still taken


@dataclass(slots=True)
class Entry:
    """One incarnation of a workload. ``before``: what it was drawn as before it was resized. ``uids``: of its objects.

    ``ended``: since when it is deleted. ``regrouped``: its objects were made again without its pods. ``held``: its user
    holds it back.
    """

    drawn: Drawn
    made: str
    row: Row
    objects: list[Doc]
    pods: dict[str, Doc]
    before: list[Drawn] = field(default_factory=list)
    uids: dict[ObjectKey, str] = field(default_factory=dict)
    ended: float | None = None
    regrouped: bool = False
    held: bool = False

    @property
    def top(self) -> ObjectKey | None:
        """The object that is the workload."""
        own = (key_of(doc) for doc in self.objects if doc["metadata"]["name"] == self.drawn.name)
        return next(own, None)

    def is_whole(self, there: dict[str, int]) -> bool:
        """As it is asked for, or was when it may have started. One that is to have fewer of one role and more of
        another runs on with what it has of each while there is no room for more."""
        known = (self.drawn, *self.before)
        if any(drawn.is_whole(there) for drawn in known):
            return True
        least: dict[str, int] = {}
        for role in (role for drawn in known for role in drawn.roles):
            least[role.name] = min(role.needed, least.get(role.name, role.needed))
        return self.drawn.any_of is None and all(there.get(name, 0) >= count for name, count in least.items())


class Users:
    """``entries``: every incarnation there was. ``current``: by the name of the workload."""

    def __init__(self, store: Store, agenda: Agenda, chance: Random, causes: Causes, journal: Journal) -> None:
        self._store, self._agenda, self._chance = store, agenda, chance
        self._causes, self._journal = causes, journal
        self.entries: dict[str, Entry] = {}
        self.current: dict[str, Entry] = {}

    def copy_of(self, made: str, labels: dict[str, str]) -> str:
        return self.entries[made].row.copy_of(labels) if made in self.entries else ""

    # -- create ----------------------------------------------------------------------------------------------------

    def submit(self, drawn: Drawn) -> None:
        made = incarnation(drawn.name, sum(one.drawn.name == drawn.name for one in self.entries.values()) + 1)
        row = ROWS[drawn.kind]
        wanted = row.make(drawn, made)
        entry = Entry(drawn, made, row, list(wanted.objects), {pod["metadata"]["name"]: pod for pod in wanted.pods})
        self.entries[made] = self.current[drawn.name] = entry
        self._journal.note(self._agenda.now, f"** {made} is submitted: {drawn}")
        self._create_all(entry)

    def _create_all(self, entry: Entry) -> None:
        """The objects together; pods one by one, before or after them or both."""
        pods = list(entry.pods.values())
        if self._chance.random() < 0.5:
            self._chance.shuffle(pods)
        gap = self._chance.choice((0.0, 0.0, 0.1, 0.7))
        early = self._chance.choice((0, 0, self._chance.randint(0, len(pods)), len(pods)))
        at = 0.0
        for place, pod in enumerate([*pods, None]):
            if place == early:
                for each in entry.objects:
                    self._agenda.after(at, partial(self._create, entry, each))
            if pod is not None:
                self._agenda.after(at, partial(self._create, entry, pod))
                at += self._chance.uniform(0, gap)

    def _create(self, entry: Entry, doc: Doc) -> None:
        if entry.ended is not None:
            return
        name = doc["metadata"]["name"]
        if doc["kind"] == "Pod" and name not in entry.pods:
            return
        try:
            found = self._store.create(doc, self._agenda.now)
        except Rejected as rejected:
            if rejected.reason != "AlreadyExists":
                raise
            self._agenda.after(_AGAIN, partial(self._create, entry, doc))
            return
        entry.uids[key_of(found)] = found["metadata"]["uid"]

    def make_again(self, life: PodLife) -> None:
        """A pod made by hand went: whoever looks after such pods makes it again, under its name."""
        entry = self.entries.get(life.unit[0]) if life.unit is not None else None
        if entry is None or entry.ended is not None or not entry.drawn.remade or life.done:
            return
        doc = entry.pods.get(life.key.name)
        if doc is not None and entry.uids.get(life.key) == life.uid:
            self._agenda.after(self._chance.uniform(0.1, 3.0), partial(self._create, entry, doc))

    # -- delete ----------------------------------------------------------------------------------------------------

    def delete(self, name: str) -> None:
        entry = self.current[name]
        if entry.ended is not None:
            return
        entry.ended = self._agenda.now
        self._journal.note(self._agenda.now, f"** {entry.made} is deleted")
        how = "Foreground" if self._chance.random() < 0.2 else "Background"
        for doc in entry.objects:
            self._delete(entry, key_of(doc), how)
        for name in list(entry.pods):
            self._delete(entry, ObjectKey("", "Pod", "default", name), "Background")

    def regroup(self, entry: Entry, pause: float) -> None:
        """The objects of a workload are deleted and made again; its pods, made by hand, stay."""
        self._journal.note(self._agenda.now, f"** the objects of {entry.made} are made again")
        self._causes.note(entry.made, "made again", self._agenda.now)
        entry.regrouped = True
        for doc in entry.objects:
            self._delete(entry, key_of(doc), "Background")
            self._agenda.after(pause, partial(self._create, entry, doc))

    def _delete(self, entry: Entry, key: ObjectKey, how: str) -> None:
        try:
            if key in entry.uids:
                self._store.delete(key, self._agenda.now, uid=entry.uids[key], propagation=how)
        except Rejected as rejected:
            if rejected.reason not in ("NotFound", "Conflict"):
                raise

    def stop_making(self) -> None:
        """What makes workload after workload makes no more."""
        for entry in self.current.values():
            if entry.top is not None and entry.top.kind == "CronJob" and entry.ended is None:
                self._change(entry, entry.top, lambda held: {**held, "spec": {**held["spec"], "suspend": True}})

    def replace(self, drawn: Drawn, pause: float) -> None:
        """Deleted and made again under its name, perhaps as something else."""
        self.delete(drawn.name)
        self._agenda.after(pause, partial(self.submit, drawn))

    # -- change ----------------------------------------------------------------------------------------------------

    def resize(self, entry: Entry, drawn: Drawn) -> None:
        """The numbers of a workload change."""
        if entry.ended is not None or not entry.row.resized:
            return
        self._journal.note(self._agenda.now, f"** {entry.made} is resized: {drawn.roles}")
        self._causes.note(entry.made, "resized", self._agenda.now)
        entry.before.append(entry.drawn)
        entry.drawn = drawn
        wanted = entry.row.make(drawn, entry.made)
        for doc in wanted.objects:
            self._respecify(entry, doc)
        entry.objects = list(wanted.objects)
        pods = {pod["metadata"]["name"]: pod for pod in wanted.pods}
        gone = [name for name in entry.pods if name not in pods]
        new = [name for name in pods if name not in entry.pods]
        entry.pods = pods
        for name in gone:
            self._delete(entry, ObjectKey("", "Pod", "default", name), "Background")
        for name in new:
            self._create(entry, pods[name])

    def _respecify(self, entry: Entry, doc: Doc) -> None:
        key = key_of(doc)
        self._change(entry, key, lambda held: {**held, "spec": _kept(held["spec"], doc["spec"])})

    def roll_out(self, entry: Entry, image: str) -> None:
        """The templates of a workload change, and with them its pods."""
        if entry.ended is not None or not entry.row.rolled:
            return
        self._journal.note(self._agenda.now, f"** {entry.made} is rolled out")
        self._causes.note(entry.made, "rolled out", self._agenda.now)
        for doc in entry.objects:
            self._change(entry, key_of(doc), lambda held: {**held, "spec": _with_image(held["spec"], image)})

    def hold(self, entry: Entry, yes: bool) -> None:
        """Its user suspends it, or resumes it."""
        top = entry.top
        if entry.ended is not None or not entry.row.held or top is None or entry.drawn.gated:
            return
        self._journal.note(self._agenda.now, f"** {entry.made} is {'suspended' if yes else 'resumed'}")
        self._causes.note(entry.made, "suspended", self._agenda.now)
        entry.held = yes
        self._change(entry, top, lambda held: {**held, "spec": {**held["spec"], "suspend": yes}})

    def _change(self, entry: Entry, key: ObjectKey, write: Callable[[Doc], Doc]) -> None:
        if key not in entry.uids:
            return
        try:
            self._store.change(key, write, self._agenda.now, entry.uids[key])
        except Rejected as rejected:
            if rejected.reason not in ("NotFound", "Conflict"):
                raise


def smaller_or_larger(drawn: Drawn, chance: Random) -> Drawn:
    """The same workload with other numbers; what needed all of its pods needs all of them again."""
    roles = []
    for role in drawn.roles:
        count = (
            1
            if role.name in _ALONE or drawn.kind == "Pod"
            else chance.randint(1, 2) * 2
            if drawn.kind == "JobSet"
            else chance.randint(1, 5)
        )
        roles.append(replace(role, count=count, least=None if role.least is None else min(role.least, count)))
    size = sum(role.count for role in roles)
    any_of = None if drawn.any_of is None else size if drawn.any_of == drawn.size else min(drawn.any_of, size)
    return replace(drawn, roles=tuple(roles), any_of=any_of)


def _kept(held: Doc, wanted: Doc) -> Doc:
    """A spec with new values, and with what the server filled in."""
    found = dict(held)
    for name, value in wanted.items():
        both = isinstance(value, dict) and isinstance(held.get(name), dict)
        found[name] = _kept(held[name], value) if both else value
    return found


def _with_image(value: Any, image: str) -> Any:
    if isinstance(value, dict):
        return {key: image if key == "image" else _with_image(below, image) for key, below in value.items()}
    return [_with_image(below, image) for below in value] if isinstance(value, list) else value
