"""The roll of all workloads and pods of a cluster, and what has changed on it since it was last asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from phalanx.dialects import documents, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import (
    absent,
    family,
    limits,
    makers,
    membership,
    oddities,
    ours,
    podseen,
    resuming,
    suspending,
    ties,
    times,
    unheld,
    volumes,
)
from phalanx.dialects.following.families import Families
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.foreign import Foreigners
from phalanx.dialects.following.gathered import Gatherings
from phalanx.dialects.following.makers import Life, Makers, life
from phalanx.dialects.following.membership import Called, Membership
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.following.podvolumes import PodVolumes
from phalanx.dialects.following.savepoint import Savepoint
from phalanx.dialects.following.setaside import Quarantine
from phalanx.dialects.following.suspending import Suspending
from phalanx.dialects.following.told import SetAside, Subject, Told
from phalanx.dialects.following.verdicts import Verdicts
from phalanx.dialects.kindtable import CLUSTER_SCOPED
from phalanx.dialects.owners import Owner
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.events import Event, GangGone, GangSeen, GangSpoiled, PodGone, PodSeen
from phalanx.model.makers import Maker
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import Pod
from phalanx.model.problems import Problem
from phalanx.model.request import Request

_POD = ("", "Pod")
_GANG = ("phalanx.dev", "Gang")
_APART = 1e-6  # seconds: gangs of one object are as old as it is, and stand in line in its own order


class Roll:
    """Changed by ``seen`` and ``gone``; ``tell`` says what came of it, once.

    Pods are kept as bytes, and only those that are ours: there may be very many.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._around = Surroundings()
        self._docs: dict[ObjectKey, Document] = {}
        self._pods: dict[ObjectKey, bytes] = {}
        self._static: dict[ObjectKey, object] = {}
        self._live: dict[ObjectKey, Pod] = {}  # all pods, as they are now, members of nothing
        self._held: dict[ObjectKey, tuple[str, ...]] = {}  # pods of ours that others hold back -> their gates
        self._volumes = PodVolumes()
        self._members: dict[str, Membership] = {}  # by uid
        self._told: dict[ObjectKey, Pod] = {}
        self._gangs: dict[ObjectKey, dict[str, GangSeen]] = {}  # by the object they were read from
        self._gatherings = Gatherings()
        self._spoiled: set[str] = set()  # gangs whose manifest is wrong by now
        self._names: dict[str, ObjectKey] = {}  # gang id -> the object that goes by it
        self._foreigners = Foreigners()
        self._verdicts = Verdicts()
        self._odd = Verdicts()  # what is good, and has something told of it
        self._families = Families()
        self._makers = Makers(self._life)
        self._telling: set[ObjectKey] = set()  # pods that had a say in what is asked for when their family was read
        self._left: set[ObjectKey] = set()  # pods whose makers are gone or going
        self._dirty: dict[ObjectKey, None] = {}
        self._changed: dict[ObjectKey, None] = {}  # pods that say something else of themselves than before
        self._moved: dict[ObjectKey, None] = {}  # pods that changed without their family
        self._events: list[Event] = []
        self.aside = Quarantine()

    # -- in ------------------------------------------------------------------------------------------------------

    def surround(self, around: Surroundings) -> None:
        """What workloads may look up has changed: all of them are read again."""
        self._around = replace(
            around, rules=self._marks.rules, unknown="not in the cluster", instead="its pods wait for it"
        )
        self._dirty.update(dict.fromkeys(self._docs))
        self._dirty.update(dict.fromkeys(self._pods))
        self._moved.update(dict.fromkeys(self._volumes.keys()))

    def seen(self, doc: Document) -> None:
        key = doc.key
        if key.of_kind == _POD:
            return self._pod_seen(key, doc)
        if not self._marks.covers(doc.namespace) and key.of_kind not in CLUSTER_SCOPED:
            return None
        said = _said(doc, _static(doc))  # all that may fail comes before the first change
        if self.knows_another(doc):
            self.gone(key)  # another object has its name now
        if key not in self._docs and ours.is_said_valid(doc) is False:
            self._verdicts.unsettle(key)
        self._docs[key] = doc
        if self._static.get(key) != said.static or key in self.aside:
            self._tie(key, said)
        return None

    def _tie(self, key: ObjectKey, said: "_Said") -> None:
        """It says something else than before: its family is read again."""
        self._static[key] = said.static
        self._makers.see(key, said.made_by)
        self._families.tie(key, said.ties)
        self._dirty[key] = None

    def knows_another(self, doc: Document) -> bool:
        """Whether the object that is known by its key had another uid."""
        before = self._life(doc.key)
        return before is not None and before.uid != life(doc).uid

    def unsettle(self, one: SetAside) -> None:
        """It cannot be read as it is now: whatever is found of it later is news."""
        self._verdicts.refuse(one.subject.key, one)

    def key_of(self, gang: str) -> ObjectKey | None:
        """The object that goes by the id of a gang."""
        return self._names.get(gang)

    def _life(self, key: ObjectKey) -> Life | None:
        """The object that goes by a key now."""
        if key.of_kind == _POD:
            pod = self._live.get(key)
            return None if pod is None else Life(pod.key.uid, pod.leaving)
        doc = self._docs.get(key)
        return None if doc is None else life(doc)

    def gone(self, key: ObjectKey) -> None:
        # Its family is walked when it is told, once for all that left it.
        self._dirty.update(dict.fromkeys((key, *self._families.tied(key))))
        self._families.drop(key)
        self._makers.forget(key)
        self._docs.pop(key, None)
        self._static.pop(key, None)
        self._verdicts.lift(key)
        self._odd.lift(key)
        self.aside.lift([key])
        if key.of_kind == _POD:
            self._pod_gone(key)

    def _pod_seen(self, key: ObjectKey, doc: Document) -> None:
        at = Field.of(doc.value)
        is_ours = self._marks.covers(doc.namespace) and (ours.is_bound_by_us(at, self._marks) or ours.was_gated(at))
        now = podseen.pod(at) if is_ours else replace(podseen.pod(at), nominated=podseen.nominated(at))
        said = _said(doc, _static_of_pod(doc)) if is_ours else None
        packed = msgspec.json.encode(doc.value) if said is not None and self._static.get(key) != said.static else None
        gates = ours.gates_of_others(at)
        if self.knows_another(doc):
            self.gone(key)
        before = self._live.get(key)
        now = now if before is None else podseen.settled(before, now)
        self._live[key] = now
        self._moved[key] = None
        self._volumes.see(key, at)
        if before is not None and key in self._telling and _part_of_life(before) != _part_of_life(now):
            self._dirty[key] = None  # it may tell something else of its gang now
        named = self._foreigners.forget(key) if is_ours else self._foreigners.see(key, at)
        self._dirty.update({} if named is None else {named: None})
        if said is None:
            return
        self._hold(key, gates)
        if packed is not None:
            self._changed.update(dict.fromkeys([key] if key in self._static else []))
            self._pods[key] = packed
            self._tie(key, said)

    def _hold(self, key: ObjectKey, gates: tuple[str, ...]) -> None:
        self._held.pop(key, None)
        if gates:
            self._held[key] = gates

    def _pod_gone(self, key: ObjectKey) -> None:
        pod = self._live.pop(key, None)
        if pod is None:
            return
        named = self._foreigners.forget(key)
        self._dirty.update({} if named is None else {named: None})
        self._held.pop(key, None)
        self._volumes.forget(key)
        self._pods.pop(key, None)
        self._moved.pop(key, None)
        self._telling.discard(key)
        self._left.discard(key)
        self._members.pop(pod.key.uid, None)
        if self._told.pop(key, None) is not None:
            self._events.append(PodGone(pod.key))

    # -- out -----------------------------------------------------------------------------------------------------

    def tell(self) -> Told:
        """What has changed since it was last asked: gangs first, then pods."""
        told = Told(events=self._events)
        self._events = []
        done: set[ObjectKey] = set()
        for key in self._dirty:
            if key not in done:
                keys = self._families.around(key)
                done |= keys
                self._read(keys, told)
        self._dirty.clear()
        self._changed.clear()
        for key in self._moved:
            try:
                self._tell_pod(key, told)
            except Exception as error:
                self._verdicts.refuse(key, self.aside.hold(key, None, error, told))
        self._moved.clear()
        return told

    def _read(self, keys: frozenset[ObjectKey], told: Told) -> None:
        """One family. Where something is raised nothing of it is half done: what runs goes on as it was asked for, and
        nothing new is placed until it changes."""
        before, own = self._savepoint(keys), Told()
        try:
            self._read_whole(keys, own)
        except Exception as error:
            before.put_back()
            self._names = {name: key for name, key in self._names.items() if name in self._gangs.get(key, {})}
            own = Told()
            self._set_aside(keys, error, own)
        else:
            self.aside.lift(keys)
        told.add(own)

    def _savepoint(self, keys: frozenset[ObjectKey]) -> Savepoint:
        """What is known of a family, and may be changed while it is read."""
        found = Savepoint()
        names = [name for key in keys for name in self._gangs.get(key, ())]
        found.keep(keys, self._gangs, self._gatherings.known, self._verdicts.refused, self._odd.refused)
        found.keep([self._live[key].key.uid for key in keys if key in self._live], self._members)
        found.keep(names, self._names)
        found.mark(names, self, "_spoiled")
        found.mark(keys, self, "_left", "_telling")
        return found

    def _set_aside(self, keys: frozenset[ObjectKey], error: Exception, told: Told) -> None:
        """Told on the workloads of a family, or on its pods where they stand for themselves."""
        docs = [self._docs[key] for key in sorted(keys) if key in self._docs]
        for doc in docs or [self._unpacked(key) for key in sorted(keys) if key in self._pods]:
            self._verdicts.refuse(doc.key, self.aside.hold(doc.key, doc, error, told))
        for key in sorted(keys):
            self._compare(key, {}, True, told)

    def _read_whole(self, keys: frozenset[ObjectKey], told: Told) -> None:
        docs = {key: self._docs[key] for key in keys if key in self._docs and self._stays(key)}
        pods = {key: self._unpacked(key) for key in sorted(keys) if key in self._pods}
        self._left -= pods.keys()
        self._left |= {key for key in pods if self._makers.is_left_behind(key)}
        gathered = self._gathered(keys, pods) if family.gathers(keys - pods.keys()) else {}
        telling = gathered or self._owning(docs, pods)
        self._telling -= pods.keys()
        self._telling |= telling.keys() | (pods.keys() if gathered else set())
        running = frozenset(key for key in pods if self._live[key].node)
        found = family.read({**docs, **telling}, self._around, self._marks, running)
        if not running:
            there = [doc for key, doc in pods.items() if key not in self._left]
            found = volumes.held_back(found, [*docs.values(), *there], self._around)
        found = volumes.counted(found, [doc for key, doc in pods.items() if key not in telling], self._around)
        found = found if pods else unheld.refused(found, self._marks)
        found = absent.told(found, keys, running, self._marks)
        self._tell_gangs(keys, [self._live[key].key.uid for key in telling], found, told)
        self._tell_refused(keys, found, told)
        called = self._called(pods, found)
        self._volumes.judge(pods.values(), self._around)
        for key, doc in pods.items():
            self._join(key, doc, found, called, told)
            if running:
                self._tell_waiting(key, told)
            self._moved[key] = None

    def _stays(self, key: ObjectKey) -> bool:
        """Whether an object is there for good: it is not being deleted, and neither is all that made it."""
        return not life(self._docs[key]).leaving and not self._makers.is_left_behind(key)

    def _gathered(self, keys: frozenset[ObjectKey], pods: Mapping[ObjectKey, Document]) -> dict[ObjectKey, Document]:
        """The pods that tell what their gang is like: those that are to run, or have done their work. Of a pod that
        stands for itself that is news only if it was seen before."""
        alone = not any(key.of_kind in readers.GATHERERS for key in keys)
        told = {key: doc for key, doc in pods.items() if key not in self._left and self._tells(self._live[key])}
        return {key: doc for key, doc in told.items() if not (alone and self._live[key].ended) or key in self._gangs}

    def _tells(self, pod: Pod) -> bool:
        if pod.ended:
            return pod.phase == "Succeeded"
        return not pod.leaving

    def _owning(
        self, docs: Mapping[ObjectKey, Document], pods: Mapping[ObjectKey, Document]
    ) -> dict[ObjectKey, Document]:
        """Pods that own an object: the workers of a LeaderWorkerSet's group belong to its leader. (W-029)"""
        tied = {other for key in docs for other in self._families.tied(key)}
        return {key: doc for key, doc in pods.items() if key in tied}

    def _unpacked(self, key: ObjectKey) -> Document:
        value = ours.unplaced(msgspec.json.decode(self._pods[key]))
        unbegun = {part: one for part, one in value.items() if part != "status"}
        return documents.Document("", "v1", "Pod", documents.Role.WORKLOAD, unbegun)

    # -- gangs ---------------------------------------------------------------------------------------------------

    def _tell_gangs(self, keys: frozenset[ObjectKey], pods: Sequence[str], found: Family, told: Told) -> None:
        """``pods``: the uids of those that had a say in it."""
        fresh: dict[ObjectKey, dict[str, GangSeen]] = {}
        for request in found.requests:
            doc = found.subject(request.kind, request.namespace, request.name)
            key = doc.key if doc is not None else _nameless(request)
            request = self._qualified(request, key)
            order = len(fresh.get(key, {})) * _APART
            resumed = resuming.of(found, request, self._marks)
            asked: tuple[Maker, ...] = ()
            leaving = suspending.of(found, request) if resumed.owner is None else Suspending()
            if request.rules.enforcement == "Bind":
                request, asked = leaving.follow(request), leaving.asked()
            uid = self._gatherings.uid(key, pods) if doc is None else life(doc).uid
            seen = GangSeen(request, self._since(doc, found) + order, resumed.owner, uid, asked)
            fresh.setdefault(key, {})[request.id] = seen
            told.subjects[request.id] = Subject.of(key, doc)
            told.notes[request.id] = (
                *(found.notes or {}).get(request.id, ()),
                *resumed.left,
                *limits.doubts(request, leaving),
                *self._foreigners.of(key),
            )
        wrong = {doc.key for one in found.invalid if (doc := found.subject(one.kind, one.namespace, one.name))}
        for key in sorted(keys | fresh.keys()):
            self._compare(key, fresh.get(key, {}), key in wrong, told)

    def _compare(self, key: ObjectKey, now: dict[str, GangSeen], is_wrong: bool, told: Told) -> None:
        """What was told of an object and is not there now is gone; or goes on as it was, if the object is wrong."""
        before = self._gangs.pop(key, {})
        left = {name: event for name, event in before.items() if name not in now}
        for name in left:
            if not is_wrong:
                self._names.pop(name, None)
                self._spoiled.discard(name)
                told.events.append(GangGone(name, *ours.ending(self._docs.get(key))))
            elif name not in self._spoiled:
                self._spoiled.add(name)
                told.events.append(GangSpoiled(name))
        for name, one in now.items():
            if name in before and before[name].uid != one.uid:
                told.events.append(GangGone(name))  # and another one of its name is there
            if before.get(name) != one or name in self._spoiled:
                told.events.append(one)
        self._spoiled -= now.keys()
        found = {**(left if is_wrong else {}), **now}
        if found:
            self._gangs[key] = found
        else:
            self._gatherings.forget(key)

    def _qualified(self, request: Request, key: ObjectKey) -> Request:
        """The request by an id that nobody else in the cluster goes by, and that stays for as long as it is there."""
        named = [replace(request, qualifier=one) for one in (None, key.kind, f"{key.kind}.{key.group}")]
        own = [one for one in named if self._names.get(one.id) == key]
        free = [one for one in named if one.id not in self._names]
        chosen = next(iter(own or free))
        self._names[chosen.id] = key
        return chosen

    def _since(self, doc: Document | None, found: Family) -> float:
        docs = [doc] if doc is not None else list(found.docs.values())
        made = [times.seconds(Field.of(one.value).at("metadata", "creationTimestamp").value) for one in docs]
        return min((one for one in made if one is not None), default=0.0)

    def _tell_refused(self, keys: frozenset[ObjectKey], found: Family, told: Told) -> None:
        wrong: set[ObjectKey] = set()
        for invalid in found.invalid:
            doc = found.subject(invalid.kind, invalid.namespace, invalid.name)
            if doc is None:
                continue
            key = doc.key
            wrong.add(key)
            if self._verdicts.refuse(key, invalid):
                told.refused.append((Subject.of(key, doc), invalid))
        for key in sorted(keys - wrong):
            if self._verdicts.lift(key) and key in found.docs:
                told.accepted.append(Subject.of(key, found.docs[key]))
            if key.of_kind == _GANG and key in found.docs:
                self._tell_idle(key, found.docs[key], found, told)

    def _tell_idle(self, key: ObjectKey, doc: Document, found: Family, told: Told) -> None:
        """A Gang of which nothing is known to place yet is no gang, and says why."""
        is_idle = key not in self._gangs and not ours.has_finished(doc)
        self._tell_odd(key, doc, (found.notes or {}).get(doc.called(None), ()) if is_idle else (), told)

    def _tell_odd(self, key: ObjectKey, doc: Document, odd: Sequence[Problem], told: Told) -> None:
        """What is to be said of an object on itself, once."""
        own = tuple(one.told_on(doc.key) for one in odd)
        if own and self._odd.refuse(key, own):
            told.dangling.append((Subject.of(key, doc), own))
        elif not own:
            self._odd.lift(key)

    # -- pods ----------------------------------------------------------------------------------------------------

    def _called(self, pods: Mapping[ObjectKey, Document], found: Family) -> Called:
        """What the copies of a family are called, by the keys of their pods."""
        joined = {key: one for key in pods if (one := self._membership(key)) is not None}
        return family.called(found, joined.values(), [doc for key, doc in pods.items() if key not in joined])

    def _membership(self, key: ObjectKey) -> Membership | None:
        """The place that a pod was given, if that gang is there, and not another one of its name."""
        known = self._members.get(self._live[key].key.uid)
        return known if known is not None and self._uid_of(known.gang) == known.uid else None

    def _uid_of(self, gang: str) -> str | None:
        """The uid of the object that a gang was read from; None where the gang is not there."""
        key = self._names.get(gang)
        event = None if key is None else self._gangs.get(key, {}).get(gang)
        return None if event is None else event.uid

    def _join(self, key: ObjectKey, doc: Document, found: Family, called: Called, told: Told) -> None:
        """A pod keeps the place it was first given for as long as its gang is there. (W-111)"""
        uid = self._live[key].key.uid
        known = self._membership(key)
        if key in self._left:
            if known is None:
                self._members.pop(uid, None)
            return None
        if known is None and not self._live[key].node and family.is_awaiting(found, doc):
            self._members.pop(uid, None)
            return None
        known = self._as_now(key, doc, known, found, called, told)
        if known is None:
            self._members.pop(uid, None)
            return self._tell_lost(key, doc, found, told)
        self._members[uid] = known
        odd = [one for one in family.remarks(found, doc) if told.note_once(known.gang, one)]
        self._tell_odd(key, doc, odd, told)
        if key in self._held:
            told.note(known.gang, oddities.held(key, self._held[key]))
        return None

    def _tell_waiting(self, key: ObjectKey, told: Told) -> None:
        """A pod that came late waits for its volumes, while the others of its gang run."""
        known, waits = self._membership(key), self._volumes.waits_for(self._live[key])
        if known is not None and waits:
            told.note_once(known.gang, oddities.waits(key, waits))

    def _as_now(
        self, key: ObjectKey, doc: Document, known: Membership | None, found: Family, called: Called, told: Told
    ) -> Membership | None:
        """The place of a pod by what is there now. It stays in the gang and the part that it joined; what the shapes
        in it are called, and which of them it has, may be another matter with every pod that comes or goes."""
        stays = known is not None and key not in self._changed and not family.may_rename(found, known)
        if known is not None and stays:
            return known
        read = family.member(found, doc, called, self._around)
        said = None if read is None else self._renamed(read, found)
        if known is None:
            return said
        now = membership.again(known, said, [seat for seat in found.seats if self._is_of(seat.gang, known, found)])
        if key in self._changed and (said is None or (said.gang, said.part) != (now.gang, now.part)):
            told.note(known.gang, oddities.relabelled(key, known, said))
        return now

    def _is_of(self, gang: str, known: Membership, found: Family) -> bool:
        return self._renamed(Membership(gang, "", None), found).gang == known.gang

    def _tell_lost(self, key: ObjectKey, doc: Document, found: Family, told: Told) -> None:
        """On the gang, and on the pod itself."""
        pod, seats = self._live[key], family.seats_of(found, doc)
        if seats and key not in found.strays and not (pod.node or pod.leaving or pod.ended):
            nearest = self._renamed(Membership(seats[0].gang, seats[0].pods.name, None), found)
            lost = oddities.lost(key, family.replica(doc, seats), seats)
            told.note(nearest.gang, lost)
            self._tell_odd(key, doc, [lost], told)

    def _renamed(self, joined: Membership, found: Family) -> Membership:
        request = next(one for one in found.requests if one.id == joined.gang)
        doc = found.subject(request.kind, request.namespace, request.name)
        key = doc.key if doc is not None else _nameless(request)
        gang = self._qualified(request, key).id
        return replace(joined, gang=gang, uid=self._uid_of(gang) or "")

    def _tell_pod(self, key: ObjectKey, told: Told) -> None:
        """A pod of ours is told of once it is known where it belongs; others once they take room."""
        pod = self._live.get(key)
        if pod is None:
            return
        member = self._members.get(pod.key.uid)
        if key in self._held and not pod.node:
            return  # as if it were not there: the server refuses to bind it
        if member is not None:
            pod = replace(pod, gang=member.gang, pod_set=member.pod_set, rank=member.rank)
        pod = self._volumes.added(pod, self._around)
        if key in self._left:
            pod = replace(pod, leaving=True)  # whoever deletes what its makers left behind will come to it
        before = self._told.get(key)
        takes_room = bool(pod.node or pod.nominated)
        if (member is not None or takes_room or before is not None) and before != pod:
            self._told[key] = pod
            told.events.append(PodSeen(pod))


