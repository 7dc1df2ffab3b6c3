"""One gang at a time: what is raised while it is reacted to or decided stays with it, and nothing stays half done.

::

    reaction, look ──raises──▶ effects of that turn unsaid, the gang as it was before it
                               board and quota counted anew from what all gangs hold
                               the gang set aside: it keeps what it holds, and nobody moves it
    something happens to it, or a while has passed ──▶ tried again

Where that cannot be done the error goes on: whoever runs the engine begins again with what the cluster is like.
"""

from collections.abc import Callable

from phalanx.engine.book import Book
from phalanx.engine.gangs import Gang
from phalanx.model.effects import Effect
from phalanx.model.mistakes import Mishap, Tripped

AGAIN_SECONDS = 300.0  # what was raised may have been about the room there was, and not about the gang


class Border:
    """``recount``: makes anew all that is derived from gangs. ``changed``: gangs set aside, or tried again, since it
    was last emptied."""

    def __init__(self, book: Book, recount: Callable[[Gang], None]) -> None:
        self._book, self._recount = book, recount
        self.changed: set[str] = set()

    def passes(self, gang: Gang, act: Callable[[Gang], None], effects: list[Effect], now: float) -> bool:
        """Does it; False where that raised something, and the gang is set aside."""
        said, before = len(effects), gang.copied()
        try:
            act(gang)
        except Exception as error:
            if self._book.gangs.get(gang.id) is not gang:
                raise  # it was about to be forgotten
            del effects[said:]
            gang.put_back(before)
            self._book.set_aside(gang, Tripped(Mishap.of(error), now))
            self.changed.add(gang.id)
            self._recount(gang)
            return False
        return True

    def is_closed(self, name: str, now: float, is_news: bool) -> bool:
        """Whether a gang is left alone. One to which something happened is tried again."""
        tripped = self._book.aside.get(name)
        if tripped is None:
            return False
        if not is_news and now < tripped.at + AGAIN_SECONDS:
            return True
        del self._book.aside[name]
        self.changed.add(name)
        return False
