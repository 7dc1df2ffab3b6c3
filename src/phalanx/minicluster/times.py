"""Seconds since 1970 as Kubernetes writes them: whole seconds, UTC. Rooms below the worlds import no clock for it."""

_DAY = 86400


def stamp(seconds: float) -> str:
    """``2026-11-18T10:00:00Z``."""
    days, rest = divmod(int(seconds // 1), _DAY)
    year, month, day = _date(days)
    return f"{year:04}-{month:02}-{day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"


def seconds(stamped: str) -> float:
    """The other way: of a stamp that this module wrote."""
    year, month, day = (int(part) for part in stamped[:10].split("-"))
    hour, minute, second = (int(part) for part in stamped[11:19].split(":"))
    return float(_days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second)


def _date(days: int) -> tuple[int, int, int]:
    """The civil date. Years are counted from March, so that the odd day comes last; eras have 400 years."""
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    return year_of_era + era * 400 + (month >= 10), month + 3 if month < 10 else month - 9, day


def _days(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468
