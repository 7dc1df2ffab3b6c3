"""Wishes written as annotations on workloads that have no fields for them: ours, Kueue's and KAI's.

They nest by where they stand: on the top object they bound the whole workload, on a JobSet's Job template each Job,
on the pod template the pod set. Kueue's stand on the pod template only, ours on all. KAI's stand on the top object, and
on the Job template of a JobSet; the name of the topology, which its segments need, on the pod template too.
Two carriers on one object that disagree: ours, then Kueue's, then KAI's, with a warning (X-29).

Each function gives the part of a normal form that the annotations stand for (see ``outline``): the ``topology`` and
the ``slices`` of a group, with the annotations themselves as values.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from phalanx.dialects import keys
from phalanx.dialects.fields import Field
from phalanx.model.problems import Problem
from phalanx.model.topology import Topology

GANG_MODE = "phalanx.dev/gang-mode"
GANG = "phalanx.dev/gang"
QUEUE = "phalanx.dev/queue"
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
KAI_QUEUE = "kai.scheduler/queue"
QUEUES = (QUEUE, KUEUE_QUEUE, KAI_QUEUE)  # the first that names one is followed
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
MIN_MEMBERS = ("kai.scheduler/batch-min-member", "kai.scheduler/min-member")  # the latter on StatefulSets of KAI's
PREEMPTIBILITY = "kai.scheduler/preemptibility"
SEMI = "semi-preemptible"
PREEMPTIBILITIES = ("preemptible", "non-preemptible", SEMI)
MODES = ("Off", "Gang", "ReplicatedGang")

_OUR_PREFIX = "phalanx.dev/"
_WRITTEN_BY_US = tuple(
    f"phalanx.dev/{name}" for name in ("domain", "rank", "pinned", "node", "tolerated", "least", "suspended")
)
_OUR_LABELS = (QUEUE, GANG, "phalanx.dev/group", "phalanx.dev/replica")
_KUEUE_PODSET = "kueue.x-k8s.io/podset-"
_UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
_SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
_SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
_SLICE_LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
GROUP_NAME = "kueue.x-k8s.io/podset-group-name"
_UNREAD = (  # as a label or an annotation
    "kueue.x-k8s.io/elastic-job", "kueue.x-k8s.io/priority-class", "kai.scheduler/preemption-delay",
    "kai.scheduler/staleness-grace-period",
)  # fmt: skip
_LAYERS_MAX = 3
_JSON_MAX = 4096

Wish = dict[str, object]  # a ``topology`` of the normal form, and perhaps ``slices`` beside it


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
_KUEUE_SLICES = (_SLICE_LEVEL, _SLICE_SIZE, _SLICE_LAYERS)
_KUEUE_READ = (KUEUE.required, KUEUE.preferred, _UNCONSTRAINED, *_KUEUE_SLICES, GROUP_NAME)


# -- which topology ----------------------------------------------------------------------------------------------


def topology_name(top: Field, templates: Sequence[Field] = ()) -> Field:
    """The topology named on the object or on one of its templates; all that name one must name the same."""
    carriers = (OURS, KAI)
    named = [at.at("annotations", carrier.topology) for carrier in carriers for at in (top, *templates)]
    given = [at for at in named if at.present]
    for other in given[1:]:
        if _differ(other.value, given[0].value):
            other.mistaken("names another topology than the object above; a workload has one")
    return given[0] if given else named[0]


# -- reading wishes ----------------------------------------------------------------------------------------------


def of_object(metadata: Field, topologies: Sequence[Topology]) -> Wish:
    """``topology`` of a workload's top object: ours or KAI's."""
    notes = metadata.at("annotations")
    _check_kai(notes)
    _refuse_kueue(notes)
    return _first(notes, topologies, (OURS, KAI))


def of_job_template(metadata: Field, topologies: Sequence[Topology]) -> Wish:
    """``topology`` of a template for Jobs (of a JobSet): ours or KAI's, which bounds each Job. (X-29, K-011)"""
    return of_object(metadata, topologies)


