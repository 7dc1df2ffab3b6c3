"""What commands tell where not all of a cluster may be seen: what the scheduler says of each gang, and nothing else.

Nothing is decided anew without nodes, or without the pods of others: it would be wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phalanx.cli import columns, naming, refused, screen, written
from phalanx.cli.clusters import Look
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.refused import Refused
from phalanx.cli.said import Said, Sayings
from phalanx.cli.standing import NOBODY
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.explain import document
from phalanx.kube import status
from phalanx.kube.glance import Glance

GANGS = "phalanx.dev/gangs/v1"
QUEUES = "phalanx.dev/queues/v1"
TITLES = ("GANG", "QUEUE", "STATE", "PODS", "AGE")
_GIVE_WAY = ((0, 24), (1, 8), (0, 12))


@dataclass(frozen=True, slots=True)
class Heard:
    """One gang. ``said`` None: nobody said anything of it. ``pods``: how many have a node, of how many.
    ``has_nodes``: as many as must start together have one."""

    id: str
    kind: str
    namespace: str
    name: str
    queue: str
    since: float
    said: Said | None
    pods: str = "-"
    has_nodes: bool = False

    @property
    def state(self) -> State | None:
        return self.said.state if self.said is not None else None

    @property
    def word(self) -> str:
        return self.said.word if self.said is not None else "Unknown"

    @property
    def line(self) -> str:
        return (self.said.line or self.said.word) if self.said is not None else NOBODY

    @property
    def waits(self) -> bool:
        return self.state is State.QUEUED or (self.state is None and not self.has_nodes)

    @property
    def exit_code(self) -> Exit:
        return Exit.INVALID if self.state is State.INVALID else Exit.WAITING if self.waits else Exit.PLACED


def explain(look: Look, seen: Glance, name: str, output: str) -> int:
    """As far as the scheduler said it."""
    own = {gang.id for gang in naming.named(seen, name, look.namespace)}
    found = [one for one in _every(look, seen) if one.id in own or _is_meant(one, name, look)]
    if not found:
        where = f" in namespace {look.namespace}" if look.namespace is not None and "/" not in name else ""
        raise Failed(f"there is no workload {name!r}{where} that may be seen", _note(look))
    if output == "name":
        for one in found:
            print(screen.clean(f"{one.kind.lower()}/{one.name}"))
    elif output in ("json", "yaml"):
        written.show({"schema": document.SCHEMA, "decisions": [_as_dict(one, look) for one in found]}, output)
    else:
        screen.out().print(screen.styled("\n\n".join("\n".join(_page(one, look)) for one in found)))
    return max(one.exit_code for one in found)


def get(look: Look, seen: Glance, output: str) -> int:
    """All gangs of the namespace."""
    _list([one for one in _every(look, seen) if look.shows(one.namespace)], look, seen, output, (GANGS, "gangs"))
    return Exit.PLACED


def queue(look: Look, seen: Glance, output: str) -> int:
    """Those who wait, without their places in line: nobody knows who else waits."""
    _list([one for one in _every(look, seen) if one.waits], look, seen, output, (QUEUES, "waiting"))
    return Exit.PLACED


def _is_meant(one: Heard, name: str, look: Look) -> bool:
    return naming.is_meant(one.kind, one.namespace, one.name, name, look)


# -- who there is ------------------------------------------------------------------------------------------------


def _every(look: Look, seen: Glance) -> list[Heard]:
    """All gangs, and the workloads that could not be read: what they name may be there and not be seen."""
    sayings = Sayings(seen, look)
    found = [_of_view(view, sayings.of(view)) for view in map(seen.view, seen.gangs())]
    found += [_of_refused(one, sayings.of_object(one.doc)) for one in refused.found(look, seen)]
    return sorted(found, key=lambda one: (one.queue, one.since, one.id))


def _of_view(view: View, said: Said | None) -> Heard:
    pods = f"{view.whole.bound}/{view.whole.wanted}"
    return Heard(view.id, view.kind, view.namespace, view.name, view.queue, view.since, said, pods, view.scheduled)


def _of_refused(one: Refused, said: Said | None) -> Heard:
    """Of a Gang its status has the count."""
    told = one.doc.get("status")
    pods = told.get("pods") if isinstance(told, Mapping) else None
    counted = pods if isinstance(pods, str) else "-"
    return Heard(one.id, one.invalid.kind, one.invalid.namespace, one.invalid.name, one.queue, one.since, said, counted)


# -- how it is told ----------------------------------------------------------------------------------------------


def _note(look: Look) -> str:
    return f"{look.unseen} may not be listed with this account: nothing was decided anew."


def _page(one: Heard, look: Look) -> Iterable[str]:
    yield f"{one.kind} {one.id}: {one.said.title if one.said is not None else 'unknown'}"
    yield from columns.labelled("SAID", f"the scheduler says: {one.line}" if one.said is not None else NOBODY)
    if one.pods != "-":
        yield from columns.labelled("PODS", f"{one.pods} have a node.")
    if one.said is not None and one.said.stale:
        yield from columns.labelled("STALE", f"what the scheduler says: {one.said.stale}")
    yield from columns.labelled("NOTE", _note(look))


def _list(found: Sequence[Heard], look: Look, seen: Glance, output: str, names: tuple[str, str]) -> None:
    screen.say_warning(_note(look))
    schema, key = names
    if output in ("json", "yaml"):
        written.show({"schema": schema, key: [_as_dict(one, look) for one in found]}, output)
    elif output == "name":
        for one in found:
            print(screen.clean(f"{one.kind.lower()}/{one.name}"))
    elif not found:
        screen.out().print(screen.styled("no gangs" if schema == GANGS else "nobody waits"))
    else:
        _show(found, seen, output == "wide", with_why=output == "wide" or schema == QUEUES)


def _show(found: Sequence[Heard], seen: Glance, wide: bool, with_why: bool) -> None:
    console = screen.out()
    width = None if wide else console.width
    head, *rows = columns.laid_out(TITLES, [_row(one, seen.now) for one in found], width, _GIVE_WAY)
    console.print(head)
    for line, one in zip(rows, found, strict=True):
        console.print(line)
        if with_why:
            console.print(screen.styled(columns.shortened(f"     {one.line}", width), "dim"))


def _row(one: Heard, now: float) -> tuple[str, ...]:
    return one.id, one.queue, one.word, one.pods, columns.age(one.since, now)


def _as_dict(one: Heard, look: Look) -> dict[str, Any]:
    """The keys that a decision and a gang have as well, as far as they are known."""
    said = None if one.said is None else one.said.as_dict()
    state = None if one.state is None else str(one.state)
    return {
        "kind": one.kind, "namespace": one.namespace, "name": one.name, "queue": one.queue, "status": _status(one),
        "state": state, "reason": said["reason"] if said else None, "message": one.line,
        "since": status.stamp(one.since) if one.since else None, "schedulerSays": said["message"] if said else None,
        "scheduler": said, "differs": False, "unseen": look.unseen,
    }  # fmt: skip


def _status(one: Heard) -> str:
    if one.state is None:
        return "Unknown"
    return {State.QUEUED: "Waiting", State.INVALID: "Invalid"}.get(one.state, "Placed")
