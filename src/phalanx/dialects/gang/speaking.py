"""The places of a Gang that name a level, before anything else of it is read: together they tell its topology."""

from collections.abc import Iterator

from phalanx.dialects.fields import Field
from phalanx.dialects.gang.declared import GROUPS_MAX

_SLICES_MAX = 8


def levels(spec: Field) -> list[Field]:
    """Every field that names a level, in the order written. What is wrong with them is told where they are read."""
    listed = spec.at("podGroups").aside().items(limit=GROUPS_MAX)
    found = [*_near(spec), *(at for group in listed for at in _of_group(group))]
    return [at for at in found if at.present]


def _of_group(group: Field) -> Iterator[Field]:
    yield from _near(group)
    yield from (entry.at("level") for entry in group.at("slices").aside().items(limit=_SLICES_MAX))
    yield group.at("rank", "across")
    yield group.at("rank", "level")


def _near(holder: Field) -> Iterator[Field]:
    topology = holder.at("topology")
    yield from (topology.at("required"), topology.at("preferred"), topology.at("spread", "level"))
