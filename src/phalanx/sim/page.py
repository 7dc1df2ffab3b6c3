"""The report as one HTML page: plots with tables beside them, several policies side by side, nothing loaded from
elsewhere. Made from the JSON document alone, so that a page can be made of a report that was kept."""

from collections.abc import Iterable, Sequence
from html import escape

from phalanx.sim import plots
from phalanx.sim.plots import Axes, Bars, Line
from phalanx.sim.report import HOUR, Document

FIGURES = ("p50", "p95")
NOBODY: Document = {"mean": 0.0}
ROWS_MAX = 12  # of a table that goes over time

_STYLE = """
:root { color-scheme: light dark; --c0: #0b62a8; --c1: #c2500a; --c2: #2e7d32; --c3: #8e24aa; --c4: #6d4c41; }
@media (prefers-color-scheme: dark) {
  :root { --c0: #6db3f2; --c1: #ff9a5c; --c2: #7ccf80; --c3: #d58ae6; --c4: #c8a79a; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
section { margin: 2rem 0; }
.beside { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
.beside > figure { flex: 1 1 30rem; margin: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
th:first-child { text-align: left; }
svg { width: 100%; height: auto; }
svg text { font-size: 11px; fill: currentColor; }
rect.pale { opacity: .35; }
.grid { stroke: currentColor; opacity: .15; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 0; }
.key { width: 2rem; height: .7rem; margin-right: .4rem; }
path { stroke-width: 2; }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); } .s3 { stroke: var(--c3); } .s4 { stroke: var(--c4); }
.f0 { fill: var(--c0); } .f1 { fill: var(--c1); } .f2 { fill: var(--c2); } .f3 { fill: var(--c3); } .f4 { fill: var(--c4); }
"""  # noqa: E501

Runs = Sequence[Document]


