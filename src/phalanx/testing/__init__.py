"""Helpers that ship with Phalanx, for our tests and for yours.

Lives here: the brute-force oracle for small clusters, and matchers that say what differs.
May import: every room except cli.
Will never: be imported by a room it helps to test, or borrow the code it judges.
"""

from phalanx.testing.live import Effect, LiveScheduler

__all__ = ["Effect", "LiveScheduler"]
