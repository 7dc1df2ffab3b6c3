"""The scheduler put together: mirrors, loop, writer and reporter on one client."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from phalanx.decider import Change, Decider, Outcome
from phalanx.dialects.following import Follower, Subject
from phalanx.dialects.kindtable import CLAIM, VOLUME, Kind
from phalanx.engine.engine import Engine, OnDecision
from phalanx.engine.views import View
from phalanx.kube import kinds, reporter
from phalanx.kube.anew import Anew
from phalanx.kube.configuration import Configuration
from phalanx.kube.hearing import Heard, Hearing, Source
from phalanx.kube.loop import Loop
from phalanx.kube.metrics import Metrics
from phalanx.kube.pulse import Pulse
from phalanx.kube.reporter import Reporter
from phalanx.kube.tripped import Tripped
from phalanx.kube.watching import Watching
from phalanx.kube.writer import Writer
from phalanx.model.effects import Notice, Report
from phalanx.model.events import GangGone
from phalanx.model.mistakes import Mishap, Mistake
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import PodKey
from phalanx.wire import garbage, shapes
from phalanx.wire.client import Client
from phalanx.wire.discovery import Served
from phalanx.wire.resources import PODS

Document = dict[str, Any]
DRAIN_SECONDS = 20.0  # a kubelet gives a pod 30 s to end
BEAT_SECONDS = 5.0  # how often it is said that all is well while the first picture comes in


class Scheduler:
    """``run`` until told to stop. ``stepped`` is handed what came of every step, after its effects were begun.
    ``quiet`` is called between two steps, as the loop does.

    ``mistake`` is told of what was raised about one object or gang, and of why it begins anew.

    ``following`` is called once the first whole picture of the cluster is in and was decided about. ``on_decision`` is
    shown every decision, in the thread in which it is made.
    """

    def __init__(
        self,
        client: Client,
        configuration: Configuration,
        metrics: Metrics,
        *,
        stepped: Callable[[Outcome], None],
        problem: Callable[[str], None],
        beat: Callable[[], None],
        following: Callable[[], None],
        quiet: Callable[[], float | None] = lambda: None,
        on_decision: OnDecision | None = None,
        mistake: Callable[[str, Mishap], None] = lambda about, mishap: None,
    ) -> None:
        self._tripped = Tripped(mistake)
        self._metrics, self._stepped, self._following, self._problem = metrics, stepped, following, problem
        self._beat, self._follows = beat, False
        self._subjects: dict[str, Subject] = {}
        self._deleted: set[ObjectKey] = set()  # since the last step was begun or later: it may speak of them still
        chance = random.Random()
        engine = Engine(configuration.policy(), configuration.settings(), on_decision)
        follower = Follower(configuration.marks(), self._unread)
        self.decider = Decider(follower, engine, time.monotonic)
        self.watching = Watching(client, self._changed, problem, chance)
        self.pulse = Pulse(client, time.monotonic)
        self.hearing = Hearing(self._heard_of, time.monotonic, problem)
        anew = Anew(self._everything, self._failed, time.time, chance)
        self.loop = Loop(self.decider, self._done, self._advised, time.time, chance, beat, quiet, self._heard, anew)
        self.writer = Writer(
            client,
            self._served,
            self.loop.answered,
            self._read,
            self._metadata,
            metrics,
            problem,
            configuration.binds.concurrency,
            configuration.binds.timeout_seconds,
            self._tripped.over,
        )
        self.reporter = Reporter(
            client,
            self._served,
            self._subjects.get,
            time.time,
            _reporting(configuration),
            current=self._current,
            busy=lambda: self.writer.under_way > 0,
            on_problem=problem,
            tripped=self._tripped.over,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Follows, decides and acts until ``stop``; then ends what is under way, so that no gang is left half."""
        garbage.before_sync()
        try:
            if not await self._has_picture(stop):
                return
            failures = self.watching.failed(), self.writer.failed()
            parts = self.loop.run(stop), self.watching.keep_up(), self.reporter.run(), self.pulse.run()
            async with _one_has_ended(*parts, *failures):
                await self._drain()  # only the loop ends by itself; what else does has failed, and so have we
        finally:
            await self.writer.stop()
            await self.watching.stop()

    async def _has_picture(self, stop: asyncio.Event) -> bool:
        """Whether the first whole picture came in before the end was asked for. It may take long, and is no ailment."""
        coming = asyncio.get_running_loop().create_task(self.watching.start())
        async with _one_has_ended(coming, self.watching.failed(), stop.wait(), self._beating(), self.pulse.run()):
            return coming.done()

    async def _beating(self) -> None:
        while True:
            self._beat()
            await asyncio.sleep(BEAT_SECONDS)

    async def _drain(self) -> None:
        """Waits for the answers to what was sent, but not for ever: what was done will be seen after the next start."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.writer.drained()
        except TimeoutError:
            left = ", ".join(f"{count} {kind}" for kind, count in sorted(self.writer.left().items()))
            self._problem(f"ended before all was answered: {left}")
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS / 4):
                await self.reporter.drain(until=time.time() + DRAIN_SECONDS / 4)

    # -- what is heard -------------------------------------------------------------------------------------------

    def _heard_of(self) -> Iterable[Source]:
        """What nothing is decided without: mirrors of pods and nodes, and a server that can write things down."""
        mirrors = self.watching.mirrors
        return [self.pulse, *(mirrors[one] for one in kinds.NEEDED if one in mirrors)]

    def _heard(self, now: float) -> Heard:
        found = self.hearing.at(now)
        self._metrics.unheard(found.unheard)
        return found

    def _changed(self, key: ObjectKey, change: Change) -> None:
        self.loop.changed(key, change)
        self._deleted.discard(key)
        if change is None:
            self._deleted.add(key)
            self.reporter.gone(key)

    def _metadata(self, key: PodKey) -> Document | None:
        mirror = self.watching.mirrors.get(PODS)
        held = None if mirror is None else mirror.store.get((key.namespace, key.name))
        if held is None or held.metadata.uid != key.uid:
            return None
        return {"labels": held.metadata.labels, "annotations": held.metadata.annotations}

    def _read(self, key: PodKey, found: Document | None) -> None:
        """A pod as the server just had it, ahead of the mirror; not where the mirror knows better by now."""
        held = self.watching.mirrors[PODS].store.get((key.namespace, key.name))
        if found is None:
            if held is None or held.metadata.uid == key.uid:
                self.loop.changed(key.object, None)
        elif held is not None and shapes.as_number(found["metadata"]["resourceVersion"]) > held.metadata.version:
            self.loop.changed(key.object, lambda: found)

    def _everything(self) -> Iterator[tuple[ObjectKey, Change]]:
        """All objects there are, as the mirrors have them now."""
        return self.watching.everything()

    def _unread(self) -> set[Kind]:
        """What pods are not to wait for, since we may not see it. Asked in the thread that decides."""
        followed = list(self.watching.mirrors)  # at once: kinds come and go in the other thread
        return {CLAIM, VOLUME} - {(one.group, one.kind) for one in followed}

    # -- what is done --------------------------------------------------------------------------------------------

    def _done(self, outcome: Outcome) -> None:
        if not self._follows:
            garbage.after_sync()  # what the engine made of the first picture stays as long as the picture does
        told = outcome.told
        self.writer.carry_out(outcome.effects)
        gone = {event.id for event in told.events if isinstance(event, GangGone)}
        self._forget(gone & told.subjects.keys())  # another object goes by that name now
        if outcome.is_anew:
            self._forget(self._subjects.keys() - told.subjects.keys())
        self._subjects.update(told.subjects)
        self._report(outcome)
        self._forget(gone - told.subjects.keys())
        for key in self._deleted:
            self.reporter.gone(key)
        self._deleted.clear()
        self._metrics.stepped(outcome.seconds, outcome.decisions)
        self._metrics.set_aside(outcome.aside)
        self._stepped(outcome)
        if not self._follows:
            self._follows = True
            self._following()

    def _advised(self, view: View) -> None:
        self.reporter.advise(view)

    def _report(self, outcome: Outcome) -> None:
        told = outcome.told
        for one in told.problems:
            self._problem(str(one))
        for subject, invalid in told.refused:
            self.reporter.refuse(subject, invalid.problems)
        for subject, problems in told.unusable:
            self.reporter.refuse(subject, problems)
        for subject in told.accepted:
            self.reporter.accept(subject)
        for subject, problems in told.dangling:
            self.reporter.accept(subject, problems)
        for gang, problems in told.notes.items():
            self.reporter.note(gang, problems)
        for view in outcome.views.values():
            self.reporter.see(view)
        for effect in outcome.effects:
            if isinstance(effect, Report):
                self.reporter.report(effect, outcome.views.get(effect.gang))
            elif isinstance(effect, Notice):
                self.reporter.notice(effect)

        self._report_mistakes(outcome)

    def _report_mistakes(self, outcome: Outcome) -> None:
        """What was raised about one object or one gang: on it, and with its traceback in the log."""
        for one in outcome.told.set_aside:
            if one.mishap is not None:
                self._tripped.over(one.subject.key.title, one.mishap)
        for gang, mishap in outcome.mishaps.items():
            self._tripped.over(f"gang {gang}", mishap)
            subject = self._subjects.get(gang)
            if subject is not None:
                self.reporter.blame(subject, [mishap.problem("cannot be decided")])

    def _failed(self, error: Exception, seconds: float) -> None:
        """A step failed; after a pause all is thought anew."""
        self._metrics.began_anew()
        self._problem(f"a step failed: {type(error).__name__}; all is thought anew in {seconds:.1f} s")
        self._tripped.over("a step", Mishap.of(error.__cause__ or error))

    def _forget(self, gangs: Iterable[str]) -> None:
        for gang in list(gangs):
            self.reporter.forget(gang)
            self._subjects.pop(gang, None)

    def _served(self) -> Served:
        if self.watching.served is None:
            raise Mistake("nothing is written before the first picture is in")
        return self.watching.served

    def _current(self, key: ObjectKey) -> Mapping[str, Any] | None:
        """An object as its mirror has it."""
        group, kind, namespace, name = key
        resource = PODS if (group, kind) == kinds.POD else self._served().find(group, kind)
        mirror = self.watching.mirrors.get(resource) if resource is not None else None
        held = None
        if mirror is not None and resource is not None:
            held = mirror.store.get((namespace if resource.namespaced else "", name))
        return None if held is None else held.document()


@asynccontextmanager
async def _one_has_ended(*parts: Awaitable[object]) -> AsyncIterator[None]:
    """Runs all side by side. The block begins when one has ended, unless that failed; after it the others end too."""
    tasks = [asyncio.ensure_future(one) for one in parts]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _reporting(configuration: Configuration) -> reporter.Settings:
    wanted = configuration.reporting
    return reporter.Settings(
        settle_seconds=wanted.delay_seconds,
        writes_per_second=wanted.writes_per_second,
        events=wanted.events,
        foreign_status=configuration.write_foreign_status,
    )
