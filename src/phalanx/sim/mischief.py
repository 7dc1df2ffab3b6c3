"""Makes the faults happen that come by themselves, at times that a seed gives. Those that need an occasion (an event
lost, a bind refused) happen where the occasion is."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from phalanx.model.nodes import Node, PodShape, Taint
from phalanx.model.pods import PodKey
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.topology import HOSTNAME
from phalanx.sim import picture
from phalanx.sim.truth import Kind
from phalanx.sim.world import World

GPU = "example.com/gpu"
MAINTENANCE = Taint("example.com/maintenance", "", "NoSchedule")


def unleash(world: World) -> None:
    """Notes down the first fault of every kind; each notes down the next of its kind."""
    faults = world.faults
    kinds: list[tuple[str, float, Callable[[World, Random], None]]] = [
        ("break", faults.broken_every, break_watch),
        ("node", faults.node_lost_every, lose_node),
        ("label", faults.relabelled_every, relabel),
        ("leader", faults.leader_every, lambda world, _: world.new_leader()),
        ("clock", faults.clock_every, jump),
        ("user", 10.0 if faults.deleted or faults.suspended or faults.promoted or faults.resized else 0.0, meddle),
        ("taint", faults.tainted_every, taint),
        ("stranger", faults.stranger_every, bring_stranger),
        ("quota", faults.requota_every, requota),
        ("flavor", faults.unflavored_every, unflavor),
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
        world.truth.put_node(replace(node, taints=()))
        world.controllers.make_daemons(node.name)

    world.agenda.after(vanish + chance.uniform(0, world.faults.node_away), back)


def relabel(world: World, chance: Random) -> None:
    """A node now stands where another one does: all its labels of levels are those of that one."""
    names = sorted(world.truth.nodes)
    moved, beside = (world.truth.nodes[chance.choice(names)] for _ in range(2))
    keys = [level.label for topology in world.truth.topologies.values() for level in topology.levels]
    labels = {key: beside.labels[key] for key in keys if key != HOSTNAME and key in beside.labels}
    if any(moved.labels.get(key) != value for key, value in labels.items()):
        _change(world, replace(moved, labels={**moved.labels, **labels}))


def taint(world: World, chance: Random) -> None:
    """A node takes no new pods for a while, but from those who tolerate that."""
    node = world.truth.nodes[chance.choice(sorted(world.truth.nodes))]
    _change(world, replace(node, taints=(MAINTENANCE,)))
    world.agenda.after(chance.uniform(0, world.faults.tainted_for), lambda: _clear(world, node.name))


def _clear(world: World, name: str) -> None:
    world.last_fault = world.agenda.now
    node = world.truth.nodes.get(name)
    if node is not None and node.taints:
        _change(world, replace(node, taints=()))


def _change(world: World, node: Node) -> None:
    """The node is another one than it was chosen for: to the gangs with pods there it is a loss, if they take it so."""
    for pod in world.truth.on_node(node.name):
        world.controllers.note_loss(pod)
    world.truth.put_node(node)


def bring_stranger(world: World, chance: Random) -> None:
    """Another scheduler binds a pod of its own where it sees room: it cannot see what our engine only thinks of."""
    amounts = {GPU: chance.randint(1, 2) * NANO, "cpu": chance.randint(1, 2) * NANO, PODS: NANO}
    shape = PodShape(Resources.of(amounts), namespace="other")
    free = picture.free(world.truth)
    roomy = [name for name in sorted(free) if all(free[name].get(one, 0) >= much for one, much in shape.requests)]
    if roomy:
        name = f"passer-by-{world.truth.version}"
        key = world.truth.make_pod(None, name, shape, None, None, chance.choice(roomy))
        world.agenda.after(chance.uniform(0, world.faults.stranger_for), lambda: _leave(world, key))


def _leave(world: World, key: PodKey) -> None:
    world.last_fault = world.agenda.now
    world.controllers.remove(key)


def requota(world: World, chance: Random) -> None:
    """One queue may use more or less from now on, also less than it uses."""
    queues = world.truth.queues
    limited = [queue for _, queue in sorted(queues.queues.items()) if queue.quotas]
    if limited:
        queue = chance.choice(limited)
        quotas = tuple(replace(one, nominal=one.nominal * chance.randint(3, 15) // 10) for one in queue.quotas)
        changed = {**queues.queues, queue.name: replace(queue, quotas=quotas)}
        world.truth.put_queues(replace(queues, queues=changed))


def unflavor(world: World, chance: Random) -> None:
    """A flavor is taken away for a while: nobody can be admitted by it meanwhile."""
    flavors = world.truth.queues.flavors
    if flavors:
        flavor = flavors[chance.choice(sorted(flavors))]
        kept = {name: one for name, one in flavors.items() if one is not flavor}
        world.truth.put_queues(replace(world.truth.queues, flavors=kept))

        def back() -> None:
            world.last_fault = world.agenda.now
            again = {**world.truth.queues.flavors, flavor.name: flavor}
            world.truth.put_queues(replace(world.truth.queues, flavors=again))

        world.agenda.after(chance.uniform(0, world.faults.unflavored_for), back)


def jump(world: World, chance: Random) -> None:
    world.ahead += chance.uniform(-world.faults.jump, world.faults.jump)


def meddle(world: World, chance: Random) -> None:
    """A user deletes one of the gangs, holds it back for a while, or wants another priority or number of pods."""
    active = [name for name, gang in world.truth.active() if not gang.request.suspended and not _is_ending(world, name)]
    if not active:
        return
    name, luck = chance.choice(active), chance.random()
    if luck < world.faults.deleted:
        world.controllers.end(name, "deleted")
    elif luck < world.faults.deleted + world.faults.suspended:
        world.hold_back(name)
        world.agenda.after(chance.uniform(1, 60), lambda: world.let_go(name))
    elif luck < world.faults.deleted + world.faults.suspended + world.faults.resized:
        _resize(world, name, chance)
    elif luck < world.faults.deleted + world.faults.suspended + world.faults.resized + world.faults.promoted:
        world.promote(name, chance.choice((0, 5, 9)))


def _is_ending(world: World, name: str) -> bool:
    """Whether some of its pods have succeeded: nobody begins a finished job again by holding it back."""
    return any(pod.phase == "Succeeded" for pod in world.truth.members(name))


def _resize(world: World, name: str, chance: Random) -> None:
    """Only gangs that can do with fewer pods than they have."""
    pods = list(world.truth.gangs[name].request.root.pod_sets())
    if len(pods) == 1 and pods[0].min_count < pods[0].count and not pods[0].slices:
        world.resize(name, pods[0].count + chance.choice((-2, -1, 1, 2)))
