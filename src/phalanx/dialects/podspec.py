"""From a pod template to a PodShape: everything about a pod that decides where it may go."""

from collections.abc import Mapping
from dataclasses import replace

from phalanx.dialects import alike, amounts, attachments, nodefilter, podrules
from phalanx.dialects.fields import Field
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.nodes import Pairs, PodShape

_READ = (
    "affinity", "containers", "hostNetwork", "initContainers", "nodeName", "nodeSelector", "overhead",
    "resourceClaims", "resources", "runtimeClassName", "schedulingGates", "tolerations",
    "topologySpreadConstraints", "volumes",
)  # fmt: skip

_GPU_SHARING = ("gpu-fraction", "gpu-memory")  # annotations by which KAI hands out parts of a GPU

_KNOWN: alike.Readings[PodShape] = alike.Readings()


def read(template: Field, namespace: str, around: Surroundings, extra: Mapping[str, str] | None = None) -> PodShape:
    """The shape of the pods a template makes; wrong and unsupported fields are noted as Problems.

    The template may be partial, down to nothing: such pods ask for one of ``pods`` and no more. ``extra``:
    labels that the workload's controller adds to its pods.
    """
    template.mapping()
    _refuse_what_is_not_built(template)
    key = alike.fingerprint(template.at("spec"), namespace)
    shape = _KNOWN.get(key, template.at("spec").notes, lambda: _unlabelled(template, namespace, around))
    return replace(shape, labels=labels(template, extra))


def _unlabelled(template: Field, namespace: str, around: Surroundings) -> PodShape:
    spec = template.at("spec")
    spec.mapping()
    spec.typos(*_READ)
    affinity = spec.at("affinity")
    affinity.mapping()
    affinity.typos("nodeAffinity", "podAffinity", "podAntiAffinity")
    return PodShape(
        requests=amounts.effective(spec) + attachments.of(template, namespace, around),
        filter=nodefilter.read(spec, podrules.reachable(template, namespace, around)),
        ports=podrules.host_ports(spec),
        namespace=namespace,
        affinity=podrules.pod_terms(affinity.at("podAffinity"), namespace),
        anti_affinity=podrules.pod_terms(affinity.at("podAntiAffinity"), namespace),
        spread=podrules.spread_rules(spec.at("topologySpreadConstraints")),
    )


def labels(template: Field, extra: Mapping[str, str] | None = None) -> Pairs:
    """Labels of the pods, as rules between pods see them."""
    template.at("metadata").mapping()
    written = dict(template.at("metadata", "labels").pairs())
    return tuple(sorted({**(extra or {}), **written}.items()))


def _refuse_what_is_not_built(template: Field) -> None:
    spec = template.at("spec")
    containers = [c for part in ("containers", "initContainers") for c in spec.at(part).items()]
    for claims in (spec.at("resourceClaims"), *(c.at("resources", "claims") for c in containers)):
        if claims.value not in (None, [], ()):
            claims.wrong("resource claims (DRA) are not supported yet")
    for key in _GPU_SHARING:
        if template.at("metadata", "annotations", key).present:
            template.at("metadata", "annotations", key).wrong(f"parts of a GPU ({key}, KAI) are not supported yet")
    if spec.at("runtimeClassName").text("") and not spec.at("overhead").present:
        spec.at("runtimeClassName").warn("overhead and node choice of the RuntimeClass are not considered")
