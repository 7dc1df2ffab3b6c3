"""All mirrors of the scheduler: one for each kind that is served and that we can read.

What is served is asked for again when a definition comes, changes or goes, and now and then anyway.

Nothing is decided on less than the whole picture of what restricts: pods, nodes, queues, claims, priorities ... Each
such kind is in, or is known not to be served, or is forbidden to us and that is said. A kind of workload that cannot be
read is told as a problem, is tried again, and holds nothing up: pods whose owner is not seen are left alone until it
is. (decision 12)
"""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from typing import Any

from phalanx.decider import Change
from phalanx.kube import awaited, kinds
from phalanx.model.mistakes import Mistake
from phalanx.model.objects import ObjectKey
from phalanx.wire import shapes
from phalanx.wire.client import Client
from phalanx.wire.discovery import Discovery, Served
from phalanx.wire.errors import Refused, WireError
from phalanx.wire.mirror import Mirror, MirrorSettings, Problem
from phalanx.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS, Resource

LISTEN_SECONDS = 5  # so long a watch of pods or nodes lasts: then it is known that nothing was missed (``hearing``)
AGAIN_SECONDS = 5.0  # until a server is asked again that did not say what it serves, or not all that is to be expected
LOOK_SECONDS = 60.0  # until it is asked again though nothing was heard
SAY_SECONDS = 60.0  # between two lines about what the first picture waits for
PATIENCE_SECONDS = 60.0  # how long the first picture waits, once all that restricts is in, for kinds of workloads
Kept = shapes.WirePod | shapes.Whole
Changed = Callable[[ObjectKey, Change], None]

_DECODERS: dict[Resource, Callable[[Any, Resource], Kept]] = {PODS: shapes.decode_pod, NODES: shapes.decode_node}


class Watching:
    """``changed`` is told of every object that came, changed or went; ``problem`` of what cannot be read."""

    def __init__(self, client: Client, changed: Changed, problem: Callable[[str], None], chance: random.Random) -> None:
        self._client, self._changed, self._problem, self._chance = client, changed, problem, chance
        self._discovery = Discovery(client)
        self._tasks: dict[Resource, asyncio.Task[Any]] = {}
        self.mirrors: dict[Resource, Mirror[Kept]] = {}
        self._unread: dict[Resource, WireError] = {}  # served, and not followed: why
        self._is_whole = False  # all that restricts was in, once
        self.served: Served | None = None
        self._again = asyncio.Event()
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Asks what is served and follows all of it; returns once the first whole picture is in."""
        await self._look()
        await self._all_that_restricts()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.gather(*(mirror.synced.wait() for mirror in self.mirrors.values()))
        for resource, mirror in self.mirrors.items():
            if not mirror.synced.is_set():
                self._problem(f"{resource.group_resource} have not come in yet; what depends on them waits")

    async def _all_that_restricts(self) -> None:
        """Returns once every kind that restricts is in, is not served, or is forbidden; says meanwhile what lacks."""
        loop = asyncio.get_running_loop()
        not_before = float("-inf")
        while True:
            coming = [one.synced for kind, one in self.mirrors.items() if kinds.restricts(kind)]
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS):
                    await asyncio.gather(*(one.wait() for one in coming))
            if not (lacking := self.lacks()):
                break
            if loop.time() >= not_before:
                not_before = loop.time() + SAY_SECONDS
                for line in lacking:
                    self._problem(line)
            if all(one.is_set() for one in coming):
                await asyncio.sleep(AGAIN_SECONDS)
            with suppress(WireError):  # that it does not answer is a reason to go on waiting
                await self._look()
        self._is_whole = True

    def lacks(self) -> list[str]:
        """For what the first picture waits, and why; nothing once it is in."""
        if self._is_whole:
            return []
        lines = sorted(self._awaited().items())
        return [f"{name} {why}: nothing is bound before they are seen" for name, why in lines]

    def unseen(self) -> dict[str, str]:
        """Kinds that restrict and are not seen, and whether they are "awaited" or "forbidden"."""
        unread = {one: why for one, why in self._unread.items() if kinds.restricts(one)}
        forbidden = {one.group_resource: "forbidden" for one, why in unread.items() if _is_forbidden(why)}
        return forbidden | dict.fromkeys(self._awaited(), "awaited")

    def _awaited(self) -> dict[str, str]:
        late = {one: mirror.problem for one, mirror in self.mirrors.items() if not mirror.synced.is_set()}
        unread = {one: str(why) for one, why in self._unread.items() if not _is_forbidden(why)}
        served = Served() if self.served is None else self.served
        return awaited.kinds_awaited(late | unread, served, self._definitions())

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

    def everything(self) -> Iterator[tuple[ObjectKey, Change]]:
        """All objects that are held, as they are now."""
        for resource, mirror in self.mirrors.items():
            if resource != CUSTOM_RESOURCE_DEFINITIONS:
                for one in mirror.store.values():
                    yield _key(resource, one), one.document

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
        self.served = kinds.readable_first(await self._discovery.ask())
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
                lost = "; what they restrict is not known, and pods are bound as if there were none"
                without = lost if kinds.restricts(resource) and _is_forbidden(error) else ""
                self._problem(f"{resource.group_resource} are not followed: {error}{without}")
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
        groups = {group for group, _ in kinds.FOLLOWED}
        passing = [one for one in self._unread.values() if not _is_forbidden(one)]
        return bool(passing) or any(name.partition(".")[2] in groups for name in self._not_served_yet())

    def _not_served_yet(self) -> set[str]:
        """Kinds that are defined, and that the server did not name."""
        named = () if self.served is None else self.served.resources
        return self._defined() - {one.group_resource for one in named}

    def _defined(self) -> set[str]:
        """The kinds that are defined, as far as definitions are followed: ``gangs.phalanx.dev``."""
        return set(self._definitions())

    def _definitions(self) -> dict[str, Kept]:
        definitions = self.mirrors.get(CUSTOM_RESOURCE_DEFINITIONS)
        return {} if definitions is None else {name: one for (_, name), one in definitions.store.items()}

    # -- mirrors -------------------------------------------------------------------------------------------------

    def _follow(self, resource: Resource, before: Resource | None = None) -> None:
        """``before``: the version in which it was followed. What that held is compared with what comes."""
        decode = _DECODERS.get(resource, shapes.decode_whole)
        seconds = LISTEN_SECONDS if resource in kinds.NEEDED else None
        mirror: Mirror[Kept] = Mirror(
            self._client,
            resource,
            decode,
            self._teller(resource),
            chance=self._chance,
            on_problem=self._say,
            settings=MirrorSettings(resumed_seconds=seconds),
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
            if one is None:
                raise Mistake("nothing became of nothing")
            self._changed(_key(resource, one), None if new is None else new.document)

        return tell


def _is_forbidden(error: WireError) -> bool:
    return isinstance(error, Refused) and error.forbidden


def _key(resource: Resource, one: Kept) -> ObjectKey:
    return ObjectKey(resource.group, resource.kind, one.metadata.namespace or "default", one.metadata.name)
