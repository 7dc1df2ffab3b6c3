"""Somebody in the middle between ``phalanx run`` and the API server, who is not always helpful.

A plain HTTP server on loopback that hands everything on as the user of a kubeconfig. It runs in a thread of its own;
tests ask it for faults, each for the requests that it is about::

    with Proxy(kubeconfig, folder) as proxy:
        late = proxy.hold(is_bind, after=20)        # twenty pass, the others wait here
        ...
        late.let_go()
"""

import asyncio
import contextlib
import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

T = TypeVar("T")
Match = Callable[["Asked"], bool]
_KEPT_BACK = ("host", "content-length", "transfer-encoding", "connection", "content-encoding")
_ANSWER_SECONDS = 30.0  # for what tests ask of the proxy itself


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. ``body``: of a write, as it was sent."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The pod that a bind is for."""
        return self.path.split("/")[-2]

    @property
    def last(self) -> str:
        """The object that a change is for."""
        return self.path.split("/")[-1]

    @property
    def node(self) -> str:
        """The node that a bind names."""
        return str(self.body["target"]["name"])


def is_bind(asked: Asked) -> bool:
    return asked.method == "POST" and asked.path.endswith("/binding")


def is_ungate(asked: Asked) -> bool:
    """A change of a pod itself and not of its status: of all that we write, only the end of a gate is one."""
    return asked.method == "PATCH" and asked.path.split("/")[-2] == "pods"


def puts_a_gate(asked: Asked) -> bool:
    """A change of the pod template of a Job."""
    return asked.method == "PATCH" and asked.path.split("/")[-2] == "jobs" and "template" in asked.body["spec"]


def is_watch(asked: Asked) -> bool:
    return asked.query.get("watch") == "true"


def is_resumed(asked: Asked) -> bool:
    """A watch that goes on from some place, and does not begin with everything."""
    return is_watch(asked) and "resourceVersion" in asked.query


@dataclass(slots=True)
class _Fault:
    """``after``: as many that it is about pass before it begins. ``most``: it happens that often."""

    matches: Match
    after: int = 0
    most: int | None = None
    caught: list[Asked] = field(default_factory=list)

    def catches(self, asked: Asked) -> bool:
        if not self.matches(asked) or (self.most is not None and len(self.caught) >= self.most):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        self.caught.append(asked)
        return True


@dataclass(slots=True)
class Answering(_Fault):
    """Requests that the proxy answers by itself; the server never hears of them."""

    status: int = 503
    reason: str = "ServiceUnavailable"
    as_event: bool = False  # of a watch that has begun well, not in place of it
    proxy: "Proxy | None" = None

    def stop(self) -> None:
        assert self.proxy is not None
        self.proxy.forget(self)


@dataclass(slots=True)
class Hold(_Fault):
    """Requests that wait here. ``applied``: the server has done them, and their answers wait."""

    applied: bool = False
    proxy: "Proxy | None" = None
    _end: asyncio.Event = field(default_factory=asyncio.Event)
    _dropped: bool = False

    def let_go(self) -> None:
        """Those who wait go on, and nobody is held any more."""
        self._over(dropped=False)

    def drop(self) -> None:
        """The connections of those who wait are cut: they are never answered, nor handed on if they were not yet."""
        self._over(dropped=True)

    def _over(self, dropped: bool) -> None:
        assert self.proxy is not None
        self.proxy.forget(self)
        self._dropped = dropped
        self.proxy.soon(self._end.set)

    async def ended(self) -> bool:
        """Waits here; whether the one who waits may go on."""
        await self._end.wait()
        return not self._dropped


