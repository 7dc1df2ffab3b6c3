"""Whether labels are what a selector means."""

import re
from collections.abc import Mapping

from phalanx.model.nodes import LabelSelector, Requirement

_WHOLE = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)  # Kubernetes reads the labels of Gt and Lt as 64-bit integers and rejects the rest
_LONGEST = 63  # no label value is longer


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a selector means something with these labels. An empty selector means everything."""
    return (
        not selector.matches_nothing
        and all(labels.get(key) == value for key, value in selector.labels)
        and all(_satisfies(labels.get(wish.key), wish) for wish in selector.requirements)
    )


def _satisfies(value: str | None, requirement: Requirement) -> bool:
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and beyond(requirement, value)
    return False


def beyond(requirement: Requirement, text: str) -> bool:
    """Whether a label value lies on the right side of the bound of Gt or Lt; only integers lie anywhere."""
    if len(requirement.values) != 1:
        return False
    number, bound = _whole(text), _whole(requirement.values[0])
    if number is None or bound is None:
        return False
    return number > bound if requirement.operator == "Gt" else number < bound


def _whole(text: str) -> int | None:
    if _WHOLE.fullmatch(text) is None or len(text) > _LONGEST:
        return None
    number = int(text)
    return number if number in _INT64 else None