def page(report: Document) -> str:
    """The whole page."""
    runs: Runs = report["runs"]
    title = f"Phalanx simulation: {report['trace']['name']} on {report['cluster']['name']}"
    parts = [
        f"<header><h1>{escape(title)}</h1>{_facts(report)}</header>",
        _summary(report),
        _waiting(runs, "byPods", "Waiting time by size of the gang", "pods of the gang"),
        _waiting(runs, "byUnits", f"Waiting time by {escape(_unit(report))}", f"{_unit(report)} of the gang"),
        _waiting(runs, "byTopology", "Waiting time by what was asked of the topology", "topology request"),
        _apart(runs),
        _over_time(runs, "utilisation", "Utilisation over time", f"share of {_unit(report)}", 1.0),
        _over_time(runs, "waiting", "Gangs waiting over time", "gangs", None),
        *(_fragmentation(runs, level["name"]) for level in report["cluster"]["levels"]),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def _unit(report: Document) -> str:
    resource = str(report["cluster"]["resource"])
    return "GPUs" if resource.endswith("/gpu") else resource


def _facts(report: Document) -> str:
    cluster, trace = report["cluster"], report["trace"]
    levels = ", ".join(f"{level['domains']} x {level['name']}" for level in cluster["levels"])
    return (
        f"<p>{trace['gangs']:,} gangs over {spell(trace['lastArrival'])}; {cluster['nodes']:,} nodes, "
        f"{cluster['units']:,} {escape(_unit(report))}; {escape(levels)}.</p>"
        f"<p>Faults: {escape(report['faults'])}; seed {report['seed']}. "
        f"Phalanx {escape(report['version'])}, schema {escape(report['schema'])}.</p>"
    )


# -- all of it in one table --------------------------------------------------------------------------------------


def _summary(report: Document) -> str:
    runs: Runs = report["runs"]
    rows = [
        ("gangs done", [f"{run['gangs']['done']:,} of {run['gangs']['submitted']:,}" for run in runs]),
        ("gangs that never started", [f"{run['gangs']['neverStarted']:,}" for run in runs]),
        ("waiting time p50", [spell(run["waiting"]["all"]["p50"]) for run in runs]),
        ("waiting time p95", [spell(run["waiting"]["all"]["p95"]) for run in runs]),
        ("longest waiting time", [spell(run["waiting"]["all"]["longest"]) for run in runs]),
        ("utilisation, mean", [_percent(run["utilisation"]["mean"]) for run in runs]),
        ("utilisation while gangs arrive", [_percent(run["utilisation"]["whileArriving"]) for run in runs]),
        ("utilisation, peak", [_percent(run["utilisation"]["peak"]) for run in runs]),
        ("preferred level reached", [_reached(run["preferred"]) for run in runs]),
        ("levels between two pods of a gang, mean", [f"{run['apart']['mean']:.2f}" for run in runs]),
        (f"lost {_unit(report)[:-1] if _unit(report) == 'GPUs' else _unit(report)} hours",
         [f"{run['lostHours']:,.1f}" for run in runs]),
        ("restarts", [f"{run['restarts']:,}" for run in runs]),
        ("all done after", [spell(run["ended"]) for run in runs]),
        ("decisions", [f"{run['work']['decisions']:,}" for run in runs]),
        *_timing_rows(report),
    ]  # fmt: skip
    table = _table(
        "Policies side by side", ["", *(run["policy"] for run in runs)], [[name, *cells] for name, cells in rows]
    )
    return f"<section><h2>Summary</h2>{table}</section>"


def _timing_rows(report: Document) -> list[tuple[str, list[str]]]:
    timing: Runs = report.get("timing", [])
    if not timing:
        return []
    return [
        ("decision time p50, this machine", [f"{one['decisionMs']['p50']:.2f} ms" for one in timing]),
        ("decision time p99, this machine", [f"{one['decisionMs']['p99']:.2f} ms" for one in timing]),
        ("gangs per second, this machine", [f"{one['gangsPerSecond']:,.0f}" for one in timing]),
    ]


def _reached(preferred: Document) -> str:
    groups, reached = preferred["groups"], preferred["reached"]
    return f"{reached:,} of {groups:,} ({_percent(reached / groups)})" if groups else "nobody asked"


# -- sections ----------------------------------------------------------------------------------------------------


def _waiting(runs: Runs, key: str, title: str, across: str) -> str:
    found = {(row["class"], run["policy"]): row for run in runs for row in run["waiting"][key]}
    classes = list(dict.fromkeys(name for name, _ in found))
    series = [
        Bars(
            run["policy"],
            *([_hours(found.get((name, run["policy"])), figure) for name in classes] for figure in FIGURES),
        )
        for run in runs
    ]
    rows = [
        [name, run["policy"], f"{row['gangs']:,}", spell(row["p50"]), spell(row["p95"]), spell(row["longest"])]
        for name in classes
        for run in runs
        if (row := found.get((name, run["policy"]))) is not None
    ]
    plot = plots.bars(Axes(title, across, "hours: solid p50, pale p95"), classes, series)
    return _section(title, plot, _table(title, ["", "policy", "gangs", "p50", "p95", "longest"], rows))


def _apart(runs: Runs) -> str:
    title = "Distance within gangs by what was asked of the topology"
    found = {(row["class"], run["policy"]): row for run in runs for row in run["apart"]["byTopology"]}
    classes = list(dict.fromkeys(name for name, _ in found))
    means = {
        run["policy"]: [float(found.get((name, run["policy"]), NOBODY)["mean"]) for name in classes] for run in runs
    }
    plot = plots.bars(
        Axes(title, "topology request", "levels between two pods"), classes,
        [Bars(policy, values, values) for policy, values in means.items()],
    )  # fmt: skip
    rows = [[name, policy, f"{row['gangs']:,}", f"{row['mean']:.2f}"] for (name, policy), row in found.items()]
    return _section(title, plot, _table(title, ["", "policy", "gangs", "levels apart, mean"], rows))


def _hours(row: Document | None, figure: str) -> float:
    return 0.0 if row is None else float(row[figure]) / HOUR


def _over_time(runs: Runs, key: str, title: str, upright: str, top: float | None) -> str:
    return _timeline(runs, title, upright, top, [run["overTime"][key] for run in runs])


def _fragmentation(runs: Runs, level: str) -> str:
    title = f"Fragmentation over time: {level}"
    columns = [run["overTime"]["fragmentation"][level] for run in runs]
    return _timeline(runs, title, "free, in partly used domains", 1.0, columns)


def _timeline(runs: Runs, title: str, upright: str, top: float | None, columns: Sequence[Sequence[float]]) -> str:
    drawn = [
        Line(run["policy"], [(at / HOUR, value) for at, value in zip(run["overTime"]["at"], column, strict=True)])
        for run, column in zip(runs, columns, strict=True)
    ]
    plot = plots.lines(Axes(title, "hours", upright, top), drawn)
    rows = [
        [spell(at), run["policy"], _percent(value) if top else f"{value:,}"]
        for run, column in zip(runs, columns, strict=True)
        for at, value in _thinned(list(zip(run["overTime"]["at"], column, strict=True)))
    ]
    return _section(
        title,
        plot,
        f"<details><summary>As a table</summary>{_table(title, ['after', 'policy', upright], rows)}</details>",
    )


def _thinned(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return pairs[:: max(1, -(-len(pairs) // ROWS_MAX))]


def _section(title: str, plot: str, table: str) -> str:
    return f'<section><h2>{escape(title)}</h2><div class="beside"><figure>{plot}</figure>{table}</div></section>'


def _table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = ""
    for first, *cells in rows:
        body += f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def spell(seconds: float) -> str:
    """``42 s``, ``12 min``, ``3.4 h``, ``9.1 d``."""
    for size, name in ((86400.0, "d"), (HOUR, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {name}"
    return f"{seconds:,.0f} s"


def _percent(share: float) -> str:
    return f"{share:.1%}"
