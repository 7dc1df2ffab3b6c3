"""Rules checked on what was found: the first that is broken, and the alternatives that could mend it.

Every list of alternatives is complete: any placement that keeps the rule satisfies at least one of them, and what
was found satisfies none. So trying them in turn neither loses a placement nor comes back to the same one.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from phalanx.model.topology import Tree
from phalanx.place.between import Apart, Beside, Even, Rule
from phalanx.place.choices import Choices
from phalanx.place.plan import Plan

Ints = npt.NDArray[np.int64]
Counts = Mapping[str, tuple[Ints, Ints]]  # pod set -> (nodes, pods on each)


def keeps_counts(tree: Tree, plan: Plan, found: Mapping[int, tuple[Ints, Ints]]) -> bool:
    """Whether exclusions and ceilings hold on what was found."""
    for exclusion in plan.exclusions:
        first, second = found.get(exclusion.first.number), found.get(exclusion.second.number)
        if first and second:
            domains = tree.domain[exclusion.level]
            if np.intersect1d(domains[first[0]], domains[second[0]]).size:
                return False
    for ceiling in plan.ceilings:
        total = np.zeros(tree.count(ceiling.level), dtype=np.int64)
        for leaf in ceiling.leaves:
            if leaf.number in found:
                nodes, counts = found[leaf.number]
                np.add.at(total, tree.domain[ceiling.level][nodes], counts)
        if (total > ceiling.most).any():
            return False
    return True


def alternatives(rules: list[Rule], counts: Counts, choices: Choices) -> Iterator[Choices] | None:
    """None if all rules hold; else what to try because the first broken one must be mended."""
    for rule in rules:
        found = _mend(rule, counts, choices)
        if found is not None:
            return found
    return None


def _mend(rule: Rule, counts: Counts, choices: Choices) -> Iterator[Choices] | None:
    if isinstance(rule, Apart):
        return _mend_apart(rule, counts, choices)
    if isinstance(rule, Beside):
        return _mend_beside(rule, counts, choices)
    return _mend_even(rule, counts, choices)


def _per_class(codes: Ints, number: int, counts: Counts, names: tuple[str, ...]) -> Ints:
    total = np.zeros(number, dtype=np.int64)
    for name in names:
        if name in counts:
            nodes, pods = counts[name]
            inside = codes[nodes] >= 0
            np.add.at(total, codes[nodes][inside], pods[inside])
    return total


def _nowhere(choices: Choices, names: tuple[str, ...], nodes: Ints) -> Choices:
    return choices.at_most({(name, int(node)): 0 for name in names for node in nodes})


def _mend_apart(rule: Apart, counts: Counts, choices: Choices) -> Iterator[Choices] | None:
    codes, number = rule.classes.codes, rule.classes.count
    first = _per_class(codes, number, counts, (rule.first,))
    if rule.first == rule.second:
        crowded = np.flatnonzero(first > 1)
        if not len(crowded):
            return None
        return _one_only(choices, rule.first, rule.classes.members(int(crowded[0])))
    second = _per_class(codes, number, counts, (rule.second,))
    both = np.flatnonzero((first > 0) & (second > 0))
    if not len(both):
        return None
    members = rule.classes.members(int(both[0]))
    return iter((_nowhere(choices, (rule.first,), members), _nowhere(choices, (rule.second,), members)))


def _one_only(choices: Choices, name: str, members: Ints) -> Iterator[Choices]:
    """At most one pod in these nodes: it is on one of them, so the others are closed."""
    for node in members.tolist():
        closed = {(name, int(other)): 0 for other in members.tolist() if other != node}
        yield choices.at_most({**closed, (name, node): 1})


def _mend_beside(rule: Beside, counts: Counts, choices: Choices) -> Iterator[Choices] | None:
    codes, number = rule.classes.codes, rule.classes.count
    team = _per_class(codes, number, counts, rule.team)
    hosts = _per_class(codes, number, counts, rule.hosts)
    lonely = (team > 0) & ~rule.given & (hosts == 0)
    founded = next((v for k, v in choices.answers.items() if k == ("found", *rule.team, str(rule.number))), -1)
    if founded >= 0:
        own = _per_class(codes, number, counts, rule.founders)
        lonely[founded] = bool(lonely[founded]) and own[founded] == 0
    at = np.flatnonzero(lonely)
    if not len(at):
        return None
    members = rule.classes.members(int(at[0]))
    return _company(rule, counts, choices, members, rule.founders if int(at[0]) == founded else ())


def _company(
    rule: Beside, counts: Counts, choices: Choices, members: Ints, founders: tuple[str, ...]
) -> Iterator[Choices]:
    """Nobody of the team there; or someone they may be beside, on one of the nodes."""
    yield _nowhere(choices, rule.team, members)
    for name in (*rule.hosts, *founders):
        for node in members.tolist():
            yield choices.at_least((name, node), 1)


def _mend_even(rule: Even, counts: Counts, choices: Choices) -> Iterator[Choices] | None:
    codes, number = rule.classes.codes, rule.classes.count
    total = rule.running + _per_class(codes, number, counts, rule.counted)
    owned = _per_class(codes, number, counts, rule.owner) if rule.owner else np.ones(number, dtype=np.int64)
    least = 0 if rule.floor else int(total.min())
    over = np.flatnonzero((owned > 0) & (total - least > rule.skew))
    if not len(over):
        return None
    emptiest = None if rule.floor else int(total.argmin())
    return _level_out(rule, counts, choices, int(over[0]), emptiest)


def _level_out(rule: Even, counts: Counts, choices: Choices, full: int, empty: int | None) -> Iterator[Choices]:
    """More on some node of the emptiest class, or fewer on some node of the full one, or none of the owner there."""
    if empty is not None:
        for name in rule.counted:
            have = dict(zip(*(x.tolist() for x in counts[name]), strict=True)) if name in counts else {}
            for node in rule.classes.members(empty).tolist():
                yield choices.at_least((name, node), have.get(node, 0) + 1)
    members = set(rule.classes.members(full).tolist())
    for name in rule.counted:
        if name in counts:
            for node, pods in zip(*(x.tolist() for x in counts[name]), strict=True):
                if node in members:
                    yield choices.at_most({(name, node): pods - 1})
    if rule.owner and not set(rule.owner) & set(rule.counted):
        yield _nowhere(choices, rule.owner, np.array(sorted(members)))
