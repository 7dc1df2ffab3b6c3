"""batch/v1 Job: one pod set, ``main``, with wishes from annotations of ours, Kueue's or KAI's."""

from phalanx.dialects import jobspec, outline, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings, identity

POD_SET = "main"


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a Job; None when it wants no pods.

    A Job is a gang unless its pods run in turns and nothing asks for more (W-139), or ``phalanx.dev/gang-mode: Off``
    says so. Without a gang its pods start as they fit; that is one Request that is content with one pod, so that
    it waits only while not even one fits.
    """
    namespace, name = identity(doc)
    metadata, spec = doc.at("metadata"), doc.at("spec")
    template = spec.at("template")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    jobspec.check(spec)
    wishes.check_our_keys(metadata, *wishes.on_object())
    wishes.check_our_keys(template.at("metadata"), *wishes.on_template())
    count = jobspec.pods(spec)
    if count == 0:
        spec.warn("wants no pods now; nothing is placed")
        return None
    wishes.refuse_group_name(template.at("metadata"))
    wish = wishes.of_template(template.at("metadata"), around.topologies)
    group = {
        "name": POD_SET,
        "count": spec.at("parallelism").meaning(count),
        "minCount": _least(metadata, spec, wish, count),
        **wish,
        **jobspec.rank(spec),
        "template": outline.template(template, jobspec.labels(name)),
    }
    whole = {
        "queue": wishes.queue(metadata),
        "priorityClassName": template.at("spec", "priorityClassName"),
        "suspend": _suspended(metadata, spec),
        "topologyName": wishes.topology_name(metadata, [template.at("metadata")]),
        **wishes.of_object(metadata, around.topologies),
        "podGroups": [group],
    }
    return Outline("Job", namespace, name, whole)


def _least(metadata: Field, spec: Field, wish: wishes.Wish, count: int) -> object:
    """Pods that must start together."""
    mode = metadata.at("annotations", wishes.GANG_MODE)
    if mode.value == "ReplicatedGang":
        mode.wrong("a Job has no replicas to start one by one", ("Gang", "Off"))
    chosen = wishes.mode(metadata, "Gang", "Off") if mode.value != "ReplicatedGang" else None
    asked = wishes.asked(metadata, [spec.at("template", "metadata")])
    if chosen == "Off" or (chosen is None and jobspec.in_turns(spec) and not asked):
        return outline.least_alone(wish)
    jobspec.warn_of_turns(spec, count)
    return wishes.least_parallelism(metadata, count)


def _suspended(metadata: Field, spec: Field) -> object:
    """Whether the Job's owner keeps it back. In a queue it is the queue that suspends, which says nothing."""
    queued = any(metadata.at("labels", key).present for key in (wishes.QUEUE, wishes.KUEUE_QUEUE))
    return False if queued and spec.at("suspend").flag(False) else spec.at("suspend")
