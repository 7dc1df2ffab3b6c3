"""What happened on a server, as a watch of our own saw it, and a judge who knows nothing else.

``History`` follows pods and nodes over plain HTTP as the administrator: nothing of Phalanx takes part. Records of both
kinds are put in the order of their resource versions, which one store hands out to all kinds, so the judge sees what
the server did in the order in which it did it::

    with History(bed.admin_kubeconfig) as history:
        ...
        assert history.judge([Promise("train", 64)], window_seconds=20) == []
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.contract.door import Door, from_kubeconfig

Object = dict[str, Any]
GANG, GROUP = "phalanx.dev/gang", "phalanx.dev/group"
_PATHS = {"Pod": "/api/v1/pods", "Node": "/api/v1/nodes"}
_AGAIN_SECONDS = 0.05  # between two tries while the server is away
_CATCH_UP_SECONDS = 60.0
_UNITS = {"m": Fraction(1, 1000), "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@dataclass(frozen=True, slots=True)
class Record:
    """An object as it was from ``at`` on, or its end. ``version``: of the store, the same count for all kinds."""

    at: float
    version: int
    kind: str
    gone: bool
    object: Object

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class Promise:
    """What holds of a gang, or of one of its groups: none of its pods is bound or ``minimum`` are, and all of them on
    nodes that agree in the labels ``level``: the whole path of a domain."""

    gang: str
    minimum: int
    level: tuple[str, ...] = ()
    group: str = ""
    namespace: str = ""  # empty: whichever
    label: str = GANG  # by which its pods are known

    def covers(self, pod: Object) -> bool:
        labels = pod["metadata"].get("labels", {})
        here = self.namespace in ("", pod["metadata"].get("namespace"))
        return here and labels.get(self.label) == self.gang and self.group in ("", labels.get(GROUP))


# -- judging ---------------------------------------------------------------------------------------------------------


def judge(records: Iterable[Record], promises: Iterable[Promise], window_seconds: float, until: float) -> list[str]:
    """Everything that is wrong in a history that ends at ``until``; nothing if all is well."""
    replay, wrong = Replay(), list[str]()
    halves = [_Half(promise) for promise in promises]
    for moment, record in replay.of(records):
        wrong += replay.wrongs(record)
        wrong += [line for half in halves for line in half.look(moment, replay, window_seconds)]
    return _once([*wrong, *(line for half in halves for line in half.end(until, window_seconds))])


class Replay:
    """The cluster at one moment of a history after the other."""

    def __init__(self) -> None:
        self.nodes: dict[str, Object] = {}
        self.pods: dict[str, Object] = {}
        self.homes: dict[str, str] = {}  # pod uid -> the first node it had
        self._paths: dict[str, dict[str, str]] = {}  # pod uid -> labels of that node when it came there

    def of(self, records: Iterable[Record]) -> Iterator[tuple[float, Record]]:
        """Each record after it was applied, and when: time never runs back, though two watches may."""
        moment = 0.0
        for record in sorted(records, key=lambda one: one.version):
            moment = max(moment, record.at)
            self._apply(record)
            yield moment, record

    def _apply(self, record: Record) -> None:
        if record.kind not in _PATHS:
            return
        known = self.nodes if record.kind == "Node" else self.pods
        key = record.object["metadata"]["name"] if record.kind == "Node" else record.uid
        if record.gone:
            known.pop(key, None)
        else:
            known[key] = record.object
        node = record.object["spec"].get("nodeName") if record.kind == "Pod" else None
        if node and record.uid not in self.homes:
            self.homes[record.uid] = node
            self._paths[record.uid] = self.nodes.get(node, {"metadata": {}})["metadata"].get("labels", {})

    def wrongs(self, record: Record) -> list[str]:
        """What this record has made wrong, whoever's pods they are."""
        if record.kind == "Node":
            return self._overfull(record.object["metadata"]["name"])
        if record.kind not in _PATHS:
            return []
        node = record.object["spec"].get("nodeName")
        if not node:
            return []
        twice = [] if self.homes[record.uid] == node else [f"pod {_named(record.object)}: bound twice"]
        return twice + self._overfull(node)

    def _overfull(self, name: str) -> list[str]:
        node = self.nodes.get(name)
        if node is None:
            return []
        there = [pod for pod in self.pods.values() if pod["spec"].get("nodeName") == name and not _has_ended(pod)]
        room = {key: amount(value) for key, value in node.get("status", {}).get("allocatable", {}).items()}
        used: dict[str, Fraction] = {"pods": Fraction(len(there))}
        for pod in there:
            for key, value in requests(pod).items():
                used[key] = used.get(key, Fraction(0)) + value
        over = [key for key, value in used.items() if value > room.get(key, 0)]
        return [f"node {name}: {key} over what it has: {float(used[key]):g}" for key in sorted(over)]

    def is_bound(self, pod: Object) -> bool:
        """Whether it counts for its gang: it has a node that exists, was not told to go, and has not failed."""
        leaving = "deletionTimestamp" in pod["metadata"]
        failed = pod.get("status", {}).get("phase") == "Failed"
        return pod["spec"].get("nodeName") in self.nodes and not leaving and not failed

    def bound(self, promise: Promise) -> list[str]:
        """The uids of its bound pods."""
        return [uid for uid, pod in self.pods.items() if promise.covers(pod) and self.is_bound(pod)]

    def domains(self, promise: Promise) -> set[tuple[str, ...]]:
        """Where its bound pods are, by the labels that their nodes had when they came there."""
        return {tuple(self._paths[uid].get(key, "") for key in promise.level) for uid in self.bound(promise)}


