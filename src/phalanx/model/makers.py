"""What makes the pods of a gang, and whether it is held back just now."""

from dataclasses import dataclass

from phalanx.model.objects import Incarnation


@dataclass(frozen=True, slots=True)
class Maker:
    """A Job or the like. ``suspended``: it makes no pods. ``marked``: our note is on it that we suspended it; so it is
    for us to let it go, also after a restart. ``spared``: it is let go, and not suspended (again) for the gang."""

    object: Incarnation
    suspended: bool = False
    marked: bool = False
    spared: bool = False
