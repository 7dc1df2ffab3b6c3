"""The scheduler put together: how it begins and ends, and what it believes when two tell of the same thing."""

import asyncio
import gc
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import msgspec
import pytest

from phalanx.decider import Outcome
from phalanx.kube import scheduler as room
from phalanx.kube.configuration import Configuration
from phalanx.kube.metrics import Metrics
from phalanx.kube.pulse import Pulse
from phalanx.kube.scheduler import Scheduler
from phalanx.kube.watching import Watching
from phalanx.model.mistakes import Mishap
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import PodKey
from phalanx.wire import shapes
from phalanx.wire.backoff import Pace
from phalanx.wire.client import Client
from phalanx.wire.errors import Refused
from phalanx.wire.mirror import Mirror
from phalanx.wire.resources import NODES, PODS
from tests.dialects.following.living import job, node, pod
from tests.kube_room.kinds import SERVED

Doc = dict[str, Any]


class InStep:
    """A mirror that misses nothing, of nothing."""

    store: ClassVar[dict[Any, Any]] = {}

    @property
    def heard_until(self) -> float:
        return time.monotonic()

    async def run(self) -> None:
        await asyncio.Event().wait()


@dataclass
class Late:
    heard_until: float


class Watched:
    """What is watched, as told: it comes in, dies, or neither."""

    def __init__(self) -> None:
        self.came, self.died = asyncio.Event(), asyncio.Event()
        self.stopped = False
        self.mirrors: dict[Any, Any] = {one: InStep() for one in (NODES, PODS)}
        self.served: Any = None

    async def start(self) -> None:
        await self.came.wait()

    async def failed(self) -> None:
        await self.died.wait()
        raise ValueError("the picture is wrong")

    async def keep_up(self) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        self.stopped = True


class Room:
    """A scheduler whose problems and beats are kept. ``server``: whom it writes to."""

    def __init__(self, server: object = None) -> None:
        self.problems: list[str] = []
        self.heard: list[str] = []
        self.beats = 0
        self.tripped: list[tuple[str, str]] = []
        self.stop_when_tripped: asyncio.Event | None = None
        self.scheduler = Scheduler(
            cast("Client", server),
            Configuration(),
            Metrics("1", lambda: (), time.monotonic),
            stepped=lambda outcome: self.heard.append("stepped"),
            problem=self.problems.append,
            beat=self.beat,
            following=lambda: self.heard.append("following"),
            mistake=self.trip,
        )
        self.now = time.time()

    def beat(self) -> None:
        self.beats += 1

    def trip(self, about: str, mishap: Mishap) -> None:
        self.tripped.append((about, mishap.line))
        if self.stop_when_tripped is not None:
            self.stop_when_tripped.set()

    def watched(self) -> Watched:
        one = Watched()
        self.scheduler.watching = cast("Watching", one)
        self.scheduler.pulse = cast("Pulse", InStep())
        return one

    def tell(self, *told: Doc | ObjectKey) -> None:
        """One step about these: objects as they are now, and the names of those that went."""
        for one in told:
            if isinstance(one, ObjectKey):
                self.scheduler._changed(one, None)
            else:
                self.scheduler._changed(key_of(one), lambda one=one: one)
        self.step()

    def step(self) -> None:
        loop = self.scheduler.loop
        changes, loop._changes = loop._changes, {}
        self.now += 2
        self.scheduler._done(self.scheduler.decider.step(changes.items(), [], self.now, 0.0))

    def written(self) -> set[Any]:
        """The objects whose status is to be written, which then it is not."""
        lanes = list(self.scheduler.reporter._lanes.values())[::2]
        return {key for lane in lanes for key in iter(lambda lane=lane: lane.pop(float("inf")), None)}


def key_of(doc: Doc) -> ObjectKey:
    group = doc["apiVersion"].rpartition("/")[0]
    return ObjectKey(group, doc["kind"], doc["metadata"].get("namespace", "default"), doc["metadata"]["name"])


def gang(name: str, count: int, uid: str = "uid-gang") -> Doc:
    metadata = {"name": name, "namespace": "default", "uid": uid, "creationTimestamp": "2026-11-16T08:00:00Z"}
    spec = {"podGroups": [{"name": "main", "count": count}]}
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": metadata, "spec": spec}


