"""The report as one HTML page: plots with tables beside them, several policies side by side, nothing loaded from
elsewhere. Made from the JSON document alone, so that a page can be made of a report that was kept."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape

from phalanx.sim import plots
from phalanx.sim.plots import Axes, Bars, Line
from phalanx.sim.report import Document
from phalanx.sim.spelling import alike, length, percent, unit

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
h1, h2, p, tbody th { overflow-wrap: anywhere; }
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
@media (max-width: 40rem) {
  body { margin: 1rem auto; padding: 0 .75rem; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; }
  .beside > figure { flex-basis: 100%; min-width: 0; }
  .beside > table, .beside > details { max-width: 100%; }
  table { font-size: .75rem; }
  th, td { padding: .15rem .25rem; }
  svg text { font-size: 18px; }
  svg text.upright { font-size: 13px; }
}
"""  # noqa: E501

Runs = Sequence[Document]


def page(report: Document) -> str:
    """The whole page."""
    runs: Runs = report["runs"]
    title = f"Phalanx simulation: {report['trace']['name']} on {report['cluster']['name']}"
    parts = [
        f"<header><h1>{escape(title)}</h1>{_facts(report)}</header>",
        _summary(report),
        _waiting(report, "byPods", "Waiting time by size of the gang", "pods of the gang"),
        _waiting(report, "byUnits", f"Waiting time by {_unit(report)}", f"{_unit(report)} of the gang"),
        _waiting(report, "byTopology", "Waiting time by what was asked of the topology", "topology request"),
        _apart(runs),
        _utilisation(runs, _unit(report)),
        _waiting_over_time(runs),
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
        f"<p>{trace['gangs']:,} gangs over {length(trace['lastArrival'])}; {cluster['nodes']:,} nodes, "
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
        ("waiting time p50", alike([run["waiting"]["all"]["p50"] for run in runs])),
        ("waiting time p95", alike([run["waiting"]["all"]["p95"] for run in runs])),
        ("longest waiting time", alike([run["waiting"]["all"]["longest"] for run in runs])),
        ("utilisation, mean", [percent(run["utilisation"]["mean"]) for run in runs]),
        ("utilisation while gangs arrive", [percent(run["utilisation"]["whileArriving"]) for run in runs]),
        ("utilisation, peak", [percent(run["utilisation"]["peak"]) for run in runs]),
        ("preferred level reached", [_reached(run["preferred"]) for run in runs]),
        ("levels between two pods of a gang, mean", [f"{run['apart']['mean']:.2f}" for run in runs]),
        (f"lost {_unit(report)[:-1] if _unit(report) == 'GPUs' else _unit(report)} hours",
         [f"{run['lostHours']:,.1f}" for run in runs]),
        ("restarts", [f"{run['restarts']:,}" for run in runs]),
        ("all done after", alike([run["ended"] for run in runs])),
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
    return f"{reached:,} of {groups:,} ({percent(reached / groups)})" if groups else "nobody asked"


# -- sections ----------------------------------------------------------------------------------------------------


def _waiting(report: Document, key: str, title: str, across: str) -> str:
    runs: Runs = report["runs"]
    found = {(row["class"], run["policy"]): row for run in runs for row in run["waiting"][key]}
    classes = list(dict.fromkeys(name for name, _ in found))
    size, _, plural = unit(row[figure] for row in found.values() for figure in FIGURES)
    series = [
        Bars(
            run["policy"],
            *([_share(found.get((name, run["policy"])), figure, size) for name in classes] for figure in FIGURES),
        )
        for run in runs
    ]
    rows = [
        [name, run["policy"], f"{row['gangs']:,}", *alike([row["p50"], row["p95"], row["longest"]])]
        for name in classes
        for run in runs
        if (row := found.get((name, run["policy"]))) is not None
    ]
    shown = any(one.solid[place] or one.pale[place] for one in series for place in range(len(classes)))
    axes = Axes(title, across, f"{plural}: solid p50, pale p95")
    plot = plots.bars(axes, classes, series) if shown else _empty(_why_nobody_waited(report))
    return _section(title, plot, _table(title, ["", "policy", "gangs", "p50", "p95", "longest"], rows))


def _why_nobody_waited(report: Document) -> str:
    runs: Runs = report["runs"]
    longest = max(run["waiting"]["all"]["longest"] for run in runs)
    if longest:
        return f"At most one gang in twenty waited in each class, so p50 and p95 are 0; the longest {length(longest)}."
    peak = f"At most {percent(max(run['utilisation']['peak'] for run in runs))} of the {_unit(report)} were in use."
    return f"No gang waited: there was room for each when it came. {peak}"


def _share(row: Document | None, figure: str, size: float) -> float:
    return 0.0 if row is None else float(row[figure]) / size


def _apart(runs: Runs) -> str:
    title = "Distance within gangs by what was asked of the topology"
    found = {(row["class"], run["policy"]): row for run in runs for row in run["apart"]["byTopology"]}
    classes = list(dict.fromkeys(name for name, _ in found))
    means = {
        run["policy"]: [float(found.get((name, run["policy"]), NOBODY)["mean"]) for name in classes] for run in runs
    }
    drawn = [Bars(policy, values, values) for policy, values in means.items()]
    if any(row["mean"] for row in found.values()):
        plot = plots.bars(Axes(title, "topology request", "levels between two pods"), classes, drawn)
    else:
        plot = _empty("All pods of a gang shared a node." if found else "No gang of several pods started.")
    rows = [[name, policy, f"{row['gangs']:,}", f"{row['mean']:.2f}"] for (name, policy), row in found.items()]
    return _section(title, plot, _table(title, ["", "policy", "gangs", "levels apart, mean"], rows))


def _utilisation(runs: Runs, what: str) -> str:
    axes = Axes("Utilisation over time", "", f"share of {what}", 1.0)
    return _timeline(runs, axes, [run["overTime"]["utilisation"] for run in runs], f"No {what} were in use.")


def _waiting_over_time(runs: Runs) -> str:
    axes = Axes("Gangs waiting over time", "", "gangs", step=1.0)
    return _timeline(runs, axes, [run["overTime"]["waiting"] for run in runs], "No gang was waiting.")


def _fragmentation(runs: Runs, level: str) -> str:
    axes = Axes(f"Fragmentation over time: {level}", "", "free, in partly used domains", 1.0)
    columns = [run["overTime"]["fragmentation"][level] for run in runs]
    return _timeline(runs, axes, columns, f"Whatever was free lay in domains of which nothing was used ({level}).")


def _timeline(runs: Runs, axes: Axes, columns: Sequence[Sequence[float]], nothing: str) -> str:
    """``nothing``: what it means where all values are 0."""
    times = [run["overTime"]["at"] for run in runs]
    size, _, plural = unit(at for column in times for at in column)
    drawn = [
        Line(run["policy"], [(at / size, value) for at, value in zip(moments, column, strict=True)])
        for run, moments, column in zip(runs, times, columns, strict=True)
    ]
    if any(value for column in columns for value in column):
        plot = plots.lines(replace(axes, across=plural), drawn)
    else:
        plot = _empty(f"{nothing} That is so at each of the {max(map(len, times)):,} moments looked at.")
    rows = [
        [after, run["policy"], percent(value) if axes.top else f"{value:,}"]
        for run, moments, column in zip(runs, times, columns, strict=True)
        for after, value in _thinned(list(zip(alike(moments), column, strict=True)))
    ]
    table = _table(axes.title, ["after", "policy", axes.upright], rows)
    return _section(axes.title, plot, f"<details><summary>As a table</summary>{table}</details>")


def _thinned(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    return pairs[:: max(1, -(-len(pairs) // ROWS_MAX))]


def _empty(why: str) -> str:
    """Instead of a plot without anything in it."""
    return f'<p class="empty">{escape(why)}</p>'


def _section(title: str, plot: str, table: str) -> str:
    return f'<section><h2>{escape(title)}</h2><div class="beside"><figure>{plot}</figure>{table}</div></section>'


def _table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = ""
    for first, *cells in rows:
        body += f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
