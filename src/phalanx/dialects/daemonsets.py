"""From a DaemonSet to what it will take on each node it may use. (K-074)"""

from dataclasses import replace

from phalanx.dialects import podspec
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.model.daemons import DaemonSet
from phalanx.model.nodes import PodShape, Toleration

_PRESSED = "node.kubernetes.io/"
_ALWAYS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_ON_THE_HOST = ("network-unavailable", "NoSchedule")


def read(doc: Field, around: Surroundings) -> DaemonSet:
    """The DaemonSet, with the tolerations that its controller adds to every pod it makes."""
    namespace, name = identity(doc)
    doc.at("spec").mapping()
    template = doc.at("spec", "template")
    shape = podspec.read(template, namespace, around)
    on_host = template.at("spec", "hostNetwork").flag(False)
    return DaemonSet(namespace, name, _tolerating(shape, (*_ALWAYS, _ON_THE_HOST) if on_host else _ALWAYS))


def _tolerating(shape: PodShape, taints: tuple[tuple[str, str], ...]) -> PodShape:
    added = (Toleration(_PRESSED + key, "Exists", "", effect) for key, effect in taints)
    tolerations = tuple(dict.fromkeys((*shape.filter.tolerations, *added)))
    return replace(shape, filter=replace(shape.filter, tolerations=tolerations))
