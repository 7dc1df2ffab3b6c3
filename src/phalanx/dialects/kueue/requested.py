"""``topologyRequest`` of a pod set in Kueue's Workload, in the first design's form and in today's.

::

    {policy: Required, level: topology/rack}                       the design's (K-041 to K-043)
    {required: topology/rack}                                      today's
    {podSetSliceRequiredTopology: topology/host, podSetSliceSize: 4}
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from phalanx.dialects import outline, wishes
from phalanx.dialects.clusterstate import is_label_key
from phalanx.dialects.fields import Field
from phalanx.model.problems import Problem
from phalanx.model.topology import Topology

_LEVELS = ("required", "preferred", "podSetSliceRequiredTopology")
_CHOICES = ("required", "preferred", "unconstrained")
_PAIR = ("podSetSliceRequiredTopology", "podSetSliceSize")
_LAYERS = "podsetSliceRequiredTopologyConstraints"
_GROUP = "podSetGroupName"
_DESIGN = ("policy", "level")
_INDEX = ("podIndexLabel", "subGroupIndexLabel", "subGroupCount")
_UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
_LEVEL_MAX = 63  # characters that Kueue takes, although a label's key may have more
_LAYERS_MAX = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What a pod set asks for. ``wish``: ``topology`` and ``slices`` of the normal form; ``group``: the name that
    two pod sets share which go into one domain; ``at``: where it stands, or would."""

    at: Field
    wish: wishes.Wish = field(default_factory=dict)
    group: Field | None = None
    unconstrained: bool = False

    @property
    def near(self) -> object:
        """The levels as plain values, to compare."""
        return outline.plain(self.wish.get("topology")) or {}

    @property
    def says(self) -> bool:
        """Whether it asks for anything about places, be it that none matters."""
        return bool(self.near or self.wish.get("slices") or self.unconstrained)


def read(podset: Field, count: int, topologies: Sequence[Topology]) -> Asked:
    """The request of a pod set of ``count`` pods: its field, or where that says nothing its template's annotations."""
    at, metadata = podset.at("topologyRequest"), podset.at("template", "metadata")
    at.mapping()
    at.typos(*_CHOICES, *_PAIR, _LAYERS, _GROUP, *_DESIGN, *_INDEX)
    wishes.check_our_keys(metadata, *wishes.on_template())
    asked = _of_field(at, count)
    if asked.says or asked.group is not None:
        _compare(asked, metadata, topologies)
        return asked
    return _of_annotations(metadata, at, topologies)


# -- the field ---------------------------------------------------------------------------------------------------


def _of_field(at: Field, count: int) -> Asked:
    near = _design(at) if any(at.at(part).present for part in _DESIGN) else _today(at)
    slices = _slices(at, count)
    group = _group(at.at(_GROUP), bool(near), bool(slices)) if at.at(_GROUP).present else None
    wish = {**near, **({"slices": slices} if slices else {})}
    return Asked(at, wish, group, at.at("unconstrained").aside().flag(False))


def _design(at: Field) -> wishes.Wish:
    """The first design's policy and level. (K-041, K-042, K-043)"""
    for part in _CHOICES:
        if at.at(part).present:
            at.at(part).wrong("policy and level say the same thing in another form; give one form")
    for part in _DESIGN:
        if not at.at(part).present:
            at.at(part).wrong("policy and level are given together")
    policy = at.at("policy").choice("Required", "Required", "Preferred")
    _check_length(at.at("level"))
    return {"topology": {policy.lower(): at.at("level")}}


def _today(at: Field) -> wishes.Wish:
    at.at("unconstrained").flag(False)
    given = [part for part in _CHOICES if at.at(part).value not in (None, False)]
    if len(given) > 1:
        at.at(given[1]).wrong(f"Kueue allows one of {', '.join(_CHOICES)} for a pod set", _CHOICES)
    for part in _LEVELS:
        _check_length(at.at(part))
    levels = {part: at.at(part) for part in ("required", "preferred")}
    return {"topology": levels} if any(one.present for one in levels.values()) else {}


def _check_length(at: Field) -> None:
    if isinstance(at.value, str) and len(at.value) > _LEVEL_MAX:
        at.mistaken(f"has {len(at.value)} characters; Kueue takes {_LEVEL_MAX} for a level")


# -- slices ------------------------------------------------------------------------------------------------------


