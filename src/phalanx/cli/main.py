"""The commands, and what the shell is told in the end."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

import phalanx
from phalanx.cli import screen, streams
from phalanx.cli.errors import Exit, Failed

if TYPE_CHECKING:
    from phalanx.cli.clusters import Source

TRACEBACK = "PHALANX_TRACEBACK"  # set: show where an internal error comes from


def _is_named(_: object, given: str | Sequence[str] | None) -> None:
    """An empty name is a variable that was not set, and no file."""
    if "" in ([given] if isinstance(given, str) else given or ()):
        raise ValueError("a file has a name, and this is empty")


Files = Annotated[
    list[str],
    Parameter(
        validator=_is_named,
        name=["-f", "--filename"],
        allow_leading_hyphen=True,
        negative="",
        metavar="FILE",
        help="YAML or JSON manifests: a file, a folder, or - for standard input. May be repeated.",
    ),
]
Namespace = Annotated[
    str | None,
    Parameter(name=["-n", "--namespace"], metavar="NAMESPACE", help="Namespace of documents that name none."),
]
Output = Annotated[
    Literal["table", "wide", "json", "yaml", "name"],
    Parameter(name=["-o", "--output"], metavar="FORMAT", help="How the decisions are printed."),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class From:
    """Options of commands that read objects from files or from a cluster. Nothing is ever written there."""

    filename: Annotated[
        list[str] | None,
        Parameter(
            validator=_is_named,
            name=["-f", "--filename"],
            allow_leading_hyphen=True,
            negative="",
            metavar="FILE",
            help="Files instead of a cluster: manifests or a snapshot, a folder, or -. May be repeated.",
        ),
    ] = None
    kubeconfig: Annotated[
        str, Parameter(metavar="FILE", help="Default: $KUBECONFIG, ~/.kube/config, the cluster we run in.")
    ] = ""
    context: Annotated[str, Parameter(metavar="CONTEXT", help="A context of the kubeconfig.")] = ""
    namespace: Annotated[
        str | None,
        Parameter(
            name=["-n", "--namespace"],
            metavar="NAMESPACE",
            help="Whose workloads; of files also that of documents that name none.",
        ),
    ] = None
    all_namespaces: Annotated[
        bool, Parameter(name=["-A", "--all-namespaces"], negative="", help="Workloads of all namespaces.")
    ] = False
    configuration: Annotated[
        str, Parameter(metavar="FILE", help="The file that phalanx run has; it says which workloads are ours.")
    ] = ""

    def source(self) -> "Source":
        from phalanx.cli.clusters import Source

        files = tuple(self.filename or ())
        return Source(files, self.kubeconfig, self.context, self.namespace, self.all_namespaces, self.configuration)


NOWHERE = From()
Shown = Annotated[
    Literal["table", "wide", "json", "yaml", "name"],
    Parameter(name=["-o", "--output"], metavar="FORMAT", help="How it is printed."),
]


def _written(default: object) -> str | None:
    """A default as a person would write it; None where there is nothing to say."""
    if default is None or default is False or default in ("", []):
        return None
    if isinstance(default, list):
        return ", ".join(map(str, default))
    return "yes" if default is True else f"{default:g}" if isinstance(default, float) else str(default)


app = App(
    name="phalanx",
    default_parameter=Parameter(show_default=_written),
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
        str | None,
        Parameter(
            validator=_is_named,
            metavar="FILE",
            help="A file to write each decision to, one line of JSON each, for phalanx replay.",
        ),
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
            validator=_is_named,
            allow_leading_hyphen=True,
            metavar="FILE",
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
        Literal["text", "json", "yaml"],
        Parameter(name=["-o", "--output"], metavar="FORMAT", help="How the findings are printed."),
    ] = "text",
    namespace: Namespace = None,
    cluster: Annotated[
        bool, Parameter(negative="", help="Ask whether they would fit on a cluster, which is only read.")
    ] = False,
    kubeconfig: Annotated[str, Parameter(metavar="FILE", help="Of the cluster. Default: as kubectl has it.")] = "",
    context: Annotated[str, Parameter(metavar="CONTEXT", help="A context of the kubeconfig.")] = "",
    configuration: Annotated[
        str, Parameter(metavar="FILE", help="The file that phalanx run has; it says which workloads are ours.")
    ] = "",
) -> int:
    """Say what is wrong with manifests, whether they would fit now, and what of them is not looked at.

    Without a cluster, and without a Node among the files, only the manifests themselves are judged.
    """
    from phalanx.cli import checking
    from phalanx.cli.clusters import Source

    there = Source((), kubeconfig, context, namespace, config=configuration)
    return checking.run(filename, output, there, on_cluster=bool(cluster or kubeconfig or context))


@app.command
def convert(
    *,
    filename: Files,
    to: Annotated[
        Literal["gang", "kueue", "kai", "workload", "podgroup"],
        Parameter(metavar="DIALECT", help="The dialect that is written."),
    ],
    output: Annotated[
        Literal["yaml", "json"],
        Parameter(name=["-o", "--output"], metavar="FORMAT", help="How the documents are printed."),
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
    gang: Annotated[
        str | None, Parameter(help="A workload to draw: NAME, KIND/NAME or NAMESPACE/NAME; or pod/NAME.")
    ] = None,
    /,
    *,
    free: Annotated[
        str | None,
        Parameter(metavar="RESOURCE", help="The resource to draw. Default: GPUs if there are any, else cpu."),
    ] = None,
    topology: Annotated[str | None, Parameter(metavar="TOPOLOGY", help="The topology to draw. Default: all.")] = None,
    level: Annotated[str | None, Parameter(metavar="LEVEL", help="The narrowest level to draw.")] = None,
    given: From = NOWHERE,
) -> int:
    """Draw the topology with a bar of what is used in every domain, or one gang's pods and ranks on it."""
    from phalanx.cli import drawing

    return drawing.run(given.source(), gang, drawing.Wish(free, topology, level))


