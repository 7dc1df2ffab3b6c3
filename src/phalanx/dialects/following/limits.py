"""Jobs that would end for good when their gang leaves its places: pods that are deleted under a Job count as failures.

Told as a doubt, and only where it is so: not of Jobs that are suspended meanwhile, nor of those that ignore pods with
the condition that ours are given before they go.
"""

from phalanx.dialects import jobspec, kindtable
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following.suspending import Suspending
from phalanx.model.problems import Problem
from phalanx.model.request import Request

FIELDS = ("spec.backoffLimit", "spec.backoffLimitPerIndex")
_USUAL = 6  # of a Job that says nothing about it
_DISRUPTED = "DisruptionTarget"
_GATED = "of what makes the pods of a gated gang we suspend one that makes all of them"


def doubts(request: Request, leaving: Suspending) -> tuple[Problem, ...]:
    """What is to be said of the Jobs whose pods are deleted when a gang leaves."""
    why = leaving.why_not or (_GATED if request.rules.enforcement == "Gate" else "")
    own = (request.kind, request.namespace, request.name)
    jobs = [doc for doc in leaving.makers if why and doc.of_kind == kindtable.JOB]
    found = [(doc.key, doubt) for doc in jobs if (doubt := _doubt(doc, why)) is not None]
    return tuple(doubt if key.address == own else doubt.told_of(key) for key, doubt in found)


def _doubt(doc: Document, why: str) -> Problem | None:
    spec = Field.of(doc.value).aside().at("spec")
    pods = jobspec.pods(spec)
    at, limit, lost = _limit(spec, pods)
    if lost <= limit or _ignores_ours(spec):
        return None
    says = f"{lost} pods" if lost > 1 else "a pod"
    message = (
        f"{says} deleted with the whole gang would be more failures than it allows, and end it for good: it is not "
        f"suspended meanwhile, for {why}; let its podFailurePolicy ignore pods with the condition {_DISRUPTED} "
        "(onPodConditions), or allow more"
    )
    return Problem(at.path, at.value if at.present else limit, (f">= {lost}",), message)


def _limit(spec: Field, pods: int) -> tuple[Field, int, int]:
    """The field that ends the Job, what it allows, and how much of that its pods cost when all of them go."""
    of_index = spec.at("backoffLimitPerIndex")
    if of_index.present and not spec.at("backoffLimit").present:
        return of_index, of_index.integer(0), 1
    at = spec.at("backoffLimit")
    return at, at.integer(_USUAL), pods


def _ignores_ours(spec: Field) -> bool:
    """Whether pods that we delete are no failures of the Job."""
    rules = spec.at("podFailurePolicy", "rules").items()
    return any(
        rule.at("action").value == "Ignore" and any(_is_ours(one) for one in rule.at("onPodConditions").items())
        for rule in rules
    )


def _is_ours(condition: Field) -> bool:
    return condition.at("type").value == _DISRUPTED and condition.at("status").value in (None, "True")
