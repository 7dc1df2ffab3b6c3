"""What is odd about a pod in the eyes of its gang. It is told on the gang: nobody else would say why the pod waits."""

from collections.abc import Sequence

from phalanx.dialects.following.membership import Membership, Seat
from phalanx.dialects.links import REPLICA
from phalanx.model.problems import Problem

_SHOWN = 5  # parts of a workload that a message names


def relabelled(pod: str, known: Membership, said: Membership | None) -> Problem:
    """It says something else of itself than before, and stays where it is. (W-111)"""
    there = f"{known.pod_set} of {known.gang}"
    message = f"pod {pod} says something else of itself than when it was first seen; it stays in {there}"
    return Problem(f"Pod/{pod}: metadata.labels", None if said is None else said.pod_set, (), message)


def held(pod: str, gates: Sequence[str]) -> Problem:
    """Somebody else's gate is on it."""
    named = ", ".join(gates)
    message = f"pod {pod} is held back by somebody else's gate ({named}); it counts once that is off"
    return Problem(f"Pod/{pod}: spec.schedulingGates", named, (), message)


def lost(pod: str, replica: str | None, seats: Sequence[Seat]) -> Problem:
    """It belongs to its workload, and to no part of it."""
    parts = tuple(dict.fromkeys(seat.pods.name for seat in seats))
    named = ", ".join((*parts[:_SHOWN], *(["..."] if len(parts) > _SHOWN else [])))
    keyless = f"; it does not say which copy it is in: {_where(seats)}" if replica is None and _where(seats) else ""
    message = f"pod {pod} belongs to no part of its workload ({named}), and is not placed{keyless}"
    return Problem(f"Pod/{pod}: metadata.labels", replica, parts[:_SHOWN], message)


def _where(seats: Sequence[Seat]) -> str:
    """Where the pods of these places say in which copy they are."""
    paths = dict.fromkeys(level.path or f"metadata.labels['{REPLICA}']" for seat in seats for level in seat.levels)
    return " or ".join(list(paths)[:_SHOWN])


def torn(pod: str, carried: str, said: str) -> Problem:
    """It names two copies."""
    message = f"pod {pod} names copy {said!r}, but carries key {carried!r} where its gang says; the key is followed"
    return Problem(f"Pod/{pod}: metadata.labels['{REPLICA}']", said, (carried,), message)
