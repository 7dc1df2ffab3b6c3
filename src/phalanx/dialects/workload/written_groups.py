"""Gang groups, ranked groups and eq groups of a Workload that is being written."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from phalanx.dialects import parts
from phalanx.dialects.parts import Part
from phalanx.dialects.written import Losses

_LEAF = {"slices": ""}
_INNER = {"minGroups": "all groups of a gang start together"}
_PLACEMENT = ("order", "across", "withSameRankOf", "level")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_REPLICA = "metadata.labels['phalanx.dev/replica']"

Made = dict[str, Any]


def gang_group(part: Part, near: Mapping[str, Any], losses: Losses) -> Made:
    """A gang group: of a group with pods, which is its only ranked group, or of groups below it."""
    who = f"group {part.name!r}"
    _tell_spread(near, who, losses)
    alone = not part.children
    gang = _is_gang(part, losses)
    made = {
        "name": label(part.name, losses),
        "gangMode": None if gang else "Off",
        "minCount": part.least if alone and gang else None,
        "maxCount": part.entry.get("maxCount") if alone else None,
        "replicas": part.replicas,
        "topologyRequest": request(near),
        "rankedGroups": [_ranked(part, {}, gang, losses, alone)] if alone else _below(part, gang, losses),
    }
    _tell_key(part, losses)
    return _kept(made)


def _below(part: Part, gang: bool, losses: Losses) -> list[Made]:
    losses.each(part.entry, f"group {part.name!r}", _INNER)
    tell_keyed(part.children, losses)
    members = parts.unfolded(part.children)
    if len(members) == 1:
        losses.say("a group around a single one", part.name, f"groups {part.name!r} and {members[0].name!r} are one")
    return [_ranked(one, one.near, gang, losses) if not one.children else _around(one, losses) for one in members]


def _is_gang(part: Part, losses: Losses) -> bool:
    """Pods of a group that is no gang start as they fit. Copies are gangs always."""
    copied = part.replicas is not None or part.keyed
    if not part.children:
        return part.least > 1 or part.count == 1 or copied
    if part.policy == "Basic" and copied:
        losses.say("copies of a group with policy Basic", part.name, f"each copy of {part.name!r} starts whole")
    elif part.policy == "Basic" and any(leaf.least > 1 for leaf in part.leaves()):
        losses.say("policy Basic over gangs", part.name, f"pods of group {part.name!r} start as they fit")
    return part.policy != "Basic" or copied


# -- ranked groups -----------------------------------------------------------------------------------------------


def _ranked(part: Part, near: Mapping[str, Any], gang: bool, losses: Losses, alone: bool = False) -> Made:
    """A group with pods. ``alone``: its counts stand at the gang group."""
    who = f"group {part.name!r}"
    losses.each(part.entry, who, _LEAF)
    _tell_spread(near, who, losses)
    partial = not alone and gang and part.least < part.count
    made = {
        "name": label(part.name, losses),
        **_rank(part, who, losses),
        "minCount": part.least if partial else None,
        "maxCount": None if alone else part.entry.get("maxCount"),
        "topologyRequest": request(near),
        "eqGroups": [
            {"name": label(kind.name or part.name, losses), "count": kind.count, "template": dict(kind.template)}
            for kind in part.kinds
        ],
    }
    return _kept(made)


def _around(part: Part, losses: Losses) -> Made:
    """A group of groups below a gang: an unranked group, whose eq groups are those with pods."""
    who = f"group {part.name!r}"
    losses.each(part.entry, who, {**_INNER, "policy": "all groups of a gang start together"})
    _tell_spread(part.near, who, losses)
    tell_keyed(part.children, losses)
    leaves = [leaf for child in parts.unfolded(part.children) for leaf in child.leaves()]
    if any(child.children for child in part.children):
        losses.say("nesting of more than three levels", part.name, f"groups below {part.name!r} are side by side")
    if not any(leaf.near for leaf in leaves) or len(leaves) == 1:
        losses.say("groups inside a ranked group", part.name, f"those of {part.name!r} are classes of its pods")
    equals = [one for leaf in leaves for one in _equal(leaf, losses)]
    made = {"name": label(part.name, losses), "rankMode": "Off", "topologyRequest": request(part.near)}
    return _kept({**made, "eqGroups": equals})


def _equal(part: Part, losses: Losses) -> list[Made]:
    who = f"group {part.name!r}"
    losses.each(part.entry, who, {**_LEAF, "rank": "", "maxCount": "", "minCount": ""})
    _tell_spread(part.near, who, losses)
    if len(part.kinds) > 1:
        losses.say("podClasses below a ranked group", part.name, f"{who} becomes one eq group for each")
    return [
        _kept({
            "name": label(f"{part.name}-{kind.name}" if kind.name else part.name, losses),
            "count": kind.count,
            "topologyRequest": request(part.near),
            "template": dict(kind.template),
        })
        for kind in part.kinds
    ]  # fmt: skip


def _rank(part: Part, who: str, losses: Losses) -> Made:
    if "rank" not in part.entry:
        return {"rankMode": "Off"}
    rank = part.entry["rank"]
    if "fieldPath" not in rank:
        losses.say("rank without fieldPath", rank.get("order"), f"{who} is written without ranks")
        return {"rankMode": "Off"}
    placement = {key: rank[key] for key in _PLACEMENT if key in rank}
    source = {"podRank": {"valueFrom": {"fieldRef": {"fieldPath": rank["fieldPath"]}}}}
    return {**source, **({"rankPlacement": placement} if placement not in ({}, {"order": "Consecutive"}) else {})}


# -- parts of all levels -----------------------------------------------------------------------------------------


def request(near: Mapping[str, Any]) -> Made | None:
    return {key: near[key] for key in ("required", "preferred") if key in near} or None


def label(name: str, losses: Losses) -> str:
    """A name that Kubernetes takes for a group (W-132)."""
    if _LABEL.fullmatch(name):
        return name
    made = re.sub(r"[^a-z0-9]+", "-", name.lower())[:63].strip("-") or "group"
    losses.say(f"the name {name[:80]!r}", name, f"the group is called {made!r}")
    return made


def tell_keyed(members: Iterable[Part], losses: Losses) -> None:
    """Copies that nobody counts are gangs of their own, and so nothing but a gang group has them."""
    for part in members:
        if part.keyed:
            losses.say("replicaKey without replicas below the top", part.name, f"group {part.name!r} is left out")


def _tell_key(part: Part, losses: Losses) -> None:
    key = part.entry.get("replicaKey")
    if key is not None and key != _REPLICA:
        losses.say("replicaKey", key, "pods name their copy in spec.workload.podGroupReplicaKey")


def _tell_spread(near: Mapping[str, Any], who: str, losses: Losses) -> None:
    if "spread" in near:
        losses.say("spread below the top", near["spread"], f"{who} is written without")


def _kept(made: Mapping[str, Any]) -> Made:
    return {key: value for key, value in made.items() if value is not None}
