"""``phalanx simulate``: a trace on a cluster, under one policy or several, and a report of what came of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from phalanx.cli import files, screen
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.places import Places
from phalanx.cli.placing import recording
from phalanx.sim import generate, page, report, spelling, traces
from phalanx.sim.breakage import NONE
from phalanx.sim.journal import Journal
from phalanx.sim.rows import BadRow
from phalanx.sim.simulate import Tell, room, simulate, sooner
from phalanx.sim.submission import Submission
from phalanx.sim.traces.asking import Asking
from phalanx.sim.worlds import Site, documents, drawn, nodes

OUTPUTS = (".html", ".json")
LOAD_MAX = 10  # ten times as much as there is room for


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be simulated. ``trace`` None: a generated one, of ``load``. ``format`` None: told by the columns."""

    cluster: str
    trace: str | None = None
    format: str | None = None
    policies: tuple[str, ...] = ("pack",)
    seed: int = 0
    limit: int | None = None
    faster: float = 1.0
    required_up_to: int = 32
    faults: str = NONE
    load: float | None = None


def run(wish: Wish, outputs: Sequence[str], timing: bool, record: str | None = None) -> int:
    _check(wish, outputs)
    site = _site(wish.cluster)
    given = _given(wish, site)
    name = wish.trace or f"{len(given):,} generated gangs"
    with recording(record) as on_decision, _progress(wish.policies, len(given)) as tell:
        runs = simulate(site, given, wish.policies, wish.seed, tell, wish.faults, on_decision)
    setting = report.Setting(wish.cluster, name, wish.seed, given, room(site), wish.faults)
    _write(report.document(setting, runs, timing), outputs)
    show(runs)
    return (
        Exit.PLACED
        if all(life.finished is not None for _, one in runs for life in one.lives.values())
        else Exit.WAITING
    )


def show(runs: Sequence[tuple[str, Journal]]) -> None:
    """One line for each policy, with a figure of all of them in one unit, so that lines can be compared."""
    wide = max(len(policy) for policy, _ in runs)
    found = [report.run(journal) for _, journal in runs]
    median, high = (spelling.alike([run["waiting"]["all"][figure] for run in found]) for figure in ("p50", "p95"))
    for number, (policy, _) in enumerate(runs):
        screen.out().print(screen.styled(f"{policy:{wide}}  {_line(found[number], median[number], high[number])}"))


def _line(run: report.Document, median: str, high: str) -> str:
    gangs, preferred = run["gangs"], run["preferred"]
    nearness = f", preferred {preferred['reached']}/{preferred['groups']}" if preferred["groups"] else ""
    return (
        f"{gangs['done']:,}/{gangs['submitted']:,} done, waited p50 {median} p95 {high}, "
        f"{run['utilisation']['whileArriving']:.0%} used{nearness}{_restarted(run)}"
    )


def _restarted(run: report.Document) -> str:
    return f", {run['restarts']:,} restarts" if run["restarts"] else ""


# -- what goes in ------------------------------------------------------------------------------------------------


def _check(wish: Wish, outputs: Sequence[str]) -> None:
    """Mistakes are told before the long part begins."""
    for output in outputs:
        if not output.endswith(OUTPUTS):
            raise Failed(
                f"{output}: a report is written to a file that ends in {' or '.join(OUTPUTS)}", code=Exit.USAGE
            )
        if not Path(output).parent.is_dir():
            raise Failed(f"{output}: no such folder")
    if wish.faster <= 0:
        raise Failed(f"--faster {wish.faster}: a factor is larger than 0", code=Exit.USAGE)
    if wish.limit is not None and wish.limit < 1:
        raise Failed(f"--limit {wish.limit}: at least one gang is needed", code=Exit.USAGE)
    if wish.load is not None and wish.trace is not None:
        raise Failed("--load is of generated gangs; those of a --trace come --faster", code=Exit.USAGE)
    if wish.load is not None and not 0 < wish.load <= LOAD_MAX:
        raise Failed(f"--load {wish.load}: a share of what is free, above 0 and up to {LOAD_MAX}", code=Exit.USAGE)


def _site(cluster: str) -> Site:
    """The cluster of a file, or of what is drawn on the command line."""
    places = Places()
    try:
        if cluster.endswith(".csv"):
            site = nodes(files.text(cluster).splitlines(keepends=True))
        elif cluster.endswith(files.SUFFIXES) or cluster == files.STDIN or Path(cluster).exists():
            docs = files.load([cluster])
            site, places = documents(docs), Places(docs)
        else:
            site = drawn(cluster)
    except BadRow as error:
        raise Failed(f"{cluster}, {error}") from None
    except ValueError as error:
        raise Failed(f"--cluster: neither a file nor a shape such as 2x4x16: {error}", code=Exit.USAGE) from None
    for note in site.notes:
        screen.say_error(str(places.problem(note)))
    if not site.snapshot.nodes:
        raise Failed(f"{cluster}: there is no node in it")
    return site


def _given(wish: Wish, site: Site) -> list[Submission]:
    asking = Asking(site, required_up_to=wish.required_up_to)
    found = _made(wish, asking) if wish.trace is None else _read(wish.trace, wish.format, asking)[: wish.limit]
    if not found:
        raise Failed(f"{wish.trace}: there is nothing in it")
    return sooner(found, wish.faster)


def _made(wish: Wish, asking: Asking) -> list[Submission]:
    mix = generate.Mix() if wish.load is None else generate.Mix(load=wish.load)
    try:
        return generate.submissions(wish.limit, wish.seed, asking, mix)
    except ValueError as error:
        raise Failed(f"{error}; give a --trace") from None


def _read(trace: str, form: str | None, asking: Asking) -> list[Submission]:
    lines = files.text(trace).splitlines(keepends=True)
    try:
        return traces.READERS[form or traces.format_of(lines)](lines, asking)
    except BadRow as error:
        raise Failed(f"{trace}, {error}", code=Exit.INVALID) from None


# -- what comes out ----------------------------------------------------------------------------------------------


def _write(document: report.Document, outputs: Sequence[str]) -> None:
    for output in outputs:
        text = page.page(document) if output.endswith(".html") else report.as_json(document)
        try:
            Path(output).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise Failed(f"{output}: {error.strerror}") from None


@contextmanager
def _progress(policies: Sequence[str], total: int) -> Iterator[Tell | None]:
    """A bar for each policy, on a terminal only."""
    console = screen.err()
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks = {policy: bars.add_task(policy, total=total) for policy in policies}
        yield lambda policy, done: bars.update(tasks[policy], completed=done)
