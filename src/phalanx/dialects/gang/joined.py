"""Groups of a Gang that say nothing of their pods: what the pods and workloads that name the Gang tell of them."""

from phalanx.dialects import members
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings

_GROUP = "phalanx.dev"


def filled(outline: Outline, around: Surroundings) -> Outline:
    """The outline with templates and counts of its members where it has none of its own. (W-017)"""
    joining = around.neighbours.members(_GROUP, "Gang", outline.namespace, outline.name)
    listed = outline.spec.get("podGroups")
    if not joining or not isinstance(listed, Field):
        return outline
    return members.fill(outline, listed, joining, around)
