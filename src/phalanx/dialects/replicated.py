"""What StatefulSets, ReplicaSets and Deployments share: a number of equal pods of one template, pod set ``main``.

How many there are may be the business of a HorizontalPodAutoscaler among the documents. Then the workload is as large
as it says itself, within the autoscaler's bounds, and its group knows how far it may grow (W-207, W-228).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from phalanx.dialects import kindtable, outline, podsets, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.jobspec import PODS_MAX
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.wishes import Wish

POD_SET = "main"

_AUTOSCALER = ("autoscaling", "HorizontalPodAutoscaler")
_READ = ("replicas", "selector", "template", "minReadySeconds", "revisionHistoryLimit")


@dataclass(frozen=True, slots=True)
class Replicas:
    """Pods wanted now; ``most``: those that an autoscaler may ask for (None: there is none)."""

    count: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class _Bounds:
    title: str  # HorizontalPodAutoscaler web
    least: int
    most: int


# -- checks ------------------------------------------------------------------------------------------------------


def check(doc: Field, kind: str, *fields: str) -> None:
    """Notes what is wrong with the parts that all of them have. ``fields``: those of the spec this kind has beside."""
    spec, template = doc.at("spec"), doc.at("spec", "template")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(*_READ, *fields)
    wishes.check_our_keys(doc.at("metadata"), *wishes.on_object())
    wishes.check_our_keys(template.at("metadata"), *wishes.on_template())
    wishes.refuse_group_name(template.at("metadata"))
    _check_template(template, kind)
    _check_selector(spec, kind)


def _check_template(template: Field, kind: str) -> None:
    template.typos("metadata", "spec")
    if template.mapping() and not template.at("spec", "containers").items():
        template.at("spec", "containers").wrong("a pod has at least one container")
    if not template.present:
        template.wrong(f"a {kind} needs a pod template")


def _check_selector(spec: Field, kind: str) -> None:
    """A warning where the pods would not be its own. (X-47)"""
    spec.at("selector").mapping()
    labels = spec.at("template", "metadata", "labels")
    for key, at in spec.at("selector", "matchLabels").entries():
        if isinstance(at.value, str) and labels.at(key).value != at.value:
            at.warn(f"is not a label of the pod template; Kubernetes refuses such a {kind}")


# -- how many ----------------------------------------------------------------------------------------------------


def replicas(doc: Field, kind: str, around: Surroundings) -> Replicas | None:
    """How many pods are wanted; None, with a warning, for none. An autoscaler leaves such a workload alone."""
    at = doc.at("spec", "replicas")
    wanted = at.integer(1, high=PODS_MAX)
    if wanted == 0:
        at.remark("wants no pods now; nothing is placed")
        return None
    bounds = _autoscaled(doc, kind, around)
    if bounds is None:
        return Replicas(wanted)
    if not at.present:
        return Replicas(max(bounds.least, 1), bounds.most)
    return Replicas(_within(at, wanted, bounds), bounds.most)


def _within(at: Field, wanted: int, bounds: _Bounds) -> int:
    """The number that the autoscaler will make of it."""
    count = min(max(wanted, bounds.least), bounds.most)
    if count != wanted:
        at.warn(f"{bounds.title} keeps it between {bounds.least} and {bounds.most}: {count} are placed")
    return count


def _autoscaled(doc: Field, kind: str, around: Surroundings) -> _Bounds | None:
    """The bounds of the first good autoscaler for this workload; others, and bad ones, are a warning."""
    namespace, name = identity(doc)
    listed = around.neighbours.pointing(*_AUTOSCALER, namespace, ("spec", "scaleTargetRef", "name"), name)
    good: list[_Bounds] = []
    for scaler in (one for one in listed if _scales(one, kind, name)):
        bounds = _bounds(scaler)
        if scaler.notes.problems:
            doc.at("spec", "replicas").warn(f"{bounds.title} is not followed: {scaler.notes.problems[0]}")
        elif good:
            doc.at("spec", "replicas").warn(f"is scaled by {good[0].title}, which is followed, and by {bounds.title}")
        else:
            good.append(bounds)
    return good[0] if good else None


def _scales(scaler: Field, kind: str, name: str) -> bool:
    target = scaler.at("spec", "scaleTargetRef")
    if target.at("name").value != name or target.at("kind").value != kind:
        return False
    api = target.at("apiVersion").aside().text(None)
    return api is None or api.rpartition("/")[0] == kindtable.OWNER_GROUPS[kind]


def _bounds(scaler: Field) -> _Bounds:
    """What an autoscaler allows; what is wrong with it stands in its notes."""
    low, high = scaler.at("spec", "minReplicas"), scaler.at("spec", "maxReplicas")
    least, most = low.integer(1, high=PODS_MAX), high.integer(None, low=1, high=PODS_MAX)
    if not high.present:
        high.wrong("an autoscaler needs maxReplicas")
    elif most is not None and least > most:
        low.mistaken(f"is more than maxReplicas {most}")
    title = f"{_AUTOSCALER[1]} {scaler.at('metadata', 'name').aside().text('')[:100]}"
    return _Bounds(title, least, most or 1)


# -- the normal form ---------------------------------------------------------------------------------------------


def free(doc: Field, kind: str, around: Surroundings, wanted: Replicas) -> Outline:
    """The normal form of pods that know nothing of each other. (W-182)

    They start as they fit unless ``phalanx.dev/gang-mode: Gang`` says otherwise. A wish or a queue does not: it
    holds for those that are placed.
    """
    wish = of_template(doc, around)
    warn_of_minimum(doc, f"the pods of a {kind} start as they fit")
    together = wishes.mode(doc.at("metadata"), "Gang", "Off") == "Gang"
    least = wanted.count if together else outline.least_alone(wish)
    return whole(doc, kind, around, wanted, {"minCount": least, **wish})


def warn_of_minimum(doc: Field, why: str) -> None:
    """Where KAI's minimum of pods that start together says nothing."""
    for key in wishes.MIN_MEMBERS:
        if doc.at("metadata", "annotations", key).present:
            doc.at("metadata", "annotations", key).warn(f"is not considered: {why}")


def of_template(doc: Field, around: Surroundings) -> Wish:
    """The wish on the pod template, which is the pod set's."""
    return wishes.of_template(doc.at("spec", "template", "metadata"), around.topologies)


def whole(doc: Field, kind: str, around: Surroundings, wanted: Replicas, more: Mapping[str, object]) -> Outline:
    """The normal form of a workload with one pod set. ``more``: what the kind knows of the set beside its size."""
    namespace, name = identity(doc)
    metadata, template = doc.at("metadata"), doc.at("spec", "template")
    group = {
        "name": POD_SET,
        "count": doc.at("spec", "replicas").meaning(wanted.count),
        "maxCount": wanted.most,
        **more,
        "template": outline.template(template),
    }
    spec = {
        "queue": wishes.queue(metadata, [template.at("metadata")]),
        "priorityClassName": template.at("spec", "priorityClassName"),
        "preemptible": wishes.preemptible(metadata, [template.at("metadata")]),
        "topologyName": wishes.topology_name(metadata, [template.at("metadata")]),
        **wishes.of_object(metadata, around.topologies),
        "podGroups": podsets.in_pool([group], metadata),
    }
    return Outline(kind, namespace, name, spec)
