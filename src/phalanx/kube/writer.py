"""The hands of the engine on a real cluster: every effect becomes one or two writes, each safe to repeat.

Binds of one gang go out together, as many at once as there are connections for, and so do its gates; whatever else is
asked for the same gang keeps its place before or after them. A bind is answered. Everything else is tried a few times,
for the engine asks again when it does not see what it wanted.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from phalanx.dialects.following import ours
from phalanx.kube import holding, pinning, status
from phalanx.kube.lanes import Lanes
from phalanx.model.effects import Bind, Effect, Evict, Notice, Prepare, Report, Resume, Suspend, Ungate
from phalanx.model.events import Answer, BindAnswered
from phalanx.model.pods import PodKey
from phalanx.wire import binding
from phalanx.wire.client import Client, Patch
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, Unanswered, WireError
from phalanx.wire.resources import JOBS, PODS, Resource

Document = dict[str, Any]
Act = Ungate | Prepare | Resume | Suspend | Evict
Release = Bind | Ungate  # lets one pod of a gang go where it belongs: all that are told together go together

TRIES = 4
_OWNERS = {"Job": ("batch", "jobs"), "JobSet": ("jobset.x-k8s.io", "jobsets")}


class Witness(Protocol):
    """Who is told what became of effects: the metrics."""

    def bound(self, answer: Answer, seconds: float) -> None: ...

    def carried_out(self, effect: Effect, done: bool) -> None: ...


class Writer:
    """``answered`` is told what became of each bind; ``read`` of pods read anew because nobody knows what became."""

    def __init__(
        self,
        client: Client,
        served: Callable[[], Served],
        answered: Callable[[BindAnswered], None],
        read: Callable[[PodKey, Document | None], None],
        witness: Witness,
        problem: Callable[[str], None],
        concurrency: int = 32,
        bind_seconds: float = 10.0,
    ) -> None:
        self._client, self._served = client, served
        self._answered, self._read = answered, read
        self._room = asyncio.Semaphore(concurrency)
        self._bind_seconds = bind_seconds
        self._lanes: Lanes[list[Release] | Act] = Lanes(self._do)
        self._witness, self._problem = witness, problem
        self.under_way = 0  # binds that were sent and not answered

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Starts on all of them and returns at once."""
        released: dict[str, list[Release]] = {}
        for effect in effects:
            match effect:
                case Bind() | Ungate():
                    released.setdefault(effect.gang, []).append(effect)
                case Report() | Notice():
                    pass  # the reporter's business
                case _:
                    self._send(effect.gang, released)
                    self._lanes.add(effect.gang, effect)
        for gang in list(released):
            self._send(gang, released)

    def _send(self, gang: str, released: dict[str, list[Release]]) -> None:
        if gang in released:
            self._lanes.add(gang, released.pop(gang))

    async def drained(self) -> None:
        await self._lanes.drained()

    async def _do(self, work: list[Release] | Act) -> None:
        if isinstance(work, list):
            await asyncio.gather(*(self._bind(one) if isinstance(one, Bind) else self._acted(one) for one in work))
        else:
            await self._acted(work)

    async def _acted(self, work: Act) -> None:
        try:
            await self._tried(work)
            self._witness.carried_out(work, True)
        except WireError as error:
            self._witness.carried_out(work, False)
            self._problem(f"{type(work).__name__} of gang {work.gang}: {error}")

    async def _tried(self, work: Act) -> None:
        """Does it; what was refused because something else changed meanwhile is looked at again."""
        for left in range(TRIES - 1, -1, -1):
            try:
                async with self._room:
                    await self._in_time(work)
                return
            except Refused as refused:
                if refused.missing:
                    return
                if not left or not (refused.conflict or refused.status == 422):
                    raise

    async def _in_time(self, work: Act) -> None:
        """No answer is waited for longer than that of a bind: what is next for the same gang stands behind it."""
        try:
            async with asyncio.timeout(self._bind_seconds):
                await self._act(work)
        except TimeoutError as error:
            raise Unanswered(f"no answer within {self._bind_seconds:g} s") from error

    def _act(self, work: Act) -> Awaitable[None]:
        match work:
            case Ungate():
                return self._ungate(work)
            case Evict():
                return self._evict(work)
            case Prepare():
                return self._own(work.owner, holding.gated, only_held=True)
            case Resume():
                return self._resume(work)
            case Suspend():
                return self._suspend(work)

    # -- binding -------------------------------------------------------------------------------------------------

    async def _bind(self, effect: Bind) -> None:
        said = {ours.DOMAIN: effect.domain} if effect.domain else {}
        if effect.rank is not None:
            said[ours.RANK] = str(effect.rank)
        target = binding.Target(effect.key.namespace, effect.key.name, effect.key.uid, effect.node, annotations=said)
        self.under_way += 1
        async with self._room:
            began = time.monotonic()
            found = await binding.bind(self._client, target, self._bind_seconds)
        self.under_way -= 1
        self._witness.bound(found.answer, time.monotonic() - began)
        self._witness.carried_out(effect, found.answer in (Answer.BOUND, Answer.HERE))
        if found.answer not in (Answer.BOUND, Answer.HERE):
            self._problem(f"bind of pod {effect.key} to {effect.node}: {found.answer.value}; {found.message}")
        if found.answer not in (Answer.BOUND, Answer.HERE):
            await self._read_again(effect.key)
        self._answered(BindAnswered(effect.key, effect.node, found.answer))

    async def _read_again(self, key: PodKey) -> None:
        """Tells the pod as it is: nobody knows better than the server what became of a bind."""
        try:
            async with self._room:
                found: Document | None = await self._client.get(PODS, key.name, key.namespace)
        except Refused as refused:
            if not refused.missing:
                return
            found = None
        except WireError:
            return  # the mirror will tell
        if found is not None and found["metadata"]["uid"] != key.uid:
            found = None
        self._read(key, found)

    # -- pods ----------------------------------------------------------------------------------------------------

    async def _ungate(self, effect: Ungate) -> None:
        pod = await self._client.get(PODS, effect.key.name, effect.key.namespace)
        if pod["metadata"]["uid"] != effect.key.uid:
            return
        change = pinning.operations(pod, effect.selector, effect.rank)
        if change:
            await self._client.patch(PODS, effect.key.name, change, effect.key.namespace, kind=Patch.JSON)

    async def _evict(self, effect: Evict) -> None:
        """Says on the pod why it goes, then deletes it, with the grace period that it has itself.

        When is said too: a controller of Kubernetes takes the condition back where it seems to be old.
        """
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByPhalanx",
            "message": f"evicted with gang {effect.gang}: {effect.cause}",
            "lastTransitionTime": status.stamp(time.time()),
        }
        change = {"metadata": {"uid": effect.key.uid}, "status": {"conditions": [condition]}}
        key = effect.key
        await self._client.patch_status(PODS, key.name, change, key.namespace, kind=Patch.STRATEGIC)
        await self._client.delete(PODS, key.name, key.namespace, uid=key.uid)

    # -- owners --------------------------------------------------------------------------------------------------

    async def _own(self, owner: str, change: Callable[[Document], Document | None], only_held: bool = False) -> None:
        resource, namespace, name = self._named(owner)
        found = await self._client.get(resource, name, namespace)
        wanted = change(found) if holding.is_held(found) or not only_held else None
        if wanted is not None:
            await self._client.patch(resource, name, wanted, namespace)

    async def _resume(self, effect: Resume) -> None:
        """Lets the owner go, and never without our gate: if that was not put in before, it is now, or this fails too.

        Pods without it would be bound one by one, wherever there is room."""
        await self._own(effect.owner, holding.gated, only_held=True)
        await self._own(effect.owner, lambda owner: holding.suspended(owner, False))

    async def _suspend(self, effect: Suspend) -> None:
        """Holds the owner back first; that the gate comes out again is only tidy, and a Job that ran may refuse it."""
        await self._own(effect.owner, lambda owner: holding.suspended(owner, True))
        try:
            await self._own(effect.owner, holding.ungated, only_held=True)
        except Refused as refused:
            if refused.status != 422:
                raise

    def _named(self, owner: str) -> tuple[Resource, str, str]:
        kind, namespace, name = owner.split("/")
        if kind == "Job":
            return JOBS, namespace, name
        group, plural = _OWNERS[kind]
        found = self._served().find(group, plural)
        assert found is not None, f"{kind} was seen, so it is served"
        return found, namespace, name