def _slices(at: Field, count: int) -> list[object]:
    """``slices`` of the normal form, coarse to fine."""
    pair = [at.at(part) for part in _PAIR]
    if at.at(_LAYERS).present:
        for part in pair:
            if part.present:
                part.wrong(f"{_LAYERS} is given beside it; slices are written in one of the two forms")
        return _layers(at.at(_LAYERS), count)
    if pair[0].present != pair[1].present:
        missing = pair[0] if pair[1].present else pair[1]
        missing.wrong(f"{_PAIR[0]} and {_PAIR[1]} are given together")
        return []
    return _fitting([{"level": pair[0], "size": pair[1]}], pair[1], count) if pair[0].present else []


def _layers(at: Field, count: int) -> list[object]:
    layers = at.items()
    if not 1 <= len(layers) <= _LAYERS_MAX:
        at.wrong(f"slices have 1 to {_LAYERS_MAX} layers, these {len(layers)}")
        return []
    for layer in layers:
        layer.mapping()
        layer.typos("topology", "size")
        _check_length(layer.at("topology"))
        if layer.at("sizes").present:
            layer.at("sizes").wrong("slices of unequal sizes are not supported yet; give one size")
            return []
    made: list[object] = [{"level": layer.at("topology"), "size": layer.at("size")} for layer in layers]
    return _fitting(made, layers[0].at("size"), count)


def _fitting(slices: list[object], first: Field, count: int) -> list[object]:
    """The slices, unless not even one is full."""
    size = first.integer(None, low=1)
    if size is not None and size > count:
        first.mistaken(f"is more than the {count} pods of the pod set")
        return []
    return slices


# -- two pod sets in one domain ----------------------------------------------------------------------------------


def _group(name: Field, bound: bool, sliced: bool) -> Field | None:
    """The group's name, with what Kueue asks of a pod set that has one."""
    text = name.name("")
    if text.isdigit():
        name.mistaken("is a number; Kueue takes no such name for a group")
    if not bound:
        name.wrong("a pod set in a group says required or preferred beside it", ("required", "preferred"))
    if sliced:
        name.wrong("a pod set in a group has no slices")
    return name if text else None


# -- annotations -------------------------------------------------------------------------------------------------


def _of_annotations(metadata: Field, at: Field, topologies: Sequence[Topology]) -> Asked:
    """The wishes of the pod template, as for a Job. (K-031, K-032)"""
    wish = wishes.of_template(metadata, topologies)
    name = wishes.group_name(metadata)
    group = _group(name, "topology" in wish, bool(wish.get("slices"))) if name.present else None
    return Asked(at, wish, group, metadata.at("annotations", _UNCONSTRAINED).value == "true")


def _compare(asked: Asked, metadata: Field, topologies: Sequence[Topology]) -> None:
    """A warning where the template's annotations ask for something else than the field, which wins."""
    other = _of_annotations(metadata.aside(), asked.at, topologies)
    if other.says and _level_numbers(asked, topologies) != _level_numbers(other, topologies):
        metadata.at("annotations").warn(f"asks for another place than {asked.at.path}, which is followed")


def _level_numbers(asked: Asked, topologies: Sequence[Topology]) -> object:
    """What is asked for, with levels as numbers: a level may be spelt in several ways."""
    slices = outline.plain(asked.wish.get("slices") or [])
    return _numbered(asked.near, topologies), _numbered(slices, topologies), asked.unconstrained


def _numbered(value: object, topologies: Sequence[Topology]) -> object:
    if isinstance(value, dict):
        return {key: _numbered(one, topologies) for key, one in value.items()}
    if isinstance(value, list):
        return [_numbered(one, topologies) for one in value]
    if not isinstance(value, str):
        return value
    numbers = [topology.level_number(value[:400], "") for topology in topologies]
    return [value if isinstance(one, Problem) else one for one in numbers] or value


# -- ranks -------------------------------------------------------------------------------------------------------


def rank(at: Field, count: int) -> dict[str, object]:
    """``rank`` of the normal form, where a label numbers the pods.

    With ``subGroupCount`` the numbers start anew in each Job of a JobSet, so no single label holds a pod's rank.
    """
    key, jobs = at.at("podIndexLabel").text(None), at.at("subGroupCount").integer(1, low=1)
    at.at("subGroupIndexLabel").text(None)
    if key is None:
        return {}
    if not is_label_key(key):
        at.at("podIndexLabel").mistaken("is not the key of a label")
        return {}
    if count % jobs:
        at.at("subGroupCount").warn(f"{count} pods are not {jobs} equal parts, so the pods are not ranked")
        return {}
    path = at.at("podIndexLabel").meaning(f"metadata.labels['{key}']")
    return {"rank": {"fieldPath": path} if jobs == 1 else {"order": "Consecutive"}}
