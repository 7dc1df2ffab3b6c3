"""Kubernetes events about gangs: one per gang and change, never one per pod (W-014).

Pure: what happened goes in, the write that tells it comes out, or nothing. The same thing about the same object within
a window is one event: told again it becomes a series, and its count is written now and then. The name of an event is
made of what it says and of the window, so a restarted scheduler says nothing twice either::

    book = Notices(instance="phalanx-0")
    told = of_report(report, view)                       # None: nothing that people must hear of
    write = book.told(subject, told, at)                 # Create | Again | None
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from phalanx.dialects.following import Subject
from phalanx.engine.lifecycle import Cause
from phalanx.engine.views import View
from phalanx.kube import status
from phalanx.model.effects import Notice, Report, Topic
from phalanx.model.problems import Problem
from phalanx.model.reasons import Closed, Reason, Why

CONTROLLER = "phalanx.dev/scheduler"
NOTE_MAX = 1024  # bytes; the API server refuses more
NAME_MAX = 200  # characters of an object's name that the name of its event begins with
WINDOW_SECONDS = 600.0  # the same within this is one event
AGAIN_SECONDS = 60.0  # between two writes of its count
REMEMBERED_MAX = 10_000  # events; the oldest is forgotten first
NAMES_SHOWN = 8

_NORMAL, _WARNING = "Normal", "Warning"
_NEWS: dict[Cause, tuple[str, str]] = {
    Cause.PLACED: (_NORMAL, "Placed"),
    Cause.PLACED_AHEAD: (_NORMAL, "Placed"),
    Cause.BOUND: (_NORMAL, "Started"),
    Cause.RECOVERED: (_NORMAL, "Repaired"),
    Cause.LOST: (_WARNING, "Degraded"),
    Cause.SCHEDULE_TIMEOUT: (_WARNING, "Released"),
    Cause.BIND_FAILED: (_WARNING, "Released"),
    Cause.NODE_LOST: (_WARNING, "Released"),
    Cause.READY_TIMEOUT: (_WARNING, "Evicted"),
    Cause.RECOVERY_TIMEOUT: (_WARNING, "Evicted"),
    Cause.POD_FAILED: (_WARNING, "Evicted"),
    Cause.SUSPENDED: (_NORMAL, "Suspended"),
    Cause.DRAINED: (_NORMAL, "Evicted"),
    Cause.PODS_VANISHED: (_WARNING, "Requeued"),
    Cause.COMPLETED: (_NORMAL, "Finished"),
    Cause.WRONG: (_WARNING, "Invalid"),
}  # what was found after a restart, and the steps in between, are no news
_PATIENCE = (Why.OVER_QUOTA, Why.BEHIND_OTHERS, Why.EVICTING, Why.BACKING_OFF, Why.SUSPENDED)  # nobody need do anything


@dataclass(frozen=True, slots=True)
class Said:
    """What an event says. ``about``: its class; what differs only in numbers has the same. ``stays``: later news of
    the same gang do not take its place while it is not written yet."""

    type: str
    reason: str
    note: str
    about: str = ""
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    """A new event."""

    namespace: str
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Again:
    """An event that was told before happened again: a merge patch."""

    namespace: str
    name: str
    change: dict[str, Any]


# ---- what is said -----------------------------------------------------------------------------------------------


def of_report(report: Report, view: View) -> Said | None:
    """What people hear of a report; None: nothing new."""
    if report.cause:
        return _of_change(Cause[report.cause], view)
    if report.reason is not None:
        return _of_reason(report.reason, view)
    return _of_levels(view) if view.torn else None


def _of_change(cause: Cause, view: View) -> Said | None:
    if cause not in _NEWS:
        return None
    kind, reason = _NEWS[cause]
    about = f"{view.unit}/{cause.name}"
    return Said(kind, reason, status.sentence(view), about, stays=kind == _WARNING)


def _of_reason(reason: Reason, view: View) -> Said:
    queue = reason.queue
    calm = reason.type in _PATIENCE and (queue is None or queue.why is Closed.HELD)
    about = f"{view.unit}/{reason.group}/{reason.level}"
    return Said(_NORMAL if calm else _WARNING, str(reason.type), status.sentence(view), about)


def _of_levels(view: View) -> Said:
    """A node of it has other labels by now, and a level it requires is not kept."""
    first = view.torn[0]
    about = f"{view.unit}/{first.group}/{first.level}"
    return Said(_WARNING, status.LEVEL_BROKEN, status.torn(view), about, stays=True)


def of_problems(problems: Sequence[Problem], reason: str, runs: bool = False) -> Said:
    """One event for all problems of an object: why it is refused, or where its pods disagree. Which is the first tells
    it from another: as many pods may come as there are, each with the same problem. (W-014) ``runs``: what was placed
    for it before goes on."""
    return Said(_WARNING, reason, status.refusal(problems, runs), str(problems[0]), stays=True)


def of_notice(notice: Notice) -> Said:
    """K-069: pods of others on a node of a topology that gangs use."""
    more = f" and {len(notice.names) - NAMES_SHOWN} more" if len(notice.names) > NAMES_SHOWN else ""
    names = ", ".join(notice.names[:NAMES_SHOWN])
    sentences = {Topic.FOREIGN_PODS: f"pods of no workload we place run on a node that gangs use: {names}{more}"}
    return Said(_WARNING, str(notice.topic), sentences[notice.topic], stays=True)


def node(notice: Notice) -> Subject:
    """The object a notice is about. Events about nodes carry the name as uid: that is where kubectl looks for them."""
    return Subject(notice.about, "v1", notice.about.name)


# ---- what is written --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Told:
    namespace: str
    name: str
    began: float
    written: float
    count: int = 1


class Notices:
    """What was told lately. Bounded: what is forgotten is at worst told once more."""

    def __init__(
        self,
        instance: str = "phalanx",
        window: float = WINDOW_SECONDS,
        again: float = AGAIN_SECONDS,
        remembered: int = REMEMBERED_MAX,
    ) -> None:
        self._instance, self._window, self._again, self._most = instance, window, again, remembered
        self._known: OrderedDict[tuple[str, ...], _Told] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def told(self, subject: Subject, said: Said, at: float) -> Create | Again | None:
        """The write that tells it now; None when it was told so lately that nothing need be written."""
        key = _key(subject, said)
        known = self._known.get(key)
        if known is None or at - known.began >= self._window:
            return self._first(key, subject, said, at)
        known.count += 1
        self._known.move_to_end(key)
        if at - known.written < self._again:
            return None
        known.written = at
        return Again(known.namespace, known.name, {"series": {"count": known.count, "lastObservedTime": _micro(at)}})

    def forget(self, subject: Subject, said: Said) -> None:
        """It could not be told after all, and is new the next time."""
        self._known.pop(_key(subject, said), None)

    def _first(self, key: tuple[str, ...], subject: Subject, said: Said, at: float) -> Create:
        namespace = subject.key.namespace or "default"  # where events about what has no namespace live
        name = _name(subject.key.name, (*key, str(int(at // self._window))))
        self._known[key] = _Told(namespace, name, at, at)
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return Create(namespace, _event(subject, said, name, namespace, self._instance, at))


def _key(subject: Subject, said: Said) -> tuple[str, ...]:
    return (*subject.key, subject.uid, said.type, said.reason, said.about)


def _event(subject: Subject, said: Said, name: str, namespace: str, instance: str, at: float) -> dict[str, Any]:
    _, kind, home, called = subject.key
    regarding = {"apiVersion": subject.api_version, "kind": kind, "name": called, "uid": subject.uid}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": _micro(at),
        "type": said.type,
        "reason": said.reason,
        "note": _bounded(said.note),
        "action": "Scheduling",
        "regarding": {**regarding, **({"namespace": home} if home else {})},
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128] or "phalanx",
    }


def _name(called: str, parts: tuple[str, ...]) -> str:
    """A name of its own for each event, and the same one for the same thing said in the same window."""
    digest = blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
    return f"{called[:NAME_MAX].rstrip('-.')}.{digest}"


def _bounded(note: str) -> str:
    raw = note.encode()
    return note if len(raw) <= NOTE_MAX else raw[: NOTE_MAX - 3].decode(errors="ignore") + "..."


def _micro(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
