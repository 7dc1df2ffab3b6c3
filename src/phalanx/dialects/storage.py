"""From PersistentVolumeClaims, PersistentVolumes and PriorityClasses to what a pod's reader looks up."""

from collections.abc import Mapping
from dataclasses import dataclass

from phalanx.dialects import nodefilter
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Claim, identity
from phalanx.model.nodes import Term


@dataclass(frozen=True, slots=True)
class Bound:
    """A claim as written: the volume it names, not yet looked up."""

    volume: str
    one_pod: bool


def claim(doc: Field) -> tuple[tuple[str, str], Bound]:
    doc.at("spec").mapping()
    modes = [mode.value for mode in doc.at("spec", "accessModes").items()]
    return identity(doc), Bound(doc.at("spec", "volumeName").text(""), "ReadWriteOncePod" in modes)


def volume(doc: Field) -> tuple[str, tuple[Term, ...] | None]:
    """A volume's name and the nodes it can be reached from (None: all)."""
    doc.at("spec").mapping()
    affinity = doc.at("spec", "nodeAffinity")
    affinity.mapping()
    required = affinity.at("required")
    return identity(doc)[1], nodefilter.terms(required) if required.present else None


def join(
    claims: Mapping[tuple[str, str], Bound], volumes: Mapping[str, tuple[Term, ...] | None]
) -> dict[tuple[str, str], Claim]:
    """Claims with the places their volumes can be reached from."""
    return {
        key: Claim(bound.volume, bound.volume in volumes, volumes.get(bound.volume), bound.one_pod)
        for key, bound in claims.items()
    }


def priority_class(doc: Field) -> tuple[str, int, bool]:
    """Name, value, and whether pods that name no class get this one."""
    value = doc.at("value").integer(0, low=-(2**31))
    if not doc.at("value").present:
        doc.at("value").wrong("a PriorityClass needs a value")
    return identity(doc)[1], value, doc.at("globalDefault").flag(False)
