"""What happens to a world, by its users and by bad luck: drawn by name in the plan, each comes at its time."""

from collections.abc import Callable
from random import Random

from phalanx.minicluster.documents import key_of
from phalanx.sim.objects import accidents, acting, deeds
from phalanx.sim.objects.world import World

Mishap = Callable[[World, Random], None]


def remake(world: World, chance: Random) -> None:
    """A Topology, a Queue or a PriorityClass is deleted and made again."""
    kinds = (("phalanx.dev", "Topology"), ("phalanx.dev", "Queue"), ("scheduling.k8s.io", "PriorityClass"))
    found = [doc for kind in kinds for doc in world.store.of_kind(*kind)]
    if found:
        doc = chance.choice(found)
        acting.note(world, f"{key_of(doc)} is deleted, and made again")
        acting.delete(world, doc)
        back = {**doc, "metadata": {"name": doc["metadata"]["name"]}}
        later = chance.choice((0.0, 0.3, 5.0))
        world.agenda.after(later, lambda: acting.create_once(world, back))


def restart(world: World, chance: Random) -> None:
    world.restart()


def deafen(world: World, chance: Random) -> None:
    """A watch breaks off."""
    kind = chance.choice(world.watches.kinds())
    seconds = chance.uniform(0.5, world.plan.lateness.away)
    acting.note(world, f"the watch of {kind[1]} is away for {seconds:.1f} s")
    world.watches.break_off(kind, seconds)


MISHAPS: dict[str, Mishap] = {
    "delete": deeds.delete,
    "again": deeds.again,
    "other size": deeds.other_size,
    "resize": deeds.resize,
    "roll out": deeds.roll_out,
    "hold": deeds.hold,
    "regroup": deeds.regroup,
    "fail": accidents.fail,
    "kill": accidents.kill,
    "drain": accidents.drain,
    "cordon": accidents.cordon,
    "touch": accidents.touch,
    "lose node": accidents.lose_node,
    "relabel": accidents.relabel,
    "silence": accidents.silence,
    "stranger": accidents.stranger,
    "remake": remake,
    "restart": restart,
    "deafen": deafen,
}
