"""Decisions as a table: one row per group, indented as the groups nest."""

from collections.abc import Iterable, Iterator

from rich.table import Table

from phalanx.cli.screen import clean, styled
from phalanx.cluster import Decision
from phalanx.model.request import Group, Request

STYLES = {"Placed": "green", "Waiting": "yellow", "Invalid": "red"}
_NODES_SHOWN = 2  # names in a narrow table; more become a number

_Row = tuple[str, str, str, str]  # group, pods, where, nodes


def decisions(given: Iterable[Decision], wide: bool = False) -> Table:
    """The table of some decisions. ``wide``: every node with its pods, however long the line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("NAME", "STATUS", "GROUP", "PODS", "WHERE", "NODES"):
        table.add_column(title, overflow="fold", no_wrap=title in ("STATUS", "PODS") or wide)
    for decision in given:
        name, status = title_of(decision), styled(decision.status, STYLES[decision.status])
        for group, pods, where, nodes in _rows(decision, wide):
            table.add_row(clean(name), status, clean(group), pods, clean(where), clean(nodes))
            name, status = "", styled("")
    return table


def title_of(decision: Decision) -> str:
    return f"{decision.id}" if decision.namespace else decision.name


def _rows(decision: Decision, wide: bool) -> Iterator[_Row]:
    request = decision.request
    if request is None:
        count = len(decision.problems)
        yield "-", "-", f"{count} problem{'s' if count > 1 else ''}", "-"
    elif decision.reason is not None:
        yield decision.reason.group, f"0/{_wanted(request.root)}", decision.reason.type.value, "-"
    else:
        yield from _placed(decision, request, wide)


def _placed(decision: Decision, request: Request, wide: bool) -> Iterator[_Row]:
    for depth, group in _nested(request.root, 0):
        if group.name not in decision.domains:
            continue
        sets = [decision.pod_sets.get(one.name, {}) for one in group.pod_sets()]
        nodes: dict[str, int] = {}
        for counts in sets:
            for node, pods in counts.items():
                nodes[node] = nodes.get(node, 0) + pods
        where = "/".join(decision.domains[group.name]) or "cluster"
        pods = _counted(sum(nodes.values()), _wanted(group))
        yield "  " * depth + group.name, pods, where, _named(nodes, wide)


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
