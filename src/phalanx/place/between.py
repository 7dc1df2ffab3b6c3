"""Rules between pods, read for one request: affinity, anti-affinity and spread, towards running pods and each other.

What running pods decide alone becomes a mask of nodes. What the request's own pods decide among themselves becomes
a rule over *classes* of nodes (nodes with one value of a label, or one domain of a level), which either turns
into numbers the search counts with, or is checked on what was found and asked as a question when broken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from phalanx.model.matching import selects
from phalanx.model.nodes import NodeFilter, PodShape, PodTerm, SpreadRule, Toleration
from phalanx.model.request import PodSet
from phalanx.place import filters
from phalanx.place.draft import Draft

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
ALL_TAINTS = Toleration("", "Exists", "", "")


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Nodes in classes: a code per node (-1: in none). ``level``: the tree level they coincide with, if any."""

    codes: Ints
    count: int
    level: int | None

    def members(self, code: int) -> Ints:
        return np.flatnonzero(self.codes == code)


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """No class may hold pods of both (of one pod set with itself: at most one pod)."""

    classes: Classes
    first: str
    second: str
    number: int  # tells the terms of a pod set apart


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Every class with a pod of the team holds a running match (``given``) or a pod of ``hosts``; except one
    founding class if ``founders`` (members of the team that match their own term) may found it."""

    classes: Classes
    team: tuple[str, ...]
    hosts: tuple[str, ...]
    founders: tuple[str, ...]
    given: Flags  # per class
    number: int  # tells the terms of a request apart


@dataclass(frozen=True, slots=True, eq=False)
class Even:
    """For every class with a pod of ``owner`` (or every class, when the owner is a whole group): its count is at
    most ``skew`` above the least. Counted are pods of ``counted`` and ``running``; ``classes`` holds only eligible
    nodes; ``floor``: the least counts as zero."""

    key: tuple[str, ...]
    classes: Classes
    owner: tuple[str, ...]
    counted: tuple[str, ...]
    running: Ints
    skew: int
    floor: bool


Rule = Apart | Beside | Even


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """All of it for one request: a mask per pod set (None: no restriction), and the rules."""

    masks: dict[str, Flags]
    rules: tuple[Rule, ...]


NOTHING_BETWEEN = Between({}, ())


def read(draft: Draft, sets: Sequence[PodSet]) -> Between:
    """What the pods of a request mean to each other and to the running ones."""
    if not any(s.shape.affinity or s.shape.anti_affinity or s.shape.spread for s in sets) and not draft.pods.hostile:
        return NOTHING_BETWEEN
    masks: dict[str, Flags] = {}
    rules: list[Rule] = []
    for pod_set in sets:
        mask = ~draft.pods.blocked_by_running(pod_set.shape)
        for number, term in enumerate(pod_set.shape.anti_affinity):
            mask &= _away_from_running(draft, term)
            rules += _apart(draft, term, pod_set, sets, number)
        for i, rule in enumerate(pod_set.shape.spread):
            mask &= classes_of(draft, rule.key).codes >= 0
            even = _even(draft, rule, pod_set, sets, str(i))
            mask &= _allowed_by_running(even)
            rules += [even] if even.counted else []
        masks[pod_set.name] = mask
    rules += _beside(draft, sets, masks)
    return Between({name: mask for name, mask in masks.items() if not mask.all()}, tuple(rules))


def classes_of(draft: Draft, key: str, only: Flags | None = None) -> Classes:
    """Classes by the value of a label, among ``only`` those nodes."""
    codes, values = draft.table.column(key)
    if only is not None:
        codes = np.where(only, codes, -1)
        present = np.unique(codes[codes >= 0])
        renumber = np.full(len(values) + 1, -1, dtype=np.int64)
        renumber[present] = np.arange(len(present))
        codes = renumber[codes]
        return Classes(codes, len(present), _level_of(draft, codes, len(present)))
    return Classes(codes, len(values), _level_of(draft, codes, len(values)))


def _level_of(draft: Draft, codes: Ints, count: int) -> int | None:
    """The tree level whose domains are exactly these classes, nodes in no class aside."""
    tree = draft.tree
    used = np.flatnonzero(codes >= 0)
    for level in range(tree.host, 0, -1):
        domains = tree.domain[level][used]
        pairs = np.unique(np.stack([domains, codes[used]]), axis=1)
        if pairs.shape[1] == count == len(np.unique(domains)):
            return level
    return None


def _running(draft: Draft, selector: object, namespaces: tuple[str, ...] | None, classes: Classes) -> Ints:
    """Running pods a selector means, per class."""
    if not len(draft.pods):
        return np.zeros(classes.count, dtype=np.int64)
    per_node = draft.pods.counts_by_node(draft.pods.matching(selector, namespaces))  # type: ignore[arg-type]
    inside = classes.codes >= 0
    return np.bincount(classes.codes[inside], weights=per_node[inside], minlength=classes.count).astype(np.int64)


def _means(term: PodTerm | SpreadRule, namespaces: tuple[str, ...] | None, shape: PodShape) -> bool:
    inside = namespaces is None or shape.namespace in namespaces
    return inside and selects(term.selector, dict(shape.labels))


def _away_from_running(draft: Draft, term: PodTerm) -> Flags:
    classes = classes_of(draft, term.key)
    taken = _running(draft, term.selector, term.namespaces, classes) > 0
    return ~np.append(taken, False)[classes.codes]


def _apart(draft: Draft, term: PodTerm, pod_set: PodSet, sets: Sequence[PodSet], number: int) -> list[Rule]:
    classes = classes_of(draft, term.key)
    return [
        Apart(classes, pod_set.name, other.name, number) for other in sets if _means(term, term.namespaces, other.shape)
    ]


def _even(draft: Draft, rule: SpreadRule, pod_set: PodSet, sets: Sequence[PodSet], number: str) -> Even:
    shape = pod_set.shape
    eligible = np.ones(draft.tree.size, dtype=bool)
    for other in shape.spread:
        eligible &= draft.table.column(other.key)[0] >= 0
    if rule.honor_affinity:
        eligible &= filters.admits(draft.table, replace(shape.filter, tolerations=(ALL_TAINTS,)))
    if rule.honor_taints:
        eligible &= filters.admits(draft.table, NodeFilter(tolerations=shape.filter.tolerations))
    classes = classes_of(draft, rule.key, eligible)
    namespaces = (shape.namespace,)
    counted = tuple(s.name for s in sets if _means(rule, namespaces, s.shape))
    running = _running(draft, rule.selector, namespaces, classes)
    floor = classes.count < rule.min_domains
    return Even(("tsc", pod_set.name, number), classes, (pod_set.name,), counted, running, rule.max_skew, floor)


def _allowed_by_running(even: Even) -> Flags:
    """When no pod of the request counts, running pods alone say which classes are open."""
    if even.counted or not even.classes.count:
        return np.ones(len(even.classes.codes), dtype=bool)
    least = 0 if even.floor else int(even.running.min())
    good = np.append(even.running - least <= even.skew, True)
    return good[even.classes.codes]


def _beside(draft: Draft, sets: Sequence[PodSet], masks: dict[str, Flags]) -> list[Rule]:
    """One rule per distinct affinity term; terms that running pods alone decide become masks."""
    rules: list[Rule] = []
    terms = dict.fromkeys(term for s in sets for term in s.shape.affinity)
    for number, term in enumerate(terms):
        team = tuple(s.name for s in sets if term in s.shape.affinity)
        means = [s.name for s in sets if _means(term, term.namespaces, s.shape)]
        classes = classes_of(draft, term.key)
        given = _running(draft, term.selector, term.namespaces, classes) > 0
        anywhere = len(draft.pods) > 0 and bool(draft.pods.matching(term.selector, term.namespaces).any())
        founders = () if anywhere else tuple(name for name in means if name in team)
        hosts = tuple(name for name in means if name not in team)
        for name in team:
            masks[name] = masks[name] & (classes.codes >= 0)
        if not founders and not hosts:
            for name in team:
                masks[name] = masks[name] & np.append(given, False)[classes.codes]
        else:
            rules.append(Beside(classes, team, hosts, founders, given, number))
    return rules