@app.command
def explain(
    name: Annotated[str, Parameter(help="A workload: NAME, KIND/NAME or NAMESPACE/NAME; or pod/NAME.")],
    /,
    *,
    output: Annotated[
        Literal["text", "json", "yaml", "name"],
        Parameter(name=["-o", "--output"], metavar="FORMAT", help="How it is printed."),
    ] = "text",
    apply: Annotated[
        int | None, Parameter(metavar="N", help="Print the manifest with the N-th suggestion of HELPS in it.")
    ] = None,
    given: From = NOWHERE,
) -> int:
    """Say why a workload waits and what would help, where it runs, or what is wrong with it. 3: it waits."""
    from phalanx.cli import explaining

    return explaining.run(given.source(), name, output, apply)


@app.command
def queue(*, output: Shown = "table", given: From = NOWHERE) -> int:
    """List who waits in which queue, since when and why, and what every queue uses of its quota."""
    from phalanx.cli import queueing

    return queueing.run(given.source(), output)


@app.command
def get(
    what: Annotated[Literal["gangs", "gang"], Parameter(help="What is listed.")] = "gangs",
    /,
    *,
    output: Shown = "table",
    given: From = NOWHERE,
) -> int:
    """List gangs with queue, state, pods bound of those wanted, domain and age."""
    from phalanx.cli import getting

    return getting.run(given.source(), output)


def _not_an_option(_: object, file: str) -> None:
    """A dash is standard input or output; a misspelt option is no file."""
    _is_named(None, file)
    if file.startswith("-") and file != "-":
        raise ValueError("there is no such option; a file of that name is ./" + file)


snapshot = App(name="snapshot", help="Keep what a cluster looks like in a file, and say what is in one.")
app.command(snapshot)


@snapshot.command
def save(
    file: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True,
            validator=_not_an_option,
            metavar="FILE",
            help="Ends in .json: JSON, else YAML; - is standard output.",
        ),
    ],
    /,
    *,
    whole: Annotated[
        bool,
        Parameter(negative="", help="Also environment, command, arguments and probes of containers: may be secret."),
    ] = False,
    given: From = NOWHERE,
) -> int:
    """Save all objects that decide where pods go. Every other command reads the file with -f."""
    from phalanx.cli import snapshots

    return snapshots.save(given.source(), file, whole)


@snapshot.command
def load(
    file: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True,
            validator=_not_an_option,
            metavar="FILE",
            help="A file that snapshot save wrote; - is standard input.",
        ),
    ],
    /,
    *,
    configuration: Annotated[str, Parameter(metavar="FILE", help="The file that phalanx run has.")] = "",
) -> int:
    """Say what is in a snapshot: how many of what, of when, and what of it is wrong."""
    from phalanx.cli import snapshots
    from phalanx.cli.clusters import Source

    return snapshots.load(file, Source(config=configuration))


