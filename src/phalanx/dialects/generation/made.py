"""The Gang that is made for a workload, and how it follows its workload afterwards.

Its spec has two parts (W-023). What is copied from the workload (groups, counts, templates, whether it is suspended)
follows the workload. Everything else (queue, levels, time-outs, fields nobody here knows) is decoration: it starts as
the workload's annotations say and belongs to whoever edits it from then on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from phalanx.dialects import jobspec, kindtable, owners, parts, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.gang import written
from phalanx.dialects.generation import linking
from phalanx.dialects.generation.stacks import JOB, Top
from phalanx.dialects.generation.values import Document
from phalanx.dialects.kindtable import PodIdentity
from phalanx.dialects.members import value
from phalanx.dialects.outline import Outline
from phalanx.dialects.parts import Part

GANG = ("phalanx.dev", "Gang")

_ONLY_IF_SAID = frozenset(row.key for row in kindtable.ROWS if row.pods is PodIdentity.ALIKE)  # W-182
_COPIED = ("controllerRef", "suspend", "policy", "minGroups", "podGroups")
_COPIED_OF_GROUP = (
    "name", "parent", "replicas", "replicaKey", "count", "minCount", "maxCount", "policy", "minGroups", "podClasses",
    "template",
)  # fmt: skip


# -- gang or not -------------------------------------------------------------------------------------------------


def wants_gang(top: Top) -> bool:
    """Whether something is generated for a workload that names nothing itself: it is a gang, and not by chance.

    Pods of a NonIndexed Job know nothing of each other; placed together where they can be, they get an object only
    when somebody asks for one (W-117).
    """
    mode = top.mode()
    if mode == "Off" or top.outline is None or (top.kind in _ONLY_IF_SAID and mode != "Gang"):
        return False
    plain = top.kind == JOB and not jobspec.indexed(top.at.at("spec").aside())
    return is_gang(top.outline) and (not plain or mode == "Gang" or _asked(top))


def _asked(top: Top) -> bool:
    template = top.at.at("spec", "template", "metadata")
    above = [] if top.cron is None else [top.cron.at("metadata")]
    return any(wishes.asked(metadata, [template]) for metadata in (top.at.at("metadata"), *above))


def is_gang(outline: Outline) -> bool:
    """Whether some of its pods wait for others: a unit of it starts with two pods at least."""
    whole = parts.of(outline)
    if whole.policy == "Basic":
        return any(_start(part) > 1 for part in whole.parts)
    return _together(whole.parts, whole.spec.get("minGroups")) > 1


def _start(part: Part) -> int:
    """Pods that one copy of a group starts with."""
    if not part.children:
        return part.least
    return 0 if part.policy == "Basic" else _together(part.children, part.entry.get("minGroups"))


def _together(members: Sequence[Part], least: int | None) -> int:
    """Pods that the fewest members, the smallest of them, start with."""
    sizes = sorted(size for part in members for size in [_start(part)] * part.copies)
    return sum(sizes if least is None else sizes[:least])


# -- the Gang ----------------------------------------------------------------------------------------------------


def gang(top: Top, outline: Outline, usual: Mapping[str, object]) -> Document:
    """The Gang of a workload. ``usual``: what the cluster's policy says where the workload says nothing. (W-080)"""
    api_group, kind = top.kind
    reference = {"apiGroup": api_group, "kind": kind, "name": outline.name}
    made = _written(replace(outline, spec={**usual, **_said(outline), "controllerRef": reference}))
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner(top.at)]}}


def _said(outline: Outline) -> dict[str, object]:
    return {name: one for name, one in outline.spec.items() if value(one) is not None}


def _written(outline: Outline) -> Document:
    (made,) = written.write(outline).documents
    groups = [_with_bare_templates(group) for group in made["spec"]["podGroups"]]
    return {**made, "spec": {**made["spec"], "podGroups": groups}}


def _with_bare_templates(holder: Mapping[str, Any]) -> Document:
    made = dict(holder)
    if "template" in made:
        made["template"] = linking.bare(made["template"])
    if "podClasses" in made:
        made["podClasses"] = [_with_bare_templates(one) for one in made["podClasses"]]
    return made


