"""Wishes written as annotations on workloads that have no fields for them: ours, Kueue's and KAI's.

They nest by where they stand: on the top object they bound the whole workload, on the pod template the pod set.
Kueue's stand on the pod template only, KAI's on the top object only, ours on both. Two carriers on one object
that disagree: ours, then Kueue's, then KAI's, with a warning (X-29).
"""

import json
from dataclasses import dataclass, replace

from phalanx.dialects.fields import Field
from phalanx.dialects.levels import Levels, bounds, choose
from phalanx.model.request import Slice
from phalanx.model.topology import Topology

GANG_MODE = "phalanx.dev/gang-mode"
GANG = "phalanx.dev/gang"
QUEUE = "phalanx.dev/queue"
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"

_OUR_PREFIX = "phalanx.dev/"
_WRITTEN_BY_US = ("phalanx.dev/domain", "phalanx.dev/rank")  # allowed: exported pods carry them
_OUR_LABELS = (QUEUE, GANG, "phalanx.dev/group", "phalanx.dev/replica")
_KUEUE_PODSET = "kueue.x-k8s.io/podset-"
_UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
_SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
_SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
_SLICE_LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
_LAYERS_MAX = 3
_JSON_MAX = 4096


@dataclass(frozen=True, slots=True)
class Carrier:
    """The annotation keys by which one dialect asks for a level."""

    required: str
    preferred: str
    topology: str = ""  # empty: it has no key for it


OURS = Carrier("phalanx.dev/topology-required", "phalanx.dev/topology-preferred", "phalanx.dev/topology-name")
KUEUE = Carrier("kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology")
KAI = Carrier(
    "kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement", "kai.scheduler/topology"
)
_OUR_ANNOTATIONS = (OURS.required, OURS.preferred, OURS.topology, GANG_MODE)
_KUEUE_READ = (KUEUE.required, KUEUE.preferred, _UNCONSTRAINED, _SLICE_LEVEL, _SLICE_SIZE, _SLICE_LAYERS)


@dataclass(frozen=True, slots=True)
class Wish:
    """What one object asks of its pods together."""

    required: int | None = None
    preferred: int | None = None
    slices: tuple[Slice, ...] = ()

    @property
    def bounds(self) -> bool:
        return self.required is not None or self.preferred is not None


# -- which topology ----------------------------------------------------------------------------------------------


def levels(top: Field, template: Field, topologies: tuple[Topology, ...]) -> Levels:
    """The topology named on the object or its pod template; both, if both do, must name the same."""
    keys = ((top, OURS.topology), (template, OURS.topology), (top, KAI.topology))
    named = [metadata.at("annotations", key) for metadata, key in keys]
    given = [at for at in named if at.present]
    for other in given[1:]:
        if other.value != given[0].value:
            other.mistaken("names another topology than the object above; a workload has one")
    return choose(given[0] if given else named[0], topologies)


# -- reading wishes ----------------------------------------------------------------------------------------------


def of_object(metadata: Field, levels: Levels) -> Wish:
    """The wish of a workload's top object: ours or KAI's."""
    notes = metadata.at("annotations")
    _check_kai(notes)
    for key, at in _starting(notes, _KUEUE_PODSET):
        at.wrong(f"{key[:100]} belongs on the pod template: spec.template.metadata.annotations")
    return _first(notes, levels, (OURS, KAI))


def of_template(metadata: Field, levels: Levels, count: int, least: int) -> Wish:
    """The wish of a template of ``count`` pods, ``least`` of which must start: ours or Kueue's, and Kueue's slices."""
    notes = metadata.at("annotations")
    for key in (KAI.required, KAI.preferred, KAI.topology):
        if notes.at(key).present:
            notes.at(key).wrong(f"{key} belongs on the workload's own metadata.annotations")
    _check_kueue(notes)
    wish = _first(notes, levels, (OURS, KUEUE))
    return replace(wish, slices=_slices(notes, wish, levels, count, least))


def of_pod(metadata: Field, levels: Levels) -> Wish:
    """The wish of a pod on its own, which is top object and template at once."""
    notes = metadata.at("annotations")
    _check_kai(notes)
    _check_kueue(notes)
    wish = _first(notes, levels, (OURS, KUEUE, KAI))
    return replace(wish, slices=_slices(notes, wish, levels, 1, 1))


def _check_kai(notes: Field) -> None:
    """KAI names the topology always (KA-022)."""
    asks = notes.at(KAI.required).present or notes.at(KAI.preferred).present
    if asks and not notes.at(KAI.topology).present:
        notes.at(KAI.topology).wrong("KAI's placement annotations need the topology's name beside them")


def _first(notes: Field, levels: Levels, carriers: tuple[Carrier, ...]) -> Wish:
    """The wish of the first dialect that says something; a later one that says something else is a warning."""
    used = [c for c in carriers if notes.at(c.required).present or notes.at(c.preferred).present]
    wishes = [Wish(*bounds(notes.at(c.required), notes.at(c.preferred), levels)) for c in used]
    for carrier, wish in zip(used[1:], wishes[1:], strict=True):
        if wish != wishes[0]:
            at = notes.at(carrier.required) if notes.at(carrier.required).present else notes.at(carrier.preferred)
            at.warn(f"disagrees with {used[0].required} or {used[0].preferred}, which are followed")
    return wishes[0] if wishes else Wish()


def within(inner: Wish, outer: Wish, metadata: Field, levels: Levels) -> Wish:
    """The inner wish without levels wider than the outer one requires: they change nothing (X-29)."""
    if outer.required is None:
        return inner
    kept = [
        None if level is not None and level < outer.required else level for level in (inner.required, inner.preferred)
    ]
    if kept != [inner.required, inner.preferred]:
        metadata.at("annotations").warn(
            f"asks for a level wider than {levels.label(outer.required)!r}, which the whole workload requires; "
            "it changes nothing"
        )
    return Wish(kept[0], kept[1], inner.slices)


