"""A Pod that has no node yet: a gang of one, pod set ``main``."""

from phalanx.dialects import podspec, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings, identity, priority
from phalanx.model.request import Group, PodSet, Request


def read(doc: Field, around: Surroundings) -> tuple[Request, ...]:
    """The Request of a single pod. It counts only if no Problem was noted on the way."""
    namespace, name = identity(doc)
    metadata = doc.at("metadata")
    wishes.check_our_keys(metadata, *wishes.on_object())
    if not doc.at("spec", "containers").items():
        doc.at("spec", "containers").wrong("a pod has at least one container")
    metadata.at("annotations", wishes.GANG_MODE).choice("Off", "Off", "Gang")
    levels = wishes.levels(metadata, metadata, around.topologies)
    wish = wishes.of_pod(metadata, levels)
    main = PodSet("main", 1, 1, podspec.read(doc, namespace, around), wish.slices)
    request = Request(
        kind="Pod",
        namespace=namespace,
        name=name,
        root=Group("main", (main,), wish.required, wish.preferred),
        topology=levels.name,
        queue=wishes.queue(metadata),
        priority=_priority(doc, around),
    )
    return (request,)


def _priority(doc: Field, around: Surroundings) -> int:
    """What the class says, or the number that Kubernetes wrote into the pod when its class was read."""
    written = doc.at("spec", "priority").integer(None, low=-(2**31))
    if written is not None:
        return written
    return priority(doc.at("spec", "priorityClassName"), around)
