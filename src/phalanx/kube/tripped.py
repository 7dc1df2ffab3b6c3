"""What was raised about one thing among many, in the log with its traceback: once for each thing and each error."""

from collections import OrderedDict
from collections.abc import Callable

from phalanx.model.mistakes import Mishap

REMEMBERED_MAX = 1000  # things; the one that was told of longest ago is forgotten first


class Tripped:
    """``say`` is handed what is worth a line."""

    def __init__(self, say: Callable[[str, Mishap], None]) -> None:
        self._say = say
        self._last: OrderedDict[str, str] = OrderedDict()

    def over(self, about: str, mishap: Mishap) -> None:
        """It was raised again, or for the first time."""
        is_news = self._last.get(about) != mishap.line
        self._last[about] = mishap.line
        self._last.move_to_end(about)
        if len(self._last) > REMEMBERED_MAX:
            self._last.popitem(last=False)
        if is_news:
            self._say(about, mishap)
