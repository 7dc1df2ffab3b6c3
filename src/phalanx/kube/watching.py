"""All mirrors of the scheduler: one for each kind that is served and that we may read, and more when CRDs appear."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from phalanx.dialects.neighbours import Key
from phalanx.kube import kinds
from phalanx.kube.mind import Change
from phalanx.wire import shapes
from phalanx.wire.client import Client
from phalanx.wire.discovery import Discovery, Served
from phalanx.wire.errors import Refused, WireError
from phalanx.wire.mirror import Mirror, Problem
from phalanx.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS, Resource

AGAIN_SECONDS = 5.0  # until a server that did not say what it serves is asked again
Kept = shapes.WirePod | shapes.Whole
Changed = Callable[[Key, Change], None]

_DECODERS: dict[Resource, Callable[[Any, Resource], Kept]] = {PODS: shapes.decode_pod, NODES: shapes.decode_node}


class Watching:
    """``changed`` is told of every object that came, changed or went; ``problem`` of what cannot be read."""

    def __init__(self, client: Client, changed: Changed, problem: Callable[[str], None], chance: random.Random) -> None:
        self._client, self._changed, self._problem, self._chance = client, changed, problem, chance
        self._discovery = Discovery(client)
        self._tasks: dict[Resource, asyncio.Task[Any]] = {}
        self.mirrors: dict[Resource, Mirror[Kept]] = {}
        self.forbidden: dict[Resource, str] = {}
        self.served: Served | None = None
        self._again = asyncio.Event()
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Asks what is served and follows all of it; returns once the first whole picture is in."""
        await self._follow_all()
        await asyncio.gather(*(mirror.synced.wait() for mirror in self.mirrors.values()))

    async def keep_up(self) -> None:
        """Follows kinds that appear later; until cancelled."""
        while True:
            await self._again.wait()
            self._again.clear()
            try:
                await self._follow_all()
            except WireError as error:
                self._problem(f"what is served could not be asked for: {error}")
                await asyncio.sleep(AGAIN_SECONDS)
                self._again.set()

    async def failed(self) -> None:
        """Returns never; raises what a mirror ended with, for without it the picture would be wrong."""
        await self._failure

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _follow_all(self) -> None:
        self.served = await self._discovery.ask()
        for resource in kinds.followed(self.served):
            if resource not in self._tasks and await self._may_read(resource):
                self._follow(resource)

    async def _may_read(self, resource: Resource) -> bool:
        """Whether the role lets us list a kind; without the needed ones there is nothing to do but say so."""
        try:
            async for _ in self._client.pages(resource, page_size=1):
                break
        except Refused as refused:
            if not refused.forbidden or resource in kinds.NEEDED:
                raise
            if resource not in self.forbidden:
                self._problem(f"{resource.group_resource} are not followed: {refused}")
            self.forbidden[resource] = str(refused)
            return False
        return True

    def _follow(self, resource: Resource) -> None:
        decode = _DECODERS.get(resource, shapes.decode_whole)
        mirror: Mirror[Kept] = Mirror(
            self._client, resource, decode, self._teller(resource), chance=self._chance, on_problem=self._say
        )
        self.mirrors[resource] = mirror
        self._tasks[resource] = asyncio.get_running_loop().create_task(mirror.run())
        self._tasks[resource].add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failure.done():
            self._failure.set_exception(error)

    def _say(self, problem: Problem) -> None:
        self._problem(f"{problem.resource.group_resource} {'/'.join(problem.key or ())}: {problem.message}")

    def _teller(self, resource: Resource) -> Callable[[Kept | None, Kept | None], None]:
        if resource == CUSTOM_RESOURCE_DEFINITIONS:
            return lambda old, new: self._again.set()

        def tell(old: Kept | None, new: Kept | None) -> None:
            one = new if new is not None else old
            assert one is not None
            self._changed(_key(resource, one), None if new is None else new.document)

        return tell


def _key(resource: Resource, one: Kept) -> Key:
    return resource.group, resource.kind, one.metadata.namespace or "default", one.metadata.name
