"""``phalanx place``: manifests in, decisions out."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import yaml

import phalanx
from phalanx.cli import files, screen, tables
from phalanx.cli.errors import Exit, Failed, worst
from phalanx.cli.places import Places
from phalanx.cluster import Cluster, Decision, Decisions, Note, OnDecision
from phalanx.model.decision import Internal
from phalanx.model.mistakes import Mishap
from phalanx.record.line import written

Page = TypeVar("Page")

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
    return exit_code(show(decisions, output), problems)


@contextmanager
def recording(path: str | None) -> Iterator[OnDecision | None]:
    """Each decision as a line of this file, written as it is made: records of a large cluster are large. None: none."""
    if path is None:
        yield None
        return
    try:
        with open(path, "w", encoding="ascii", newline="\n") as file:
            keeper = _Keeper(file)
            yield keeper.keep
            keeper.check()
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}") from None


class _Keeper:
    """Writes records. That it cannot is no mistake of those that are decided meanwhile: it is told in the end."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._error: OSError | None = None

    def keep(self, *made: Any) -> None:
        try:
            if self._error is None:
                self._file.write(written(*made, version=phalanx.__version__) + "\n")
        except OSError as error:
            self._error = error

    def check(self) -> None:
        if self._error is not None:
            raise self._error


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


def show(decisions: Decisions, output: str) -> list[Decision]:
    """Prints them all, and returns them as they were told: over some we may trip while we tell of them."""
    if output == "name":
        for decision in decisions:
            print(screen.clean(f"{decision.kind.lower()}/{decision.name}"))
        return decisions
    if output in ("json", "yaml"):
        told, documents = each(decisions, Decision.to_dict)
        _show_document({"schema": SCHEMA, "decisions": documents}, output)
        return told
    told, pages = each(decisions, _page)
    _show_table(told, pages, wide=output == "wide")
    return told


def each(decisions: Iterable[Decision], tell: Callable[[Decision], Page]) -> tuple[list[Decision], list[Page]]:
    """All that is told, each by itself: one over which we trip is told so, and all others as they are."""
    done = [_one(decision, tell) for decision in decisions]
    return [decision for decision, _ in done], [page for _, page in done]


def _one(decision: Decision, tell: Callable[[Decision], Page]) -> tuple[Decision, Page]:
    """The decision and its page; a mistake of ours instead of one of which we cannot tell."""
    try:
        return decision, tell(decision)
    except Exception as error:
        named = (decision.kind, decision.namespace, decision.name)
        tripped = Decision(Internal(*named, Mishap.of(error), decision.request))
        return tripped, tell(tripped)


def _show_document(document: dict[str, Any], output: str) -> None:
    if output == "json":
        print(json.dumps(document, indent=2))
    else:
        print(yaml.safe_dump(document, sort_keys=False, width=100), end="")


def as_document(decisions: Decisions) -> dict[str, Any]:
    """What ``-o json`` prints."""
    return {"schema": SCHEMA, "decisions": [decision.to_dict() for decision in decisions]}


def _page(decision: Decision) -> str:
    """What stands below the table; nothing of one that is placed whole."""
    return decision.explain() if decision.status != "Placed" or decision.left_out else ""


def _show_table(decisions: Sequence[Decision], pages: Iterable[str], wide: bool) -> None:
    console = screen.out()
    for line in tables.decisions(decisions, None if wide else console.width) if decisions else ():
        console.print(line)
    for page in filter(None, pages):
        console.print()
        console.print(screen.styled(page))


def exit_code(decisions: Iterable[Decision], problems: Sequence[Note] = ()) -> Exit:
    """As the worst of them: a mistake of ours, then one of theirs. One placed in part still waits for the rest."""
    return worst([Exit.INVALID if problems else Exit.PLACED, *map(_code, decisions)])


def _code(decision: Decision) -> Exit:
    if decision.status == "Placed":
        return Exit.WAITING if decision.left_out else Exit.PLACED
    return {"Waiting": Exit.WAITING, "Invalid": Exit.INVALID}.get(decision.status, Exit.FAILED)
