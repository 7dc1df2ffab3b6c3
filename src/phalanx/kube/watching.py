"""All mirrors of the scheduler: one for each kind that is served and that we can read.

What is served is asked for again when a definition comes, changes or goes, and now and then anyway. Only pods and nodes
are needed; any other kind that cannot be read is told as a problem, is tried again, and holds nothing up: pods whose
owner is not seen are left alone until it is.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing, suppress
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

AGAIN_SECONDS = 5.0  # until a server is asked again that did not say what it serves, or not all that is to be expected
LOOK_SECONDS = 60.0  # until it is asked again though nothing was heard
PATIENCE_SECONDS = 60.0  # how long the first picture waits, once pods and nodes are in, for kinds it can do without
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
        self._unread: dict[Resource, WireError] = {}  # served, and not followed: why
        self.served: Served | None = None
        self._again = asyncio.Event()
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Asks what is served and follows all of it; returns once the first whole picture is in."""
        await self._look()
        await asyncio.gather(*(self.mirrors[one].synced.wait() for one in kinds.NEEDED))
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.gather(*(mirror.synced.wait() for mirror in self.mirrors.values()))
        for resource, mirror in self.mirrors.items():
            if not mirror.synced.is_set():
                self._problem(f"{resource.group_resource} have not come in yet; what depends on them waits")

    async def keep_up(self) -> None:
        """Follows kinds that appear later, and no longer those that went; until cancelled."""
        soon = self._expects_more()
        while True:
            heard = await self._hears_of_definitions(AGAIN_SECONDS if soon else LOOK_SECONDS)
            try:
                await self._look()
                soon = heard or self._expects_more()
            except WireError as error:
                self._problem(f"what is served could not be asked for: {error}")
                soon = True

    async def _hears_of_definitions(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._again.wait()
        except TimeoutError:
            return False
        self._again.clear()
        return True

    async def failed(self) -> None:
        """Returns never; raises what a mirror ended with, for without it the picture would be wrong."""
        await asyncio.shield(self._failure)

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    # -- which kinds ---------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Asks what is served, and follows that and nothing else."""
        self.served = await self._discovery.ask()
        wanted = kinds.followed(self.served)
        for resource in wanted:
            before = self._followed_as(resource)
            if before in (resource, *self.served.resources):
                continue  # also in an older version, as long as that is served
            if await self._can_read(resource):
                self._follow(resource, before)
        named = {(one.group, one.kind) for one in wanted}
        for resource in [one for one in self.mirrors if (one.group, one.kind) not in named]:
            if await self._is_gone(resource):
                self._give_up(resource)
        self._unread = {one: why for one, why in self._unread.items() if one in wanted}

    def _followed_as(self, resource: Resource) -> Resource | None:
        """The kind in the version in which it is followed."""
        return next((one for one in self.mirrors if (one.group, one.kind) == (resource.group, resource.kind)), None)

    async def _can_read(self, resource: Resource) -> bool:
        """Whether the server lets us list a kind; without the needed ones there is nothing to do but say so."""
        try:
            await self._list_a_little(resource)
        except WireError as error:
            if resource in kinds.NEEDED:
                raise
            if str(self._unread.get(resource)) != str(error):
                self._problem(f"{resource.group_resource} are not followed: {error}")
            self._unread[resource] = error
            return False
        self._unread.pop(resource, None)
        return True

    async def _is_gone(self, resource: Resource) -> bool:
        """Whether a kind that is not named any more is gone. A server that has just started does not name all it
        serves, and to take its word would be to take all gangs for deleted: the definition and the objects must be
        missing too."""
        if resource.group_resource in self._defined():
            return False
        try:
            await self._list_a_little(resource)
        except WireError as error:
            return isinstance(error, Refused) and error.missing
        return False

    async def _list_a_little(self, resource: Resource) -> None:
        async with aclosing(self._client.pages(resource, page_size=1)) as pages:
            async for _ in pages:
                return

    def _expects_more(self) -> bool:
        """Whether a kind could not be read for a reason that may pass, or is defined and not served yet."""
        assert self.served is not None
        groups = {group for group, _ in kinds.FOLLOWED}
        missing = self._defined() - {one.group_resource for one in self.served.resources}
        passing = [one for one in self._unread.values() if not (isinstance(one, Refused) and one.forbidden)]
        return bool(passing) or any(name.partition(".")[2] in groups for name in missing)

    def _defined(self) -> set[str]:
        """The kinds that are defined, as far as definitions are followed: ``gangs.phalanx.dev``."""
        definitions = self.mirrors.get(CUSTOM_RESOURCE_DEFINITIONS)
        return set() if definitions is None else {name for _, name in definitions.store}

    # -- mirrors -------------------------------------------------------------------------------------------------

    def _follow(self, resource: Resource, before: Resource | None = None) -> None:
        """``before``: the version in which it was followed. What that held is compared with what comes."""
        decode = _DECODERS.get(resource, shapes.decode_whole)
        mirror: Mirror[Kept] = Mirror(
            self._client, resource, decode, self._teller(resource), chance=self._chance, on_problem=self._say
        )
        if before is not None:
            mirror.store.update(self._unfollow(before).store)
        self.mirrors[resource] = mirror
        self._tasks[resource] = asyncio.get_running_loop().create_task(mirror.run())
        self._tasks[resource].add_done_callback(self._ended)

    def _give_up(self, resource: Resource) -> None:
        """A kind is served no more, so none of its objects is there."""
        self._problem(f"{resource.group_resource} are served no more, and not followed")
        tell = self._teller(resource)
        for one in self._unfollow(resource).store.values():
            tell(one, None)

    def _unfollow(self, resource: Resource) -> Mirror[Kept]:
        self._tasks.pop(resource).cancel()
        return self.mirrors.pop(resource)

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
