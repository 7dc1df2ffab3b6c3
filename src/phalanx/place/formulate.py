"""A request as whole numbers under linear rules: how many pods of each set on each node.

Every rule of docs/semantics.md is written down here as it stands, for all rules at once, so nothing depends on which of
them meet. It asks for one number per pod set and node, and is for requests and clusters where those are few.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from phalanx.model.request import Group, PodSet, Request
from phalanx.place.between import Apart, Beside, Between, Even
from phalanx.place.budget import Budget
from phalanx.place.build import is_bound, likeness, rank_teams, slice_units
from phalanx.place.choices import Key
from phalanx.place.draft import Draft, Shape
from phalanx.place.numbers import Numbers

Ints = npt.NDArray[np.int64]
Range = tuple[int, int]
Terms = list[tuple[int, int]]

EARLY = 1e-9  # the say of sums before any conflict
MANY = 10**9  # more than there ever are: the largest that is possible


@dataclass(frozen=True, slots=True)
class Solved:
    """Values for all numbers, in the words of the request."""

    pods: dict[str, dict[int, int]]  # pod set -> node -> pods
    members: dict[Key, tuple[int, ...]]  # of every group that is in: who of it is
    meetings: list[tuple[int, tuple[str, ...], dict[int, int]]]  # level, sets of two and more, ranks per domain


@dataclass(slots=True)
class Meeting:
    """Ranks of which the same pod sets take part: the sets, and how many of these ranks meet in each domain."""

    level: int
    sets: tuple[str, ...]
    domains: dict[int, int]  # domain -> its number


@dataclass(slots=True)
class Formulation:
    """One attempt: levels and members as assumed, pods of each set within a range."""

    draft: Draft
    request: Request
    between: Between
    levels: Mapping[str, int | None]
    ranges: Mapping[str, Range]
    members: Mapping[Key, tuple[int, ...]]  # ("members", group) -> who of it is in; not there: free to choose
    budget: Budget
    numbers: Numbers = field(init=False)
    cells: Ints = field(init=False)
    x: dict[tuple[str, int], int] = field(default_factory=dict)  # (pod set, node) -> number
    nodes: dict[str, list[int]] = field(default_factory=dict)  # pod set -> nodes it may use
    shapes: dict[str, Shape] = field(default_factory=dict)
    inside: dict[str, int] = field(default_factory=dict)  # name -> 0 or 1: whether a group or pod set is in
    homes: dict[tuple[str, int, int], int] = field(default_factory=dict)  # group, level, domain -> 0 or 1
    housed: set[tuple[str, int]] = field(default_factory=set)  # groups and levels that have homes
    meetings: list[Meeting] = field(default_factory=list)
    levelled: dict[tuple[tuple[str, ...], int], dict[int, Terms]] = field(default_factory=dict)  # sums by domain
    on_node: dict[tuple[tuple[str, ...], int], int] = field(default_factory=dict)  # sums of several sets on one node

    def __post_init__(self) -> None:
        self.numbers = Numbers(self.budget)
        self._membership(self.request.root, self.numbers.number(1, 1))
        self._pods(self.request.root, False)
        self._capacity()
        for group in self.request.root.groups():
            level = self.levels.get(group.name)
            if level:
                self._home(group, level)
        self._spreads(self.request.root, self.request.root, 0)
        spreads = {group.spread.level for group in self.request.root.groups() if group.spread is not None}
        for pod_set in self.request.root.pod_sets():
            self._slices(pod_set, spreads)
        self.cells = self._crossed()
        for rule in self.between.rules:
            if isinstance(rule, Apart):
                self._apart(rule)
            elif isinstance(rule, Beside):
                self._beside(rule)
            else:
                self._even(rule)
        for group in self.request.root.groups():
            self._ranks(group)
            self._in_order(group)

    def solve(self, near: Mapping[str, tuple[Ints, Ints]]) -> "Solved | None":
        """A placement, or None: proved that there is none. ``near``: one that breaks some rules, to start from."""
        for name, (nodes, counts) in near.items():
            for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
                if (name, node) in self.x:
                    self.numbers.hint[self.x[name, node]] = count
        single = set(self.x.values())
        for number in range(len(self.numbers.say)):
            if number not in single:
                self.numbers.say[number] = EARLY  # sums and choices first: most follows from them
        found = self.numbers.solve()
        if found is None:
            return None
        pods: dict[str, dict[int, int]] = {name: {} for name in self.nodes}
        for (name, node), number in self.x.items():
            if found[number]:
                pods[name][node] = found[number]
        members: dict[Key, tuple[int, ...]] = {
            ("members", group.name): tuple(
                i for i, member in enumerate(group.members) if found[self.inside[member.name]]
            )
            for group in self.request.root.groups()
            if _some_suffice(group) and found[self.inside[group.name]]
        }
        meetings = []
        for meeting in self.meetings:
            sets = tuple(name for name in meeting.sets if found[self.inside[name]])
            if len(sets) > 1:
                meetings.append((meeting.level, sets, {d: found[n] for d, n in meeting.domains.items() if found[n]}))
        return Solved(pods, members, meetings)

    # ---- who is in, how many, where they may be -----------------------------------------------------

    def _membership(self, group: Group, own: int) -> None:
        self.inside[group.name] = own
        some = _some_suffice(group)
        chosen = self.members.get(("members", group.name)) if some else None
        taking_part: Terms = []
        for i, member in enumerate(group.members):
            theirs = own
            if chosen is not None:
                theirs = own if i in chosen else self.numbers.number(0, 0)
            elif some:
                theirs = self.numbers.number(0, 1)
                self.numbers.at_most([(1, theirs), (-1, own)], 0)
            taking_part.append((1, theirs))
            if isinstance(member, Group):
                self._membership(member, theirs)
            else:
                self.inside[member.name] = theirs
        if some and group.min_members is not None:
            self.numbers.at_least([*taking_part, (-group.min_members, own)], 0)
        elif group.min_members is not None and group.min_members > len(group.members):
            self.numbers.at_most([(1, own)], 0)

    def _pods(self, group: Group, bound: bool) -> None:
        bound = bound or is_bound(group)
        for member in group.members:
            if isinstance(member, Group):
                self._pods(member, bound)
            else:
                self._set(member, bound or bool(member.slices))

    def _set(self, pod_set: PodSet, bound: bool) -> None:
        shape = self.shapes[pod_set.name] = self.draft.shape(pod_set.shape, bound)
        low, high = self.ranges[pod_set.name]
        room = self._room(pod_set.name, shape, high)
        self.nodes[pod_set.name] = np.flatnonzero(room).tolist()
        for node in self.nodes[pod_set.name]:
            self.x[pod_set.name, node] = self.numbers.number(0, int(room[node]))
        own = self.inside[pod_set.name]
        everywhere = [(1, self.x[pod_set.name, node]) for node in self.nodes[pod_set.name]]
        self.numbers.at_least([*everywhere, (-low, own)], 0)
        self.numbers.at_most([*everywhere, (-max(high, 0), own)], 0)
        if low > high:
            self.numbers.at_most([(1, own)], 0)

    def _room(self, name: str, shape: Shape, most: int) -> Ints:
        """How many pods of a set each node holds by itself."""
        room = np.full(self.draft.tree.size, max(most, 0), dtype=np.int64)
        self.budget.spend(len(room) * (2 + len(shape.rows)))
        for row, need in zip(shape.rows.tolist(), shape.need.tolist(), strict=True):
            np.minimum(room, np.maximum(self.draft.free[row], 0) // need, out=room)
        for mask in (shape.mask, self.between.masks.get(name)):
            if mask is not None:
                room *= mask
        return room

    def _capacity(self) -> None:
        by_node: dict[int, list[str]] = {}
        for name, node in self.x:
            by_node.setdefault(node, []).append(name)
        for node, names in by_node.items():
            asked: dict[int, Terms] = {}
            for name in names:
                shape = self.shapes[name]
                for row, need in zip(shape.rows.tolist(), shape.need.tolist(), strict=True):
                    asked.setdefault(row, []).append((need, self.x[name, node]))
            for row, terms in asked.items():
                self.numbers.at_most(terms, max(int(self.draft.free[row, node]), 0))

    # ---- groups, levels and slices ------------------------------------------------------------------

    def _on(self, names: Iterator[str] | list[str], nodes: set[int] | None = None) -> Terms:
        """The pods of some sets (on some nodes) as terms of a sum."""
        return [(1, self.x[name, n]) for name in names for n in self.nodes[name] if nodes is None or n in nodes]

    def _by_domain(self, names: list[str], level: int) -> dict[int, Terms]:
        domains = self.draft.tree.domain[level]
        found: dict[int, Terms] = {}
        for name in names:
            for node in self.nodes[name]:
                found.setdefault(int(domains[node]), []).append((1, self.x[name, node]))
        return found

    def _home(self, group: Group, level: int) -> None:
        """All pods below a group in one domain of a level."""
        if (group.name, level) in self.housed:
            return
        self.housed.add((group.name, level))
        pods = self._by_domain([s.name for s in group.pod_sets()], level)
        for domain, terms in pods.items():
            home = self.homes[group.name, level, domain] = self.numbers.number(0, 1)
            for _, number in terms:
                self.numbers.at_most([(1, number), (-self._top(number), home)], 0)
        self.numbers.at_most([(1, self.homes[group.name, level, domain]) for domain in pods], 1)

    def _top(self, number: int) -> int:
        return -self.numbers.side[2 * number + 1]

    def _spreads(self, group: Group, holder: Group, required: int) -> None:
        """Rule 5. ``holder``: the group with the narrowest required level so far."""
        if (group.required or 0) > required:
            holder, required = group, group.required or 0
        spread = group.spread
        if spread is not None:
            names = [s.name for s in group.pod_sets()]
            pods = self._by_level(names, spread.level)
            self._all_there(names, pods)
            if spread.max_per_domain is not None:
                for terms in pods.values():
                    self.numbers.at_most(terms, spread.max_per_domain)
            if spread.min_domains is not None:
                self.numbers.at_most([(spread.min_domains, self.inside[group.name])], self._most(group))
                hit = [(1, self._present(terms)) for terms in pods.values()]
                self.numbers.at_least([*hit, (-spread.min_domains, self.inside[group.name])], 0)
            if spread.max_skew is not None and spread.level > required:
                self._skew(group, pods, holder, required)
        for member in group.members:
            if isinstance(member, Group):
                self._spreads(member, holder, required)

    def _most(self, group: Group) -> int:
        return sum(max(self.ranges[s.name][1], 0) for s in group.pod_sets())

    def _present(self, terms: Terms) -> int:
        """A number that is 1 only where there are some of these pods."""
        some = self.numbers.number(0, 1)
        self.numbers.at_least([*terms, (-1, some)], 0)
        return some

    def _skew(self, group: Group, pods: dict[int, Terms], holder: Group, required: int) -> None:
        spread, tree = group.spread, self.draft.tree
        if spread is None or spread.max_skew is None:
            return
        open_to = np.zeros(tree.size, dtype=bool)
        for pod_set in group.pod_sets():
            mask = self.draft.mask(pod_set.shape.filter, True)
            open_to |= tree.inside if mask is None else mask & tree.inside
        least = self.numbers.number(0, self._most(group))
        self.numbers.hint[least] = MANY
        for terms in pods.values():
            self.numbers.at_most([*terms, (-1, least)], spread.max_skew)
        if required:
            self._home(holder, required)
        for domain in np.unique(tree.domain[spread.level][open_to]).tolist():
            terms = [(1, least), *((-1, number) for _, number in pods.get(domain, []))]
            if not required:
                self.numbers.at_most(terms, 0)
                continue
            around = int(tree.domain[required][tree.start[spread.level][domain]])
            home = self.homes.get((holder.name, required, around))
            if home is not None:  # else nobody of it can be there
                self.numbers.at_most_if(terms, 0, home)

    def _slices(self, pod_set: PodSet, spreads: set[int]) -> None:
        units = slice_units(pod_set)
        for level, size in units:
            for terms in self._by_level([pod_set.name], level).values():
                self._wholes(terms, size)
        # a domain around slices holds whole ones as well: no rule of its own, but quicker seen where it is one
        for level in spreads - {at for at, _ in units}:
            inner = [size for at, size in units if at > level]
            if inner:
                for terms in self._by_level([pod_set.name], level).values():
                    self._wholes(terms, inner[0])

    def _wholes(self, terms: Terms, size: int) -> None:
        wholes = self.numbers.number(0, sum(self._top(number) for _, number in terms) // size)
        self.numbers.equal([*terms, (-size, wholes)], 0)

    def _by_level(self, names: list[str], level: int) -> dict[int, Terms]:
        """The pods of some sets in each domain of a level as one number: the sum of those of the domains inside it."""
        key = (tuple(names), level)
        if key not in self.levelled:
            if level == self.draft.tree.host:
                nodes = dict.fromkeys(node for name in names for node in self.nodes[name])
                found = {node: [(1, self._on_node(names, node))] for node in nodes}
            else:
                found = {}
                first = self.draft.tree.domain[level][self.draft.tree.start[level + 1][:-1]]
                for domain, terms in self._by_level(names, level + 1).items():
                    found.setdefault(int(first[domain]), []).extend(terms)
                found = {domain: self._one(terms) for domain, terms in found.items()}
            self.levelled[key] = found
        return self.levelled[key]

    def _by_class(self, names: list[str], codes: Ints) -> dict[int, Terms]:
        """The same for classes of nodes that are no level. Nodes of no class (-1) are left out.

        Classes of several rules may cross: what lies in the same class of each is summed first, once for all of them.
        """
        cells: dict[int, list[int]] = {}
        for node in dict.fromkeys(node for name in names for node in self.nodes[name]):
            if codes[node] >= 0:
                cells.setdefault(int(self.cells[node]), []).append(node)
        found: dict[int, Terms] = {}
        for cell, nodes in cells.items():
            key = (tuple(names), -1 - cell)
            if key not in self.levelled:
                self.levelled[key] = {cell: self._one([(1, self._on_node(names, node)) for node in nodes])}
            found.setdefault(int(codes[nodes[0]]), []).extend(self.levelled[key][cell])
        return {code: self._one(terms) for code, terms in found.items()}

    def _crossed(self) -> Ints:
        """Nodes numbered so that equal numbers are in the same class of every rule about evenness."""
        codes = [rule.classes.codes for rule in self.between.rules if isinstance(rule, Even)]
        if not codes:
            return np.zeros(self.draft.tree.size, dtype=np.int64)
        self.budget.spend(len(codes) * self.draft.tree.size)
        return np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)[1].ravel()

    def _all_there(self, names: list[str], pods: dict[int, Terms]) -> None:
        """Said of these sums as it is of single pods: how many there are in all."""
        every = [term for terms in pods.values() for term in terms]
        self.numbers.at_least([*every, *((-self.ranges[name][0], self.inside[name]) for name in names)], 0)
        self.numbers.at_most([*every, *((-max(self.ranges[name][1], 0), self.inside[name]) for name in names)], 0)

    def _one(self, terms: Terms) -> Terms:
        return terms if len(terms) == 1 else [(1, self._sum(terms))]

    def _on_node(self, names: list[str], node: int) -> int:
        """All pods of some sets on one node as one number."""
        key = (tuple(names), node)
        if key not in self.on_node:
            terms = [(1, self.x[name, node]) for name in names if (name, node) in self.x]
            self.on_node[key] = terms[0][1] if len(terms) == 1 else self._sum(terms, self._fits(names, node))
        return self.on_node[key]

    def _sum(self, terms: Terms, most: int | None = None) -> int:
        top = sum(self._top(number) for _, number in terms)
        total = self.numbers.number(0, top if most is None else min(top, most))
        self.numbers.equal([*terms, (-1, total)], 0)
        return total

    def _fits(self, names: list[str], node: int) -> int:
        """No more pods of these sets than so many fit a node: by each resource alone, the smallest pods first."""
        here = [(self.shapes[name], self._top(self.x[name, node])) for name in names if (name, node) in self.x]
        most = sum(top for _, top in here)
        for row in {row for shape, _ in here for row in shape.rows.tolist()}:
            left, count = max(int(self.draft.free[row, node]), 0), 0
            for need, top in sorted((_need(shape, row), top) for shape, top in here):
                fits = top if not need else min(top, left // need)
                left, count = left - fits * need, count + fits
            most = min(most, count)
        return most

    # ---- pods among pods ----------------------------------------------------------------------------

    def _classes(self, codes: Ints, names: tuple[str, ...]) -> dict[int, Terms]:
        """The pods of some sets by the class of their node."""
        found: dict[int, Terms] = {}
        for name in names:
            for node in self.nodes.get(name, ()):
                if codes[node] >= 0:
                    found.setdefault(int(codes[node]), []).append((1, self.x[name, node]))
        return found

    def _used(self, terms: Terms) -> int:
        """A number that must be 1 where there are some of these pods."""
        some = self.numbers.number(0, 1)
        for _, number in terms:
            self.numbers.at_most([(1, number), (-self._top(number), some)], 0)
        return some

    def _apart(self, rule: Apart) -> None:
        first = self._classes(rule.classes.codes, (rule.first,))
        if rule.first == rule.second:
            for terms in first.values():
                self.numbers.at_most(terms, 1)
            return
        second = self._classes(rule.classes.codes, (rule.second,))
        for code in first.keys() & second.keys():
            one, other = self._used(first[code]), self._used(second[code])
            self.numbers.at_most([(1, one), (1, other)], 1)

    def _beside(self, rule: Beside) -> None:
        team = self._classes(rule.classes.codes, rule.team)
        hosts = self._classes(rule.classes.codes, rule.hosts)
        founders = self._classes(rule.classes.codes, rule.founders)
        founded: Terms = []
        for code, terms in team.items():
            if rule.given[code]:
                continue
            reasons: Terms = []
            if code in hosts:
                reasons.append((1, self._present(hosts[code])))
            if code in founders:
                founded.append((1, self._present(founders[code])))
                reasons.append(founded[-1])
            self.numbers.at_least([*reasons, (-1, self._used(terms))], 0)
        self.numbers.at_most(founded, 1)

    def _even(self, rule: Even) -> None:
        owned = self._classes(rule.classes.codes, rule.owner)
        if not owned:
            return
        names, running = list(rule.counted), rule.running.tolist()
        pods = sum(self.ranges[name][1] for name in names)
        top = (sum(running) + pods) // len(running)  # the least of them is not above the mean
        least = self.numbers.number(0, 0 if rule.floor else max(top, 0))
        self.numbers.hint[least] = MANY
        counted = self._by_class(names, rule.classes.codes)
        if all((rule.classes.codes[self.nodes[name]] >= 0).all() for name in names):
            self._all_there(names, counted)
        for code, already in enumerate(running):
            here = counted.get(code, [])
            if not rule.floor:
                self.numbers.at_most([(1, least), *((-1, number) for _, number in here)], already)
            if code in owned:
                used = self._used(owned[code])
                self.numbers.at_most_if([*here, (-1, least)], rule.skew - already, used)

    def _in_order(self, group: Group) -> None:
        """Of members that could change places the first lies first: one order of them stands for all."""
        linked = {one.name for _, team in rank_teams(group) for one in team}
        last: dict[object, str] = {}
        chosen = ("members", group.name) in self.members
        for member in group.members:
            sets = list(member.pod_sets()) if isinstance(member, Group) else [member]
            if member.name in linked or chosen or not sets:
                continue
            levels = tuple(self.levels.get(g.name) for g in member.groups()) if isinstance(member, Group) else ()
            key = (likeness(member), levels, tuple(self.ranges[s.name] for s in sets))
            mine = sets[0].name
            if key in last:
                before = [(node + 1, self.x[last[key], node]) for node in self.nodes[last[key]]]
                after = [(-node - 1, self.x[mine, node]) for node in self.nodes[mine]]
                self.numbers.at_most([*before, *after], 0)
            last[key] = mine

    # ---- same ranks ---------------------------------------------------------------------------------

    def _ranks(self, parent: Group) -> None:
        """Rule 12: per stretch of ranks with the same sets, how many of them meet in each domain.

        Which pod of a set gets which rank is free, so it is enough that every set has the pods for all its meetings.
        """
        for number, team in rank_teams(parent):
            level = number or self.draft.tree.host
            lines = [list(_line(group, self.ranges)) for group in team]
            cuts = sorted({end for line in lines for _, first, last in line for end in (first, last)})
            mine: list[Meeting] = []
            for start, stop in pairwise(cuts):
                names = tuple(name for line in lines for name, first, last in line if first <= start and stop <= last)
                mine.append(self._meeting(level, names, stop - start))
            self._kept(level, mine)
            self.meetings += mine

    def _meeting(self, level: int, names: tuple[str, ...], count: int) -> Meeting:
        domains = dict.fromkeys(d for name in names for d in self._by_domain([name], level))
        numbers = {domain: self.numbers.number(0, count) for domain in domains}
        together = [(1, number) for number in numbers.values()]
        self.numbers.at_most(together, count)
        for name in names:
            self.numbers.at_least([*together, (-count, self.inside[name])], 0)
        return Meeting(level, names, numbers)

    def _kept(self, level: int, meetings: list[Meeting]) -> None:
        """Every set that is in has its pods where its ranks meet."""
        for name in dict.fromkeys(name for meeting in meetings for name in meeting.sets):
            pods = self._by_domain([name], level)
            shared = [meeting for meeting in meetings if name in meeting.sets]
            for domain in dict.fromkeys(d for meeting in shared for d in meeting.domains):
                here = [(1, meeting.domains[domain]) for meeting in shared if domain in meeting.domains]
                here += [(-1, number) for _, number in pods.get(domain, [])]
                self.numbers.at_most_if(here, 0, self.inside[name])


def _need(shape: Shape, row: int) -> int:
    return int(shape.need[shape.rows == row].sum())


def _some_suffice(group: Group) -> bool:
    return group.min_members is not None and group.min_members < len(group.members)


def _line(group: Group, ranges: Mapping[str, Range]) -> Iterator[tuple[str, int, int]]:
    """The sets of a group with the ranks each of them has: (name, first, one past the last)."""
    at = 0
    for pod_set in group.pod_sets():
        count = ranges[pod_set.name][1]
        if count:
            yield pod_set.name, at, at + count
        at += count
