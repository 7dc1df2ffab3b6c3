"""One run: gangs are created, and it is noted when each pod got its node."""

import asyncio
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.kube import objects
from bench.kube.contestants import Contestant, Used
from bench.kube.objects import Object
from phalanx.wire import shapes
from phalanx.wire.client import Client
from phalanx.wire.errors import Refused
from phalanx.wire.mirror import Mirror
from phalanx.wire.resources import NODES, PODS, Resource
from phalanx.wire.shapes import WirePod

LONGEST_SECONDS = 300.0
TOGETHER = 200  # requests handed to the client at once; it keeps fewer under way


@dataclass(slots=True)
class Watcher:
    """When each pod was seen to have a node, on the clock of this process."""

    bound: dict[str, float] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, old: WirePod | None, new: WirePod | None) -> None:
        if new is not None and new.nodeName and new.metadata.name not in self.bound:
            self.bound[new.metadata.name] = time.monotonic()
            self.changed.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(LONGEST_SECONDS):
            while len(self.bound) < count:
                self.changed.clear()
                await self.changed.wait()


@dataclass(frozen=True, slots=True)
class Result:
    """``rate``: pods bound per second, from the first to the last. ``latencies``: of gangs, from the creation of the
    last pod to the last bind."""

    rate: float
    latencies: tuple[float, ...]
    used: Used


async def fill(client: Client, resource: Resource, docs: Iterable[Object]) -> None:
    """Creates objects as fast as the server takes them."""
    listed = list(docs)
    for start in range(0, len(listed), TOGETHER):
        await asyncio.gather(*(client.create(resource, doc) for doc in listed[start : start + TOGETHER]))


async def nodes(client: Client, count: int, rack: int) -> None:
    made = [objects.node(i, rack) for i in range(count)]
    await fill(client, NODES, made)
    for start in range(0, count, TOGETHER):
        some = made[start : start + TOGETHER]
        await asyncio.gather(
            *(client.patch_status(NODES, one["metadata"]["name"], {"status": one["status"]}) for one in some)
        )


async def waiting(client: Client, one: Contestant, gangs: int, pods: int, rack: bool) -> Result:
    """All gangs are there when the scheduler starts: how fast it works through them."""
    names = [f"{one.name}-{i}" for i in range(gangs)]
    await fill(client, objects.POD_GROUPS, (objects.group(name, pods, rack) for name in names))
    await fill(client, PODS, (objects.pod(name, i, one.scheduler) for name in names for i in range(pods)))
    async with watched(client) as watcher:
        await asyncio.to_thread(one.start)
        await watcher.until(gangs * pods)
        used = one.used()
        one.stop()
    times = sorted(watcher.bound.values())
    await clear(client, names)
    return Result((len(times) - 1) / (times[-1] - times[0]), (), used)


async def arriving(client: Client, one: Contestant, gangs: int, pods: int, rack: bool) -> Result:
    """The scheduler runs and the gangs arrive as fast as they can be created: how long each of them takes."""
    names = [f"{one.name}-{i}" for i in range(gangs)]
    await asyncio.to_thread(one.start)
    before = one.used()
    async with watched(client) as watcher:
        began = time.monotonic()
        made = [await _gang(client, one, name, pods, rack) for name in names]
        await watcher.until(gangs * pods)
        used = one.used()
        one.stop()
    lasts = {name: max(watcher.bound[f"{name}-{i}"] for i in range(pods)) for name in names}
    took = tuple(lasts[name] - created for name, created in zip(names, made, strict=True))
    await clear(client, names)
    spent = Used(used.cpu_seconds - before.cpu_seconds, used.memory_mib)
    return Result(gangs * pods / (max(lasts.values()) - began), took, spent)


async def _gang(client: Client, one: Contestant, name: str, pods: int, rack: bool) -> float:
    """Creates one gang; when its last pod was there."""
    await client.create(objects.POD_GROUPS, objects.group(name, pods, rack))
    await asyncio.gather(*(client.create(PODS, objects.pod(name, i, one.scheduler)) for i in range(pods)))
    return time.monotonic()


class watched:  # noqa: N801 - reads as a word: async with watched(client) as watcher
    """A Watcher that follows all pods for as long as the block runs."""

    def __init__(self, client: Client) -> None:
        self._watcher = Watcher()
        self._mirror = Mirror(client, PODS, shapes.decode_pod, self._watcher.see, chance=random.Random(1))

    async def __aenter__(self) -> Watcher:
        self._task = asyncio.create_task(self._mirror.run())
        await self._mirror.synced.wait()
        return self._watcher

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def clear(client: Client, names: Iterable[str]) -> None:
    """Takes gangs and their pods away again."""
    groups = set(names)
    listed = await client.list(PODS, objects.NAMESPACE)
    gone = [one["metadata"]["name"] for one in listed.items if one["metadata"]["labels"].get("bench") in groups]
    for start in range(0, len(gone), TOGETHER):
        some = gone[start : start + TOGETHER]
        await asyncio.gather(*(client.delete(PODS, name, objects.NAMESPACE, grace_seconds=0) for name in some))
    await asyncio.gather(*(_without(client, name) for name in groups))


async def _without(client: Client, name: str) -> None:
    try:
        await client.delete(objects.POD_GROUPS, name, objects.NAMESPACE)
        held = await client.get(objects.POD_GROUPS, name, objects.NAMESPACE)
        if held["metadata"].get("finalizers"):  # no controller runs here that would take them off
            await client.patch(objects.POD_GROUPS, name, {"metadata": {"finalizers": None}}, objects.NAMESPACE)
    except Refused as refused:
        if not refused.missing:
            raise
