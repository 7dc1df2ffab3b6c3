"""``phalanx explain``: why a workload waits and what would help, where it runs, or what is wrong with it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Any, TypeVar

from phalanx import cluster
from phalanx.cli import applying, clusters, columns, late, missing, reduced, screen, telling, tree, written
from phalanx.cli.clusters import Look, Source
from phalanx.cli.errors import Exit, Failed, worst
from phalanx.cli.standing import NOBODY, Standing
from phalanx.cli.telling import Told
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.explain import document, tally, text
from phalanx.kube import glance, status
from phalanx.kube.glance import Glance
from phalanx.model.decision import Decided, Internal, Invalid, Placed, Waiting
from phalanx.model.mistakes import Mishap
from phalanx.model.request import Request

Page = TypeVar("Page")

TROUBLED = (State.DEGRADED, State.EVICTING)


def run(source: Source, name: str, output: str, apply: int | None = None) -> int:
    """``apply``: the number of the suggestion with which the manifests are printed, instead of the answer."""
    if apply is not None and output != "text":
        raise Failed("--apply prints manifests; -o is for the answer", code=Exit.USAGE)
    look = clusters.look(source)
    seen = glanced(look, source)
    if look.unseen and apply is None:
        return reduced.explain(look, seen, name, output)
    found = telling.told(clusters.whole(look), seen, name)
    if not found:
        raise missing.failed(look, seen, name, clusters.configuration(source.config).marks())
    if apply is not None:
        return applying.run(found, seen.manifests, apply)
    if output == "name":
        for one in found:
            print(screen.clean(_spelt(one.decision)))
    elif output in ("json", "yaml"):
        found, documents = _each(found, _as_dict)
        written.show({"schema": document.SCHEMA, "decisions": documents}, output)
    else:
        return show(found)
    return _exit_code(found)


def show(found: Sequence[Told]) -> int:
    """Prints the pages of all, and says how they are. What they have to do with what was asked for comes first."""
    via = dict.fromkeys(line for one in found if one.via for line in wrap(f"{one.via}.", text.WIDTH))
    found, pages = _each(found, page)
    screen.out().print(screen.styled("\n".join([*via, "\n\n".join(pages)])))
    return _exit_code(found)


def _each(found: Sequence[Told], tell: Callable[[Told], Page]) -> tuple[list[Told], list[Page]]:
    """All that is told, each by itself: one over which we trip is told so, and all others as they are."""
    done = [_one(one, tell) for one in found]
    return [one for one, _ in done], [page for _, page in done]


def _one(one: Told, tell: Callable[[Told], Page]) -> tuple[Told, Page]:
    try:
        return one, tell(one)
    except Exception as error:
        named = telling.named_in(one.decision)
        request = named if isinstance(named, Request) else None
        internal = Internal(named.kind, named.namespace, named.name, Mishap.of(error), request)
        tripped = Told(internal, queue=one.queue, via=one.via)
        return tripped, tell(tripped)


def glanced(look: Look, source: Source) -> Glance:
    """What the scheduler would make of these objects. What is wrong with the cluster's own is said."""
    settings = clusters.configuration(source.config)
    found = glance.at(look.objects, look.now, settings.marks(), settings.policy(), settings.settings())
    seen = look.places.glance(found)
    for problem in seen.told.problems if not look.unseen else ():
        screen.say_warning(str(problem))
    for note in _of_nodes(look):
        screen.say_error(str(note))
    return seen


def _of_nodes(look: Look) -> tuple[cluster.Note, ...]:
    """What is wrong with Nodes out of files; a server has none that are wrong, so whoever follows it does not ask."""
    nodes = [one for one in look.objects if one.get("kind") == "Node"] if look.places.are_known else []
    return look.places.notes(cluster.Cluster.from_manifests(nodes).problems) if nodes else ()


def _exit_code(found: Iterable[Told]) -> Exit:
    return worst(_code(one) for one in found)


def _code(one: Told) -> Exit:
    """What the scheduler says counts; what a look finds, where the two agree."""
    if isinstance(one.decision, Internal):
        return Exit.FAILED
    if isinstance(one.decision, Invalid):
        return Exit.INVALID
    if one.standing is not None and one.standing.differs:
        return one.standing.exit_code
    return Exit.WAITING if isinstance(one.decision, Waiting) or tally.of(one.decision).left_out else Exit.PLACED


