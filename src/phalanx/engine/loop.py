"""What the parts of a step need of the engine that runs it."""

from typing import Protocol

from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import Cause
from phalanx.engine.settings import Settings
from phalanx.engine.turns import Turns
from phalanx.model.decision import Decision
from phalanx.model.effects import Effect
from phalanx.model.policy import Policy
from phalanx.model.request import Request


class Loop(Protocol):
    policy: Policy
    settings: Settings
    now: float
    heard: float
    jitter: float
    turns: Turns

    def move(self, gang: Gang, cause: Cause, seconds: float | None = None) -> None: ...
    def say(self, effect: Effect) -> None: ...
    def wake_at(self, gang: Gang, at: float) -> None: ...
    def let_go(self, gang: Gang) -> None: ...
    def rebook(self, gang: Gang) -> None: ...
    def decide(self, wanted: Request) -> Decision: ...
