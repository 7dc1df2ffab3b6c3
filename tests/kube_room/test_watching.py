"""All mirrors together: what is served is followed, what is forbidden is said, and a mirror that dies is noticed."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from phalanx.dialects.neighbours import Key
from phalanx.kube import watching as room
from phalanx.kube.watching import Watching
from phalanx.wire import shapes
from phalanx.wire.client import Client
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, Unreachable
from phalanx.wire.resources import NODES, PODS, Resource

GANGS = Resource("phalanx.dev", "v1alpha1", "gangs", "Gang")
NEWER = Resource("phalanx.dev", "v1", "gangs", "Gang")
QUEUES = Resource("phalanx.dev", "v1alpha1", "queues", "Queue", namespaced=False)


class Server:
    """Serves kinds, and lets some of them be read."""

    def __init__(self, *served: Resource, forbidden: tuple[Resource, ...] = ()) -> None:
        self.served, self.forbidden, self.silent = list(served), forbidden, 0
        self.failing: dict[Resource, Refused] = {}

    async def ask(self) -> Served:
        if self.silent:
            self.silent -= 1
            raise Unreachable("no route")
        return Served(tuple(self.served))

    async def pages(self, resource: Resource, **_: Any) -> AsyncIterator[None]:
        if resource in self.forbidden:
            raise Refused(403, "Forbidden", "you may not", {}, None)
        if resource in self.failing:
            raise self.failing[resource]
        yield None


class Mirror:
    """Is in step at once, and dies when told. ``late`` ones never are in step."""

    dying: Resource | None = None
    late: Resource | None = None

    def __init__(self, client: Any, resource: Resource, *_: Any, **__: Any) -> None:
        self.resource, self.synced = resource, asyncio.Event()
        self.store: dict[tuple[str, str], Any] = {}

    async def run(self) -> None:
        if self.resource != Mirror.late:
            self.synced.set()
        if self.resource == Mirror.dying:
            raise ValueError("the picture is wrong")
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "Mirror", Mirror)
    monkeypatch.setattr(room, "AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(Mirror, "dying", None)
    monkeypatch.setattr(Mirror, "late", None)


Changes = list[tuple[Key, bool]]


def watching(
    server: Server, problems: list[str], monkeypatch: pytest.MonkeyPatch, changes: Changes | None = None
) -> Watching:
    monkeypatch.setattr(room, "Discovery", lambda _: server)

    def changed(key: Key, change: object) -> None:
        if changes is not None:
            changes.append((key, change is not None))

    return Watching(cast("Client", server), changed, problems.append, random.Random(1))


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not met():
            await asyncio.sleep(0)


def held(name: str, namespace: str = "default") -> shapes.Whole:
    return shapes.Whole(shapes.Meta(name=name, namespace=namespace), b"{}")


def broken() -> Refused:
    return Refused(500, "InternalError", "the conversion webhook is away", {}, None)


def missing() -> Refused:
    return Refused(404, "NotFound", "the server could not find the requested resource", {}, None)


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


def test_who_waits_for_a_failure_may_stop_waiting_and_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        one = watching(Server(), [], monkeypatch)
        for _ in range(2):
            waiting = asyncio.create_task(one.failed())
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()
            await asyncio.sleep(0)

    asyncio.run(run())


# -- kinds that can be done without ------------------------------------------------------------------------------


def test_a_kind_that_cannot_be_read_now_is_told_once_and_tried_again_and_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems: list[str] = []
    server = Server(GANGS, QUEUES)
    server.failing[GANGS] = broken()

    async def run() -> None:
        one = watching(server, problems, monkeypatch)
        await one.start()
        assert QUEUES in one.mirrors
        later = asyncio.create_task(one.keep_up())
        for _ in range(50):
            await asyncio.sleep(0)
        server.failing.clear()
        await until(lambda: GANGS in one.mirrors)
        later.cancel()
        await one.stop()

    asyncio.run(run())
    assert len(problems) == 1
    assert "gangs.phalanx.dev are not followed: 500 InternalError" in problems[0]


def test_nodes_that_cannot_be_read_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(GANGS)
    server.failing[NODES] = broken()

    async def run() -> None:
        await watching(server, [], monkeypatch).start()

    with pytest.raises(Refused):
        asyncio.run(run())


def test_a_kind_that_never_comes_in_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mirror, "late", GANGS)
    monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.0)
    problems: list[str] = []

    async def run() -> None:
        one = watching(Server(GANGS, QUEUES), problems, monkeypatch)
        async with asyncio.timeout(30):
            await one.start()
        await one.stop()

    asyncio.run(run())
    assert problems == ["gangs.phalanx.dev have not come in yet; what depends on them waits"]


# -- kinds that come and go --------------------------------------------------------------------------------------


def test_a_kind_that_is_served_a_while_after_it_was_defined_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()

    async def run() -> None:
        one = watching(server, [], monkeypatch)
        await one.start()
        one.mirrors[room.CUSTOM_RESOURCE_DEFINITIONS].store["", "gangs.phalanx.dev"] = held("gangs.phalanx.dev", "")
        later = asyncio.create_task(one.keep_up())
        one._teller(room.CUSTOM_RESOURCE_DEFINITIONS)(None, None)
        for _ in range(50):
            await asyncio.sleep(0)
        server.served = [GANGS]
        await until(lambda: GANGS in one.mirrors)
        later.cancel()
        await one.stop()

    asyncio.run(run())


def test_what_is_served_is_asked_for_now_and_then_though_nothing_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LOOK_SECONDS", 0.0)
    server = Server(forbidden=(room.CUSTOM_RESOURCE_DEFINITIONS,))

    async def run() -> None:
        one = watching(server, [], monkeypatch)
        await one.start()
        later = asyncio.create_task(one.keep_up())
        server.served = [GANGS]
        await until(lambda: GANGS in one.mirrors)
        later.cancel()
        await one.stop()

    asyncio.run(run())


def test_objects_of_a_kind_that_is_served_no_more_are_told_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(GANGS)
    changes: Changes = []

    async def run() -> None:
        one = watching(server, [], monkeypatch, changes)
        await one.start()
        one.mirrors[GANGS].store["default", "t"] = held("t")
        server.served, server.failing = [], {GANGS: missing()}
        later = asyncio.create_task(one.keep_up())
        one._teller(room.CUSTOM_RESOURCE_DEFINITIONS)(None, None)
        await until(lambda: GANGS not in one.mirrors)
        later.cancel()
        await one.stop()

    asyncio.run(run())
    assert changes == [(("phalanx.dev", "Gang", "default", "t"), False)]


@pytest.mark.parametrize("why", ["its objects are still listed", "its definition is still there"])
def test_a_kind_is_not_given_up_because_a_server_that_starts_does_not_name_it_yet(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(GANGS)

    async def run() -> None:
        one = watching(server, [], monkeypatch)
        await one.start()
        server.served = [QUEUES]
        if why == "its definition is still there":
            server.failing = {GANGS: missing()}
            one.mirrors[room.CUSTOM_RESOURCE_DEFINITIONS].store["", "gangs.phalanx.dev"] = held("gangs.phalanx.dev", "")
        later = asyncio.create_task(one.keep_up())
        one._teller(room.CUSTOM_RESOURCE_DEFINITIONS)(None, None)
        await until(lambda: QUEUES in one.mirrors)
        assert GANGS in one.mirrors
        later.cancel()
        await one.stop()

    asyncio.run(run())


def test_a_kind_is_followed_once_and_in_a_newer_version_only_when_the_older_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(GANGS)
    changes: Changes = []

    async def run() -> None:
        one = watching(server, [], monkeypatch, changes)
        await one.start()
        one.mirrors[GANGS].store["default", "t"] = held("t")
        server.served = [NEWER, GANGS, QUEUES]
        later = asyncio.create_task(one.keep_up())
        one._teller(room.CUSTOM_RESOURCE_DEFINITIONS)(None, None)
        await until(lambda: QUEUES in one.mirrors)
        assert NEWER not in one.mirrors
        server.served = [NEWER]
        await until(lambda: NEWER in one.mirrors)
        assert GANGS not in one.mirrors
        assert list(one.mirrors[NEWER].store) == [("default", "t")]  # so that it tells what is there no more
        later.cancel()
        await one.stop()

    asyncio.run(run())
    assert changes == []