@app.command
def simulate(
    *,
    cluster: Annotated[
        str,
        Parameter(
            validator=_is_named,
            metavar="FILE|SHAPE",
            help="Manifests, a table of nodes (.csv), a shape such as 2x4x16, or a drawing: 'b1: r1=8*4 r2=8*4'.",
        ),
    ],
    trace: Annotated[
        str | None,
        Parameter(validator=_is_named, metavar="FILE", help="Who asks for what, and when. Default: a generated one."),
    ] = None,
    format: Annotated[  # noqa: A002
        Literal["own", "philly", "muri", "openb"] | None,
        Parameter(metavar="FORMAT", help="Of the trace. Default: told by its columns."),
    ] = None,
    policy: Annotated[
        list[Literal["pack", "spread", "balance"]],
        Parameter(
            negative="",
            metavar="POLICY",
            help="Which of several places comes first. May be repeated: one run for each.",
        ),
    ] = ["pack"],  # noqa: B006
    load: Annotated[
        float | None,
        Parameter(
            metavar="SHARE", help="Of generated gangs: the share of the free GPUs that they keep in use. Default: 0.85."
        ),
    ] = None,
    seed: Annotated[int, Parameter(metavar="NUMBER", help="Of everything that is left to chance.")] = 0,
    limit: Annotated[
        int | None, Parameter(metavar="GANGS", help="Take only the first gangs of the trace, or generate so many.")
    ] = None,
    faster: Annotated[float, Parameter(metavar="FACTOR", help="Let the gangs arrive so many times as fast.")] = 1.0,
    faults: Annotated[
        Literal["none", "calm", "stormy"],
        Parameter(metavar="RATE", help="How often nodes, pods and binds fail, at times of the seed."),
    ] = "none",
    required_up_to: Annotated[
        int,
        Parameter(
            metavar="GPUS",
            help="Traces that name no level: gangs of several pods up to so many GPUs must be in one narrowest "
            "domain, larger ones would like to be.",
        ),
    ] = 32,
    output: Annotated[
        list[str],
        Parameter(
            name=["-o", "--output"], negative="", metavar="FILE", help="report.html, report.json. May be repeated."
        ),
    ] = [],  # noqa: B006
    record: Annotated[
        str | None,
        Parameter(
            validator=_is_named,
            metavar="FILE",
            help="Write each decision to this file, one per line, for phalanx replay.",
        ),
    ] = None,
    timing: Annotated[
        bool, Parameter(help="Tell in the report how long this machine took; all else is the same each time.")
    ] = True,
) -> int:
    """Run a trace on a simulated cluster with the real engine, and report waiting, utilisation and fragmentation."""
    from phalanx.cli import simulating

    policies = tuple(dict.fromkeys(policy))
    wish = simulating.Wish(cluster, trace, format, policies, seed, limit, faster, required_up_to, faults, load)
    return simulating.run(wish, output, timing, record)


@app.command(name="run")
def run_scheduler(
    *,
    kubeconfig: Annotated[
        str | None,
        Parameter(metavar="FILE", help="Default: $KUBECONFIG, ~/.kube/config, then the cluster we run in."),
    ] = None,
    context: Annotated[str | None, Parameter(metavar="CONTEXT", help="A context of the kubeconfig.")] = None,
    configuration: Annotated[
        str | None, Parameter(metavar="FILE", help="What is set; docs/configuration.md says what can be.")
    ] = None,
    print_configuration: Annotated[bool, Parameter(negative="", help="Print what would be used, and end.")] = False,
) -> int:
    """Schedule the gangs of a cluster until told to stop."""
    from phalanx.cli import running

    return running.show(configuration) if print_configuration else running.run(configuration, kubeconfig, context)


@app.command
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(metavar="SHELL", help="In whose language.")], /
) -> int:
    """Print a script that lets a shell complete commands, options and their values.

    bash and zsh: source <(phalanx completion bash). fish: phalanx completion fish | source
    """
    from phalanx.cli import completing

    return completing.run(app, shell)


@app.command
def demo() -> int:
    """Show it: samples in, placements drawn, and one refusal explained with ways out that were tried."""
    from phalanx.cli import demo as tour

    return tour.run()


def run(tokens: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code. Nothing but the code escapes."""
    given = list(sys.argv[1:] if tokens is None else tokens)
    try:
        code = _answered(given)
        streams.finish()
        return code
    except streams.CannotWrite as error:
        streams.give_up()
        screen.say_error(f"standard output cannot be written: {error}")
    except BrokenPipeError:  # the reader has seen enough, as in: phalanx place ... | head
        streams.give_up()
    return Exit.FAILED


def _answered(given: list[str]) -> int:
    try:
        result: Any = app(given, exit_on_error=False, print_error=False)
        return result if isinstance(result, int) else Exit.PLACED
    except (BrokenPipeError, streams.CannotWrite):
        raise
    except CycloptsError as error:
        screen.say_error(" ".join(str(error).split()), _help_for(given))
        return Exit.USAGE
    except Failed as error:
        more = _help_for(given) if error.code == Exit.USAGE else ""
        screen.say_error(error.message, "\n".join(filter(None, (error.detail, more))))
        return error.code
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        first = (str(error) or type(error).__name__).splitlines()[0][:300]
        screen.say_error(f"internal error: {first}", f"This is a bug in phalanx. {TRACEBACK}=1 shows where.")
        return Exit.FAILED


def _help_for(tokens: list[str]) -> str:
    """Where the command that was meant says how it is used."""
    commands, _, _ = app.parse_commands(tokens)
    return f"Try: {' '.join(('phalanx', *commands))} --help"


def main() -> None:
    streams.prepare()
    code = run()
    streams.leave()
    sys.exit(code)
