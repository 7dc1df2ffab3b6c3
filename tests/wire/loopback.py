"""A server of our own on loopback, to be told what to answer, and a loop to run in."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiohttp import web

from phalanx.wire.access import Access
from phalanx.wire.client import Client, Timeouts

BOUND_SECONDS = 20.0  # a test that waits longer hangs

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, BOUND_SECONDS))


async def at_once(seconds: float) -> None:
    """A pause for tests: it only lets others run."""
    await asyncio.sleep(0)


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until something is so. The bound is that of ``run``."""
    while not holds():
        await asyncio.sleep(0.001)


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """An address at which ``handler`` answers everything."""
    runner = web.ServerRunner(web.Server(handler, handler_cancellation=True), shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def talking(handler: Handler, *, connections: int = 32, **timeouts: Any) -> AsyncIterator[Client]:
    async with (
        serving(handler) as server,
        Client(Access(server), connections=connections, timeouts=Timeouts(**timeouts), pause=at_once) as client,
    ):
        yield client


class Script:
    """Answers in turn, the last one for ever. Keeps what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []  # method, path with query
        self.bodies: list[Any] = []
        self.headers: list[Any] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.method, request.path_qs))
        self.bodies.append(json.loads(body) if body else None)
        self.headers.append(request.headers)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request) if callable(answer) else answer_of(answer)


def answer_of(answer: Any) -> web.Response:
    """A body (200), or a status and a body, or those and headers."""
    status, body, headers = (*answer, {})[:3] if isinstance(answer, tuple) else (200, answer, {})
    text = body if isinstance(body, str) else json.dumps(body)
    return web.Response(status=status, text=text, content_type="application/json", headers=headers)


def status(code: int, reason: str = "", message: str = "", **more: Any) -> tuple[int, dict[str, Any]]:
    return code, {"kind": "Status", "code": code, "reason": reason, "message": message, **more}


async def reset(request: web.BaseRequest) -> web.StreamResponse:
    """The connection breaks after the request has arrived."""
    assert request.transport is not None
    request.transport.abort()
    await asyncio.Event().wait()
    raise AssertionError


async def never(request: web.BaseRequest) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


def pod(name: str, version: int = 1, *, uid: str = "", node: str = "", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    if labels:
        metadata["labels"] = labels
    spec: dict[str, Any] = {"containers": [{"name": "main"}]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def listing(*items: Any, version: int = 1, token: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": str(version)} | ({"continue": token} if token else {})
    bare = [{key: value for key, value in item.items() if key not in ("apiVersion", "kind")} for item in items]
    return {"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": bare}


def event(kind: str, what: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": what}).encode() + b"\n"


def bookmark(version: int, *, end: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if end else {}
    metadata = {"resourceVersion": str(version), "creationTimestamp": None, "annotations": annotations}
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata})


def stream(*chunks: bytes, then: Callable[[web.BaseRequest], Awaitable[Any]] | None = None) -> Handler:
    """A watch that sends these chunks as they are, then ends politely, or does ``then``."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if then is not None:
            await then(request)
        return response

    return answer
