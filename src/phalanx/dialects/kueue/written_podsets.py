"""The pod sets of a Kueue Workload that is being written: what each asks for, and what is lost of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phalanx.dialects.parts import Kind, Part
from phalanx.dialects.written import Losses

_SETS_MAX = 8
_LAYERS_MAX = 3
_GROUP_SETS = 2  # pod sets of one group
_LEVEL_MAX = 63  # characters of a level's name
_JOB_INDEX = "batch.kubernetes.io/job-completion-index"
_LABEL = re.compile(r"metadata\.labels\['(.*)'\]")


@dataclass(frozen=True, slots=True)
class PodSet:
    """``near``: required or preferred level; ``slices``: level and size, coarse to fine; ``rank``: index labels."""

    name: str
    count: int
    least: int
    template: Mapping[str, Any]
    near: Mapping[str, Any]
    slices: tuple[tuple[str, int], ...] = ()
    group: str | None = None
    rank: Mapping[str, Any] | None = None


# -- groups ------------------------------------------------------------------------------------------------------


def group_of(name: str, members: Sequence[Part], near: Mapping[str, Any]) -> str | None:
    """The name that two groups in one domain share, where Kueue can join them: one of them is a single pod."""
    plain = [one for one in members if not one.children and len(one.kinds) == 1]
    bare = [one for one in plain if not one.near and not one.replicas and "slices" not in one.entry]
    if len(members) != _GROUP_SETS or len(bare) != _GROUP_SETS or all(one.count != 1 for one in bare):
        return None
    return _group_name(name) if "required" in near or "preferred" in near else None


def of_leaf(part: Part, around: Mapping[str, Any], joined: str | None, losses: Losses) -> list[PodSet]:
    """The pod sets of a group: one, or one for each class of its pods.

    ``around``: levels of the groups around it. ``joined``: the name it shares with a group that is in one domain.
    """
    who = f"group {part.name!r}"
    losses.each(part.entry, who, {"maxCount": ""})
    near, slices = _places(part, around, losses)
    group = joined or _group_of_classes(part, near, slices)
    shared = PodSet("", 0, 0, {}, _one_level(near, who, losses), slices, group, _rank(part, who, losses))
    made = [_pod_set(kind, part, shared, losses) for kind in part.kinds]
    if len(made) > 1:
        names, apart = " and ".join(one.name for one in made), "ranks" if group or not near else "domain and ranks"
        losses.say("podClasses", part.name, f"{who} becomes pod sets {names}, each with its own {apart}")
    return made


def _group_of_classes(part: Part, near: Mapping[str, Any], slices: object) -> str | None:
    """The group of a leader and its workers, which Kueue can keep in one domain."""
    counts = [kind.count for kind in part.kinds]
    if len(counts) != _GROUP_SETS or 1 not in counts or part.copies != 1 or slices:
        return None
    return _group_name(part.name) if "required" in near or "preferred" in near else None


def _group_name(name: str) -> str:
    return name if not name.isdigit() else f"group-{name}"  # Kueue takes no numbers


def _pod_set(kind: Kind, part: Part, shared: PodSet, losses: Losses) -> PodSet:
    name = f"{part.name}-{kind.name}" if kind.name else part.name
    count, least = part.copies * kind.count, kind.least
    if part.copies > 1 and kind.least < kind.count:
        losses.say("minCount of each copy", kind.least, f"copies of group {part.name!r} start whole")
    return replace(shared, name=name, count=count, least=count if part.copies > 1 else least, template=kind.template)


def tell_keyed(members: Iterable[Part], losses: Losses) -> None:
    """Groups whose copies show only when their pods do cannot be counted beforehand."""
    for part in members:
        if part.keyed:
            losses.say("replicaKey without replicas", part.name, f"group {part.name!r} is left out")
        tell_keyed(part.children, losses)


# -- levels ------------------------------------------------------------------------------------------------------


def _places(
    part: Part, around: Mapping[str, Any], losses: Losses
) -> tuple[Mapping[str, Any], tuple[tuple[str, int], ...]]:
    """The level around all pods of a group, and its slices; copies that need a domain each are the coarsest ones."""
    slices = tuple((str(one["level"]), int(one["size"])) for one in part.entry.get("slices", ()))
    who = f"group {part.name!r}"
    if part.copies > 1 and part.near:
        for key in ("preferred", "spread"):
            if key in part.near:
                losses.say(f"{key} for each copy", part.near[key], f"{who} is written without")
        level = part.near.get("required")
        if level is None:
            return around, slices
        # pods of one domain are in slices of that level anyway
        return around, ((str(level), part.count), *(one for one in slices if one[0] != level))
    if part.near and around:
        losses.say("nesting", part.name, f"{who} keeps its own levels only")
    return part.near or around, slices


def _one_level(near: Mapping[str, Any], who: str, losses: Losses) -> Mapping[str, Any]:
    if "spread" in near:
        losses.say("spread", near["spread"], f"{who} is written without")
    if "required" in near and "preferred" in near:
        losses.say("required and preferred together", near["preferred"], f"{who} keeps the required level")
    kept = [key for key in ("required", "preferred") if key in near]
    return {key: near[key] for key in kept[:1]}


# -- ranks -------------------------------------------------------------------------------------------------------


def _rank(part: Part, who: str, losses: Losses) -> Mapping[str, Any] | None:
    """Where the index of a pod stands. Kueue puts neighbours in rank side by side, and knows no other order."""
    if "rank" not in part.entry:
        return None
    rank = part.entry["rank"]
    index, copy = _label(rank.get("fieldPath", "")), _label(part.entry.get("replicaKey", ""))
    if rank.get("order", "Consecutive") != "Consecutive":
        losses.say(f"rank.order {rank['order']}", rank["order"], f"{who} has its ranks side by side")
    if "withSameRankOf" in rank:
        losses.say("rank.withSameRankOf", rank["withSameRankOf"], f"{who} is written without")
    if index is None or (part.copies > 1 and copy is None):
        losses.say("rank without a label that holds it", rank.get("fieldPath"), f"{who} is written without ranks")
        return None
    if part.copies > 1 and copy is not None:
        return {"podIndexLabel": index, "subGroupIndexLabel": copy, "subGroupCount": part.copies}
    return {"podIndexLabel": index}


def _label(path: str) -> str | None:
    """The label at a field path. A Job's pods carry their index twice, as an annotation and as a label."""
    found = _LABEL.fullmatch(path)
    return _JOB_INDEX if path == f"metadata.annotations['{_JOB_INDEX}']" else found[1] if found else None


