"""Objects as effects and events name them."""

from phalanx.dialects import kindtable
from phalanx.model.objects import Incarnation, ObjectKey


def owner(name: str, kind: str = "Job", uid: str = "") -> Incarnation:
    """What makes the pods of a gang: an object of a kind that is suspended and resumed."""
    group = next(group for group, known in kindtable.SUSPENDED if known == kind)
    return Incarnation(ObjectKey(group, kind, "default", name), uid)


def node(name: str) -> ObjectKey:
    return ObjectKey("", "Node", "", name)
