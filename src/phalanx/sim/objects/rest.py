"""What must be so when nothing happens any more: a fresh scheduler has nothing to do, nobody waits who would fit."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields

from phalanx.decider import Decider
from phalanx.dialects.kindtable import FOLLOWED
from phalanx.engine.lifecycle import State
from phalanx.engine.whatif import ROOM
from phalanx.minicluster.documents import key_of
from phalanx.model.effects import Notice, Report
from phalanx.model.objects import ObjectKey
from phalanx.model.reasons import Reason, Why
from phalanx.sim.objects import elsewhere
from phalanx.sim.objects.drawn import Doc
from phalanx.sim.objects.places import LEVELS
from phalanx.sim.objects.users import Entry
from phalanx.sim.objects.world import World, as_it_is


def broken(world: World) -> Iterator[str]:
    yield from _not_confluent(world)
    yield from _standing_still(world)


# -- another scheduler that is told the same -------------------------------------------------------------------------


def _not_confluent(world: World) -> Iterator[str]:
    """Of what was done by pods that are gone, or that belonged to a group before the one that has its name now, nobody
    can know who was not there: who has finished so is not compared. Nor is who stands in two domains of a level that it
    requires: only who saw it knows which of its nodes moved, and near which of its pods late ones may be."""
    other = world.fresh()
    docs = [doc for row in FOLLOWED for doc in world.store.of_kind(*row.key)]
    given = [(key_of(doc), as_it_is(doc)) for doc in docs]
    outcome = other.step(given, [], world.now, 0.0)
    unsure = set(_done_before(world))
    for effect in outcome.effects:
        if not isinstance(effect, Report | Notice) and effect.gang not in unsure:
            yield f"a fresh scheduler would do something: {effect}"
    mine, its = _waiting(world.decider), _waiting(other)
    done = {name for name, state in world.decider.engine.states().items() if state is State.FINISHED}
    collected = {life.unit[0] for life in world.record.pods.values() if life.unit and life.gone and life.done}
    known = world.users.current.values()
    done |= unsure | {f"default/{one.drawn.name}" for one in known if one.regrouped or one.made in collected}
    done |= {name for name, gang in other.engine.book.gangs.items() if gang.torn}
    for name in sorted((mine.keys() | its.keys()) - done):
        if not _agree(mine.get(name), its.get(name)):
            yield f"{name} waits for {_short(mine.get(name))}, and a fresh scheduler says {_short(its.get(name))}"


def _done_before(world: World) -> Iterator[str]:
    """Gangs whose group was made, or made again, after pods that have done their work: only who saw that knows for
    which group they did it."""
    finished: dict[str, list[str]] = {}
    for life in world.record.here.values():
        if life.unit is not None and life.done:
            finished.setdefault(life.unit[0], []).append(_created(world, life.key))
    for entry in world.users.current.values():
        times = finished.get(entry.made, [])
        if times and (entry.regrouped or (entry.top is not None and min(times) < _created(world, entry.top))):
            yield f"default/{entry.drawn.name}"


def _created(world: World, key: ObjectKey) -> str:
    found = world.store.get(key)
    return "" if found is None else str(found["metadata"]["creationTimestamp"])


def _waiting(decider: Decider) -> dict[str, Reason | None]:
    """Those who wait, and why; of gangs that run, why some of their pods wait."""
    gangs = decider.engine.book.gangs.items()
    found = {name: gang.reason if gang.state is State.QUEUED else gang.lack for name, gang in gangs}
    return {name: reason for name, reason in found.items() if reason is not None}


def _agree(mine: Reason | None, its: Reason | None) -> bool:
    """Whether both say the same. A gang without room is not looked at again when nodes go, also if none is left; nor is
    one for which no node was open, when one opens that has no room for a single pod of it."""
    if mine is not None and its is not None and (mine.type in ROOM) != (its.type in ROOM):
        return Why.NO_MATCHING_NODES in (mine.type, its.type)
    return _told(mine) == _told(its)


def _told(reason: Reason | None) -> object:
    """What of a reason must be the same. How much room and how many nodes there were, it says as of when it was last
    looked for."""
    if reason is None:
        return None
    if reason.type in ROOM:
        return "room"
    return (reason.type, reason.group) if reason.type is Why.NO_MATCHING_NODES else reason


def _short(reason: Reason | None) -> str:
    """What of a reason says anything."""
    if reason is None:
        return "nothing"
    said = {field.name: getattr(reason, field.name) for field in fields(reason)}
    return ", ".join(f"{name}={value}" for name, value in said.items() if value)


# -- who would fit ---------------------------------------------------------------------------------------------------


def _standing_still(world: World) -> Iterator[str]:
    """Of gangs whose pods are all alike it is easily told whether they fit."""
    for entry in world.users.current.values():
        if entry.ended is None and not entry.held and not entry.drawn.queue and _is_simple(entry):
            yield from _would_fit(world, entry)


def _is_simple(entry: Entry) -> bool:
    drawn = entry.drawn
    return drawn.together and drawn.copies == 1 and len({role.gpus for role in drawn.roles}) == 1 and not drawn.gated


def _would_fit(world: World, entry: Entry) -> Iterator[str]:
    lives = [life for life in world.record.here.values() if life.unit is not None and life.unit[0] == entry.made]
    waiting = [life for life in lives if not life.node and not life.leaving and not life.ended]
    there = Counter(life.role for life in lives if not life.ended and not life.leaving)
    if not waiting or len(waiting) != len(lives) or not entry.drawn.is_whole(dict(there)):
        return
    label = LEVELS[entry.drawn.level] if entry.drawn.level else None
    room: Counter[str] = Counter()
    for node in _open(world):
        places = elsewhere.free(world.store, node) // waiting[0].gpus
        room[node["metadata"]["labels"].get(label, "") if label else "all"] += max(places, 0)
    if any(places >= len(waiting) for places in room.values()):
        yield f"{entry.made} waits, fits, and nothing moves"


def _open(world: World) -> Iterator[Doc]:
    for node in world.store.of_kind("", "Node"):
        if elsewhere.takes_pods(node):
            yield node
