"""Times as Kubernetes writes them: ``2026-11-16T08:30:00Z``, with or without parts of a second."""

import calendar
import re

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)


def seconds(text: object) -> float | None:
    """Seconds since 1970; None when it is no such time."""
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    whole = calendar.timegm((year, month, day, hour, minute, second))
    return whole + float(found[7] or 0) - _offset(found[8])


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    size = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return size if zone[0] == "+" else -size
