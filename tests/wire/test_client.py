"""The client against a server that says exactly what it is told to say."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from phalanx.wire.access import Access
from phalanx.wire.client import Client, Patch, Timeouts
from phalanx.wire.errors import Garbled, Refused, Silent, Unanswered, Unreachable
from phalanx.wire.resources import JOBS, NODES, PODS
from phalanx.wire.shapes import WatchEvent
from tests.wire.loopback import (
    Script,
    bookmark,
    event,
    listing,
    never,
    pod,
    reset,
    run,
    serving,
    status,
    stream,
    talking,
)


async def _events(client: Client, **how: Any) -> list[WatchEvent]:
    async with aclosing(client.watch(PODS, **how)) as events:
        return [each async for each in events]


def test_a_list_comes_in_pages_and_its_items_have_a_kind() -> None:
    script = Script(listing(pod("a"), version=7, token="t/1 +="), listing(pod("b"), version=7))

    async def work() -> None:
        async with talking(script) as client:
            found = await client.list(PODS, page_size=1, label_selector="app in (x,y)")
        assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
        assert {(item["apiVersion"], item["kind"]) for item in found.items} == {("v1", "Pod")}
        assert found.resource_version == "7"

    run(work())
    assert script.asked[0][1] == "/api/v1/pods?labelSelector=app+in+%28x%2Cy%29&limit=1"
    assert script.asked[1][1].endswith("&continue=t%2F1+%2B%3D")


def test_a_list_that_expires_half_way_is_asked_again_from_the_start() -> None:
    script = Script(
        listing(pod("old"), version=7, token="t"), status(410, "Expired", "too old"), listing(pod("new"), version=9)
    )

    async def work() -> None:
        async with talking(script) as client:
            found = await client.list(PODS)
        assert [item["metadata"]["name"] for item in found.items] == ["new"]
        assert found.resource_version == "9"

    run(work())


def test_a_list_that_always_expires_is_given_up() -> None:
    script = Script(status(410, "Expired", "too old"))

    async def work() -> None:
        async with talking(script) as client:
            with pytest.raises(Refused) as refused:
                await client.list(PODS)
        assert refused.value.expired

    run(work())
    assert len(script.asked) == 3


def test_managed_fields_are_left_out() -> None:
    noisy = pod("a")
    noisy["metadata"]["managedFields"] = [{"manager": "kubectl"}]

    async def work() -> None:
        async with talking(Script(noisy)) as client:
            assert "managedFields" not in (await client.get(PODS, "a", "default"))["metadata"]

    run(work())


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_whose_connection_breaks_is_neither_done_nor_undone_and_sent_once(method: str) -> None:
    script = Script(pod("a"), reset)  # the first answer leaves a kept connection, which the second request uses

    async def work() -> None:
        async with talking(script) as client:
            await client.get(PODS, "a", "default")
            with pytest.raises(Unanswered):
                await _write(client, method)

    run(work())
    assert [asked[0] for asked in script.asked] == ["GET", method]


async def _write(client: Client, method: str) -> None:
    if method == "POST":
        await client.create(PODS, pod("a"))
    elif method == "PUT":
        await client.replace(PODS, pod("a"))
    elif method == "PATCH":
        await client.patch(PODS, "a", {}, "default")
    else:
        await client.delete(PODS, "a", "default")


def test_a_request_that_times_out_is_unanswered() -> None:
    async def work() -> None:
        async with talking(never, request_seconds=0.05) as client:
            with pytest.raises(Unanswered):
                await client.create(PODS, pod("a"))

    run(work())


def test_requests_beyond_the_connections_wait_their_turn() -> None:
    under_way, most = 0, 0

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return web.json_response(pod("a"))

    async def work() -> None:
        async with serving(handler) as server, Client(Access(server), connections=3) as client:
            await asyncio.gather(*(client.get(PODS, "a", "default") for _ in range(20)))

    run(work())
    assert most <= 3


def test_a_server_that_is_not_there_is_unreachable() -> None:
    async def work() -> None:
        async with serving(never) as server:
            pass
        async with Client(Access(server)) as client:
            with pytest.raises(Unreachable):
                await client.create(PODS, pod("a"))

    run(work())


def test_a_busy_server_is_asked_again_when_it_says_when() -> None:
    busy = (*status(429, "TooManyRequests", "busy"), {"Retry-After": "1"})
    script = Script(busy, busy, pod("a"))

    async def work() -> None:
        async with talking(script) as client:
            await client.create(PODS, pod("a"))

    run(work())
    assert len(script.asked) == 3


def test_a_server_that_stays_busy_refuses_in_the_end() -> None:
    script = Script((*status(429, "TooManyRequests", "busy"), {"Retry-After": "1"}))

    async def work() -> None:
        async with talking(script) as client:
            with pytest.raises(Refused) as refused:
                await client.create(PODS, pod("a"))
        assert refused.value.busy
        assert refused.value.retry_after == 1

    run(work())
    assert len(script.asked) == 4


def test_a_busy_server_that_does_not_say_when_is_not_asked_again() -> None:
    script = Script(status(429, "TooManyRequests", "busy"))

    async def work() -> None:
        async with talking(script) as client:
            with pytest.raises(Refused):
                await client.create(PODS, pod("a"))

    run(work())
    assert len(script.asked) == 1


def test_an_eviction_that_a_budget_forbids_is_never_repeated() -> None:
    causes = {"causes": [{"reason": "DisruptionBudget", "message": "needs 2"}]}
    script = Script((*status(429, "TooManyRequests", "Cannot evict", details=causes), {"Retry-After": "10"}))

    async def work() -> None:
        async with talking(script) as client:
            with pytest.raises(Refused) as refused:
                await client.evict("a", "default", uid="u", grace_seconds=0)
        assert refused.value.budget
        assert not refused.value.busy

    run(work())
    assert script.asked == [("POST", "/api/v1/namespaces/default/pods/a/eviction")]
    assert script.bodies[0]["deleteOptions"]["preconditions"] == {"uid": "u"}
    assert script.bodies[0]["deleteOptions"]["gracePeriodSeconds"] == 0


def test_patches_say_what_they_are() -> None:
    script = Script(pod("a"))

    async def work() -> None:
        async with talking(script) as client:
            await client.patch(PODS, "a", [{"op": "remove", "path": "/x"}], "default", kind=Patch.JSON)
            await client.patch_status(PODS, "a", {"status": {}}, "default", field_manager="phalanx")
            await client.patch(NODES, "n", {}, kind=Patch.STRATEGIC, dry_run=True)
            await client.apply(JOBS, {"metadata": {"name": "j", "namespace": "x"}}, field_manager="phalanx", force=True)

    run(work())
    assert [headers["Content-Type"] for headers in script.headers] == [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ]
    assert [path for _, path in script.asked] == [
        "/api/v1/namespaces/default/pods/a",
        "/api/v1/namespaces/default/pods/a/status?fieldManager=phalanx",
        "/api/v1/nodes/n?dryRun=All",
        "/apis/batch/v1/namespaces/x/jobs/j?fieldManager=phalanx&force=true",
    ]


def test_a_deletion_names_the_very_object() -> None:
    script = Script(status(200))

    async def work() -> None:
        async with talking(script) as client:
            await client.delete(PODS, "a", "default", uid="u1", propagation="Background")

    run(work())
    assert script.bodies[0]["preconditions"] == {"uid": "u1"}
    assert script.bodies[0]["propagationPolicy"] == "Background"


def test_a_refusal_keeps_the_servers_words() -> None:
    async def work() -> None:
        async with talking(Script(status(422, "Invalid", "spec.x: bad", details={"kind": "Pod"}))) as client:
            with pytest.raises(Refused, match=r"422 Invalid: spec\.x: bad") as refused:
                await client.create(PODS, pod("a"))
        assert refused.value.details == {"kind": "Pod"}

    run(work())


def test_a_proxys_error_page_is_a_refusal_too() -> None:
    async def work() -> None:
        async with talking(Script((502, "<html>Bad Gateway</html>"))) as client:
            with pytest.raises(Refused, match="502: <html>"):
                await client.get(PODS, "a", "default")

    run(work())


def test_a_write_answered_with_something_unreadable_may_have_been_done() -> None:
    async def work() -> None:
        async with talking(Script("hello")) as client:
            with pytest.raises(Unanswered):
                await client.create(PODS, pod("a"))

    run(work())


def test_redirects_are_not_followed() -> None:
    script = Script((302, "", {"Location": "http://127.0.0.1:1/elsewhere"}))

    async def work() -> None:
        async with talking(script) as client:
            with pytest.raises(Refused, match="302"):
                await client.get_raw("/version")

    run(work())
    assert len(script.asked) == 1


def test_a_name_is_checked_before_anything_is_sent() -> None:
    async def work() -> None:
        async with talking(never) as client:
            with pytest.raises(ValueError, match="without a name"):
                await client.delete(PODS, "", "default")
            with pytest.raises(ValueError, match="namespace is empty"):
                await client.get(PODS, "a")

    run(work())


# --------------------------------------------------------------------------------------------------------- watches


def test_events_are_whole_wherever_the_stream_is_cut() -> None:
    text = event("ADDED", pod("a", 2)) + event("MODIFIED", pod("a", 3)) + bookmark(4)
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]

    async def work() -> None:
        async with talking(stream(*pieces)) as client:
            assert [each.type for each in await _events(client)] == ["ADDED", "MODIFIED", "BOOKMARK"]

    run(work())


def test_a_line_may_be_very_long() -> None:
    big = pod("a", 2, note="x" * 3_000_000)

    async def work() -> None:
        async with talking(stream(event("ADDED", big))) as client:
            (only,) = await _events(client)
        assert len(only.object) > 3_000_000

    run(work())


def test_a_line_cut_at_the_end_is_not_an_event() -> None:
    async def work() -> None:
        async with talking(stream(event("ADDED", pod("a", 2)), event("ADDED", pod("b", 3))[:-20])) as client:
            assert [each.type for each in await _events(client)] == ["ADDED"]

    run(work())


def test_a_watch_that_breaks_is_unreachable() -> None:
    async def work() -> None:
        async with talking(stream(event("ADDED", pod("a", 2)), then=reset)) as client:
            with pytest.raises(Unreachable):
                await _events(client)

    run(work())


def test_silence_ends_a_watch() -> None:
    async def work() -> None:
        async with talking(stream(bookmark(2), then=never)) as client:
            with pytest.raises(Silent):
                await _events(client, idle_seconds=0.05)

    run(work())


def test_a_connection_that_takes_too_long_is_no_silence() -> None:
    """Seen on a server that was starting: it takes connections and does not speak TLS yet."""

    async def work() -> None:
        async with _mute() as port:
            access = Access(f"https://127.0.0.1:{port}", ssl.create_default_context())
            async with Client(access, timeouts=Timeouts(connect_seconds=0.05)) as client:
                with pytest.raises(Unreachable) as unreachable:
                    await _events(client, idle_seconds=60)
                assert not isinstance(unreachable.value, Silent)
                with pytest.raises(Unreachable):
                    await client.create(PODS, pod("a"))

    run(work())


@asynccontextmanager
async def _mute() -> AsyncIterator[int]:
    """A port at which connections are taken and nothing is ever said."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: writers.append(writer), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.close()


def test_a_line_that_is_no_json_is_garbled() -> None:
    async def work() -> None:
        async with talking(stream(b'{"type": "ADDED", "object": {]}\n')) as client:
            with pytest.raises(Garbled):
                await _events(client)

    run(work())


def test_a_refused_watch_says_so() -> None:
    async def work() -> None:
        async with talking(Script(status(410, "Gone", "too old"))) as client:
            with pytest.raises(Refused) as refused:
                await _events(client, resource_version="1")
        assert refused.value.expired

    run(work())


def test_the_streaming_start_is_asked_for_as_the_server_wants_it() -> None:
    script = Script(stream(bookmark(2, end=True)))

    async def work() -> None:
        async with talking(script) as client:
            await _events(client, streaming=True)

    run(work())
    assert script.asked[0][1] == (
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=300"
        "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    )


def test_watches_take_no_turn_from_requests() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" in request.path_qs:
            return await stream(bookmark(1), then=never)(request)
        return web.json_response(pod("a"))

    async def work() -> None:
        async with talking(handler, connections=1) as client, aclosing(client.watch(PODS)) as events:
            await anext(events)
            await client.get(PODS, "a", "default")

    run(work())
