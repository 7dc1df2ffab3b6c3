"""Seeded random small instances as real values: ``instance(seed, family, tight)`` is always the same one.

*random*: running pods take up a random part of each node. *tight*: a valid placement was hidden first and running
pods fill the rest up to a little slack; in most of these something was then taken away or added, so that both
verdicts occur.
"""

from random import Random

from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot
from tests.properties import families, families_groups, planting, worlds

FAMILIES = tuple(families.FAMILIES)

# where spread or affinity between pods meets nested groups: what the counting tiers cannot hold all at once
COUPLED_NESTED = frozenset(
    {"spread-nested", "topology-spread-nested", "anti-affinity-nested", "affinity-nested", "mixture"}
)

_BLUEPRINTS = 8  # requests tried before a tight instance settles for a random one


def instance(seed: int, family: str, tight: bool) -> tuple[Snapshot, Request]:
    """A small cluster and a request; at most 12 nodes, 3 levels, a handful of groups."""
    chance = Random(f"{family}:{tight}:{seed}")
    wishes = Random(f"wishes:{family}:{tight}:{seed}")  # by itself: more wishes leave everything else as it was
    for _ in range(_BLUEPRINTS if tight else 1):
        place, request = _blueprint(chance, wishes, family)
        if tight and (request_ := _tighten(chance, place, request)) is not None:
            return place.snapshot(), request_
    worlds.fill(chance, place)
    return place.snapshot(), request


def _blueprint(chance: Random, wishes: Random, family: str) -> tuple[worlds.World, Request]:
    place = worlds.world(chance, families_groups.ODD_NODE if family == "odd-quantities" else None)
    root = families.FAMILIES[family](chance, place)
    if wishes.random() < 0.2:
        root = families_groups.wishful(wishes, root, place.host)
    return place, Request("Gang", "default", family, root, topology=place.topology)


def _tighten(chance: Random, place: worlds.World, request: Request) -> Request | None:
    hidden = planting.plant(chance, place, request)
    if hidden is None:
        return None
    planting.shrink(chance, place, request, hidden)
    if chance.random() < 0.7:
        if chance.random() < 0.6:
            return planting.one_more(chance, request)
        planting.squeeze(chance, place, hidden)
    return request
