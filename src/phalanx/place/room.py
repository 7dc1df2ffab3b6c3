"""The most pods of one shape that a single domain holds: a quick no for whoever needs more."""

from phalanx.model.nodes import PodShape
from phalanx.place import fit
from phalanx.place.draft import Draft


def most(draft: Draft, pod: PodShape, level: int) -> int:
    """The most pods that any domain of a level holds now. Too many where the draft cannot count them, never too few."""
    if draft.accommodate([pod.requests], "waiting") is not None:
        return fit.UNLIMITED
    counts = fit.capacity(draft, draft.shape(pod, level > 0)).levels
    return int(counts[level].max(initial=0)) if level < len(counts) else fit.UNLIMITED
