"""What went wrong, said once in a while: a gang of a thousand pods that may not be bound says it once, and so does a
server that refuses all statuses."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 10.0  # between two lines about the same
REMEMBERED_MAX = 1000  # subjects; the one that has been quiet longest is forgotten first


@dataclass(slots=True)
class _Last:
    at: float
    unsaid: int = 0


class Grumbles:
    """``say`` is handed the lines that are worth one."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say, self._clock = say, clock
        self._last: OrderedDict[str, _Last] = OrderedDict()

    def of(self, subject: str, line: str) -> None:
        """Something went wrong with a gang, or in a way. What was left unsaid is counted in the next line."""
        now, last = self._clock(), self._last.get(subject)
        if last is not None and now < last.at + SECONDS:
            last.unsaid += 1
            return
        more = f" (and {last.unsaid} more like it before)" if last is not None and last.unsaid else ""
        self._last[subject] = _Last(now)
        self._last.move_to_end(subject)
        if len(self._last) > REMEMBERED_MAX:
            self._last.popitem(last=False)
        self._say(f"{line}{more}")
