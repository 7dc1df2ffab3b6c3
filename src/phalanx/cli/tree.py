"""The topology drawn: bars of what is used in every domain, or the pods of one gang on its nodes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich.text import Text

from phalanx.cli import amounts, nodestate
from phalanx.cli.screen import WIDTH, clean
from phalanx.cluster import Cluster, Decision
from phalanx.model import resources
from phalanx.model.nodes import RunningPod
from phalanx.model.request import Group
from phalanx.model.topology import Topology, Tree, grow

Room = Mapping[str, tuple[int, int]]  # node -> nano-units free, nano-units in all

GROUP_LABEL = "phalanx.dev/group"
FLAT = Topology.of("cluster", ())
NODES_DRAWN_MAX = 64  # a larger cluster is drawn down to the level above its nodes
BAR = 10
CELL = 8  # signs for the largest node in the drawing of a gang
NAME = 24  # letters for the name of a node there
BRANCH = 24  # letters for the branch of a tree and its name, however narrow the screen
NAME_LEAST = 8
NODES_LISTED = 5
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLOURS = ("cyan", "magenta", "green", "blue", "yellow", "red")
_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")


def tree_of(cluster: Cluster, name: str | None) -> Tree:
    """The tree of the topology of that name; of the nodes alone where there is none."""
    topology = next((one for one in cluster.snapshot.topologies if one.name == name), FLAT)
    return grow(topology, {node.name: node.labels for node in cluster.snapshot.nodes})


def usual_resource(cluster: Cluster) -> str:
    """What people look at first: the accelerators if there are any, else cpu."""
    names = {name for node in cluster.snapshot.nodes for name, _ in node.allocatable}
    special = sorted(name for name in names if "/" in name)
    return next((name for name in special if "gpu" in name), special[0] if special else "cpu")


def room_of(cluster: Cluster, resource: str) -> Room:
    """What is free of a resource on each node, and what there is of it: nothing on nodes that have none."""
    picture = cluster.snapshot
    used = Counter[str]()
    for pod in picture.pods:
        used[pod.node] += pod.requests.get(resource)
    amounts = {node.name: node.allocatable.get(resource) for node in picture.nodes}
    return {name: (total - used[name], total) for name, total in amounts.items()}


# -- bars --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """One domain: the branch of the tree it hangs on, its name, and what is free of how much. ``note``: of its nodes
    that take no new pods, where the drawing goes no deeper."""

    stem: str
    name: str
    free: int
    total: int
    note: str = ""


def bars(cluster: Cluster, tree: Tree, resource: str, level: int | None = None, width: int = WIDTH) -> Iterator[Text]:
    """One line per domain down to ``level``: a bar of what is used, what is free and what there is."""
    room = room_of(cluster, resource)
    deepest = level or (tree.host if tree.size <= NODES_DRAWN_MAX else max(tree.host - 1, 1))
    drawer = _Drawer(tree, room, nodestate.states(cluster.snapshot.nodes), deepest)
    lines = [drawer.line(0, 0, "", tree.topology.name), *drawer.below(0, 0, "")]
    yield from _laid_out(lines, resource, width)


@dataclass(frozen=True, slots=True)
class _Drawer:
    tree: Tree
    room: Room
    states: Mapping[str, str]  # of nodes that take no new pods
    deepest: int

    def below(self, level: int, domain: int, stem: str) -> Iterator[_Line]:
        if level >= self.deepest:
            return
        tree = self.tree
        parts = [d for d in tree.within(level, domain, level + 1) if tree.inside[int(tree.start[level + 1][d])]]
        for part in parts:
            last = part == parts[-1]
            yield self.line(level + 1, part, stem + ("└─ " if last else "├─ "), tree.path(level + 1, part)[-1])
            yield from self.below(level + 1, part, stem + ("   " if last else "│  "))

    def line(self, level: int, domain: int, stem: str, name: str) -> _Line:
        nodes = [self.tree.names[i] for i in self.tree.nodes(level, domain)] if self.tree.size else []
        found = [self.room[node] for node in nodes]
        free, total = sum(free for free, _ in found), sum(total for _, total in found)
        return _Line(stem, clean(name), free, total, self._note(nodes, level))

    def _note(self, nodes: list[str], level: int) -> str:
        if level < self.deepest:
            return ""
        if level == self.tree.host:
            return ", ".join(self.states[node] for node in nodes if node in self.states)
        return nodestate.counted(self.states, nodes)


def _laid_out(lines: list[_Line], resource: str, width: int) -> Iterator[Text]:
    numbers = [(amounts.plain(resource, line.free), amounts.plain(resource, line.total)) for line in lines]
    free_wide = max([len(free) for free, _ in numbers] + [len("free")])
    head = f" of all {clean(resource)}"
    notes = [f"  {line.note}" if line.note else "" for line in lines]
    behind = max(len(head), *(len(f" of {total}{note}") for note, (_, total) in zip(notes, numbers, strict=True)))
    most = max(width - (2 + BAR + 2 + free_wide + behind), BRANCH)
    branches = [line.stem + shortened(line.name, max(most - len(line.stem), NAME_LEAST)) for line in lines]
    wide = max(map(len, branches))
    yield Text(f"{'':{wide}}  {'used':{BAR}}  {'free':>{free_wide}}{head}", style="dim")
    for branch, line, note, (free, total) in zip(branches, lines, notes, numbers, strict=True):
        drawn = Text(f"{branch:{wide}}  ")
        drawn.append_text(_bar(line))
        yield drawn.append(f"  {free:>{free_wide}} of {total}").append(note, "yellow")


def _bar(line: _Line) -> Text:
    """Filled where used; a full bar only when nothing is left, an empty one only when nothing is used."""
    used = line.total - line.free
    if line.total <= 0:
        return Text("-" * BAR, style="dim")
    filled = used * BAR // line.total
    filled = max(filled, 1) if used > 0 else 0
    style = "red" if filled >= BAR else "yellow" if filled * 2 > BAR else "green"
    return Text("█" * min(filled, BAR), style=style).append("░" * (BAR - min(filled, BAR)), style="dim")


def outside(tree: Tree) -> Iterator[Text]:
    """Nodes that are not part of the topology, by the label they lack."""
    lacking: dict[str, list[str]] = {}
    for one in tree.missing:
        lacking.setdefault(one.label, []).append(one.node)
    for label, nodes in sorted(lacking.items()):
        shown = ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
        yield Text(clean(f"outside: {shown} (no label {label})"), style="yellow")


# -- a gang on its nodes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """One group in the drawing: its letter, and how many nano-units it takes on which node."""

    letter: str
    style: str
    title: str
    takes: Mapping[str, int]


def marks(decision: Decision, resource: str) -> list[Mark]:
    """A letter for every group that has pods of its own, with what they take of a resource."""
    found: list[Mark] = []
    request = decision.request
    for group in request.root.groups() if request is not None else ():
        takes = _takes(group, decision, resource)
        if takes:
            number = len(found)
            found.append(Mark(LETTERS[number % 26], COLOURS[number % len(COLOURS)], group.name, takes))
    return found


def _takes(group: Group, decision: Decision, resource: str) -> dict[str, int]:
    takes: dict[str, int] = {}
    for one in group.pod_sets():
        if one not in group.members:
            continue
        for node, pods in decision.pod_sets.get(one.name, {}).items():
            takes[node] = takes.get(node, 0) + pods * one.shape.requests.get(resource)
    return takes


def resource_of(decision: Decision, cluster: Cluster) -> str:
    """The resource that says most about a gang: the accelerators it asks for, else cpu or what else it needs."""
    request = decision.request
    asked = {name for one in (request.root.pod_sets() if request else ()) for name, _ in one.shape.requests}
    usual = usual_resource(cluster)
    if usual in asked:
        return usual
    special = sorted(name for name in asked if name not in _PLAIN)
    return next((name for name in (*special, *_PLAIN) if name in asked), "pods")


def running_marks(pods: Iterable[RunningPod], resource: str) -> list[Mark]:
    """The same for a gang that runs: a letter for every group that its pods name."""
    takes: dict[str, dict[str, int]] = {}
    for pod in pods:
        group = takes.setdefault(pod.labels.get(GROUP_LABEL, "pods"), {})
        group[pod.node] = group.get(pod.node, 0) + pod.requests.get(resource)
    found = enumerate(sorted(takes.items()))
    return [Mark(LETTERS[i % 26], COLOURS[i % len(COLOURS)], name, where) for i, (name, where) in found]


def picture(
    room: Room, tree: Tree, drawn: list[Mark], one_sign: int, width: int, closed: Mapping[str, str]
) -> Iterator[Text]:
    """Every narrowest domain in a line, its nodes as cells: letters for the gang, ▒ for others, · for free, × for free
    on a node that takes no new pods.

    ``room``: what is free on each node and what there is, without the gang that is drawn. ``closed``: those nodes.
    """
    yield Text(clean(tree.topology.name), style="bold")
    brush = _Brush(room, one_sign, drawn, width, closed)
    if tree.host == 1:
        yield from brush.lines(Text(""), _members(tree, 0, 0))
    else:
        yield from _branches(tree, 0, 0, "", brush)


def step(cluster: Cluster, resource: str) -> int:
    """Nano-units that one sign stands for: the largest node has eight signs, small ones one per unit."""
    most = max((total for _, total in room_of(cluster, resource).values()), default=0)
    return max(-(-most // CELL), resources.NANO)


@dataclass(frozen=True, slots=True)
class _Brush:
    room: Room
    step: int
    marks: list[Mark]
    width: int
    closed: Mapping[str, str]

    def cell(self, node: str) -> Text:
        """``▒AAB····``: what is on a node."""
        free, total = self.room[node]
        size, cell = -(-total // self.step), Text()
        parts = [("▒", "dim", total - free), *((one.letter, one.style, one.takes.get(node, 0)) for one in self.marks)]
        for letter, style, amount in parts:
            cell.append(letter * min(-(-amount // self.step), max(size - len(cell), 0)), style=style)
        return cell.append(("×" if node in self.closed else "·") * max(size - len(cell), 0), style="dim")

    def lines(self, head: Text, nodes: list[str]) -> Iterator[Text]:
        """The nodes of one domain side by side behind its name, over as many lines as they need."""
        cells = [self.cell(node) for node in nodes]
        name_wide = min(max((len(node) for node in nodes), default=0), NAME)
        cell_wide = max((len(cell) for cell in cells), default=0)
        per_line = max((self.width - len(head)) // (name_wide + cell_wide + 3), 1)
        stem = "".join(char if char == "│" else "│" if char == "├" else " " for char in head.plain)
        for at in range(0, max(len(nodes), 1), per_line):
            line = head.copy() if not at else Text(stem)
            for node, cell in zip(nodes[at : at + per_line], cells[at : at + per_line], strict=True):
                line.append(f"{shortened(clean(node), NAME):{name_wide}} ")
                line.append_text(cell).append(" " * (cell_wide - len(cell) + 2))
            line.rstrip()
            yield line


def shortened(name: str, most: int) -> str:
    """A name that fits its column, cut in the middle: names of one cluster begin alike, and differ at their end."""
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[head + 1 - most :]}"


def _members(tree: Tree, level: int, domain: int) -> list[str]:
    return [tree.names[i] for i in tree.nodes(level, domain) if tree.inside[i]]


def _branches(tree: Tree, level: int, domain: int, stem: str, brush: _Brush) -> Iterator[Text]:
    parts = [d for d in tree.within(level, domain, level + 1) if tree.inside[int(tree.start[level + 1][d])]]
    drawn = [part for part in parts if _is_drawn(tree, level + 1, part, brush)]
    names = [shortened(clean(tree.path(level + 1, part)[-1]), NAME) for part in drawn]
    wide = max((len(name) for name in names), default=0)
    for part, name in zip(drawn, names, strict=True):
        last = part == drawn[-1] and len(drawn) == len(parts)
        head = Text(stem + ("└─ " if last else "├─ ") + name)
        if level + 2 == tree.host:
            yield from brush.lines(head.append(" " * (wide - len(name) + 2)), _members(tree, level + 1, part))
        else:
            yield head
            yield from _branches(tree, level + 1, part, stem + ("   " if last else "│  "), brush)
    if len(drawn) < len(parts):
        yield Text(
            f"{stem}└─ {len(parts) - len(drawn)} more of level {tree.topology.level_name(level + 1)}", style="dim"
        )


def _is_drawn(tree: Tree, level: int, domain: int, brush: _Brush) -> bool:
    """In a large cluster only domains that hold some of the gang are drawn; the others are counted."""
    if tree.size <= NODES_DRAWN_MAX:
        return True
    used = {int(tree.domain[level][tree.index[node]]) for mark in brush.marks for node in mark.takes}
    return domain in used


def running_legend(pods: Sequence[RunningPod], drawn: list[Mark], one_sign: str, width: int) -> Iterator[Text]:
    """What the letters mean: the pods of each group and their nodes."""
    for mark in drawn:
        named = [f"{pod.name} {pod.node}" for pod in pods if pod.labels.get(GROUP_LABEL, "pods") == mark.title]
        yield Text(f"{mark.letter} ", style=mark.style).append(clean(f"{mark.title}: {len(named)} running"), "default")
        for row in wrap(", ".join(named), width - 4, break_on_hyphens=False):
            yield Text(clean("  " + row), style="dim")
    yield _key(one_sign)


def _key(one_sign: str) -> Text:
    return Text(clean(f"▒ others   · free   one sign is {one_sign}"), style="dim")


def closed_nodes(states: Mapping[str, str], width: int) -> Iterator[Text]:
    """Which nodes are drawn with ×, and why."""
    for line in nodestate.listed(states, NODES_LISTED):
        for row in wrap(f"× {line}", width, subsequent_indent="    ", break_on_hyphens=False):
            yield Text(clean(row), style="yellow")


def legend(decision: Decision, drawn: list[Mark], one_sign: str, width: int) -> Iterator[Text]:
    """What the letters mean: group, pods, where it is, and its ranks."""
    for mark in drawn:
        pods = sum(sum(c.values()) for name, c in decision.pod_sets.items() if _belongs(name, mark.title))
        where = "/".join(decision.domains.get(mark.title, ())) or "the cluster"
        line = Text(f"{mark.letter} ", style=mark.style)
        yield line.append(clean(f"{mark.title}: {pods} pod{'s' if pods != 1 else ''} in {where}"), style="default")
        if mark.title in decision.ranks:
            for row in wrap("ranks " + runs(decision.ranks[mark.title]), width - 4, break_on_hyphens=False):
                yield Text(clean("  " + row), style="dim")
    if decision.left_out:
        yield Text(clean("left out: " + ", ".join(f"{pods} of {name}" for name, pods in decision.left_out.items())))
    yield _key(one_sign)


def _belongs(pod_set: str, group: str) -> bool:
    return pod_set == group or pod_set.startswith(group + "/")


def runs(nodes: list[str]) -> str:
    """``0-3 n1, 4-7 n2``: which ranks are on which node, neighbours together."""
    parts: list[str] = []
    start = 0
    for i in range(1, len(nodes) + 1):
        if i == len(nodes) or nodes[i] != nodes[start]:
            parts.append(f"{start}-{i - 1} {nodes[start]}" if i - 1 > start else f"{start} {nodes[start]}")
            start = i
    return ", ".join(parts)
