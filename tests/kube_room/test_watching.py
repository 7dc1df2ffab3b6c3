"""All mirrors together: what is served is followed, what is forbidden is said, and a mirror that dies is noticed."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from phalanx.kube import watching as room
from phalanx.kube.watching import Watching
from phalanx.wire.client import Client
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, Unreachable
from phalanx.wire.resources import NODES, PODS, Resource

GANGS = Resource("phalanx.dev", "v1alpha1", "gangs", "Gang")


class Server:
    """Serves kinds, and lets some of them be read."""

    def __init__(self, *served: Resource, forbidden: tuple[Resource, ...] = ()) -> None:
        self.served, self.forbidden, self.silent = list(served), forbidden, 0

    async def ask(self) -> Served:
        if self.silent:
            self.silent -= 1
            raise Unreachable("no route")
        return Served(tuple(self.served))

    async def pages(self, resource: Resource, **_: Any) -> AsyncIterator[None]:
        if resource in self.forbidden:
            raise Refused(403, "Forbidden", "you may not", {}, None)
        yield None


class Mirror:
    """Is in step at once, and dies when told."""

    dying: Resource | None = None

    def __init__(self, client: Any, resource: Resource, *_: Any, **__: Any) -> None:
        self.resource, self.synced = resource, asyncio.Event()

    async def run(self) -> None:
        self.synced.set()
        if self.resource == Mirror.dying:
            raise ValueError("the picture is wrong")
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "Mirror", Mirror)
    monkeypatch.setattr(room, "AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(Mirror, "dying", None)


def watching(server: Server, problems: list[str], monkeypatch: pytest.MonkeyPatch) -> Watching:
    monkeypatch.setattr(room, "Discovery", lambda _: server)
    return Watching(cast("Client", server), lambda key, change: None, problems.append, random.Random(1))


def test_every_kind_that_is_served_and_may_be_read_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:  # W-016
    problems: list[str] = []

    async def run() -> set[str]:
        one = watching(Server(GANGS, forbidden=(room.CUSTOM_RESOURCE_DEFINITIONS,)), problems, monkeypatch)
        await one.start()
        found = {resource.plural for resource in one.mirrors}
        await one.stop()
        return found

    assert asyncio.run(run()) == {"nodes", "pods", "gangs"}
    assert len(problems) == 1
    assert "customresourcedefinitions" in problems[0]


def test_without_pods_or_nodes_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        await watching(Server(forbidden=(PODS,)), [], monkeypatch).start()

    with pytest.raises(Refused):
        asyncio.run(run())


def test_a_kind_that_appears_later_is_followed_even_if_the_server_is_silent_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems: list[str] = []
    server = Server()

    async def run() -> None:
        one = watching(server, problems, monkeypatch)
        await one.start()
        assert GANGS not in one.mirrors
        server.served, server.silent = [GANGS], 2
        later = asyncio.create_task(one.keep_up())
        one._teller(room.CUSTOM_RESOURCE_DEFINITIONS)(None, None)
        async with asyncio.timeout(30):
            while GANGS not in one.mirrors:
                await asyncio.sleep(0)
        later.cancel()
        await one.stop()

    asyncio.run(run())
    assert len(problems) == 2


def test_a_mirror_that_dies_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mirror, "dying", NODES)

    async def run() -> None:
        one = watching(Server(), [], monkeypatch)
        await one.start()
        try:
            async with asyncio.timeout(30):
                await one.failed()
        finally:
            await one.stop()

    with pytest.raises(ValueError, match="the picture is wrong"):
        asyncio.run(run())