def of_template(metadata: Field, topologies: Sequence[Topology]) -> Wish:
    """``topology`` and ``slices`` of a pod template: ours or Kueue's, and Kueue's slices."""
    notes = metadata.at("annotations")
    _refuse_kai(notes)
    _check_kueue(notes)
    return {**_first(notes, topologies, (OURS, KUEUE)), **_slices(notes)}


def of_pod(metadata: Field, topologies: Sequence[Topology]) -> Wish:
    """The wish of a pod on its own, which is top object and template at once."""
    notes = metadata.at("annotations")
    _check_kai(notes)
    _check_kueue(notes)
    return {**_first(notes, topologies, (OURS, KUEUE, KAI)), **_slices(notes)}


def asked(top: Field, templates: Sequence[Field]) -> bool:
    """Whether annotations or a queue label say that the pods are wanted together: a level, slices or a queue."""
    keys = (OURS.required, OURS.preferred, KUEUE.required, KUEUE.preferred, _UNCONSTRAINED, *_KUEUE_SLICES)
    near = [metadata.at("annotations", key) for metadata in (top, *templates) for key in keys]
    near += [top.at("annotations", key) for key in (KAI.required, KAI.preferred, MIN_PARALLELISM, *MIN_MEMBERS)]
    return any(at.present for at in (*near, *_queues(top, templates)))


def group_name(metadata: Field) -> Field:
    """Kueue's podset-group-name: pod sets that carry the same one are placed in one domain."""
    return metadata.at("annotations", GROUP_NAME)


def refuse_group_name(metadata: Field) -> None:
    """For workloads with a single pod set: there is no other one to sit with."""
    if group_name(metadata).present:
        group_name(metadata).wrong(f"{GROUP_NAME} joins two pod sets of a workload, and this one has a single one")


def _check_kai(notes: Field) -> None:
    """KAI names the topology always (KA-022)."""
    asks = notes.at(KAI.required).present or notes.at(KAI.preferred).present
    if asks and not notes.at(KAI.topology).present:
        notes.at(KAI.topology).wrong("KAI's placement annotations need the topology's name beside them")


def _refuse_kai(notes: Field) -> None:
    for key in (KAI.required, KAI.preferred):
        if notes.at(key).present:
            notes.at(key).wrong(f"{key} belongs on the workload's own metadata.annotations")


def _refuse_kueue(notes: Field) -> None:
    for key, at in _starting(notes, _KUEUE_PODSET):
        at.wrong(f"{key[:100]} belongs on the pod template: spec.template.metadata.annotations")


def _first(notes: Field, topologies: Sequence[Topology], carriers: tuple[Carrier, ...]) -> Wish:
    """The wish of the first dialect that says something; a later one that says something else is a warning."""
    used = [c for c in carriers if notes.at(c.required).present or notes.at(c.preferred).present]
    for carrier in used[1:]:
        pairs = ((used[0].required, carrier.required), (used[0].preferred, carrier.preferred))
        if not all(_agree(notes.at(a).value, notes.at(b).value, topologies) for a, b in pairs):
            at = notes.at(carrier.required) if notes.at(carrier.required).present else notes.at(carrier.preferred)
            at.warn(f"disagrees with {used[0].required} or {used[0].preferred}, which are followed")
    if not used:
        return {}
    return {"topology": {"required": notes.at(used[0].required), "preferred": notes.at(used[0].preferred)}}


def _differ(one: object, other: object) -> bool:
    """Whether two texts differ; what is no text is told where it is read, and may be too deep to compare."""
    return isinstance(one, str) and isinstance(other, str) and one != other


