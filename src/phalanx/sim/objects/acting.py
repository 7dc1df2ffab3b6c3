"""What mishaps have in common: whom they may strike, and writes that may come too late and are let be then."""

from collections.abc import Callable
from random import Random

from phalanx.minicluster.documents import ANNOTATED, NODE, POD, changed, is_leaving, key_of
from phalanx.minicluster.errors import Rejected
from phalanx.sim.objects.drawn import Doc
from phalanx.sim.objects.users import Entry
from phalanx.sim.objects.world import World

AWAY = 30.0  # seconds until what was taken away is back, at most


def entries(world: World) -> list[Entry]:
    """Workloads that are there."""
    return [one for _, one in sorted(world.users.current.items()) if one.ended is None]


def pods(world: World, bound: bool = False) -> list[Doc]:
    """Pods of workloads that are not leaving."""
    found = [pod for pod in world.store.of_kind(*POD) if not is_leaving(pod)]
    return [pod for pod in found if pod["spec"].get("nodeName")] if bound else found


def node(world: World, chance: Random) -> Doc | None:
    found = world.store.of_kind(*NODE)
    return chance.choice(found) if found else None


def note(world: World, text: str) -> None:
    world.journal.note(world.now, f"** {text}")


def annotate(world: World, doc: Doc, notes: dict[str, str]) -> None:
    before = doc["metadata"].get("annotations") or {}
    new = {**before, **{f"{ANNOTATED}{name}": value for name, value in notes.items()}}
    write(world, doc, lambda held: changed(held, "metadata", "annotations", to=new))


def delete(world: World, doc: Doc, grace: float | None = None) -> None:
    try:
        world.store.delete(key_of(doc), world.now, uid=doc["metadata"]["uid"], grace=grace)
    except Rejected as rejected:
        if rejected.reason not in ("NotFound", "Conflict"):
            raise


def write(world: World, doc: Doc, write: Callable[[Doc], Doc]) -> None:
    try:
        world.store.change(key_of(doc), write, world.now, doc["metadata"]["uid"])
    except Rejected as rejected:
        if rejected.reason not in ("NotFound", "Conflict"):
            raise


def create_once(world: World, doc: Doc) -> None:
    if world.store.get(key_of(doc)) is None:
        world.store.create(doc, world.now)
