"""Whether a request fits a small cluster, by CP-SAT: a reading of docs/semantics.md of its own.

For tests. Needs ortools, which is imported only when the question is asked. Quantities are taken exactly: a resource
is divided by the greatest common divisor of what the pods ask for, and only free amounts are rounded down to it,
which loses nothing because every sum of requests is a multiple of it.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd
from typing import Any

from phalanx.model.mistakes import Mistake
from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.testing import oracle_pods

Domain = tuple[object, ...]
Literal = Any  # 1, or a boolean variable of the model

_INT64 = 2**62  # leaves room for sums


@dataclass(frozen=True, slots=True)
class Unknown:
    """The time was up before there was an answer."""

    seconds: float


@dataclass(slots=True)
class Board:
    """The model under construction. ``x[s, n]`` is the number of pods of set s on node n; absent means none."""

    snapshot: Snapshot
    topology: Topology
    sets: list[PodSet]
    parents: list[list[Group]]  # per set: the groups around it, outermost first
    paths: list[tuple[str, ...] | None]  # per node; None for an outside node
    model: Any
    x: dict[tuple[int, int], Any] = field(default_factory=dict)
    most: dict[tuple[int, int], int] = field(default_factory=dict)
    inside: dict[str, Literal] = field(default_factory=dict)  # by name: whether a group or a set is in
    homes: dict[tuple[str, Domain], Literal] = field(default_factory=dict)  # group, domain of its required level
    shared: list[tuple[list[tuple[int, int, int]], int, dict[Domain, Any]]] = field(default_factory=list)

    def domain(self, node: int, level: int) -> Domain:
        """An outside node makes a domain of its own at every level below the cluster."""
        path = self.paths[node]
        if level == 0:
            return ()
        return path[:level] if path is not None else (None, node)

    def below(self, group: Group) -> list[int]:
        """Numbers of the sets below a group."""
        return [s for s, around in enumerate(self.parents) if any(g is group for g in around)]

    def by_domain(self, sets: list[int], level: int) -> dict[Domain, list[Any]]:
        """The variables of some sets, sorted into the domains of a level; domains without any are absent."""
        found: dict[Domain, list[Any]] = {}
        for s in sets:
            for n in range(len(self.paths)):
                if (s, n) in self.x:
                    found.setdefault(self.domain(n, level), []).append(self.x[s, n])
        return found


def feasible(snapshot: Snapshot, request: Request, seconds: float = 20.0) -> Placement | Unknown | None:
    """Some valid placement, None when there is none, or Unknown when the time did not suffice."""
    from ortools.sat.python import cp_model

    board = _board(snapshot, request, cp_model.CpModel())
    _membership(board, request.root, 1)
    _variables(board)
    _counts(board)
    _capacity(board)
    for group in request.root.groups():
        _required(board, group)
    for group in request.root.groups():
        _spread(board, group)
    _slices(board)
    oracle_pods.add_rules(board)
    _same_rank(board, request.root)

    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    verdict = solver.solve(board.model)
    if verdict == cp_model.INFEASIBLE:
        return None
    if verdict not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Unknown(seconds)
    return _placement(board, request.root, solver)


def _board(snapshot: Snapshot, request: Request, model: Any) -> Board:
    named = {topology.name: topology for topology in snapshot.topologies}
    topology = Topology.of("none", ()) if request.topology is None else named[request.topology]
    keys = [level.label for level in topology.levels[:-1]]
    paths = [
        (*(node.labels[key] for key in keys), node.name) if all(key in node.labels for key in keys) else None
        for node in snapshot.nodes
    ]
    if topology.levels[-1].label != HOSTNAME:
        raise Mistake("the narrowest level is the node")
    sets: list[PodSet] = []
    parents: list[list[Group]] = []

    def walk(group: Group, around: list[Group]) -> None:
        for member in group.members:
            if isinstance(member, Group):
                walk(member, [*around, member])
            else:
                sets.append(member)
                parents.append(around)

    walk(request.root, [request.root])
    return Board(snapshot, topology, sets, parents, paths, model)


# ------------------------------------------------------------------------------------ counts, nodes, capacity


def _membership(board: Board, group: Group, literal: Literal) -> None:
    """Rule 1: who is in. Members of a group that needs them all share its literal."""
    board.inside[group.name] = literal
    some = group.min_members is not None and group.min_members < len(group.members)
    choices: list[Any] = []
    for member in group.members:
        own = literal
        if some:
            own = board.model.new_bool_var("")
            choices.append(own)
            board.model.add(own <= literal)
        if isinstance(member, Group):
            _membership(board, member, own)
        else:
            board.inside["set " + member.name] = own
    if some:
        board.model.add(_sum(choices) >= group.min_members * literal)
    elif group.min_members is not None and group.min_members > len(group.members):
        board.model.add(literal == 0) if not isinstance(literal, int) else board.model.add_bool_or([])


def _variables(board: Board) -> None:
    """A variable where a pod of the set could stand by itself: rules 3, 9 and 10 for one pod, and the running pods."""
    free = _free(board)
    for s, pod_set in enumerate(board.sets):
        bound = _bound(board, s)
        for n, node in enumerate(board.snapshot.nodes):
            if bound and board.paths[n] is None:
                continue
            room = [free[n].get(name, 0) // amount for name, amount in pod_set.shape.requests]
            most = min([pod_set.count, *room])
            if most > 0 and oracle_pods.usable(pod_set.shape, node, board.snapshot):
                most = min(most, oracle_pods.per_node(pod_set.shape, node))
                board.most[s, n] = most
                board.x[s, n] = board.model.new_int_var(0, most, "")


def _bound(board: Board, s: int) -> bool:
    def wishes(group: Group) -> bool:
        ranks = group.ranks
        by_rank = ranks is not None and not (ranks.level is None and ranks.across is None)
        return by_rank or not (group.required is None and group.preferred is None and group.spread is None)

    return len(board.sets[s].slices) > 0 or any(map(wishes, board.parents[s]))


def _free(board: Board) -> list[dict[str, int]]:
    number = {node.name: n for n, node in enumerate(board.snapshot.nodes)}
    free = [dict(node.allocatable.items) for node in board.snapshot.nodes]
    for pod in board.snapshot.pods:
        if pod.node in number:
            here = free[number[pod.node]]
            for name, amount in pod.requests:
                here[name] = here.get(name, 0) - amount
    return free


def _counts(board: Board) -> None:
    for s, pod_set in enumerate(board.sets):
        mine = [v for (t, _), v in board.x.items() if t == s]
        literal = board.inside["set " + pod_set.name]
        if not mine:
            if pod_set.min_count > 0:
                board.model.add(literal == 0) if not isinstance(literal, int) else board.model.add_bool_or([])
            continue
        board.model.add(_sum(mine) >= pod_set.min_count * literal)
        board.model.add(_sum(mine) <= pod_set.count * literal)


def _capacity(board: Board) -> None:
    free = _free(board)
    resources = sorted({name for pod_set in board.sets for name, _ in pod_set.shape.requests})
    for name in resources:
        asks = [pod_set.shape.requests.get(name) for pod_set in board.sets]
        unit = gcd(*asks)
        for n in range(len(free)):
            terms = [(board.x[s, n], ask // unit) for s, ask in enumerate(asks) if ask and (s, n) in board.x]
            room = max(free[n].get(name, 0), 0) // unit
            if sum(board.most[s, n] * (ask // unit) for s, ask in enumerate(asks) if (s, n) in board.x) <= room:
                continue  # cannot be exceeded: most of the nodes' pod limits
            if room >= _INT64:
                raise OverflowError(f"{name} does not fit 64 bits even in units of {unit}")
            board.model.add(_weighted(terms) <= room)


# --------------------------------------------------------------------------------------- levels, spread, slices


def _required(board: Board, group: Group) -> None:
    """Rule 2, one literal for each domain that could be the group's home."""
    if not group.required:
        return
    spread_out = board.by_domain(board.below(group), group.required)
    for d in spread_out:
        board.homes[group.name, d] = board.model.new_bool_var("")
    if spread_out:
        board.model.add_at_most_one([board.homes[group.name, d] for d in spread_out])
    for s in board.below(group):
        for n in range(len(board.paths)):
            if (s, n) in board.x:
                home = board.homes[group.name, board.domain(n, group.required)]
                board.model.add(board.x[s, n] <= board.most[s, n] * home)


