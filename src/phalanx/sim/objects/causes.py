"""What the world did to whom, and when: causes for which somebody may be evicted, or stand with half a gang."""

from collections import defaultdict
from dataclasses import dataclass

EVERYBODY = ""


@dataclass(frozen=True, slots=True)
class Blow:
    at: float
    what: str


class Causes:
    """``who``: an incarnation of a workload, or EVERYBODY."""

    def __init__(self) -> None:
        self._blows: dict[str, list[Blow]] = defaultdict(list)

    def note(self, who: str, what: str, now: float) -> None:
        self._blows[who].append(Blow(now, what))

    def last(self, who: str, since: float = float("-inf")) -> Blow | None:
        """The last blow to an incarnation, or to all, if there was one since."""
        found = [blow for name in (who, EVERYBODY) for blow in self._blows.get(name, ())[-1:]]
        last = max(found, key=lambda blow: blow.at, default=None)
        return last if last is not None and last.at >= since else None