@dataclass(slots=True)
class _Half:
    """One promise over time. ``since``: when the gang became half, None while it is whole or nothing of it is bound."""

    promise: Promise
    since: float | None = None

    def look(self, moment: float, replay: Replay, window: float) -> list[str]:
        wrong: list[str] = []
        count = len(replay.bound(self.promise))
        if self.promise.level and len(found := replay.domains(self.promise)) > 1:
            wrong.append(f"gang {self.promise.gang}: over several domains: {sorted(found)}")
        if 0 < count < self.promise.minimum:
            self.since = moment if self.since is None else self.since
            return wrong
        wrong += self.end(moment, window)
        self.since = None
        return wrong

    def end(self, moment: float, window: float) -> list[str]:
        """A complaint if it was half for longer than the window, up to this moment."""
        lasted = 0.0 if self.since is None else moment - self.since
        return [f"gang {self.promise.gang}: half of it bound for {lasted:.1f} s"] if lasted > window else []


def counts(records: Iterable[Record], promise: Promise) -> list[int]:
    """How many of its pods were bound, one change after the other."""
    replay, found = Replay(), [0]
    for _, _ in replay.of(records):
        count = len(replay.bound(promise))
        if count != found[-1]:
            found.append(count)
    return found


def requests(pod: Object) -> dict[str, Fraction]:
    """What the containers of a pod ask for together; the tests' pods have no others that count."""
    total: dict[str, Fraction] = {}
    for container in pod["spec"]["containers"]:
        for key, value in container.get("resources", {}).get("requests", {}).items():
            total[key] = total.get(key, Fraction(0)) + amount(value)
    return total


def amount(quantity: str) -> Fraction:
    """A Kubernetes quantity as a number."""
    unit = next((unit for unit in sorted(_UNITS, key=len, reverse=True) if quantity.endswith(unit)), "")
    return Fraction(quantity.removesuffix(unit)) * _UNITS.get(unit, 1)


def _has_ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _named(one: Object) -> str:
    return f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"


def _once(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(lines))


# -- recording -------------------------------------------------------------------------------------------------------


class History:
    """Records from the moment the block begins until it ends. ``gaps``: how often a watch could not go on where it was,
    so that only what was left in the end is known of that time.

    ``more``: kinds beside pods and nodes, and where they are. ``tell``: whom each record is told as it comes.
    """

    def __init__(
        self, kubeconfig: Path, more: Mapping[str, str] | None = None, tell: Callable[[Record], None] | None = None
    ) -> None:
        self._kubeconfig = kubeconfig
        paths = {**_PATHS, **(more or {})}
        self._watches = [_Watch(kind, path, from_kubeconfig(kubeconfig), tell) for kind, path in paths.items()]

    def __enter__(self) -> Self:
        for watch in self._watches:
            watch.start()
        self.catch_up()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for watch in self._watches:
            watch.end()

    @property
    def records(self) -> list[Record]:
        return sorted((one for watch in self._watches for one in list(watch.records)), key=lambda one: one.version)

    @property
    def gaps(self) -> int:
        return sum(watch.gaps for watch in self._watches)

    def catch_up(self) -> None:
        """Returns once everything that is on the server now was recorded."""
        end = time.monotonic() + _CATCH_UP_SECONDS
        door = from_kubeconfig(self._kubeconfig)  # a new one: the server may have been away
        try:
            for watch in self._watches:
                while not watch.has_caught_up(door):
                    assert time.monotonic() < end, f"the history of {watch.path} lags behind"
                    time.sleep(_AGAIN_SECONDS)
        finally:
            door.close()

    def judge(self, promises: Iterable[Promise], window_seconds: float) -> list[str]:
        """Everything that was wrong so far."""
        self.catch_up()
        return judge(self.records, promises, window_seconds, time.monotonic())

    def counts(self, promise: Promise) -> list[int]:
        self.catch_up()
        return counts(self.records, promise)

    def sent_away(self, promise: Promise) -> list[Object]:
        """Its pods that were told to leave their node, each as it was when they were."""
        self.catch_up()
        found: dict[str, Object] = {}
        for record in self.records:
            leaving = record.kind == "Pod" and "deletionTimestamp" in record.object["metadata"]
            if leaving and record.object["spec"].get("nodeName") and promise.covers(record.object):
                found.setdefault(record.uid, record.object)
        return list(found.values())


