"""The hands of the scheduler in a world: effects are written to the store as ``phalanx.kube.writer`` writes them.

What is asked for one gang is done in order, batch after batch; the pieces of a batch each at their own moment. Binds
are answered. Some are refused, of some nobody hears what became of them, and other writes get lost now and then.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from phalanx.decider import holding, pinning
from phalanx.dialects import kindtable
from phalanx.minicluster.errors import Rejected
from phalanx.minicluster.store import Store
from phalanx.model.effects import Act, Bind, Effect, Evict, Notice, Prepare, Report, Resume, Suspend, Ungate
from phalanx.model.events import Answer, BindAnswered
from phalanx.model.objects import Incarnation
from phalanx.sim.agenda import Agenda
from phalanx.sim.objects import patches
from phalanx.sim.objects.drawn import Doc

_RELEASES = (Bind, Ungate)
_CALLED_OFF: dict[type[Effect], tuple[type[Effect], ...]] = {
    Evict: _RELEASES,
    Suspend: (*_RELEASES, Prepare, Resume),
}


@dataclass(frozen=True, slots=True)
class Grip:
    """``seconds``: a write takes so long at most. The others are shares of writes, until ``until``: of binds that are
    ``refused`` or whose fate is ``unknown``, of other writes that are ``lost``."""

    seconds: float = 0.2
    refused: float = 0.0
    unknown: float = 0.0
    lost: float = 0.0
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Ends:
    """Who hears of what was done. ``answered``: of binds. ``read``: that a pod is to be read anew, by key and uid.
    ``refused``: that a bind went wrong without anybody's fault."""

    answered: Callable[[BindAnswered], None]
    read: Callable[[Bind | Evict], None]
    refused: Callable[[Bind], None]
    lost: Callable[[Effect], None]


