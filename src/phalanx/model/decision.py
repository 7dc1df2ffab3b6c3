"""What was decided about one request."""

from dataclasses import dataclass, field

from phalanx.model.placement import Placement
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason
from phalanx.model.request import Request


@dataclass(frozen=True, slots=True)
class Placed:
    request: Request
    placement: Placement
    warnings: tuple[Problem, ...] = ()
    work: int = 0  # counted work units spent on the decision


@dataclass(frozen=True, slots=True)
class Waiting:
    """``proved``: True shown impossible now, False the budget ran out, None not about room."""

    request: Request
    reason: Reason
    proved: bool | None
    warnings: tuple[Problem, ...] = ()
    work: int = 0


@dataclass(frozen=True, slots=True)
class Invalid:
    """The manifest is wrong; nothing was tried."""

    kind: str
    namespace: str
    name: str
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = field(default=())


Decision = Placed | Waiting | Invalid
