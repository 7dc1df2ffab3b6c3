"""The question that only a server with its store can answer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from phalanx.kube import pulse as room
from phalanx.kube.pulse import Pulse
from phalanx.wire.client import Client
from phalanx.wire.errors import Refused, Unanswered
from tests.kube_room.watched import Clock


class Server:
    """Answers as it is told, each time ten seconds later."""

    def __init__(self, clock: Clock, *answers: Exception | None) -> None:
        self._clock, self._answers = clock, list(answers)
        self.known: list[float] = []
        self.pulse: Pulse

    async def pages(self, resource: Any, **_: Any) -> AsyncIterator[None]:
        self.known.append(self.pulse.heard_until)
        if not self._answers:
            await asyncio.Event().wait()
        self._clock.now += 10.0
        answer = self._answers.pop(0)
        if answer is not None:
            raise answer
        yield None


def test_what_was_answered_is_known_as_of_when_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SECONDS", 0.0)
    clock = Clock(1000.0)
    away = (Refused(500, "InternalError", "etcdserver: request timed out", {}, None), Unanswered("no answer"))
    server = Server(clock, None, *away, None)

    async def run() -> None:
        server.pulse = Pulse(cast("Client", server), clock)
        task = asyncio.create_task(server.pulse.run())
        async with asyncio.timeout(30):
            while len(server.known) < 5:
                await asyncio.sleep(0)
        task.cancel()

    asyncio.run(run())
    assert server.known == [1000.0, 1000.0, 1000.0, 1000.0, 1030.0]
