"""``phalanx get``: all gangs, how far each is and where."""

from collections.abc import Iterable, Sequence
from typing import Any

from phalanx.cli import clusters, columns, explaining, reduced, refused, screen, written
from phalanx.cli.clusters import Look, Source
from phalanx.cli.errors import Exit, worst
from phalanx.cli.refused import Refused
from phalanx.cli.standing import Standing, Standings
from phalanx.explain import words
from phalanx.kube import status
from phalanx.kube.glance import Glance
from phalanx.model.decision import Internal

SCHEMA = "phalanx.dev/gangs/v1"
TITLES = ("GANG", "QUEUE", "STATE", "PODS", "DOMAIN", "AGE")
WIDE = ("KIND", "READY", "FLAVOR", "MESSAGE")
MOST = 5  # of which the scheduler says otherwise than is found: told one by one
_GIVE_WAY = ((4, 12), (0, 24), (1, 8), (4, 6), (0, 12))


def run(source: Source, output: str) -> int:
    look = clusters.look(source)
    seen = explaining.glanced(look, source)
    if look.unseen:
        return reduced.get(look, seen, output)
    stands = Standings(seen, look)
    standing = [stands.of(seen.view(gang)) for gang in seen.gangs(look.namespace)]
    wrong = [one for one in refused.every(look, seen) if look.shows(one.invalid.namespace)]
    if output in ("json", "yaml"):
        written.show(_document(standing, wrong), output)
    elif output == "name":
        names = [(one.view.kind, one.view.name) for one in standing] + [
            (one.invalid.kind, one.invalid.name) for one in wrong
        ]
        for kind, name in names:
            print(screen.clean(f"{kind.lower()}/{name}"))
    else:
        _show(standing, wrong, seen, look, wide=output == "wide")
    tell_differences(standing)
    return worst([differing_code(standing), tripped_code(wrong)])


def tell_differences(standing: Iterable[Standing]) -> None:
    """One line for each of which the scheduler says otherwise than is found, the first of many."""
    differing = [one for one in standing if one.differs]
    for one in differing[:MOST]:
        screen.say_warning(f"{one.view.kind} {one.view.id}: {one.difference}")
    if len(differing) > MOST:
        screen.say_warning(f"and {len(differing) - MOST} more of which the scheduler says otherwise")


def differing_code(standing: Iterable[Standing]) -> Exit:
    """Not 0 where the scheduler says otherwise than is found, so that nobody takes the one for the other; nor where we
    made a mistake."""
    return worst(one.exit_code for one in standing if one.differs or one.is_internal)


def tripped_code(wrong: Iterable[Refused]) -> Exit:
    """1 where something was raised while one of them was read."""
    return worst(Exit.FAILED for one in wrong if one.mishap is not None)


def _show(standing: Sequence[Standing], wrong: Sequence[Refused], seen: Glance, look: Look, wide: bool) -> None:
    if not standing and not wrong:
        where = f" in namespace {look.namespace}" if look.namespace is not None else ""
        screen.err().print(screen.styled(f"no gangs{where}"))
        return
    console = screen.out()
    rows = [_row(one, seen.now, wide) for one in standing] + [_wrong(one, seen.now, wide) for one in wrong]
    titles = (*TITLES, *WIDE) if wide else TITLES
    for line in columns.laid_out(titles, rows, None if wide else console.width, _GIVE_WAY):
        console.print(line)


def _row(one: Standing, now: float, wide: bool) -> tuple[str, ...]:
    view, whole = one.view, one.view.whole
    domain = words.place(whole.domain) if whole.domain and not one.differs else "-"
    row = (view.id, view.queue, one.word, f"{whole.bound}/{whole.wanted}", domain, columns.age(view.since, now))
    message = one.difference or one.message
    return (*row, view.kind, str(whole.ready), view.flavor or "-", message) if wide else row


def _wrong(one: Refused, now: float, wide: bool) -> tuple[str, ...]:
    row = (one.id, one.queue, one.word, "-", "-", columns.age(one.since, now))
    return (*row, one.invalid.kind, "-", "-", one.message) if wide else row


def _document(standing: Sequence[Standing], wrong: Sequence[Refused]) -> dict[str, Any]:
    return {"schema": SCHEMA, "gangs": [*(as_dict(one) for one in standing), *(wrong_dict(one) for one in wrong)]}


def as_dict(standing: Standing) -> dict[str, Any]:
    """``state``, ``reason`` and ``message`` are what a fresh look finds; ``scheduler`` what the scheduler holds."""
    view, whole = standing.view, standing.view.whole
    return {
        "kind": view.kind, "namespace": view.namespace, "name": view.name, "unit": view.unit, "queue": view.queue,
        "flavor": view.flavor, "priority": view.priority,
        "state": Internal.__name__ if standing.is_internal else str(view.state),
        "reason": None if view.reason is None else str(view.reason.type), "message": standing.message,
        "pods": {"wanted": whole.wanted, "seen": whole.seen, "bound": whole.bound, "ready": whole.ready},
        "domain": list(whole.domain), "since": status.stamp(view.since) if view.since else None,
        **standing.as_dict(),
    }  # fmt: skip


def wrong_dict(one: Refused) -> dict[str, Any]:
    """The same of one that is wrong. What cannot be said of it is None."""
    invalid = one.invalid
    return {
        "kind": invalid.kind, "namespace": invalid.namespace, "name": invalid.name, "unit": None, "queue": one.queue,
        "flavor": None, "priority": None, "state": one.word, "reason": None, "message": one.message,
        "pods": None, "domain": [], "since": status.stamp(one.since) if one.since else None,
        "scheduler": None, "differs": False,
    }  # fmt: skip
