"""/healthz, /readyz and /metrics, asked over loopback."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import ClientConnectionError, ClientSession, ClientTimeout

from phalanx.kube import doors
from phalanx.kube.configuration.parts import Listen
from phalanx.kube.doors import BEAT_SECONDS, SILENT_SECONDS, Doors, Health
from phalanx.kube.metrics import Metrics
from phalanx.wire.resources import JOBS, PODS
from tests.kube_room.watched import Clock, Flag, Mirror

ANY_PORT = Listen(port=0)
Ask = Callable[..., Awaitable[tuple[int, str]]]


def at_the_doors(health: Health, visit: Callable[[Ask, Doors], Awaitable[None]]) -> None:
    """Opens them on a free port and lets somebody ask."""

    async def visiting() -> None:
        metrics = Metrics("1.2.3", lambda: (), Clock())
        async with (
            doors.opened(ANY_PORT, health, metrics) as where,
            ClientSession(f"http://{where.address}:{where.port}", timeout=ClientTimeout(10)) as session,
        ):

            async def ask(path: str, method: str = "GET", **more: object) -> tuple[int, str]:
                async with session.request(method, path, **more) as response:  # type: ignore[arg-type]
                    return response.status, await response.text()

            await visit(ask, where)

    asyncio.run(visiting())


def health_of(*mirrors: Mirror, clock: Clock) -> Health:
    return Health(lambda: mirrors, clock)


def test_a_loop_that_turns_is_healthy_and_one_that_hangs_is_not() -> None:
    clock = Clock()
    health = health_of(clock=clock)

    async def visit(ask: Ask, _where: Doors) -> None:
        assert await ask("/healthz") == (200, "ok\n")
        clock.now += BEAT_SECONDS + 1
        assert await ask("/healthz") == (503, f"the loop has not turned for {BEAT_SECONDS + 1:.0f} s\n")
        health.beat()
        assert await ask("/healthz") == (200, "ok\n")

    at_the_doors(health, visit)


def test_it_is_ready_once_everything_was_seen_whole() -> None:
    clock = Clock()
    pods, jobs = Mirror(PODS, last_heard=clock.now), Mirror(JOBS, last_heard=clock.now, synced=Flag(False))
    health = health_of(pods, jobs, clock=clock)

    async def visit(ask: Ask, _where: Doors) -> None:
        assert await ask("/readyz") == (503, "jobs.batch: not seen whole yet\n")
        jobs.synced.up = True
        assert await ask("/readyz") == (200, "ok\n")

    at_the_doors(health, visit)


def test_it_is_not_ready_while_a_kind_is_silent_and_says_which_and_why() -> None:
    clock = Clock()
    pods, jobs = Mirror(PODS, last_heard=clock.now), Mirror(JOBS, last_heard=clock.now)
    health = health_of(pods, jobs, clock=clock)

    async def visit(ask: Ask, _where: Doors) -> None:
        clock.now += SILENT_SECONDS + 1
        health.beat()
        jobs.last_heard = clock.now
        pods.problem = "connection refused\nwith Bearer hush-hush-hush"
        status, text = await ask("/readyz")
        assert status == 503
        assert text == "pods: nothing heard for 201 s: connection refused with [redacted]\n"
        assert (await ask("/healthz"))[0] == 200  # a restart would not bring the server back

    at_the_doors(health, visit)


def test_it_is_alive_and_not_ready_while_it_waits_and_says_what_for() -> None:
    clock = Clock()
    waits = ["queues.phalanx.dev have not come in yet: nothing is bound before"]
    health = Health(lambda: [Mirror(PODS, last_heard=clock.now)], clock, lambda: waits)

    async def visit(ask: Ask, _where: Doors) -> None:
        assert await ask("/readyz") == (503, f"{waits[0]}\n")
        assert await ask("/healthz") == (200, "ok\n")
        waits.clear()
        assert await ask("/readyz") == (200, "ok\n")

    at_the_doors(health, visit)


def test_it_is_not_ready_before_anything_is_watched() -> None:
    async def visit(ask: Ask, _where: Doors) -> None:
        assert await ask("/readyz") == (503, "nothing is watched yet\n")

    at_the_doors(health_of(clock=Clock()), visit)


def test_one_that_ends_is_alive_and_not_ready() -> None:
    clock = Clock()
    health = health_of(Mirror(PODS, last_heard=clock.now), clock=clock)
    health.is_ending = True

    async def visit(ask: Ask, _where: Doors) -> None:
        assert await ask("/readyz") == (503, "ending\n")
        assert await ask("/healthz") == (200, "ok\n")

    at_the_doors(health, visit)


def test_a_hanging_loop_is_not_ready_either() -> None:
    clock = Clock()
    pods = Mirror(PODS, last_heard=clock.now)
    health = health_of(pods, clock=clock)
    clock.now += BEAT_SECONDS + 5
    assert health.lacks() == [f"the loop has not turned for {BEAT_SECONDS + 5:.0f} s"]


def test_figures_are_served_as_prometheus_reads_them() -> None:
    async def visiting() -> None:
        clock = Clock()
        metrics = Metrics("1.2.3", lambda: (), clock)
        async with (
            doors.opened(ANY_PORT, health_of(clock=clock), metrics) as where,
            ClientSession() as session,
            session.get(f"http://127.0.0.1:{where.port}/metrics") as response,
        ):
            assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert response.headers["Server"] == "phalanx"
            assert "phalanx_build_info{" in await response.text()

    asyncio.run(visiting())


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_the_doors_are_read_and_nothing_else(method: str) -> None:
    async def visit(ask: Ask, _where: Doors) -> None:
        for path in ("/healthz", "/readyz", "/metrics"):
            assert (await ask(path, method))[0] == 405

    at_the_doors(health_of(clock=Clock()), visit)


def test_there_is_nothing_behind_other_paths() -> None:
    async def visit(ask: Ask, _where: Doors) -> None:
        for path in ("/", "/metrics/", "/debug", "/healthz/../metrics/x", "/%2e%2e/etc/passwd"):
            assert (await ask(path))[0] == 404

    at_the_doors(health_of(clock=Clock()), visit)


def test_whoever_sends_too_much_is_refused() -> None:
    async def visit(ask: Ask, _where: Doors) -> None:
        assert (await ask("/healthz", data=b"x" * 100))[0] == 413
        assert (await ask("/healthz?" + "x" * 5000))[0] == 400
        assert (await ask("/healthz", headers={"X": "y" * 6000}))[0] == 400
        assert (await ask("/healthz"))[0] == 200

    at_the_doors(health_of(clock=Clock()), visit)


def test_nobody_but_this_machine_is_let_in_unless_told() -> None:
    async def visit(_ask: Ask, where: Doors) -> None:
        assert where.address == Listen().address == "127.0.0.1"
        assert where.port > 0
        with socket.socket() as other, pytest.raises(OSError):  # refused or unreachable, as the machine likes
            other.settimeout(5)
            other.connect(("127.0.0.2", where.port))

    at_the_doors(health_of(clock=Clock()), visit)


def test_once_closed_nobody_listens_and_the_port_is_free_again() -> None:
    async def visiting() -> None:
        clock = Clock()
        health, metrics = health_of(clock=clock), Metrics("1.2.3", lambda: (), clock)
        async with ClientSession() as session:
            async with doors.opened(ANY_PORT, health, metrics) as where:
                await (await session.get(f"http://127.0.0.1:{where.port}/healthz")).read()  # kept open by the client
            with pytest.raises(ClientConnectionError):
                await session.get(f"http://127.0.0.1:{where.port}/healthz")
        async with doors.opened(Listen(port=where.port), health, metrics) as again:
            assert again.port == where.port

    asyncio.run(visiting())


def test_a_port_that_is_taken_is_an_error_and_nothing_is_left_open() -> None:
    async def visiting() -> None:
        clock = Clock()
        health, metrics = health_of(clock=clock), Metrics("1.2.3", lambda: (), clock)
        async with doors.opened(ANY_PORT, health, metrics) as where:
            with pytest.raises(doors.CannotListen, match="address already in use"):
                async with doors.opened(Listen(port=where.port), health, metrics):
                    raise AssertionError("two of them on one port")

    asyncio.run(visiting())
