"""The hands of the engine on a real cluster: every effect becomes one or two writes, each safe to repeat.

Binds of one gang go out together, as many at once as there are connections for, and so do its gates, its evictions, and
the objects that make its pods; whatever else is asked for the same gang keeps its place before or after them. A bind is
answered. Everything else is tried a few times, for the engine asks again when it does not see what it wanted.

When pods of a gang are to leave, what an earlier step let go and was not sent yet is not sent any more. Nothing is told
of it: pods that leave are seen to be gone, and for those that stay the engine asks again. What waits or is under way
already is not queued a second time, however often it is asked for.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from phalanx.decider import pinning
from phalanx.kube import status
from phalanx.kube.grumbles import Grumbles
from phalanx.kube.lanes import Lanes
from phalanx.kube.owners import Owners
from phalanx.model.effects import Bind, Effect, Evict, Notice, Prepare, Report, Resume, Suspend, Ungate
from phalanx.model.events import Answer, Answered, BindAnswered, SuspendRefused
from phalanx.model.mistakes import Mishap
from phalanx.model.pods import PodKey
from phalanx.wire import binding
from phalanx.wire.client import Client, Patch
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, Unanswered, WireError
from phalanx.wire.resources import PODS

Document = dict[str, Any]
OnOwner = Prepare | Resume | Suspend
Act = OnOwner | Ungate | Evict
Work = Act | Bind

TRIES = 4
SAYING = 2.0  # seconds in which a pod is told why it goes
_RELEASES = (Bind, Ungate)  # let one pod of a gang go where it belongs
_CALLED_OFF: dict[type[Effect], tuple[type[Effect], ...]] = {  # what each takes back, where that was not sent yet
    Evict: _RELEASES,
    Suspend: (*_RELEASES, Prepare, Resume),
}


class Witness(Protocol):
    """Who is told what became of effects: the metrics."""

    def bound(self, answer: Answer, seconds: float) -> None: ...

    def carried_out(self, effect: Effect, done: bool) -> None: ...


class Writer:
    """``answered`` is told what became of each bind, and that an owner may not be suspended; ``read`` of pods read anew
    because nobody knows what became of their binds.

    ``held``: the metadata of a pod as it was last seen, if it was.
    """

    def __init__(
        self,
        client: Client,
        served: Callable[[], Served],
        answered: Callable[[Answered], None],
        read: Callable[[PodKey, Document | None], None],
        held: Callable[[PodKey], Document | None],
        witness: Witness,
        problem: Callable[[str], None],
        concurrency: int = 32,
        bind_seconds: float = 10.0,
        tripped: Callable[[str, Mishap], None] = lambda about, mishap: None,
    ) -> None:
        self._client, self._owners = client, Owners(client, served)
        self._answered, self._read, self._held = answered, read, held
        self._bind_seconds, self._tripped = bind_seconds, tripped
        self._lanes: Lanes[Work] = Lanes(self._do, concurrency)
        self._witness, self._grumbles = witness, Grumbles(problem, time.monotonic)
        self.under_way = 0  # binds that were sent and not answered

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Starts on all of them and returns at once."""
        wanted = [one for one in effects if not isinstance(one, Report | Notice)]  # those are the reporter's business
        for kind, gang in dict.fromkeys((type(one), one.gang) for one in wanted if type(one) in _CALLED_OFF):
            self._lanes.take_back(gang, _CALLED_OFF[kind])
        batches: dict[str, list[Work]] = {}
        for one in wanted:
            if self._is_asked_for(one):
                continue
            batch = batches.setdefault(one.gang, [])
            if batch and not _go_together(batch[-1], one):
                self._lanes.add(one.gang, batch)
                batch = batches[one.gang] = []
            batch.append(one)
        for gang, batch in batches.items():
            self._lanes.add(gang, batch)

    def _is_asked_for(self, work: Work) -> bool:
        """Whether it waits or is under way already. Owners are held and let go in turn: there the last word counts."""
        if isinstance(work, OnOwner):
            return self._lanes.ends_with(work.gang, work)
        return self._lanes.has(work.gang, work)

    def left(self) -> dict[str, int]:
        """What is not done yet, by its kind."""
        return self._lanes.left()

    async def drained(self) -> None:
        await self._lanes.drained()

    async def failed(self) -> None:
        """Returns never; raises what nobody thought of, for then effects were lost."""
        await self._lanes.failed()

    async def stop(self) -> None:
        await self._lanes.stop()

    async def _do(self, work: Work) -> None:
        await (self._bind(work) if isinstance(work, Bind) else self._acted(work))

    async def _acted(self, work: Act) -> None:
        try:
            await self._tried(work)
            self._witness.carried_out(work, True)
        except WireError as error:
            self._witness.carried_out(work, False)
            instead = ""
            if isinstance(work, Suspend) and isinstance(error, Refused):
                self._answered(SuspendRefused(work.gang))
                instead = f"; pods that {work.owner} made for it are deleted instead, which may count as failures"
            self._grumbles.of(work.gang, f"{type(work).__name__} of gang {work.gang}: {error}{instead}")
        except Exception as error:  # it is asked for again, and the writes of other gangs go on
            self._witness.carried_out(work, False)
            self._tripped(f"{type(work).__name__} of gang {work.gang}", Mishap.of(error))

    async def _tried(self, work: Act) -> None:
        """Does it; what was refused because something else changed meanwhile is looked at again."""
        for left in range(TRIES - 1, -1, -1):
            try:
                return await self._in_time(work)
            except Refused as refused:
                if refused.missing:
                    return None
                if not left or not (refused.conflict or refused.status == 422):
                    raise
        return None

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
                return self._owners.prepare(work)
            case Resume():
                return self._owners.resume(work)
            case Suspend():
                return self._owners.suspend(work)

    # -- binding -------------------------------------------------------------------------------------------------

    async def _bind(self, effect: Bind) -> None:
        """A bind is answered, whatever becomes of it."""
        try:
            await self._tried_to_bind(effect)
        except Exception as error:
            self._tripped(f"Bind of gang {effect.gang}", Mishap.of(error))
            self._witness.carried_out(effect, False)
            self._answered(BindAnswered(effect.key, effect.node, Answer.UNKNOWN))

    async def _tried_to_bind(self, effect: Bind) -> None:
        key, said = effect.key, pinning.told(effect)
        target = binding.Target(key.namespace, key.name, key.uid, effect.node, self._labels(key), said)
        began = time.monotonic()
        self.under_way += 1
        try:
            found = await self._prepared(effect) or await binding.bind(self._client, target, self._bind_seconds)
        finally:
            self.under_way -= 1
        self._witness.bound(found.answer, time.monotonic() - began)
        self._witness.carried_out(effect, found.answer in (Answer.BOUND, Answer.HERE))
        if found.answer not in (Answer.BOUND, Answer.HERE):
            wrong = f"bind of pod {effect.key} to {effect.node}: {found.answer.value}; {found.message}"
            self._grumbles.of(effect.gang, wrong)
            await self._read_again(effect.key)
        self._answered(BindAnswered(effect.key, effect.node, found.answer))

    def _labels(self, key: PodKey) -> dict[str, str]:
        """What it is to be selected by besides, as far as it was seen."""
        held = self._held(key)
        return {} if held is None else pinning.labels(held)

    async def _prepared(self, effect: Bind) -> binding.Bound | None:
        """What the pod must have before it goes to its node. Returns what became of the bind where that failed."""
        if not effect.tolerations:
            return None
        key = effect.key
        try:
            async with asyncio.timeout(self._bind_seconds):
                pod = await self._client.get(PODS, key.name, key.namespace)
                change = pinning.tolerating(pod, effect.tolerations)
                if change and pod["metadata"]["uid"] == key.uid:
                    await self._client.patch(PODS, key.name, change, key.namespace, kind=Patch.JSON)
        except Refused as refused:
            overtaken = refused.missing or refused.conflict
            return binding.Bound(Answer.CONFLICT if overtaken else Answer.REFUSED, str(refused))
        except (WireError, TimeoutError) as error:
            return binding.Bound(Answer.UNKNOWN, str(error))
        return None

    async def _read_again(self, key: PodKey) -> None:
        """Tells the pod as it is: nobody knows better than the server what became of a bind."""
        try:
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
        change = pinning.operations(pod, effect)
        if change:
            await self._client.patch(PODS, effect.key.name, change, effect.key.namespace, kind=Patch.JSON)

    async def _evict(self, effect: Evict) -> None:
        """Says on the pod why it goes, then deletes it, with the grace period that it has itself. It goes, and soon,
        where that cannot be said too: a gang leaves whole. What made the pod may count no failure for that condition
        (``podFailurePolicy``).

        When is said too: a controller of Kubernetes takes the condition back where it seems to be old. One that is gone
        is told as gone, for the engine may be waiting for just that.
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
        try:
            await self._say(effect, change)
            await self._client.delete(PODS, key.name, key.namespace, uid=key.uid)
        except Refused as refused:
            if not refused.missing:
                raise
            self._read(key, None)

    async def _say(self, effect: Evict, change: Document) -> None:
        key = effect.key
        try:
            async with asyncio.timeout(SAYING):
                await self._client.patch_status(PODS, key.name, change, key.namespace, kind=Patch.STRATEGIC)
        except (WireError, TimeoutError) as error:
            if isinstance(error, Refused) and error.missing:
                raise
            why = error if isinstance(error, WireError) else "no answer in time"
            self._grumbles.of(effect.gang, f"condition DisruptionTarget of pod {key}: {why}")


def _go_together(one: Work, other: Work) -> bool:
    return any(isinstance(one, kinds) and isinstance(other, kinds) for kinds in (_RELEASES, Evict, Suspend, Resume))
