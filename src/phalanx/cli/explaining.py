"""``phalanx explain``: why a workload waits and what would help, where it runs, or what is wrong with it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import wrap
from typing import Any

from phalanx import cluster
from phalanx.cli import clusters, screen, tree, written
from phalanx.cli.clusters import Look, Source
from phalanx.cli.errors import Exit, Failed
from phalanx.dialects import documents
from phalanx.dialects.documents import Role
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.views import View
from phalanx.explain import document, text
from phalanx.kube import glance, status
from phalanx.kube.glance import Glance
from phalanx.model.decision import Decision, Invalid, Placed, Waiting
from phalanx.model.reasons import WayOut

NAMES_SHOWN = 5
TROUBLED = (State.DEGRADED, State.EVICTING)
AHEAD = (Cause.PLACED, Cause.PLACED_AHEAD)


@dataclass(frozen=True, slots=True)
class Told:
    """One answer. ``view`` None: it is no gang of ours, or wrong. ``said``: by the scheduler, where it differs."""

    decision: Decision
    ways_out: tuple[WayOut, ...] = ()
    view: View | None = None
    said: str = ""


def run(source: Source, name: str, output: str) -> int:
    look = clusters.look(source)
    found = told(look, glanced(look, source), name)
    if output == "name":
        for one in found:
            print(screen.clean(_spelt(one.decision)))
    elif output in ("json", "yaml"):
        written.show({"schema": document.SCHEMA, "decisions": [_as_dict(one) for one in found]}, output)
    else:
        screen.out().print(screen.styled("\n\n".join(page(one) for one in found)))
    return _exit_code(found)


def glanced(look: Look, source: Source) -> Glance:
    """What the scheduler would make of these objects. What is wrong with the cluster's own is said."""
    settings = clusters.configuration(source)
    seen = glance.at(look.objects, look.now, settings.marks(), settings.policy(), settings.settings())
    for problem in seen.told.problems:
        screen.say_warning(str(problem))
    return seen


def _exit_code(found: Iterable[Told]) -> Exit:
    kinds = {type(one.decision) for one in found}
    return Exit.INVALID if Invalid in kinds else Exit.WAITING if Waiting in kinds else Exit.PLACED


# -- which -------------------------------------------------------------------------------------------------------


def told(look: Look, seen: Glance, name: str) -> list[Told]:
    """Everything there is to say of a name: all units of a gang, a wrong manifest, or a manifest of nobody's."""
    found = [_of_gang(seen, gang, look) for gang in named(seen, name, look.namespace)]
    found += [Told(one) for _, one in seen.told.refused if _is_meant(one.kind, one.namespace, one.name, name, look)]
    return found or _of_manifests(look, name) or _unknown(look, seen, name)


def named(seen: Glance, name: str, namespace: str | None) -> list[Gang]:
    """The gangs that a name stands for: NAME, KIND/NAME, NAMESPACE/NAME, or pod/NAME of one of its pods."""
    look = Look([], seen.now, namespace)
    return [gang for gang in seen.gangs() if _goes_by(gang, name, look)]


def _goes_by(gang: Gang, name: str, look: Look) -> bool:
    request = gang.request
    if name == gang.id or _is_meant(request.kind, request.namespace, request.name, name, look):
        return True
    kind, _, rest = name.rpartition("/")
    here = look.namespace in (None, request.namespace)
    return here and _singular(kind) == "pod" and any(key.name == rest for key in gang.pods)


def _is_meant(kind: str, namespace: str, name: str, asked: str, look: Look) -> bool:
    """Whether an object is the one that was asked for. A namespace that is named counts, whatever is usual."""
    *before, last = asked.split("/")
    last, _, unit = last.partition("#")
    if last != name or len(before) > 2 or unit:
        return False
    here = look.namespace in (None, namespace)
    if len(before) == 2:
        return _singular(before[0]) == kind.lower() and before[1] == namespace
    return here if not before else before[0] == namespace or (here and _singular(before[0]) == kind.lower())


def _singular(kind: str) -> str:
    """``jobs.batch`` -> ``job``"""
    return kind.lower().partition(".")[0].removesuffix("s")


def _unknown(look: Look, seen: Glance, name: str) -> list[Told]:
    if any(_is_meant(one.kind, one.namespace, one.name, name, look) for one in _workloads(look)):
        raise Failed(
            f"{name} is not handed to phalanx: its pods name another scheduler, and it has no mark of ours", _HOW
        )
    known = [one.id for one in seen.gangs()] + [f"{one.namespace}/{one.name}" for _, one in seen.told.refused]
    close = _close(name, known)
    hint = f"Did you mean {', '.join(close)}?" if close else f"There are: {_some(known)}"
    where = f" in namespace {look.namespace}" if look.namespace is not None and "/" not in name else ""
    raise Failed(f"there is no workload {name!r}{where}", hint)


_HOW = "Set schedulerName: phalanx in its pod template, or the label phalanx.dev/queue on it."


def _close(name: str, known: list[str]) -> list[str]:
    """Those whose name is much the same, and those of that very name elsewhere."""
    last = name.rpartition("/")[2]
    by_last = {who: who.rpartition("/")[2] for who in known}
    near = get_close_matches(last, by_last.values(), n=NAMES_SHOWN, cutoff=0.7)
    return [who for who in known if by_last[who] in near or last in by_last[who].split("#")][:NAMES_SHOWN]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return (", ".join(sorted(names)[:NAMES_SHOWN]) or "none") + more


