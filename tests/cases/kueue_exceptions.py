"""Recordings of Kueue that Phalanx does not match, each with its argument. At most three may ever stand here."""

EXCEPTIONS: dict[str, str] = {}