# -- the whole ---------------------------------------------------------------------------------------------------


def check(sets: Sequence[PodSet], losses: Losses) -> None:
    """What Kueue does not allow of a Workload's pod sets together."""
    if len(sets) > _SETS_MAX:
        losses.say(f"more than {_SETS_MAX} pod sets", len(sets), f"the Workload has {len(sets)}")
    for one in [one for one in sets if one.least < one.count][1:]:
        losses.say("minCount of a second pod set", one.least, f"pod set {one.name!r} starts whole")
    for one in sets:
        if len(one.slices) > _LAYERS_MAX:
            losses.say(f"more than {_LAYERS_MAX} layers of slices", len(one.slices), f"pod set {one.name!r} has more")
        for level in [*one.near.values(), *(level for level, _ in one.slices)]:
            if len(level) > _LEVEL_MAX:
                losses.say(f"levels of more than {_LEVEL_MAX} characters", level, f"pod set {one.name!r} names one")
        if not _containers(one):
            losses.say("pods without containers", None, f"pod set {one.name!r} gets one that requests nothing")


def document(one: PodSet, sets: Sequence[PodSet]) -> dict[str, Any]:
    """A pod set as it stands in the Workload."""
    partial = next((other for other in sets if other.least < other.count), None)
    request = _request(one, any(other.near for other in sets))
    return {
        "name": one.name,
        "count": one.count,
        **({"minCount": one.least} if one is partial else {}),
        **({"topologyRequest": request} if request else {}),
        "template": one.template if _containers(one) else _with_container(one.template),
    }


def _request(one: PodSet, levels_used: bool) -> dict[str, Any]:
    """Where one pod set asks for a level each says something, be it that none matters. (K-038)"""
    request = dict(one.near)
    if levels_used and not one.near and not one.slices:
        request["unconstrained"] = True
    if len(one.slices) == 1:
        ((level, size),) = one.slices
        request |= {"podSetSliceRequiredTopology": level, "podSetSliceSize": size}
    elif one.slices:
        layers = [{"topology": level, "size": size} for level, size in one.slices[:_LAYERS_MAX]]
        request["podsetSliceRequiredTopologyConstraints"] = layers
    if one.group is not None:
        request["podSetGroupName"] = one.group
    return {**request, **(one.rank or {})}


def _containers(one: PodSet) -> object:
    return one.template.get("spec", {}).get("containers")


def _with_container(template: Mapping[str, Any]) -> dict[str, Any]:
    return {**template, "spec": {**template.get("spec", {}), "containers": [{"name": "main"}]}}
