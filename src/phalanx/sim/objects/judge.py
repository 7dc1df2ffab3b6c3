"""Who judges a world: from the objects, and from what the workloads were drawn as. It knows no dialect and no engine.

After every step:

* the scheduler makes no mistake that it notices itself;
* no node holds more than it has, and no kubelet refuses a pod that we bound, unless pods of others came there;
* half a gang stands no longer than its clocks allow (``_until`` says it exactly);
* all pods of a gang that we bound stand in one domain of the level that it requires;
* who is bound or evicted is a pod of the gang for which that is done, of the incarnation that was told of;
* no pod gets a node from us whose owner, or its owner, we were told to be gone or going;
* nobody is evicted to whom nothing happened that could be a cause.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from phalanx.model.effects import Bind, Effect, Evict, Suspend, Ungate
from phalanx.model.objects import ObjectKey
from phalanx.sim.objects.drawn import Unit
from phalanx.sim.objects.places import LEVELS
from phalanx.sim.objects.record import PodLife
from phalanx.sim.objects.templates import GPU
from phalanx.sim.objects.users import Entry
from phalanx.sim.objects.world import World

_SLACK = 5.0


class Judge:
    def __init__(self, world: World) -> None:
        self._world = world
        self._half: dict[Unit, float] = {}  # since when half of a gang stands
        self._refused: set[str] = set()  # uids of pods that a kubelet refused, and that were judged

    def of_effects(self, effects: Iterable[Effect]) -> Iterator[str]:
        """What must not be asked for, and that the scheduler has tripped over something."""
        yield from self._world.mistakes
        for effect in effects:
            if isinstance(effect, Bind | Ungate | Evict):
                life = self._world.record.pods.get(effect.key.uid)
                if life is None:
                    yield f"{type(effect).__name__} of {effect.key}, which never was"
                    continue
                yield from self._of_another(effect, life)
                if isinstance(effect, Evict):
                    yield from self._without_cause(effect, life)
                else:
                    yield from self._of_nobody(effect, life)
            elif isinstance(effect, Suspend):
                yield from self._suspended_without_cause(effect)

    def of_objects(self) -> Iterator[str]:
        """What must not be so."""
        yield from self._overfull()
        units = self._units()
        yield from self._too_long_half(units)
        yield from self._torn(units)

    def at_rest(self) -> Iterator[str]:
        """No half a gang stands when nothing happens any more, however short a time that was."""
        for unit in self._half:
            if not self._world.users.entries[unit[0]].regrouped:
                yield f"half of {'/'.join(unit)} stands, and nothing happens any more"

    # -- effects ---------------------------------------------------------------------------------------------------

    def _of_another(self, effect: Bind | Ungate | Evict, life: PodLife) -> Iterator[str]:
        """The gang is meant whose pod it is, and that incarnation of it."""
        if life.unit is None:
            yield f"{type(effect).__name__} of {effect.key} for {effect.gang}: it is a pod of others"
            return
        entry = self._world.users.entries[life.unit[0]]
        name, base = entry.drawn.name, effect.gang.partition("#")[0].rpartition("/")[2]
        if base != name and not base.startswith(f"{name}-"):
            yield f"{type(effect).__name__} of {effect.key} of {entry.made} for {effect.gang}"
        top = entry.top
        known = None if top is None else self._world.told.get(top)
        made_by_it = any(one.key == top and one.uid == known for one in self._world.record.chain(life))
        by_uid = not made_by_it and (isinstance(effect, Evict) or not entry.row.by_hand)
        if by_uid and known is not None and top is not None and known != entry.uids.get(top, known):
            yield f"{type(effect).__name__} of {effect.key} of {entry.made}, but another one is told to have its name"

    def _of_nobody(self, effect: Bind | Ungate, life: PodLife) -> Iterator[str]:
        for owner in self._world.record.chain(life):
            if owner.uid in self._world.told_gone:
                yield f"{type(effect).__name__} of {effect.key}, whose owner {owner} ({owner.uid}) is told to be gone"
                return

    def _without_cause(self, effect: Evict, life: PodLife) -> Iterator[str]:
        if life.unit is not None and not life.lost and not self._has_cause(life.unit[0]):
            yield f"Evict of {effect.key} of {life.unit[0]} for {effect.cause}: nothing happened to it"

    def _suspended_without_cause(self, effect: Suspend) -> Iterator[str]:
        for entry in self._world.users.entries.values():
            if effect.owner.uid in entry.uids.values() and not self._has_cause(entry.made):
                yield f"Suspend of {effect.owner}: nothing happened to it"

    def _has_cause(self, made: str) -> bool:
        rules, now = self._world.plan.rules, self._world.now
        longest = rules.schedule + rules.ready + rules.recovery + self._world.told_within + self._world.done_within
        return self._world.causes.last(made, now - longest - _SLACK) is not None

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _overfull(self) -> Iterator[str]:
        """Kubelets refuse what is too much, so that is looked at too."""
        taken: Counter[str] = Counter()
        for life in self._world.record.here.values():
            if life.holds:
                taken[life.node] += life.gpus
            refused = life.ours and life.reason.startswith("OutOf") and life.uid not in self._refused
            if refused:
                self._refused.add(life.uid)
            if refused and not self._is_crowded(life.node):
                yield f"{life.key.name} {life.uid[:8]} was refused by {life.node}: {life.reason}"
        for node in self._world.store.of_kind("", "Node"):
            name = node["metadata"]["name"]
            if taken[name] > int(node["status"]["allocatable"].get(GPU, 0)) and not self._is_crowded(name):
                there = [
                    f"{one.key.name} {one.uid[:8]}" for one in self._world.record.here.values() if one.node == name
                ]
                yield f"{name} has {taken[name]} GPUs taken by {', '.join(there)}"

    def _is_crowded(self, node: str) -> bool:
        """Whether pods of others came to a node of which the scheduler may not have known when it chose it."""
        at = self._world.crowded.get(node)
        return at is not None and self._world.now <= at + self._world.told_within + self._world.done_within + _SLACK

    # -- gangs -----------------------------------------------------------------------------------------------------

    def _units(self) -> dict[Unit, list[PodLife]]:
        found: dict[Unit, list[PodLife]] = {}
        for life in self._world.record.pods.values():
            if life.unit is not None and (life.stands or life.done):
                found.setdefault(life.unit, []).append(life)
        return found

    def _too_long_half(self, units: dict[Unit, list[PodLife]]) -> Iterator[str]:
        now, entries = self._world.now, self._world.users.entries
        half = {
            unit: lives
            for unit, lives in units.items()
            if _is_half(entries[unit[0]], lives) and not self._world.is_over(lives)
        }
        self._half = {unit: self._half.get(unit, now) for unit in half}
        for unit, since in self._half.items():
            if now > (until := self._until(unit, since)):
                count = dict(Counter(life.role for life in half[unit]))
                yield f"{'/'.join(unit)} has only {count} since {since:.1f}, allowed until {until:.1f}"

    def _until(self, unit: Unit, since: float) -> float:
        """The time to start, the time to recover after the last blow, and both after a restart; and until that is told
        and what is done about it is done."""
        rules, world = self._world.plan.rules, self._world
        ends = [since + rules.schedule]
        blow = world.causes.last(unit[0])
        if blow is not None:
            ends.append(blow.at + max(rules.schedule, rules.recovery))
        if world.started_at > since:
            ends.append(world.started_at + max(rules.schedule, rules.recovery))
        return max(ends) + world.told_within + world.done_within + _SLACK

    def _torn(self, units: dict[Unit, list[PodLife]]) -> Iterator[str]:
        for unit, lives in units.items():
            drawn = self._world.users.entries[unit[0]].drawn
            if drawn.level is None or not drawn.together or self._world.users.entries[unit[0]].regrouped:
                continue
            label = LEVELS[drawn.level]
            found: dict[str, set[str]] = {}
            moved: dict[str, set[str]] = {}
            for life in lives:
                was_moved = self._world.was_moved(life.node)
                if life.labels and (was_moved or (life.stands and self._is_there(life.node))):
                    kept = moved if was_moved else found
                    kept.setdefault(life.role if drawn.level_of_role else "", set()).add(life.labels.get(label, ""))
            for role, domains in found.items():
                if self._world.started_at > self._world.begin:  # a new scheduler cannot know which of its nodes moved
                    domains -= moved.get(role, set())
                if len(domains) > 1:
                    who = "/".join(one for one in (*unit, role) if one)
                    yield f"{who} must be in one {drawn.level} and is in {', '.join(sorted(domains))}"

    def _is_there(self, node: str) -> bool:
        """What is left on a node that is gone is nowhere: the next of its gang may be elsewhere."""
        return self._world.store.get(ObjectKey("", "Node", "default", node)) is not None


def _is_half(entry: Entry, lives: list[PodLife]) -> bool:
    if not entry.drawn.together or entry.ended is not None or entry.held:
        return False
    there = Counter(life.role for life in lives)
    standing = any(life.stands for life in lives)
    return standing and not entry.is_whole(dict(there))
