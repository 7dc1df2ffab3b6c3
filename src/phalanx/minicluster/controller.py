"""A controller: whom it looks at after which events, and what it does then. All of them are level-triggered."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from phalanx.minicluster.context import Context, Reconcile
from phalanx.minicluster.documents import POD, Document, Kind, controller_of, key_of, kind_of, owner_key
from phalanx.minicluster.draws import Span
from phalanx.minicluster.pace import Pace
from phalanx.minicluster.store import Event
from phalanx.model.objects import ObjectKey


def usual_reaction(pace: Pace) -> Span:
    return pace.reaction


@dataclass(frozen=True, slots=True)
class Controller:
    """``hears``: the kinds whose events it hears, none: all. ``concerned``: whom it looks at after one of them.

    ``reconcile`` looks at one object and does what is to be done now; what it returns is when to look again.
    """

    name: str
    hears: tuple[Kind, ...]
    concerned: Callable[[Context, Event], Iterable[ObjectKey]]
    reconcile: Reconcile
    reaction: Callable[[Pace], Span] = usual_reaction


def looks_after(kind: Kind, reconcile: Reconcile, makes: tuple[Kind, ...] = (POD,)) -> Controller:
    """The controller of one kind: it looks at an object after its own events and those of what it made."""

    def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
        doc = event.document
        if kind_of(doc) == kind:
            return (key_of(doc),)
        above = controlled_by(doc, kind)
        return () if above is None else (above,)

    return Controller(kind[1], (kind, *(each for each in makes if each != kind)), concerned, reconcile)


def controlled_by(doc: Document, kind: Kind) -> ObjectKey | None:
    """What looks after an object, if it is of that kind."""
    above = controller_of(doc)
    if above is None or above["kind"] != kind[1]:
        return None
    found = owner_key(doc, above)
    return found if found.of_kind == kind else None
