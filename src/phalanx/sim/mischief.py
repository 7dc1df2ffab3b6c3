"""Makes the faults happen that come by themselves, at times that a seed gives. Those that need an occasion (an event
lost, a bind refused) happen where the occasion is."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from phalanx.model.topology import HOSTNAME
from phalanx.sim.truth import Kind
from phalanx.sim.world import World


def unleash(world: World) -> None:
    """Notes down the first fault of every kind; each notes down the next of its kind."""
    faults = world.faults
    kinds: list[tuple[str, float, Callable[[World, Random], None]]] = [
        ("break", faults.broken_every, break_watch),
        ("node", faults.node_lost_every, lose_node),
        ("label", faults.relabelled_every, relabel),
        ("leader", faults.leader_every, lambda world, _: world.new_leader()),
        ("clock", faults.clock_every, jump),
        ("user", 10.0 if faults.deleted or faults.suspended else 0.0, meddle),
    ]
    for name, every, strike in kinds:
        if every:
            _next(world, world.chances.of(f"fault {name}"), every, strike)


def _next(world: World, chance: Random, every: float, strike: Callable[[World, Random], None]) -> None:
    time = world.agenda.now + chance.expovariate(1 / every)
    if time >= world.faults.until:
        return

    def happen() -> None:
        world.last_fault = world.agenda.now
        strike(world, chance)
        _next(world, chance, every, strike)

    world.agenda.at(time, happen)


def break_watch(world: World, chance: Random) -> None:
    world.watches[chance.choice(list(Kind))].break_off(chance.uniform(0, world.faults.relist))


def lose_node(world: World, chance: Random) -> None:
    """A node is gone. Its pods are taken away after a while, and only then it may come back, empty."""
    if len(world.truth.nodes) < 2:
        return
    node = world.truth.nodes[chance.choice(sorted(world.truth.nodes))]
    world.truth.drop_node(node.name)
    vanish = world.faults.delays.vanish
    for pod in world.truth.on_node(node.name):
        world.controllers.note_loss(pod)
        world.agenda.after(chance.uniform(0, vanish), lambda key=pod.key: world.controllers.lose(key))  # type: ignore[misc]

    def back() -> None:
        world.last_fault = world.agenda.now
        world.truth.put_node(node)

    world.agenda.after(vanish + chance.uniform(0, world.faults.node_away), back)


def relabel(world: World, chance: Random) -> None:
    """A node now stands where another one does: all its labels of levels are those of that one."""
    names = sorted(world.truth.nodes)
    moved, beside = (world.truth.nodes[chance.choice(names)] for _ in range(2))
    keys = [level.label for topology in world.truth.topologies.values() for level in topology.levels]
    labels = {key: beside.labels[key] for key in keys if key != HOSTNAME and key in beside.labels}
    if any(moved.labels.get(key) != value for key, value in labels.items()):
        world.truth.put_node(replace(moved, labels={**moved.labels, **labels}))


def jump(world: World, chance: Random) -> None:
    world.ahead += chance.uniform(0, world.faults.jump)


def meddle(world: World, chance: Random) -> None:
    """A user deletes one of the gangs, or holds it back for a while."""
    active = [name for name, gang in world.truth.active() if not gang.request.suspended]
    if not active:
        return
    name, luck = chance.choice(active), chance.random()
    if luck < world.faults.deleted:
        world.controllers.end(name, "deleted")
    elif luck < world.faults.deleted + world.faults.suspended:
        world.hold_back(name)
        world.agenda.after(chance.uniform(1, 60), lambda: world.let_go(name))