def running(name: str, of: str) -> Doc:
    one = pod(name, labels={"phalanx.dev/gang": of})
    one["spec"]["nodeName"] = "n1"
    one["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return one


def in_loop(work: Callable[[], Any]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(run())


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """A scheduler tells the garbage collector of its process what to do; other tests have that process too."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
    gc.enable()


# -- the beginning -----------------------------------------------------------------------------------------------


def test_it_follows_once_the_first_picture_was_thought_about() -> None:
    async def run() -> None:
        one = Room()
        one.tell(node("n1"))
        one.tell(node("n2"))
        assert one.heard == ["stepped", "following", "stepped"]

    in_loop(run)


def test_who_is_told_to_end_before_the_first_picture_is_in_ends() -> None:
    async def run() -> None:
        one, stop = Room(), asyncio.Event()
        watched = one.watched()
        stop.set()
        await one.scheduler.run(stop)
        assert watched.stopped

    in_loop(run)


def test_a_mirror_that_dies_before_the_first_picture_is_in_is_noticed() -> None:
    async def run() -> None:
        one = Room()
        watched = one.watched()
        watched.died.set()
        with pytest.raises(ValueError, match="the picture is wrong"):
            await one.scheduler.run(asyncio.Event())
        assert watched.stopped

    in_loop(run)


def test_it_is_alive_while_the_first_picture_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BEAT_SECONDS", 0.0)

    async def run() -> None:
        one, stop = Room(), asyncio.Event()
        one.watched()
        task = asyncio.create_task(one.scheduler.run(stop))
        while one.beats < 3:
            await asyncio.sleep(0)
        stop.set()
        await task

    in_loop(run)


def test_time_in_which_pods_or_nodes_are_not_heard_is_counted_and_nothing_is_decided_in_it() -> None:
    async def run() -> None:
        one = Room()
        watched = one.watched()
        pods = watched.mirrors[PODS] = Late(time.monotonic() - 100.0)
        now = time.time()
        assert one.scheduler._heard(now).is_deaf
        pods.heard_until = time.monotonic()
        assert one.scheduler._heard(now).unheard == pytest.approx(100.0, abs=5.0)
        assert "phalanx_unheard_seconds_total 1" in one.scheduler._metrics.text().decode()

    in_loop(run)


# -- the end -----------------------------------------------------------------------------------------------------


class Hung:
    """Answers nothing."""

    async def create(self, *_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    get = patch = patch_status = create


def test_what_does_not_end_in_time_is_named_and_the_rest_is_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "DRAIN_SECONDS", 0.01)

    async def run() -> None:
        one, stop = Room(Hung()), asyncio.Event()
        watched, drained = one.watched(), list[float]()
        watched.came.set()

        async def drain(until: float) -> None:
            drained.append(until)
            await asyncio.Event().wait()

        one.scheduler.reporter.drain = drain  # type: ignore[method-assign]
        for doc in (node("n1"), pod("a")):
            one.scheduler._changed(key_of(doc), lambda doc=doc: doc)  # type: ignore[misc]
        task = asyncio.create_task(one.scheduler.run(stop))
        while not one.scheduler.writer.under_way:
            await asyncio.sleep(0)
        stop.set()
        await task
        assert one.problems == ["ended before all was answered: 1 Bind"]
        assert len(drained) == 1

    in_loop(run)


def test_an_effect_that_nobody_thought_of_is_told_and_ends_nothing() -> None:
    class Broken:
        async def create(self, *_: Any, subresource: str = "", **__: Any) -> None:
            if subresource == "binding":
                raise ValueError("we are wrong")

    async def run() -> None:
        one, stop = Room(Broken()), asyncio.Event()
        one.stop_when_tripped = stop
        one.watched().came.set()
        for doc in (node("n1"), pod("a")):
            one.scheduler._changed(key_of(doc), lambda doc=doc: doc)  # type: ignore[misc]
        await one.scheduler.run(stop)
        assert one.tripped == [("Bind of gang default/a", "ValueError: we are wrong")]

    in_loop(run)


@pytest.mark.parametrize("count", [0, 2], ids=["refused", "waits"])
def test_what_is_said_of_a_gang_that_was_deleted_during_the_step_is_not_kept(count: int) -> None:
    async def run() -> None:
        one = Room()
        one.watched()
        doc = gang("g", count)
        one.scheduler._changed(key_of(doc), lambda: doc)
        changes, one.scheduler.loop._changes = one.scheduler.loop._changes, {}
        outcome = one.scheduler.decider.step(changes.items(), [], one.now, 0.0)
        one.scheduler._changed(key_of(doc), None)
        one.scheduler._done(outcome)
        assert one.scheduler.reporter._ledger.entries == {} and one.written() == set()
        one.step()
        again = gang("g", count, uid="second")
        one.tell(again)
        assert [entry.uid for entry in one.scheduler.reporter._ledger.entries.values()] == ["second"]
        assert one.written() == {key_of(doc)}

    in_loop(run)


def test_a_step_that_fails_is_thought_anew_and_what_went_meanwhile_is_not_spoken_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("phalanx.kube.anew.PACE", Pace(first_seconds=0.001, most_seconds=0.001))

    class Quiet:
        async def create(self, *_: Any, **__: Any) -> None: ...

        async def get(self, *_: Any, **__: Any) -> Doc:
            raise Refused(404)

    async def run() -> None:
        one, stop = Room(Quiet()), asyncio.Event()
        watched = one.watched()
        watched.came.set()
        watched.served = SERVED
        docs = {key_of(doc): doc for doc in (node("n1"), gang("left", 9), gang("stays", 9))}
        watched.everything = lambda: [(key, lambda doc=doc: doc) for key, doc in docs.items()]  # type: ignore[attr-defined]
        for key, doc in docs.items():
            one.scheduler._changed(key, lambda doc=doc: doc)
        stepped = one.scheduler._stepped

        def after(outcome: Outcome) -> None:
            stepped(outcome)
            if outcome.is_anew:
                stop.set()
                return
            assert set(one.scheduler._subjects) == {"default/left", "default/stays"}
            docs.pop(key_of(gang("left", 9)))
            one.scheduler.decider.engine.book.strangers.notices = lambda *_: {}["planted"]  # type: ignore[method-assign]
            one.scheduler._changed(key_of(gang("left", 9)), None)

        one.scheduler._stepped = after
        await one.scheduler.run(stop)
        assert set(one.scheduler._subjects) == {"default/stays"}
        assert one.tripped == [("a step", "KeyError: 'planted'")]
        assert any("all is thought anew" in line for line in one.problems)
        assert b"phalanx_begun_anew_total 1.0" in one.scheduler._metrics.text()

    in_loop(run)


# -- two that tell of one pod ------------------------------------------------------------------------------------

A = PodKey("default", "a", "uid-a")


def mirrored(one: Room) -> Mirror[Any]:
    watching = one.scheduler.watching
    mirror = Mirror(
        cast("Client", None), PODS, shapes.decode_pod, watching._teller(PODS), chance=random.Random(1)
    )  # fmt: skip
    mirror.resource_version = "1"
    watching.mirrors[PODS] = mirror  # type: ignore[assignment]
    return mirror


def at(version: int, node: str = "") -> Doc:
    one = pod("a", resourceVersion=str(version))
    if node:
        one["spec"]["nodeName"] = node
    return one


def hear(mirror: Mirror[Any], kind: str, doc: Doc) -> None:
    mirror._take(shapes.WatchEvent(kind, msgspec.Raw(msgspec.json.encode(doc))))


def nodes_of_pods(one: Room) -> dict[str, str]:
    return {key.name: held.node for key, held in one.scheduler.decider.engine.book._pods.items()}


def test_a_pod_that_is_seen_to_be_gone_does_not_come_back_by_an_answer_that_is_older() -> None:
    async def run() -> None:
        one = Room()
        mirror = mirrored(one)
        hear(mirror, "ADDED", at(10, "n1"))
        one.tell(node("n1"))
        assert nodes_of_pods(one) == {"a": "n1"}
        hear(mirror, "DELETED", at(11, "n1"))
        one.scheduler._read(A, at(10, "n1"))
        one.step()
        assert nodes_of_pods(one) == {}

    in_loop(run)


def test_a_pod_is_as_the_newest_word_of_it_says_whoever_said_it() -> None:
    async def run() -> None:
        one = Room()
        one.scheduler.writer.carry_out = lambda effects: None  # type: ignore[method-assign]
        mirror = mirrored(one)
        hear(mirror, "ADDED", at(10))
        one.scheduler._read(A, at(12, "n1"))
        one.tell(node("n1"))
        assert nodes_of_pods(one) == {"a": "n1"}
        hear(mirror, "MODIFIED", at(13, "n1"))
        one.step()
        one.scheduler._read(A, at(10))
        assert one.scheduler.loop._changes == {}

    in_loop(run)


# -- objects that follow one another -----------------------------------------------------------------------------

GANG = ObjectKey("phalanx.dev", "Gang", "default", "t")


def test_a_gang_deleted_and_made_anew_between_two_steps_is_told_how_it_is() -> None:
    async def run() -> None:
        one = Room()
        one.tell(node("n1"), gang("t", 2), running("a", "t"), running("b", "t"))
        one.step()
        assert one.written() == {GANG}
        one.tell(GANG, gang("t", 2, uid="uid-new"))
        assert one.written() == {GANG}
        assert one.scheduler.reporter._ledger.entries[GANG].uid == "uid-new"

    in_loop(run)


def test_nor_is_it_taken_for_the_old_one_by_a_step_that_was_under_way() -> None:
    async def run() -> None:
        one = Room()
        one.tell(node("n1"), gang("t", 2), running("a", "t"), running("b", "t"))
        one.step()
        one.scheduler._changed(GANG, None)
        one.scheduler._changed(GANG, lambda: gang("t", 2, uid="uid-new"))
        one.scheduler.reporter.see(one.scheduler.reporter._ledger.views["default/t"])
        one.written()
        one.step()
        assert one.written() == {GANG}
        assert one.scheduler.reporter._ledger.entries[GANG].uid == "uid-new"

    in_loop(run)


def test_a_name_that_passes_from_one_object_to_another_in_one_step_is_the_new_ones() -> None:
    async def run() -> None:
        one = Room()
        one.scheduler.writer.carry_out = lambda effects: None  # type: ignore[method-assign]
        one.tell(node("n1"), job("t", 2))
        one.tell(ObjectKey("batch", "Job", "default", "t"), gang("t", 2), pod("a", labels={"phalanx.dev/gang": "t"}))
        assert one.scheduler._subjects["default/t"].key == GANG
        one.tell(GANG)
        assert one.scheduler._subjects == {}

    in_loop(run)
