"""apps/v1 ReplicaSet: pods that start as they fit, pod set ``main``. One that a Deployment made is placed with it.

A v1 ReplicationController is the same by its older name.
"""

from phalanx.dialects import owners, replicated
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a ReplicaSet; None when it wants no pods."""
    return _read(doc, "ReplicaSet", around)


def read_controller(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a ReplicationController; None when it wants no pods."""
    return _read(doc, "ReplicationController", around)


def _read(doc: Field, kind: str, around: Surroundings) -> Outline | None:
    replicated.check(doc, kind)
    wanted = replicated.replicas(doc, kind, around)
    if wanted is None:
        return None
    _warn_of_owner(doc, kind)
    return replicated.free(doc, kind, around, wanted)


def _warn_of_owner(doc: Field, kind: str) -> None:
    """One of several during a rollout; which others there are only its owner could say. (W-026, W-027)"""
    owner = owners.controller(doc.aside())
    if owner is not None:
        doc.at("metadata", "ownerReferences").warn(
            f"{owner.kind[:100]} {owner.name[:100]} is not among the documents that are read; this {kind} is "
            "placed by itself, without others of the same owner"
        )
