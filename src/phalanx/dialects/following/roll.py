"""The roll of all workloads and pods of a cluster, and what has changed on it since it was last asked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from phalanx.dialects import documents, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import absent, family, oddities, ours, podseen, resuming, ties, times, unheld, volumes
from phalanx.dialects.following.families import Families
from phalanx.dialects.following.family import Family
from phalanx.dialects.following.membership import Called, Membership
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.following.told import Subject, Told
from phalanx.dialects.following.verdicts import Verdicts
from phalanx.dialects.neighbours import Key
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.events import Event, GangGone, GangSeen, GangSpoiled, PodGone, PodSeen
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
        self._docs: dict[Key, Document] = {}
        self._pods: dict[Key, bytes] = {}
        self._static: dict[Key, object] = {}
        self._live: dict[Key, Pod] = {}  # all pods, as they are now, members of nothing
        self._held: dict[Key, tuple[str, ...]] = {}  # pods of ours that others hold back -> their gates
        self._members: dict[str, Membership] = {}  # by uid
        self._told: dict[Key, Pod] = {}
        self._gangs: dict[Key, dict[str, GangSeen]] = {}  # by the object they were read from
        self._spoiled: set[str] = set()  # gangs whose manifest is wrong by now
        self._names: dict[str, Key] = {}  # gang id -> the object that goes by it
        self._verdicts = Verdicts()
        self._odd = Verdicts()  # what is good, and has something told of it
        self._families = Families()
        self._dirty: dict[Key, None] = {}
        self._changed: dict[Key, None] = {}  # pods that say something else of themselves than before
        self._moved: dict[Key, None] = {}  # pods that changed without their family
        self._events: list[Event] = []

    # -- in ------------------------------------------------------------------------------------------------------

    def surround(self, around: Surroundings) -> None:
        """What workloads may look up has changed: all of them are read again."""
        self._around = replace(around, rules=self._marks.rules, unknown="not in the cluster")
        self._dirty.update(dict.fromkeys(self._docs))
        self._dirty.update(dict.fromkeys(self._pods))

    def seen(self, doc: Document) -> None:
        key = readers.key(doc)
        if key[:2] == _POD:
            return self._pod_seen(key, doc)
        if not self._marks.covers(doc.namespace):
            return None
        if key not in self._docs and ours.is_said_valid(doc) is False:
            self._verdicts.unsettle(key)
        self._docs[key] = doc
        static = _static(doc)
        if self._static.get(key) != static:
            self._static[key] = static
            self._families.tie(key, ties.of(doc))
            self._dirty[key] = None
        return None

    def gone(self, key: Key) -> None:
        # Its family is walked when it is told, once for all that left it.
        self._dirty.update(dict.fromkeys((key, *self._families.tied(key))))
        self._families.drop(key)
        self._docs.pop(key, None)
        self._static.pop(key, None)
        if key[:2] == _POD:
            self._pod_gone(key)

    def _pod_seen(self, key: Key, doc: Document) -> None:
        at = Field.of(doc.value)
        now = podseen.pod(at)
        before = self._live.get(key)
        if before is not None and before.key.uid != now.key.uid:
            self.gone(key)
        self._live[key] = now
        self._moved[key] = None
        is_ours = ours.is_bound_by_us(at, self._marks) or ours.was_gated(at)
        if not is_ours or not self._marks.covers(doc.namespace):
            return
        self._hold(key, ours.gates_of_others(at))
        static = _static_of_pod(doc)
        if self._static.get(key) != static:
            self._changed.update(dict.fromkeys([key] if key in self._static else []))
            self._static[key] = static
            self._pods[key] = msgspec.json.encode(doc.value)
            self._families.tie(key, ties.of(doc))
            self._dirty[key] = None

    def _hold(self, key: Key, gates: tuple[str, ...]) -> None:
        self._held.pop(key, None)
        if gates:
            self._held[key] = gates

    def _pod_gone(self, key: Key) -> None:
        pod = self._live.pop(key, None)
        if pod is None:
            return
        self._held.pop(key, None)
        self._odd.lift(key)
        self._pods.pop(key, None)
        self._moved.pop(key, None)
        self._members.pop(pod.key.uid, None)
        if self._told.pop(key, None) is not None:
            self._events.append(PodGone(pod.key))

    # -- out -----------------------------------------------------------------------------------------------------

    def tell(self) -> Told:
        """What has changed since it was last asked: gangs first, then pods."""
        told = Told(events=self._events)
        self._events = []
        done: set[Key] = set()
        for key in self._dirty:
            if key not in done:
                keys = self._families.around(key)
                done |= keys
                self._read(keys, told)
        self._dirty.clear()
        self._changed.clear()
        for key in self._moved:
            self._tell_pod(key, told)
        self._moved.clear()
        return told

    def _read(self, keys: frozenset[Key], told: Told) -> None:
        docs = {key: self._docs[key] for key in keys if key in self._docs}
        pods = {key: self._unpacked(key) for key in sorted(keys) if key in self._pods}
        with_pods = {**docs, **(pods if family.gathers(keys - pods.keys()) else self._owning(docs, pods))}
        running = frozenset(key for key in pods if self._live[key].node)
        found = family.read(with_pods, self._around, self._marks, running)
        if not running:
            found = volumes.held_back(found, [*docs.values(), *pods.values()], self._around)
        found = found if pods else unheld.refused(found, self._marks)
        found = absent.told(found, keys, running, self._marks)
        self._tell_gangs(keys, found, told)
        self._tell_refused(keys, found, told)
        called = self._called(pods, found)
        for key, doc in pods.items():
            self._join(key, doc, found, called, told)
            self._moved[key] = None

    def _owning(self, docs: Mapping[Key, Document], pods: Mapping[Key, Document]) -> dict[Key, Document]:
        """Pods that own an object: the workers of a LeaderWorkerSet's group belong to its leader. (W-029)"""
        tied = {other for key in docs for other in self._families.tied(key)}
        return {key: doc for key, doc in pods.items() if key in tied}

    def _unpacked(self, key: Key) -> Document:
        return documents.Document(
            "", "v1", "Pod", documents.Role.WORKLOAD, ours.unplaced(msgspec.json.decode(self._pods[key]))
        )

    # -- gangs ---------------------------------------------------------------------------------------------------

    def _tell_gangs(self, keys: frozenset[Key], found: Family, told: Told) -> None:
        fresh: dict[Key, dict[str, GangSeen]] = {}
        for request in found.requests:
            doc = found.subject(request.kind, request.namespace, request.name)
            key = readers.key(doc) if doc is not None else _nameless(request)
            request = self._qualified(request, key)
            order = len(fresh.get(key, {})) * _APART
            resumed = resuming.of(found, request, self._marks)
            fresh.setdefault(key, {})[request.id] = GangSeen(request, self._since(doc, found) + order, resumed.owner)
            told.subjects[request.id] = Subject.of(key, doc)
            told.notes[request.id] = (*(found.notes or {}).get(request.id, ()), *resumed.left)
        wrong = {readers.key(doc) for one in found.invalid if (doc := found.subject(one.kind, one.namespace, one.name))}
        for key in sorted(keys | fresh.keys()):
            self._compare(key, fresh.get(key, {}), key in wrong, told)

    def _compare(self, key: Key, now: dict[str, GangSeen], is_wrong: bool, told: Told) -> None:
        """What was told of an object and is not there now is gone; or goes on as it was, if the object is wrong."""
        before = self._gangs.pop(key, {})
        left = {name: event for name, event in before.items() if name not in now}
        for name in left:
            if not is_wrong:
                self._names.pop(name, None)
                self._spoiled.discard(name)
                told.events.append(GangGone(name))
            elif name not in self._spoiled:
                self._spoiled.add(name)
                told.events.append(GangSpoiled(name))
        told.events.extend(one for name, one in now.items() if before.get(name) != one or name in self._spoiled)
        self._spoiled -= now.keys()
        found = {**(left if is_wrong else {}), **now}
        if found:
            self._gangs[key] = found

    def _qualified(self, request: Request, key: Key) -> Request:
        """The request by an id that nobody else in the cluster goes by, and that stays for as long as it is there."""
        named = [replace(request, qualifier=one) for one in (None, key[1], f"{key[1]}.{key[0]}")]
        own = [one for one in named if self._names.get(one.id) == key]
        free = [one for one in named if one.id not in self._names]
        chosen = next(iter(own or free))
        self._names[chosen.id] = key
        return chosen

    def _since(self, doc: Document | None, found: Family) -> float:
        docs = [doc] if doc is not None else list(found.docs.values())
        made = [times.seconds(Field.of(one.value).at("metadata", "creationTimestamp").value) for one in docs]
        return min((one for one in made if one is not None), default=0.0)

    def _tell_refused(self, keys: frozenset[Key], found: Family, told: Told) -> None:
        wrong: set[Key] = set()
        for invalid in found.invalid:
            doc = found.subject(invalid.kind, invalid.namespace, invalid.name)
            if doc is None:
                continue
            key = readers.key(doc)
            wrong.add(key)
            if self._verdicts.refuse(key, invalid):
                told.refused.append((Subject.of(key, doc), invalid))
        for key in sorted(keys - wrong):
            if self._verdicts.lift(key) and key in found.docs:
                told.accepted.append(Subject.of(key, found.docs[key]))
            if key[:2] == _GANG and key in found.docs:
                self._tell_idle(key, found.docs[key], found, told)

    def _tell_idle(self, key: Key, doc: Document, found: Family, told: Told) -> None:
        """A Gang of which nothing is known to place yet is no gang, and says why."""
        is_idle = key not in self._gangs and not ours.has_finished(doc)
        self._tell_odd(key, doc, (found.notes or {}).get(doc.called(None), ()) if is_idle else (), told)

    def _tell_odd(self, key: Key, doc: Document, odd: Sequence[Problem], told: Told) -> None:
        """What is to be said of an object on itself, once."""
        own = tuple(replace(one, path=one.path.removeprefix(f"{doc.title}: ")) for one in odd)
        if own and self._odd.refuse(key, own):
            told.dangling.append((Subject.of(key, doc), own))
        elif not own:
            self._odd.lift(key)

    # -- pods ----------------------------------------------------------------------------------------------------

    def _called(self, pods: Mapping[Key, Document], found: Family) -> Called:
        """What the copies of a family are called, by the keys of their pods."""
        joined = {key: one for key in pods if (one := self._membership(key)) is not None}
        return family.called(found, joined.values(), [doc for key, doc in pods.items() if key not in joined])

    def _membership(self, key: Key) -> Membership | None:
        """The place that a pod was given, if its gang is there."""
        known = self._members.get(self._live[key].key.uid)
        return known if known is not None and known.gang in self._names else None

    def _join(self, key: Key, doc: Document, found: Family, called: Called, told: Told) -> None:
        """A pod keeps the place it was first given for as long as its gang is there. (W-111)"""
        uid = self._live[key].key.uid
        known = self._membership(key)
        stays = known is not None
        said = None if stays and key not in self._changed else family.member(found, doc, called, self._around)
        if not stays:
            known = None if said is None else self._renamed(said, found)
        elif known is not None and key in self._changed and (said is None or said.pod_set != known.pod_set):
            told.note(known.gang, oddities.relabelled(key[3], known, said))
        if known is None:
            self._members.pop(uid, None)
            return self._tell_lost(key, doc, found, told)
        self._members[uid] = known
        odd = [one for one in family.remarks(found, doc) if told.note_once(known.gang, one)]
        self._tell_odd(key, doc, odd, told)
        if key in self._held:
            told.note(known.gang, oddities.held(key[3], self._held[key]))
        return None

    def _tell_lost(self, key: Key, doc: Document, found: Family, told: Told) -> None:
        """On the gang, and on the pod itself."""
        pod, seats = self._live[key], family.seats_of(found, doc)
        if seats and key not in found.strays and not (pod.node or pod.leaving or pod.ended):
            nearest = self._renamed(Membership(seats[0].gang, seats[0].pods.name, None), found)
            lost = oddities.lost(key[3], family.replica(doc, seats), seats)
            told.note(nearest.gang, lost)
            self._tell_odd(key, doc, [lost], told)

    def _renamed(self, joined: Membership, found: Family) -> Membership:
        request = next(one for one in found.requests if one.id == joined.gang)
        doc = found.subject(request.kind, request.namespace, request.name)
        key = readers.key(doc) if doc is not None else _nameless(request)
        return replace(joined, gang=self._qualified(request, key).id)

    def _tell_pod(self, key: Key, told: Told) -> None:
        """A pod of ours is told of once it is known where it belongs; others once they take room."""
        pod = self._live.get(key)
        if pod is None:
            return
        member = self._members.get(pod.key.uid)
        if key in self._held and not pod.node:
            return  # as if it were not there: the server refuses to bind it
        if member is not None:
            pod = replace(pod, gang=member.gang, pod_set=member.pod_set, rank=member.rank)
        if (member is not None or pod.node) and self._told.get(key) != pod:
            self._told[key] = pod
            told.events.append(PodSeen(pod))


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


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, dict) else {}


def _nameless(request: Request) -> Key:
    """The key of a group of pods that has no object: Kueue's. (K-094)"""
    return "kueue.x-k8s.io", request.kind, request.namespace, request.name
