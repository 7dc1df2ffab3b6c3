"""Decisions as a table: one row per group, indented as the groups nest."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from phalanx.cli.screen import clean
from phalanx.cluster import Decision
from phalanx.model.request import Group, Request

STYLES = {"Placed": "green", "Waiting": "yellow", "Invalid": "red", "Internal": "red"}
TITLES = ("NAME", "STATUS", "GROUP", "PODS", "WHERE", "NODES")
_SHRINK = ((5, 12), (4, 16), (0, 16), (2, 12))  # columns that give way in a narrow table, and what they keep
_NODES_SHOWN = 2  # names in a narrow table; more become a number
_GAP = 2

_Row = tuple[str, ...]


def decisions(given: Iterable[Decision], width: int | None) -> Iterator[Text]:
    """The table of some decisions, line by line. ``width`` None: every node with its pods, however long the line."""
    rows: list[_Row] = []
    for decision in given:
        name, status = title_of(decision), decision.status
        for group, pods, where, nodes in _rows(decision, wide=width is None):
            rows.append(tuple(clean(cell) for cell in (name, status, group, pods, where, nodes)))
            name = status = ""
    wide = _widths(rows, width)
    yield Text(_joined(TITLES, wide), style="bold")
    for row in rows:
        line = Text(_joined(row, wide))
        if row[1] in STYLES:
            line.stylize(STYLES[row[1]], wide[0] + _GAP, wide[0] + _GAP + len(row[1]))
        yield line


def _widths(rows: list[_Row], width: int | None) -> list[int]:
    """What every column needs; less for some where the table would be wider than the screen."""
    wide = [max(len(cell) for cell in column) for column in zip(TITLES, *rows, strict=True)]
    for column, least in _SHRINK if width is not None else ():
        over = sum(wide) + _GAP * (len(wide) - 1) - (width or 0)
        if over > 0:
            wide[column] = max(wide[column] - over, min(least, wide[column]))
    return wide


def _joined(row: _Row, wide: list[int]) -> str:
    cells = (_cut(cell, size).ljust(size) for cell, size in zip(row, wide, strict=True))
    return (" " * _GAP).join(cells).rstrip()


def _cut(cell: str, size: int) -> str:
    """A cell that fits, its end kept: that is where names differ."""
    return cell if len(cell) <= size else "…" + cell[len(cell) - size + 1 :]


def title_of(decision: Decision) -> str:
    return decision.id if decision.namespace else decision.name


def _rows(decision: Decision, wide: bool) -> Iterator[tuple[str, str, str, str]]:
    request = decision.request
    if decision.mistake is not None:
        yield "-", "-", "mistake", "-"
    elif request is None:
        count = len(decision.problems)
        yield "-", "-", f"{count} problem{'s' if count > 1 else ''}", "-"
    elif decision.reason is not None:
        yield decision.reason.group, f"0/{_wanted(request.root)}", decision.reason.type.value, "-"
    else:
        yield from _placed(decision, request, wide)


def _placed(decision: Decision, request: Request, wide: bool) -> Iterator[tuple[str, str, str, str]]:
    domains, left_out = decision.domains, decision.left_out
    for depth, group in _nested(request.root, 0):
        if group.name in left_out and group.name not in domains:
            yield "  " * depth + group.name, f"0/{_wanted(group)}", "left out", "-"
        if group.name not in domains:
            continue
        sets = [decision.pod_sets.get(one.name, {}) for one in group.pod_sets()]
        nodes: dict[str, int] = {}
        for counts in sets:
            for node, pods in counts.items():
                nodes[node] = nodes.get(node, 0) + pods
        where = "/".join(domains[group.name]) or "cluster"
        counted = _counted(sum(nodes.values()), _wanted(group))
        yield "  " * depth + group.name, counted, where, _named(nodes, wide)


def _nested(group: Group, depth: int) -> Iterator[tuple[int, Group]]:
    """Groups outer first with their depth; the root counts only where it is a declared group itself."""
    yield max(depth - 1, 0), group
    for member in group.members:
        if isinstance(member, Group):
            yield from _nested(member, depth + 1)


def _wanted(group: Group) -> int:
    return sum(one.count for one in group.pod_sets())


def _counted(placed: int, wanted: int) -> str:
    return str(placed) if placed == wanted else f"{placed}/{wanted}"


def _named(nodes: dict[str, int], wide: bool) -> str:
    if not wide and len(nodes) > _NODES_SHOWN:
        return f"{len(nodes)} nodes"
    return " ".join(node if pods == 1 else f"{node}×{pods}" for node, pods in nodes.items())
