"""Pods behind a server with a history: list, watch, bookmarks, and every way a watch goes wrong, on demand."""

import asyncio
from typing import Any

from aiohttp import web

from tests.wire.loopback import answer_of, bookmark, event, listing, pod, status

Pod = dict[str, Any]


class FakeCluster:
    """Versions count up by one. ``history`` keeps what happened; what is older than ``forgotten`` cannot be watched."""

    def __init__(self, *, streaming: bool = True, expired_as_event: bool = True) -> None:
        self.version = 10
        self.pods: dict[str, Pod] = {}
        self.history: list[tuple[int, str, Pod]] = []
        self.forgotten = 0
        self.streaming = streaming
        self.expired_as_event = expired_as_event
        self.lists = 0
        self.watches = 0
        self._made = 0
        self._moved = asyncio.Event()
        self._faults = 0  # counts up: every open watch sees that it changed
        self._fault = b""
        self._replay = 0
        self._bookmarks = 0

    # ------------------------------------------------------------------------------------------- what happens

    def create(self, name: str) -> None:
        if name not in self.pods:
            self._made += 1
            self._tell("ADDED", pod(name, self.version + 1, uid=f"uid-{self._made}"))

    def touch(self, name: str) -> None:
        if name in self.pods:
            uid = self.pods[name]["metadata"]["uid"]
            self._tell("MODIFIED", pod(name, self.version + 1, uid=uid, touched=str(self.version)))

    def delete(self, name: str) -> None:
        if name in self.pods:
            uid = self.pods[name]["metadata"]["uid"]
            self._tell("DELETED", pod(name, self.version + 1, uid=uid))

    def _tell(self, kind: str, what: Pod) -> None:
        self.version += 1
        name = what["metadata"]["name"]
        if kind == "DELETED":
            del self.pods[name]
        else:
            self.pods[name] = what
        self.history.append((self.version, kind, what))
        self._move()

    def bookmark(self) -> None:
        self._bookmarks += 1
        self._move()

    def cut(self, rest: bytes = b"") -> None:
        """All watches break, after ``rest`` (half a line)."""
        self._faults += 1
        self._fault = rest
        self._move()

    def forget(self) -> None:
        """The history is compacted and all watches break: only a new list can help."""
        self.forgotten = self.version
        self.version += 1  # the world went on elsewhere: whoever stopped before this is too late
        self.cut()

    def repeat(self, count: int) -> None:
        """All watches get the last events once more."""
        self._replay += count
        self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    # ------------------------------------------------------------------------------------------------ answers

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._watch(request)
        return self._list(request)

    def _list(self, request: web.BaseRequest) -> web.Response:
        """Pages over names. A list that was begun before the last compaction has expired."""
        self.lists += 1
        begun, _, after = request.query.get("continue", f"{self.version}:").partition(":")
        if int(begun) < self.forgotten:
            return answer_of(status(410, "Expired", "the list is too old"))
        rest = sorted(name for name in self.pods if name > after)
        limit = int(request.query["limit"])
        token = f"{begun}:{rest[limit - 1]}" if len(rest) > limit else ""
        return answer_of(listing(*(self.pods[name] for name in rest[:limit]), version=int(begun), token=token))

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        self.watches += 1
        initial = "sendInitialEvents" in request.query
        if initial and not self.streaming:
            return answer_of(status(422, "Invalid", "sendInitialEvents is forbidden"))
        at = self.version if initial else int(request.query["resourceVersion"])
        expired = not initial and at < self.forgotten
        if expired and not self.expired_as_event:
            return answer_of(status(410, "Gone", "too old resource version"))
        response = web.StreamResponse()
        await response.prepare(request)
        if expired:
            await response.write(event("ERROR", status(410, "Expired", "too old resource version")[1]))
            return response
        await self._follow(request, response, at, initial)
        return response

    async def _follow(self, request: web.BaseRequest, response: web.StreamResponse, at: int, initial: bool) -> None:
        faults, replay, bookmarks = self._faults, self._replay, self._bookmarks
        if initial:
            for each in list(self.pods.values()):
                await response.write(event("ADDED", each))
            await response.write(bookmark(at, end=True))
        while faults == self._faults:
            moved = self._moved
            for version, kind, what in [entry for entry in self.history if entry[0] > at]:
                await response.write(event(kind, what))
                at = version
            for _, kind, what in (
                self.history[len(self.history) - (self._replay - replay) :] if self._replay > replay else []
            ):
                if int(what["metadata"]["resourceVersion"]) <= at:
                    await response.write(event(kind, what))
            replay = self._replay
            if self._bookmarks > bookmarks:
                bookmarks = self._bookmarks
                await response.write(bookmark(max(at, self.version)))
            if moved is self._moved:
                await moved.wait()
        await response.write(self._fault)
        assert request.transport is not None
        request.transport.close() if self._fault else request.transport.abort()