class _Watch(threading.Thread):
    """Follows one kind until told to end, whatever becomes of the server meanwhile."""

    def __init__(self, kind: str, path: str, door: Door, tell: Callable[[Record], None] | None) -> None:
        super().__init__(name=f"history of {kind}", daemon=True)
        self.kind, self.path, self._tell = kind, path, tell
        self.records: list[Record] = []
        self.gaps = 0
        self._door = door
        self._known: dict[str, Object] = {}
        self._version = ""
        self._over = threading.Event()
        self._socket: socket.socket | None = None

    def end(self) -> None:
        self._over.set()
        if (open_one := self._socket) is not None:
            with contextlib.suppress(OSError):
                open_one.shutdown(socket.SHUT_RDWR)  # closing it would not wake who reads from it
        self.join()
        self._door.close()

    def has_caught_up(self, door: Door) -> bool:
        """Whether what it knows is at least as new as what is there, and nothing else is left."""
        there = door.get(self.path)
        if there.code == 429:
            return False  # the server has just come to know the kind
        versions = _versions(there.expect(200)["items"])
        known = _versions(list(self._known.values()))
        return known.keys() == versions.keys() and all(int(known[uid]) >= int(versions[uid]) for uid in known)

    def run(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, HTTPException, AssertionError, ValueError):
                if not self._version:
                    self._read_all()
                self._follow()
            self._over.wait(_AGAIN_SECONDS)

    def _read_all(self) -> None:
        """Everything that is there, compared with what is known: what vanished is recorded as gone."""
        found = _list(self._door, self.path)
        version = found["metadata"]["resourceVersion"]
        self.gaps += bool(self.records)
        there = _versions(found["items"])
        for uid in [uid for uid in self._known if uid not in there]:
            self._record(self._known[uid], int(version), gone=True)
        for one in found["items"]:
            self._record(one, int(one["metadata"]["resourceVersion"]))
        self._version = version

    def _follow(self) -> None:
        connection = self._door.credentials.connect()
        try:
            query = f"watch=true&allowWatchBookmarks=true&resourceVersion={self._version}"
            connection.request("GET", f"{self.path}?{query}", headers=dict(self._door.credentials.headers))
            self._socket = connection.sock
            answer = connection.getresponse()
            with answer:
                if answer.status != 200:
                    self._refused(answer.status)
                while answer.status == 200 and not self._over.is_set() and (line := answer.readline()):
                    self._take(json.loads(line))
        finally:
            self._socket = None
            connection.close()

    def _refused(self, status: int) -> None:
        if status == 410:
            self._version = ""

    def _take(self, event: Object) -> None:
        one = event["object"]
        if event["type"] == "ERROR":
            self._version = ""
            raise ValueError(one.get("message", "the watch ended in an error"))
        self._version = one["metadata"]["resourceVersion"]
        if event["type"] != "BOOKMARK":
            self._record(one, int(self._version), gone=event["type"] == "DELETED")

    def _record(self, one: Object, version: int, gone: bool = False) -> None:
        uid = one["metadata"]["uid"]
        before = self._known.get(uid)
        if not gone and before is not None and before["metadata"]["resourceVersion"] == str(version):
            return
        if gone:
            self._known.pop(uid, None)
        else:
            self._known[uid] = one
        record = Record(time.monotonic(), version, self.kind, gone, one)
        self.records.append(record)
        if self._tell is not None:
            self._tell(record)


def _list(door: Door, path: str) -> Object:
    return door.get(path).expect(200)


def _versions(objects: Iterable[Object]) -> dict[str, str]:
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in objects}
