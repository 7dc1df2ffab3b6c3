"""Holding back what makes the pods of a gang while it leaves: a Job counts each pod that is deleted under it as a
failure, and none that it deletes itself because it is suspended.

::

    asked ──> seen suspended ──> its pods are gone ──> let go ──> seen to make pods
      └─ refused, not seen in time, or let go by its user meanwhile: the pods are deleted one by one
"""

from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.model.makers import Maker

_TRIES = 3  # to let go who carries no note of ours: where that is in vain, its user suspended it


@dataclass(slots=True)
class Hold:
    """``makers``: what makes all pods of the gang; none: nobody can be held back for it.

    ``asked``: since when they are asked to be suspended. ``refused``: they are not to be, while the gang leaves now.
    ``let_go``: when they were last asked to make pods again, after ``tries`` times.
    """

    makers: tuple[Maker, ...] = ()
    asked: float | None = None
    refused: bool = False
    let_go: float | None = None
    tries: int = 0

    # -- what is seen --------------------------------------------------------------------------------------------

    def follow(self, makers: tuple[Maker, ...]) -> None:
        """The makers as they are now. Their user has the last word: who lets one go while we hold it, or takes our note
        off, decides from then on."""
        known = {one.object: one for one in self.makers}
        self.makers = makers
        changed = [(known[one.object], one) for one in makers if one.object in known]
        if any(was.suspended and not one.suspended for was, one in changed):
            self.refused = self.refused or (self.asked is not None and self.let_go is None)
            if not any(one.suspended for one in makers):
                self._end()
        if any(was.marked and one.suspended and not one.marked for was, one in changed):
            self._end()

    @property
    def is_whole(self) -> bool:
        """Whether all of them are suspended: they delete what pods there are, and make none."""
        return bool(self.makers) and all(one.suspended and not one.spared for one in self.makers)

    @property
    def is_ours(self) -> bool:
        """Whether it was we who suspended one."""
        return any(one.suspended and self._is_ours(one) for one in self.makers)

    @property
    def is_of_others(self) -> bool:
        """Whether somebody else suspended one: it is not for us to let that go."""
        return any(one.suspended and not self._is_ours(one) for one in self.makers)

    def _is_ours(self, maker: Maker) -> bool:
        """By our note; where nobody writes notes, because we asked for it."""
        return maker.marked or (self.asked is not None and not any(one.marked for one in self.makers))

    # -- while the gang leaves -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """The gang leaves, anew."""
        self._end()
        self.refused = False

    def ask(self, now: float) -> Iterator[Maker]:
        """They are asked to be suspended: those that are not."""
        self.asked = now if self.asked is None else self.asked
        return (one for one in self.makers if not one.suspended)

    def refuse(self) -> None:
        """They are not suspended, now that the gang leaves."""
        self.refused = True

    def is_of_use(self, now: float, patience: float) -> bool:
        """Whether they will delete the pods themselves."""
        if not self.makers or self.refused or any(one.spared for one in self.makers):
            return False
        return self.is_whole or self.asked is None or now < self.asked + patience

    def is_awaited(self, now: float, patience: float) -> bool:
        """Whether they were asked, and may yet be seen suspended."""
        return self.asked is not None and not self.is_whole and self.is_of_use(now, patience)

    # -- afterwards ----------------------------------------------------------------------------------------------

    def due(self, now: float, again: float) -> list[Maker]:
        """Those that are to be let go now; asked again after a while. A note of ours on one that somebody else let go
        means nothing any more, and goes too: with it nobody could suspend it for himself."""
        found = [one for one in self.makers if one.marked or (one.suspended and self._is_ours(one))]
        if not found or (self.let_go is not None and now < self.let_go + again):
            return []
        self.let_go, self.tries = now, self.tries + 1
        if self.tries >= _TRIES and not any(one.marked for one in found):
            self._end()
        return found

    def wakes_at(self, again: float) -> float | None:
        """When it is to be looked at whether they were let go."""
        return None if self.let_go is None else self.let_go + again

    def set_back(self, seconds: float) -> None:
        """The clock was set back; or so much time, as a negative number, did not count."""
        self.asked = None if self.asked is None else self.asked - seconds
        self.let_go = None if self.let_go is None else self.let_go - seconds

    def _end(self) -> None:
        self.asked, self.let_go, self.tries = None, None, 0