def _workloads(look: Look) -> list[documents.Document]:
    found, _ = documents.sort(look.objects)
    return [one for one in found if one.role is Role.WORKLOAD and one.kind != "Pod"]


def _of_manifests(look: Look, name: str) -> list[Told]:
    """What ``place`` says of manifests that are handed to nobody yet; objects of a cluster belong to somebody else."""
    meant = [one for one in _workloads(look) if _is_meant(one.kind, one.namespace, one.name, name, look)]
    if not meant or any(_uid(one.value) for one in meant):
        return []
    decisions = cluster.Cluster.from_manifests(look.objects).place(look.objects)
    chosen = [one for one in decisions if _is_meant(one.kind, one.namespace, one.name, name, look)]
    return [Told(one.decided, one.ways_out) for one in chosen]


def _uid(value: Mapping[Any, Any]) -> object:
    metadata = value.get("metadata")
    return metadata.get("uid") if isinstance(metadata, Mapping) else None


# -- what --------------------------------------------------------------------------------------------------------


def _of_gang(seen: Glance, gang: Gang, look: Look) -> Told:
    view = seen.view(gang)
    return Told(seen.decided(gang), seen.ways_out(gang), view, _said(seen, view, look))


def _said(seen: Glance, view: View, look: Look) -> str:
    """What the scheduler last wrote about it on its object, or on a pod of it; nothing where that says the same."""
    subject = seen.told.subjects.get(view.id)
    own = [one for one in look.objects if subject is not None and _uid(one) == subject.uid] if subject else []
    lines = [line for one in own for line in _lines_of(one)] or list(_lines_of_pods(seen, view, look))
    line = next(iter(lines), "")
    now = status.sentence(view)
    same = line == now if view.state is State.QUEUED else line.partition(":")[0] == now.partition(":")[0]
    return "" if not line or same else line


def _lines_of(doc: Mapping[str, Any]) -> Iterator[str]:
    kinds = ("phalanx.dev/Scheduled", f"{doc.get('kind')}InitiallyScheduled")
    wanted = ("Scheduled", *kinds) if str(doc.get("apiVersion")).startswith("phalanx.dev/") else kinds
    for condition in status.conditions(doc.get("status")):
        if condition.get("type") in wanted and condition.get("message"):
            yield str(condition["message"])


def _lines_of_pods(seen: Glance, view: View, look: Look) -> Iterator[str]:
    """What stands on its pods: kinds of others are not written to, and their pods are."""
    keys = {(key.namespace, key.name) for key in seen.engine.book.gangs[view.id].pods}
    before = f"{view.kind} {view.name}: "
    for doc in look.objects:
        metadata = doc.get("metadata") or {}
        if doc.get("kind") != "Pod" or (metadata.get("namespace", "default"), metadata.get("name")) not in keys:
            continue
        for condition in status.conditions(doc.get("status")):
            message = str(condition.get("message"))
            if condition.get("type") == "PodScheduled" and message.startswith(before):
                yield message.removeprefix(before)


# -- as text -----------------------------------------------------------------------------------------------------


def page(one: Told) -> str:
    """Everything worth reading about one, in at most 80 columns."""
    lines = text.full(one.decision, one.ways_out).split("\n")
    if one.view is not None and isinstance(one.decision, Placed):
        lines = [*_alive(one.view, lines), *_ranks(one.decision)]
    if one.said:
        lines += _wrapped("", f"the scheduler says: {one.said}")
    return "\n".join(lines)


def _alive(view: View, lines: list[str]) -> list[str]:
    """The page of one that has started says how far it is; of one that has ended, that it has."""
    title = f"{view.kind} {view.id}"
    if view.state is State.FINISHED:
        return [f"{title}: {view.state}", *_wrapped("REASON", f"{view.cause}.")]
    if view.cause in AHEAD and not view.whole.bound:
        return lines
    progress = f"{view.whole.bound} of {view.whole.wanted} pods bound, {view.whole.ready} ready"
    trouble = _wrapped("REASON", f"{view.cause}.") if view.state in TROUBLED else ()
    return [f"{title}: {view.state}, {progress}", *trouble, *lines[1:]]


def _ranks(decision: Decision) -> Iterator[str]:
    ranks = document.decision(decision)["ranks"]
    for number, (group, nodes) in enumerate(sorted(ranks.items())):
        yield from _wrapped("RANKS" if not number else "", f"{group}: {tree.runs(nodes)}")


def _wrapped(label: str, line: str) -> list[str]:
    indent = " " * text.LABEL
    found = wrap(line, text.WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return [label.ljust(text.LABEL) + found[0][text.LABEL :], *found[1:]]


# -- as a document -----------------------------------------------------------------------------------------------


def _as_dict(one: Told) -> dict[str, Any]:
    """A decision as ``place -o json`` has it, and where the gang is in its life."""
    found = cluster.Decision(one.decision, one.ways_out).to_dict()
    if one.view is None:
        return found
    message = {"message": status.sentence(one.view)} if isinstance(one.decision, Placed) else {}
    return {
        **found,
        **message,
        "state": str(one.view.state),
        "queue": one.view.queue,
        "schedulerSays": one.said or None,
    }


def _spelt(decision: Decision) -> str:
    named = decision if isinstance(decision, Invalid) else decision.request
    return f"{named.kind.lower()}/{named.name}"
