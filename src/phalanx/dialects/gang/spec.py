"""The top of a Gang: its own fields, checked as written."""

from phalanx.dialects import keys
from phalanx.dialects.fields import Field
from phalanx.dialects.gang import joined
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings, identity

_FIELDS = (
    "controllerRef", "queue", "priorityClassName", "preemptible", "suspend", "enforcement", "topologyName",
    "topology", "policy", "minGroups", "scheduleTimeoutSeconds", "readyTimeoutSeconds", "recoveryTimeoutSeconds",
    "onFailure", "disruption", "expectedDurationSeconds", "podGroups",
)  # fmt: skip


def read(doc: Field, around: Surroundings) -> Outline:
    """The normal form of a Gang: its own spec, with the shapes of pods that only their owners know."""
    namespace, name = identity(doc)
    doc.known("apiVersion", "kind", "metadata", "spec", "status")
    spec = doc.at("spec")
    spec.known(*_FIELDS)
    for key, value in doc.at("metadata", "annotations").entries():
        if key.startswith("phalanx.dev/"):
            value.warn("is not read on a Gang; its spec has a field for it", ("spec.topology", "spec.queue"))
    keys.note_typos(doc.at("metadata"))
    return joined.filled(Outline("Gang", namespace, name, _fields(spec)), around)


def _fields(spec: Field) -> dict[str, object]:
    return {name: spec.at(name) for name in _FIELDS}
