"""batch/v1 Job: one pod set, ``main``, with wishes from annotations of ours, Kueue's or KAI's, or from its own
``spec.scheduling`` of Kubernetes 1.37."""

from phalanx.dialects import jobspec, outline, podsets, scheduled, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings, identity

POD_SET = "main"
_OWN_CONTROLLER = "kubernetes.io/job-controller"


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a Job; None when it wants no pods.

    A Job is a gang unless its pods run in turns and nothing asks for more (W-139), or ``phalanx.dev/gang-mode: Off``
    says so. Without a gang its pods start as they fit; that is one Request that is content with one pod, so that
    it waits only while not even one fits.
    """
    namespace, name = identity(doc)
    doc = scheduled.of_job(doc, jobspec.pods(doc.at("spec")))
    metadata, spec = doc.at("metadata"), doc.at("spec")
    template = spec.at("template")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    jobspec.check(spec)
    _warn_of_manager(spec.at("managedBy"))
    wishes.check_our_keys(metadata, *wishes.on_object())
    wishes.check_our_keys(template.at("metadata"), *wishes.on_template())
    count = jobspec.pods(spec)
    if count == 0:
        spec.remark("wants no pods now; nothing is placed")
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
        "queue": wishes.queue(metadata, [template.at("metadata")]),
        "priorityClassName": template.at("spec", "priorityClassName"),
        "preemptible": wishes.preemptible(metadata, [template.at("metadata")]),
        "suspend": _suspended(metadata, spec),
        "disruption": scheduled.disruption(doc),
        "topologyName": wishes.topology_name(metadata, [template.at("metadata")]),
        **wishes.of_object(metadata, around.topologies),
        "podGroups": podsets.in_pool([group], metadata),
    }
    return Outline("Job", namespace, name, whole)


def _warn_of_manager(at: Field) -> None:
    """A Job can be handed to another controller than Kubernetes' own: MultiKueue runs such Jobs in other clusters."""
    if at.text(_OWN_CONTROLLER) != _OWN_CONTROLLER:
        at.warn(f"{str(at.value)[:100]} makes its pods, perhaps elsewhere; they are placed as if they were made here")


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
    return wishes.least_members(metadata, count, "pods of the Job", (wishes.MIN_PARALLELISM, *wishes.MIN_MEMBERS))


def _suspended(metadata: Field, spec: Field) -> object:
    """Whether the Job's owner keeps it back. In a queue it is the queue that suspends, which says nothing."""
    queued = any(metadata.at("labels", key).present for key in (wishes.QUEUE, wishes.KUEUE_QUEUE))
    return False if queued and spec.at("suspend").flag(False) else spec.at("suspend")
