"""How a gang stands: what the scheduler last said of it, beside what a fresh look at the same objects finds.

A look decides afresh. The scheduler may know better (a gang is tried again later), may be away, or may hang: where the
two differ, what it says is what is so.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from phalanx.cli.clusters import Look
from phalanx.cli.errors import Exit
from phalanx.cli.said import Said, Sayings
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.explain import text
from phalanx.kube import status
from phalanx.kube.glance import Glance, is_manifest, was_never_there
from phalanx.model.decision import Decided, Internal

NOBODY = "no scheduler has said anything of it; is one running?"


class Way(Enum):
    """What it comes to for whoever asks. One state follows the other while a gang starts: that is no difference."""

    WAITS = "waits"
    GOES = "starts or runs"
    HURT = "runs, and lacks pods"
    LEAVES = "leaves"
    ENDED = "has ended"
    WRONG = "is wrong"


_WAYS = {
    State.QUEUED: Way.WAITS, State.RESERVED: Way.GOES, State.BINDING: Way.GOES, State.STARTING: Way.GOES,
    State.RUNNING: Way.GOES, State.DEGRADED: Way.HURT, State.EVICTING: Way.LEAVES, State.FINISHED: Way.ENDED,
    State.INVALID: Way.WRONG,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standing:
    """``said`` None: nothing was. ``is_manifest``: it is in no cluster, and no scheduler could have said anything."""

    view: View
    decision: Decided
    said: Said | None
    is_manifest: bool = False

    @property
    def differs(self) -> bool:
        """Whether the scheduler says otherwise; or says nothing of one that is found to have started, and has not."""
        if self.said is None:
            return not self.is_manifest and self.would_start
        return self.said.state is not None and _WAYS[self.said.state] is not _WAYS[self.view.state]

    @property
    def is_internal(self) -> bool:
        """Whether nothing is known of it by a mistake of ours."""
        return isinstance(self.decision, Internal)

    @property
    def would_start(self) -> bool:
        """Whether a fresh look finds a place for one that has none."""
        return _WAYS[self.view.state] is Way.GOES and not self.view.scheduled

    @property
    def is_unheard(self) -> bool:
        """Whether nobody said anything of one that is not there by itself."""
        there = self.view.scheduled or self.view.state is State.FINISHED
        return self.said is None and not self.is_manifest and not there

    @property
    def state(self) -> State | None:
        """As it is; None: nobody has taken it up."""
        if not self.differs:
            return self.view.state
        return self.said.state if self.said is not None else None

    @property
    def word(self) -> str:
        """Its state in a column: why it waits, if it does."""
        if self.is_internal:
            return Internal.__name__
        if not self.differs:
            reason = self.view.reason
            return str(reason.type if self.view.state is State.QUEUED and reason is not None else self.view.state)
        return "NotStarted" if self.said is None else self.said.word

    @property
    def message(self) -> str:
        """How far it is, in one line; or what went wrong while it was looked at."""
        return text.line(self.decision) if self.is_internal else status.sentence(self.view)

    @property
    def exit_code(self) -> Exit:
        """As it is: not 0 where the scheduler does not say that it starts or runs, or we made a mistake."""
        if self.is_internal:
            return Exit.FAILED
        if not self.differs:
            return Exit.PLACED
        return Exit.INVALID if self.state is State.INVALID else Exit.WAITING

    # -- sentences -----------------------------------------------------------------------------------------------

    @property
    def line(self) -> str:
        """What the scheduler said, where that is not what is seen; empty where it is."""
        said = self.said
        if said is None or not said.line:
            return ""
        if self.differs and said.state is not None:
            return said.line
        return "" if _is_same(said.line, self.view) else said.line

    @property
    def fresh(self) -> str:
        """What a fresh look finds, where the two differ."""
        if not self.differs:
            return ""
        if self.would_start:
            return f"a fresh look would start it now ({text.line(self.decision)})"
        return f"a fresh look finds: {status.sentence(self.view)}"

    @property
    def stale(self) -> str:
        """That the scheduler has not seen the object as it is now."""
        return self.said.stale if self.said is not None else ""

    @property
    def difference(self) -> str:
        """All of it in one line; empty where there is none."""
        if not self.differs:
            return ""
        since = f" since {self.said.since}" if self.said is not None and self.said.since else ""
        says = f"the scheduler says{since}: {self.line or self.word}" if self.said is not None else NOBODY
        rest = "; ".join(one for one in (self.stale, self.fresh) if one)
        return f"{says.rstrip('.')}{'' if says.endswith('?') else ';'} {rest}"

    def as_dict(self) -> dict[str, Any]:
        """For programs: what the scheduler holds, and whether a look finds otherwise."""
        return {"scheduler": None if self.said is None else self.said.as_dict(), "differs": self.differs}


class Standings:
    """Of all gangs of one look."""

    def __init__(self, seen: Glance, look: Look) -> None:
        self.seen, self.sayings = seen, Sayings(seen, look)

    def of(self, view: View) -> Standing:
        gang = self.seen.engine.book.gangs[view.id]
        fresh = is_manifest(self.seen.told, view.id) and all(was_never_there(key.uid) for key in gang.pods)
        return Standing(view, self._decided(gang, view), self.sayings.of(view), fresh)

    def _decided(self, gang: Gang, view: View) -> Decided:
        """What was decided; a mistake of ours where that cannot be told in a line."""
        try:
            status.sentence(view)
        except Exception as error:
            return Internal.about(gang.request, error)
        return self.seen.decided(gang)


def _is_same(line: str, view: View) -> bool:
    """Whether a line says what is seen now. What would help, which may stand behind it, is told in another place; and a
    line on a pod may be cut short."""
    now = status.sentence(view)
    unit = f"{view.unit}: " if view.unit is not None else ""
    if view.state is not State.QUEUED:
        return line.removeprefix(unit).partition(":")[0] in ("", now.removeprefix(unit).partition(":")[0])
    cut = line.endswith("...") and now.startswith(line.removesuffix("..."))
    return line in ("", now) or cut or line.startswith(f"{now} ")
