"""A judge of placements that reads docs/semantics.md for itself and shares no code with the rest of this room.

Everything here is names, dicts and plain integers: no trees, no arrays, no scaled quantities, so that a mistake in
those cannot hide itself. ``verify`` judges a placement by every rule of the page. ``quick`` is the part that looks
only at the pods placed and the nodes they use, cheap enough for every decision in production.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from phalanx.model.nodes import Node, RunningPod
from phalanx.model.placement import Placement
from phalanx.model.request import Group, PodSet, Request, Spread
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology
from phalanx.place import verify_pods

Path = tuple[str, ...]

_ALONE = "\0"  # no label value starts like this: marks the domain of an outside node, which no other node shares


@dataclass(frozen=True, slots=True)
class _View:
    """What the rules about groups look at: pods of each set by node, and the paths of the inside nodes."""

    at: Mapping[str, Mapping[str, int]]  # pod set -> node -> pods
    paths: Mapping[str, Path]  # inside nodes only

    def domain(self, node: str, level: int) -> Path:
        """The domain of ``level`` that holds a node; an outside node has one of its own at every level."""
        if level == 0:
            return ()
        path = self.paths.get(node)
        return (_ALONE, node) if path is None else path[:level]

    def spots(self, member: Group | PodSet) -> Counter[str]:
        """Pods below a member, by node."""
        sets = member.pod_sets() if isinstance(member, Group) else (member,)
        total: Counter[str] = Counter()
        for pod_set in sets:
            total.update(self.at.get(pod_set.name, {}))
        return total

    def per_domain(self, member: Group | PodSet, level: int) -> Counter[Path]:
        total: Counter[Path] = Counter()
        for node, pods in self.spots(member).items():
            total[self.domain(node, level)] += pods
        return total


def verify(snapshot: Snapshot, request: Request, placement: Placement) -> tuple[str, ...]:
    """Every rule of docs/semantics.md that the placement breaks, as short sentences. Empty: it is valid."""
    topology = _topology(snapshot, request)
    nodes = {node.name: node for node in snapshot.nodes}
    used = {name for counts in placement.pod_sets.values() for name, _ in counts}
    running: dict[str, list[RunningPod]] = {}
    for pod in snapshot.pods:
        running.setdefault(pod.node, []).append(pod)
    free = {name: _free(nodes[name], running.get(name, [])) for name in used if name in nodes}
    paths = {name: path for name, node in nodes.items() if (path := _path(topology, node)) is not None}
    broken = quick(free, paths, request, placement)
    if any(name not in nodes for name in used):
        return broken  # the other rules have nothing to look up
    at = _gather(request, placement)
    return (
        *broken,
        *_level_names(topology, placement),
        *_skews(_View(at, paths), request.root, nodes),
        *verify_pods.broken(nodes, snapshot.pods, tuple(request.root.pod_sets()), at),
    )


def quick(
    free: Mapping[str, Mapping[str, int]],
    paths: Mapping[str, Path],
    request: Request,
    placement: Placement,
) -> tuple[str, ...]:
    """The broken rules among counts, levels, slices, spreads (without skew), capacity, ranks and domains.

    ``free``: nano-units left on each node that the placement uses, before it is applied. ``paths``: label values with
    the node's name last, for each of those nodes that is inside the topology; a node that is missing is outside.
    Both may hold more nodes than that; nothing here walks over them.
    """
    at = _gather(request, placement)
    view = _View(at, paths)
    return (
        *_well_formed(request, placement, free),
        *_counts(view, request.root),
        *_levels(view, request.root),
        *_outside(view, request.root),
        *_slices(view, request.root),
        *_spreads(view, request.root),
        *_capacity(view, request.root, free),
        *_ranks(view, request.root, placement),
        *_domains(view, request.root, placement),
    )


# ------------------------------------------------------------------------------------------ reading the input


def _topology(snapshot: Snapshot, request: Request) -> Topology:
    if request.topology is None:
        return Topology.of("", ())
    return next(topology for topology in snapshot.topologies if topology.name == request.topology)


def _path(topology: Topology, node: Node) -> Path | None:
    """Label values widest first and the node's name; None when a label is missing."""
    keys = [level.label for level in topology.levels if level.label != HOSTNAME]
    if any(key not in node.labels for key in keys):
        return None
    return (*(node.labels[key] for key in keys), node.name)


def _free(node: Node, running: list[RunningPod]) -> dict[str, int]:
    left = dict(node.allocatable.items)
    for pod in running:
        for resource, amount in pod.requests:
            left[resource] = left.get(resource, 0) - amount
    return left


def _gather(request: Request, placement: Placement) -> dict[str, dict[str, int]]:
    """Pods by set and node; sets the request does not know are reported elsewhere and left out here."""
    known = {pod_set.name for pod_set in request.root.pod_sets()}
    at: dict[str, dict[str, int]] = {}
    for name, counts in placement.pod_sets.items():
        if name in known:
            tally = at.setdefault(name, {})
            for node, pods in counts:
                tally[node] = tally.get(node, 0) + max(pods, 0)
    return {name: {node: pods for node, pods in tally.items() if pods} for name, tally in at.items()}


