"""What of an object never changes once it is made. Every check raises Rejected where the old may not become the new."""

from collections.abc import Callable
from typing import Any

from phalanx.minicluster.documents import Document, changed, holds
from phalanx.minicluster.errors import Rejected

_AT_ANY_TIME = ("tolerations", "schedulingGates", "nodeSelector", "affinity", "activeDeadlineSeconds")  # in part
_STEERED = ("nodeSelector", "tolerations", "schedulingGates", "affinity")  # in the template of a suspended Job


def spec_but(*fields: str, only: bool = False) -> Callable[[Document, Document], None]:
    """A check that lets nothing but these fields of the spec change; ``only``: that lets just these not change."""

    def check(old: Document, new: Document) -> None:
        before, after = old.get("spec") or {}, new.get("spec") or {}
        names = fields if only else tuple(name for name in {**before, **after} if name not in fields)
        for name in names:
            if before.get(name) != after.get(name):
                raise Rejected("Invalid", f"spec.{name}: Forbidden: field is immutable")

    return check


stateful_set = spec_but(
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


# -- pods --------------------------------------------------------------------------------------------------------


def pod(old: Document, new: Document) -> None:
    """Tolerations grow, gates go, and who is gated may be narrowed. Images and resources may change too: the latter are
    those of the subresource ``resize``, which is not kept apart here.
    """
    before, after = old["spec"], new["spec"]
    if before is after or before == after:
        return
    _grows(before.get("tolerations") or [], after.get("tolerations") or [])
    gated = bool(before.get("schedulingGates"))
    if any(gate not in (before.get("schedulingGates") or ()) for gate in after.get("schedulingGates") or ()):
        raise Rejected("Invalid", "spec.schedulingGates: Forbidden: only deletion is allowed")
    if before.get("nodeSelector") != after.get("nodeSelector"):
        kept = (before.get("nodeSelector") or {}).items() <= (after.get("nodeSelector") or {}).items()
        if not gated or not kept:
            raise Rejected("Invalid", "spec.nodeSelector: Invalid value: only additions are allowed while gated")
    if before.get("affinity") != after.get("affinity") and not (gated and _is_narrower(before, after)):
        raise Rejected("Invalid", "spec.affinity: Invalid value: it is only narrowed, and only while gated")
    if _settled(before) != _settled(after):
        raise Rejected("Invalid", "spec: Forbidden: pod updates may not change other fields")


def _grows(before: list[Any], after: list[Any]) -> None:
    if any(each not in after for each in before):
        raise Rejected("Invalid", "spec.tolerations: Forbidden: existing toleration can not be removed")


def _settled(spec: Document) -> Document:
    rest = {key: value for key, value in spec.items() if key not in _AT_ANY_TIME}
    return {**rest, "containers": [_identity(each) for each in spec.get("containers") or ()]}


def _identity(container: Document) -> Document:
    return {key: value for key, value in container.items() if key not in ("image", "resources")}


def _is_narrower(before: Document, after: Document) -> bool:
    """Whether each term asks of a node all that it asked before; where there was none, any is narrower."""
    old, new = _terms(before), _terms(after)
    if not old:
        return True
    return len(old) == len(new) and all(_asks_more(*pair) for pair in zip(old, new, strict=True))


def _terms(spec: Document) -> list[Document]:
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return list(required.get("nodeSelectorTerms") or ())


def _asks_more(old: Document, new: Document) -> bool:
    names = ("matchExpressions", "matchFields")
    return all(each in (new.get(name) or ()) for name in names for each in old.get(name) or ())


# -- what makes pods ---------------------------------------------------------------------------------------------


def job(old: Document, new: Document) -> None:
    """Of a Job that is suspended, and says so if it ever ran, the template may be steered; ``completions`` of an
    Indexed one follow its ``parallelism``.
    """
    before, after = old["spec"], new["spec"]
    if before == after:
        return
    for name in ("completionMode", "selector", "podReplacementPolicy", "managedBy"):
        if before.get(name) != after.get(name):
            raise Rejected("Invalid", f"spec.{name}: field is immutable")
    if before.get("completions") != after.get("completions"):
        together = after.get("completions") == after.get("parallelism")
        if before["completionMode"] != "Indexed" or not together:
            raise Rejected("Invalid", "spec.completions: field is immutable")
    is_open = before.get("suspend") and ("startTime" not in (old.get("status") or {}) or holds(old, "Suspended"))
    here, there = (_unsteered(spec["template"]) if is_open else spec["template"] for spec in (before, after))
    if here != there:
        raise Rejected("Invalid", "spec.template: field is immutable")


def _unsteered(template: Document) -> Document:
    spec = {key: value for key, value in template["spec"].items() if key not in _STEERED}
    bare = {**spec, "containers": [_without_resources(each) for each in spec.get("containers") or ()]}
    return changed(changed(template, "metadata", to=None), "spec", to=bare)


def _without_resources(container: Document) -> Document:
    return {key: value for key, value in container.items() if key != "resources"}


def job_set(old: Document, new: Document) -> None:
    """The replicated jobs stay; while it is suspended their pod templates may be steered like those of a Job."""
    before, after = (doc["spec"].get("replicatedJobs") for doc in (old, new))
    if before == after:
        return
    if not old["spec"].get("suspend") or [_steerable(each) for each in before] != [_steerable(each) for each in after]:
        raise Rejected("Invalid", "spec.replicatedJobs: field is immutable")


def _steerable(replicated: Document) -> Document:
    pods = replicated["template"]["spec"]["template"]
    return changed(replicated, "template", "spec", "template", to=_unsteered(pods))
