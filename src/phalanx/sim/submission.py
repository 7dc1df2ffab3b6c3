"""A Submission: somebody asks for a gang, and knows how long it will run once all of it is there."""

from dataclasses import dataclass

from phalanx.model.request import Request


@dataclass(frozen=True, slots=True)
class Submission:
    """``at``: seconds since the world began. ``duration``: seconds from the moment its pods run to its end.

    ``staggered``: its pods do not succeed at one instant but one by one, within so many seconds after that.
    """

    at: float
    request: Request
    duration: float
    staggered: float = 0.0
