"""Wishes of groups inside groups: a bound that an outer one already keeps tighter changes nothing."""

from phalanx.dialects.gang.declared import Forest
from phalanx.dialects.levels import Levels


def check(forest: Forest, outer: int | None, levels: Levels) -> None:
    """A warning for each required level that is wider than one around it. (M-018)"""
    for name in forest.roots:
        _check(forest, name, outer, levels)


def _check(forest: Forest, name: str, outer: int | None, levels: Levels) -> None:
    entry = forest.groups[name]
    own = entry.near.required
    if own is not None and outer is not None and own < outer:
        entry.at.at("topology", "required").warn(
            f"level {levels.label(own)!r} is wider than {levels.label(outer)!r}, which a group around this one "
            "requires, and so changes nothing"
        )
    narrowest = max((level for level in (own, outer) if level is not None), default=None)
    for child in entry.children:
        _check(forest, child, narrowest, levels)
