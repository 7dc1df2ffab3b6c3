"""Lengths of time and shares for people. What stands in one row is told in one unit, so that it can be compared."""

from collections.abc import Iterable, Sequence

HOUR = 3600.0
UNITS = ((86400.0, "d", "days"), (HOUR, "h", "hours"), (60.0, "min", "minutes"))
SECONDS = (1.0, "s", "seconds")


def unit(seconds: Iterable[float]) -> tuple[float, str, str]:
    """The unit that suits the longest: its seconds, short and whole name."""
    longest = max(seconds, default=0.0)
    return next((one for one in UNITS if longest >= 2 * one[0]), SECONDS)


def alike(seconds: Sequence[float]) -> list[str]:
    """All in the unit of the longest: ``0 min``, ``<0.1 min``, ``9.1 min``, ``33.4 min``."""
    size, name, _ = unit(seconds)
    return [f"{_figure(one / size, whole=size == 1.0)} {name}" for one in seconds]


def length(seconds: float) -> str:
    """One by itself: ``42 s``, ``12.0 min``, ``3.4 h``, ``9.1 d``."""
    return alike([seconds])[0]


def percent(share: float) -> str:
    return f"{share:.1%}"


def _figure(value: float, whole: bool) -> str:
    if whole:
        return f"{value:,.0f}" if value >= 0.5 or not value else "<1"
    return f"{value:,.1f}" if value >= 0.05 else "<0.1" if value else "0"
