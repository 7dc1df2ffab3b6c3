"""What became of a bind: every way a server can answer, and the ways it cannot."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from phalanx.model.events import Answer
from phalanx.wire.binding import Bound, Target, bind
from tests.wire.loopback import Script, never, pod, reset, run, status, talking

TARGET = Target("default", "a", "uid-a", "n1", {"rack": "r1"}, {"rank": "3"})
CONFLICT = status(409, "Conflict", 'pod a is already assigned to node "n1"')


def _bind(*answers: Any, **timeouts: float) -> tuple[Bound, Script]:
    script = Script(*answers)

    async def work() -> Bound:
        async with talking(script, **timeouts) as client:
            return await bind(client, TARGET)

    return run(work()), script


def test_a_bind_carries_the_uid_and_what_goes_onto_the_pod() -> None:
    bound, script = _bind((201, {"kind": "Status", "status": "Success"}))
    assert bound == Bound(Answer.BOUND)
    assert script.asked == [("POST", "/api/v1/namespaces/default/pods/a/binding")]
    assert script.bodies[0] == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": "uid-a",
            "labels": {"rack": "r1"},
            "annotations": {"rank": "3"},
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }


@pytest.mark.parametrize(
    ("as_it_is", "answer"),
    [
        (pod("a", node="n1"), Answer.HERE),
        (pod("a", node="n2"), Answer.CONFLICT),
        (pod("a", node="n1", uid="another"), Answer.CONFLICT),
        (pod("a"), Answer.CONFLICT),  # gated, or being deleted
        (status(404, "NotFound", "gone"), Answer.CONFLICT),
        (status(500, "InternalError", "etcd"), Answer.UNKNOWN),
        (status(403, "Forbidden", "may not read pods"), Answer.UNKNOWN),
        (reset, Answer.UNKNOWN),
    ],
)
def test_after_a_conflict_the_pod_itself_tells(as_it_is: Any, answer: Answer) -> None:
    bound, script = _bind(CONFLICT, as_it_is)
    assert bound.answer is answer
    assert [method for method, _ in script.asked] == ["POST", "GET"]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (status(404, "NotFound", "gone"), Answer.CONFLICT),
        (status(403, "Forbidden", "may not"), Answer.REFUSED),
        (status(403, "Forbidden", 'User "x" cannot create resource "pods/binding"'), Answer.UNKNOWN),
        (status(400, "BadRequest", "what"), Answer.REFUSED),
        (status(422, "Invalid", "no"), Answer.REFUSED),
        (status(500, "InternalError", "etcd timed out"), Answer.UNKNOWN),
        (status(503, "ServiceUnavailable", "starting"), Answer.UNKNOWN),
        (status(504, "Timeout", "not completed within the allotted timeout"), Answer.UNKNOWN),
        (status(429, "TooManyRequests", "busy"), Answer.UNKNOWN),
        (reset, Answer.UNKNOWN),
        ("no json", Answer.UNKNOWN),
    ],
)
def test_every_other_answer_is_read_for_what_it_is(said: Any, answer: Answer) -> None:
    bound, script = _bind(said)
    assert bound.answer is answer
    assert bound.message
    assert len(script.asked) == 1


def test_no_answer_in_time_is_unknown() -> None:
    bound, _ = _bind(never, request_seconds=0.05)
    assert bound.answer is Answer.UNKNOWN


def test_a_bind_may_have_less_time_than_other_requests() -> None:
    async def work() -> Bound:
        async with talking(Script(never), request_seconds=20) as client:
            return await bind(client, TARGET, seconds=0.05)

    assert run(work()).answer is Answer.UNKNOWN


def test_a_bind_done_late_is_unknown_at_first_and_here_when_asked_again() -> None:
    """The server binds after we stopped waiting. The second request meets the first one's success."""
    stopped_waiting = asyncio.Event()
    bound_to: list[str] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response(pod("a", node=bound_to[0]))
        if bound_to:
            return web.json_response(CONFLICT[1], status=409)
        bound_to.append("n1")
        await stopped_waiting.wait()
        raise AssertionError

    async def work() -> None:
        async with talking(handler, request_seconds=0.5) as client:
            assert (await bind(client, TARGET)).answer is Answer.UNKNOWN
            assert (await bind(client, TARGET)).answer is Answer.HERE

    run(work())


@pytest.mark.parametrize("target", [Target("default", "a", "", "n1"), Target("default", "a", "uid-a", "")])
def test_a_bind_without_uid_or_node_is_never_sent(target: Target) -> None:
    """Seen on 1.37: an empty node is answered with 500, which would read as UNKNOWN; without uid nothing is guarded."""

    async def work() -> None:
        async with talking(never) as client:
            with pytest.raises(ValueError, match="needs a uid and a node"):
                await bind(client, target)

    run(work())


def test_a_server_that_is_not_there_is_unknown_too() -> None:
    async def work() -> None:
        async with talking(never) as client:
            pass
        async with type(client)(client.access) as client:
            assert (await bind(client, TARGET)).answer is Answer.UNKNOWN

    run(work())
