"""``phalanx queue``: who waits where and why, who is wrong, and what every queue holds of its quota."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from rich.text import Text

from phalanx.cli import amounts, clusters, columns, explaining, getting, late, reduced, refused, screen, written
from phalanx.cli.clusters import Look, Source
from phalanx.cli.errors import worst
from phalanx.cli.standing import Standing, Standings
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.explain import text
from phalanx.kube import status
from phalanx.kube.glance import Glance
from phalanx.model import resources
from phalanx.model.queues import Queue
from phalanx.order.flavors import counts as counts_in

SCHEMA = "phalanx.dev/queues/v1"
HELD = ("QUEUE", "FLAVOR", "RESOURCE", "USED", "QUOTA")
WAITING = ("POS", "QUEUE", "GANG", "PODS", "SINCE", "REASON")
INVALID = ("QUEUE", "INVALID", "SINCE")
_HELD_GIVE_WAY = ((1, 8), (2, 14), (0, 12))
_WAITING_GIVE_WAY = ((2, 24), (1, 10), (2, 12))
_INVALID_GIVE_WAY = ((1, 24), (0, 10), (1, 12))
INDENT = "     "


@dataclass(frozen=True, slots=True)
class Held:
    """What a queue, with those below it, uses of a resource in nano-units. ``quota`` None: there is no limit."""

    queue: str
    flavor: str | None
    resource: str
    used: int
    quota: int | None


@dataclass(frozen=True, slots=True)
class Wrong:
    """Somebody who would wait, and cannot until it is put right. ``document``: the same for programs."""

    id: str
    queue: str
    since: float
    document: dict[str, Any]


def run(source: Source, output: str) -> int:
    look = clusters.look(source)
    seen = explaining.glanced(look, source)
    shown = None if source.everywhere else source.namespace  # queues are everybody's: nobody is left out unasked
    if look.unseen:
        return reduced.queue(look, seen, output)
    stands = Standings(seen, look)
    waiting = [one for one in in_turn(seen, stands) if shown in (None, one.view.namespace)]
    wrong = [one for one in invalid(look, stands) if shown in (None, one.document["namespace"])]
    if output in ("json", "yaml"):
        written.show(_document(seen, waiting, wrong), output)
    elif output == "name":
        for one in waiting:
            print(screen.clean(f"{one.view.kind.lower()}/{one.view.name}"))
    else:
        width = None if output == "wide" else screen.out().width
        _show_held(held(seen), width)
        _show(seen, waiting, wrong, width)
    tripped = getting.tripped_code(one for one in refused.found(look, seen))
    return worst([getting.differing_code(waiting), tripped])


def in_turn(seen: Glance, stands: Standings) -> list[Standing]:
    """Everybody who waits, by queue; those in line first, in their order. Also who runs while pods of it wait, and who
    waits as the scheduler says, or whom no scheduler has taken up."""
    position, gangs = seen.positions(), seen.engine.book.gangs
    every = [stands.of(seen.view(gang)) for gang in seen.gangs()]
    waiting = [one for one in every if _waits(one) or late.count(gangs[one.view.id])]
    last = len(waiting) + 1
    return sorted(
        waiting, key=lambda one: (one.view.queue, position.get(one.view.id, last), one.view.since, one.view.id)
    )


def _waits(one: Standing) -> bool:
    """Whether it waits: as the scheduler says, or as is found. Of whom nothing is known nobody knows otherwise."""
    return one.is_internal or one.view.state is State.QUEUED or (one.differs and one.state in (State.QUEUED, None))


def invalid(look: Look, stands: Standings) -> list[Wrong]:
    """Everybody who is wrong, by queue: objects that cannot be read, and gangs that cannot be placed."""
    seen = stands.seen
    gangs = [stands.of(seen.view(gang)) for gang in seen.gangs() if gang.state is State.INVALID]
    found = [Wrong(one.view.id, one.view.queue, one.view.since, getting.as_dict(one)) for one in gangs]
    found += [Wrong(one.id, one.queue, one.since, getting.wrong_dict(one)) for one in refused.every(look, seen)]
    return sorted(found, key=lambda one: (one.queue, one.since, one.id))


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


def _show_held(found: Iterable[Held], width: int | None) -> None:
    console = screen.out()
    rows = [_held_row(one) for one in found]
    for line in columns.laid_out(HELD, rows, width, _HELD_GIVE_WAY) if rows else ():
        console.print(line)
    if rows:
        console.print()


def _show(seen: Glance, waiting: list[Standing], wrong: list[Wrong], width: int | None) -> None:
    console = screen.out()
    if waiting:
        lines = columns.laid_out(WAITING, _waiting_rows(seen, waiting), width, _WAITING_GIVE_WAY)
        _show_with_why(lines, [why(seen, one) for one in waiting], width)
    else:
        console.print(screen.styled("nobody waits"))
    if wrong:
        console.print()
        rows = [(one.queue, one.id, columns.age(one.since, seen.now)) for one in wrong]
        lines = columns.laid_out(INVALID, rows, width, _INVALID_GIVE_WAY)
        _show_with_why(lines, [str(one.document["message"]) for one in wrong], width, whole=True)


def _show_with_why(lines: Iterable[Text], whys: Iterable[str], width: int | None, whole: bool = False) -> None:
    """A table with a line of its own below each row: why. ``whole``: what is wrong is not cut off."""
    console = screen.out()
    head, *rows = lines
    console.print(head)
    for line, said in zip(rows, whys, strict=True):
        console.print(line)
        told = wrap(said, width - len(INDENT), break_on_hyphens=False) if whole and width else [said]
        for part in told:
            console.print(screen.styled(columns.shortened(INDENT + part, width), "dim"))


def _held_row(one: Held) -> tuple[str, ...]:
    quota = "-" if one.quota is None else amounts.plain(one.resource, one.quota)
    return one.queue, one.flavor or "-", one.resource, amounts.plain(one.resource, one.used), quota


def _waiting_rows(seen: Glance, waiting: Iterable[Standing]) -> list[tuple[str, ...]]:
    position = seen.positions()
    return [
        (
            str(position.get(view.id, "-")),
            view.queue,
            view.id,
            f"{view.whole.seen}/{view.whole.wanted}",
            columns.age(view.since, seen.now),
            one.word if one.differs or one.is_internal else _reason(view) or "-",
        )
        for one in waiting
        for view in [one.view]
    ]


def _reason(view: View) -> str | None:
    """Of one that runs, why some of its pods do not."""
    reason = view.reason if view.state is State.QUEUED else view.lack
    return None if reason is None else str(reason.type)


def why(seen: Glance, one: Standing) -> str:
    """One line."""
    if one.is_internal:
        return one.message
    if one.differs:
        return one.difference
    gang = seen.engine.book.gangs[one.view.id]
    waiting = seen.waiting(gang)
    return f"{gang.state}, without {late.line(gang)}" if waiting is None else text.cause(waiting.reason)


# -- as a document -----------------------------------------------------------------------------------------------


def _document(seen: Glance, waiting: Iterable[Standing], wrong: Iterable[Wrong]) -> dict[str, Any]:
    position = seen.positions()
    return {
        "schema": SCHEMA,
        "queues": [_held_dict(one) for one in held(seen)],
        "waiting": [
            {
                "position": position.get(one.view.id),
                **getting.as_dict(one),
                "reason": _reason(one.view),
                "message": why(seen, one),
                "late": late.count(seen.engine.book.gangs[one.view.id]),
            }
            for one in waiting
        ],
        "invalid": [one.document for one in wrong],
        "at": status.stamp(seen.now),
    }


def _held_dict(one: Held) -> dict[str, Any]:
    quota = None if one.quota is None else resources.show(one.resource, one.quota)
    used = resources.show(one.resource, one.used)
    return {"queue": one.queue, "flavor": one.flavor, "resource": one.resource, "used": used, "quota": quota}