class Proxy:
    """``kubeconfig``: for who is to be served by it. ``seen``: how often what was asked, by method and last word."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._config = yaml.safe_load(kubeconfig.read_text())
        self._server = self._config["clusters"][0]["cluster"]["server"]
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._faults: list[Answering | Hold] = []
        self._watches: set[asyncio.Transport] = set()
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self.seen: Counter[str] = Counter()
        self.kubeconfig = folder / "proxied.yaml"

    def __enter__(self) -> Self:
        self._thread.start()
        port = self._wait_for(self._open())
        self._config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        self.kubeconfig.write_text(yaml.safe_dump(self._config))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._wait_for(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # -- what tests ask for --------------------------------------------------------------------------------------

    def hold(self, matches: Match, *, after: int = 0, most: int | None = None, applied: bool = False) -> Hold:
        """Keeps requests here until they are let go or dropped: before the server hears of them, or after."""
        fault = Hold(matches, after, most, applied=applied, proxy=self)
        self._faults.append(fault)
        return fault

    def answer(
        self, matches: Match, status: int, reason: str, *, most: int | None = None, as_event: bool = False
    ) -> Answering:
        """Refuses requests in the server's name."""
        fault = Answering(matches, 0, most, status=status, reason=reason, as_event=as_event, proxy=self)
        self._faults.append(fault)
        return fault

    def cut_watches(self) -> int:
        """Ends every watch that is open, without a word; how many."""

        async def cut() -> int:
            open_ones = list(self._watches)
            for transport in open_ones:
                transport.abort()
            return len(open_ones)

        return self._wait_for(cut())

    def forget(self, fault: Answering | Hold) -> None:
        """The fault is over."""
        if fault in self._faults:
            self._faults.remove(fault)

    def soon(self, call: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(call)

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_ANSWER_SECONDS)

    # -- in its own thread ---------------------------------------------------------------------------------------

    async def _open(self) -> int:
        user = self._config["users"][0]["user"]
        tls = ssl.create_default_context(cafile=self._config["clusters"][0]["cluster"]["certificate-authority"])
        tls.load_cert_chain(user["client-certificate"], user["client-key"])
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{anything:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return int(self._runner.addresses[0][1])

    async def _close(self) -> None:
        for fault in [fault for fault in self._faults if isinstance(fault, Hold)]:
            fault.drop()
        assert self._runner is not None and self._session is not None and self._session.connector is not None
        await self._runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._session.connector.close(abort_ssl=True)  # a polite end of TLS would outlive the loop
        await self._session.close()
        await asyncio.sleep(0.1)  # the loop closes sockets in turns of its own, and stops with us

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked = Asked(request.method, request.path, dict(request.query), json.loads(body) if is_written(body) else {})
        self.seen[f"{asked.method} {'watch' if is_watch(asked) else asked.path.rpartition('/')[2]}"] += 1
        fault = next((one for one in self._faults if one.catches(asked)), None)
        try:
            if isinstance(fault, Answering):
                return _refused(fault)
            if isinstance(fault, Hold) and not fault.applied and not await fault.ended():
                return _cut(request)
            answer = await (self._stream(request) if is_watch(asked) else self._pass_on(request, body))
            if isinstance(fault, Hold) and fault.applied and not await fault.ended():
                return _cut(request)
            return answer
        except aiohttp.ClientError:
            return _cut(request)  # the server is away: so are we

    async def _pass_on(self, request: web.Request, body: bytes) -> web.Response:
        async with self._ask(request, body) as answer:
            return web.Response(status=answer.status, body=await answer.read(), headers=_headers(answer.headers))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        async with self._ask(request, b"") as answer:
            response = web.StreamResponse(status=answer.status, headers=_headers(answer.headers))
            await response.prepare(request)
            transport = request.transport
            if not isinstance(transport, asyncio.Transport):
                return response
            self._watches.add(transport)
            has_ended = False
            try:
                with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                    has_ended = await _copy(answer, response, transport)
            finally:
                self._watches.discard(transport)
            if not has_ended:
                transport.abort()
            return response

    def _ask(self, request: web.Request, body: bytes) -> Any:
        assert self._session is not None
        url = URL(f"{self._server}{request.raw_path}", encoded=True)
        return self._session.request(request.method, url, data=body or None, headers=_headers(request.headers))


async def _copy(answer: aiohttp.ClientResponse, response: web.StreamResponse, transport: asyncio.Transport) -> bool:
    """Hands a stream on until one of both sides has gone. Whether the server has ended it in good order, as each watch
    after a while."""
    chunks = answer.content.iter_any().__aiter__()
    while not transport.is_closing():
        coming = asyncio.ensure_future(anext(chunks, b""))
        try:
            while not transport.is_closing() and not (await asyncio.wait([coming], timeout=0.1))[0]:
                pass  # nothing is said when the other side goes, so it is looked at now and then
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        if coming.cancelled():
            return False
        if not (chunk := coming.result()):
            return True
        await response.write(chunk)
    return False


def is_written(body: bytes) -> bool:
    """Whether a body is one JSON object: others are handed on unread."""
    return body.startswith(b"{")


def _headers(given: Any) -> list[tuple[str, str]]:
    return [(name, value) for name, value in given.items() if name.lower() not in _KEPT_BACK]


def _refused(fault: Answering) -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{fault.reason}, says the one in the middle",
        "reason": fault.reason,
        "code": fault.status,
    }
    if fault.as_event:
        return web.json_response({"type": "ERROR", "object": status}, dumps=lambda one: json.dumps(one) + "\n")
    return web.json_response(status, status=fault.status)


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()  # type: ignore[attr-defined]
    return web.Response(status=502)
