"""Wishes of groups inside groups: a level that an outer group already keeps tighter changes nothing."""

from dataclasses import replace

from phalanx.dialects.gang.declared import Declared, Forest
from phalanx.dialects.gang.near import Near
from phalanx.dialects.levels import Levels


def narrowed(forest: Forest, outer: Near, levels: Levels) -> Forest:
    """The forest without levels wider than one required around them, and a warning for each. (M-018, X-29)"""
    found: dict[str, Declared] = dict(forest.groups)
    for name in forest.roots:
        _narrow(found, name, outer.required, levels)
    return replace(forest, groups=found)


def _narrow(groups: dict[str, Declared], name: str, outer: int | None, levels: Levels) -> None:
    entry = groups[name]
    kept = {}
    for key in ("required", "preferred"):
        own = entry.near.required if key == "required" else entry.near.preferred
        if own is not None and outer is not None and own < outer:
            _warn(entry, key, own, outer, levels)
            own = None
        kept[key] = own
    groups[name] = replace(entry, near=Near(kept["required"], kept["preferred"], entry.near.spread))
    narrowest = outer if kept["required"] is None else kept["required"]
    for child in entry.children:
        _narrow(groups, child, narrowest, levels)


def _warn(entry: Declared, key: str, own: int, outer: int, levels: Levels) -> None:
    entry.at.at("topology", key).warn(
        f"level {levels.label(own)!r} is wider than {levels.label(outer)!r}, which a group around this one "
        "requires, and so changes nothing"
    )
