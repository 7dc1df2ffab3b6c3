"""What the last tier found, in the form in which the other tiers hand it over: leaves with their nodes, and who meets
whom."""

import numpy as np

from phalanx.place.build import Built, Bundle
from phalanx.place.draft import Draft
from phalanx.place.formulate import Formulation, Solved
from phalanx.place.greedy import Found
from phalanx.place.plan import Leaf, Plan, Unit


def written(draft: Draft, formulation: Formulation, solved: Solved) -> tuple[Built, Found]:
    """A plan with one leaf for each pod set, and one for each of its meetings, as if it had been built so."""
    leaves: dict[str, list[Leaf]] = {name: [] for name in solved.pods}
    found: Found = {}
    bundles: list[Bundle] = []
    left = {name: dict(nodes) for name, nodes in solved.pods.items()}

    def leaf(name: str, taken: dict[int, int]) -> int:
        nodes = np.array(sorted(taken), dtype=np.int64)
        counts = np.array([taken[node] for node in sorted(taken)], dtype=np.int64)
        number = len(found)
        found[number] = (nodes, counts)
        leaves[name].append(Leaf(number, int(counts.sum()), formulation.shapes[name], (name,)))
        return number

    for level, sets, ranks in solved.meetings:
        domains = draft.tree.domain[level]
        shares: dict[str, dict[int, int]] = {name: {} for name in sets}
        for domain, count in ranks.items():
            for name in sets:
                _move(left[name], shares[name], [n for n in left[name] if domains[n] == domain], count)
        ordered = tuple(sorted(sets))
        bundles.append(Bundle(ordered, tuple(leaf(name, shares[name]) for name in ordered)))
    for name, rest in left.items():
        if rest:
            leaf(name, rest)
    every = [one for held in leaves.values() for one in held]
    plan = Plan(Unit(formulation.request.root.name, 0, loose=every), every)
    counts = {name: sum(nodes.values()) for name, nodes in solved.pods.items()}
    return Built(plan, leaves, bundles, counts, []), found


def _move(source: dict[int, int], target: dict[int, int], nodes: list[int], count: int) -> None:
    """So many pods from one tally to the other, on these nodes."""
    for node in nodes:
        moved = min(source[node], count)
        count -= moved
        target[node] = target.get(node, 0) + moved
        source[node] -= moved
        if not source[node]:
            del source[node]
        if not count:
            return
