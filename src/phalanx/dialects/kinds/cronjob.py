"""batch/v1 CronJob: the Job of one run, under the name of the CronJob. Every run is a workload of its own (W-075)."""

from collections.abc import Mapping
from dataclasses import replace

from phalanx.dialects import podsets, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.surroundings import Surroundings, identity

_READ = (
    "schedule", "timeZone", "startingDeadlineSeconds", "concurrencyPolicy", "suspend", "jobTemplate",
    "successfulJobsHistoryLimit", "failedJobsHistoryLimit",
)  # fmt: skip
_LABELS = (*wishes.QUEUES, wishes.PREEMPTIBILITY, podsets.NODE_POOL)
_GROUP = "job"  # holds the pods where the CronJob, its Job and the pod template all ask for a level


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of the next run; None when its Job wants no pods.

    ``jobTemplate.metadata`` becomes the Job's own, so what stands there is the Job's wish and goes inside the wish of
    the CronJob. Where only one can count, as for a queue or a gang mode, the Job's does.
    """
    identity(doc)
    metadata, spec = doc.at("metadata"), doc.at("spec")
    template = spec.at("jobTemplate")
    _check(doc, spec, template)
    if not template.mapping():
        return None
    found = around.expand(Field.of(_job(metadata, template), doc.notes))
    if found is None:
        return None
    nested = _nested(found, wishes.of_object(metadata, around.topologies))
    stopped = spec.at("suspend").flag(False)
    whole = {
        **nested,
        "suspend": spec.at("suspend") if stopped else found.spec.get("suspend"),
        "topologyName": _topology_name(metadata, found.spec.get("topologyName")),
    }
    return replace(found, kind="CronJob", spec=whole)


def _check(doc: Field, spec: Field, template: Field) -> None:
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.mapping()
    spec.typos(*_READ)
    template.typos("metadata", "spec")
    template.at("metadata").mapping()
    template.at("metadata").typos("labels", "annotations")
    wishes.check_our_keys(doc.at("metadata"), *wishes.on_object())
    spec.at("concurrencyPolicy").choice("Allow", "Allow", "Forbid", "Replace")
    spec.at("suspend").flag(False)
    if not template.present:
        template.wrong("a CronJob needs a jobTemplate")


# -- the Job -----------------------------------------------------------------------------------------------------


def _job(metadata: Field, template: Field) -> Mapping[str, object]:
    """The Job of one run as a document, made of the user's own fields."""
    own = template.at("metadata")
    known = {
        "name": metadata.at("name"),
        "generateName": metadata.at("generateName"),
        "namespace": metadata.at("namespace"),
        "labels": {**_inherited(metadata.at("labels"), own.at("labels"), _LABELS), **dict(own.at("labels").entries())},
        "annotations": {**_mode(metadata, own), **dict(own.at("annotations").entries())},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": known, "spec": template.at("spec")}


def _mode(metadata: Field, own: Field) -> dict[str, object]:
    """What the CronJob says of how its pods start. Asking for a level or a queue says that they start together."""
    keys = (wishes.GANG_MODE, wishes.MIN_PARALLELISM, *wishes.MIN_MEMBERS)
    given = _inherited(metadata.at("annotations"), own.at("annotations"), keys)
    return given if wishes.GANG_MODE in given or not wishes.asked(metadata, []) else {**given, wishes.GANG_MODE: "Gang"}


def _inherited(above: Field, own: Field, keys: tuple[str, ...]) -> dict[str, object]:
    """Entries of the CronJob that its Job takes on; a warning for each that the Job has its own of."""
    given = [key for key in keys if above.at(key).present]
    for key in given:
        if own.at(key).present and _text(own.at(key)) != _text(above.at(key)):
            above.at(key).warn(f"differs from {own.at(key).path}, which is followed")
    return {key: above.at(key) for key in given}


# -- around the Job ----------------------------------------------------------------------------------------------


def _nested(found: Outline, outer: wishes.Wish) -> Mapping[str, object]:
    """The Job's normal form inside the CronJob's wish. (X-29)"""
    inner = found.spec.get("topology")
    if not outer or inner is None:
        return {**found.spec, **outer}
    groups: list[Entry] = [{"topology": inner, **one} for one in found.groups]
    if any("topology" in one for one in found.groups):
        groups = [{"name": _GROUP, "topology": inner}, *({**one, "parent": _GROUP} for one in found.groups)]
    return {**found.spec, **outer, "podGroups": groups}


def _topology_name(metadata: Field, inner: object) -> object:
    """The topology named on the CronJob or in its Job; both must name the same."""
    outer = wishes.topology_name(metadata)
    if not isinstance(inner, Field) or not inner.present:
        return outer
    if outer.present and _text(outer) != _text(inner):
        inner.mistaken("names another topology than the object above; a workload has one")
    return inner


def _text(at: Field) -> str | None:
    return at.aside().text(None)
