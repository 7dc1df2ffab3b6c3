"""``phalanx check``: what is wrong with manifests, whether they would fit now, and what of them is not looked at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phalanx.cli import applied, clusters, costly, files, getting, handing, placing, screen, written
from phalanx.cli.clusters import Look, Source
from phalanx.cli.errors import Exit, worst
from phalanx.cli.files import Documents
from phalanx.cli.handing import Named
from phalanx.cli.places import Places
from phalanx.cli.standing import Standing, Standings
from phalanx.cluster import Cluster, Decision, Decisions, Note
from phalanx.dialects import documents, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.following import ties
from phalanx.explain import document
from phalanx.kube import glance
from phalanx.kube.configuration import Configuration
from phalanx.model.objects import ObjectKey

SCHEMA = "phalanx.dev/check/v1"


@dataclass(frozen=True, slots=True)
class Findings:
    """What there is to say about documents. ``astray``: of workloads that nobody hands to the scheduler of a cluster.
    ``asked``: whether there are nodes that they could fit on. ``standing``: what is in the cluster already, and stands
    otherwise than a look at it finds. ``costly``: what an eviction would end for good."""

    decisions: Sequence[Decision]
    problems: Sequence[Note]
    astray: Mapping[Named, Note]
    warnings: Sequence[Note]
    asked: bool
    standing: Sequence[Standing] = ()
    costly: Sequence[tuple[str, Note]] = ()


def run(sources: Sequence[str], output: str, there: Source, on_cluster: bool) -> int:
    """``there``: whom the documents are for; unless ``on_cluster``, what they say themselves is all there is."""
    settings = clusters.configuration(there.config)
    look = clusters.whole(clusters.look(there)) if on_cluster else None
    namespace = there.namespace if look is None else look.namespace
    docs = placing.in_namespace(files.load(sources), namespace)
    found = _found(docs, look, settings)
    found = replace(found, decisions=placing.each(found.decisions, Decision.to_dict)[0])
    if output == "text":
        _show(found)
    else:
        written.show(_document(found), output)
    return _exit_code(found)


def _found(docs: Documents, look: Look | None, settings: Configuration) -> Findings:
    """Problems of what is in the cluster already are no findings: they are not about these documents."""
    read = {doc.key: doc for doc in documents.sort(docs)[0]}
    given = {key: doc.value for key, doc in read.items()}
    there = documents.sort(look.objects)[0] if look is not None else []
    others = [doc for doc in there if doc.key not in given]
    objects = [doc.value for doc in others]
    cluster = Cluster.from_manifests([*objects, *docs])
    decisions = cluster.place([*_gathering(read.values(), others), *docs])
    places = Places(docs)
    if look is None:
        misspelt = handing.misspelt(read.values(), settings.marks())
        astray = {named: places.note(note, _named(named)) for named, note in misspelt.items()}
    else:
        decisions = applied.agreed(decisions, applied.seen(objects, given.values(), look.now, settings))
        astray = handing.missed(_valid(decisions), docs, objects, settings.marks())
    foreign = {doc.key for doc in others}
    problems, warnings = (
        places.notes([note for note in notes if note.about not in foreign])
        for notes in (placing.own_problems(cluster, decisions), (*cluster.warnings, *decisions.warnings))
    )
    standing = _standing(decisions, look, settings) if look is not None else []
    costs = costly.found(given.values(), settings) if look is None else []
    costs = [(title, places.note(note, title)) for title, note in costs]
    return Findings(
        places.decisions(decisions), problems, astray, warnings, bool(cluster.snapshot.nodes), standing, costs
    )


def _gathering(given: Iterable[Document], others: Iterable[Document]) -> list[Any]:
    """What there is already of all that these documents say they belong to: a Gang that their pods name, its parents.
    They are decided with it."""
    there = {doc.key: doc for doc in others if doc.of_kind in readers.GATHERERS.keys() - readers.NEVER_THERE}
    found: dict[ObjectKey, Document] = {}
    line = [key for doc in given for key in sorted(ties.of(doc))]
    for key in line:
        if key in there and key not in found:
            found[key] = there[key]
            line += sorted(ties.of(there[key]))
    return [doc.value for doc in found.values()]


def _standing(decisions: Decisions, look: Look, settings: Configuration) -> list[Standing]:
    """Those that are in the cluster already, and of which its scheduler says otherwise than is found."""
    seen = glance.at(look.objects, look.now, settings.marks(), settings.policy(), settings.settings())
    named, stands = set(_valid(decisions)), Standings(seen, look)
    asked = [one for one in seen.gangs() if (one.request.kind, one.request.namespace, one.request.name) in named]
    return [one for one in (stands.of(seen.view(gang)) for gang in asked) if one.differs]


def _valid(decisions: Decisions) -> list[Named]:
    """The workloads that are good, each once."""
    return list(dict.fromkeys((one.kind, one.namespace, one.name) for one in decisions if one.status != "Invalid"))


def _exit_code(found: Findings) -> Exit:
    """As for ``place``; without nodes nobody asked whether it fits, so nothing waits."""
    code = placing.exit_code(found.decisions, found.problems)
    own = Exit.PLACED if code == Exit.WAITING and not found.asked else code
    return worst([own, getting.differing_code(found.standing)])


# -- what there is to say ----------------------------------------------------------------------------------------


def _wrong(found: Findings) -> list[tuple[str, Note]]:
    """Problems with the object each is about; those of the cluster's own documents name it in their path."""
    of_workloads = [(_title(one), note) for one in found.decisions for note in one.problems]
    return [*(("", note) for note in found.problems), *of_workloads]


