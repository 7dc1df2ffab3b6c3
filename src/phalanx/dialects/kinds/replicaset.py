"""apps/v1 ReplicaSet: pods that start as they fit, pod set ``main``. One that a Deployment made is placed with it."""

from phalanx.dialects import owners, replicated
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings

_KIND = "ReplicaSet"


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a ReplicaSet; None when it wants no pods."""
    replicated.check(doc, _KIND)
    wanted = replicated.replicas(doc, _KIND, around)
    if wanted is None:
        return None
    _warn_of_owner(doc)
    return replicated.free(doc, _KIND, around, wanted)


def _warn_of_owner(doc: Field) -> None:
    """One of several during a rollout; which others there are only its owner could say. (W-026, W-027)"""
    owner = owners.controller(doc.aside())
    if owner is not None:
        doc.at("metadata", "ownerReferences").warn(
            f"{owner.kind[:100]} {owner.name[:100]} is not among the documents that are read; this ReplicaSet is "
            "placed by itself, without others of the same owner"
        )
