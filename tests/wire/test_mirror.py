"""The mirror: whatever happens to the connection, what it holds is what the server has, and what it told adds up."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx.wire.mirror import Mirror, MirrorSettings, Problem
from phalanx.wire.resources import PODS, Resource
from phalanx.wire.shapes import Bytes, WirePod, decode_pod
from tests.wire.fakecluster import FakeCluster
from tests.wire.loopback import (
    Handler,
    Script,
    at_once,
    bookmark,
    event,
    listing,
    never,
    pod,
    reset,
    run,
    status,
    stream,
    talking,
    until,
)

Told = list[tuple[str, str | None, str | None]]  # name, version before, version after
BRISK = MirrorSettings(page_size=2, idle_seconds=5.0)
PAGED = MirrorSettings(page_size=2, idle_seconds=5.0, streaming=False)


class Watched:
    """A mirror, everything it told, and a second store made of what it told alone."""

    def __init__(self) -> None:
        self.told: Told = []
        self.problems: list[Problem] = []
        self.replayed: dict[tuple[str, str], WirePod] = {}
        self.mirror: Mirror[WirePod]

    def change(self, old: WirePod | None, new: WirePod | None) -> None:
        either = new or old
        assert either is not None
        key = either.metadata.key
        assert self.replayed.get(key) is old, "what was told before differs from what is told to have been"
        assert not (old and new and old.metadata.uid != new.metadata.uid), "one object became another"
        if new is None:
            del self.replayed[key]
        else:
            self.replayed[key] = new
        self.told.append((key[1], _version(old), _version(new)))

    def versions(self) -> dict[str, str]:
        return {name: each.metadata.resourceVersion for (_, name), each in self.mirror.store.items()}


def _version(what: WirePod | None) -> str | None:
    return what.metadata.resourceVersion if what else None


@asynccontextmanager
async def mirroring(
    handler: Handler, how: MirrorSettings = BRISK, decode: Callable[[Bytes, Resource], WirePod] = decode_pod
) -> AsyncIterator[Watched]:
    watched = Watched()
    async with talking(handler) as client:
        watched.mirror = Mirror(
            client,
            PODS,
            decode,
            watched.change,
            chance=random.Random(1),
            on_problem=watched.problems.append,
            settings=how,
            pause=at_once,
        )
        task = asyncio.create_task(watched.mirror.run())
        try:
            yield watched
            assert not task.done(), "a mirror runs until it is cancelled"
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def scripted(*answers: Any, how: MirrorSettings = BRISK, quiet: Callable[[Watched], bool]) -> tuple[Watched, Script]:
    """A mirror of a server that answers so, seen when ``quiet`` holds."""
    script = Script(*answers)

    async def work() -> Watched:
        async with mirroring(script, how) as watched:
            await until(lambda: quiet(watched))
            return watched

    return run(work()), script


def at(version: int) -> Callable[[Watched], bool]:
    return lambda watched: watched.mirror.resource_version == str(version)


# ---------------------------------------------------------------------------------------------------------- start


def test_a_streaming_start_is_one_request_and_complete_at_its_end() -> None:
    watched, script = scripted(
        stream(event("ADDED", pod("a", 3)), event("ADDED", pod("b", 2)), bookmark(5, end=True), then=never), quiet=at(5)
    )
    assert watched.versions() == {"a": "3", "b": "2"}
    assert watched.mirror.synced.is_set()
    assert len(script.asked) == 1


@pytest.mark.parametrize("code", [400, 422])
def test_a_server_that_refuses_streaming_is_asked_for_pages(code: int) -> None:
    watched, script = scripted(
        status(code, "Invalid", "sendInitialEvents is forbidden"),
        listing(pod("a", 1), pod("b", 2), version=5, token="t"),
        listing(pod("c", 4), version=5),
        stream(event("MODIFIED", pod("a", 6)), then=never),
        quiet=at(6),
    )
    assert watched.versions() == {"a": "6", "b": "2", "c": "4"}
    assert "resourceVersion=5" in script.asked[3][1]


def test_a_server_that_never_ends_its_start_is_asked_for_pages() -> None:
    impatient = MirrorSettings(idle_seconds=0.5)
    watched, _ = scripted(
        stream(event("ADDED", pod("a", 3)), then=never),
        listing(pod("a", 3), version=5),
        stream(bookmark(6), then=never),
        how=impatient,
        quiet=at(6),
    )
    assert watched.told == [("a", None, "3")]


def test_a_server_whose_bookmarks_mark_no_end_is_asked_for_pages() -> None:
    watched, script = scripted(
        stream(event("ADDED", pod("a", 3)), bookmark(4), then=never),
        listing(pod("a", 3), version=5),
        stream(then=never),
        quiet=at(5),
    )
    assert watched.versions() == {"a": "3"}
    assert "watch" not in script.asked[1][1]


def test_a_list_that_expires_between_two_pages_is_begun_again() -> None:
    watched, _ = scripted(
        listing(pod("a", 1), pod("b", 2), version=5, token="t"),
        status(410, "Expired", "too old"),
        listing(pod("b", 7), version=8),
        stream(then=never),
        how=PAGED,
        quiet=at(8),
    )
    assert watched.versions() == {"b": "7"}
    assert watched.told == [("a", None, "1"), ("b", None, "2"), ("b", "2", "7"), ("a", "1", None)]


def test_nothing_counts_as_synced_before_all_of_it_is_there() -> None:
    watched, _ = scripted(
        stream(event("ADDED", pod("a", 3)), then=never), quiet=lambda watched: ("default", "a") in watched.mirror.store
    )
    assert not watched.mirror.synced.is_set()


def test_a_change_told_during_the_start_counts_and_a_deletion_too() -> None:
    watched, _ = scripted(
        stream(
            event("ADDED", pod("a", 3)),
            event("ADDED", pod("b", 4)),
            event("MODIFIED", pod("a", 8)),
            event("DELETED", pod("b", 9)),
            event("ADDED", pod("a", 3)),  # late
            bookmark(9, end=True),
            then=never,
        ),
        quiet=at(9),
    )
    assert watched.versions() == {"a": "8"}


# --------------------------------------------------------------------------------------------------------- events

START = (event("ADDED", pod("a", 3)), bookmark(5, end=True))


def test_seen_changed_and_gone_are_told_in_order() -> None:
    watched, _ = scripted(
        stream(
            *START,
            event("ADDED", pod("b", 6)),
            event("MODIFIED", pod("a", 7)),
            event("DELETED", pod("a", 8)),
            then=never,
        ),
        quiet=at(8),
    )
    assert watched.told == [("a", None, "3"), ("b", None, "6"), ("a", "3", "7"), ("a", "7", None)]


def test_a_pod_made_anew_under_its_name_is_gone_then_seen() -> None:
    watched, _ = scripted(stream(*START, event("MODIFIED", pod("a", 9, uid="new")), then=never), quiet=at(9))
    assert watched.told == [("a", None, "3"), ("a", "3", None), ("a", None, "9")]


def test_what_was_told_already_is_not_told_again() -> None:
    again = event("MODIFIED", pod("a", 7))
    watched, _ = scripted(
        stream(
            *START,
            again,
            again,
            event("ADDED", pod("b", 8)),
            again,
            event("DELETED", pod("a", 6)),
            bookmark(9),
            then=never,
        ),
        quiet=at(9),
    )
    assert watched.told == [("a", None, "3"), ("a", "3", "7"), ("b", None, "8")]
    assert watched.mirror.counts.stale == 3


def test_a_deleted_pod_does_not_come_back_with_a_late_event() -> None:
    watched, _ = scripted(
        stream(*START, event("DELETED", pod("a", 8)), event("MODIFIED", pod("a", 7)), bookmark(9), then=never),
        quiet=at(9),
    )
    assert watched.versions() == {}


def test_pods_that_go_in_one_write_share_a_version_and_all_go() -> None:
    watched, _ = scripted(
        stream(
            event("ADDED", pod("a", 3)),
            event("ADDED", pod("b", 4)),
            bookmark(5, end=True),
            event("DELETED", pod("a", 6)),
            event("DELETED", pod("b", 6)),
            bookmark(7),
            then=never,
        ),
        quiet=at(7),
    )
    assert watched.versions() == {}


def test_one_object_that_cannot_be_read_stops_nothing() -> None:
    broken = pod("b", 6) | {"spec": 7}
    watched, _ = scripted(stream(*START, event("ADDED", broken), event("ADDED", pod("c", 7)), then=never), quiet=at(7))
    assert watched.versions() == {"a": "3", "c": "7"}
    (problem,) = watched.problems
    assert problem.key == ("default", "b")
    assert "cannot be read" in problem.message


def test_one_that_cannot_be_read_is_told_of_once_and_counted_until_it_can_or_is_gone() -> None:
    def broken(name: str, version: int) -> dict[str, Any]:
        return pod(name, version) | {"status": {"conditions": "none"}}

    odd = pod("c", 9)
    odd["metadata"]["labels"] = {"a": 5}  # who it is can be read all the same
    watched, _ = scripted(
        stream(
            *START, event("ADDED", broken("b", 6)), event("MODIFIED", broken("b", 7)), event("ADDED", broken("d", 8)),
            event("ADDED", odd), event("DELETED", odd | {"spec": 7}), event("MODIFIED", pod("b", 11)),
            event("DELETED", broken("d", 12)), bookmark(13), then=never,
        ),
        quiet=at(13),
    )  # fmt: skip
    assert watched.versions() == {"a": "3", "b": "11"}
    assert [problem.key for problem in watched.problems] == [("default", "b"), ("default", "d"), ("default", "c")]
    assert watched.mirror.unread == {}
    assert watched.mirror.counts.relists == 0


def test_what_was_known_of_an_object_stays_when_it_can_no_longer_be_read() -> None:
    broken = pod("a", 6) | {"spec": 7}
    watched, _ = scripted(
        stream(*START, then=reset),
        status(410, "Gone", "too old"),
        stream(event("ADDED", broken), bookmark(7, end=True), then=never),
        quiet=at(7),
    )
    assert watched.versions() == {"a": "3"}


def test_what_on_change_raises_ends_the_mirror() -> None:
    async def work() -> None:
        async with talking(stream(*START, then=never)) as client:

            def wrong(old: WirePod | None, new: WirePod | None) -> None:
                raise ZeroDivisionError

            mirror = Mirror(client, PODS, decode_pod, wrong, chance=random.Random(1), settings=BRISK, pause=at_once)
            with pytest.raises(ZeroDivisionError):
                await mirror.run()

    run(work())


# --------------------------------------------------------------------------------------------------------- faults


def test_a_watch_cut_in_a_line_goes_on_after_the_last_whole_one() -> None:
    watched, script = scripted(
        stream(*START, event("ADDED", pod("b", 6)), event("ADDED", pod("c", 7))[:-9], then=reset),
        stream(event("ADDED", pod("c", 7)), then=never),
        quiet=at(7),
    )
    assert watched.told == [("a", None, "3"), ("b", None, "6"), ("c", None, "7")]
    assert "resourceVersion=6" in script.asked[1][1]
    assert watched.mirror.counts.relists == 0


def test_bookmarks_move_the_place_to_go_on_from() -> None:
    watched, script = scripted(stream(*START, bookmark(90), then=reset), stream(bookmark(91), then=never), quiet=at(91))
    assert "resourceVersion=90" in script.asked[1][1]
    assert watched.mirror.counts.bookmarks == 3


def test_silence_is_a_failure() -> None:
    watched, script = scripted(
        stream(*START, then=never), stream(bookmark(6), then=never), how=MirrorSettings(idle_seconds=0.5), quiet=at(6)
    )
    assert "silent" in watched.problems[0].message
    assert "resourceVersion=5" in script.asked[1][1]


@pytest.mark.parametrize(
    "expired",
    [
        stream(event("ERROR", status(410, "Expired", "too old resource version")[1])),
        status(410, "Gone", "too old resource version"),
        stream(event("ERROR", status(500, "InternalError", "lost")[1])),
        stream(b"{]\n"),
        stream(b'{"type":"DELETED","object":{"metadata":7}}\n'),
    ],
    ids=["410 event", "410 answer", "other error event", "not JSON", "no metadata"],
)
@pytest.mark.parametrize("how", [BRISK, PAGED], ids=["streaming", "paged"])
def test_after_410_everything_comes_again_and_what_vanished_is_told(expired: Any, how: MirrorSettings) -> None:
    first = [pod("a", 3), pod("b", 4), pod("c", 5)]
    second = [pod("b", 4), pod("c", 8), pod("d", 9)]
    watched, _ = scripted(*_begin(first, 6, how), expired, *_begin(second, 10, how), how=how, quiet=at(10))
    assert watched.told[3:] == [("c", "5", "8"), ("d", None, "9"), ("a", "3", None)]
    assert watched.mirror.counts.relists == 1


def _begin(pods: list[dict[str, Any]], version: int, how: MirrorSettings) -> list[Any]:
    if how.streaming:
        return [stream(*(event("ADDED", each) for each in pods), bookmark(version, end=True))]
    return [listing(*pods, version=version), stream()]


def test_a_store_that_was_set_back_is_read_anew() -> None:
    """After a restore from a backup versions start lower. To a mirror that only looks forward all would be stale."""
    watched, _ = scripted(
        stream(*START, bookmark(100), bookmark(50), then=never),
        stream(event("ADDED", pod("a", 2)), bookmark(51, end=True), then=never),
        quiet=at(51),
    )
    assert watched.told == [("a", None, "3"), ("a", "3", "2")]


def test_a_server_that_is_silent_twice_is_asked_for_everything() -> None:
    """Seen on 1.37: a watch from a version that is yet to come is accepted and says nothing, not even bookmarks."""
    watched, script = scripted(
        stream(*START, then=never),
        stream(then=never),
        stream(event("ADDED", pod("a", 2)), bookmark(4, end=True), then=never),
        how=MirrorSettings(idle_seconds=0.5),
        quiet=at(4),
    )
    assert watched.told == [("a", None, "3"), ("a", "3", "2")]
    assert "resourceVersion=5" in script.asked[1][1]
    assert "sendInitialEvents" in script.asked[2][1]


def test_waits_grow_until_something_is_heard() -> None:
    waits: list[float] = []
    said: list[str] = []

    async def work() -> None:
        async def pause(seconds: float) -> None:
            waits.append(seconds)
            said.append(mirror.problem)
            await asyncio.sleep(0)

        script = Script(
            *[status(403, "Forbidden", "no")] * 4, stream(*START, event("ADDED", pod("b", 6))), stream(then=never)
        )
        async with talking(script) as client:
            mirror = Mirror(client, PODS, decode_pod, lambda old, new: None, chance=random.Random(1), pause=pause)
            task = asyncio.create_task(mirror.run())
            await until(lambda: len(waits) == 5)
            task.cancel()

    run(work())
    assert ["403" in one for one in said] == [True, True, True, True, False]
    assert said[4] == ""
    assert waits == sorted(waits[:4]) + [waits[4]]
    assert waits[3] > 4 * waits[0]
    assert waits[4] <= 0.1


def test_a_server_that_says_410_for_ever_is_asked_ever_more_slowly() -> None:
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    async def work() -> None:
        script = Script(stream(*START, event("ERROR", status(410, "Expired", "too old")[1])))
        async with talking(script) as client:
            mirror = Mirror(client, PODS, decode_pod, lambda old, new: None, chance=random.Random(1), pause=pause)
            task = asyncio.create_task(mirror.run())
            await until(lambda: len(waits) >= 12)
            task.cancel()

    run(work())
    assert waits[11] >= 15


# ------------------------------------------------------------------------------------------------------- property

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
STEPS = st.one_of(
    st.tuples(st.sampled_from(["create", "create", "touch", "delete", "again"]), NAMES),
    st.tuples(st.sampled_from(["cut", "half", "forget", "bookmark", "catch up", "let run"]), st.just("")),
    st.tuples(st.just("repeat"), st.integers(1, 4)),
)


def _do(cluster: FakeCluster, step: str, what: Any) -> None:
    if step == "again":
        cluster.delete(what)
        cluster.create(what)
    elif step == "half":
        cluster.cut(event("ADDED", pod("a", cluster.version))[:-15])
    elif step in ("cut", "forget", "bookmark"):
        getattr(cluster, step)()
    else:
        getattr(cluster, step)(what)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(STEPS, max_size=25),
    streaming=st.booleans(),
    as_event=st.booleans(),
    wants_streaming=st.booleans(),
)
def test_once_quiet_the_mirror_is_the_server(
    steps: list[tuple[str, Any]], streaming: bool, as_event: bool, wants_streaming: bool
) -> None:
    async def work() -> None:
        cluster = FakeCluster(streaming=streaming, expired_as_event=as_event)
        async with mirroring(cluster, BRISK if wants_streaming else PAGED) as watched:
            for step, what in steps:
                if step == "let run":
                    await asyncio.sleep(0)
                elif step == "catch up":
                    await _caught_up(cluster, watched)
                else:
                    _do(cluster, step, what)
            await _caught_up(cluster, watched)
            assert watched.versions() == {
                name: each["metadata"]["resourceVersion"] for name, each in cluster.pods.items()
            }
            assert watched.replayed == watched.mirror.store
            assert watched.mirror.synced.is_set()

    run(work())


async def _caught_up(cluster: FakeCluster, watched: Watched) -> None:
    """A bookmark at the latest version, again for watches that open meanwhile."""

    def heard() -> bool:
        cluster.bookmark()
        return watched.mirror.resource_version == str(cluster.version)

    await until(heard)


# ------------------------------------------------------------------------------------- until when all was heard

SHORT = MirrorSettings(resumed_seconds=5)


class Timed:
    """A mirror of short watches on a clock that only its server moves: ``takes`` seconds for each answer.

    ``known``: until when all was heard, each time it asks again; ``pauses``: how often it waited before it did.
    """

    def __init__(self, *answers: Any, how: MirrorSettings = SHORT) -> None:
        self.now, self.pauses = 1000.0, 0
        self.known: list[float] = []
        self.queries: list[str] = []
        self.problems: list[str] = []
        self._answers = answers
        run(self._work(how))

    async def _answer(self, request: Any) -> Any:
        self.known.append(self.mirror.heard_until)
        self.queries.append(request.path_qs)
        if len(self.queries) > len(self._answers):
            return await never(request)
        takes, answer = self._answers[len(self.queries) - 1]
        self.now += takes
        return await (answer(request) if callable(answer) else Script(answer)(request))

    async def _pause(self, seconds: float) -> None:
        self.pauses += 1
        await asyncio.sleep(0)

    async def _work(self, how: MirrorSettings) -> None:
        async with talking(self._answer) as client:
            self.mirror = Mirror(
                client, PODS, decode_pod, lambda old, new: None, chance=random.Random(1), settings=how,
                on_problem=lambda problem: self.problems.append(problem.message),
                pause=self._pause, clock=lambda: self.now,
            )  # fmt: skip
            task = asyncio.create_task(self.mirror.run())
            await until(lambda: len(self.queries) > len(self._answers))
            self.known.append(self.mirror.heard_until)
            task.cancel()


def test_a_short_watch_that_the_server_ended_was_heard_to_its_end_and_goes_on_at_once() -> None:
    timed = Timed((3, stream(*START, then=never)), (5, stream()), (5, stream()))
    assert timed.known[1:] == [1000, 1008, 1013, 1013]  # of what there was at first: as it was asked for
    assert timed.pauses == 0
    assert ["timeoutSeconds=5&" in f"{one}&" for one in timed.queries] == [False, True, True, True]
    assert timed.mirror.counts.restarts == 0


def test_what_is_heard_is_known_at_once_and_never_for_longer_than_the_watch_was_to_last() -> None:
    """Words that waited while the process was stopped are old; nobody knows what else has happened since."""
    timed = Timed((0, stream(*START, then=never)), (2, stream(event("ADDED", pod("b", 6)), then=reset)),
                  (600, stream(event("ADDED", pod("c", 7)))))  # fmt: skip
    assert timed.known[1:4] == [1000, 1002, 1007]


def test_a_server_that_hangs_or_breaks_off_tells_nothing_of_what_happened() -> None:
    timed = Timed((0, stream(*START, then=never)), (300, stream(then=never)), (1, reset), (1, status(503)),
                  how=MirrorSettings(idle_seconds=0.5, resumed_seconds=5))  # fmt: skip
    assert set(timed.known[1:]) == {1000}
    assert timed.pauses == 3


def test_while_everything_is_read_anew_nothing_is_known_of_what_happened_meanwhile() -> None:
    gone = stream(event("ERROR", status(410, "Expired", "too old resource version")[1]))
    timed = Timed((0, stream(*START, then=never)), (1, gone), (60, stream(*START, then=never)), (5, stream()))
    assert timed.known[1:] == [1000, 1000, 1001, 1066, 1066]


def test_a_server_that_ends_short_watches_and_never_says_a_word_is_asked_for_everything() -> None:
    """A store that was set back: the version we name is yet to come."""
    timed = Timed((0, stream(*START, then=never)), *[(100, stream())] * 3)
    assert ["sendInitialEvents" in one for one in timed.queries] == [True, False, False, False, True]
