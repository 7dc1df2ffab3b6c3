"""batch/v1 Job: one pod set, ``main``, with wishes from annotations of ours, Kueue's or KAI's."""

from phalanx.dialects import podspec, wishes
from phalanx.dialects.fields import INT_MAX, Field
from phalanx.dialects.surroundings import Surroundings, identity, priority
from phalanx.dialects.wishes import Wish
from phalanx.model.request import Group, PodSet, Ranks, Request

POD_SET = "main"
PODS_MAX = 1_000_000  # pods of one request


def read(doc: Field, around: Surroundings) -> tuple[Request, ...]:
    """The Request of a Job; none when it wants no pods. It counts only if no Problem was noted on the way.

    A Job is a gang unless ``phalanx.dev/gang-mode: Off`` says otherwise. Without a gang its pods start as they
    fit; that is one Request that is content with one pod, so that it waits only while not even one fits.
    """
    namespace, name = identity(doc)
    metadata, spec = doc.at("metadata"), doc.at("spec")
    template = spec.at("template")
    doc.typos("apiVersion", "kind", "metadata", "spec", "status")
    spec.typos("parallelism", "completions", "completionMode", "template", "suspend", "backoffLimit", "selector")
    template.typos("metadata", "spec")
    wishes.check_our_keys(metadata, *wishes.on_object())
    wishes.check_our_keys(template.at("metadata"), *wishes.on_template())
    _check_template(template)
    count = pods(spec)
    if count == 0:
        spec.warn("wants no pods now; nothing is placed")
        return ()
    least = _least(metadata, count)
    levels = wishes.levels(metadata, template.at("metadata"), around.topologies)
    outer = wishes.of_object(metadata, levels)
    inner = wishes.of_template(template.at("metadata"), levels, count, least)
    inner = wishes.within(inner, outer, template.at("metadata"), levels)
    added = {"batch.kubernetes.io/job-name": name, "job-name": name}
    shape = podspec.read(template, namespace, around, added)
    main = PodSet(POD_SET, count, least, shape, inner.slices)
    request = Request(
        kind="Job",
        namespace=namespace,
        name=name,
        root=_root(name, main, outer, inner, _ranks(spec)),
        topology=levels.name,
        queue=wishes.queue(metadata),
        priority=priority(template.at("spec", "priorityClassName"), around),
        suspended=_suspended(metadata, spec),
    )
    return (request,)


def pods(spec: Field) -> int:
    """Pods that run at once: parallelism, but no more than completions (X-21)."""
    known = len(spec.notes.problems)
    parallelism = spec.at("parallelism").integer(1, high=PODS_MAX)
    completions = spec.at("completions").integer(parallelism, high=INT_MAX)
    if 0 < parallelism < completions and len(spec.notes.problems) == known:
        spec.at("parallelism").warn(
            f"{parallelism} of {completions} pods run at once: the first are placed together, the rest one by one"
        )
    return min(parallelism, completions)


def _check_template(template: Field) -> None:
    if template.mapping() and not template.at("spec", "containers").items():
        template.at("spec", "containers").wrong("a pod has at least one container")
    if not template.present:
        template.wrong("a Job needs a pod template")


def _least(metadata: Field, count: int) -> int:
    mode = metadata.at("annotations", wishes.GANG_MODE)
    if mode.value == "ReplicatedGang":
        mode.wrong("a Job has no replicas to start one by one", ("Gang", "Off"))
        return count
    if mode.choice("Gang", "Gang", "Off") == "Off":
        return 1
    return wishes.least_parallelism(metadata, count)


def _ranks(spec: Field) -> Ranks | None:
    """Indexed Jobs number their pods, and neighbours talk to each other."""
    mode = spec.at("completionMode").choice("NonIndexed", "NonIndexed", "Indexed")
    return Ranks("Consecutive") if mode == "Indexed" else None


def _root(name: str, main: PodSet, outer: Wish, inner: Wish, ranks: Ranks | None) -> Group:
    """One group around the pod set; a second around it when both the Job and its template ask for levels."""
    if not inner.bounds:
        return Group(main.name, (main,), outer.required, outer.preferred, ranks=ranks)
    group = Group(main.name, (main,), inner.required, inner.preferred, ranks=ranks)
    if not outer.bounds:
        return group
    return Group(name if name != main.name else "job", (group,), outer.required, outer.preferred)


def _suspended(metadata: Field, spec: Field) -> bool:
    """Whether the Job's owner keeps it back. In a queue it is the queue that suspends, which says nothing."""
    queued = any(metadata.at("labels", key).present for key in (wishes.QUEUE, wishes.KUEUE_QUEUE))
    return spec.at("suspend").flag(False) and not queued
