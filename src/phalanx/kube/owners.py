"""What makes pods, on a real cluster: read, changed as ``holding`` says, and written if it is that object still."""

from collections.abc import Callable, Mapping
from typing import Any

from phalanx.decider import holding
from phalanx.dialects import kindtable
from phalanx.model.effects import Prepare, Resume, Suspend
from phalanx.model.objects import Incarnation, ObjectKey
from phalanx.wire.client import Client
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, WireError
from phalanx.wire.resources import JOBS, Resource

Change = Callable[[Mapping[str, Any]], dict[str, Any] | None]


class Owners:
    def __init__(self, client: Client, served: Callable[[], Served]) -> None:
        self._client, self._served = client, served

    async def prepare(self, effect: Prepare) -> None:
        await self._change(effect.owner, holding.gated, only_held=True)

    async def resume(self, effect: Resume) -> None:
        """Lets the owner go. Where its pods are gated never without our gate: if that was not put in before, it is now,
        or this fails too. Pods without it would be bound one by one, wherever there is room."""
        owner, path = effect.owner, _field(effect.owner)
        if not effect.gated:
            return await self._change(owner, lambda found: holding.let_go(found, path))
        await self._change(owner, holding.gated, only_held=True)
        return await self._change(owner, lambda found: holding.suspended(found, False, path=path))

    async def suspend(self, effect: Suspend) -> None:
        """Holds the owner back first; that the gate comes out again is only tidy, and a Job that ran may refuse it."""
        why, path = f"for gang {effect.gang}: {effect.cause}", _field(effect.owner)
        await self._change(effect.owner, lambda found: holding.suspended(found, True, why, path))
        try:
            await self._change(effect.owner, holding.ungated, only_held=True)
        except Refused as refused:
            if refused.status != 422:
                raise

    async def _change(self, owner: Incarnation, change: Change, only_held: bool = False) -> None:
        resource, (_, _, namespace, name) = self._resource(owner.key), owner.key
        found = await self._client.get(resource, name, namespace)
        if owner.is_another(found["metadata"]["uid"]):
            return  # what made the pods of that gang is gone
        wanted = change(found) if holding.is_held(found) or not only_held else None
        if wanted is not None:
            await self._client.patch(resource, name, wanted, namespace)

    def _resource(self, owner: ObjectKey) -> Resource:
        found = JOBS if owner.of_kind == kindtable.JOB else self._served().find(*owner.of_kind)
        if found is None:
            raise WireError(f"{owner.kind} ({owner.group}) is served no more")
        return found


def _field(owner: Incarnation) -> tuple[str, ...]:
    return kindtable.SUSPEND_FIELD.get(owner.key.of_kind, holding.SUSPEND)
