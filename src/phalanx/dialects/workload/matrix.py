"""Which field of the designs' Workload stands at which level, as their table of policies has it.

::

    level                    0 Workload   1 gang group   2 ranked group   3 eq group
    gang options                              x
    topologyRequest              x            x                x              x
    ranks                                                      x
    template, maxTemplate                                                     x
    counts                       x            x                x              x
    topologySpread               x
    replica disruption           x

The designs name no field for the last row, nor for where ranks go; they are read as ``replicaDisruptionPolicy`` and
``rankPlacement``.
"""

from phalanx.dialects.fields import Field

LEVELS = ("the Workload", "a gang group", "a ranked group", "an eq group")
LISTS = ("gangGroups", "podGroups", "rankedGroups", "eqGroups")

_GANG = ("gangMode", "policy", "replicas", "scheduleTimeoutSeconds", "schedulerTimeoutSeconds", "reschedulingPolicy")
_RANK = ("rankMode", "podRank", "rankPlacement")
_LEVELS_OF: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_GANG, (1,)),  # W-203
    "topologyRequest": (0, 1, 2, 3),  # W-204
    **dict.fromkeys(_RANK, (2,)),  # W-205
    **dict.fromkeys(("template", "maxTemplate"), (3,)),  # W-206
    **dict.fromkeys(("count", "minCount", "maxCount"), (0, 1, 2, 3)),  # W-207
    "topologySpread": (0,),  # W-208
    "replicaDisruptionPolicy": (0,),  # W-209
    "controllerRef": (0,),
    **dict.fromkeys(("replicaMode", "replicationMode"), (0,)),
    "name": (1, 2, 3),
    **dict.fromkeys(("gangGroups", "podGroups"), (0,)),
    "rankedGroups": (1,),
    "eqGroups": (2,),
}


def check(at: Field, level: int, *also: str) -> None:
    """A Problem for each field that the designs know and that means nothing at this level. (W-190, W-203..W-209)

    ``also``: fields that are let pass here because the reader has its own word on them.
    """
    if not at.mapping():
        return
    here = [name for name, levels in _LEVELS_OF.items() if level in levels]
    at.typos(*here, *also)
    for name, levels in _LEVELS_OF.items():
        if level not in levels and name not in also and at.at(name).present:
            at.at(name).wrong(_misplaced(name, level, levels))


def _misplaced(name: str, level: int, levels: tuple[int, ...]) -> str:
    if name in LISTS and level >= min(levels):  # W-115
        return "a Workload has four levels and no more: Workload, gang group, ranked group, eq group"
    homes = " or ".join(LEVELS[one] for one in levels)
    return f"{name} belongs to {homes}, not to {LEVELS[level]}"