@dataclass(frozen=True, slots=True)
class _Said:
    """What an object says of itself. ``static``: the same as long as nothing of that changes."""

    static: object
    ties: frozenset[ObjectKey]
    made_by: tuple[Owner, ...]


def _said(doc: Document, static: object) -> _Said:
    return _Said(static, ties.of(doc), makers.made_by(doc))


def _part_of_life(pod: Pod) -> tuple[bool, str]:
    """Where a pod is in its life, as far as that has a say in what its gang is like."""
    return pod.leaving, pod.phase if pod.ended else ""


def _static(doc: Document) -> object:
    """What of an object has a say in what is asked for. Statuses have none, but for Kueue's, and that all is over."""
    metadata = _mapping(doc.value.get("metadata"))
    said = [metadata.get(part) for part in ("uid", "labels", "annotations", "ownerReferences", "deletionTimestamp")]
    status = doc.value.get("status") if doc.home == "kueue.x-k8s.io" else ours.has_finished(doc)
    return hash(msgspec.json.encode([*said, doc.value.get("spec"), status]))


def _static_of_pod(doc: Document) -> object:
    """What of a pod has a say in where it belongs and what its group is like; what we write into it has not."""
    metadata, spec = (_mapping(ours.unpinned(doc.value).get(part)) for part in ("metadata", "spec"))
    annotations = _mapping(metadata.get("annotations"))
    said = [metadata.get(part) for part in ("uid", "labels", "ownerReferences")]
    kept = {key: value for key, value in annotations.items() if key not in ours.WRITTEN}
    rest = {key: value for key, value in spec.items() if key not in ("nodeName", "schedulingGates", "nodeSelector")}
    return hash(msgspec.json.encode([*said, kept, rest, ours.gates_of_others(Field.of(doc.value))]))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _nameless(request: Request) -> ObjectKey:
    """The key of a group of pods that has no object: Kueue's. (K-094)"""
    return ObjectKey("kueue.x-k8s.io", request.kind, request.namespace, request.name)