def owner(doc: Field, controls: bool = True) -> Document:
    """The reference by which an object goes when its workload goes; with the uid where it is known. (W-083)

    A plain one (adoption) does not keep the workload's deletion waiting.
    """
    uid = doc.at("metadata", "uid").value
    made = {"apiVersion": doc.at("apiVersion").value, "kind": doc.at("kind").value}
    made["name"] = doc.at("metadata", "name").value
    known = {"uid": uid} if isinstance(uid, str) else {}
    return {**made, **known, **({"controller": True, "blockOwnerDeletion": True} if controls else {})}


def is_of(existing: Field, top: Top) -> bool:
    """Whether an object was generated for this workload: it is its controller, and no earlier one of that name was."""
    found, uid = owners.controller(existing.aside()), top.at.at("metadata", "uid").value
    if found is None or (found.api_group, found.kind, found.name) != (top.doc.group, top.doc.kind, top.doc.name):
        return False
    return not found.uid or not isinstance(uid, str) or found.uid == uid


# -- following the workload --------------------------------------------------------------------------------------


def refreshed(existing: Mapping[str, Any], outline: Outline) -> Document:
    """A Gang with its copied part as the workload is now, and its decoration as it was."""
    return following(existing, _written(outline))


def following(existing: Mapping[str, Any], fresh: Mapping[str, Any]) -> Document:
    """The existing Gang with the copied part, and the controller, of one made anew."""
    spec, wanted = _mapping(existing.get("spec")), fresh["spec"]
    listed = spec.get("podGroups")
    groups = {one.get("name"): one for one in map(_mapping, listed if isinstance(listed, list) else ())}
    merged = [_merged(groups.get(one["name"], {}), one, _COPIED_OF_GROUP) for one in wanted["podGroups"]]
    copied = tuple(name for name in _COPIED if name != "controllerRef" or name in wanted)
    made = _merged(spec, {**wanted, "podGroups": merged}, copied)
    return {**existing, "metadata": owned(existing, fresh), "spec": made}


def owned(existing: Mapping[str, Any], fresh: Mapping[str, Any]) -> Document:
    """The existing metadata with the controller as it is written today: a uid may be known by now."""
    metadata, wanted = _mapping(existing.get("metadata")), fresh["metadata"].get("ownerReferences")
    given = metadata.get("ownerReferences")
    if not wanted or not isinstance(given, list):
        return dict(metadata)
    ours = [wanted[0] if _mapping(one).get("controller") is True else one for one in given]
    return {**metadata, "ownerReferences": ours}


def _merged(old: Mapping[str, Any], new: Mapping[str, Any], copied: tuple[str, ...]) -> Document:
    """Copied fields as they are in the new one, all others as in the old one where that has them."""
    kept = {
        name: new.get(name) if name in copied else one for name, one in old.items() if name not in copied or name in new
    }
    return {**kept, **{name: one for name, one in new.items() if name not in kept}}


def departures(existing: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[str]:
    """Decorations of the Gang that differ from what its workload asks for, as paths."""
    spec, wanted = _mapping(existing.get("spec")), fresh["spec"]
    found = [f"spec.{name}" for name in wanted if name not in _COPIED and name in spec and spec[name] != wanted[name]]
    groups = {one["name"]: one for one in wanted["podGroups"]}
    for i, one in enumerate(map(_mapping, spec.get("podGroups", ()))):
        asked = groups.get(one.get("name"), {})
        names = [name for name in asked if name not in _COPIED_OF_GROUP and name in one and one[name] != asked[name]]
        found += [f"spec.podGroups[{i}].{name}" for name in names]
    return found


def _mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def over(existing: Mapping[str, Any], fresh: Mapping[str, Any]) -> Document:
    """The existing Workload of a JobSet with everything that one made anew says; the rest stays."""
    spec = _over(_mapping(existing.get("spec")), fresh["spec"])
    return {**existing, "metadata": owned(existing, fresh), "spec": spec}


def _over(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    return {**old, **{name: _value_over(old.get(name), one) for name, one in new.items()}}


def _value_over(old: object, new: Any) -> Any:
    """The new value; mappings, and lists of named ones, keep what only the old one says."""
    if isinstance(new, Mapping):
        return _over(_mapping(old), new)
    if not isinstance(new, list):
        return new
    named = {one.get("name"): one for one in map(_mapping, old if isinstance(old, list) else ())}
    return [_over(named.get(one["name"], {}), one) for one in new]
