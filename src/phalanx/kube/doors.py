"""The doors for kubelets and Prometheus: /healthz, /readyz, /metrics. They are read, and change nothing.

/healthz answers 200 while the loop turns. A process that fails it is to be restarted: what cures a restart belongs
here and nothing else, so an API server that is away does not.
/readyz answers 200 while everything that is watched was seen whole and heard of lately, else it says what was not, and
what the scheduler waits for.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from phalanx.kube.configuration.parts import Listen
from phalanx.kube.logs import without_secrets
from phalanx.kube.metrics import CONTENT_TYPE, Metrics, Watched

BEAT_SECONDS = 60.0  # a step over the largest cluster we measure takes a few; a loop this late is stuck
SILENT_SECONDS = 200.0  # bookmarks come every minute, and a mirror gives up on a silent watch after 150 s
_SAID_MAX = 200  # characters of somebody else's message
_LINE_BYTES, _HEADERS, _FIELD_BYTES = 2048, 64, 4096
_KEEP_SECONDS = 75.0  # longer than the usual 60 s between two scrapes
_END_SECONDS = 1.0  # answers take milliseconds; nobody waits longer for us to end


class CannotListen(Exception):
    """The port is taken, or the address is none of ours."""


class Health:
    """What the doors know: when the loop last turned, whether it is ending, what is watched. ``waits``: lines of what
    the scheduler waits for before it decides anything."""

    def __init__(
        self,
        mirrors: Callable[[], Iterable[Watched]],
        clock: Callable[[], float] = time.monotonic,
        waits: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._mirrors, self._clock, self._waits = mirrors, clock, waits
        self._beaten = clock()
        self.is_ending = False  # set once the process drains: no longer ready, still alive

    def beat(self) -> None:
        """To be called by the loop each time it turns, and at least every few seconds when nothing happens."""
        self._beaten = self._clock()

    def ailments(self) -> list[str]:
        """Why the process should be restarted; nothing if it is well."""
        late = self._clock() - self._beaten
        return [f"the loop has not turned for {late:.0f} s"] if late > BEAT_SECONDS else []

    def lacks(self) -> list[str]:
        """Why the scheduler cannot be relied on just now; nothing if it can."""
        found = ["ending"] if self.is_ending else []
        mirrors = sorted(self._mirrors(), key=lambda one: one.resource.group_resource)
        if not mirrors:
            found.append("nothing is watched yet")
        found += self.ailments() + [_said(line) for line in self._waits()]
        return found + [line for mirror in mirrors for line in self._missed(mirror)]

    def _missed(self, mirror: Watched) -> list[str]:
        name = mirror.resource.group_resource
        why = f": {_said(mirror.problem)}" if mirror.problem else ""
        if not mirror.synced.is_set():
            return [f"{name}: not seen whole yet{why}"]
        silent = self._clock() - mirror.last_heard
        return [f"{name}: nothing heard for {silent:.0f} s{why}"] if silent > SILENT_SECONDS else []


def _said(message: str) -> str:
    """A message of others as part of a line."""
    return without_secrets(" ".join(message.split()))[:_SAID_MAX]


@dataclass(frozen=True, slots=True)
class Doors:
    """Where they were opened. ``port`` is the one that is listened on, also where any free one was asked for."""

    address: str
    port: int


@asynccontextmanager
async def opened(listen: Listen, health: Health, metrics: Metrics) -> AsyncIterator[Doors]:
    """The doors, for as long as the block runs. CannotListen where the port is taken."""
    runner = web.AppRunner(
        _application(health, metrics),
        access_log=None,
        handle_signals=False,
        max_line_size=_LINE_BYTES,
        max_headers=_HEADERS,
        max_field_size=_FIELD_BYTES,
        keepalive_timeout=_KEEP_SECONDS,
        shutdown_timeout=_END_SECONDS,
    )
    await runner.setup()
    try:
        await _listening(runner, listen)
        yield Doors(listen.address, runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def _listening(runner: web.AppRunner, listen: Listen) -> None:
    try:
        await web.TCPSite(runner, listen.address, listen.port, backlog=16).start()
    except OSError as error:
        raise CannotListen(f"cannot listen on {listen.address}:{listen.port}: {error.strerror}") from error


def _application(health: Health, metrics: Metrics) -> web.Application:
    app = web.Application(client_max_size=0, middlewares=[_without_body])
    app.on_response_prepare.append(_modest)

    async def alive(_request: web.Request) -> web.Response:
        return _told(health.ailments())

    async def ready(_request: web.Request) -> web.Response:
        return _told(health.lacks())

    async def figures(_request: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    app.router.add_get("/healthz", alive, allow_head=False)
    app.router.add_get("/readyz", ready, allow_head=False)
    app.router.add_get("/metrics", figures, allow_head=False)
    return app


def _told(wrong: list[str]) -> web.Response:
    return web.Response(status=503 if wrong else 200, text="\n".join(wrong or ["ok"]) + "\n")


@web.middleware
async def _without_body(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Nobody has anything to send here; the connection is not kept for those who do."""
    if request.body_exists:
        response = web.Response(status=413, text="nothing is read here\n")
        response.force_close()
        return response
    return await handler(request)


async def _modest(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = "phalanx"  # and not which versions of what it is made of
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
