"""All mirrors together: what is served is followed, what is forbidden is said, and a mirror that dies is noticed."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import msgspec
import pytest

from phalanx.kube import watching as room
from phalanx.kube.watching import Watching
from phalanx.model.objects import ObjectKey
from phalanx.wire import shapes
from phalanx.wire.client import Client
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, Unreachable
from phalanx.wire.mirror import MirrorSettings
from phalanx.wire.resources import NODES, PODS, Resource

GANGS = Resource("phalanx.dev", "v1alpha1", "gangs", "Gang")
NEWER = Resource("phalanx.dev", "v1", "gangs", "Gang")
QUEUES = Resource("phalanx.dev", "v1alpha1", "queues", "Queue", namespaced=False)


class Server:
    """Serves kinds, and lets some of them be read."""

    def __init__(self, *served: Resource, forbidden: tuple[Resource, ...] = ()) -> None:
        self.served, self.forbidden, self.silent = list(served), forbidden, 0
        self.failing: dict[Resource, Refused] = {}
        self.failed: tuple[str, ...] = ()

    async def ask(self) -> Served:
        if self.silent:
            self.silent -= 1
            raise Unreachable("no route")
        return Served(tuple(self.served), failed=self.failed)

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

    def __init__(self, client: Any, resource: Resource, *_: Any, settings: MirrorSettings, **__: Any) -> None:
        self.resource, self.synced, self.settings = resource, asyncio.Event(), settings
        self.store: dict[tuple[str, str], Any] = {}
        self.problem = ""

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


Changes = list[tuple[ObjectKey, bool]]


def watching(
    server: Server, problems: list[str], monkeypatch: pytest.MonkeyPatch, changes: Changes | None = None
) -> Watching:
    monkeypatch.setattr(room, "Discovery", lambda _: server)

    def changed(key: ObjectKey, change: object) -> None:
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


def test_watches_of_pods_and_nodes_are_short_so_that_silence_is_known_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> dict[str, int | None]:
        one = watching(Server(GANGS, forbidden=(room.CUSTOM_RESOURCE_DEFINITIONS,)), [], monkeypatch)
        await one.start()
        found = {of.plural: cast("Any", mirror).settings.resumed_seconds for of, mirror in one.mirrors.items()}
        await one.stop()
        return found

    assert asyncio.run(run()) == {"nodes": 5, "pods": 5, "gangs": None}


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


def test_a_kind_of_workload_that_never_comes_in_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
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


# -- kinds that restrict -------------------------------------------------------------------------------------------

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
PRIORITIES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
DAEMONS = Resource("apps", "v1", "daemonsets", "DaemonSet")
CLUSTER_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
TOPOLOGIES = Resource("phalanx.dev", "v1alpha1", "topologies", "Topology", namespaced=False)
RESTRICTING = (PODS, NODES, QUEUES, CLAIMS, PRIORITIES, DAEMONS, CLUSTER_QUEUES, TOPOLOGIES)


def definition(spec: object = None, **more: object) -> shapes.Whole:
    document = {"metadata": {"name": "queues.phalanx.dev"}, "spec": spec or {"versions": [{"served": True}]}, **more}
    return shapes.Whole(shapes.Meta(name="queues.phalanx.dev"), msgspec.json.encode(document))


class Beginning:
    """A start that is under way. ``late``: a kind of which the mirror does not come in."""

    def __init__(self, server: Server, monkeypatch: pytest.MonkeyPatch, late: Resource | None = None) -> None:
        monkeypatch.setattr(Mirror, "late", late)
        monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.0)
        self.problems: list[str] = []
        self.watching = watching(server, self.problems, monkeypatch)
        self.task = asyncio.create_task(self.watching.start())

    async def goes_on(self) -> bool:
        """Whether it still waits, after so many turns that it had asked again many times."""
        for _ in range(300):
            await asyncio.sleep(0)
        return not self.task.done()

    async def ends(self) -> None:
        async with asyncio.timeout(30):
            await self.task
        await self.watching.stop()


@pytest.mark.parametrize("kind", RESTRICTING, ids=lambda one: one.plural)
def test_nothing_begins_before_a_kind_that_restricts_is_in_and_it_is_said_once(
    kind: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        one = Beginning(Server(kind), monkeypatch, late=kind)
        assert await one.goes_on()
        line = f"{kind.group_resource} have not come in yet: nothing is bound before they are seen"
        assert one.problems == [line]
        assert one.watching.lacks() == [line]
        assert one.watching.unseen() == {kind.group_resource: "awaited"}
        one.watching.mirrors[kind].synced.set()
        await one.ends()
        assert (one.watching.lacks(), one.watching.unseen()) == ([], {})

    asyncio.run(run())


def test_what_is_waited_for_is_said_again_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SAY_SECONDS", 0.0)

    async def run() -> None:
        one = Beginning(Server(QUEUES), monkeypatch, late=QUEUES)
        assert await one.goes_on()
        assert len(one.problems) > 2
        one.watching.mirrors[QUEUES].synced.set()
        await one.ends()

    asyncio.run(run())


def test_a_kind_that_restricts_and_cannot_be_read_for_now_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(QUEUES)
    server.failing[QUEUES] = broken()

    async def run() -> None:
        one = Beginning(server, monkeypatch)
        assert await one.goes_on()
        assert "queues.phalanx.dev have not come in yet (500 InternalError" in one.watching.lacks()[0]
        server.failing.clear()
        await one.ends()
        assert QUEUES in one.watching.mirrors

    asyncio.run(run())


def test_a_server_that_falls_silent_meanwhile_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(QUEUES)
    server.failing[QUEUES] = broken()

    async def run() -> None:
        one = Beginning(server, monkeypatch)
        assert await one.goes_on()
        server.silent = 3
        assert await one.goes_on()
        server.failing.clear()
        await one.ends()

    asyncio.run(run())


def test_a_kind_that_restricts_and_is_forbidden_is_said_to_be_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        one = Beginning(Server(QUEUES, GANGS, forbidden=(QUEUES, GANGS)), monkeypatch)
        await one.ends()
        assert [line for line in one.problems if "as if there were none" in line] == [
            "queues.phalanx.dev are not followed: 403 Forbidden: you may not; "
            "what they restrict is not known, and pods are bound as if there were none"
        ]
        assert one.watching.unseen() == {"queues.phalanx.dev": "forbidden"}
        assert one.watching.lacks() == []

    asyncio.run(run())


def test_a_kind_that_is_not_served_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        one = Beginning(Server(), monkeypatch)
        await one.ends()
        assert one.problems == []

    asyncio.run(run())


def test_definitions_are_waited_for_as_they_tell_what_restricts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        one = Beginning(Server(), monkeypatch, late=room.CUSTOM_RESOURCE_DEFINITIONS)
        assert await one.goes_on()
        one.watching.mirrors[room.CUSTOM_RESOURCE_DEFINITIONS].synced.set()
        await one.ends()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("what", "waits"),
    [
        ({}, True),
        ({"spec": {"versions": [{"served": False}]}}, False),
        ({"status": {"conditions": [{"type": "NamesAccepted", "status": "False"}]}}, False),
        ({"metadata": {"name": "queues.phalanx.dev", "deletionTimestamp": "2026-11-18T10:00:00Z"}}, False),
    ],
    ids=["will be served", "in no version", "its names are taken", "is being deleted"],
)
def test_a_kind_that_restricts_and_is_defined_is_waited_for_if_it_will_be_served(
    what: dict[str, Any], waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()

    async def run() -> None:
        one = Beginning(server, monkeypatch, late=room.CUSTOM_RESOURCE_DEFINITIONS)
        assert await one.goes_on()
        definitions = one.watching.mirrors[room.CUSTOM_RESOURCE_DEFINITIONS]
        definitions.store["", "queues.phalanx.dev"] = definition(**what)
        definitions.synced.set()
        assert await one.goes_on() is waits
        if waits:
            assert "queues.phalanx.dev are defined, and not served yet" in one.watching.lacks()[0]
            server.served = [QUEUES]
        await one.ends()

    asyncio.run(run())


def test_kinds_of_an_api_group_that_does_not_answer_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    server.failed = ("kueue.x-k8s.io/v1beta2", "metrics.k8s.io/v1beta1")

    async def run() -> None:
        one = Beginning(server, monkeypatch)
        assert await one.goes_on()
        assert set(one.watching.unseen()) >= {"clusterqueues.kueue.x-k8s.io", "resourceflavors.kueue.x-k8s.io"}
        server.served, server.failed = [CLUSTER_QUEUES], ()
        await one.ends()

    asyncio.run(run())


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