def _agree(one: object, other: object, topologies: Sequence[Topology]) -> bool:
    """Whether two texts name the same level in some topology."""
    if not isinstance(one, str) or not isinstance(other, str):
        return (one is None) == (other is None)
    if one == other:
        return True
    numbers = [(t.level_number(one[:400], ""), t.level_number(other[:400], "")) for t in topologies]
    return any(a == b and not isinstance(a, Problem) for a, b in numbers)


# -- Kueue -------------------------------------------------------------------------------------------------------


def _check_kueue(notes: Field) -> None:
    exclusive = [k for k in (KUEUE.required, KUEUE.preferred, _UNCONSTRAINED) if notes.at(k).present]
    if len(exclusive) > 1:  # allowed in our own annotations, not in Kueue's
        notes.at(exclusive[1]).wrong(f"Kueue allows one of {', '.join(exclusive)} on a pod template")
    notes.at(_UNCONSTRAINED).choice("", "true", "false")
    for key, at in _starting(notes, _KUEUE_PODSET):
        if key not in _KUEUE_READ:
            at.wrong(f"{key[:100]} is not supported yet{_asking(key)}", _KUEUE_READ)


def _slices(notes: Field) -> Wish:
    """``slices`` from the pair of annotations or from the list of layers."""
    pair = [notes.at(_SLICE_LEVEL), notes.at(_SLICE_SIZE)]
    if notes.at(_SLICE_LAYERS).present:
        if pair[0].present or pair[1].present:
            notes.at(_SLICE_LAYERS).wrong(f"excludes {_SLICE_LEVEL} and {_SLICE_SIZE}")
        return {"slices": _layers(notes.at(_SLICE_LAYERS))}
    if pair[0].present != pair[1].present:
        missing = pair[0] if pair[1].present else pair[1]
        missing.wrong(f"{_SLICE_LEVEL} and {_SLICE_SIZE} are given together")
        return {}
    size = number(pair[1])
    return {"slices": [{"level": pair[0], "size": size}]} if pair[0].present and size.present else {}


def _layers(at: Field) -> list[object]:
    """A JSON list of ``{topology, size}``, coarse to fine."""
    text = at.text("")
    try:
        parsed = json.loads(text) if len(text) <= _JSON_MAX else None
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, list) or not 1 <= len(parsed) <= _LAYERS_MAX:
        at.wrong(f'is not a JSON list of 1 to {_LAYERS_MAX} entries like {{"topology": "rack", "size": 4}}')
        return []
    layers = Field(parsed, at.notes, at, "layers").items()
    for layer in layers:
        layer.known("topology", "size")
        if not layer.at("topology").present or not layer.at("size").present:
            layer.wrong("a layer needs a topology and a size")
    return [{"level": layer.at("topology"), "size": layer.at("size")} for layer in layers]


def number(at: Field) -> Field:
    """A positive whole number written as a text, as annotations are; a field that holds nothing when it is none."""
    text = at.text(None)
    if text is None:
        return at.meaning(None)
    if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1:
        return at.meaning(int(text))
    at.mistaken("is not a whole number of at least 1 in quotes")
    return at.meaning(None)


# -- other keys --------------------------------------------------------------------------------------------------


def least_members(metadata: Field, count: int, of_what: str, keys: Sequence[str] = MIN_MEMBERS) -> Field:
    """How few of ``count`` would do, by the first of these annotations that is given; all of them when none is.

    KAI's minimum counts pods on a Job, on the Job template of a JobSet (of each Job) and on a StatefulSet; on a JobSet
    it counts replicated jobs. Kueue's partial admission is for Jobs.
    """
    named = [metadata.at("annotations", key) for key in keys]
    given = [at for at in named if at.present]
    numbers = [number(at).value for at in given]
    for at, least in zip(given, numbers, strict=True):
        if isinstance(least, int) and least > count:
            at.mistaken(f"is more than the {count} {of_what}")
        elif least is not None and least != numbers[0]:
            at.warn(f"differs from {given[0].path}, which is followed")
    first = numbers[0] if numbers else None
    return (given or named)[0].meaning(min(first, count) if isinstance(first, int) else count)


