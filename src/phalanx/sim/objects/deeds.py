"""What users do to their workloads."""

from random import Random

from phalanx.sim.objects import acting, users
from phalanx.sim.objects.world import World


def delete(world: World, chance: Random) -> None:
    found = acting.entries(world)
    if found:
        world.users.delete(chance.choice(found).drawn.name)


def again(world: World, chance: Random) -> None:
    """Deleted and made again as it was, at once or nearly so."""
    found = acting.entries(world)
    if found:
        world.users.replace(chance.choice(found).drawn, chance.choice((0.0, 0.0, 0.0, 0.2, 2.0)))


def other_size(world: World, chance: Random) -> None:
    """Deleted and made again with other numbers."""
    found = acting.entries(world)
    if found:
        world.users.replace(users.smaller_or_larger(chance.choice(found).drawn, chance), chance.choice((0.0, 0.1)))


def resize(world: World, chance: Random) -> None:
    found = [one for one in acting.entries(world) if one.row.resized]
    if found:
        entry = chance.choice(found)
        world.users.resize(entry, users.smaller_or_larger(entry.drawn, chance))


def roll_out(world: World, chance: Random) -> None:
    found = [one for one in acting.entries(world) if one.row.rolled]
    if found:
        world.users.roll_out(chance.choice(found), f"work:{chance.randint(2, 9)}")


def hold(world: World, chance: Random) -> None:
    """Its user suspends a workload, and resumes it later."""
    found = [one for one in acting.entries(world) if one.row.held and not one.drawn.gated]
    if found:
        entry = chance.choice(found)
        world.users.hold(entry, True)
        world.agenda.after(chance.uniform(0.1, 15.0), lambda: world.users.hold(entry, False))


def regroup(world: World, chance: Random) -> None:
    """What gathers pods is deleted and made again, and its pods stay."""
    found = [one for one in acting.entries(world) if one.row.by_hand and one.objects]
    if found:
        world.users.regroup(chance.choice(found), chance.choice((0.0, 0.0, 0.5, 4.0)))
