"""KAI's ``topologyConstraint``: how close together a PodGroup, or one of its subgroups, must be."""

from collections.abc import Sequence

from phalanx.dialects.fields import Field
from phalanx.model.problems import shown
from phalanx.model.topology import Topology

_REQUIRED, _PREFERRED = "requiredTopologyLevel", "preferredTopologyLevel"


def of(holder: Field) -> Field:
    """The constraint of a PodGroup or subgroup, by its name today or by the plural of the first design (X-04)."""
    today, plural = holder.at("topologyConstraint"), holder.at("topologyConstraints")
    if plural.present and today.present:
        plural.wrong("topologyConstraint is given beside it and says the same thing; give that one alone")
    elif plural.present:
        plural.warn("is read as topologyConstraint, which is its name in KAI today", ("topologyConstraint",))
    found = today if today.present or not plural.present else plural
    found.mapping()
    found.typos("topology", _REQUIRED, _PREFERRED)
    if written(found.at("topology")).present and not _asks(found):
        found.warn(f"names a topology but no level, and so asks for nothing; levels stand in {_REQUIRED}, {_PREFERRED}")
    return found


def near(constraint: Field) -> dict[str, object]:
    """The constraint as ``topology`` of the normal form."""
    levels = {"required": written(constraint.at(_REQUIRED)), "preferred": written(constraint.at(_PREFERRED))}
    return {"topology": constraint.meaning(levels)} if _asks(constraint) else {}


def topology_name(constraints: Sequence[Field], topologies: Sequence[Topology]) -> Field:
    """Where the topology of a PodGroup is named. All constraints that name one name the same (M-019).

    Subgroups nest, and domains of two trees do not. KAI wants the name beside every level (KA-022); it may be left
    out where one Topology exists (X-39).
    """
    named = [one.at("topology") for one in constraints if written(one.at("topology")).present]
    nameless = [one.at("topology") for one in constraints if _asks(one) and not written(one.at("topology")).present]
    for other in named[1:]:
        if other.value != named[0].value:
            other.mistaken(
                f"is another Topology than {shown(named[0].value)!r} at {named[0].path}; "
                "subgroups nest in one tree, so all of a PodGroup name the same"
            )
    if named and len(topologies) > 1:
        names = tuple(sorted(topology.name for topology in topologies))
        for at in nameless:
            at.wrong(f"a level is used and several topologies exist; name one of {', '.join(names)}", names)
    return (named or nameless or [constraints[0].at("topology")])[0]


def written(at: Field) -> Field:
    """The field; one that holds nothing where an empty text stands for that, as in objects that Go wrote."""
    return at.meaning(None) if at.value == "" else at


def _asks(constraint: Field) -> bool:
    return any(written(constraint.at(level)).present for level in (_REQUIRED, _PREFERRED))
