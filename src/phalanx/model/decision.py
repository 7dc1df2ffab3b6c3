"""What was decided about one request, or why nothing was."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.mistakes import Mishap
from phalanx.model.placement import Placement
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason
from phalanx.model.request import Request


@dataclass(frozen=True, slots=True)
class Placed:
    """``done``: pods of each set that had their place until their work was done; of a gang that runs already."""

    request: Request
    placement: Placement
    warnings: tuple[Problem, ...] = ()
    work: int = 0  # counted work units spent on the decision
    done: Mapping[str, int] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class Internal:
    """We are wrong: what was raised while it was read, decided or explained. Nothing was decided about it.

    ``request``: what was asked for; None: it was never read.
    """

    kind: str
    namespace: str
    name: str
    mishap: Mishap
    request: Request | None = None
    warnings: tuple[Problem, ...] = ()

    @classmethod
    def about(cls, request: Request, error: BaseException) -> "Internal":
        return cls(request.kind, request.namespace, request.name, Mishap.of(error), request)


Decided = Placed | Waiting | Invalid | Internal  # what people are told about one workload
