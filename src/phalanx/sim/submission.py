"""A Submission: somebody asks for a gang, and knows how long it will run once all of it is there."""

from dataclasses import dataclass

from phalanx.model.request import Request


@dataclass(frozen=True, slots=True)
class Submission:
    """``at``: seconds since the world began. ``duration``: seconds from the moment its pods run to its end."""

    at: float
    request: Request
    duration: float