# -- as text -----------------------------------------------------------------------------------------------------


def page(one: Told) -> str:
    """Everything worth reading about one, in at most 80 columns."""
    stands = one.standing
    lines = text.full(one.decision, one.ways_out).split("\n")
    if one.view is not None and isinstance(one.decision, Placed):
        lines = [*_alive(one.view, lines), *_ranks(one.decision)]
    if one.ended:
        lines = [f"{lines[0].partition(': ')[0]}: {State.FINISHED}", *columns.labelled("REASON", f"{one.ended}.")]
    if one.view is not None and one.view.torn:
        lines += columns.labelled("NOTE", status.torn(one.view))
    if one.late and one.view is not None and one.view.lack is not None:  # else it stands under LEFT OUT
        lines += columns.labelled("WAITS", f"{one.late}.")
    if stands is not None and stands.differs:
        lines = [*_differing(stands), *lines[1:]]
    elif one.said:
        lines += columns.labelled("", f"the scheduler says: {one.said}")
    elif stands is not None and stands.is_unheard:
        lines += columns.labelled("", NOBODY)
    if stands is not None and stands.stale:
        lines += columns.labelled("STALE", f"what the scheduler says: {stands.stale}")
    return "\n".join(lines)


def _differing(stands: Standing) -> Iterator[str]:
    """How it stands, and what a fresh look finds instead; the rest of the page is about that."""
    yield _head(stands)
    yield from columns.labelled("SAID", f"the scheduler says: {stands.line or stands.word}" if stands.said else NOBODY)
    yield from columns.labelled("DIFFERS", f"{stands.fresh.rstrip('.')}{':' if stands.would_start else '.'}")


def _head(stands: Standing) -> str:
    title = f"{stands.view.kind} {stands.view.id}"
    return f"{title}: not started" if stands.said is None else f"{title}: {stands.said.title}"


def _alive(view: View, lines: list[str]) -> list[str]:
    """The page of one that has started says how far it is; of one that has ended, that it has."""
    title = f"{view.kind} {view.id}"
    if view.state is State.FINISHED:
        return [f"{title}: {view.state}", *columns.labelled("REASON", f"{view.cause}.")]
    if view.cause in late.AHEAD and not view.whole.bound:
        return lines
    progress = f"{view.whole.bound} of {view.whole.wanted} pods bound, {view.whole.ready} ready"
    trouble = columns.labelled("REASON", f"{view.cause}.") if view.state in TROUBLED else ()
    return [f"{title}: {view.state}, {progress}", *trouble, *lines[1:]]


def _ranks(decision: Decided) -> Iterator[str]:
    ranks = document.decision(decision)["ranks"]
    for number, (group, nodes) in enumerate(sorted(ranks.items())):
        yield from columns.labelled("RANKS" if not number else "", f"{group}: {tree.runs(nodes)}")


# -- as a document -----------------------------------------------------------------------------------------------


def _as_dict(one: Told) -> dict[str, Any]:
    """A decision as ``place -o json`` has it, and where the gang is in its life."""
    found = cluster.Decision(one.decision, one.ways_out).to_dict()
    if one.queue is None:
        return found
    view = one.view
    lack = view.lack if view is not None and one.late else None
    return {
        **found, **_message(one), "state": _state(one), "queue": one.queue, "schedulerSays": one.said or None,
        "lack": None if lack is None else document.reason(lack), "via": one.via or None,
        **(one.standing.as_dict() if one.standing is not None else {"scheduler": None, "differs": False}),
    }  # fmt: skip


def _message(one: Told) -> dict[str, str]:
    """How far it is, where there is more to say than where it would go."""
    if one.ended:
        return {"message": f"{State.FINISHED.lower()}: {one.ended}."}
    return {"message": status.sentence(one.view)} if one.view and isinstance(one.decision, Placed) else {}


def _state(one: Told) -> str:
    if isinstance(one.decision, Internal):
        return Internal.__name__
    if one.view is not None:
        return str(one.view.state)
    return str(State.FINISHED if one.ended else State.INVALID)


def _spelt(decision: Decided) -> str:
    named = telling.named_in(decision)
    return f"{named.kind.lower()}/{named.name}"