def _ignored(found: Findings) -> list[tuple[str, Note]]:
    of_workloads = dict.fromkeys((_whole(one), note) for one in found.decisions for note in one.warnings)
    return [*(("", note) for note in found.warnings), *dict.fromkeys((*of_workloads, *found.costly))]


def _astray(found: Findings) -> list[tuple[str, Note]]:
    """What keeps workloads from starting though they fit: nobody hands them over, or the scheduler says otherwise."""
    astray = [(_named(one), note) for one, note in found.astray.items()]
    held = [(f"{one.view.kind} {one.view.id}", Note("status", None, (), _held(one))) for one in found.standing]
    return [*astray, *held]


def _named(one: Named) -> str:
    kind, namespace, name = one
    return f"{kind} {namespace}/{name}"


def _held(one: Standing) -> str:
    return f"as it is in the cluster now, {one.difference}"


def _title(decision: Decision) -> str:
    """Empty where not even the kind is known: then its place is all there is."""
    unit = f" {decision.unit}" if decision.unit else ""
    return f"{decision.kind} {decision.namespace}/{decision.name}{unit}" if decision.kind else ""


def _whole(decision: Decision) -> str:
    """The workload; its units share what there is to say about it."""
    return f"{decision.kind} {decision.namespace}/{decision.name}"


def _fits(decision: Decision) -> str:
    if decision.mistake is not None:
        return f"nobody knows: {decision.message.partition(': ')[2]}"
    answer = "no" if decision.status == "Waiting" else "in part" if decision.left_out else "yes"
    return f"{answer}: {decision.message.partition(': ')[2]}"


# -- as text -----------------------------------------------------------------------------------------------------


def _show(found: Findings) -> None:
    wrong, ignored = _wrong(found), _ignored(found)
    _section("PROBLEMS", [line for title, note in wrong for line in _problem(title, note)] or ["none"])
    _section("FITS NOW", _answers(found))
    if warned := _astray(found):
        _section("WARNINGS", [_warned(title, note) for title, note in warned])
    if ignored:
        _section("NOTED OR IGNORED", [_said(title, note) for title, note in ignored])


def _section(head: str, lines: list[str]) -> None:
    console = screen.out()
    console.print(screen.styled(head, "bold"))
    for line in lines:
        for row in screen.wrapped(line, console.width, indent=2):
            console.print(screen.styled(row))


def _problem(title: str, note: Note) -> list[str]:
    """Where and what, then the value as written, then what may stand there."""
    lines = [_said(title, note)]
    if note.value is not None:
        lines.append(f"  value: {note.value!r}")
    if note.allowed:
        lines.append(f"  allowed: {', '.join(note.allowed)}")
    return lines


def _warned(title: str, note: Note) -> str:
    return f"{note.place}: {title}: {note.message}" if note.place is not None else f"{title}: {note.message}"


def _said(title: str, note: Note) -> str:
    return note.told_of(title)


def _answers(found: Findings) -> list[str]:
    valid = [one for one in found.decisions if one.status != "Invalid"]
    if not found.asked:
        return [f"not asked: no Node is given ({len(valid)} valid)"]
    return [f"{_title(one)}: {_fits(one)}" for one in valid] or ["nothing to place"]


# -- as JSON or YAML ---------------------------------------------------------------------------------------------


def _document(found: Findings) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "problems": [_as_dict(title, note) for title, note in _wrong(found)],
        "fitsNow": [one.to_dict() for one in found.decisions if one.status != "Invalid" and found.asked],
        "warnings": [_as_dict(title, note) for title, note in _astray(found)],
        "ignored": [_as_dict(title, note) for title, note in _ignored(found)],
    }


def _as_dict(title: str, note: Note) -> dict[str, Any]:
    allowed = list(note.allowed)
    told = {"object": title, "path": note.path, "value": note.value, "allowed": allowed, "message": note.message}
    return {**told, **document.place(note.place)}