def _well_formed(request: Request, placement: Placement, free: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    sets = {pod_set.name for pod_set in request.root.pod_sets()}
    groups = {group.name for group in request.root.groups()}
    for name, counts in placement.pod_sets.items():
        if name not in sets:
            yield f"pod set {name!r} is not part of the request"
        names = [node for node, _ in counts]
        for node, pods in counts:
            if pods < 1:
                yield f"pod set {name!r} lists {pods} pods on node {node!r}"
            if node not in free:
                yield f"pod set {name!r} uses node {node!r}, which is not known"
        if len(names) != len(set(names)):
            yield f"pod set {name!r} lists a node twice"
    for title, listed in (
        ("domain", placement.domains),
        ("level", placement.level_reached),
        ("ranks", placement.ranks),
    ):
        for name in listed:
            if name not in groups:
                yield f"a {title} is reported for {name!r}, which is no group of the request"


# ------------------------------------------------------------------------------------------------ rules 1 to 5


def _counts(view: _View, root: Group) -> Iterator[str]:
    """Rule 1: minimum and maximum of every set that is in, and enough members in every group that is in."""
    for pod_set in root.pod_sets():
        placed = view.spots(pod_set).total()
        if placed and not pod_set.min_count <= placed <= pod_set.count:
            yield f"pod set {pod_set.name!r} has {placed} pods, allowed are {pod_set.min_count} to {pod_set.count}"
    for group in root.groups():
        if group is not root and not view.spots(group):
            continue  # nothing below it: it is out (or may just as well be), which its parent's count tells
        taking_part = sum(_may_be_in(view, member) for member in group.members)
        needed = len(group.members) if group.min_members is None else group.min_members
        if taking_part < needed:
            yield f"group {group.name!r} has {taking_part} of its members in, it needs {needed}"


def _may_be_in(view: _View, member: Group | PodSet) -> bool:
    """Whether a member can count as in. One without pods can if nothing it contains asks for a pod."""
    if view.spots(member):
        return True
    if isinstance(member, PodSet):
        return member.min_count <= 0
    if member.spread is not None and (member.spread.min_domains or 0) > 0:
        return False
    needed = len(member.members) if member.min_members is None else member.min_members
    return sum(_may_be_in(view, below) for below in member.members) >= needed


def _levels(view: _View, root: Group) -> Iterator[str]:
    """Rule 2: a group with a required level sits in one domain of it."""
    for group in root.groups():
        if group.required is not None and len(view.per_domain(group, group.required)) > 1:
            yield f"group {group.name!r} is spread over several domains of level {group.required}"


def _outside(view: _View, root: Group) -> Iterator[str]:
    """Rule 3: pods with any wish about the topology stay off nodes outside it."""
    for pod_set, bound in _with_bound(root, False):
        if bound and any(node not in view.paths for node in view.spots(pod_set)):
            yield f"pod set {pod_set.name!r} has a wish about the topology and uses a node outside it"


def _with_bound(group: Group, above: bool) -> Iterator[tuple[PodSet, bool]]:
    ranks = group.ranks
    own = (
        group.required is not None
        or group.preferred is not None
        or group.spread is not None
        or (ranks is not None and (ranks.level is not None or ranks.across is not None))
    )
    for member in group.members:
        if isinstance(member, Group):
            yield from _with_bound(member, above or own)
        else:
            yield member, above or own or bool(member.slices)


def _slices(view: _View, root: Group) -> Iterator[str]:
    """Rule 4: every domain of a slice's level holds whole slices."""
    for pod_set in root.pod_sets():
        for part in pod_set.slices:
            if any(pods % part.size for pods in view.per_domain(pod_set, part.level).values()):
                yield f"pod set {pod_set.name!r} cuts a slice of {part.size} at level {part.level}"


def _spreads(view: _View, root: Group) -> Iterator[str]:
    """Rule 5 without the skew, which needs to know the domains that got nothing."""
    for group in root.groups():
        spread = group.spread
        if spread is None:
            continue
        pods = view.per_domain(group, spread.level)
        if spread.max_per_domain is not None and any(n > spread.max_per_domain for n in pods.values()):
            yield f"group {group.name!r} has more than {spread.max_per_domain} pods in a domain of level {spread.level}"
        # a group without pods counts as out, except the root, which is always in
        if spread.min_domains is not None and len(pods) < spread.min_domains and (pods or group is root):
            yield f"group {group.name!r} uses {len(pods)} domains of level {spread.level}, not {spread.min_domains}"


def _skews(view: _View, root: Group, nodes: Mapping[str, Node]) -> Iterator[str]:
    """Rule 5, ``max_skew``: over all domains that could have held a pod of the group."""
    for group, required in _with_required(root, 0):
        spread = group.spread
        if spread is None or spread.max_skew is None or not view.spots(group):
            continue
        pods = view.per_domain(group, spread.level)
        enclosing = view.domain(next(iter(view.spots(group))), required)
        eligible = _eligible(view, group, spread, required, enclosing, nodes)
        heights = [pods[domain] for domain in eligible | set(pods)]
        if max(heights) - min(heights) > spread.max_skew:
            yield f"group {group.name!r} has a skew above {spread.max_skew} at level {spread.level}"


def _eligible(
    view: _View, group: Group, spread: Spread, required: int, enclosing: Path, nodes: Mapping[str, Node]
) -> set[Path]:
    """Domains of the spread's level inside the enclosing domain with a node that some set below may use."""
    if required > spread.level:
        return set()  # the enclosing domain is the smaller one: nothing of that level lies inside it
    filters = [pod_set.shape.filter for pod_set in group.pod_sets()]
    return {
        path[: spread.level]
        for name, path in view.paths.items()
        if path[:required] == enclosing and any(verify_pods.admits(wish, nodes[name]) for wish in filters)
    }


def _with_required(group: Group, above: int) -> Iterator[tuple[Group, int]]:
    """Every group with the narrowest level required of it, by itself or by a group around it."""
    level = max(above, group.required or 0)
    yield group, level
    for member in group.members:
        if isinstance(member, Group):
            yield from _with_required(member, level)


# ---------------------------------------------------------------------------------------------- rules 10 and 12


def _capacity(view: _View, root: Group, free: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Rule 10: what the placed pods ask for is there, on every node they use."""
    need: dict[str, Counter[str]] = {}
    for pod_set in root.pod_sets():
        for node, pods in view.spots(pod_set).items():
            need.setdefault(node, Counter()).update({name: pods * amount for name, amount in pod_set.shape.requests})
    for node, amounts in need.items():
        for resource, amount in amounts.items():
            if node in free and amount > free[node].get(resource, 0):
                yield f"node {node!r} has too little {resource}"


def _ranks(view: _View, root: Group, placement: Placement) -> Iterator[str]:
    """Rule 12, and that listed ranks tell the same story as the counts."""
    groups = {group.name: group for group in root.groups()}
    for name, listed in placement.ranks.items():
        if name in groups and not _ranks_match(view, groups[name], listed):
            yield f"the ranks of group {name!r} do not agree with its counts"
    for level, names in _linked(groups):
        for name in names:
            if name not in placement.ranks and view.spots(groups[name]):
                yield f"group {name!r} shares ranks with others and lists none"
        yield from _together(view, level, {name: placement.ranks.get(name, ()) for name in names})


def _ranks_match(view: _View, group: Group, listed: tuple[str, ...]) -> bool:
    """Whether rank after rank, set after set, each set's nodes are those its counts name."""
    position = 0
    for pod_set in group.pod_sets():
        spots = view.spots(pod_set)
        if Counter(listed[position : position + spots.total()]) != spots:
            return False
        position += spots.total()
    return position == len(listed)


def _linked(groups: Mapping[str, Group]) -> list[tuple[int, list[str]]]:
    """Groups that share ranks, each component with its level."""
    leader = {name: name for name in groups}
    links = [
        (name, other, group.ranks.level)
        for name, group in groups.items()
        if group.ranks is not None and group.ranks.level is not None
        for other in groups.keys() & {group.ranks.with_same_rank_of}  # one that is in another request ties nothing
    ]
    for name, other, _ in links:
        leader[_head(leader, name)] = _head(leader, other)
    levels = {_head(leader, name): level for name, _, level in links}
    members: dict[str, list[str]] = {head: [] for head in levels}
    for name in groups:
        members.get(_head(leader, name), []).append(name)
    return [(level, members[head]) for head, level in levels.items()]


def _head(leader: Mapping[str, str], name: str) -> str:
    while leader[name] != name:
        name = leader[name]
    return name


def _together(view: _View, level: int, listed: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for rank in range(max(map(len, listed.values()))):
        spots = {name: nodes[rank] for name, nodes in listed.items() if rank < len(nodes)}
        if len({view.domain(node, level) for node in spots.values()}) > 1:
            yield f"rank {rank} of {', '.join(sorted(spots))} is not in one domain of level {level}"
            return  # one sentence per component is enough


# ------------------------------------------------------------------------------------------ what is reported


def _domains(view: _View, root: Group, placement: Placement) -> Iterator[str]:
    """That the domain reported for a group holds all its pods and is no wider than what it required."""
    for group in root.groups():
        if group.name not in placement.domains:
            continue
        domain = placement.domains[group.name]
        if not _holds(view, domain, view.spots(group)):
            yield f"the domain reported for group {group.name!r} does not hold all its pods"
        if len(domain) < (group.required or 0):
            yield f"the domain reported for group {group.name!r} is wider than its required level"


def _holds(view: _View, domain: Path, nodes: Mapping[str, int]) -> bool:
    """Whether a domain holds all these nodes; one of an outside node holds that node alone."""
    if not domain:
        return True
    if any(node not in view.paths for node in nodes):
        return set(nodes) == {domain[-1]}
    return all(view.paths[node][: len(domain)] == domain for node in nodes)


def _level_names(topology: Topology, placement: Placement) -> Iterator[str]:
    for group, name in placement.level_reached.items():
        domain = placement.domains.get(group)
        if domain is not None and (len(domain) > topology.host or topology.level_name(len(domain)) != name):
            yield f"group {group!r} reports level {name!r}, its domain is of another"
