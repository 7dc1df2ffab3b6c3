"""Whether a request fits a tiny cluster, by trying everything: docs/semantics.md read pod by pod, in plain Python.

For about five nodes and a handful of pods; the time grows with (pods per set + 1) ** nodes for each set. It is there
to check the faster judges: it expands a placement into single pods and walks over them rule by rule.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import HostPort, LabelSelector, Node, PodShape, PodTerm, Requirement, SpreadRule
from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME

Counts = Mapping[str, Mapping[str, int]]  # pod set -> node -> pods


@dataclass(frozen=True)
class Pod:
    """One pod on one node, running or of the request (then with the name of its set)."""

    node: Node
    namespace: str
    labels: Mapping[str, str]
    ports: tuple[HostPort, ...]
    avoids: tuple[PodTerm, ...]
    pod_set: str | None = None


def feasible(snapshot: Snapshot, request: Request) -> Placement | None:
    """The first valid placement in the order of trying, or None when none of them is valid."""
    puzzle = Puzzle(snapshot, request)
    for counts in puzzle.candidates(list(request.root.pod_sets()), {}):
        if puzzle.valid(counts):
            return puzzle.placement(counts)
    return None


def valid(snapshot: Snapshot, request: Request, counts: Counts) -> bool:
    """Whether these counts meet every rule, with some numbering of the ranks."""
    return Puzzle(snapshot, request).valid({name: dict(nodes) for name, nodes in counts.items()})


@dataclass
class Puzzle:
    snapshot: Snapshot
    request: Request

    @cached_property
    def nodes(self) -> dict[str, Node]:
        return {node.name: node for node in self.snapshot.nodes}

    @cached_property
    def level_keys(self) -> list[str]:
        for topology in self.snapshot.topologies:
            if topology.name == self.request.topology:
                return [level.label for level in topology.levels if level.label != HOSTNAME]
        return []

    @cached_property
    def sets(self) -> dict[str, PodSet]:
        return {pod_set.name: pod_set for pod_set in self.request.root.pod_sets()}

    @cached_property
    def running(self) -> list[Pod]:
        return [
            Pod(self.nodes[p.node], p.namespace, p.labels, p.ports, p.anti_affinity)
            for p in self.snapshot.pods
            if p.node in self.nodes
        ]

    @cached_property
    def line_ups(self) -> list[frozenset[str]]:
        """Every allowed choice of what is in: names of groups and, marked with a colon, of pod sets."""
        return [frozenset(choice) for choice in _line_ups(self.request.root)]

    # ---------------------------------------------------------------------------------------- trying everything

    def candidates(self, sets: list[PodSet], so_far: dict[str, dict[str, int]]) -> Iterator[dict[str, dict[str, int]]]:
        """All counts that keep filters, levels, capacity, ports and anti-affinity, set by set."""
        if not sets:
            yield so_far
            return
        first, *rest = sets
        names = [name for name in self.nodes if self.fits({**so_far, first.name: {name: 1}})]
        always = all(":" + first.name in choice for choice in self.line_ups)
        for split in _splits(len(names), first.count):
            if sum(split) < first.min_count and (always or any(split)):
                continue
            grown = {**so_far, first.name: {name: n for name, n in zip(names, split, strict=True) if n}}
            if self.fits(grown):
                yield from self.candidates(rest, grown)

    def fits(self, counts: Counts) -> bool:
        """The rules that, once broken, no further pod can mend."""
        pods = self.expand(counts)
        simple = self.filtered(pods) and self.within_levels(pods) and self.off_outside(pods) and self.room(counts)
        return simple and self.doors(pods) and self.apart(pods)

    def expand(self, counts: Counts) -> list[Pod]:
        return [
            Pod(self.nodes[node], shape.namespace, dict(shape.labels), shape.ports, shape.anti_affinity, name)
            for name, nodes in counts.items()
            for shape in [self.sets[name].shape]
            for node, pods in nodes.items()
            for _ in range(pods)
        ]

    def valid(self, counts: Counts) -> bool:
        pods = self.expand(counts)
        return (
            self.fits(counts)
            and self.sliced(pods)
            and any(self.lined_up(choice, pods) for choice in self.line_ups)
            and self.even(pods)
            and self.near(pods)
            and self.numbering(counts) is not None
        )

    # ------------------------------------------------------------------------------------------ nodes, one by one

    def place(self, node: Node, level: int) -> tuple[str, ...]:
        if level == 0:
            return ()
        if self.outside(node):
            return ("outside the topology", "by itself:", "the node", "called", node.name)
        return tuple(([node.labels[key] for key in self.level_keys] + [node.name])[:level])

    def outside(self, node: Node) -> bool:
        return not set(self.level_keys) <= set(node.labels)

    def filtered(self, pods: list[Pod]) -> bool:
        return all(admits(self.shape(pod), pod.node) for pod in pods)

    def shape(self, pod: Pod) -> PodShape:
        if pod.pod_set is None:
            raise Mistake("a pod of no set has no shape")
        return self.sets[pod.pod_set].shape

    def room(self, counts: Counts) -> bool:
        for name, node in self.nodes.items():
            asked: Counter[str] = Counter()
            for pod_set, nodes in counts.items():
                for resource, amount in self.sets[pod_set].shape.requests:
                    asked[resource] += amount * nodes.get(name, 0)
            for resource in +asked:
                taken = sum(p.requests.get(resource) for p in self.snapshot.pods if p.node == name)
                if taken + asked[resource] > node.allocatable.get(resource):
                    return False
        return True

    def doors(self, pods: list[Pod]) -> bool:
        return not any(
            one is not other and one.node.name == other.node.name and _same_door(a, b)
            for one in pods
            for other in [*pods, *self.running]
            for a in one.ports
            for b in other.ports
        )

    # ------------------------------------------------------------------------------------------- groups and levels

    def below(self, group: Group, pods: list[Pod]) -> list[Pod]:
        names = {pod_set.name for pod_set in group.pod_sets()}
        return [pod for pod in pods if pod.pod_set in names]

    def within_levels(self, pods: list[Pod]) -> bool:
        for group in self.request.root.groups():
            if group.required is not None:
                homes = {self.place(pod.node, group.required) for pod in self.below(group, pods)}
                if len(homes) > 1:
                    return False
        return True

    def off_outside(self, pods: list[Pod]) -> bool:
        bound = {name for name, pod_set in self.sets.items() if pod_set.slices}
        for group in self.request.root.groups():
            numbered = group.ranks is not None and (group.ranks.level, group.ranks.across) != (None, None)
            if numbered or (group.required, group.preferred, group.spread) != (None, None, None):
                bound |= {pod_set.name for pod_set in group.pod_sets()}
        return not any(pod.pod_set in bound and self.outside(pod.node) for pod in pods)

    def sliced(self, pods: list[Pod]) -> bool:
        for name, pod_set in self.sets.items():
            for part in pod_set.slices:
                heaps = Counter(self.place(pod.node, part.level) for pod in pods if pod.pod_set == name)
                if any(heap % part.size != 0 for heap in heaps.values()):
                    return False
        return True

    def lined_up(self, choice: frozenset[str], pods: list[Pod]) -> bool:
        """Whether the pods are what this choice of members asks for, spreads included."""
        for name, pod_set in self.sets.items():
            placed = sum(pod.pod_set == name for pod in pods)
            low, high = (pod_set.min_count, pod_set.count) if ":" + name in choice else (0, 0)
            if not low <= placed <= high:
                return False
        return all(self.spread_out(g, self.below(g, pods)) for g in self.request.root.groups() if g.name in choice)

    def spread_out(self, group: Group, pods: list[Pod]) -> bool:
        spread = group.spread
        if spread is None:
            return True
        heaps = Counter(self.place(pod.node, spread.level) for pod in pods)
        if spread.max_per_domain is not None:
            return all(heap <= spread.max_per_domain for heap in heaps.values())
        if spread.min_domains is not None:
            return len(heaps) >= spread.min_domains
        if spread.max_skew is None:
            raise Mistake("a group that need not be even")
        if not pods:
            return True
        heights = [heaps[domain] for domain in self.reachable(group, pods[0].node)]
        return not heights or max(heights) - min(heights) <= spread.max_skew

    def reachable(self, group: Group, home: Node) -> set[tuple[str, ...]]:
        """Eligible domains of a group's spread, given one node that it uses."""
        if group.spread is None:
            raise Mistake("a group that is not spread")
        around = [g for g in self.request.root.groups() if any(inner is group for inner in g.groups())]
        narrowest = max([g.required for g in around if g.required is not None], default=0)
        if narrowest > group.spread.level:
            return set()
        return {
            self.place(node, group.spread.level)
            for node in self.nodes.values()
            if not self.outside(node)
            and self.place(node, narrowest) == self.place(home, narrowest)
            and any(admits(s.shape, node) for s in group.pod_sets())
        }

    # ------------------------------------------------------------------------------------------ pods among pods

    def apart(self, pods: list[Pod]) -> bool:
        for one in pods:
            for other in [*pods, *self.running]:
                if one is other:
                    continue
                if any(_side_by_side(t, one, other) and _speaks_of(t, other) for t in one.avoids):
                    return False
                if any(_side_by_side(t, one, other) and _speaks_of(t, one) for t in other.avoids):
                    return False
        return True

    def near(self, pods: list[Pod]) -> bool:
        for term in {t for s in self.sets.values() for t in s.shape.affinity}:
            team = {name for name, s in self.sets.items() if term in s.shape.affinity}
            members = [pod for pod in pods if pod.pod_set in team]
            if any(term.key not in pod.node.labels for pod in members):
                return False
            anchors = [p for p in self.running if _speaks_of(term, p)]
            strangers = [p for p in pods if p.pod_set not in team and _speaks_of(term, p)]
            unexplained = {
                pod.node.labels[term.key]
                for pod in members
                if not any(_side_by_side(term, pod, other) for other in anchors + strangers)
            }
            if not unexplained:
                continue
            founders = {pod.node.labels[term.key] for pod in members if _speaks_of(term, pod)}
            if len(unexplained) != 1 or anchors or not unexplained <= founders:
                return False
        return True

    def even(self, pods: list[Pod]) -> bool:
        return all(
            self.even_for(pod_set, rule, pods) for pod_set in self.sets.values() for rule in pod_set.shape.spread
        )

    def even_for(self, pod_set: PodSet, rule: SpreadRule, pods: list[Pod]) -> bool:
        shape = pod_set.shape
        mine = [pod for pod in pods if pod.pod_set == pod_set.name]
        if not all(other.key in pod.node.labels for pod in mine for other in shape.spread):
            return False
        eligible = []
        for node in self.nodes.values():
            if any(other.key not in node.labels for other in shape.spread):
                continue
            if rule.honor_affinity and not _wanted(shape, node):
                continue
            if rule.honor_taints and not _welcome(shape, node):
                continue
            eligible.append(node)
        total = {node.labels[rule.key]: 0 for node in eligible}
        for pod in [*pods, *self.running]:
            if pod.namespace == shape.namespace and _picks(rule.selector, pod.labels) and pod.node in eligible:
                total[pod.node.labels[rule.key]] += 1
        floor = 0 if len(total) < rule.min_domains else min(total.values(), default=0)
        return all(total[pod.node.labels[rule.key]] - floor <= rule.max_skew for pod in mine)

    # ---------------------------------------------------------------------------------------------------- ranks

    def numbering(self, counts: Counts) -> dict[str, tuple[str, ...]] | None:
        """For every group that shares ranks, a node for each rank so that equal ranks meet; None: there is none."""
        result: dict[str, tuple[str, ...]] = {}
        for level, team in _rank_teams(self.request.root):
            wishes = [[p for s in g.pod_sets() for p in [s.name] * sum(counts.get(s.name, {}).values())] for g in team]
            left = {s.name: Counter(counts.get(s.name, {})) for g in team for s in g.pod_sets()}
            found = self._number(level, wishes, left, 0)
            if found is None:
                return None
            for g, group in enumerate(team):
                result[group.name] = tuple(row[g] for row in found if g in row)
        return result

    def _number(
        self, level: int, wishes: list[list[str]], left: dict[str, Counter[str]], rank: int
    ) -> list[dict[int, str]] | None:
        sharing = [g for g, line in enumerate(wishes) if rank < len(line)]
        if not sharing:
            return []
        options = [sorted(+left[wishes[g][rank]]) for g in sharing]
        for nodes in product(*options):
            if len({self.place(self.nodes[node], level) for node in nodes}) > 1:
                continue
            for g, node in zip(sharing, nodes, strict=True):
                left[wishes[g][rank]][node] -= 1
            rest = self._number(level, wishes, left, rank + 1)
            for g, node in zip(sharing, nodes, strict=True):
                left[wishes[g][rank]][node] += 1
            if rest is not None:
                return [dict(zip(sharing, nodes, strict=True)), *rest]
        return None

    def placement(self, counts: Counts) -> Placement:
        pod_sets = {name: tuple(sorted(nodes.items())) for name, nodes in counts.items() if nodes}
        return Placement(pod_sets, ranks=self.numbering(counts) or {})


