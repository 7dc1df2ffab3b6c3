"""A Pod that has no node yet: a gang of one, pod set ``main``."""

from phalanx.dialects import outline, podsets, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings, identity


def read(doc: Field, around: Surroundings) -> Outline:
    """The normal form of a single pod."""
    namespace, name = identity(doc)
    metadata = doc.at("metadata")
    wishes.check_our_keys(metadata, *wishes.on_object())
    if not doc.at("spec", "containers").items():
        doc.at("spec", "containers").wrong("a pod has at least one container")
    wishes.mode(metadata, "Off", "Gang")
    group = {
        "name": "main",
        "count": 1,
        **wishes.of_pod(metadata, around.topologies),
        "template": outline.template(doc),
    }
    whole = {
        "queue": wishes.queue(metadata),
        "priorityClassName": doc.at("spec", "priorityClassName"),
        "preemptible": wishes.preemptible(metadata),
        "topologyName": wishes.topology_name(metadata),
        "podGroups": podsets.in_pool([group], metadata),
    }
    written = doc.at("spec", "priority").integer(None, low=-(2**31))  # Kubernetes has read the class already
    return Outline("Pod", namespace, name, whole, written)
