"""What an object is tied to: its controller, what its pods say they belong to, what its spec names.

::

    Pod -> ReplicaSet -> Deployment        by ownerReferences
    Pod -> PodGroup -> CompositePodGroup   by spec.schedulingGroup and spec.parentCompositePodGroupName
    Job -> Gang                            by a label in its pod template
"""

from collections.abc import Iterator, Mapping

from phalanx.dialects import kindtable, links, owners
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.readers import is_part_of, target
from phalanx.model.objects import ObjectKey

_SCHEDULING = "scheduling.k8s.io"
_TRAINER = "trainer.kubeflow.org"
_DEPTH = 8  # how far below the top of an object a pod template is looked for
_WORK = 2_000  # and in how many entries

Trail = tuple["Trail", str | int] | None  # the way from an object down to a value in it, innermost last


def of(doc: Document) -> frozenset[ObjectKey]:
    """The keys of everything an object is tied to."""
    at = Field.of(doc.value)
    found = set(_linked(doc, at)) | set(_named(doc, at))
    owner = owners.controller(at.aside())
    if owner is not None and (doc.kind != "Pod" or is_part_of(doc.of_kind, owner.of_kind)):
        found.add(owner.key(doc.namespace))
    return frozenset(found)


def _linked(doc: Document, at: Field) -> Iterator[ObjectKey]:
    for one in [at] if doc.kind == "Pod" and not doc.group else templates(doc.value):
        link = links.of(one.aside())
        if link is not None:
            yield target(link, doc.namespace)


def templates(value: Mapping[str, object]) -> list[Field]:
    """The pod templates inside an object of any kind, each at its place, as far as they are looked for."""
    found: list[Field] = []
    layer: list[tuple[object, Trail]] = [(value.get("spec"), (None, "spec"))]
    work = 0
    for _ in range(_DEPTH):
        below: list[tuple[object, Trail]] = []
        for one, trail in layer:
            if is_template(one):
                found.append(_at(value, trail))
                continue
            held = _held(one)
            work += len(held)
            if work > _WORK:
                return found
            below.extend((inner, (trail, key)) for key, inner in held)
        layer = below
    return found


def _held(value: object) -> list[tuple[str | int, object]]:
    if isinstance(value, list):
        return list(enumerate(value))
    return [(key, one) for key, one in value.items() if isinstance(key, str)] if isinstance(value, dict) else []


def _at(document: Mapping[str, object], trail: Trail) -> Field:
    keys: list[str | int] = []
    while trail is not None:
        trail, key = trail
        keys.append(key)
    here = Field.of(document)
    for key in reversed(keys):
        here = here.at(key) if isinstance(key, str) else here.items()[key]
    return here


def is_template(value: object) -> bool:
    spec = value.get("spec") if isinstance(value, dict) else None
    return isinstance(spec, dict) and isinstance(spec.get("containers"), list)


def _named(doc: Document, at: Field) -> Iterator[ObjectKey]:
    """Objects that a spec names: parents and templates of groups, what an autoscaler scales, a runtime."""
    spec = at.at("spec")
    if (parent := _text(spec, "parentCompositePodGroupName")) is not None:
        yield ObjectKey(_SCHEDULING, "CompositePodGroup", doc.namespace, parent)
    if (workload := _text(spec, "workloadRef", "workloadName")) is not None:
        yield ObjectKey(_SCHEDULING, "Workload", doc.namespace, workload)
    if (scaled := _text(spec, "scaleTargetRef", "name")) is not None:
        api, kind = _text(spec, "scaleTargetRef", "apiVersion"), _text(spec, "scaleTargetRef", "kind") or ""
        group = kindtable.OWNER_GROUPS.get(kind, "") if api is None else api.rpartition("/")[0]
        yield ObjectKey(group, kind, doc.namespace, scaled)
    if (runtime := _text(spec, "runtimeRef", "name")) is not None:
        kind = _text(spec, "runtimeRef", "kind") or "ClusterTrainingRuntime"
        yield ObjectKey(_TRAINER, kind, "default" if kind.startswith("Cluster") else doc.namespace, runtime)


def _text(at: Field, *path: str) -> str | None:
    value = at.at(*path).value
    return value if isinstance(value, str) and value else None