# -- Kueue -------------------------------------------------------------------------------------------------------


def _check_kueue(notes: Field) -> None:
    exclusive = [k for k in (KUEUE.required, KUEUE.preferred, _UNCONSTRAINED) if notes.at(k).present]
    if len(exclusive) > 1:  # allowed in our own annotations, not in Kueue's
        notes.at(exclusive[1]).wrong(f"Kueue allows one of {', '.join(exclusive)} on a pod template")
    notes.at(_UNCONSTRAINED).choice("", "true", "false")
    for key, at in _starting(notes, _KUEUE_PODSET):
        if key not in _KUEUE_READ:
            at.wrong(f"{key[:100]} is not supported yet", _KUEUE_READ)


def _slices(notes: Field, wish: Wish, levels: Levels, count: int, least: int) -> tuple[Slice, ...]:
    """Slices from the pair of annotations or from the list of layers."""
    pair = [notes.at(_SLICE_LEVEL), notes.at(_SLICE_SIZE)]
    if pair[0].present != pair[1].present:
        missing = pair[0] if pair[1].present else pair[1]
        missing.wrong(f"{_SLICE_LEVEL} and {_SLICE_SIZE} are given together")
        return ()
    if notes.at(_SLICE_LAYERS).present:
        if pair[0].present:
            notes.at(_SLICE_LAYERS).wrong(f"excludes {_SLICE_LEVEL}")
        found = _layers(notes.at(_SLICE_LAYERS), levels)
    else:
        level, size = levels.number(pair[0]), _number(pair[1])
        found = [(pair[1], Slice(level, size))] if level is not None and size is not None else []
    _check_slices(found, wish, levels, count, least)
    return tuple(one for _, one in found)


def _layers(at: Field, levels: Levels) -> list[tuple[Field, Slice]]:
    """A JSON list of ``{topology, size}``, coarse to fine."""
    text = at.text("")
    try:
        parsed = json.loads(text) if len(text) <= _JSON_MAX else None
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, list) or not 1 <= len(parsed) <= _LAYERS_MAX:
        at.wrong(f'is not a JSON list of 1 to {_LAYERS_MAX} entries like {{"topology": "rack", "size": 4}}')
        return []
    found = []
    for entry in Field(parsed, at.notes, at, "layers").items():
        entry.known("topology", "size")
        level, size = levels.number(entry.at("topology")), entry.at("size").integer(None, low=1)
        if level is None or size is None:
            entry.wrong("a layer needs a topology and a size")
        else:
            found.append((entry.at("size"), Slice(level, size)))
    return found


def _check_slices(found: list[tuple[Field, Slice]], wish: Wish, levels: Levels, count: int, least: int) -> None:
    before: Slice | None = None
    for at, one in found:
        if before is not None and one.level <= before.level:
            at.wrong(f"layers run coarse to fine; {levels.label(one.level)!r} is not inside the one before")
        if before is not None and before.size % one.size:
            at.wrong(f"slice size {one.size} does not divide {before.size}, the size before it")
        if wish.required is not None and one.level < wish.required:
            at.wrong(f"slice level {levels.label(one.level)!r} is wider than the required level")
        before = one
    if found and (count % found[0][1].size or least % found[0][1].size):
        at, one = found[0]
        at.wrong(f"{count} pods (at least {least}) cannot be cut into slices of {one.size}")


def _number(at: Field) -> int | None:
    """A positive whole number written as a text, as annotations are."""
    text = at.text(None)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1:
        return int(text)
    at.mistaken("is not a whole number of at least 1 in quotes")
    return None


# -- other keys --------------------------------------------------------------------------------------------------


def least_parallelism(metadata: Field, count: int) -> int:
    """Kueue's partial admission: how few pods would do; all of them when it says nothing."""
    at = metadata.at("annotations", MIN_PARALLELISM)
    least = _number(at)
    if least is not None and least > count:
        at.mistaken(f"is more than the {count} pods of the Job")
    return min(least, count) if least is not None else count


def queue(metadata: Field) -> str:
    """The queue named by our label, else by Kueue's."""
    labels = metadata.at("labels")
    return labels.at(QUEUE).name(None) or labels.at(KUEUE_QUEUE).name(None) or "default"


def check_our_keys(metadata: Field, *annotations: str) -> None:
    """A Problem for each key of ours that means nothing where it stands. ``annotations``: those that do here."""
    metadata.mapping()
    good = annotations or _OUR_ANNOTATIONS
    for key, at in _starting(metadata.at("annotations"), _OUR_PREFIX):
        if key not in (*good, *_WRITTEN_BY_US, GANG):
            at.wrong(_misplaced(key, _OUR_LABELS, "label"), good)
    for key, at in _starting(metadata.at("labels"), _OUR_PREFIX):
        if key not in _OUR_LABELS:
            at.wrong(_misplaced(key, _OUR_ANNOTATIONS, "annotation"), _OUR_LABELS)


def on_object() -> tuple[str, ...]:
    return _OUR_ANNOTATIONS


def on_template() -> tuple[str, ...]:
    return tuple(key for key in _OUR_ANNOTATIONS if key != GANG_MODE)


def _misplaced(key: str, elsewhere: tuple[str, ...], kind: str) -> str:
    return (
        f"{key[:100]} is {'an' if kind[:1] in 'aeiou' else 'a'} {kind}"
        if key in elsewhere
        else f"there is no key {key[:100]!r}"
    )


def _starting(at: Field, prefix: str) -> list[tuple[str, Field]]:
    return [(key, value) for key, value in at.entries() if key.startswith(prefix)]
