"""``phalanx queue``: who waits where and why, and what every queue holds of its quota."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from phalanx.cli import clusters, columns, explaining, getting, screen, written
from phalanx.cli.clusters import Source
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.explain import text
from phalanx.kube import status
from phalanx.kube.glance import Glance
from phalanx.model import resources
from phalanx.model.queues import Queue
from phalanx.order.flavors import counts as counts_in

SCHEMA = "phalanx.dev/queues/v1"
HELD = ("QUEUE", "FLAVOR", "RESOURCE", "USED", "QUOTA")
WAITING = ("POS", "QUEUE", "GANG", "PODS", "SINCE", "REASON")
_HELD_GIVE_WAY = ((1, 8), (2, 14), (0, 12))
_WAITING_GIVE_WAY = ((2, 24), (1, 10), (2, 12))
INDENT = "     "


@dataclass(frozen=True, slots=True)
class Held:
    """What a queue, with those below it, uses of a resource in nano-units. ``quota`` None: there is no limit."""

    queue: str
    flavor: str | None
    resource: str
    used: int
    quota: int | None


def run(source: Source, output: str) -> int:
    look = clusters.look(source)
    seen = explaining.glanced(look, source)
    shown = None if source.everywhere else source.namespace  # queues are everybody's: nobody is left out unasked
    waiting = [gang for gang in in_turn(seen) if shown in (None, gang.request.namespace)]
    if output in ("json", "yaml"):
        written.show(_document(seen, waiting), output)
    elif output == "name":
        for gang in waiting:
            print(screen.clean(f"{gang.request.kind.lower()}/{gang.request.name}"))
    else:
        _show(seen, waiting, None if output == "wide" else screen.out().width)
    return 0


def in_turn(seen: Glance) -> list[Gang]:
    """Everybody who waits, by queue; those in line first, in their order."""
    position = seen.positions()
    waiting = [gang for gang in seen.gangs() if gang.state is State.QUEUED]
    last = len(waiting) + 1
    return sorted(waiting, key=lambda one: (one.request.queue, position.get(one.id, last), one.since, one.id))


# -- what is held ------------------------------------------------------------------------------------------------


def held(seen: Glance) -> list[Held]:
    """Every quota with what is used of it, and what is used without one, by queue."""
    queues, usage = seen.engine.book.queues, seen.engine.turns.usage
    names = sorted({*queues.queues, *usage})
    return [one for name in names for one in _of_queue(name, queues.named(name), dict(usage.get(name, {})))]


def _of_queue(name: str, queue: Queue | None, used: dict[tuple[str | None, str], int]) -> Iterator[Held]:
    listed: set[tuple[str | None, str]] = set()
    for quota in queue.quotas if queue is not None else ():
        own = {key for key in used if key[1] == quota.resource and counts_in(quota.flavor, key[0])}
        listed |= own
        yield Held(name, quota.flavor, quota.resource, sum(used[key] for key in own), quota.nominal)
    for flavor, resource in sorted(set(used) - listed, key=lambda key: (key[0] or "", key[1])):
        if resource != resources.PODS:  # every pod is one of these; who limits them lists them
            yield Held(name, flavor, resource, used[flavor, resource], None)


# -- as text -----------------------------------------------------------------------------------------------------


def _show(seen: Glance, waiting: list[Gang], width: int | None) -> None:
    console = screen.out()
    rows = [_held_row(one) for one in held(seen)]
    for line in columns.laid_out(HELD, rows, width, _HELD_GIVE_WAY) if rows else ():
        console.print(line)
    if rows:
        console.print()
    if not waiting:
        console.print(screen.styled("nobody waits"))
        return
    head, *lines = columns.laid_out(WAITING, _waiting_rows(seen, waiting), width, _WAITING_GIVE_WAY)
    console.print(head)
    for gang, line in zip(waiting, lines, strict=True):
        console.print(line)
        console.print(screen.styled(columns.shortened(INDENT + why(seen, gang), width), "dim"))


def _held_row(one: Held) -> tuple[str, ...]:
    quota = "-" if one.quota is None else resources.show(one.resource, one.quota)
    return one.queue, one.flavor or "-", one.resource, resources.show(one.resource, one.used), quota


def _waiting_rows(seen: Glance, waiting: Iterable[Gang]) -> list[tuple[str, ...]]:
    position = seen.positions()
    return [
        (
            str(position.get(gang.id, "-")),
            gang.request.queue,
            gang.id,
            f"{view.whole.seen}/{view.whole.wanted}",
            columns.age(gang.since, seen.now),
            str(gang.reason.type) if gang.reason is not None else "-",
        )
        for gang in waiting
        for view in [seen.view(gang)]
    ]


def why(seen: Glance, gang: Gang) -> str:
    """One line."""
    waiting = seen.waiting(gang)
    return "" if waiting is None else text.cause(waiting.reason)


# -- as a document -----------------------------------------------------------------------------------------------


def _document(seen: Glance, waiting: Iterable[Gang]) -> dict[str, Any]:
    position = seen.positions()
    return {
        "schema": SCHEMA,
        "queues": [_held_dict(one) for one in held(seen)],
        "waiting": [
            {"position": position.get(gang.id), **getting.as_dict(seen.view(gang)), "message": why(seen, gang)}
            for gang in waiting
        ],
        "at": status.stamp(seen.now),
    }


def _held_dict(one: Held) -> dict[str, Any]:
    quota = None if one.quota is None else resources.show(one.resource, one.quota)
    used = resources.show(one.resource, one.used)
    return {"queue": one.queue, "flavor": one.flavor, "resource": one.resource, "used": used, "quota": quota}
