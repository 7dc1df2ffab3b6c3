"""Whether a workload takes part: one whose wishes no Topology can answer is deactivated, not refused.

The Topology may change after the workload was made, so the check is made again whenever either changes. Nothing is
remembered: with the cause gone there is no Problem, and without a Problem the workload is active. (K-036 to K-040)
"""

from dataclasses import dataclass

from phalanx.model.problems import Problem

_REASON = "DeactivatedDueToInvalidTopologyRequest"
_MESSAGE_MAX = 32_768  # what an API server takes in a condition


@dataclass(frozen=True, slots=True)
class Standing:
    """``spec.active`` of a Workload, and the conditions of its status that say why not."""

    active: bool
    conditions: tuple[dict[str, str], ...] = ()


def of(problems: tuple[Problem, ...], admitted: bool = False) -> Standing:
    """The standing of a workload with these Problems. What was admitted before they arose stays untouched."""
    if not problems or admitted:
        return Standing(active=True)
    message = "; ".join(_sentence(problem) for problem in problems)[:_MESSAGE_MAX]
    return Standing(active=False, conditions=(_condition("Evicted", "True", message), _unqueued(message)))


def _sentence(problem: Problem) -> str:
    """The Problem, with the values that would be right unless its message lists them."""
    listed = all(value in problem.message for value in problem.allowed)
    return str(problem) if listed else f"{problem} (allowed: {', '.join(problem.allowed)})"


def _unqueued(message: str) -> dict[str, str]:
    return _condition("Requeued", "False", message)


def _condition(kind: str, status: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": status, "reason": _REASON, "message": message}
