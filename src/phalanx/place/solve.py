"""One request on one draft: placed, impossible (proved) or undecided (the budget ran out).

preferences      all of them at once; if that fails the required levels only, then tightened outer first
  counts         every pod wanted; else the minimum, then as many more as fit
    questions    assumptions that rules between pods need, in turn
      T0 bounds -> T1 greedy -> T2a prices -> T2b exact -> T2c grids -> T3 numbers
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from phalanx.place.budget import Budget
from phalanx.place.build import Built
from phalanx.place.draft import Draft, Shape
from phalanx.place.greedy import Found
from phalanx.place.ranks import assign
from phalanx.place.search import Search, by_set
from phalanx.place.verdicts import INVALID, PLACED

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Pods of one shape on nodes: what committing an answer takes from the draft."""

    shape: Shape
    nodes: Ints
    counts: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What came out. ``work`` is the budget spent; ``tier`` the deepest that was needed."""

    status: str
    placement: Placement | None = None
    entries: tuple[Entry, ...] = ()
    work: int = 0
    tier: int = 0
    problem: Problem | None = None


def place(draft: Draft, request: Request, policy: Policy = Policy()) -> Answer:
    """Decides one request. The draft is left as it was; ``commit`` takes what the answer holds."""
    unseen = [s.shape.requests for s in request.root.pod_sets() if not draft.knows(s.shape)]
    problem = draft.accommodate(unseen, "resources") if unseen else None
    if problem is None:
        problem = draft.room_for_ports((port for s in request.root.pod_sets() for port in s.shape.ports), "hostPort")
    if problem is not None:
        return Answer(INVALID, problem=problem)
    search = Search(draft, request, policy, Budget(policy.budget))
    outcome = search.best()
    if outcome.status != PLACED or outcome.built is None:
        return Answer(outcome.status, work=search.budget.spent, tier=search.tier)
    entries = tuple(
        Entry(leaf.shape, *outcome.found[leaf.number])
        for leaf in outcome.built.plan.leaves
        if leaf.number in outcome.found
    )
    placement = describe(draft, search, outcome.built, outcome.found)
    return Answer(PLACED, placement, entries, search.budget.spent, search.tier)


def commit(draft: Draft, answer: Answer) -> None:
    """Takes what an answer holds; undone like anything else that is taken."""
    for entry in answer.entries:
        draft.take(entry.shape, entry.nodes, entry.counts)


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many levels two nodes have in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


def describe(draft: Draft, search: Search, built: Built, found: Found) -> Placement:
    """The placement in names."""
    tree = draft.tree
    counts = by_set(built, found)
    pod_sets = {}
    for pod_set in search.sets:
        if pod_set.name in counts:
            nodes, numbers = counts[pod_set.name]
            pod_sets[pod_set.name] = tuple(zip([tree.names[i] for i in nodes.tolist()], numbers.tolist(), strict=True))
    domains, reached = {}, {}
    for group in search.groups:
        used = [counts[s.name][0] for s in group.pod_sets() if s.name in counts]
        if used:
            first, last = min(int(n[0]) for n in used), max(int(n[-1]) for n in used)
            level = _shared(tree.paths[first], tree.paths[last])
            if not tree.inside[first] or not tree.inside[last]:
                level = 0  # a node outside the topology is in no domain that has a name
            domains[group.name] = tree.paths[first][:level]
            reached[group.name] = tree.topology.level_name(level)
    return Placement(pod_sets, domains, reached, assign(draft, search.groups, built, found))
