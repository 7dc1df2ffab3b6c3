"""What an eviction of its whole gang would end for good, of manifests that are in no cluster yet."""

from collections.abc import Iterable, Mapping
from typing import Any

from phalanx.cluster import Note
from phalanx.dialects.following import Follower, limits
from phalanx.kube.configuration import Configuration
from phalanx.model.objects import ObjectKey


def found(docs: Iterable[Mapping[Any, Any]], settings: Configuration) -> list[tuple[str, Note]]:
    """Notes with the workload that each is about, as the scheduler would tell them."""
    follower = Follower(settings.marks())
    for doc in docs:
        follower.seen(doc)
    told = follower.tell()
    return [
        (_title(told.subjects[gang].key), Note(one.path, one.value, one.allowed, one.message, one.about, one.place))
        for gang, notes in sorted(told.notes.items())
        for one in notes
        if one.field in limits.FIELDS
    ]


def _title(key: ObjectKey) -> str:
    return f"{key.kind} {key.namespace}/{key.name}"
