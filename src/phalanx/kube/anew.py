"""Beginning anew after a mistake of ours: all that was thought is forgotten, and read again from what the mirrors hold.

::

    step ──raises──▶ pause (1 s, longer each time) ──▶ Decider.begin_anew(all objects) ──▶ its outcome, as of any step
                        ▲                                            │
                        └────────────────── raises ◀─────────────────┘       TRIES times in a row: the process ends

The pause is short again after a while in which nothing failed. Binds under way are not forgotten, nor what was heard
since the mirrors were filled: reads that were ahead of them.
"""

import random
from collections.abc import Callable, Iterable, Mapping

from phalanx.decider import Change
from phalanx.model.objects import ObjectKey
from phalanx.wire.backoff import Backoff, Pace

TRIES = 5  # in a row; the process ends with the last error
CALM_SECONDS = 600.0  # without an error, after which the first pause is a short one again
PACE = Pace(first_seconds=1.0, most_seconds=30.0)

Changes = Mapping[ObjectKey, Change]


class Anew:
    """``error``: why it is to begin anew; None: it is not.

    ``everything``: all objects there are. ``failed`` is told of every error, and of the pause after it. ``clock``: the
    one that steps are told the time by.
    """

    def __init__(
        self,
        everything: Callable[[], Iterable[tuple[ObjectKey, Change]]],
        failed: Callable[[Exception, float], None],
        clock: Callable[[], float],
        chance: random.Random,
    ) -> None:
        self._everything, self._failed, self._clock = everything, failed, clock
        self._backoff = Backoff(PACE, chance)
        self._last = float("-inf")
        self._left = TRIES
        self.error: Exception | None = None

    def objects(self, told: Changes) -> Changes:
        """What it begins with. ``told``: what was heard and not decided about, which may be ahead of the mirrors."""
        return {**dict(self._everything()), **told}

    def went_well(self) -> None:
        self.error, self._left = None, TRIES

    def fail(self, error: Exception) -> float:
        """A step failed, or a beginning did: the seconds to rest. The last beginning raises its error."""
        self._left -= self.error is not None
        if not self._left:
            raise error
        self.error, now = error, self._clock()
        if now > self._last + CALM_SECONDS:
            self._backoff.reset()
        self._last, seconds = now, self._backoff.next()
        self._failed(error, seconds)
        return seconds
