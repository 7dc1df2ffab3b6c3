"""``phalanx get``: all gangs, how far each is and where."""

from collections.abc import Sequence
from typing import Any

from phalanx.cli import clusters, columns, explaining, refused, screen, written
from phalanx.cli.clusters import Look, Source
from phalanx.cli.refused import Refused
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.explain import words
from phalanx.kube import status
from phalanx.kube.glance import Glance

SCHEMA = "phalanx.dev/gangs/v1"
TITLES = ("GANG", "QUEUE", "STATE", "PODS", "DOMAIN", "AGE")
WIDE = ("KIND", "READY", "FLAVOR", "MESSAGE")
_GIVE_WAY = ((4, 12), (0, 24), (1, 8), (4, 6), (0, 12))


def run(source: Source, output: str) -> int:
    look = clusters.look(source)
    seen = explaining.glanced(look, source)
    views = [seen.view(gang) for gang in seen.gangs(look.namespace)]
    wrong = [one for one in refused.found(look, seen) if look.shows(one.invalid.namespace)]
    if output in ("json", "yaml"):
        written.show(_document(views, wrong), output)
    elif output == "name":
        names = [(one.kind, one.name) for one in views] + [(one.invalid.kind, one.invalid.name) for one in wrong]
        for kind, name in names:
            print(screen.clean(f"{kind.lower()}/{name}"))
    else:
        _show(views, wrong, seen, look, wide=output == "wide")
    return 0


def _show(views: Sequence[View], wrong: Sequence[Refused], seen: Glance, look: Look, wide: bool) -> None:
    if not views and not wrong:
        where = f" in namespace {look.namespace}" if look.namespace is not None else ""
        screen.err().print(screen.styled(f"no gangs{where}"))
        return
    console = screen.out()
    rows = [_row(one, seen.now, wide) for one in views] + [_wrong(one, seen.now, wide) for one in wrong]
    titles = (*TITLES, *WIDE) if wide else TITLES
    for line in columns.laid_out(titles, rows, None if wide else console.width, _GIVE_WAY):
        console.print(line)


def _row(view: View, now: float, wide: bool) -> tuple[str, ...]:
    whole = view.whole
    state = str(view.reason.type) if view.state is State.QUEUED and view.reason is not None else str(view.state)
    domain = words.place(whole.domain) if whole.domain else "-"
    row = (view.id, view.queue, state, f"{whole.bound}/{whole.wanted}", domain, columns.age(view.since, now))
    return (*row, view.kind, str(whole.ready), view.flavor or "-", status.sentence(view)) if wide else row


def _wrong(one: Refused, now: float, wide: bool) -> tuple[str, ...]:
    row = (one.id, one.queue, str(State.INVALID), "-", "-", columns.age(one.since, now))
    return (*row, one.invalid.kind, "-", "-", one.message) if wide else row


def _document(views: Sequence[View], wrong: Sequence[Refused]) -> dict[str, Any]:
    return {"schema": SCHEMA, "gangs": [*(as_dict(one) for one in views), *(wrong_dict(one) for one in wrong)]}


def as_dict(view: View) -> dict[str, Any]:
    whole = view.whole
    return {
        "kind": view.kind, "namespace": view.namespace, "name": view.name, "unit": view.unit, "queue": view.queue,
        "flavor": view.flavor, "priority": view.priority, "state": str(view.state),
        "reason": None if view.reason is None else str(view.reason.type), "message": status.sentence(view),
        "pods": {"wanted": whole.wanted, "seen": whole.seen, "bound": whole.bound, "ready": whole.ready},
        "domain": list(whole.domain), "since": status.stamp(view.since) if view.since else None,
    }  # fmt: skip


def wrong_dict(one: Refused) -> dict[str, Any]:
    """The same of one that is wrong. What cannot be said of it is None."""
    invalid = one.invalid
    return {
        "kind": invalid.kind, "namespace": invalid.namespace, "name": invalid.name, "unit": None, "queue": one.queue,
        "flavor": None, "priority": None, "state": str(State.INVALID), "reason": None, "message": one.message,
        "pods": None, "domain": [], "since": status.stamp(one.since) if one.since else None,
    }  # fmt: skip