class Hands:
    def __init__(self, store: Store, agenda: Agenda, chance: Random, grip: Grip, ends: Ends) -> None:
        self._store, self._agenda, self._chance, self._grip, self._ends = store, agenda, chance, grip, ends
        self._lanes: dict[str, deque[list[Act]]] = {}
        self._life = 0  # of the scheduler whose effects these are

    @property
    def busy(self) -> bool:
        return bool(self._lanes)

    def carry_out(self, effects: Iterable[Effect]) -> None:
        wanted = [one for one in effects if not isinstance(one, Report | Notice)]
        for kind, gang in dict.fromkeys((type(one), one.gang) for one in wanted if type(one) in _CALLED_OFF):
            for batch in self._lanes.get(gang, ()):
                batch[:] = [one for one in batch if not isinstance(one, _CALLED_OFF[kind])]
        for one in wanted:
            self._add(one)
        for gang in list(self._lanes):
            self._next(gang)

    def drop(self) -> None:
        """The scheduler is gone: half of what was under way is done, and nobody hears of it."""
        self._life += 1
        waiting = [work for lane in self._lanes.values() for work in lane[0]]
        self._lanes.clear()
        for work in waiting:
            if self._chance.random() < 0.5:
                self._write(work)

    # -- lanes -----------------------------------------------------------------------------------------------------

    def _add(self, work: Act) -> None:
        lane = self._lanes.setdefault(work.gang, deque())
        if isinstance(work, Prepare | Resume | Suspend):
            if lane and lane[-1] and lane[-1][-1] == work:
                return
        elif any(work in batch for batch in lane):
            return
        begun = len(lane) == 1 and lane[0] and getattr(lane[0], "begun", False)
        if lane and lane[-1] and not begun and _go_together(lane[-1][-1], work):
            lane[-1].append(work)
        else:
            lane.append(_Batch([work]))

    def _next(self, gang: str) -> None:
        """Begins the first batch of a lane, once the one before it is done."""
        lane = self._lanes.get(gang)
        while lane and not lane[0]:
            lane.popleft()
        if not lane:
            self._lanes.pop(gang, None)
            return
        batch = lane[0]
        if isinstance(batch, _Batch) and not batch.begun:
            batch.begun = True
            life = self._life
            for work in batch:
                late = self._chance.uniform(0.01, self._grip.seconds)
                self._agenda.after(late, partial(self._due, gang, batch, work, life))

    def _due(self, gang: str, batch: "_Batch", work: Act, life: int) -> None:
        if life != self._life:
            return
        if work in batch:  # else it was taken back
            self._do(work)
            batch.remove(work)
        if not batch:
            self._next(gang)

    # -- writes ----------------------------------------------------------------------------------------------------

    def _strikes(self, share: float) -> bool:
        return self._agenda.now < self._grip.until and self._chance.random() < share

    def _do(self, work: Act) -> None:
        if isinstance(work, Bind):
            self._bind(work)
        elif self._strikes(self._grip.lost):
            self._ends.lost(work)
        else:
            self._write(work)

    def _bind(self, work: Bind) -> None:
        if self._strikes(self._grip.refused):
            answer = Answer.REFUSED
        elif self._strikes(self._grip.unknown):
            answer = Answer.UNKNOWN
            if self._chance.random() < 0.5:
                self._write(work)
        else:
            answer = self._write(work)
        if answer in (Answer.REFUSED, Answer.UNKNOWN):
            self._ends.refused(work)
        if answer not in (Answer.BOUND, Answer.HERE):
            self._ends.read(work)
        late = self._chance.uniform(0, self._grip.seconds)
        self._agenda.after(late, partial(self._tell, BindAnswered(work.key, work.node, answer), self._life))

    def _tell(self, answer: BindAnswered, life: int) -> None:
        if life == self._life:
            self._ends.answered(answer)

    def _write(self, work: Act) -> Answer:
        """What came of it; of anything but a bind that it was done means nothing."""
        try:
            self._act(work)
        except patches.TestFailed:
            return Answer.CONFLICT
        except Rejected as rejected:
            if isinstance(work, Evict) and rejected.reason == "NotFound":
                self._ends.read(work)
            if rejected.reason == "NotFound":
                return Answer.CONFLICT
            return self._judged(work) if rejected.reason == "Conflict" else Answer.REFUSED
        return Answer.BOUND

    def _judged(self, work: Act) -> Answer:
        pod = self._store.get(work.key.object) if isinstance(work, Bind) else None
        if not isinstance(work, Bind) or pod is None:
            return Answer.CONFLICT
        here = pod["metadata"]["uid"] == work.key.uid and pod["spec"].get("nodeName") == work.node
        return Answer.HERE if here else Answer.CONFLICT

    def _act(self, work: Act) -> None:
        now = self._agenda.now
        match work:
            case Bind():
                said = pinning.told(work)
                self._store.bind(work.key.namespace, work.key.name, work.key.uid, work.node, now, said)
            case Ungate():
                change: Callable[[Doc], Doc] = lambda pod: patches.patched(pod, pinning.operations(pod, work))  # noqa: E731
                self._store.change(work.key.object, change, now, work.key.uid)
            case Evict():
                self._store.change(work.key.object, lambda pod: _disrupted(pod, work), now, work.key.uid)
                self._store.delete(work.key.object, now, uid=work.key.uid)
            case Prepare():
                self._own(work.owner, holding.gated, only_held=True)
            case Resume():
                self._resume(work)
            case Suspend():
                why, path = f"for gang {work.gang}: {work.cause}", _field(work.owner)
                self._own(work.owner, lambda owner: holding.suspended(owner, True, why, path))
                self._own(work.owner, holding.ungated, only_held=True)

    def _resume(self, work: Resume) -> None:
        path = _field(work.owner)
        if not work.gated:
            return self._own(work.owner, lambda owner: holding.let_go(owner, path))
        self._own(work.owner, holding.gated, only_held=True)
        return self._own(work.owner, lambda owner: holding.suspended(owner, False, path=path))

    def _own(self, owner: Incarnation, change: Callable[[Any], Doc | None], only_held: bool = False) -> None:
        found = self._store.get(owner.key)
        if found is None or owner.is_another(found["metadata"]["uid"]) or (only_held and not holding.is_held(found)):
            return
        wanted = change(found)
        if wanted is not None:
            self._store.change(owner.key, lambda doc: patches.merged(doc, wanted), self._agenda.now)


def _field(owner: Incarnation) -> tuple[str, ...]:
    return kindtable.SUSPEND_FIELD.get(owner.key.of_kind, holding.SUSPEND)


class _Batch(list[Act]):
    """Work that goes out together. ``begun``: some of it may be done already."""

    begun = False


def _go_together(one: Act, other: Act) -> bool:
    return any(isinstance(one, kinds) and isinstance(other, kinds) for kinds in (_RELEASES, Evict))


def _disrupted(pod: Doc, work: Evict) -> Doc:
    condition = {
        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByPhalanx",
        "message": f"evicted with gang {work.gang}: {work.cause}",
    }  # fmt: skip
    status = pod.get("status") or {}
    rest = [one for one in status.get("conditions") or () if one["type"] != condition["type"]]
    return {**pod, "status": {**status, "conditions": [*rest, condition]}}
