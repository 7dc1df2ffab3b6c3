"""What an object that gathers pods takes over from the workloads whose pods name it, and what it does not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phalanx.dialects.fields import Field
from phalanx.dialects.members import value
from phalanx.dialects.outline import Outline

_TAKEN = ("queue", "priorityClassName")  # where it says nothing itself


def inherited(outline: Outline, makers: Sequence[Outline]) -> Outline:
    """The outline with the queue and the priority of its makers where it has none, and held back while one of them is.

    Their levels and slices are not taken over: they speak of pods that another object has gathered, and that one
    says what holds for all of them. That is a warning to the one who wrote them.
    """
    if not makers:
        return outline
    for maker in makers:
        _warn_of_wishes(maker, outline)
    taken = {key: _first(makers, key) for key in _TAKEN if value(outline.spec.get(key)) is None}
    held = [one for one in (maker.spec.get("suspend") for maker in makers) if value(one) is True]
    suspend = {"suspend": held[0]} if held else {}
    return replace(outline, spec={**outline.spec, **taken, **suspend})


def _first(makers: Sequence[Outline], key: str) -> object:
    return next((maker.spec[key] for maker in makers if value(maker.spec.get(key)) is not None), None)


def _warn_of_wishes(maker: Outline, outline: Outline) -> None:
    for holder in (maker.spec, *maker.groups):
        wishes = holder.get("topology")
        for key in ("required", "preferred"):
            at = wishes.get(key) if isinstance(wishes, Mapping) else None
            if isinstance(at, Field) and at.present:
                at.warn(f"is not followed: the pods belong to {outline.kind} {outline.name}; ask for levels there")