def _spread(board: Board, group: Group) -> None:
    """Rule 5. A group that is out has no pods, which meets all but ``min_domains`` by itself."""
    spread = group.spread
    if spread is None:
        return
    pods = board.by_domain(board.below(group), spread.level)
    if spread.max_per_domain is not None:
        for variables in pods.values():
            board.model.add(_sum(variables) <= spread.max_per_domain)
    if spread.min_domains is not None:
        hit = [oracle_pods.present(board, variables) for variables in pods.values()]
        board.model.add(_sum(hit) >= spread.min_domains * board.inside[group.name])
    if spread.max_skew is not None:
        _skew(board, group, pods)


def _skew(board: Board, group: Group, pods: dict[Domain, list[Any]]) -> None:
    """One variable below every eligible domain of the home; no domain is more than the skew above it."""
    if group.spread is None or group.spread.max_skew is None:
        raise Mistake("a group that need not be even")
    around = next(path for s, path in enumerate(board.parents) if s in board.below(group))
    around = around[: 1 + next(i for i, g in enumerate(around) if g is group)]
    holder = max(around, key=lambda g: g.required or 0)
    level = holder.required or 0
    if level >= group.spread.level:
        return  # a single domain
    lowest = board.model.new_int_var(0, sum(board.sets[s].count for s in board.below(group)), "")
    for variables in pods.values():
        board.model.add(_sum(variables) - lowest <= group.spread.max_skew)
    admitted = {
        n
        for n, node in enumerate(board.snapshot.nodes)
        if board.paths[n] is not None
        and any(oracle_pods.admits(board.sets[s].shape.filter, node) for s in board.below(group))
    }
    for d in {board.domain(n, group.spread.level) for n in admitted}:
        constraint = board.model.add(lowest <= _sum(pods.get(d, [])))
        if level:
            home = board.homes.get((holder.name, d[:level]))
            constraint.only_enforce_if(home) if home is not None else constraint.only_enforce_if(
                board.model.new_constant(0)
            )