def queue(metadata: Field, templates: Sequence[Field] = ()) -> Field:
    """The label that names the queue: ours, else Kueue's, else KAI's; on the object, else on its pod templates."""
    named = _queues(metadata, templates)
    given = [at for at in named if at.present]
    for other in given[1:]:
        if _differ(other.value, given[0].value):
            other.warn(f"names another queue than {given[0].path}, which is followed")
    return given[0] if given else named[0]


def _queues(metadata: Field, templates: Sequence[Field]) -> list[Field]:
    return [at.at("labels", key) for at in (metadata, *templates) for key in QUEUES]


def preemptible(metadata: Field, templates: Sequence[Field] = ()) -> Field:
    """Whether KAI's label, on the object or on a pod template, lets others evict the pods."""
    named = [at.at("labels", PREEMPTIBILITY) for at in (metadata, *templates)]
    return preemptibility(next((at for at in named if at.present), named[0]))


def preemptibility(at: Field) -> Field:
    """KAI's word for who may be evicted as ``preemptible``; nothing where nothing is written.

    Semi-preemptible is everything beyond the minimum. It is read as the stronger promise: nobody loses pods that
    were said to be safe.
    """
    chosen = at.choice("", "", *PREEMPTIBILITIES)
    if chosen == SEMI:
        at.warn("is read as non-preemptible: that pods beyond the minimum may be evicted is not considered")
    return at.meaning(None if not chosen else chosen == PREEMPTIBILITIES[0])


def mode(metadata: Field, *allowed: str) -> str | None:
    """``phalanx.dev/gang-mode`` on an object; None when it says nothing. ``allowed``: those that make sense here."""
    return metadata.at("annotations", GANG_MODE).choice(None, *(allowed or MODES))


def check_our_keys(metadata: Field, *annotations: str) -> None:
    """A Problem for each key of ours that means nothing where it stands. ``annotations``: those that do here.

    A warning for each key of others that placement should look at and does not, or that was meant to be another one.
    """
    metadata.mapping()
    note_unread(metadata)
    keys.note_typos(metadata, told=(_OUR_PREFIX, _KUEUE_PODSET))
    good = annotations or _OUR_ANNOTATIONS
    for key, at in _starting(metadata.at("annotations"), _OUR_PREFIX):
        if key not in (*good, *_WRITTEN_BY_US, GANG):  # exported pods carry them
            at.wrong(_misplaced(key, _OUR_LABELS, "label"), good)
    for key, at in _starting(metadata.at("labels"), _OUR_PREFIX):
        if key not in _OUR_LABELS:
            at.wrong(_misplaced(key, _OUR_ANNOTATIONS, "annotation"), _OUR_LABELS)


def note_unread(metadata: Field) -> None:
    """A warning for each key of Kueue's or KAI's that changes what happens there and nothing here."""
    for at in (metadata.at(part, key) for part in ("labels", "annotations") for key in _UNREAD):
        if at.present:
            at.warn("is not considered")


def on_object() -> tuple[str, ...]:
    return _OUR_ANNOTATIONS


def on_template() -> tuple[str, ...]:
    return tuple(key for key in _OUR_ANNOTATIONS if key != GANG_MODE)


def _misplaced(key: str, elsewhere: tuple[str, ...], kind: str) -> str:
    return (
        f"{key[:100]} is {'an' if kind[:1] in 'aeiou' else 'a'} {kind}"
        if key in elsewhere
        else f"there is no key {key[:100]!r}{_asking(key)}"
    )


def _asking(key: str) -> str:
    close = keys.meant(key)
    return f"; did you mean {close}?" if close is not None else ""


def _starting(at: Field, prefix: str) -> list[tuple[str, Field]]:
    return [(key, value) for key, value in at.entries() if key.startswith(prefix)]
