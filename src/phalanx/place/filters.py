"""Which nodes a pod may use, which it would like better, and what keeps it off the others.

The loops here run over requirements, distinct label values and distinct taint lists; nodes appear only inside
arrays. What each rule means is rule 9 of ``docs/semantics.md``.
"""

from collections.abc import Sequence

import numpy as np

from phalanx.model.matching import beyond
from phalanx.model.nodes import NodeFilter, Requirement, Taint, Term, Toleration
from phalanx.model.topology import Flags, Ints
from phalanx.place.nodetable import Column, NodeTable, any_of

HARD = ("NoSchedule", "NoExecute")
SOFT = ("PreferNoSchedule",)
NOTHING = "a term without requirements"  # the obstacle of an affinity that no node can satisfy

_SHOWN_MAX = 3  # values spelled out in an obstacle; a list of 500 host names helps nobody


def admits(table: NodeTable, node_filter: NodeFilter) -> Flags:
    """The nodes a pod with this filter may use."""
    admitted = _tolerated(table, node_filter.tolerations)
    for key, value in node_filter.selector:
        admitted &= table.labels(key).equal(value)
    for terms in node_filter.required:
        admitted &= _any_term(table, terms)
    return admitted


def score(table: NodeTable, node_filter: NodeFilter) -> Ints:
    """Per node the sum of the weights of the preferred terms it satisfies."""
    total = np.zeros(table.size, np.int64)
    for weight, term in node_filter.preferred:
        total += weight * _term(table, term)
    return total


def dislikes(table: NodeTable, tolerations: Sequence[Toleration]) -> Ints:
    """Per node how many of its PreferNoSchedule taints are not tolerated. Zero is best."""
    codes, lists = table.taints
    counts = [len(_untolerated(taints, tolerations, SOFT)) for taints in lists]
    return np.array(counts, np.int64).take(codes)


def why_not(table: NodeTable, node_filter: NodeFilter) -> tuple[Ints, tuple[tuple[str, str], ...]]:
    """Per node the number of its first obstacle, -1 where it is admitted; and the obstacles as (kind, name).

    Taints come before the selector and the selector before affinity: a tainted node is usually none of the
    pod's business, and saying so first keeps the sentence about the nodes that were meant short.
    """
    ledger = _Ledger(table.size)
    _blame_taints(table, node_filter.tolerations, ledger)
    for key, value in node_filter.selector:
        ledger.blame("selector", f"{key}={value}", ~table.labels(key).equal(value))
    for terms in node_filter.required:
        _blame_affinity(table, terms, ledger)
    return ledger.first, tuple(ledger.numbers)


def holds(column: Column, requirement: Requirement) -> Flags:
    """The rows of a column that satisfy a requirement. One with an operator nobody knows satisfies none.

    NotIn and DoesNotExist hold where the label is absent; all others need it.
    """
    match requirement.operator:
        case "In":
            return column.among(requirement.values)
        case "NotIn":
            return ~column.among(requirement.values)
        case "Exists":
            return column.codes >= 0
        case "DoesNotExist":
            return column.codes < 0
        case "Gt" | "Lt":
            return column.where([code for code, text in enumerate(column.values) if beyond(requirement, text)])
    return np.zeros(len(column.codes), bool)


def _any_term(table: NodeTable, terms: Sequence[Term]) -> Flags:
    found = np.zeros(table.size, bool)
    for term in terms:
        found |= _term(table, term)
    return found


def _term(table: NodeTable, term: Term) -> Flags:
    found = np.full(table.size, bool(term.requirements))
    for requirement in term.requirements:
        found &= _requirement(table, requirement)
    return found


def _requirement(table: NodeTable, requirement: Requirement) -> Flags:
    if not requirement.on_name:
        return holds(table.labels(requirement.key), requirement)
    if requirement.operator in ("In", "NotIn"):  # every node has a name: nothing else can be asked of it
        return holds(table.names, requirement)
    return np.zeros(table.size, bool)


def _tolerated(table: NodeTable, tolerations: Sequence[Toleration]) -> Flags:
    codes, lists = table.taints
    refused = [code for code, taints in enumerate(lists) if _untolerated(taints, tolerations, HARD)]
    return ~any_of(codes, refused, len(lists))


def _untolerated(
    taints: Sequence[Taint], tolerations: Sequence[Toleration], effects: tuple[str, ...]
) -> tuple[Taint, ...]:
    feared = [taint for taint in taints if taint.effect in effects]
    return tuple(taint for taint in feared if not any(toleration.tolerates(taint) for toleration in tolerations))


class _Ledger:
    """The first obstacle of every node, filled in the order in which obstacles are named."""

    def __init__(self, size: int) -> None:
        self.first: Ints = np.full(size, -1, np.int64)
        self.numbers: dict[tuple[str, str], int] = {}

    def number(self, kind: str, name: str) -> int:
        return self.numbers.setdefault((kind, name), len(self.numbers))

    def blame(self, kind: str, name: str, failing: Flags) -> None:
        """Name this obstacle on the failing nodes that have none yet; an obstacle of no node gets no number."""
        fresh = failing & (self.first < 0)
        if fresh.any():
            self.first[fresh] = self.number(kind, name)


def _blame_taints(table: NodeTable, tolerations: Sequence[Toleration], ledger: _Ledger) -> None:
    codes, lists = table.taints
    stops = [_untolerated(taints, tolerations, HARD) for taints in lists]
    numbers = [ledger.number("taint", stop[0].key) if stop else -1 for stop in stops]
    ledger.first = np.array(numbers, np.int64).take(codes)


def _blame_affinity(table: NodeTable, terms: Sequence[Term], ledger: _Ledger) -> None:
    """Where every term fails, the first requirement that fails in the first term that has any."""
    failing = ~_any_term(table, terms)
    requirements = next((term.requirements for term in terms if term.requirements), ())
    for requirement in requirements:
        ledger.blame("affinity", _show(requirement), failing & ~_requirement(table, requirement))
    if not requirements:
        ledger.blame("affinity", NOTHING, failing)


def _show(requirement: Requirement) -> str:
    """``zone in (a, b)``, ``cores > 8``, ``gpu does not exist``, ``node name in (n1, n2, n3, +497)``"""
    subject = "node name" if requirement.on_name else requirement.key
    values = ", ".join(requirement.values[:_SHOWN_MAX])
    if len(requirement.values) > _SHOWN_MAX:
        values += f", +{len(requirement.values) - _SHOWN_MAX}"
    match requirement.operator:
        case "In":
            return f"{subject} in ({values})"
        case "NotIn":
            return f"{subject} not in ({values})"
        case "Exists":
            return f"{subject} exists"
        case "DoesNotExist":
            return f"{subject} does not exist"
        case "Gt":
            return f"{subject} > {values}"
        case "Lt":
            return f"{subject} < {values}"
    return f"{subject} {requirement.operator} ({values})"