def _line_ups(member: Group | PodSet) -> Iterator[tuple[str, ...]]:
    """All ways for a member to be in."""
    if isinstance(member, PodSet):
        yield (":" + member.name,)
        return
    needed = len(member.members) if member.min_members is None else member.min_members
    ways = [[(), *_line_ups(below)] for below in member.members]
    for chosen in product(*ways):
        if sum(bool(part) for part in chosen) >= needed:
            yield (member.name, *(name for part in chosen for name in part))


def _splits(nodes: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to put at most ``most`` pods on some nodes."""
    if nodes == 0:
        yield ()
        return
    for here in range(most + 1):
        for rest in _splits(nodes - 1, most - here):
            yield (here, *rest)


def _rank_teams(root: Group) -> list[tuple[int, list[Group]]]:
    groups = {group.name: group for group in root.groups()}
    team_of: dict[str, frozenset[str]] = {name: frozenset({name}) for name in groups}
    level_of: dict[str, int] = {}
    for name, group in groups.items():
        if group.ranks is not None and group.ranks.with_same_rank_of in groups and group.ranks.level is not None:
            both = team_of[name] | team_of[group.ranks.with_same_rank_of]
            team_of.update(dict.fromkeys(both, both))
            level_of[name] = group.ranks.level
    teams = {team_of[name]: level for name, level in level_of.items()}
    return [(level, [groups[name] for name in groups if name in team]) for team, level in teams.items()]


def admits(shape: PodShape, node: Node) -> bool:
    """Whether the node passes the filter of the shape."""
    return _wanted(shape, node) and _welcome(shape, node)


def _wanted(shape: PodShape, node: Node) -> bool:
    def good(need: Requirement) -> bool:
        return _meets(need, node.name if need.on_name else node.labels.get(need.key))

    by_pairs = all(key in node.labels and node.labels[key] == value for key, value in shape.filter.selector)
    by_terms = all(
        any(term.requirements and all(map(good, term.requirements)) for term in entry)
        for entry in shape.filter.required
    )
    return by_pairs and by_terms


def _welcome(shape: PodShape, node: Node) -> bool:
    for taint in node.taints:
        if taint.effect not in ("NoSchedule", "NoExecute"):
            continue
        if not any(
            (not t.effect or t.effect == taint.effect)
            and ((not t.key and t.operator == "Exists") or t.key == taint.key)
            and (t.operator == "Exists" or t.value == taint.value)
            for t in shape.filter.tolerations
        ):
            return False
    return True


def _meets(need: Requirement, value: str | None) -> bool:
    operator = need.operator
    if value is None:
        return operator in ("NotIn", "DoesNotExist")
    if operator in ("Gt", "Lt"):
        number, bound = value, need.values[0]
        if not (number.lstrip("+-").isdigit() and bound.lstrip("+-").isdigit()):
            return False
        return int(number) > int(bound) if operator == "Gt" else int(number) < int(bound)
    return {"In": value in need.values, "NotIn": value not in need.values, "Exists": True, "DoesNotExist": False}[
        operator
    ]


def _picks(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    if selector.matches_nothing:
        return False
    pairs = all(labels.get(key) == value for key, value in selector.labels)
    return pairs and all(_meets(need, labels.get(need.key)) for need in selector.requirements)


def _speaks_of(term: PodTerm, pod: Pod) -> bool:
    return _picks(term.selector, pod.labels) and (term.namespaces is None or pod.namespace in term.namespaces)


def _side_by_side(term: PodTerm, one: Pod, other: Pod) -> bool:
    """On nodes with the same value of the term's key."""
    value = one.node.labels.get(term.key)
    return value is not None and other.node.labels.get(term.key) == value


def _same_door(a: HostPort, b: HostPort) -> bool:
    if a.port != b.port or a.protocol != b.protocol:
        return False
    return a.ip == b.ip or a.ip == "0.0.0.0" or b.ip == "0.0.0.0"
