"""A copy of all objects of one kind, kept up to date: list, then watch, for as long as the process lives.

    start        streaming (one watch that begins with everything there is), or pages where a server refuses that
    then         events in order; bookmarks move the place from which a new watch goes on
    410, ERROR   everything again, compared with what is held: what vanished meanwhile is told as gone
    cut, silent  a new watch from the last place, after a wait that grows and is never the same for two

A watch that the server ends at its time was heard to its end, also if it brought nothing. So a mirror that asks for
short ones (``resumed_seconds``) knows a few seconds later what happened, or that it does not know (``heard_until``).

What is told by ``on_change`` and what stands in ``store`` never differ: replaying the first gives the second.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Generic, Never, TypeVar

import msgspec

from phalanx.wire.backoff import Backoff, Pace
from phalanx.wire.client import Client
from phalanx.wire.errors import Garbled, Refused, Silent, Unreachable, WireError, refusal
from phalanx.wire.resources import Resource
from phalanx.wire.shapes import Bytes, HasMeta, Key, Meta, Page, WatchEvent, as_number, decode_bare, decode_meta

T = TypeVar("T", bound=HasMeta)

Decode = Callable[[Bytes, Resource], T]

WELL_ENDED_SECONDS = 1.0  # a watch that lasted so long and ended politely is followed by the next one at once
LATE_SECONDS = 5.0  # so much later than asked for a short watch may end, before it is taken for dead
INITIAL_EVENTS_END = "k8s.io/initial-events-end"  # an annotation of the protocol, not of any dialect


@dataclass(frozen=True, slots=True)
class Problem:
    """Something went wrong and the mirror goes on. ``key`` names the object; None: it is about the mirror itself."""

    resource: Resource
    key: Key | None
    message: str


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """``idle_seconds``: the server sends a bookmark about every minute; twice missed and some, the line is dead.

    ``timeout_seconds``: between these, by chance, the server is asked to end a watch, so that not all end at once.
    ``resumed_seconds``: the same for one that goes on from a place, where it has to be known soon that nothing can be
    heard; None: as all others.
    """

    page_size: int = 500
    idle_seconds: float = 150.0
    timeout_seconds: tuple[int, int] = (300, 600)
    resumed_seconds: int | None = None
    streaming: bool = True
    pace: Pace = Pace()


@dataclass(slots=True)
class Counts:
    """For metrics: what happened so far."""

    events: int = 0
    bookmarks: int = 0
    stale: int = 0  # events that told nothing new
    restarts: int = 0  # watches opened because the one before did not last
    relists: int = 0  # times everything was asked for after the first
    problems: int = 0


def ignored(problem: Problem) -> None:
    """For callers who look at ``Mirror.problem`` and ``Mirror.counts`` instead."""


class Mirror(Generic[T]):
    """``run()`` keeps ``store`` like the server's state and tells every change, in order, in the loop's thread.

    ``on_change(old, new)``: (None, new) seen, (old, new) changed, (old, None) gone. An object made anew under its old
    name is told as gone, then seen. What ``on_change`` raises ends ``run()``: else a wrong picture would go unnoticed.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        decode: Decode[T],
        on_change: Callable[[T | None, T | None], None],
        *,
        chance: random.Random,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        on_problem: Callable[[Problem], None] = ignored,
        settings: MirrorSettings = MirrorSettings(),
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.resource = resource
        self.store: dict[Key, T] = {}
        self.synced = asyncio.Event()
        self.resource_version = ""  # from here a new watch goes on; empty: everything has to be asked for
        self.last_heard = self.heard_until = clock()  # ``heard_until``: all that happened before then is in ``store``
        self.counts = Counts()
        self.unread: dict[Key, str] = {}  # objects that are there and cannot be read: why; what was known of them stays
        self.problem = ""  # why the server cannot be heard; the next word from it clears it
        self._client = client
        self._decode = decode
        self._on_change = on_change
        self._on_problem = on_problem
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._settings = settings
        self._chance = chance
        self._pause = pause
        self._clock = clock
        self._backoff = Backoff(settings.pace, chance)
        self._streaming = settings.streaming
        self._began = self._ends = self._last_word = self.last_heard  # of the present watch; an event or a bookmark
        self._fresh: set[Key] | None = None  # while everything comes anew: what has come so far

    async def run(self) -> Never:
        """Follow the server until cancelled. Failures are told as problems and tried again."""
        while True:
            try:
                is_to_go_on = await self._follow()
            except WireError as error:
                self._failed(error)
                is_to_go_on = False
            if not is_to_go_on:
                self.counts.restarts += 1
                await self._pause(self._backoff.next())

    async def _follow(self) -> bool:
        """One watch from beginning to end, with everything first if there is no place to go on from. Whether the next
        one is to begin at once: this one did what it was asked to."""
        self._began = self._clock()
        if not self.resource_version and not self._streaming:
            await self._list()
        self._fresh = None if self.resource_version else set()
        seconds = self._seconds()
        self._ends = self._clock() + seconds
        async with aclosing(self._events(seconds)) as events:
            async for event in events:
                starts = self._fresh is not None
                self._heard()
                self._take(event)
                if starts and self._fresh is None and self._settings.resumed_seconds is not None:
                    return True
        return self._ended()

    def _seconds(self) -> int:
        """How long the server is asked to keep the next watch open. All there is may take long to come."""
        if self._fresh is None and self._settings.resumed_seconds is not None:
            return self._settings.resumed_seconds
        return self._chance.randint(*self._settings.timeout_seconds)

    def _ended(self) -> bool:
        """The server ended the watch by itself. Whether it lasted."""
        self.last_heard, self.problem = self._clock(), ""
        if self._fresh is None:
            self._knows(until=self._ends)
        if self._is_without_a_word():
            self._forget()
        lasted = self._clock() >= self._began + WELL_ENDED_SECONDS
        if lasted:
            self._backoff.reset()
        return lasted

    def _knows(self, until: float) -> None:
        """All that happened is heard, though not more than until then: words may have waited for us on their way."""
        self.heard_until = max(self.heard_until, min(self._clock(), until))

    def _events(self, seconds: int) -> AsyncGenerator[WatchEvent, None]:
        return self._client.watch(
            self.resource,
            self._namespace,
            resource_version=self.resource_version,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            streaming=self._fresh is not None,
            idle_seconds=min(self._settings.idle_seconds, seconds + LATE_SECONDS),
            timeout_seconds=seconds,
        )

    # ----------------------------------------------------------------------------------------------- failures

    def _failed(self, error: WireError) -> None:
        starting, self._fresh = self._fresh is not None, None
        if starting and _no_streaming(error):
            self._streaming = False
        if self._lost(error):
            self._forget()
        self.problem = str(error)
        self._report(None, str(error))

    def _lost(self, error: WireError) -> bool:
        """Whether the place to go on from is worth nothing any more.

        A server whose store was set back waits without a word for the version we name.
        """
        waits = isinstance(error, Silent) and self._is_without_a_word()
        return waits or isinstance(error, Garbled) or (isinstance(error, Refused) and error.expired)

    def _is_without_a_word(self) -> bool:
        """Whether there was neither an event nor a bookmark for twice as long as there should be one."""
        return self._clock() >= self._last_word + 2 * self._settings.idle_seconds

    def _forget(self) -> None:
        """The place is lost. What is held stays, to be compared with what comes."""
        self.counts.relists += bool(self.resource_version)
        self.resource_version = ""

    def _report(self, key: Key | None, message: str) -> None:
        self.counts.problems += 1
        self._on_problem(Problem(self.resource, key, message))

    def _heard(self) -> None:
        self.last_heard = self._last_word = self._clock()
        self.problem = ""

    # ---------------------------------------------------------------------------------------------- the lists

    async def _list(self) -> None:
        """Everything, in pages. Only the whole list tells what is gone."""
        self._fresh = set()
        version = ""
        async with aclosing(self._pages()) as pages:
            async for page in pages:
                self._heard()
                for raw in page.items:
                    self._put(raw)
                version = page.resource_version
        self._complete(version)

    def _pages(self) -> AsyncGenerator[Page, None]:
        return self._client.pages(
            self.resource,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            page_size=self._settings.page_size,
        )

    def _complete(self, version: str) -> None:
        """Everything has come: what has not is gone."""
        fresh, self._fresh = self._fresh or set(), None
        for key in [key for key in (*self.store, *self.unread) if key not in fresh]:
            self._drop(key)
        self.resource_version = version
        self._knows(until=self._began)
        self.synced.set()

    # -------------------------------------------------------------------------------------------- the stream

    def _take(self, event: WatchEvent) -> None:
        if event.type in ("ADDED", "MODIFIED"):
            self._object(event.object, self._put)
        elif event.type == "DELETED":
            self._object(event.object, self._deleted)
        elif event.type == "BOOKMARK":
            self._bookmark(_who(event.object))
        elif event.type == "ERROR":
            self._forget()
            raise refusal(0, event.object)
        else:
            self._report(None, f"a watch event of type {event.type!r} was passed over")

    def _object(self, raw: msgspec.Raw, apply: Callable[[msgspec.Raw], Meta | None]) -> None:
        """Events come in the order of their versions. Several may share one: what expires together goes together."""
        self.counts.events += 1
        meta = apply(raw)
        if self._fresh is None and meta is not None:
            self._advance(meta)

    def _advance(self, meta: Meta) -> None:
        self._backoff.reset()
        self._knows(until=self._ends)
        if meta.version > as_number(self.resource_version):
            self.resource_version = meta.resourceVersion

    def _bookmark(self, meta: Meta) -> None:
        self.counts.bookmarks += 1
        if self._fresh is not None:
            self._end_of_start(meta)
        elif meta.version < as_number(self.resource_version):
            # Only a server whose store was set back says so. All that follows would look stale to us.
            self._forget()
            raise Unreachable(f"the server is at version {meta.resourceVersion}, older than what it said before")
        else:
            self._advance(meta)

    def _end_of_start(self, meta: Meta) -> None:
        if meta.annotations.get(INITIAL_EVENTS_END) != "true":
            self._streaming = False
            raise Unreachable("the server does not mark the end of what there was; asking for pages instead")
        self._complete(meta.resourceVersion)

    # ------------------------------------------------------------------------------------------- the objects

    def _put(self, raw: msgspec.Raw) -> Meta | None:
        new = self._read(raw)
        if new is None:
            return self._keep(raw)
        meta = new.metadata
        self.unread.pop(meta.key, None)
        if self._stale(meta):
            return meta
        if self._fresh is not None:
            self._fresh.add(meta.key)
        self._replace(self.store.get(meta.key), new)
        return meta

    def _replace(self, old: T | None, new: T) -> None:
        meta = new.metadata
        if old is not None and old.metadata.uid != meta.uid:
            self._drop(meta.key)
            old = None
        if old is not None and old.metadata.resourceVersion == meta.resourceVersion:
            self.counts.stale += 1
            return
        self.store[meta.key] = new
        self._on_change(old, new)

    def _keep(self, raw: msgspec.Raw) -> Meta | None:
        """What cannot be read is there all the same: what was last known of it stays."""
        meta = _meta(raw)
        if meta is not None and self._fresh is not None:
            self._fresh.add(meta.key)
        return meta

    def _deleted(self, raw: msgspec.Raw) -> Meta | None:
        meta = _who(raw)
        if self._stale(meta):
            return meta
        self._drop(meta.key)
        return meta

    def _drop(self, key: Key) -> None:
        self.unread.pop(key, None)
        old = self.store.pop(key, None)
        if old is not None:
            self._on_change(old, None)

    def _stale(self, meta: Meta) -> bool:
        """Older than what was told already. While everything comes anew only what has come anew counts as told."""
        if self._fresh is None:
            known = as_number(self.resource_version)
        else:
            held = self.store.get(meta.key) if meta.key in self._fresh else None
            known = held.metadata.version if held is not None else -1
        stale = 0 <= meta.version < known
        self.counts.stale += stale
        return stale

    def _read(self, raw: msgspec.Raw) -> T | None:
        """The object, or None and a problem told: one that cannot be read must not stop all others."""
        try:
            return self._decode(raw, self.resource)
        except Exception as error:  # whatever a decoder trips over
            meta = _meta(raw)
            message = f"cannot be read: {type(error).__name__}: {error}"
            if meta is None or self.unread.get(meta.key) != message:
                self._report(meta.key if meta else None, message)
            if meta is not None:
                self.unread[meta.key] = message
            return None


def _meta(raw: msgspec.Raw) -> Meta | None:
    """Who an object is; None where not even that can be read."""
    for read in (decode_meta, decode_bare):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return read(raw)
    return None


def _who(raw: msgspec.Raw) -> Meta:
    meta = _meta(raw)
    if meta is None:
        raise Garbled("an event is about an object without readable metadata")
    return meta


def _no_streaming(error: WireError) -> bool:
    """A server that does not know the streaming start refuses it, or waits with us for an end that never comes."""
    return isinstance(error, Silent) or (isinstance(error, Refused) and error.status in (400, 422))
