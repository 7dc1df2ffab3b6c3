"""What is odd about a pod in the eyes of its gang. It is told on the gang: nobody else would say why the pod waits."""

from collections.abc import Sequence

from phalanx.dialects.following.membership import Membership, Seat
from phalanx.dialects.links import REPLICA
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

_SHOWN = 5  # parts of a workload that a message names


def relabelled(pod: ObjectKey, known: Membership, said: Membership | None) -> Problem:
    """It says something else of itself than before, and stays where it is. (W-111)"""
    there = f"{known.pod_set} of {known.gang}"
    message = f"pod {pod.name} says something else of itself than when it was first seen; it stays in {there}"
    return Problem("metadata.labels", None if said is None else said.pod_set, (), message, pod)


def held(pod: ObjectKey, gates: Sequence[str]) -> Problem:
    """Somebody else's gate is on it."""
    named = ", ".join(gates)
    message = f"pod {pod.name} is held back by somebody else's gate ({named}); it counts once that is off"
    return Problem("spec.schedulingGates", named, (), message, pod)


def waits(pod: ObjectKey, what: str) -> Problem:
    """A volume of it is not there."""
    return Problem("spec.volumes", None, (), what, pod)


def lost(pod: ObjectKey, replica: str | None, seats: Sequence[Seat]) -> Problem:
    """It belongs to its workload, and to no part of it."""
    parts = tuple(dict.fromkeys(seat.pods.name for seat in seats))
    named = ", ".join((*parts[:_SHOWN], *(["..."] if len(parts) > _SHOWN else [])))
    why = f"; it does not say which copy it is in: {_where(seats)}" if replica is None and _where(seats) else ""
    if not why and any(seat.like is not None for seat in seats):
        why = "; the pods of its gang ask for something else, and are as many as it is to have"
    message = f"pod {pod.name} belongs to no part of its workload ({named}), and is not placed{why}"
    return Problem("metadata.labels", replica, parts[:_SHOWN], message, pod)


def _where(seats: Sequence[Seat]) -> str:
    """Where the pods of these places say in which copy they are."""
    paths = dict.fromkeys(level.path or f"metadata.labels['{REPLICA}']" for seat in seats for level in seat.levels)
    return " or ".join(list(paths)[:_SHOWN])


def torn(pod: ObjectKey, carried: str, said: str) -> Problem:
    """It names two copies."""
    message = (
        f"pod {pod.name} names copy {said!r}, but carries key {carried!r} where its gang says; the key is followed"
    )
    return Problem(f"metadata.labels['{REPLICA}']", said, (carried,), message, pod)