def _slices(board: Board) -> None:
    for s, pod_set in enumerate(board.sets):
        for part in pod_set.slices:
            for variables in board.by_domain([s], part.level).values():
                whole = board.model.new_int_var(0, pod_set.count // part.size, "")
                board.model.add(_sum(variables) == part.size * whole)


# ------------------------------------------------------------------------------------------------- same rank


def _same_rank(board: Board, root: Group) -> None:
    """Rule 12. Ranks where the same sets meet are one stretch; of each stretch as many pods of every set that takes
    part are in a domain. Which pod of a set gets which rank is free, so nothing more is needed."""
    for level, groups in _teams(root):
        lines = [_line(board, group) for group in groups]
        cuts = sorted({end for line in lines for _, start, stop in line for end in (start, stop)})
        for start, stop in pairwise(cuts):
            parts = [(s, start - a, stop - a) for line in lines for s, a, b in line if a <= start and stop <= b]
            if len(parts) > 1:
                domains = dict.fromkeys(d for s, _, _ in parts for d in board.by_domain([s], level))
                together = {d: board.model.new_int_var(0, stop - start, "") for d in domains}
                board.model.add(_sum(list(together.values())) == stop - start)
                board.shared.append((parts, level, together))
    for s, pod_set in enumerate(board.sets):
        mine = [(level, meet) for parts, level, meet in board.shared if any(s == t for t, _, _ in parts)]
        if mine:
            pods = board.by_domain([s], mine[0][0])
            for d in {d for _, meet in mine for d in meet}:
                needed = _sum([meet[d] for _, meet in mine if d in meet])
                constraint = board.model.add(needed <= _sum(pods.get(d, [])))
                if not isinstance(literal := board.inside["set " + pod_set.name], int):
                    constraint.only_enforce_if(literal)


def _line(board: Board, group: Group) -> list[tuple[int, int, int]]:
    """The sets of a group with the ranks each of them has: (set, first, one past the last)."""
    line: list[tuple[int, int, int]] = []
    at = 0
    for inner in group.groups():
        if inner.min_members is not None and inner.min_members < len(inner.members):
            raise ValueError(f"group {inner.name!r}: ranks are shared, so which members are in must be fixed")
    for pod_set in group.pod_sets():
        if pod_set.min_count != pod_set.count:
            raise ValueError(f"pod set {pod_set.name!r}: ranks are shared, so the count must be fixed")
        s = next(i for i, other in enumerate(board.sets) if other is pod_set)
        line.append((s, at, at + pod_set.count))
        at += pod_set.count
    return line


def _teams(root: Group) -> list[tuple[int, list[Group]]]:
    """Groups joined by ``with_same_rank_of``, directly or through others, and the level they meet on."""
    teams: list[tuple[int, set[str]]] = []
    for group in root.groups():
        ranks = group.ranks
        if ranks is None or ranks.with_same_rank_of is None or ranks.level is None:
            continue
        pair = {group.name, ranks.with_same_rank_of}
        touching = [team for team in teams if team[1] & pair]
        teams = [team for team in teams if not team[1] & pair]
        teams.append((ranks.level, pair.union(*(names for _, names in touching))))
    return [(level, [g for g in root.groups() if g.name in names]) for level, names in teams]


# ------------------------------------------------------------------------------------------------ the answer


def _placement(board: Board, root: Group, solver: Any) -> Placement:
    order = sorted(
        range(len(board.paths)),
        key=lambda n: (board.paths[n] is None, board.paths[n] or (), board.snapshot.nodes[n].name),
    )
    counts = {
        s: {n: pods for n in order if (s, n) in board.x and (pods := solver.value(board.x[s, n]))}
        for s in range(len(board.sets))
    }
    names = [node.name for node in board.snapshot.nodes]
    domains: dict[str, tuple[str, ...]] = {}
    for group in root.groups():
        nodes = {n for s in board.below(group) for n in counts[s]}
        if nodes:
            domains[group.name] = _deepest(board, nodes)
    lines = {s: _numbered(board, s, here, solver) for s, here in counts.items()}
    ranked = {group.name for _, team in _teams(root) for group in team} | {g.name for g in root.groups() if g.ranks}
    return Placement(
        {board.sets[s].name: tuple((names[n], pods) for n, pods in here.items()) for s, here in counts.items() if here},
        domains,
        {group: board.topology.level_name(len(domain)) for group, domain in domains.items()},
        {g.name: tuple(names[n] for s in board.below(g) for n in lines[s]) for g in root.groups() if g.name in ranked},
    )


def _deepest(board: Board, nodes: set[int]) -> tuple[str, ...]:
    for level in range(board.topology.host, 0, -1):
        if len({board.domain(n, level) for n in nodes}) == 1:
            path = board.paths[min(nodes)]
            return path[:level] if path is not None else _outside_path(board, min(nodes))
    return ()


def _outside_path(board: Board, n: int) -> tuple[str, ...]:
    node = board.snapshot.nodes[n]
    return (*(node.labels.get(level.label, "") for level in board.topology.levels[:-1]), node.name)


def _numbered(board: Board, s: int, here: dict[int, int], solver: Any) -> list[int]:
    """The nodes of a set's pods by rank: shared stretches domain by domain, the rest in tree order."""
    pool = [n for n, pods in here.items() for _ in range(pods)]
    line: dict[int, int] = {}
    if not pool:
        return []
    for parts, level, together in board.shared:
        for t, start, _ in parts:
            if t != s:
                continue
            rank = start
            for d, variable in together.items():
                for _ in range(solver.value(variable)):
                    n = next(n for n in pool if board.domain(n, level) == d)
                    pool.remove(n)
                    line[rank] = n
                    rank += 1
    free_ranks = [rank for rank in range(sum(here.values())) if rank not in line]
    line.update(zip(free_ranks, pool, strict=True))
    return [line[rank] for rank in sorted(line)]


def _sum(variables: list[Any]) -> Any:
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.sum(variables) if variables else 0


def _weighted(terms: list[tuple[Any, int]]) -> Any:
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.weighted_sum([v for v, _ in terms], [weight for _, weight in terms])
