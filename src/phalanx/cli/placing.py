"""``phalanx place``: manifests in, decisions out."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import yaml

import phalanx
from phalanx.cli import files, screen, tables
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.places import Places
from phalanx.cluster import Cluster, Decisions, Note, OnDecision
from phalanx.record.line import written

SCHEMA = "phalanx.dev/decisions/v1"
Pile = TypeVar("Pile", bound=list[Any])


def run(sources: Sequence[str], output: str, namespace: str | None, record: str | None = None) -> int:
    docs = in_namespace(files.load(sources), namespace)
    cluster, places = Cluster.from_manifests(docs), Places(docs)
    with recording(record) as on_decision:
        decisions = cluster.place(docs, ways_out=output != "name", on_decision=on_decision)
    problems = places.notes(own_problems(cluster, decisions))
    decisions = places.decisions(decisions)
    if not decisions and not problems and not decisions.warnings:
        raise Failed(f"nothing to place: no workload among the documents ({len(docs)})")
    report(cluster, decisions, problems, places)
    show(decisions, output)
    return exit_code(decisions, problems)


@contextmanager
def recording(path: str | None) -> Iterator[OnDecision | None]:
    """Each decision as a line of this file, written as it is made: records of a large cluster are large. None: none."""
    if path is None:
        yield None
        return
    try:
        with open(path, "w", encoding="ascii", newline="\n") as file:
            yield lambda *made: _keep(file, *made)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}") from None


def _keep(file: TextIO, *made: Any) -> None:
    file.write(written(*made, version=phalanx.__version__) + "\n")


def in_namespace(docs: Pile, namespace: str | None) -> Pile:
    """The documents, also those inside lists, with a namespace where they name none."""
    for doc in docs if namespace is not None else ():
        if isinstance(doc, dict) and isinstance(doc.get("items"), list):
            in_namespace(doc["items"], namespace)
        elif isinstance(doc, dict) and isinstance(metadata := doc.setdefault("metadata", {}), dict):
            metadata["namespace"] = metadata.get("namespace") or namespace
    return docs


def own_problems(cluster: Cluster, decisions: Decisions) -> list[Note]:
    """Problems of the cluster's own documents; those that a decision reports already are left out."""
    told = {str(note) for decision in decisions for note in decision.problems}
    return [note for note in cluster.problems if str(note) not in told]


def report(cluster: Cluster, decisions: Decisions, problems: Sequence[Note], places: Places) -> None:
    """On standard error: what is wrong with the cluster's documents, and what is worth knowing."""
    for note in problems:
        screen.say_error(str(note))
    for note in (*places.notes(cluster.warnings), *decisions.warnings):
        screen.say_warning(str(note))
    for line in dict.fromkeys(
        note.told_of(f"{decision.namespace}/{decision.name}") for decision in decisions for note in decision.warnings
    ):  # units of one workload share what there is to say about it
        screen.say_warning(line)
    for topology, missing in cluster.outside.items():
        lacking = ", ".join(f"{one.node} (no {one.label})" for one in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        screen.say_warning(f"outside topology {topology}: {lacking}{more}")


def show(decisions: Decisions, output: str) -> None:
    if output == "json":
        print(json.dumps(as_document(decisions), indent=2))
    elif output == "yaml":
        print(yaml.safe_dump(as_document(decisions), sort_keys=False, width=100), end="")
    elif output == "name":
        for decision in decisions:
            print(screen.clean(f"{decision.kind.lower()}/{decision.name}"))
    else:
        _show_table(decisions, wide=output == "wide")


def as_document(decisions: Decisions) -> dict[str, Any]:
    """What ``-o json`` prints."""
    return {"schema": SCHEMA, "decisions": [decision.to_dict() for decision in decisions]}


def _show_table(decisions: Decisions, wide: bool) -> None:
    console = screen.out()
    for line in tables.decisions(decisions, None if wide else console.width) if decisions else ():
        console.print(line)
    for decision in decisions:
        if decision.status != "Placed" or decision.left_out:
            console.print()
            console.print(screen.styled(decision.explain()))


def exit_code(decisions: Decisions, problems: Sequence[Note] = ()) -> Exit:
    """As the worst of them; one that is placed in part still waits for the rest."""
    if problems or any(decision.status == "Invalid" for decision in decisions):
        return Exit.INVALID
    waits = any(decision.status == "Waiting" or decision.left_out for decision in decisions)
    return Exit.WAITING if waits else Exit.PLACED
