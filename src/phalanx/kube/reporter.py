"""Tells people what becomes of their gangs: status, conditions and events, slowly enough that no bind waits for it.

How it is used, all of it in the event loop's thread::

    reporter = Reporter(client, served=lambda: watching.served, subjects=subjects.get, now=time.time, settings=...,
                        current=document_of, busy=lambda: writer.busy, on_problem=log)
    task = loop.create_task(reporter.run())

    # after every step; the views are made in the step's thread: views.of_all(book, names), for the gangs of all its
    # Reports and of all pods that were told of
    for subject, invalid in told.refused:  reporter.refuse(subject, invalid.problems)
    for subject in told.accepted:          reporter.accept(subject)
    for subject, odd in told.dangling:     reporter.accept(subject, odd)
    for gang, problems in told.notes.items():  reporter.note(gang, problems)
    for view in seen.values():             reporter.see(view)
    for effect in effects:                 Report -> reporter.report(effect, seen.get(effect.gang)),
                                           Notice -> reporter.notice(effect)
    for gang in gone:                      reporter.forget(gang)          # GangGone was told of it
    for key in deleted:                    reporter.gone(key)             # any object that a mirror lost

    task.cancel(); await reporter.drain(until=now + 5)       # at the end

``subjects`` must know a gang before its view is seen. ``current`` gives an object as a mirror has it (None: gone);
without it each object is read once before it is first written.

What is written, and what is not:

* one status per object and ``settle_seconds``, with what is true then; nothing if nothing changed;
* of our kinds the whole status, of scheduling.k8s.io groups their two conditions (all groups of a tree), of kinds of
  other projects one condition if ``foreign_status`` is set, else only events are about them;
* pods get a condition only when their gang has waited for ``pod_delay_seconds``, and one for each new reason;
* while ``busy`` says that binds are under way everything waits, for ``hold_seconds`` at most.

Nothing here raises: what fails is counted, told to ``on_problem``, and tried again where that can help.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Protocol

from phalanx.dialects.following import Subject
from phalanx.dialects.following.dangling import INCONSISTENT
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.kube import notices, status
from phalanx.kube.grumbles import Grumbles
from phalanx.kube.ledger import Entry, Ledger
from phalanx.kube.notices import Again, Create, Notices, Said
from phalanx.kube.pending import Pace, Pending
from phalanx.model.effects import Notice, Report
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import PodKey
from phalanx.model.problems import Problem
from phalanx.wire.client import Patch
from phalanx.wire.errors import Refused, WireError
from phalanx.wire.resources import EVENTS, PODS, Resource

Document = dict[str, Any]
BUSY = (429, 500, 503, 504)  # answers after which the same may work later
BUSY_LOOK_SECONDS = 0.1  # while everything is held back, how soon to look again
_INVALID = "Invalid"  # the reason of an object that is refused


class Writes(Protocol):
    """The part of the client that is used here."""

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Document: ...

    async def create(self, resource: Resource, document: Document, namespace: str = "") -> Document: ...

    async def patch(self, resource: Resource, name: str, change: Document, namespace: str = "") -> Document: ...

    async def patch_status(
        self, resource: Resource, name: str, change: Document, namespace: str = "", *, kind: Patch = Patch.MERGE
    ) -> Document: ...


class Finds(Protocol):
    """The part of what a server serves that is used here."""

    def find(self, group: str, name: str, version: str = "") -> Resource | None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """``settle_seconds``: how long a change waits for the next one. ``together``: writes under way at once."""

    settle_seconds: float = 1.0
    writes_per_second: float = 50.0
    pods_per_second: float = 25.0
    pod_delay_seconds: float = 5.0
    hold_seconds: float = 5.0
    retry_seconds: float = 5.0
    together: int = 4
    events: bool = True
    foreign_status: bool = False
    instance: str = "phalanx"
    news_max: int = 10_000


@dataclass(slots=True)
class Counts:
    """Writes done, by what they were; and those that were not needed, came too late, failed, or were given up."""

    statuses: int = 0
    events: int = 0
    pods: int = 0
    unchanged: int = 0
    overtaken: int = 0
    failed: int = 0
    dropped: int = 0


class Lane(IntEnum):
    """What goes first when not everything can go at once."""

    STATES = 0
    EVENTS = 1
    WAITING = 2
    PODS = 3


NewsKey = tuple[str, ...]


class Reporter:
    """Told what is so, it writes it when there is time. The latest wins; one write per object is under way at most."""

    def __init__(
        self,
        client: Writes,
        served: Callable[[], Finds],
        subjects: Callable[[str], Subject | None],
        now: Callable[[], float],
        settings: Settings = Settings(),  # noqa: B008 - a frozen value
        *,
        current: Callable[[ObjectKey], Mapping[str, Any] | None] | None = None,
        busy: Callable[[], bool] = lambda: False,
        on_problem: Callable[[str], None] = lambda text: None,
        tripped: Callable[[str, Mishap], None] = lambda about, mishap: None,
    ) -> None:
        self._client, self._served, self._subjects, self._now = client, served, subjects, now
        self._settings, self._current, self._busy, self._tripped = settings, current, busy, tripped
        self._grumbles = Grumbles(on_problem, now)
        self.counts = Counts()
        self._notices = Notices(settings.instance)
        self._ledger = Ledger(settings.foreign_status)
        self._news: dict[NewsKey, tuple[Subject, Said, float]] = {}
        self._marked: dict[str, dict[PodKey, str]] = {}  # gang -> what its pods were told
        self._lanes: dict[Lane, Pending[Any]] = {lane: Pending() for lane in Lane}
        self._pace, self._pod_pace = Pace(settings.writes_per_second), Pace(settings.pods_per_second)
        self._stirred = asyncio.Event()

    # -- what is told --------------------------------------------------------------------------------------------

    def see(self, view: View) -> None:
        """A gang is like this now."""
        subject = self._subjects(view.id)
        changed = None if subject is None else self._ledger.see(subject, view)
        if changed is not None:
            self._put(changed, Lane.WAITING)
            self._mark_pods(view)

    def report(self, report: Report, view: View | None) -> None:
        """The state of a gang changed, or why it waits did. Without a view it is gone, and nothing is told."""
        subject = self._subjects(report.gang)
        if view is None or subject is None:
            return
        self.see(view)
        if report.state != State.QUEUED:
            self._put(self._ledger.homes(view.id), Lane.STATES)
        said = notices.of_report(report, view)
        if said is not None:
            self._tell((view.id, said.reason, said.about) if said.stays else (view.id,), subject, said)

    def advise(self, view: View) -> None:
        """It was found what would help a gang that waits. What is about to be told of its reason says so too."""
        self.see(view)
        subject, said, at = self._news.get((view.id,), (None, None, 0.0))
        if subject is not None and said is not None and view.reason is not None and said.reason == view.reason.type:
            self._news[view.id,] = (subject, replace(said, note=status.sentence(view)), at)

    def refuse(self, subject: Subject, problems: Sequence[Problem]) -> None:
        """An object is wrong, and nothing is placed for it."""
        if self._ledger.judge(subject, tuple(problems)):
            self._put([subject.key], Lane.WAITING)
        self._complain(subject, problems, _INVALID, self._ledger.runs(subject))

    def accept(self, subject: Subject, doubts: Sequence[Problem] = ()) -> None:
        """An object that was refused is good again. ``doubts``: it names others that are not there."""
        if self._ledger.judge(subject, (), tuple(doubts)):
            self._put([subject.key], Lane.WAITING)
        self._recall(subject.key)
        self.warn(subject, doubts)

    def note(self, gang: str, problems: Sequence[Problem]) -> None:
        """What does not agree between a gang and its pods; none: all does (W-103, M-023)."""
        subject = self._subjects(gang)
        if subject is not None and self._ledger.note(gang, tuple(problems)):
            self.warn(subject, problems)
            self._put(self._ledger.homes(gang), Lane.WAITING)

    def warn(self, subject: Subject, problems: Sequence[Problem]) -> None:
        """Something is odd about an object, a pod for instance: events, each once."""
        self._complain(subject, problems, INCONSISTENT)

    def blame(self, subject: Subject, problems: Sequence[Problem]) -> None:
        """We tripped over an object: an event says so, and whom to tell."""
        self._complain(subject, problems, status.INTERNAL)

    def _complain(self, subject: Subject, problems: Sequence[Problem], reason: str, runs: bool = False) -> None:
        if problems:
            said = notices.of_problems(problems, reason, runs)
            self._tell((*subject.key, said.about), subject, said)

    def notice(self, notice: Notice) -> None:
        """Something the people of the cluster should know."""
        self._tell((*notice.about, notice.topic), notices.node(notice), notices.of_notice(notice))

    def forget(self, gang: str) -> None:
        """A gang is gone. What was not told of it yet is not told any more, except what went wrong."""
        view = self._ledger.views.get(gang)
        for pod in view.unplaced if view is not None else ():
            self._lanes[Lane.PODS].discard((gang, pod))
        self._marked.pop(gang, None)
        self._drop_news((gang,))
        for key in self._ledger.forget(gang):
            self._unqueue(key)

    def gone(self, key: ObjectKey) -> None:
        """An object is there no more, whether or not anything was said of it."""
        if self._ledger.gone(key):
            self._unqueue(key)

    # -- when ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Writes that wait for their moment."""
        return sum(len(lane) for lane in self._lanes.values())

    async def run(self) -> None:
        """Writes whatever is told, until cancelled."""
        while True:
            self._stirred.clear()
            await self._rest(await self.flush())

    async def flush(self) -> float | None:
        """Writes what is due, as fast as it may. Returns when to come again; None: once something is told."""
        while batch := self._batch():
            await asyncio.gather(*(self._do(lane, key) for lane, key in batch))
        return self._next_at()

    async def drain(self, until: float) -> None:
        """Writes what waits, pods excepted, each once and without regard to pace; stops at the time given."""
        jobs = [(lane, key) for lane in (Lane.STATES, Lane.EVENTS, Lane.WAITING) for key in self._emptied(lane)]
        while jobs and self._now() < until:
            now, jobs = jobs[: self._settings.together], jobs[self._settings.together :]
            await asyncio.gather(*(self._do(lane, key) for lane, key in now))

    def _emptied(self, lane: Lane) -> Iterator[Any]:
        while (key := self._lanes[lane].pop(float("inf"))) is not None:
            yield key

    async def _rest(self, until: float | None) -> None:
        seconds = None if until is None else max(until - self._now(), 0.01)
        try:
            await asyncio.wait_for(self._stirred.wait(), seconds)
        except TimeoutError:
            return

    def _batch(self) -> list[tuple[Lane, Any]]:
        """What goes next: due, in the order of the lanes, as many as may go now."""
        found: list[tuple[Lane, Any]] = []
        now = self._now()
        due = now - self._settings.hold_seconds if self._busy() else now
        for lane, pending in self._lanes.items():
            while len(found) < self._settings.together and pending.is_due(due) and self._may_go(lane, now):
                found.append((lane, pending.pop(due)))
        return found

    def _may_go(self, lane: Lane, now: float) -> bool:
        if not self._pace.take(now):
            return False
        if lane is Lane.PODS and not self._pod_pace.take(now):
            self._pace.give_back()
            return False
        return True

    def _give_back(self, lane: Lane) -> None:
        self._pace.give_back()
        if lane is Lane.PODS:
            self._pod_pace.give_back()

    def _next_at(self) -> float | None:
        first = min((at for one in self._lanes.values() if (at := one.next_at) is not None), default=None)
        if first is None or first > (now := self._now()):
            return first
        pods_only = not any(one.is_due(now) for lane, one in self._lanes.items() if lane is not Lane.PODS)
        pace = self._pod_pace.next_at(now) if pods_only else now
        return max(pace, self._pace.next_at(now), now + BUSY_LOOK_SECONDS if self._busy() else now)

    def _put(self, keys: Iterable[ObjectKey], lane: Lane) -> None:
        """Statuses are to be written, each in the best lane that was asked for."""
        for key in keys:
            if lane is Lane.STATES:
                self._lanes[Lane.WAITING].discard(key)
            if lane is Lane.STATES or key not in self._lanes[Lane.STATES]:
                self._lanes[lane].add(key, self._now() + self._settings.settle_seconds)
                self._stirred.set()

    def _unqueue(self, key: ObjectKey) -> None:
        for lane in (Lane.STATES, Lane.WAITING):
            self._lanes[lane].discard(key)

    # -- news ----------------------------------------------------------------------------------------------------

    def _tell(self, key: NewsKey, subject: Subject, said: Said) -> None:
        if not self._settings.events:
            return
        self._news[key] = (subject, said, self._now())
        self._lanes[Lane.EVENTS].add(key, self._now() + self._settings.settle_seconds)
        if len(self._news) > self._settings.news_max:
            self._drop_news(next(iter(self._news)))
            self.counts.dropped += 1
        self._stirred.set()

    def _drop_news(self, key: NewsKey) -> None:
        self._news.pop(key, None)
        self._lanes[Lane.EVENTS].discard(key)

    def _recall(self, key: ObjectKey) -> None:
        """What was wrong with an object, and was not told yet: what it names came a moment after it."""
        for one in [one for one, (_, said, _) in self._news.items() if one[:-1] == key and said.reason == _INVALID]:
            self._drop_news(one)

    def _mark_pods(self, view: View) -> None:
        """Pods are told why they wait once their gang has waited for a while, and again when the reason is another."""
        reason = status.pod_reason(view)
        if not reason:
            self._marked.pop(view.id, None)
            return
        marked = self._marked.setdefault(view.id, {})
        due = max(self._now(), view.entered + self._settings.pod_delay_seconds)
        for key in view.unplaced:
            if marked.get(key) != reason:
                self._lanes[Lane.PODS].add((view.id, key), due)
        self._stirred.set()

    # -- writing -------------------------------------------------------------------------------------------------

    async def _do(self, lane: Lane, key: Any) -> None:
        """One write, or none if it is not needed. A failure is counted and told, never raised."""
        write = (
            self._write_news if lane is Lane.EVENTS else self._write_pod if lane is Lane.PODS else self._write_status
        )
        try:
            if not await write(key):
                self._give_back(lane)
        except WireError as error:
            self._give_up(lane, key, error)
        except Exception as error:  # nothing is written of this one, until there is something else to write
            self.counts.failed += 1
            self._tripped(_about(lane, key), Mishap.of(error))

    def _give_up(self, lane: Lane, key: Any, error: WireError) -> None:
        """Gone: forgotten. Overtaken: read again and written. A busy server: later. All else would fail again."""
        entry = self._ledger.entries.get(key) if lane in (Lane.STATES, Lane.WAITING) else None
        if isinstance(error, Refused) and error.missing and entry is not None:
            self.gone(key)
        elif isinstance(error, Refused) and (error.missing or error.exists):
            self.counts.unchanged += 1
        elif isinstance(error, Refused) and error.conflict:
            self.counts.overtaken += 1
            self._again(lane, key, self._settings.settle_seconds)
            if entry is not None:
                entry.overtaken()
        else:
            self._failed(lane, f"{_about(lane, key)}: {error}", error)
            if _may_work_later(error):
                self._again(lane, key, self._settings.retry_seconds)

    def _again(self, lane: Lane, key: Any, seconds: float) -> None:
        """Tried again later; unless a status is to be written sooner anyway, for never are there two at once."""
        if lane is not Lane.WAITING or key not in self._lanes[Lane.STATES]:
            self._lanes[lane].add(key, self._now() + seconds)

    def _failed(self, lane: Lane, line: str, error: WireError) -> None:
        """A server that refuses one of them mostly refuses all of them, for the same reason."""
        self.counts.failed += 1
        why = str(error.status) if isinstance(error, Refused) else type(error).__name__
        self._grumbles.of(f"{lane.name} {why}", line)

    async def _write_status(self, key: ObjectKey) -> bool:
        one, resource = self._ledger.entries.get(key), self._served().find(key.group, key.kind)
        if one is None or resource is None or not await self._is_read(one, resource):
            return False
        now = status.stamp(self._now())
        wanted = self._ledger.wanted(one, now)
        change, way = _difference(one.known or {}, wanted), Patch.MERGE
        if not change:
            self.counts.unchanged += 1
            return False
        if one.is_upstream:  # lists of conditions are merged there by type: those of others are not touched
            change, way = {"conditions": self._ledger.conditions(one, now)}, Patch.STRATEGIC
        # A uid in such a patch is ignored (seen on 1.37.1), so the version alone keeps us from writing to a successor.
        guarded = {"metadata": {"resourceVersion": one.version}, "status": change}
        answer = await self._client.patch_status(resource, key.name, guarded, key.namespace, kind=way)
        one.version = answer["metadata"]["resourceVersion"]
        one.known = wanted if one.is_ours or one.is_upstream else None  # others write to theirs as well
        self.counts.statuses += 1
        return True

    async def _is_read(self, one: Entry, resource: Resource) -> bool:
        """Whether its status as it stands is known; it is read if need be. False: another object has its name."""
        if one.known is not None:
            return True
        mirrored = self._current(one.key) if self._current is not None and not one.stale else None
        if one.read(mirrored or await self._client.get(resource, one.key.name, one.key.namespace)):
            return True
        self.gone(one.key)
        return False

    async def _write_news(self, key: NewsKey) -> bool:
        found = self._news.pop(key, None)
        write = None if found is None else self._notices.told(*found)
        if found is None or write is None:
            return False
        try:
            await self._tell_server(write)
        except WireError as error:
            if _may_work_later(error):
                self._notices.forget(*found[:2])
                self._news.setdefault(key, found)
            raise
        self.counts.events += 1
        return True

    async def _tell_server(self, write: Create | Again) -> None:
        if isinstance(write, Create):
            await self._client.create(EVENTS, write.document, write.namespace)
        else:
            await self._client.patch(EVENTS, write.name, write.change, write.namespace)

    async def _write_pod(self, key: tuple[str, PodKey]) -> bool:
        """Why it waits, on one pod; over what was seen of it and nothing newer, for it may be bound by now."""
        gang, pod = key
        view = self._ledger.views.get(gang)
        if view is None or pod not in view.unplaced or not (reason := status.pod_reason(view)):
            return False
        self._marked.setdefault(gang, {})[pod] = reason
        found = await self._pod(pod)
        condition = (
            None if found is None else status.pod_condition(view, found.get("status"), status.stamp(self._now()))
        )
        if found is None or condition is None:
            return False
        guard = {"resourceVersion": found["metadata"]["resourceVersion"]}
        change = {"metadata": guard, "status": {"conditions": [condition]}}
        await self._client.patch_status(PODS, pod.name, change, pod.namespace, kind=Patch.STRATEGIC)
        self.counts.pods += 1
        return True

    async def _pod(self, pod: PodKey) -> Mapping[str, Any] | None:
        """The pod as it was last seen; None when it is gone, another, or has a node."""
        mirrored = self._current(pod.object) if self._current is not None else None
        found = mirrored or await self._client.get(PODS, pod.name, pod.namespace)
        same = found["metadata"].get("uid") == pod.uid and not found.get("spec", {}).get("nodeName")
        return found if same else None


def _about(lane: Lane, key: Any) -> str:
    """What a write is about, as people know it."""
    if isinstance(key, ObjectKey):
        return f"status of {key.kind} {'/'.join(part for part in (key.namespace, key.name) if part)}"
    if lane is Lane.PODS:
        return f"condition of pod {key[1]}"
    return f"event about {' '.join(str(part) for part in key if part)}"


def _may_work_later(error: WireError) -> bool:
    return not isinstance(error, Refused) or error.status in BUSY


def _difference(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Document:
    """The merge patch from one to the other: fields that changed, and None for those that went."""
    changed = {key: value for key, value in wanted.items() if key not in before or before[key] != value}
    return {**changed, **{key: None for key in before if key not in wanted}}
