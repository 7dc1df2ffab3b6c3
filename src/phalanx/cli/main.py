"""The commands, and what the shell is told in the end."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

import phalanx
from phalanx.cli import screen
from phalanx.cli.errors import Exit, Failed

TRACEBACK = "PHALANX_TRACEBACK"  # set: show where an internal error comes from

Files = Annotated[
    list[str],
    Parameter(
        name=["-f", "--filename"],
        allow_leading_hyphen=True,
        negative="",
        help="YAML or JSON manifests: a file, a folder, or - for standard input. May be repeated.",
    ),
]
Namespace = Annotated[
    str | None,
    Parameter(name=["-n", "--namespace"], help="Namespace of documents that name none."),
]
Output = Annotated[
    Literal["table", "wide", "json", "yaml", "name"],
    Parameter(name=["-o", "--output"], help="How the decisions are printed."),
]

app = App(
    name="phalanx",
    help="Places gangs of pods shoulder to shoulder, or not at all, and says why.",
    version=f"phalanx {phalanx.__version__}",
    help_format="plaintext",
    help_epilogue="Exit codes: 0 all placed, 1 failed, 2 wrong usage, 3 something waits, 4 something is invalid.",
    result_action="return_value",
)


@app.command
def place(
    *,
    filename: Files,
    output: Output = "table",
    namespace: Namespace = None,
    record: Annotated[
        str | None, Parameter(help="A file to write each decision to, one line of JSON each, for phalanx replay.")
    ] = None,
) -> int:
    """Say where workloads go, or why they wait. Offline: the cluster and the workloads come from files.

    Workloads are decided in the order of the files; each sees the room that those before it take.
    """
    from phalanx.cli import placing

    return placing.run(filename, output, namespace, record)


@app.command
def replay(
    record: Annotated[
        list[str],
        Parameter(
            allow_leading_hyphen=True,
            help="Files of records, as place --record writes them; - is standard input.",
        ),
    ],
    /,
) -> int:
    """Decide recorded decisions again and say what differs. 0: all the same, 1: some differ, 4: a line is no record."""
    from phalanx.cli import replaying

    return replaying.run(record)


@app.command
def check(
    *,
    filename: Files,
    output: Annotated[
        Literal["text", "json"], Parameter(name=["-o", "--output"], help="How the findings are printed.")
    ] = "text",
    namespace: Namespace = None,
) -> int:
    """Say what is wrong with manifests, whether they would fit now, and what of them is not looked at.

    Without a Node among the files only the manifests themselves are judged.
    """
    from phalanx.cli import checking

    return checking.run(filename, output, namespace)


@app.command
def convert(
    *,
    filename: Files,
    to: Annotated[
        Literal["gang", "kueue", "kai", "workload", "podgroup"], Parameter(help="The dialect that is written.")
    ],
    output: Annotated[
        Literal["yaml", "json"], Parameter(name=["-o", "--output"], help="How the documents are printed.")
    ] = "yaml",
    namespace: Namespace = None,
) -> int:
    """Write workloads in another dialect, with a warning for everything that it cannot say.

    Levels are written as node label keys where a Topology among the files tells them.
    """
    from phalanx.cli import converting

    return converting.run(filename, to, output, namespace)


@app.command
def tree(
    gang: Annotated[str | None, Parameter(help="A workload to draw: NAME, KIND/NAME or NAMESPACE/NAME.")] = None,
    /,
    *,
    filename: Files,
    free: Annotated[
        str | None, Parameter(help="The resource to draw. Default: GPUs if there are any, else cpu.")
    ] = None,
    topology: Annotated[str | None, Parameter(help="The topology to draw. Default: all.")] = None,
    level: Annotated[str | None, Parameter(help="The narrowest level to draw.")] = None,
    namespace: Namespace = None,
) -> int:
    """Draw the topology with a bar of what is used in every domain, or one gang's pods and ranks on it."""
    from phalanx.cli import drawing

    return drawing.run(filename, gang, drawing.Wish(free, topology, level), namespace)


@app.command
def simulate(
    *,
    cluster: Annotated[
        str,
        Parameter(
            help="Manifests, a table of nodes (.csv), a shape such as 2x4x16, or a drawing: 'b1: r1=8*4 r2=8*4'."
        ),
    ],
    trace: Annotated[str | None, Parameter(help="Who asks for what, and when. Default: a generated one.")] = None,
    format: Annotated[  # noqa: A002
        Literal["own", "philly", "muri", "openb"] | None, Parameter(help="Of the trace. Default: told by its columns.")
    ] = None,
    policy: Annotated[
        list[Literal["pack", "spread", "balance"]],
        Parameter(negative="", help="Which of several places comes first. May be repeated: one run for each."),
    ] = ["pack"],  # noqa: B006
    seed: Annotated[int, Parameter(help="Of everything that is left to chance.")] = 0,
    limit: Annotated[int | None, Parameter(help="Take only the first gangs of the trace, or generate so many.")] = None,
    faster: Annotated[float, Parameter(help="Let the gangs arrive so many times as fast.")] = 1.0,
    required_up_to: Annotated[
        int,
        Parameter(
            help="Traces that name no level: gangs of several pods up to so many GPUs must be in one narrowest "
            "domain, larger ones would like to be."
        ),
    ] = 32,
    output: Annotated[
        list[str], Parameter(name=["-o", "--output"], negative="", help="report.html, report.json. May be repeated.")
    ] = [],  # noqa: B006
    timing: Annotated[
        bool, Parameter(help="Tell in the report how long this machine took; all else is the same each time.")
    ] = True,
) -> int:
    """Run a trace on a simulated cluster with the real engine, and report waiting, utilisation and fragmentation."""
    from phalanx.cli import simulating

    wish = simulating.Wish(cluster, trace, format, tuple(dict.fromkeys(policy)), seed, limit, faster, required_up_to)
    return simulating.run(wish, output, timing)


@app.command
def demo() -> int:
    """Show it: samples in, placements drawn, and one refusal explained with ways out that were tried."""
    from phalanx.cli import demo as tour

    return tour.run()


def run(tokens: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code. Nothing but the code escapes."""
    try:
        result: Any = app(list(sys.argv[1:] if tokens is None else tokens), exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else Exit.PLACED
    except CycloptsError as error:
        screen.say_error(" ".join(str(error).split()), "Try: phalanx --help")
        return Exit.USAGE
    except Failed as error:
        screen.say_error(error.message, error.detail)
        return error.code
    except BrokenPipeError:  # the reader has seen enough, as in: phalanx place ... | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the last flush is quiet too
        return Exit.FAILED
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        first = (str(error) or type(error).__name__).splitlines()[0][:300]
        screen.say_error(f"internal error: {first}", f"This is a bug in phalanx. {TRACEBACK}=1 shows where.")
        return Exit.FAILED


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without box characters shows ? instead of failing
    sys.exit(run())
